/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole runs against a file. The test is the clock, so it can look at the file, and damage it, at a
 * moment of its choice in the middle of a run.
 */
#include "bench/micro.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "bench/stamp.h"
#include "bench/test-help.h"
#include "tests/tap.h"

enum { BLOCK = 4096, BLOCKS = 64, SIZE = BLOCK * BLOCKS };

static char path[] = "/tmp/penstock-test-micro-XXXXXX";
static char uri[64];
static int fd;
static atomic_bool stop;
static void (*hook)(void); /* called by the thread that measures */
static pthread_t main_thread;

static uint64_t now(void)
{
	if (hook && !pthread_equal(pthread_self(), main_thread))
		hook();
	return test_now();
}

static const struct bench_clock clock_hooked = { .now = now, .sleep_until = test_sleep_until };
static const char *const uris[] = { uri };
static struct micro_result r;

static struct micro_options options(enum pattern_kind kind)
{
	return (struct micro_options){
		.target = { .uris = uris, .uri_count = 1, .clock = &clock_hooked, .stop = &stop },
		.kind = kind,
		.read_percent = 50,
		.block_bytes = BLOCK,
		.depth = 8,
		.queues = 1,
		.threads = 1,
		.passes = 1,
		.seed = 11,
		.verify = true,
	};
}

static int run(const struct micro_options *o)
{
	struct err err = ERR_NULL;
	int rc = micro_run(o, &r, &err);

	if (rc < 0)
		diag("%s", err.text);
	return rc;
}

static void damage(uint64_t offset)
{
	uint8_t b;

	if (pread(fd, &b, 1, (off_t)offset) != 1)
		b = 0;
	b ^= 1;
	if (pwrite(fd, &b, 1, (off_t)offset) != 1)
		diag("pwrite: %s", strerror(errno));
}

/* ---- writing, then reading ------------------------------------------------------------------- */

static void write_and_read(void)
{
	struct micro_options o = options(PATTERN_WRITE);
	const struct pst_timing *split = &r.all.split;
	uint64_t sum;

	ok(run(&o) == 0, "a pass of writes runs");
	is_u64(r.side[1].ops, BLOCKS, "it writes each block once");
	is_u64(r.side[1].bytes, SIZE, "and counts the bytes");
	is_u64(r.side[1].latency.count, BLOCKS, "and the latencies");
	is_u64(r.all.verify.samples, BLOCKS, "what was written is read back");
	ok(r.all.verify.failed == 0 && r.all.errors == 0, "and is right");
	ok(bench_main_path(r.all.path_bytes) == PST_PATH_HOST && r.all.ns > 0, "path and time are known");
	sum = split->client_queue + split->network + split->target_queue + split->qos + split->media +
	      split->staging + split->wakeup + split->remote;
	ok(sum > 0 && sum == split->total, "so is where time was spent, to the nanosecond");
	ok(r.all.split_ops > 0 && r.all.split_ops <= r.all.ops, "of those that were sampled");

	o = options(PATTERN_RANDREAD);
	o.passes = 3;
	o.queues = o.threads = 2;
	ok(run(&o) == 0 && r.all.verify.samples == 3 * BLOCKS && r.all.verify.failed == 0,
	   "a later run by two threads finds it as it should be");
	is_u64(r.side[0].ops, 3 * BLOCKS, "three passes read each block three times");

	damage(9 * BLOCK + 1000);
	ok(run(&o) == 0 && r.all.verify.failed == 3, "one wrong bit is found in each pass");
	ok(strstr(r.all.verify.failures[0].text, "byte 37864 is wrong"), "and named: %s",
	   r.all.verify.failures[0].text);
	damage(9 * BLOCK + 1000);

	o.seed = 12;
	ok(run(&o) == 0 && r.all.verify.failed == 3 * BLOCKS, "another seed finds nothing of its own");
	ok(strstr(r.all.verify.failures[BENCH_FAILURES_MAX - 1].text, "seed 12"), "and says so");
	o.seed = 11;
	o.block_bytes = 2 * BLOCK;
	ok(run(&o) == 0 && r.all.verify.failed == r.all.verify.samples, "nor does another block size");
}

static void emulated(void)
{
	struct micro_options o = options(PATTERN_RANDWRITE);

	o.target.emulated = true;
	o.target.require = PST_PATH_EMULATED;
	ok(run(&o) == 0 && r.all.verify.samples == BLOCKS && r.all.verify.failed == 0 && r.all.errors == 0,
	   "writes out of an emulated accelerator come back right");
	ok(bench_main_path(r.all.path_bytes) == PST_PATH_EMULATED && r.all.notes.count > 0, "and are labelled");
	o.target.emulated = false;
	ok(run(&o) == 0 && r.all.path_missed && r.all.path_taken == PST_PATH_HOST,
	   "a path that was required and not taken is told");
}

static void mixed(void)
{
	struct micro_options o = options(PATTERN_MIXED);

	o.passes = 40;
	ok(run(&o) == 0 && r.all.verify.failed == 0 && r.all.errors == 0, "mixed I/O finds what it wrote");
	is_u64(r.side[0].ops + r.side[1].ops, 40 * BLOCKS, "each pass comes to each block");
	ok(r.all.verify.samples + r.all.verify.skipped >= r.side[0].ops, "every read is checked or counted as not");
	ok(r.all.verify.skipped < 2 * BLOCKS, "only first reads are not");
}

/* ---- damage in the middle -------------------------------------------------------------------- */

static bool planted;
static uint64_t run_before;

/* What the last block of the range is; false: nothing of ours. */
static bool last_block(uint8_t block[BLOCK], struct stamp *ret_found)
{
	size_t wrong;

	return pread(fd, block, BLOCK, (BLOCKS - 1) * BLOCK) == BLOCK &&
	       stamp_check(11, (BLOCKS - 1) * BLOCK, NULL, block, BLOCK, ret_found, &wrong) == STAMP_GOOD;
}

/* True once, when the present run has written its last block for the second time. */
static bool moment(uint8_t block[BLOCK], struct stamp *ret_found)
{
	if (planted || !last_block(block, ret_found) || ret_found->run == run_before || ret_found->version != 2)
		return false;
	planted = true;
	return true;
}

/* Puts block 5 back to its first version. */
static void plant_stale(void)
{
	uint8_t block[BLOCK];
	struct stamp found;

	if (!moment(block, &found))
		return;
	found.offset = 5 * BLOCK;
	found.version = 1;
	stamp_fill(11, &found, block, BLOCK);
	if (pwrite(fd, block, BLOCK, 5 * BLOCK) != BLOCK)
		diag("pwrite: %s", strerror(errno));
}

static void plant_misplaced(void)
{
	uint8_t block[BLOCK];
	struct stamp found;

	if (moment(block, &found) && pwrite(fd, block, BLOCK, 7 * BLOCK) != BLOCK)
		diag("pwrite: %s", strerror(errno));
}

static int run_with(const struct micro_options *o, void (*h)(void))
{
	uint8_t block[BLOCK];
	struct stamp found = { .run = 0 };
	int rc;

	last_block(block, &found);
	run_before = found.run;
	planted = false;
	hook = h;
	rc = run(o);
	hook = NULL;
	return rc;
}

static void damages(void)
{
	struct micro_options o = options(PATTERN_WRITE);

	o.passes = 2;
	o.depth = 1;
	ok(run_with(&o, plant_stale) == 0 && planted && r.all.verify.failed == 1,
	   "a write that was acknowledged and lost is found");
	ok(strstr(r.all.verify.failures[0].text, "byte 20480: an old block, version 1, where version 2"),
	   "as what it is: %s", r.all.verify.failures[0].text);
	ok(run_with(&o, plant_misplaced) == 0 && planted && r.all.verify.failed == 1,
	   "so is a block in the wrong place");
	ok(strstr(r.all.verify.failures[0].text, "byte 28672: holds the block that belongs at byte 258048"),
	   "as what it is: %s", r.all.verify.failures[0].text);
}

/* ---- what is refused, and how it ends -------------------------------------------------------- */

static void refusals(void)
{
	struct micro_options o = options(PATTERN_WRITE);
	static const char *const twice[] = { uri, uri };
	char tar[512] = { 0 };
	struct err err = ERR_NULL;

	o.threads = 2;
	ok(micro_run(&o, &r, &err) == -EINVAL, "more threads than queues: %s", err.text);
	o = options(PATTERN_WRITE);
	o.size = SIZE + 1;
	ok(micro_run(&o, &r, &err) == -EINVAL, "a range beyond the end: %s", err.text);
	o = options(PATTERN_READ);
	o.passes = 0;
	ok(micro_run(&o, &r, &err) == -EINVAL, "no end: %s", err.text);
	o = options(PATTERN_WRITE);
	o.target.uris = twice;
	o.target.uri_count = 2;
	ok(micro_run(&o, &r, &err) == -EINVAL && strstr(err.text, "same volume"), "one volume twice: %s", err.text);
	memcpy(tar + 257, "ustar", 5);
	if (pwrite(fd, tar, sizeof(tar), 0) != sizeof(tar))
		diag("pwrite: %s", strerror(errno));
	o = options(PATTERN_WRITE);
	ok(micro_run(&o, &r, &err) == -EEXIST && strstr(err.text, "--overwrite"), "a dataset in the way: %s",
	   err.text);
	o.overwrite = true;
	ok(run(&o) == 0 && r.all.errors == 0, "unless that is meant");
}

static void endings(void)
{
	struct micro_options o = options(PATTERN_RANDREAD);
	static const char *const gone[] = { "file:/nonexistent/volume" };
	struct err err = ERR_NULL;

	o.passes = 0;
	o.time_ns = 200000000;
	o.warmup_ns = 50000000;
	ok(run(&o) == 0 && r.all.ns == o.time_ns && r.side[0].ops > 0, "a time is kept");
	o.rate = 1000;
	ok(run(&o) == 0 && r.side[0].ops > 20 && r.side[0].ops <= 251, "a rate too");
	diag("%llu I/Os of 200", (unsigned long long)r.side[0].ops);
	o.rate = 0;
	o.time_ns = UINT64_C(3600000000000);
	atomic_store(&stop, true);
	ok(run(&o) == 0 && r.all.interrupted && r.side[0].ops == 0, "an interrupt ends it");
	atomic_store(&stop, false);
	o.target.uris = gone;
	ok(micro_run(&o, &r, &err) < 0 && strstr(err.text, gone[0]), "no such volume: %s", err.text);
}

int main(void)
{
	main_thread = pthread_self();
	fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, SIZE) != 0)
		tap_skip_all("no temporary file");
	snprintf(uri, sizeof(uri), "file:%s", path);
	write_and_read();
	emulated();
	mixed();
	damages();
	refusals();
	endings();
	close(fd);
	unlink(path);
	return tap_done();
}
