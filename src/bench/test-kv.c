/* SPDX-License-Identifier: Apache-2.0 */
/* Pages against a model; whole runs on a file that has room, and on one that has little. */
#include "bench/kv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/util.h"
#include "bench/kv-pages.h"
#include "bench/test-help.h"
#include "tests/tap.h"

#define MS UINT64_C(1000000)

enum { VOLUME = 64 << 20 };

static char path[64];
static char uri[80];
static int fd;
static atomic_bool stop;
static const char *const uris[] = { uri };
static struct kv_result r;

static void pages(void)
{
	struct kv_pages p;
	uint32_t held[64], n = 0, version[64] = { 0 };
	bool once = true, newer = true;
	struct rng rng;

	if (!ok(kv_pages_init(&p, 64) == 0, "64 pages"))
		return;
	rng_init(&rng, 4);
	for (int i = 0; i < 10000; i++) {
		if (n < 64 && (n == 0 || rng_below(&rng, 2))) {
			uint32_t page = kv_pages_take(&p, 1 + (uint32_t)rng_below(&rng, 256));

			for (uint32_t k = 0; k < n; k++)
				once &= held[k] != page;
			newer &= p.of[page].version > version[page];
			version[page] = p.of[page].version;
			held[n++] = page;
		} else {
			uint32_t k = (uint32_t)rng_below(&rng, n);

			kv_pages_give(&p, held[k]);
			held[k] = held[--n];
		}
	}
	ok(once, "no page is handed out twice");
	ok(newer, "each time it has a new version");
	is_u64(p.free_count + n, 64, "none is lost");
	kv_pages_deinit(&p);
}

static struct kv_options options(void)
{
	struct kv_options o = {
		.target = { .uris = uris, .uri_count = 1, .clock = &clock_test, .stop = &stop },
		.model = model_find("llama3-8b"),
		.scale_ppm = 1000, /* 131 bytes a token, pages of 36 KiB */
		.users = 12,
		.threads = 2,
		.templates = { true, true, true },
		.percent = { 15, 35, 50 },
		.prefix_percent = 40,
		.end_percent = 20,
		.think_ppm = 5000, /* half a millisecond and more */
		.turns = 150,
		.time_ns = 60000 * MS,
		.warmup_ns = 20 * MS,
		.piece_bytes = 16384,
		.depth = 8,
		.queues = 1,
		.seed = 3,
		.verify = true,
	};

	return o;
}

static int run(const struct kv_options *o)
{
	struct err err = ERR_NULL;
	int rc = kv_run(o, &r, &err);

	if (rc < 0)
		diag("%s", err.text);
	return rc;
}

static bool noted(const char *words)
{
	return test_noted(&r.all.notes, words);
}

/* What holds of any run without errors. */
static void sums(uint64_t turns_least, const char *what)
{
	uint64_t turns = 0, latencies = 0;

	for (int i = 0; i < KV_CLASSES; i++) {
		turns += r.class[i].turns;
		latencies += r.class[i].turn.count;
	}
	ok(r.all.errors == 0 && r.all.verify.failed == 0, "%s: no error, nothing wrong %s", what, r.all.first_error);
	ok(r.all.ops >= turns_least && r.all.ops == turns && turns == latencies && r.all.latency.count == turns,
	   "%s: %llu turns, each of one class", what, (unsigned long long)turns);
	ok(r.all.ns > 0 && r.all.bytes > 0, "%s: in some time, some bytes", what);
}

static void with_room(void)
{
	struct kv_options o = options();

	ok(run(&o) == 0, "a run");
	sums(150, "with room");
	ok(r.class[KV_INTERACTIVE].turns > 0 && r.class[KV_INTERACTIVE].turns < r.class[KV_BATCH].turns,
	   "classes have their shares: %llu, %llu, %llu",
	   (unsigned long long)r.class[0].turns, (unsigned long long)r.class[1].turns,
	   (unsigned long long)r.class[2].turns);
	ok(r.counts.hits > 0 && r.counts.prefixes > 0 && r.counts.prefixes < r.counts.conversations,
	   "conversations go on (%llu), some with a shared prompt (%llu of %llu)", (unsigned long long)r.counts.hits,
	   (unsigned long long)r.counts.prefixes, (unsigned long long)r.counts.conversations);
	is_u64(r.token_bytes, 131, "a token is scaled");
	ok(noted("scaled") && noted("not an MLPerf result"), "notes are honest");
	o.end_percent = 100;
	o.prefix_percent = 0;
	ok(run(&o) == 0, "conversations of one turn, none with a shared prompt");
	sums(150, "single turns");
	ok(r.counts.hits == 0 && r.counts.misses == 0 && r.counts.tokens[0] == 0 && r.class[KV_BATCH].bytes[0] == 0,
	   "are written and never read");
	o.decode_reads = 2;
	ok(run(&o) == 0, "with reads while the answer is generated");
	sums(150, "decoding");
	is_u64(r.counts.tokens[0], 2 * r.counts.tokens[1], "what was written is read twice");
	o.turns = 0;
	o.time_ns = 100 * MS;
	ok(run(&o) == 0 && r.all.ns == 100 * MS && r.all.errors == 0 && r.all.verify.failed == 0, "a time is kept");
}

/* Users that would fill the volume several times. */
static void without_room(void)
{
	struct kv_options o = options();

	o.size = 16 << 20;
	o.end_percent = 0;
	o.threads = 1;
	o.users = 16;
	o.templates[0] = o.templates[1] = false;
	ok(run(&o) == 0, "long conversations, little room");
	sums(150, "little room");
	ok(r.counts.dropped > 0 && r.counts.misses > 0, "%llu conversations are dropped, %llu turns miss theirs",
	   (unsigned long long)r.counts.dropped, (unsigned long long)r.counts.misses);
	o.target.emulated = true;
	o.turns = 5;
	ok(run(&o) == 0, "into an emulated accelerator's memory");
	sums(5, "emulated");
	o.target.emulated = false;
	o.target.require = PST_PATH_GDR;
	ok(run(&o) == 0 && r.all.path_missed && r.all.path_taken == PST_PATH_HOST, "a path that is not taken ends it");
}

static void refused(const struct kv_options *o, int want, const char *words)
{
	struct err err = ERR_NULL;
	int rc = kv_run(o, &r, &err);

	ok(rc == want && strstr(err.text, words), "refused: %s", err.text);
}

static void refusals(void)
{
	struct kv_options o = options();

	o.size = 4 << 20;
	refused(&o, -ENOSPC, "--scale");
	o = options();
	o.percent[0] = 16;
	refused(&o, -EINVAL, "100 together");
	o = options();
	o.model = model_find("llama3-1t");
	refused(&o, -EINVAL, "KV cache");
	o = options();
	o.threads = 13;
	refused(&o, -EINVAL, "13 threads");
	o = options();
	o.templates[0] = o.templates[1] = o.templates[2] = false;
	refused(&o, -EINVAL, "kind of user");
	o = options();
	o.time_ns = o.turns = 0;
	refused(&o, -EINVAL, "never end");
}

int main(void)
{
	/* In memory, if there is such a place: how fast a disk is has no part in what is tested. */
	snprintf(path, sizeof(path), "%s/penstock-test-kv-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, VOLUME) != 0)
		tap_skip_all("no temporary file");
	snprintf(uri, sizeof(uri), "file:%s", path);
	pages();
	with_room();
	without_room();
	refusals();
	close(fd);
	unlink(path);
	return tap_done();
}
