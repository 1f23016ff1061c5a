/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "tests/tap.h"

static char path[] = "/tmp/penstock-config-XXXXXX";

static int load(const char *text, struct config **c, struct err *err)
{
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
	err_clear(err);
	return config_load(path, c, err);
}

static void good(void)
{
	struct err err = ERR_NULL;
	struct config *c;
	int rc = load("listeners:\n"
		      "  - address: tcp://127.0.0.1:4420\n"
		      "    advertise: 10.0.2.2\n"
		      "  - address: tcp://[::1]:4421\n"
		      "    subsystems: [nqn.2026-11.io.penstock:b]\n"
		      "subsystems:\n"
		      "  - nqn: nqn.2026-11.io.penstock:a\n"
		      "    serial: A1\n"
		      "    allow: [any]\n"
		      "    namespaces:\n"
		      "      - store: memory:1G\n"
		      "      - { store: 'file:/a,block=4096', nsid: 7, read_only: true }\n"
		      "  - nqn: nqn.2026-11.io.penstock:b\n"
		      "cores: 0,2-3\n"
		      "arena: 64M\n"
		      "state_dir: /var/lib/penstock\n"
		      "spin: 20us\n"
		      "queue_depth: 64\n"
		      "limits:\n"
		      "  controllers: 12\n"
		      "  mdts: 256k\n"
		      "  icreq: 500ms\n"
		      "  send: 0s\n",
		      &c, &err);

	if (!ok(rc == 0, "a whole configuration: %s", err.text))
		return;
	is_u64(c->listener_count, 2, "two listeners");
	is_str(c->listeners[0].advertise, "10.0.2.2", "advertise");
	is_str(c->listeners[1].nqns[0], "nqn.2026-11.io.penstock:b", "a listener's subsystem");
	is_u64(c->subsystem_count, 2, "two subsystems");
	is_str(c->subsystems[0].allow[0], "any", "allow");
	is_u64(c->subsystems[0].namespace_count, 2, "two namespaces");
	is_u64(c->subsystems[0].namespaces[1].nsid, 7, "nsid");
	ok(c->subsystems[0].namespaces[1].read_only, "read_only");
	is_u64(c->arena_bytes, 64 << 20, "arena");
	is_str(c->state_dir, "/var/lib/penstock", "state_dir");
	is_u64(c->spin_ns, 20000, "spin");
	is_u64(c->queue_depth, 64, "queue_depth");
	is_u64(c->limits.controllers.value, 12, "a limit that is a number");
	is_u64(c->limits.mdts.value, 256 << 10, "one that is a size");
	is_u64(c->limits.icreq.value, 500000000, "one that is a time");
	ok(c->limits.send.text && c->limits.send.value == 0, "a limit that is set to none");
	ok(!c->limits.fence.text, "one that is not given");
	config_free(c);
	rc = load("{ \"subsystems\": [ { \"nqn\": \"nqn.2026-11.io.penstock:a\" } ] }", &c, &err);
	if (ok(rc == 0, "JSON will do: %s", err.text)) {
		is_str(c->listeners[0].address, CONFIG_DEFAULT_LISTEN, "the default listener");
		config_free(c);
	}
}

static void refused(const char *text, const char *names)
{
	struct err err = ERR_NULL;
	struct config *c = NULL;
	int rc = load(text, &c, &err);

	ok(rc < 0 && strstr(err.text, names), "refused, naming '%s': %s", names, err.text);
}

static void bad(void)
{
	struct err err = ERR_NULL;
	struct config *c;

	refused("", "config");
	refused("subsystems: []\n", "entries");
	refused("subsystems:\n  - nqn: a\n    colour: red\n", "colour");
	refused("subsystems:\n  - nqn: a\n    colour: red\n", "line");
	refused("subsystems:\n  - serial: x\n", "nqn");
	refused("subsystems: [{nqn: a}]\nqueue_depth: many\n", "many");
	refused("subsystems: [{nqn: a}]\narena: lots\n", "arena");
	refused("subsystems: [{nqn: a}]\nspin: 5\n", "spin");
	refused("subsystems: [{nqn: a}, {nqn: a}]\n", "twice");
	refused("subsystems: [{nqn: a}]\nlimits: {icreq: soon}\n", "icreq: 'soon'");
	refused("subsystems: [{nqn: a}]\nlimits: {controllers: -1}\n", "controllers: '-1'");
	refused("subsystems: [{nqn: a}]\nlimits: {mdts: 4G}\n", "mdts: '4G'");
	refused("subsystems: [{nqn: a}]\nlimits: {patience: 1s}\n", "patience");
	refused("subsystems: [{nqn: a\n", "");
	ok(config_load("/nonexistent/penstock.yaml", &c, &err) < 0 && strstr(err.text, "No such file"),
	   "a file that is not there: %s", err.text);
}

static void words(void)
{
	static const char *const listen[] = { "tcp://127.0.0.1:1", "tcp://127.0.0.1:2" };
	static char store[] = "memory:1M";
	char *namespaces[] = { store };
	struct config_words w = { .listen = listen,
				  .listen_count = 2,
				  .advertise = "10.0.0.1",
				  .namespaces = namespaces,
				  .namespace_count = 1 };
	struct err err = ERR_NULL;
	struct config *c;

	is_i64(config_from_words(&w, &c, &err), 0, "from words");
	is_u64(c->listener_count, 2, "two listeners");
	is_str(c->listeners[1].advertise, "10.0.0.1", "advertise holds for each");
	is_str(c->subsystems[0].nqn, CONFIG_DEFAULT_NQN, "the default name");
	is_str(c->subsystems[0].namespaces[0].store, "memory:1M", "a namespace");
	config_free(c);
}

static void cores(void)
{
	struct err err = ERR_NULL;
	int list[8];
	static const char *const wrong[] = { "", ",", "1,", "a", "3-2", "1-", "-1", "0,0", "1,0-2", "0-99999",
					     "0-100" };

	is_i64(config_parse_cores("0,2-4", list, 8, &err), 4, "0,2-4 is four");
	ok(list[0] == 0 && list[1] == 2 && list[3] == 4, "those four");
	is_i64(config_parse_cores("0-7", list, 8, &err), 8, "as many as there is room for");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		ok(config_parse_cores(wrong[i], list, 8, &err) < 0, "'%s' is refused: %s", wrong[i], err.text);
}

int main(void)
{
	int fd = mkstemp(path);

	close(fd);
	good();
	bad();
	words();
	cores();
	unlink(path);
	return tap_done();
}
