/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic by examples, and whole calibrations of a dataset in a file. */
#include "bench/calibrate.h"

#include <errno.h>
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

static bool near(double got, double want)
{
	return fabs(got - want) < 1e-9;
}

static bool sums(const struct calibration *c)
{
	return near(c->compute + c->overhead + c->preparation + c->fetch, c->step);
}

static void arithmetic(void)
{
	struct calibration c;

	/* A step of 100 ms takes 103 without a store, 110 cached, 160 cold. */
	calibration_split(0.1, (double[]){ 0.103, 0.110, 0.160 }, &c);
	ok(near(c.overhead, 0.003) && near(c.preparation, 0.007) && near(c.fetch, 0.050), "the three differences");
	ok(sums(&c) && near(c.step, 0.160), "sum, with computing, to the step");
	ok(near(c.au_storage, 100.0 / 150) && near(c.chance, 0), "storage is charged with fetching alone");

	/* A store that costs nothing: nothing is charged to it, whatever the loop costs. */
	calibration_split(0.001, (double[]){ 0.005, 0.006, 0.006 }, &c);
	ok(near(c.au_storage, 1) && near(c.overhead, 0.004) && sums(&c), "an expensive loop is not storage's");

	/* By chance cached was slower than cold, by 2 of 104 ms, and no store slower than that, by 2. */
	calibration_split(0.1, (double[]){ 0.104, 0.102, 0.100 }, &c);
	ok(near(c.fetch, 0) && near(c.preparation, 0) && near(c.overhead, 0.004) && sums(&c),
	   "what should be faster is not slower");
	ok(near(c.chance, 4.0 / 104), "and how far off that is, is told");

	/* A clock of whole ticks: steps shorter than they compute. */
	calibration_split(0.1, (double[]){ 0.099, 0.1, 0.1 }, &c);
	ok(near(c.overhead, 0) && near(c.step, 0.1) && near(c.chance, 0.01) && sums(&c), "nor shorter than computing");
	ok(strcmp(calibrate_name(CALIBRATE_NULL), "null") == 0 && strcmp(calibrate_name(CALIBRATE_COLD), "cold") == 0,
	   "runs have names");
}

/* ---- whole ones ------------------------------------------------------------------------------ */

static char path[] = "/tmp/penstock-test-calibrate-XXXXXX";
static char uri[64];
static atomic_bool stop;
static struct calibrate_result r;
static const char *const uris[] = { uri };

static struct calibrate_options options(void)
{
	struct calibrate_options o = { .train = {
		.target = { .uris = uris, .uri_count = 1, .clock = &clock_test, .stop = &stop, .emulated = true },
		.workload = *workload_find("unet3d", "h100"),
		.accelerators = 1,
		.threads = 1,
		.queues = 1,
		.prefetch = 2,
		.seed = 3,
		.steps = 12,
	} };

	o.train.workload.batch = 2;
	o.train.workload.compute_ns = 5 * MS;
	return o;
}

static int run(const struct calibrate_options *o)
{
	struct err err = ERR_NULL;
	int rc = calibrate_run(o, &r, &err);

	if (rc < 0)
		diag("%s", err.text);
	return rc;
}

static bool noted(const char *words)
{
	return test_noted(&r.runs[CALIBRATE_COLD].all.notes, words);
}

static bool dataset(void)
{
	static const struct manifest manifest = {
		.workload = "unet3d",
		.extension = "npz",
		.samples = SAMPLES,
		.per_file = 1,
		.scale_ppm = 1000,
		.sizes = { .seed = 5, .mean = 100000, .stddev = 30000 },
	};
	struct pst_context *ctx;
	struct pst_volume *vol;
	struct pst_error perr;
	struct err err = ERR_NULL;
	uint64_t bytes = 0;
	int rc;

	if (pst_context_new(NULL, &ctx, &perr) < 0 || pst_volume_open(ctx, uri, NULL, &vol, &perr) < 0)
		return ok(false, "the volume opens: %s", perr.text);
	rc = generate_dataset(vol, &manifest, NULL, NULL, &bytes, &err);
	pst_volume_close(vol);
	pst_context_free(ctx);
	return ok(rc == 0, "a dataset is made %s", err.text);
}

static void whole(void)
{
	struct calibrate_options o = options();

	ok(run(&o) == 0 && r.complete && sums(&r.split), "three runs, whose parts sum to the step");
	ok(r.runs[0].steps == 12 && r.runs[1].steps == 12 && r.runs[2].steps == 12, "of as many steps");
	ok(r.runs[CALIBRATE_NULL].au_storage >= 0.995, "without a store nothing is charged to storage");
	ok(r.runs[CALIBRATE_NULL].all.path_bytes[PST_PATH_EMULATED] == 0 &&
		   r.runs[CALIBRATE_CACHED].all.bytes == r.runs[CALIBRATE_COLD].all.bytes &&
		   r.runs[CALIBRATE_CACHED].all.path_bytes[PST_PATH_EMULATED] == r.runs[CALIBRATE_CACHED].all.bytes,
	   "the cached run moves what the cold one does, the same way; the third nothing");
	ok(r.files == SAMPLES && r.cached_files == SAMPLES && !noted("which is what fits"), "all of it was cached");

	/* 15 ms beside 5 of computing. */
	o.train.prepare_ns = 15 * MS;
	ok(run(&o) == 0 && r.complete, "with preparing");
	ok(r.runs[CALIBRATE_CACHED].step_seconds >= 0.013 && r.split.preparation >= 0.006 && sums(&r.split),
	   "which shows as such (%.4f s)", r.split.preparation);
}

static void a_part(void)
{
	struct calibrate_options o = options();

	o.cache_bytes = 1 << 20;
	ok(run(&o) == 0 && r.complete && r.cached_files > 4 && r.cached_files < SAMPLES, "as much as fits is cached");
	ok(r.runs[CALIBRATE_CACHED].steps == 12 && noted("which is what fits"), "read more often, and that is told");
	o.train.verify = true;
	ok(run(&o) == 0 && r.runs[CALIBRATE_COLD].all.verify.failed == 0 &&
		   r.runs[CALIBRATE_COLD].all.verify.samples > 0,
	   "the cold run can be verified");
}

static void ends(void)
{
	struct calibrate_options o = options();
	struct err err = ERR_NULL;

	o.cache_bytes = 1000;
	ok(calibrate_run(&o, &r, &err) == -ENOMEM && strstr(err.text, "--cache-size"), "too little: %s", err.text);
	o = options();
	o.train.steps = 1;
	ok(run(&o) == 0 && !r.complete && r.last == CALIBRATE_COLD, "too few steps are no calibration");
	o = options();
	o.train.target.require = PST_PATH_HOST;
	ok(run(&o) == 0 && !r.complete && r.runs[r.last].all.path_missed, "nor is another path");
	o = options();
	atomic_store(&stop, true);
	ok(run(&o) == 0 && !r.complete && r.runs[r.last].all.interrupted, "nor what was interrupted");
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0 || ftruncate(fd, VOLUME) != 0)
		tap_skip_all("no temporary file");
	snprintf(uri, sizeof(uri), "file:%s", path);
	arithmetic();
	if (dataset()) {
		whole();
		a_part();
		ends();
	}
	close(fd);
	unlink(path);
	return tap_done();
}
