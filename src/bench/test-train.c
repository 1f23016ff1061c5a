/* SPDX-License-Identifier: Apache-2.0 */
/* Whole runs of accelerators against a generated dataset in a file. */
#include "bench/train.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "bench/generate.h"
#include "bench/test-help.h"
#include "tests/tap.h"

#define MS UINT64_C(1000000)

enum { SAMPLES = 24, VOLUME = 4 << 20 };

static char path[] = "/tmp/penstock-test-train-XXXXXX";
static char uri[64];
static int fd;
static atomic_bool stop;

static const char *const uris[] = { uri };
static struct train_result r;
static const struct manifest manifest = {
	.workload = "unet3d",
	.extension = "npz",
	.samples = SAMPLES,
	.per_file = 1,
	.scale_ppm = 1000,
	.sizes = { .seed = 5, .mean = 100000, .stddev = 30000 },
};

static struct train_options options(void)
{
	struct train_options o = {
		.target = { .uris = uris, .uri_count = 1, .clock = &clock_test, .stop = &stop },
		.workload = *workload_find("unet3d", "h100"),
		.accelerators = 2,
		.threads = 1,
		.queues = 1,
		.prefetch = 2,
		.seed = 3,
		.verify = true,
	};

	o.workload.batch = 3;
	o.workload.compute_ns = 5 * MS;
	o.workload.epochs = 2;
	return o;
}

static int run(const struct train_options *o)
{
	struct err err = ERR_NULL;
	int rc = train_run(o, &r, &err);

	if (rc < 0)
		diag("%s", err.text);
	return rc;
}

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
	ok(rc == 0 && bytes > 2000000 && bytes + 20480 > generate_size(&manifest), "a dataset is made %s", err.text);
	pst_volume_close(vol);
	pst_context_free(ctx);
	return rc == 0;
}

static uint64_t parts(const struct pst_timing *t)
{
	return t->client_queue + t->network + t->target_queue + t->qos + t->media + t->staging + t->wakeup +
	       t->remote;
}

static bool noted(const char *words)
{
	return test_noted(&r.all.notes, words);
}

static void two_accelerators(void)
{
	struct train_options o = options();

	ok(run(&o) == 0 && r.all.errors == 0, "two accelerators train for two epochs");
	is_u64(r.epochs, 2, "that many epochs");
	/* 24 samples, 2 ranks, 3 a step: 4 steps an epoch. */
	is_u64(r.steps, 8, "of as many steps as the dataset has");
	is_u64(r.all.ops, 2 * SAMPLES, "every sample comes once in each epoch");
	is_u64(r.all.verify.samples, 2 * SAMPLES, "and each is checked");
	is_u64(r.all.verify.failed, 0, "and right");
	is_u64(r.all.latency.count, 2 * 2 * 3, "all steps but the first of each epoch are judged");
	is_u64(parts(&r.all.split), r.stall_ns, "the parts of the stall sum to it");
	ok(r.compute_ns >= 12 * 5 * MS && r.compute_ns < 12 * 15 * MS, "steps take their time (%llu)",
	   (unsigned long long)r.compute_ns);
	ok(r.has_au && r.au_mlperf > 0.2 && r.au_mlperf <= 1 && r.au_storage > 0.2 && r.au_storage <= 1,
	   "there are utilisations (%.3f, %.3f)", r.au_mlperf, r.au_storage);
	ok(fabs(r.au_storage - (double)r.compute_ns / (double)(r.compute_ns + r.stall_ns)) < 0.2,
	   "the mean over ranks is near that of the sums");
	is_u64(r.dataset_samples, SAMPLES, "the description of the dataset is no sample");
	ok(noted("not an MLPerf result") && noted("excluded from time") && noted("below the 3000"), "notes are honest");
	ok(noted("batches of 3 samples: unet3d on h100 has 7") && noted("steps of 5 ms: unet3d on h100 has 323 ms"),
	   "and say what is not the workload's");
	ok(bench_main_path(r.all.path_bytes) == PST_PATH_HOST, "the path is known");
}

static void limits(void)
{
	struct train_options o = options();

	o.verify = false;
	o.steps = 5;
	ok(run(&o) == 0 && r.steps == 5 && r.epochs == 2, "steps can be limited, across epochs");
	is_u64(r.all.ops, 30, "to as many samples");
	o.steps = 1;
	ok(run(&o) == 0 && r.steps == 1 && !r.has_au && noted("no utilisation"), "one step has no utilisation");
	o.steps = 0;
	o.workload.epochs = 1000000;
	o.time_ns = 100 * MS;
	ok(run(&o) == 0 && r.all.ns >= 60 * MS && r.all.ns < 2000 * MS, "so can time");
	diag("%llu ns", (unsigned long long)r.all.ns);
	o.time_ns = 0;
	atomic_store(&stop, true);
	ok(run(&o) == 0 && r.all.interrupted && r.steps == 0, "an interrupt ends it");
	atomic_store(&stop, false);
}

static void emulated(void)
{
	struct train_options o = options();

	o.target.emulated = true;
	o.target.require = PST_PATH_EMULATED;
	o.workload.epochs = 1;
	o.accelerators = 1;
	o.workload.compute_ns = MS / 2;
	ok(run(&o) == 0 && r.all.errors == 0 && r.all.verify.samples == SAMPLES && r.all.verify.failed == 0,
	   "samples in an emulated accelerator's memory are right");
	ok(bench_main_path(r.all.path_bytes) == PST_PATH_EMULATED && noted("emulated"), "and labelled");
	o.target.emulated = false;
	ok(run(&o) == 0 && r.all.path_missed && r.all.path_taken == PST_PATH_HOST && r.steps == 1,
	   "a path that was required and not taken ends it");
}

/* Preparing 15 ms beside computing 5: each judged step waits for 10 of them, and that is not storage's. */
static void prepared(void)
{
	struct train_options o = options();

	o.prepare_ns = 15 * MS;
	ok(run(&o) == 0 && r.all.errors == 0 && r.steps == 8, "batches are prepared, in two epochs");
	ok(r.all.verify.samples == 2 * SAMPLES && r.all.verify.failed == 0, "and every sample is right");
	is_u64(parts(&r.all.split), r.stall_ns, "the parts of the stall sum to it");
	o.verify = false;
	ok(run(&o) == 0 && r.prepare_ns >= 12 * 8 * MS && r.prepare_ns < 12 * 60 * MS,
	   "what of it does not fit beside computing is waited for (%llu ns)", (unsigned long long)r.prepare_ns);
	ok(r.step_seconds >= 0.013 && r.step_seconds < 0.060, "so a step takes as long (%.4f s)", r.step_seconds);
	ok(r.stall_ns < r.prepare_ns / 4, "and storage is not charged (%llu ns)", (unsigned long long)r.stall_ns);
	ok(hist_percentile(&r.all.latency, 50) >= 8 * MS, "a wait for a batch includes it");
	o.steps = 3;
	ok(run(&o) == 0 && r.steps == 3, "it ends in the middle of an epoch");
	atomic_store(&stop, true);
	ok(run(&o) == 0 && r.all.interrupted, "and by an interrupt");
	atomic_store(&stop, false);
}

static void synthetic(void)
{
	struct train_options o = options();

	o.verify = false;
	o.synthetic = true;
	ok(run(&o) == 0 && r.steps == 8 && r.all.path_bytes[PST_PATH_NONE] == r.all.bytes, "steps without storage");
	ok(r.has_au && r.au_storage >= 0.995, "are not charged to it (%.5f)", r.au_storage);
}

/* One bit within the contents of the last sample, which lies before the end of the archive. */
static void damage(void)
{
	struct train_options o = options();
	uint64_t at = generate_size(&manifest) - 4096;
	uint8_t b = 0;

	o.workload.epochs = 1;
	if (pread(fd, &b, 1, (off_t)at) != 1)
		diag("pread: %s", strerror(errno));
	b ^= 4;
	if (pwrite(fd, &b, 1, (off_t)at) != 1)
		diag("pwrite: %s", strerror(errno));
	ok(run(&o) == 0 && r.all.verify.samples == SAMPLES && r.all.verify.failed == 1, "one wrong bit is found");
	ok(strstr(r.all.verify.failures[0].text, "sample 'unet3d/000023.npz': byte "), "and named: %s",
	   r.all.verify.failures[0].text);
	o.verify = false;
	ok(run(&o) == 0 && r.all.verify.failed == 0, "by who looks");
}

static void refusals(void)
{
	struct train_options o = options();
	static const char empty[1024];
	struct err err = ERR_NULL;

	o.workload.batch = 100;
	ok(train_run(&o, &r, &err) == -EINVAL && strstr(err.text, "24 samples"), "too few samples: %s", err.text);
	o.prefetch = 1000;
	o.accelerators = 200;
	o.workload.batch = 1 << 20;
	ok(train_run(&o, &r, &err) == -ENOMEM && strstr(err.text, "--prefetch"), "too little memory: %s", err.text);
	o = options();
	o.accelerators = 0;
	ok(train_run(&o, &r, &err) == -EINVAL, "no accelerator: %s", err.text);
	if (pwrite(fd, empty, sizeof(empty), 0) != sizeof(empty))
		diag("pwrite: %s", strerror(errno));
	o = options();
	ok(train_run(&o, &r, &err) < 0 && err.text[0], "no dataset: %s", err.text);
}

int main(void)
{
	fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, VOLUME) != 0)
		tap_skip_all("no temporary file");
	snprintf(uri, sizeof(uri), "file:%s", path);
	if (prepare()) {
		two_accelerators();
		limits();
		emulated();
		prepared();
		synthetic();
		damage();
		refusals();
	}
	close(fd);
	unlink(path);
	return tap_done();
}
