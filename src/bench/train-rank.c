/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One accelerator: wait for a batch, compute, meet the others. Every rank comes to every meeting,
 * whatever happened to it, until one meeting says stop; an epoch has the same number of steps on
 * all of them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/util.h"
#include "bench/train-impl.h"

#define LOOK_NS UINT64_C(200000000) /* how long a wait may last before signals are looked at */
/*
 * Sleeping is late by tens of microseconds, which matters to steps shorter than this; they wait
 * for their last bit awake.
 */
#define SHORT_STEP_NS UINT64_C(1000000)
#define AWAKE_NS      UINT64_C(100000)

static const struct train_options *opts_of(const struct train_rank *r)
{
	return r->t->opts;
}

static uint64_t now_of(const struct train_rank *r)
{
	return opts_of(r)->target.clock->now();
}

/* ---- opening ------------------------------------------------------------------------------- */

/* A dataset that says how its files are made is read record by record. */
static int open_records(struct train_rank *r)
{
	const struct train_options *o = opts_of(r);
	struct pst_records layout;
	struct pst_error perr;
	int rc = manifest_load(r->ctx, r->vol, r->ds, &r->manifest, &r->err);

	r->group = 1;
	r->group_records = 1;
	if (rc < 0 && (rc != -ENOENT || o->verify))
		return rc;
	if (rc == 0 && r->manifest.format != FORMAT_PLAIN) {
		r->group_records = format_records(&r->manifest, r->extents, &layout);
		r->group = layout.extent_count;
		if (pst_dataset_records(r->ds, &layout, &perr) < 0)
			return bench_err(&r->err, &perr);
	}
	if (o->workload.format == FORMAT_COLUMNS && (rc < 0 || r->manifest.format != FORMAT_COLUMNS))
		return err_set(&r->err, EINVAL,
			       "%s reads columns of groups of rows, and the dataset has none: make one with 'penstock "
			       "dataset create --workload %s'",
			       o->workload.name, o->workload.name);
	if (o->workload.batch % r->group_records != 0)
		return err_set(&r->err, EINVAL, "batches of %u: expected a multiple of %llu, the rows of a group",
			       o->workload.batch, (unsigned long long)r->group_records);
	err_clear(&r->err);
	return 0;
}

static int open_dataset(struct train_rank *r)
{
	const struct train_options *o = opts_of(r);
	struct pst_volume_options vo = PST_OPTIONS(vo);
	struct pst_error perr;

	vo.queues = o->queues;
	vo.depth = o->depth;
	vo.read_only = true;
	if (pst_volume_open(r->ctx, r->uri, &vo, &r->vol, &perr) < 0)
		return bench_err(&r->err, &perr);
	if (pst_dataset_open(r->vol, &r->ds, &perr) < 0)
		return bench_err(&r->err, &perr);
	r->scratch = o->verify ? mem_alloc(VERIFY_PIECE) : NULL;
	if (o->verify && !r->scratch)
		return err_set(&r->err, ENOMEM, "out of memory");
	return open_records(r);
}

/* Without this the kernel would find out, at the expense of some other process. */
static int check_memory(struct train_rank *r, uint64_t each)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	uint64_t have = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
	unsigned int n = opts_of(r)->accelerators;

	if (each <= have / n)
		return 0;
	return err_set(&r->err, ENOMEM,
		       "%u accelerators with %llu bytes of memory each: this machine has %llu; take fewer, or a "
		       "smaller --batch or --prefetch",
		       n, (unsigned long long)each, (unsigned long long)have);
}

static int open_feed(struct train_rank *r)
{
	const struct train_options *o = opts_of(r);
	struct pst_feed_options fo = PST_OPTIONS(fo);
	unsigned long long samples = pst_dataset_count(r->ds) / r->group * r->group_records;
	struct pst_error perr;
	size_t size;
	int rc;

	fo.group = r->group;
	fo.batch = (uint32_t)(o->workload.batch / r->group_records) * r->group;
	fo.prefetch = o->prefetch + (o->prepare_ns ? PREPARE_HELD : 0);
	fo.synthetic = o->synthetic;
	fo.seed = o->seed;
	fo.ranks = o->accelerators * MAX(o->target.parts, 1u);
	fo.rank = o->accelerators * o->target.part + r->index;
	size = pst_feed_memory_size(r->ds, &fo);
	rc = check_memory(r, size);
	if (rc == 0)
		rc = bench_memory(&o->target, r->ctx, size, &r->mem, &r->err);
	if (rc < 0)
		return rc;
	if (pst_feed_new(r->ds, r->mem, &fo, &r->feed, &perr) < 0)
		return bench_err(&r->err, &perr);
	r->batches = pst_feed_batches(r->feed);
	if (r->batches == 0)
		return err_set(&r->err, EINVAL,
			       "the dataset has %llu samples; a step of %u accelerators takes %llu: make a larger "
			       "one with 'penstock dataset create', or use --batch",
			       samples, fo.ranks, (unsigned long long)o->workload.batch * fo.ranks);
	return 0;
}

static int open_all(struct train_rank *r)
{
	const struct train_options *o = opts_of(r);
	int rc = bench_context(&o->target, PST_MODE_THREADED, o->threads, 0, &r->ctx, &r->err);

	if (rc == 0)
		rc = open_dataset(r);
	if (rc == 0)
		rc = open_feed(r);
	if (rc == 0 && o->prepare_ns > 0)
		rc = prepare_new(r->feed, o->prepare_ns, o->target.clock, o->target.stop, &r->prepare, &r->err);
	if (rc < 0)
		err_prefix(&r->err, "%s", r->uri);
	return rc;
}

static void close_all(struct train_rank *r)
{
	prepare_free(r->prepare);
	pst_feed_free(r->feed);
	pst_memory_free(r->mem);
	pst_dataset_close(r->ds);
	bench_trouble_add(&r->trouble, r->vol);
	pst_volume_close(r->vol);
	pst_context_free(r->ctx);
	mem_free(r->scratch);
}

/* ---- a step -------------------------------------------------------------------------------- */

static void fail(struct train_rank *r, const char *what, int rc)
{
	if (r->errors++ == 0)
		snprintf(r->first_error, sizeof(r->first_error), "%s: %s: %s", r->uri, what, strerror(-rc));
}

static bool stopped(const struct train_rank *r)
{
	return atomic_load_explicit(opts_of(r)->target.stop, memory_order_relaxed);
}

/* 1: @b is there; 0: told to stop; -errno. @ret_prepare: of the wait, how long it was prepared. */
static int wait_batch(struct train_rank *r, struct pst_batch *b, uint64_t *ret_prepare)
{
	uint64_t begin, arrived;
	int rc;

	*ret_prepare = 0;
	if (r->prepare) {
		begin = now_of(r);
		rc = prepare_next(r->prepare, b, &arrived);
		if (rc == 1)
			*ret_prepare = prepare_split(b, arrived, begin, now_of(r));
		return rc;
	}
	do {
		if (stopped(r))
			return 0;
		rc = pst_feed_next(r->feed, LOOK_NS, b);
	} while (rc == -ETIMEDOUT);
	/* The caller counts batches: the epoch has one more. */
	return rc == 0 ? -ENODATA : rc;
}

static void compute(struct train_rank *r, uint64_t begin)
{
	const struct bench_clock *clock = opts_of(r)->target.clock;
	uint64_t ns = opts_of(r)->workload.compute_ns, end = begin + ns, now = begin;
	uint64_t awake = ns < SHORT_STEP_NS ? MIN(AWAKE_NS, ns) : 0;

	while (now + awake < end && !stopped(r)) {
		clock->sleep_until(MIN(end - awake, now + LOOK_NS));
		now = clock->now();
	}
	while (now < end && !stopped(r))
		now = clock->now();
}

static void look_at_batch(struct train_rank *r, const struct pst_batch *b)
{
	enum pst_path want = opts_of(r)->target.require;
	struct pst_sample what;

	for (uint32_t i = 0; i < b->count; i++) {
		if (b->samples[i].error == 0)
			continue;
		if (r->errors == 0 && pst_dataset_sample(r->ds, b->samples[i].index, &what) == 0)
			fail(r, what.name, b->samples[i].error);
		else
			r->errors++;
	}
	r->samples += b->count / r->group * r->group_records;
	r->bytes += b->bytes;
	r->path_bytes[b->path] += b->bytes;
	if (want != PST_PATH_NONE && b->bytes > 0 && b->path != want) {
		atomic_store(&r->t->path_taken, b->path);
		atomic_store(&r->t->path_missed, true);
	}
}

/* What of a step is judged, which the first of an epoch is not. */
static void judge(struct train_rank *r, const struct pst_batch *b, uint64_t prepare_ns, uint64_t compute_ns)
{
	uint64_t nominal = opts_of(r)->workload.compute_ns;

	hist_add(&r->wait, b->wait_ns + prepare_ns);
	r->prepare_ns += prepare_ns;
	bench_timing_add(&r->stall, &b->stall);
	r->overrun_ns += compute_ns > nominal ? compute_ns - nominal : 0;
	atomic_fetch_add(&r->live_stall_ns, b->wait_ns);
	atomic_fetch_add(&r->live_compute_ns, compute_ns);
}

/* With the clock stopped, until all have done so; who stops meets nobody. Returns whether to stop. */
static bool verify(struct train_rank *r, const struct pst_batch *b, bool stop)
{
	uint64_t begin = now_of(r), most;

	atomic_store(&r->live_verifying, true);
	train_verify(r, b);
	if (!stop)
		stop = meeting_join(&r->t->meeting, false, 0, &most);
	atomic_store(&r->live_verifying, false);
	au_pause(&r->au, now_of(r) - begin);
	return stop;
}

/* One step, meeting included. Returns whether to stop. */
static bool step(struct train_rank *r, bool first, bool last)
{
	struct train *t = r->t;
	struct pst_batch b = { .wait_ns = 0 };
	uint64_t begin = now_of(r), loaded, done, most, prepare;
	int rc = wait_batch(r, &b, &prepare);
	bool stop = last || rc <= 0;

	if (rc < 0)
		fail(r, "waiting for a batch", rc);
	if (rc == 1) {
		loaded = now_of(r);
		look_at_batch(r, &b);
		compute(r, loaded);
		done = now_of(r);
		if (opts_of(r)->target.series)
			series_add(opts_of(r)->target.series, loaded, b.wait_ns, b.bytes);
		au_step(&r->au, loaded - begin, b.wait_ns, done - loaded);
		if (!first)
			judge(r, &b, prepare, done - loaded);
		atomic_fetch_add(&r->live_steps, 1);
		atomic_fetch_add(&r->live_bytes, b.bytes);
		if (!opts_of(r)->verify)
			pst_feed_release(r->feed, &b);
		stop = stop || stopped(r) || done >= t->end_ns;
	}
	stop = stop || r->errors > 0 || atomic_load(&t->path_missed);
	stop = meeting_join(&t->meeting, stop, b.wait_ns + prepare, &most);
	if (!first && rc == 1)
		r->job_stall_ns += most;
	if (rc == 1 && opts_of(r)->verify) {
		stop = verify(r, &b, stop);
		pst_feed_release(r->feed, &b);
	}
	return stop;
}

static bool epoch(struct train_rank *r, uint64_t number)
{
	const struct train_options *o = opts_of(r);
	bool stop = false;
	int rc;

	au_begin(&r->au, now_of(r));
	r->epochs++;
	rc = pst_feed_start(r->feed, number);
	if (rc < 0)
		fail(r, "starting an epoch", rc);
	if (r->prepare)
		prepare_start(r->prepare, r->batches);
	for (uint64_t i = 0; i < r->batches && !stop; i++) {
		uint64_t done = r->au.steps + i + 1;

		stop = step(r, i == 0, o->steps > 0 && done >= o->steps);
	}
	return stop;
}

static void train(struct train_rank *r)
{
	const struct train_options *o = opts_of(r);
	bool stop = false;

	for (uint64_t e = 0; e < o->workload.epochs && !stop; e++) {
		stop = epoch(r, e);
		au_end(&r->au, now_of(r));
	}
	r->ended_ns = now_of(r);
}

void *train_rank_main(void *arg)
{
	struct train_rank *r = arg;

	r->rc = open_all(r);
	gate_arrive(&r->t->gate);
	if (!r->t->abandoned)
		train(r);
	/* Pieces of groups were counted: what was promised are samples. */
	r->verify.samples = r->verify.samples / MAX(r->group, 1u) * r->group_records;
	close_all(r);
	atomic_fetch_sub(&r->t->running, 1);
	return NULL;
}
