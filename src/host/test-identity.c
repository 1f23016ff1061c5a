/* SPDX-License-Identifier: Apache-2.0 */
/* Who a host is, with every combination of what is given and what files there are (C010). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/identity.h"
#include "io/sim.h"
#include "tests/tap.h"

#define UUID_A "12345678-1234-4321-8765-1234567890ab"
#define UUID_B "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
#define NQN_A  NVME_NQN_UUID_PREFIX UUID_A
#define NQN_X  "nqn.2026-11.io.penstock:some-host"

static char etc[] = "/tmp/penstock-etc-XXXXXX";
static struct io_loop *loop;

static void path_of(const char *name, char path[256])
{
	snprintf(path, 256, "%s/%s", etc, name);
}

/* NULL: no such file. */
static void put(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	path_of(name, path);
	unlink(path);
	if (!text)
		return;
	f = fopen(path, "w");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static void files(const char *nqn, const char *id, const char *machine)
{
	put("nvme/hostnqn", nqn);
	put("nvme/hostid", id);
	put("machine-id", machine);
}

static int get(const char *nqn, const char *id, struct host_identity *h, struct err *err)
{
	return host_identity_get_in(loop, etc, nqn, id, h, err);
}

static bool is_id(const struct host_identity *h, const char *uuid)
{
	struct uuid u;
	char text[UUID_TEXT_MAX];

	memcpy(u.b, h->id, sizeof(u.b));
	return !strcmp(uuid_format(&u, text), uuid);
}

static void given(void)
{
	struct host_identity h, again;

	files("rubbish", "rubbish", NULL);
	ok(get(NQN_A, UUID_B, &h, NULL) == 0 && !strcmp(h.nqn, NQN_A) && is_id(&h, UUID_B),
	   "both given: both taken, no file looked at");
	ok(get(NQN_A, NULL, &h, NULL) == 0 && is_id(&h, UUID_A), "C010: NQN with a UUID: that is the id");
	ok(get(NULL, UUID_A, &h, NULL) == 0 && !strcmp(h.nqn, NQN_A), "C010: id given: the NQN has it");
	ok(get(NQN_X, NULL, &h, NULL) == 0 && get(NQN_X, NULL, &again, NULL) == 0 &&
		   !memcmp(h.id, again.id, 16),
	   "another NQN: an id made from it, the same each time");
}

static void wrong(void)
{
	struct host_identity h;
	struct err err = ERR_NULL;

	ok(get("nqn", NULL, &h, &err) == -EINVAL && strstr(err.text, "given"), "%s", err.text);
	ok(get(NULL, "x", &h, &err) == -EINVAL && strstr(err.text, "given"), "%s", err.text);
	ok(get(NULL, "00000000-0000-0000-0000-000000000000", &h, &err) == -EINVAL, "%s", err.text);
	files("rubbish\n", NULL, NULL);
	ok(get(NULL, NULL, &h, &err) == -EINVAL && strstr(err.text, "hostnqn"), "%s", err.text);
	files(NQN_A, "rubbish", NULL);
	ok(get(NULL, NULL, &h, &err) == -EINVAL && strstr(err.text, "hostid"), "%s", err.text);
}

static void from_files(void)
{
	struct host_identity h;

	files(NQN_X "\n", "  " UUID_B " \r\n", "x");
	ok(get(NULL, NULL, &h, NULL) == 0 && !strcmp(h.nqn, NQN_X) && is_id(&h, UUID_B),
	   "both files, with white space around");
	is_str(h.source, "/etc/nvme/hostnqn", "and says from where");
	files(NQN_A "\n", NULL, NULL);
	ok(get(NULL, NULL, &h, NULL) == 0 && is_id(&h, UUID_A), "hostnqn alone: id from it");
	files(NULL, UUID_A, NULL);
	ok(get(NULL, NULL, &h, NULL) == 0 && !strcmp(h.nqn, NQN_A), "hostid alone: NQN from it");
	files("\n", "", NULL);
	ok(get(NULL, NULL, &h, NULL) == 0 && !strcmp(h.source, "generated"),
	   "empty files count as none");
}

static void from_nothing(void)
{
	struct host_identity a, b;

	files(NULL, NULL, "0123456789abcdef0123456789abcdef\n");
	ok(get(NULL, NULL, &a, NULL) == 0 && get(NULL, NULL, &b, NULL) == 0 &&
		   !strcmp(a.nqn, b.nqn) && !memcmp(a.id, b.id, 16),
	   "machine-id: the same each time");
	ok(nvme_nqn_valid(a.nqn) && !strstr(a.nqn, "0123456789ab"),
	   "a right NQN, from which the machine-id cannot be told");
	files(NULL, NULL, "fedcba9876543210fedcba9876543210\n");
	ok(get(NULL, NULL, &b, NULL) == 0 && strcmp(a.nqn, b.nqn), "another machine, another name");
	files(NULL, NULL, NULL);
	ok(get(NULL, NULL, &a, NULL) == 0 && get(NULL, NULL, &b, NULL) == 0 &&
		   strcmp(a.nqn, b.nqn) && nvme_nqn_valid(a.nqn),
	   "nothing at all: a random one");
}

int main(void)
{
	struct sim_config calm;
	struct sim *sim;
	char dir[256];

	sim_config_calm(&calm);
	sim = sim_new(1, &calm);
	loop = sim_loop_new(sim_node_new(sim, "host"));
	path_of("nvme", dir);
	if (!mkdtemp(etc))
		tap_skip_all("no directory in /tmp");
	path_of("nvme", dir);
	mkdir(dir, 0700);
	given();
	wrong();
	from_files();
	from_nothing();
	files(NULL, NULL, NULL);
	rmdir(dir);
	rmdir(etc);
	io_loop_free(loop);
	sim_free(sim);
	return tap_done();
}
