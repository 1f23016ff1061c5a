/* SPDX-License-Identifier: Apache-2.0 */
/* Streams together on one file; what is written lies behind the dataset; parts of ranges. */
#include "bench/mixed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "bench/generate.h"
#include "bench/guard.h"
#include "bench/test-help.h"
#include "tests/tap.h"

#define MS UINT64_C(1000000)

enum { SAMPLES = 30, VOLUME = 32 << 20 };

static char path[64];
static char uri[80];
static int fd;
static atomic_bool stop;
static const char *const uris[] = { uri };
static struct mixed_result r;

static const struct bench_target target = { .uris = uris, .uri_count = 1, .clock = &clock_test, .stop = &stop };
static const struct manifest manifest = {
	.workload = "unet3d",
	.extension = "npz",
	.samples = SAMPLES,
	.per_file = 1,
	.scale_ppm = 1000,
	.sizes = { .seed = 5, .mean = 100000, .stddev = 30000 },
};

static bool prepare(void)
{
	struct pst_context_options co = PST_OPTIONS(co);
	struct pst_context *ctx;
	struct pst_volume *vol;
	struct pst_error perr;
	struct err err = ERR_NULL;
	uint64_t bytes = 0;
	int rc;

	co.mode = PST_MODE_POLLED;
	if (pst_context_new(&co, &ctx, &perr) < 0 || pst_volume_open(ctx, uri, NULL, &vol, &perr) < 0)
		return ok(false, "the volume opens: %s", perr.text);
	rc = generate_dataset(vol, &manifest, NULL, NULL, &bytes, &err);
	ok(rc == 0 && bytes > 2000000, "a dataset is made %s", err.text);
	pst_volume_close(vol);
	pst_context_free(ctx);
	return rc == 0;
}

static struct mixed_options options(void)
{
	struct mixed_options o = {
		.on = { true, true, true },
		.time_ns = 200 * MS,
		.train = {
			.target = target, .workload = *workload_find("unet3d", "h100"), .accelerators = 2,
			.threads = 1, .queues = 1, .prefetch = 2, .seed = 1, .verify = true,
		},
		.checkpoint = {
			.target = target, .model = model_find("llama3-8b"), .ranks = 4, .scale_ppm = 5,
			.piece_bytes = 65536, .depth = 2, .queues = 1, .offset = 8 << 20, .seed = 1, .verify = true,
		},
		.micro = {
			.target = target, .kind = PATTERN_RANDREAD, .block_bytes = 4096, .depth = 2, .queues = 1,
			.seed = 1,
		},
	};

	o.train.workload.batch = 2;
	o.train.workload.compute_ns = 2 * MS;
	return o;
}

static void dataset(void)
{
	struct err err = ERR_NULL;
	char name[32] = "";
	uint64_t end = 0;

	ok(mixed_dataset(&target, name, &err) == 0 && strcmp(name, "unet3d") == 0, "the dataset says what it is for");
	ok(guard_datasets_end(&target, &end, &err) == 0 && end % GUARD_ALIGN == 0 && end > 2000000 && end <= 8 << 20,
	   "and where it ends: %llu", (unsigned long long)end);
	ok(guard_write(&target, end - 1, false, &err) == -EEXIST && strstr(err.text, "--offset"),
	   "before that nothing is written: %s", err.text);
	ok(guard_write(&target, end, false, &err) == 0 && guard_write(&target, 0, true, &err) == 0,
	   "behind it, or where it is meant, it may be");
}

static void together(void)
{
	struct mixed_options o = options();
	struct err err = ERR_NULL;

	ok(mixed_run(&o, &r, &err) == 0, "three streams run %s", err.text);
	for (int i = 0; i < MIXED_STREAMS; i++) {
		const struct bench_result *a = mixed_of(&r.alone, (enum mixed_stream)i);
		const struct bench_result *t = mixed_of(&r.together, (enum mixed_stream)i);

		ok(a->bytes > 0 && t->bytes > 0 && a->errors == 0 && t->errors == 0,
		   "%s moves something alone and together", mixed_name((enum mixed_stream)i));
		ok(a->verify.failed == 0 && t->verify.failed == 0, "and nothing of it is wrong");
	}
	ok(r.together.train.all.verify.samples > 0 && r.together.checkpoint.all.verify.samples > 0,
	   "samples and checkpoints were checked");
	ok(r.together.micro.all.ns == 200 * MS, "for the time asked for");
}

/* The stream that cannot begin says why, and nobody waits for it. */
static void one_fails(void)
{
	struct mixed_options o = options();
	struct err err = ERR_NULL;

	o.checkpoint.scale_ppm = 1000000;
	ok(mixed_run(&o, &r, &err) == -ENOSPC && strncmp(err.text, "checkpoint, alone: ", 19) == 0, "%s", err.text);
	o = options();
	o.on[MIXED_CHECKPOINT] = o.on[MIXED_INFERENCE] = false;
	ok(mixed_run(&o, &r, &err) == -EINVAL && strstr(err.text, "at least two"), "%s", err.text);
	o = options();
	o.time_ns = 0;
	ok(mixed_run(&o, &r, &err) == -EINVAL, "%s", err.text);
	atomic_store(&stop, true);
	o = options();
	ok(mixed_run(&o, &r, &err) == 0 && r.interrupted && r.together.train.all.ns == 0, "an interrupt ends it");
	atomic_store(&stop, false);
}

static void is_range(unsigned int part, unsigned int parts, uint64_t offset, uint64_t size, uint64_t want_offset,
		     uint64_t want_size)
{
	struct bench_target t = { .part = part, .parts = parts };
	uint64_t o, n;

	bench_range(&t, 100 << 20, offset, size, &o, &n);
	ok(o == want_offset && n == want_size, "part %u of %u of %llu bytes at %llu: %llu at %llu", part, parts,
	   (unsigned long long)size, (unsigned long long)offset, (unsigned long long)n, (unsigned long long)o);
}

static void ranges(void)
{
	is_range(0, 0, 0, 0, 0, 100 << 20);
	is_range(0, 1, 4096, 0, 4096, (100 << 20) - 4096);
	is_range(0, 3, 0, 0, 0, 33 << 20);
	is_range(2, 3, 0, 0, 66 << 20, 33 << 20);
	is_range(1, 2, 1 << 20, 7 << 20, 4 << 20, 3 << 20);
	is_range(0, 2, 200 << 20, 0, 200 << 20, 0);
}

int main(void)
{
	snprintf(path, sizeof(path), "%s/penstock-test-mixed-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, VOLUME) != 0)
		tap_skip_all("no temporary file");
	snprintf(uri, sizeof(uri), "file:%s", path);
	if (prepare()) {
		dataset();
		together();
		one_fails();
	}
	ranges();
	close(fd);
	unlink(path);
	return tap_done();
}
