/* SPDX-License-Identifier: Apache-2.0 */
#include "volume/uri.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/util.h"
#include "tests/tap.h"

#define NQN "nqn.2026-11.io.penstock:default"

static void taken(void)
{
	struct err err = ERR_NULL;
	struct uri u;

	is_i64(uri_parse("nvme+tcp://10.0.0.1/" NQN, &u, &err), 0, "the shortest: %s", err.text);
	is_str(u.address, "10.0.0.1", "its address");
	is_str(u.subnqn, NQN, "its subsystem");
	is_u64(u.nsid, 1, "namespace 1");
	is_i64(uri_parse("nvme+tcp://[fe80::1%eth0]:4421/" NQN "/7?queues=4&depth=64&hdgst=1&ddgst=1&sample=7&kato=2s&"
			 "io_timeout=500ms&connect_timeout=1s&loss_timeout=60s",
			 &u, &err),
	       0, "everything: %s", err.text);
	is_str(u.address, "[fe80::1%eth0]:4421", "its address");
	is_u64(u.nsid, 7, "its namespace");
	ok(u.queues == 4 && u.depth == 64 && u.hdgst && u.ddgst, "its queues and digests");
	is_u64(u.sample_every, 7, "one request in seven is sampled");
	ok(u.kato_ns == 2000000000 && u.io_timeout_ns == 500000000, "its times");
	ok(u.connect_timeout_ns == 1000000000 && u.loss_timeout_ns == 60000000000, "and the others");
	is_i64(uri_parse("nvme+tcp://h/nqn.2014-08.org.nvmexpress:uuid:f0f0f0f0-0000-4000-8000-000000000001", &u,
			 &err),
	       0, "a UUID's NQN: %s", err.text);
	is_i64(uri_parse("nvme+tcp://h/nqn.2026-11.io.penstock:a/b/c/12", &u, &err), 0, "an NQN with slashes");
	is_str(u.subnqn, "nqn.2026-11.io.penstock:a/b/c", "keeps them");
	is_u64(u.nsid, 12, "and the last number is the namespace");
	is_i64(uri_parse("nvme+tcp://h/" NQN "?sample=off", &u, &err), 0, "none is: %s", err.text);
	is_u64(u.sample_every, UINT32_MAX, "and that is something else than the default");
	is_i64(uri_parse("nvme+tcp://h/" NQN "?", &u, &err), 0, "a query of nothing");
	is_i64(uri_parse("file:/tmp/a.img", &u, &err), 0, "a file");
	is_str(u.path, "/tmp/a.img", "its path");
	is_i64(uri_parse("file:///tmp/a.img?direct=0", &u, &err), 0, "a file with two slashes more");
	ok(strcmp(u.path, "/tmp/a.img") == 0 && u.has_direct && !u.direct, "its path and option");
}

static void refused(const char *text, const char *names)
{
	static struct uri u, before;
	struct err err = ERR_NULL;

	memset(&before, 0xa5, sizeof(before));
	u = before;
	ok(uri_parse(text, &u, &err) < 0 && strstr(err.text, names), "'%.60s' names '%s': %s", text, names, err.text);
	ok(memcmp(&u, &before, sizeof(u)) == 0, "and writes nothing");
}

static void not_taken(void)
{
	char longest[5000];

	refused("", "nvme+tcp://");
	refused("nvme+rdma://h/" NQN, "nvme+tcp://");
	refused("/tmp/a.img", "file:");
	refused("nvme+tcp://", "HOST");
	refused("nvme+tcp:///" NQN, "HOST");
	refused("nvme+tcp://h/" NQN "?sample=0", "off or a number");
	refused("nvme+tcp://h", "SUBNQN");
	refused("nvme+tcp://h/", "NQN");
	refused("nvme+tcp://h/default", "NQN");
	refused("nvme+tcp://h/" NQN "/0", "namespace");
	refused("nvme+tcp://h/" NQN "/4294967295", "namespace");
	refused("nvme+tcp://h/" NQN "/99999999999999999999", "namespace");
	refused("nvme+tcp://h/" NQN "?queues", "queues");
	refused("nvme+tcp://h/" NQN "?&queues=1", "NAME=VALUE");
	refused("nvme+tcp://h/" NQN "?queues=0", "queues");
	refused("nvme+tcp://h/" NQN "?queues=65", "queues");
	refused("nvme+tcp://h/" NQN "?depth=-1", "depth");
	refused("nvme+tcp://h/" NQN "?hdgst=yes", "hdgst");
	refused("nvme+tcp://h/" NQN "?kato=5", "kato");
	refused("nvme+tcp://h/" NQN "?kato=0s", "kato");
	refused("nvme+tcp://h/" NQN "?direct=1", "direct");
	refused("nvme+tcp://h/" NQN "?depth=1&depth=2", "'depth': expected it once");
	refused("file:", "file:/path");
	refused("file://host/path", "file:/path");
	refused("file:/a?queues=2", "queues");
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	memcpy(longest, "file:/", 6);
	refused(longest, "longer");
}

static void junk(void)
{
	static const char *const parts[] = { "nvme+tcp://", "file:", "h", ":", "4420", "/", NQN, "?", "&", "=",
					     "queues",	    "1",     "%", "[", "]",    "\x80", "\n", "../" };
	struct rng rng;
	struct uri u;
	int good = 0;

	rng_init(&rng, 1);
	for (int i = 0; i < 20000; i++) {
		char text[512] = "";
		size_t at = 0;

		for (uint64_t n = rng_below(&rng, 9); n > 0; n--)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s",
					       parts[rng_below(&rng, ARRAY_SIZE(parts))]);
		good += uri_parse(text, &u, NULL) == 0;
	}
	ok(good > 0 && good < 10000, "20000 random texts, %d of them URIs", good);
}

int main(void)
{
	taken();
	not_taken();
	junk();
	return tap_done();
}
