/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/calibrate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"

enum {
	PIECE = 8 << 20, /* of copying: the library reads it in as many commands as it takes */
	TAR_BLOCK = 512,
	TAR_END = 2 * TAR_BLOCK,
};

/* More than this of a step by chance is worth a word. */
#define CHANCE_NOTED 0.01

const char *calibrate_name(enum calibrate_run run)
{
	static const char *const names[CALIBRATE_RUNS] = { "null", "cached", "cold" };

	return names[run];
}

void calibration_split(double compute, const double step[CALIBRATE_RUNS], struct calibration *ret)
{
	double null = MAX(step[CALIBRATE_NULL], compute), cached = MAX(step[CALIBRATE_CACHED], null);
	double cold = MAX(step[CALIBRATE_COLD], cached);
	double off = MAX(cached - step[CALIBRATE_CACHED], cold - step[CALIBRATE_COLD]);

	*ret = (struct calibration){
		.compute = compute,
		.overhead = null - compute,
		.preparation = cached - null,
		.fetch = cold - cached,
		.step = cold,
	};
	off = MAX(off, null - step[CALIBRATE_NULL]);
	ret->chance = cold > 0 ? off / cold : 0;
	ret->au_storage = compute + ret->fetch > 0 ? compute / (compute + ret->fetch) : 0;
}

/* ---- a copy in memory ------------------------------------------------------------------------ */

struct copy {
	int fd; /* -1: none */
	char uri[64];
	struct pst_context *ctx;
	struct pst_volume *from, *to;
	struct pst_dataset *ds;
	struct pst_memory *mem;
	uint64_t bytes, files;
};

/* The first files of the archive that fit, which are an archive when two empty blocks follow them. */
static int choose(struct copy *c, uint64_t most, struct err *err)
{
	uint64_t n = pst_dataset_count(c->ds), end = 0;
	struct pst_sample s;

	while (c->files < n) {
		uint64_t to;

		pst_dataset_sample(c->ds, c->files, &s);
		to = MAX(end, ALIGN_UP(s.offset + s.size, (uint64_t)TAR_BLOCK) + TAR_END);
		if (to > most)
			break;
		end = to;
		c->files++;
	}
	c->bytes = end;
	if (c->files == 0)
		return err_set(err, ENOMEM, "not even one file of the dataset fits in %llu bytes: --cache-size",
			       (unsigned long long)most);
	return 0;
}

static int make_file(struct copy *c, struct err *err)
{
	c->fd = memfd_create("penstock-cached", MFD_CLOEXEC);
	if (c->fd < 0 || ftruncate(c->fd, (off_t)c->bytes) < 0)
		return err_set(err, errno, "no memory for a copy of %llu bytes: %s", (unsigned long long)c->bytes,
			       strerror(errno));
	/* Through the page cache, which is the point; and never by cuFile, which could not. */
	snprintf(c->uri, sizeof(c->uri), "file:/proc/self/fd/%d?direct=0&gds=0", c->fd);
	return 0;
}

static int copy_bytes(struct copy *c, const struct bench_target *t, struct err *err)
{
	uint64_t end = c->bytes - TAR_END;
	struct pst_completion done;
	int rc = 0;

	for (uint64_t at = 0; rc == 0 && at < end; at += PIECE) {
		uint64_t n = MIN(end - at, (uint64_t)PIECE);

		if (atomic_load(t->stop))
			return -EINTR;
		rc = pst_read_sync(c->from, c->mem, 0, at, n, &done);
		if (rc == 0)
			rc = pst_write_sync(c->to, c->mem, 0, at, n, &done);
		if (rc < 0)
			err_set(err, -rc, "copying the dataset at byte %llu: %s", (unsigned long long)at,
				done.nvme_status ? pst_nvme_status_name(done.nvme_status) : strerror(-rc));
	}
	return rc;
}

static int copy_open(struct copy *c, const struct bench_target *t, uint64_t most, struct err *err)
{
	struct pst_volume_options vo = PST_OPTIONS(vo);
	struct pst_error perr;
	int rc = bench_context(t, PST_MODE_THREADED, 1, 0, &c->ctx, err);

	if (rc < 0)
		return rc;
	vo.read_only = true;
	if (pst_volume_open(c->ctx, t->uris[0], &vo, &c->from, &perr) < 0 ||
	    pst_dataset_open(c->from, &c->ds, &perr) < 0 || pst_memory_alloc(c->ctx, PIECE, &c->mem, &perr) < 0)
		return bench_err(err, &perr);
	rc = choose(c, most, err);
	if (rc == 0)
		rc = make_file(c, err);
	if (rc == 0 && pst_volume_open(c->ctx, c->uri, NULL, &c->to, &perr) < 0)
		rc = bench_err(err, &perr);
	return rc;
}

/* What is not needed to read the copy. */
static void copy_settle(struct copy *c)
{
	pst_memory_free(c->mem);
	pst_dataset_close(c->ds);
	pst_volume_close(c->to);
	pst_volume_close(c->from);
	pst_context_free(c->ctx);
}

static uint64_t quarter(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 4 : UINT64_C(1) << 30;
}

/* -EINTR: told to stop, without a sentence. */
static int make_copy(struct copy *c, const struct calibrate_options *o, struct calibrate_result *r, struct err *err)
{
	int rc = copy_open(c, &o->train.target, o->cache_bytes ? o->cache_bytes : quarter(), err);

	if (rc == 0) {
		r->files = pst_dataset_count(c->ds);
		r->cached_files = c->files;
		r->cached_bytes = c->bytes;
		rc = copy_bytes(c, &o->train.target, err);
	}
	copy_settle(c);
	if (rc < 0 && rc != -EINTR)
		err_prefix(err, "%s", o->train.target.uris[0]);
	return rc;
}

/* ---- the three runs -------------------------------------------------------------------------- */

static int one(enum calibrate_run which, const struct train_options *o, struct calibrate_result *r, struct err *err)
{
	struct train_result *t = &r->runs[which];
	int rc = train_run(o, t, err);

	r->last = which;
	if (rc < 0)
		return err_prefix(err, "the run '%s'", calibrate_name(which));
	return t->all.interrupted || t->all.path_missed || t->all.errors > 0 || !t->has_au;
}

static int cached(const struct calibrate_options *opts, const struct train_options *as, struct calibrate_result *r,
		  struct err *err)
{
	struct train_options o = *as;
	struct copy c = { .fd = -1 };
	const char *uri = c.uri;
	int rc = make_copy(&c, opts, r, err);

	o.target.uris = &uri;
	o.target.uri_count = 1;
	o.phase = "cached";
	/* A part of the dataset is read more often. */
	if (r->cached_files < r->files)
		o.workload.epochs = UINT32_MAX;
	if (rc == -EINTR) {
		r->runs[CALIBRATE_COLD].all.interrupted = true;
		rc = 1;
	} else if (rc == 0) {
		rc = one(CALIBRATE_CACHED, &o, r, err);
	}
	if (c.fd >= 0)
		close(c.fd);
	return rc;
}

static void note(const struct calibrate_options *o, struct calibrate_result *r)
{
	struct bench_notes *notes = &r->runs[CALIBRATE_COLD].all.notes;

	bench_note(notes, "cold: this machine had cached nothing; what the target had cached is not known");
	if (r->cached_files < r->files)
		bench_note(notes, "cached: the first %llu of %llu files, which is what fits in %llu bytes",
			   (unsigned long long)r->cached_files, (unsigned long long)r->files,
			   (unsigned long long)(o->cache_bytes ? o->cache_bytes : quarter()));
	if (r->split.chance > CHANCE_NOTED)
		bench_note(notes, "runs differ by chance, by %.1f %% of a step at least: take more --steps",
			   100 * r->split.chance);
}

int calibrate_run(const struct calibrate_options *opts, struct calibrate_result *ret_result, struct err *err)
{
	struct train_options cold = opts->train, same = opts->train;
	double step[CALIBRATE_RUNS];
	int rc;

	memset(ret_result, 0, sizeof(*ret_result));
	cold.phase = "cold";
	rc = one(CALIBRATE_COLD, &cold, ret_result, err);
	if (rc != 0)
		return MIN(rc, 0);
	same.verify = false;
	same.steps = ret_result->runs[CALIBRATE_COLD].steps;
	same.time_ns = 0;
	same.target.require = PST_PATH_NONE;
	same.target.series = NULL;
	rc = cached(opts, &same, ret_result, err);
	if (rc == 0) {
		same.synthetic = true;
		same.prepare_ns = 0;
		same.phase = "no store";
		rc = one(CALIBRATE_NULL, &same, ret_result, err);
	}
	if (rc != 0)
		return MIN(rc, 0);
	for (int i = 0; i < CALIBRATE_RUNS; i++)
		step[i] = ret_result->runs[i].step_seconds;
	calibration_split((double)opts->train.workload.compute_ns / 1e9, step, &ret_result->split);
	note(opts, ret_result);
	ret_result->complete = true;
	return 0;
}
