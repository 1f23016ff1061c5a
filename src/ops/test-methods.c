/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to a target that runs: what is refused and in which words, what each method does, and
 * that a configuration comes into force whole or not at all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "io/io.h"
#include "ops/methods.h"
#include "target/inspect.h"
#include "tests/tap.h"

#define A    "nqn.2026-11.io.penstock:a"
#define B    "nqn.2026-11.io.penstock:b"
#define HOST "nqn.2014-08.org.nvmexpress:uuid:11111111-1111-4111-8111-111111111111"

static char log_text[1 << 16];
static size_t log_len;

static void sink(void *ctx, enum log_level level, const char *line, size_t n)
{
	n = MIN(n, sizeof(log_text) - 1 - log_len);
	memcpy(log_text + log_len, line, n);
	log_text[log_len += n] = '\0';
}

static const struct log recorder = { LOG_LEVEL_DEBUG, sink, NULL };
static struct methods m;
static char file[] = "/tmp/penstock-methods-XXXXXX";

static void write_file(const char *text)
{
	FILE *f = fopen(file, "w");

	fputs(text, f);
	fclose(f);
}

static int load(void *arg, struct config **ret_config, struct err *err)
{
	return config_load(file, ret_config, err);
}

static bool drained;

static void drain(void *arg, bool now)
{
	drained = now;
}

/* The answer to @line contains @text. */
static bool says(const char *line, const char *text, const char *what)
{
	char *answer = methods_answer(&m, line, strlen(line));
	bool good = answer && strstr(answer, text);

	ok(good, "%s", what);
	if (!good)
		diag("%s", answer ? answer : "no answer");
	mem_free(answer);
	return good;
}

static bool asked(const char *method, const char *params, const char *text, const char *what)
{
	char line[1024];

	snprintf(line, sizeof(line), "{\"schema\":\"" CONTROL_SCHEMA "\",\"method\":\"%s\",\"params\":{%s}}", method,
		 params);
	return says(line, text, what);
}

#define HEAD "{\"schema\":\"" CONTROL_SCHEMA "\","

static void nonsense(void)
{
	static char deep[256];

	says("", "no JSON", "an empty line");
	says("hello", "no JSON", "words");
	says("{\"schema\":", "ends too early", "half a request");
	says(HEAD "\"method\":\"status\"} {}", "no JSON", "two requests in a line");
	says("[]", "a JSON object", "a list");
	says("{\"method\":\"status\"}", "EPROTO", "no schema");
	says("{\"schema\":\"penstock.control/2\",\"method\":\"status\"}", CONTROL_SCHEMA, "another version");
	says(HEAD "\"method\":7}", "which is a text", "a method that is a number");
	says(HEAD "\"method\":\"status\\u0000x\"}", "which is a text", "a method with a NUL");
	says(HEAD "\"method\":\"format\"}", "no method 'format'", "a method that is none");
	says(HEAD "\"method\":\"status\",\"id\":1}", "no \\\"id\\\"", "a member that is none");
	says(HEAD "\"method\":\"status\",\"params\":[]}", "is an object", "parameters in a list");
	says(HEAD "\"method\":\"ns.add\",\"params\":{\"store\":\"\xff\"}}", "no JSON", "bytes that are no UTF-8");
	memset(deep, '[', 100);
	says(deep, "no JSON", "deep nesting");
	asked("status", "\"nqn\":\"x\"", "no parameter 'nqn'", "a parameter that is not this method's");
	asked("ns.add", "\"stor\":\"memory:1M\"", "no parameter 'stor'", "one that is misspelt");
	asked("ns.add", "", "'store' is missing", "one that is missing");
	asked("ns.add", "\"store\":5", "store: a text", "a number for a text");
	asked("ns.add", "\"store\":\"\"", "store: a text", "an empty text");
	asked("ns.add", "\"store\":\"memory:1M\",\"nsid\":0", "nsid: a number from 1", "zero");
	asked("ns.add", "\"store\":\"memory:1M\",\"nsid\":-1", "nsid: a number from 1", "a negative number");
	asked("ns.add", "\"store\":\"memory:1M\",\"nsid\":4294967296", "nsid: a number from 1", "a huge one");
	asked("ns.add", "\"store\":\"memory:1M\",\"nsid\":1.5", "nsid: a number from 1", "a fraction");
	asked("ns.add", "\"store\":\"memory:1M\",\"read_only\":1", "true or false", "a number for a truth");
	asked("subsys.add", "\"nqn\":\"" B "\",\"allow\":\"any\"", "a list of", "a text for a list");
	asked("subsys.add", "\"nqn\":\"" B "\",\"allow\":[1]", "element 0", "a number in a list");
}

static void namespaces(void)
{
	asked("ns.add", "\"store\":\"memory:2M\"", "\"nsid\":2", "ns.add takes the lowest free number");
	asked("ns.add", "\"store\":\"memory:2M\",\"nsid\":2", "EEXIST", "a number that is taken");
	asked("ns.add", "\"store\":\"memory:2M\",\"nsid\":1000", "1 to 256", "a number beyond NN");
	asked("ns.add", "\"store\":\"memori:2M\"", "memori", "a store that is none, by its name");
	asked("ns.add", "\"store\":\"memory:2M\",\"uuid\":\"x\"", "no UUID", "no UUID");
	asked("ns.add", "\"store\":\"memory:2M\",\"nqn\":\"" B "\"", "ENOENT", "a subsystem that is none");
	asked("ns.set", "\"nsid\":2,\"read_only\":true", "namespace_access", "ns.set");
	asked("ns.set", "\"nsid\":2,\"read_only\":true", "\"changes\":[]", "once more changes nothing");
	asked("ns.set", "\"nsid\":3,\"read_only\":true", "no namespace 3", "one that is not there");
	asked("status", "", "\"nsid\":2,\"store\":\"memory\",\"name\":\"2 MiB\",\"size_bytes\":2097152,"
			    "\"block_bytes\":512,\"read_only\":true",
	      "status shows it");
	asked("ns.resize", "\"nsid\":2", "\"changed\":false,\"size_bytes\":2097152", "ns.resize");
	asked("ns.remove", "\"nsid\":2", "\"stores_still_in_use\":0", "ns.remove");
	asked("ns.remove", "\"nsid\":2", "no namespace 2", "twice");
}

/* Two that were configured in the same words; each is told by where it is bound. */
static void twins(void)
{
	char params[128], text[IO_ADDR_TEXT];
	struct io_addr first, second;
	size_t n;

	asked("listener.add", "\"address\":\"tcp://127.0.0.1:0\"", "listener_added", "one more on any port");
	n = site_config(m.site)->listener_count;
	first = site_config(m.site)->listeners[0].bound;
	second = site_config(m.site)->listeners[n - 1].bound;
	io_addr_format(&first, text);
	snprintf(params, sizeof(params), "\"address\":\"tcp://%s\"", text);
	asked("listener.remove", params, text, "the first of two on any port goes");
	is_u64(site_config(m.site)->listener_count, n - 1, "and no other");
	ok(io_addr_equal(&site_config(m.site)->listeners[n - 2].bound, &second), "the second is still there");
	asked("listener.add", params, "listener_added", "and its port is free for it to return");
	io_addr_format(&second, text);
	snprintf(params, sizeof(params), "\"address\":\"tcp://%s\"", text);
	asked("listener.remove", params, text, "the second goes by its own port");
}

static void others(void)
{
	asked("subsys.add", "\"nqn\":\"" B "\",\"allow\":[\"" HOST "\"]", "subsystem_added", "subsys.add");
	asked("subsys.add", "\"nqn\":\"" B "\"", "EEXIST", "twice");
	asked("subsys.add", "\"nqn\":\"what\"", "subsystem NQN 'what'", "a name that is none");
	asked("ns.add", "\"store\":\"memory:1M\"", "say which one", "now the subsystem must be named");
	asked("ns.add", "\"store\":\"memory:1M\",\"nqn\":\"" B "\"", "\"nsid\":1", "ns.add by name");
	asked("host.deny", "\"nqn\":\"" B "\",\"host\":\"" HOST "\"", "none", "host.deny of the last one: none");
	asked("host.allow", "\"nqn\":\"" B "\",\"host\":\"somebody\"", "no host NQN", "a host that is none");
	asked("host.allow", "\"nqn\":\"" B "\",\"host\":\"" HOST "\"", "1 named", "host.allow");
	asked("host.allow", "\"nqn\":\"" B "\",\"host\":\"" HOST "\"", "EEXIST", "twice");
	asked("host.allow", "\"nqn\":\"" B "\",\"host\":\"any\"", "\"detail\":\"any\"", "any");
	asked("host.allow", "\"nqn\":\"" B "\",\"host\":\"" HOST "\"", "admits any host", "one more than any");
	asked("listener.add", "\"address\":\"tcp://127.0.0.1:0\",\"subsystems\":[\"" B "\"]", "listener_added",
	      "listener.add");
	asked("listener.add", "\"address\":\"tcp://127.0.0.1:0\",\"subsystems\":[\"x\"]", "no subsystem",
	      "for a subsystem that is none");
	asked("listener.add", "\"address\":\"tcp://nowhere\"", "error", "nowhere");
	asked("listener.add", "\"address\":\"tcp://0.0.0.0:0\"", "without saying who may connect to " A,
	      "beyond loopback while a subsystem says nothing of hosts");
	asked("host.allow", "\"nqn\":\"" A "\",\"host\":\"any\"", "\"detail\":\"any\"", "now it says any");
	asked("listener.add", "\"address\":\"tcp://0.0.0.0:0\"", "listener_added", "and then");
	asked("listener.remove", "\"address\":\"tcp://0.0.0.0:0\"", "no listener",
	      "port 0 is where nobody listens");
	asked("subsys.remove", "\"nqn\":\"" B "\"", "subsystem_removed", "subsys.remove");
	ok(site_config(m.site)->listener_count == 2, "with the listener that led there alone");
	twins();
	asked("ns.add", "\"store\":\"memory:1M\"", "\"nsid\":2", "the only one again need not be named");
	asked("stats", "", "\"latency_us\"", "stats");
	asked("stats", "", "\"closed\":{\"host_closed\":0", "stats: why connections ended");
	asked("drain", "\"now\":true", "\"draining\":true", "drain");
	ok(drained, "at once");
}

/* ---- the file -------------------------------------------------------------------------------- */

static void count_ns(void *arg, const struct target_ns_info *info)
{
	unsigned int *n = arg;

	*n += strcmp(info->kind, "memory") == 0 ? 1 : 100;
}

/* Nothing of the target or of what is remembered of it has moved. */
static void untouched(const char *what)
{
	unsigned int n = 0;

	target_visit_namespaces(site_target(m.site), count_ns, &n);
	is_u64(n, 2, "%s: two namespaces as before", what);
	is_u64(site_config(m.site)->subsystem_count, 1, "%s: one subsystem", what);
	is_u64(site_config(m.site)->listener_count, 2, "%s: two listeners", what);
	is_u64(site_settle(m.site, 0), 0, "%s: no store is left behind", what);
}

static void reload(void)
{
	struct io_loop_options plain = { 0 };
	struct io_listener *other;
	struct io_loop *loop;
	struct io_addr any;
	char text[512], taken[IO_ADDR_TEXT];
	struct err err = ERR_NULL;

	write_file("subsystems: [{nqn: " A ", colour: red}]\n");
	asked("reload", "", "colour", "a mistake in the file is named");
	untouched("a mistake");
	write_file("subsystems: [{nqn: " A ", allow: [any],\n"
		   "  namespaces: [{store: 'memory:1M'}, {store: '/no/such'}]}]\n");
	asked("reload", "", "/no/such", "so is a store that cannot be had");
	untouched("no store");
	INVARIANT(io_loop_new(&plain, &loop, &err) == 0 &&
		  io_addr_parse("127.0.0.1:0", 0, true, &any, &err) == 0 &&
		  io_listen(loop, &any, NULL, &other, &err) == 0);
	io_addr_format(io_listener_addr(other), taken);
	snprintf(text, sizeof(text),
		 "listeners: [{address: '%s'}]\n"
		 "subsystems: [{nqn: " B "},\n"
		 "  {nqn: " A ", allow: [" HOST "], namespaces: [{store: 'null:1M', nsid: 9}]}]\n",
		 taken);
	write_file(text);
	asked("reload", "", "in use", "an address that is taken: the last of what is made");
	untouched("taken back");
	ok(config_allows_any(site_config(m.site)->subsystems), "taken back: any host");
	io_listener_close(other);
	io_loop_free(loop);

	log_text[log_len = 0] = '\0';
	write_file("listeners: [{address: 'tcp://127.0.0.1:0'}, {address: 'tcp://127.0.0.1:0', subsystems: [" B "]}]\n"
		   "cores: 0\nlimits: {mdts: 128k}\n"
		   "subsystems:\n"
		   "  - {nqn: " B ", namespaces: [{store: 'null:1G'}]}\n"
		   "  - {nqn: " A ", serial: OTHER, allow: [" HOST "], namespaces: [{store: 'memory:4M', nsid: 2},\n"
		   "     {store: 'memory:1M', nsid: 1, read_only: true}]}\n");
	asked("reload", "", "\"what\":\"subsystem_added\",\"live\":true,\"subsystem\":\"" B "\"",
	      "the whole difference");
	ok(strstr(log_text, "what=namespace_replaced subsystem=" A " nsid=2 detail=memory:4M"),
	   "in the log: a store");
	ok(strstr(log_text, "what=namespace_access subsystem=" A " nsid=1 detail=read-only"), "in the log: access");
	ok(strstr(log_text, "what=hosts_changed subsystem=" A " nsid=0 detail=\"1 named\""), "in the log: hosts");
	ok(strstr(log_text, "what=listener_added"), "in the log: a listener");
	ok(strstr(log_text, "what=listener_removed"), "in the log: one that went");
	ok(strstr(log_text, "what=not_changed subsystem=- nsid=0 detail=\"cores: it takes a restart\""),
	   "in the log: what takes a restart");
	ok(strstr(log_text, "limits: mdts: it takes a restart"), "in the log: a limit");
	ok(strstr(log_text, "serial: it takes removing and adding anew"), "in the log: what takes more");
	asked("reload", "", "\"what\":\"not_changed\",\"live\":false", "again: what could not change is told again");
	asked("reload", "", "\"changes\":[{\"what\":\"not_changed\"", "and nothing else");
	m.load = NULL;
	asked("reload", "", "without a configuration file", "without a file");
	m.load = load;
}

int main(void)
{
	static char store[] = "memory:1M";
	char *namespaces_given[] = { store };
	static const char *const listen[] = { "tcp://127.0.0.1:0" };
	struct config_words w = { .listen = listen, .listen_count = 1, .nqn = A, .namespaces = namespaces_given,
				  .namespace_count = 1 };
	struct err err = ERR_NULL;
	struct config *c;
	int fd = mkstemp(file);

	close(fd);
	ok(config_from_words(&w, &c, &err) == 0 && site_new(c, &recorder, &m.site, &err) == 0, "a site %s", err.text);
	m.load = load;
	m.drain = drain;
	asked("ns.add", "\"store\":\"memory:1M\"", "ESHUTDOWN", "before the start nothing changes");
	ok(site_start(m.site, &err) == 0, "it starts %s", err.text);
	nonsense();
	namespaces();
	others();
	reload();
	target_drain(site_target(m.site), true);
	is_i64(target_run(site_target(m.site)), 0, "it ends");
	asked("ns.add", "\"store\":\"memory:1M\",\"nqn\":\"" A "\"", "ESHUTDOWN", "and then nothing changes");
	is_i64(site_flush(m.site, 1000000000, &err), 0, "flushed");
	site_free(m.site);
	unlink(file);
	return tap_done();
}
