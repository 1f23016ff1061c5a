/* SPDX-License-Identifier: Apache-2.0 */
/* A training run from outside of its ranks: checks, start, live line, results. */
#include "bench/train.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/util.h"
#include "bench/probe.h"
#include "bench/train-impl.h"

#define TICK_NS UINT64_C(20000000)
#define LIVE_NS UINT64_C(1000000000)

enum { MLPERF_STEPS = 500 };

static int check_options(const struct train_options *o, struct err *err)
{
	if (o->accelerators < 1 || o->accelerators > TRAIN_ACCELERATORS_MAX)
		return err_set(err, EINVAL, "%u accelerators: expected 1 to %d", o->accelerators,
			       TRAIN_ACCELERATORS_MAX);
	if (o->workload.batch < 1 || o->workload.epochs < 1 || o->workload.compute_ns < 1)
		return err_set(err, EINVAL, "batch, epochs and compute time: expected at least 1");
	return 0;
}

/* ---- running ------------------------------------------------------------------------------- */

static unsigned int start_ranks(struct train *t, struct err *err)
{
	const struct train_options *o = t->opts;
	unsigned int n = 0;

	while (n < o->accelerators) {
		struct train_rank *r = &t->ranks[n];
		int rc;

		r->t = t;
		r->index = n;
		r->uri = o->target.uris[n % o->target.uri_count];
		hist_init(&r->wait);
		rc = pthread_create(&r->thread, NULL, train_rank_main, r);
		if (rc != 0) {
			err_set(err, rc, "cannot start %u accelerators: %s", o->accelerators, strerror(rc));
			break;
		}
		n++;
	}
	return n;
}

/* All have opened: did it go well, and do all see the same dataset? */
static int check_ranks(struct train *t, struct err *err)
{
	struct pst_dataset_info first = { .samples = 0 }, other;

	for (unsigned int i = 0; i < t->opts->accelerators; i++) {
		struct train_rank *r = &t->ranks[i];

		if (r->rc < 0) {
			*err = r->err;
			return r->rc;
		}
		pst_dataset_info(r->ds, &other);
		if (i == 0)
			first = other;
		if (other.samples != first.samples || other.bytes != first.bytes ||
		    other.largest_bytes != first.largest_bytes)
			return err_set(err, EINVAL, "%s and %s do not hold the same dataset", t->ranks[0].uri,
				       r->uri);
	}
	t->result->dataset_samples = first.samples / t->ranks[0].group * t->ranks[0].group_records;
	t->result->dataset_bytes = first.bytes;
	return 0;
}

static uint64_t planned_steps(const struct train *t)
{
	uint64_t n = t->ranks[0].batches * t->opts->workload.epochs;

	return t->opts->steps ? MIN(t->opts->steps, n) : n;
}

static void show(struct train *t, uint64_t now, uint64_t *bytes_before, uint64_t since_ns)
{
	const struct train_options *o = t->opts;
	struct bench_live live = { .phase = o->phase ? o->phase : "training", .seconds_left = -1, .stall = -1 };
	uint64_t bytes = 0, stall = 0, compute = 0, steps = atomic_load(&t->ranks[0].live_steps);
	bool verifying = false;

	for (unsigned int i = 0; i < o->accelerators; i++) {
		struct train_rank *r = &t->ranks[i];

		bytes += atomic_load(&r->live_bytes);
		stall += atomic_load(&r->live_stall_ns);
		compute += atomic_load(&r->live_compute_ns);
		verifying = verifying || atomic_load(&r->live_verifying);
	}
	if (verifying)
		live.phase = "verifying";
	live.seconds = (double)(now - t->begin_ns) / 1e9;
	live.done = (double)steps / (double)MAX(planned_steps(t), UINT64_C(1));
	if (steps > 0)
		live.seconds_left = live.seconds * (1 / live.done - 1);
	if (t->end_ns != UINT64_MAX)
		live.seconds_left = MIN(live.seconds_left, (double)(t->end_ns - MIN(now, t->end_ns)) / 1e9);
	live.bytes_per_second = (double)(bytes - *bytes_before) * 1e9 / (double)since_ns;
	if (compute + stall > 0)
		live.stall = (double)stall / (double)(compute + stall);
	*bytes_before = bytes;
	o->live(&live, o->live_arg);
}

static void watch(struct train *t)
{
	const struct bench_clock *clock = t->opts->target.clock;
	uint64_t shown = clock->now(), bytes = 0;

	while (atomic_load(&t->running) > 0) {
		uint64_t now = clock->now();

		if (t->opts->live && !t->abandoned && now - shown >= LIVE_NS) {
			show(t, now, &bytes, now - shown);
			shown = now;
		}
		clock->sleep_until(now + TICK_NS);
	}
}

static int run_ranks(struct train *t, struct err *err)
{
	const struct train_options *o = t->opts;
	unsigned int n;
	int rc;

	gate_init(&t->gate);
	meeting_init(&t->meeting, o->accelerators);
	n = start_ranks(t, err);
	atomic_store(&t->running, n);
	gate_wait(&t->gate, n);
	rc = n < o->accelerators ? -err->code : check_ranks(t, err);
	if (rc == 0)
		rc = bench_ready(&o->target, err);
	t->abandoned = rc < 0;
	t->begin_ns = o->target.clock->now();
	t->end_ns = o->time_ns ? t->begin_ns + o->time_ns : UINT64_MAX;
	if (o->target.series)
		series_begin(o->target.series, t->begin_ns);
	t->cost_begin = bench_cost_now(&o->target);
	gate_open(&t->gate);
	watch(t);
	for (unsigned int i = 0; i < n; i++)
		pthread_join(t->ranks[i].thread, NULL);
	meeting_deinit(&t->meeting);
	gate_deinit(&t->gate);
	return rc;
}

/* ---- results ------------------------------------------------------------------------------- */

static void merge_rank(struct train_result *r, const struct train_rank *from)
{
	r->all.ns = MAX(r->all.ns, from->au.elapsed_ns);
	r->steps = MAX(r->steps, from->au.steps);
	r->epochs = MAX(r->epochs, from->epochs);
	r->all.ops += from->samples;
	r->all.bytes += from->bytes;
	r->compute_ns += from->au.compute_ns;
	r->stall_ns += from->au.stall_ns;
	r->prepare_ns += from->prepare_ns;
	bench_timing_add(&r->all.split, &from->stall);
	hist_merge(&r->all.latency, &from->wait);
	for (int i = 0; i < BENCH_PATHS; i++)
		r->all.path_bytes[i] += from->path_bytes[i];
	if (r->all.errors == 0 && from->errors > 0)
		memcpy(r->all.first_error, from->first_error, sizeof(r->all.first_error));
	r->all.errors += from->errors;
	r->all.trouble.retries += from->trouble.retries;
	r->all.trouble.reconnects += from->trouble.reconnects;
	bench_verify_merge(&r->all.verify, &from->verify);
}

static void collect(struct train *t)
{
	struct train_result *r = t->result;
	unsigned int n = t->opts->accelerators;
	uint64_t overrun = 0, first_wait = 0, blocks = 0, end = 0, judged = 0, steps = 0;
	struct au *au = mem_calloc(n, sizeof(*au));

	for (unsigned int i = 0; i < n; i++) {
		merge_rank(r, &t->ranks[i]);
		overrun += t->ranks[i].overrun_ns;
		first_wait += t->ranks[i].au.first_wait_ns;
		blocks += t->ranks[i].au.blocks;
		end = MAX(end, t->ranks[i].ended_ns);
		judged += t->ranks[i].au.judged_ns;
		steps += t->ranks[i].au.judged_steps;
		if (au)
			au[i] = t->ranks[i].au;
	}
	r->job_stall_ns = t->ranks[0].job_stall_ns;
	r->first_batch_seconds = blocks ? (double)first_wait / 1e9 / (double)blocks : 0;
	r->step_seconds = steps ? (double)judged / 1e9 / (double)steps : 0;
	r->compute_overrun = r->compute_ns ? (double)overrun / (double)r->compute_ns : 0;
	r->has_au = au && au_mean(au, n, au_mlperf, &r->au_mlperf) && au_mean(au, n, au_storage, &r->au_storage);
	mem_free(au);
	bench_result_points(&r->all, &t->opts->target, end);
	r->all.interrupted = atomic_load(t->opts->target.stop);
	r->all.path_missed = atomic_load(&t->path_missed);
	r->all.path_taken = (enum pst_path)atomic_load(&t->path_taken);
}

static void note_dataset(const struct train_options *o, struct train_result *r)
{
	struct bench_notes *notes = &r->all.notes;
	uint64_t least = (uint64_t)MLPERF_STEPS * o->workload.batch * o->accelerators;
	uint64_t mean = r->dataset_bytes / MAX(r->dataset_samples, UINT64_C(1));
	double off = (double)mean / (double)o->workload.sample_bytes;

	if (r->dataset_samples < least)
		bench_note(notes,
			   "the dataset has %llu samples: below the %llu (500 steps of all accelerators) that "
			   "MLPerf Storage asks for, so caches may hold it",
			   (unsigned long long)r->dataset_samples, (unsigned long long)least);
	if (off < 0.9 || off > 1.1)
		bench_note(notes, "samples have %llu bytes in the mean: %s has %llu", (unsigned long long)mean,
			   o->workload.name, (unsigned long long)o->workload.sample_bytes);
}

/* What is not as the workload was published, and would go under its name. */
static void note_changes(const struct workload *w, struct bench_notes *notes)
{
	const struct workload *published = workload_find(w->name, w->accelerator);
	char ours[FORMAT_MAX], theirs[FORMAT_MAX];

	if (published && w->batch != published->batch)
		bench_note(notes, "batches of %u samples: %s on %s has %u", w->batch, w->name, w->accelerator,
			   published->batch);
	if (published && w->compute_ns != published->compute_ns)
		bench_note(notes, "steps of %s: %s on %s has %s", format_duration(w->compute_ns, ours, sizeof(ours)),
			   w->name, w->accelerator, format_duration(published->compute_ns, theirs, sizeof(theirs)));
}

static void note(const struct train *t)
{
	const struct train_options *o = t->opts;
	struct train_result *r = t->result;
	struct bench_notes *notes = &r->all.notes;

	bench_note(notes, "not an MLPerf result");
	bench_note(notes, "the accelerator's computing is a timed wait%s",
		   o->target.emulated ? ", its memory and its copy engine are emulated on this machine" : "");
	if (o->target.cuda)
		bench_note_memory(notes, &o->target);
	else if (!o->target.emulated)
		bench_note(notes, "samples end in host memory: no copy to an accelerator is included");
	if (o->prepare_ns > 0)
		bench_note(notes, "so is preparing batches, which costs no CPU here");
	if (o->verify)
		bench_note(notes, "verification is excluded from time, but reading ahead went on during it: "
				      "waits are shorter than without");
	note_changes(&o->workload, notes);
	note_dataset(o, r);
	if (!r->has_au)
		bench_note(notes, "no epoch had two steps: there is no utilisation");
	if (r->compute_overrun > 0.01)
		bench_note(notes,
			   "steps computed %.1f %% longer than they should: this machine has too little CPU",
			   100 * r->compute_overrun);
	if (r->all.interrupted)
		bench_note(notes, "interrupted");
}

static int run(struct train *t, struct err *err)
{
	const struct train_options *o = t->opts;
	struct train_result *r = t->result;
	int rc = probe_volumes(&o->target, false, false, r->all.info, r->all.io, sizeof(r->all.io), err);

	if (rc == 0)
		rc = run_ranks(t, err);
	if (rc < 0)
		return rc;
	r->all.cost = bench_cost_since(&o->target, &t->cost_begin);
	collect(t);
	note(t);
	return 0;
}

/* The mean of what @n runs had, and one more. */
static void average(double *mean, double one, unsigned int n)
{
	*mean = (*mean * n + one) / (n + 1);
}

void train_merge(struct train_result *r, const struct train_result *run)
{
	bench_result_merge(&r->all, &run->all);
	average(&r->au_mlperf, run->au_mlperf, r->merged);
	average(&r->au_storage, run->au_storage, r->merged);
	average(&r->first_batch_seconds, run->first_batch_seconds, r->merged);
	average(&r->compute_overrun, run->compute_overrun, r->merged);
	average(&r->step_seconds, run->step_seconds, r->merged);
	r->has_au = r->has_au && run->has_au;
	r->merged++;
	r->steps += run->steps;
	r->epochs += run->epochs;
	r->compute_ns += run->compute_ns;
	r->stall_ns += run->stall_ns;
	r->prepare_ns += run->prepare_ns;
	r->job_stall_ns += run->job_stall_ns;
}

int train_run(const struct train_options *opts, struct train_result *ret_result, struct err *err)
{
	struct train t = { .opts = opts, .result = ret_result };
	int rc = check_options(opts, err);

	if (rc < 0)
		return rc;
	memset(ret_result, 0, sizeof(*ret_result));
	hist_init(&ret_result->all.latency);
	ret_result->merged = 1;
	t.ranks = mem_calloc(opts->accelerators, sizeof(*t.ranks));
	rc = t.ranks ? run(&t, err) : err_set(err, ENOMEM, "out of memory");
	mem_free(t.ranks);
	return rc;
}
