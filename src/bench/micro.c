/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A micro benchmark from outside of its threads: looks at the volumes, refuses what would end
 * badly, starts the threads at one moment, shows how far they are, puts their results together.
 */
#include "bench/micro.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/util.h"
#include "bench/micro-impl.h"
#include "bench/probe.h"
#include "bench/stamp.h"

#define TICK_NS UINT64_C(20000000)
#define LIVE_NS UINT64_C(1000000000)

/* ---- what is asked for ----------------------------------------------------------------------- */

uint64_t micro_range(const struct micro_options *o, const struct pst_volume_info *info, uint64_t *ret_offset)
{
	uint64_t size;

	bench_range(&o->target, info->size_bytes, o->offset, o->size, ret_offset, &size);
	return size / o->block_bytes;
}

void micro_part(const struct micro *m, uint64_t blocks, unsigned int t, uint64_t *ret_first,
		uint64_t *ret_count)
{
	uint64_t each = blocks / m->thread_count, more = blocks % m->thread_count;

	*ret_first = each * t + MIN((uint64_t)t, more);
	*ret_count = each + (t < more);
}

static unsigned int choose_threads(const struct micro_options *o)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (o->threads)
		return o->threads;
	return MIN(o->queues, cpus > 0 ? (unsigned int)cpus : 1u);
}

static int check_options(const struct micro_options *o, struct err *err)
{
	uint64_t inflight = 0;

	if (o->block_bytes < 1 || o->block_bytes > UINT32_MAX / 4)
		return err_set(err, EINVAL, "blocks of %llu bytes: expected 1 byte to 1 GiB",
			       (unsigned long long)o->block_bytes);
	if (o->verify && o->block_bytes < STAMP_MIN)
		return err_set(err, EINVAL, "blocks of %llu bytes cannot be verified: expected at least %d",
			       (unsigned long long)o->block_bytes, STAMP_MIN);
	if (o->threads > o->queues || o->threads > BENCH_THREADS_MAX)
		return err_set(err, EINVAL, "%u threads: expected at most one per queue, of which there are %u",
			       o->threads, o->queues);
	if (!u64_mul(o->depth, o->queues, &inflight) || inflight < 1 || inflight > 1 << 16)
		return err_set(err, EINVAL, "%u queues of depth %u: expected 1 to 65536 I/Os in flight", o->queues,
			       o->depth);
	if (o->time_ns == 0 && o->passes == 0)
		return err_set(err, EINVAL, "it would never end: no time and no passes");
	return 0;
}

/* Two threads, or two volume objects, would merge their edges into the same block. */
static int check_edges(const struct micro *m, const struct pst_volume_info *info, const char *uri,
		       struct err *err)
{
	const struct micro_options *o = m->opts;

	if (!pattern_writes(o->kind) || m->thread_count == 1)
		return 0;
	if (o->block_bytes % info->block_bytes == 0 && o->offset % info->block_bytes == 0)
		return 0;
	return err_set(err, EINVAL,
		       "%s: several threads can only write whole blocks of %u bytes: choose --block-size and "
		       "--offset so, or --threads 1",
		       uri, info->block_bytes);
}

static int check_range(const struct micro *m, const struct pst_volume_info *info, const char *uri,
		       struct err *err)
{
	const struct micro_options *o = m->opts;
	uint64_t blocks, offset;

	if (!range_within(o->offset, o->size, info->size_bytes))
		return err_set(err, EINVAL, "%s: the range goes beyond the volume's %llu bytes", uri,
			       (unsigned long long)info->size_bytes);
	blocks = micro_range(o, info, &offset);
	if (blocks < m->thread_count)
		return err_set(err, EINVAL, "%s: the range has fewer blocks (%llu) than there are threads (%u)",
			       uri, (unsigned long long)blocks, m->thread_count);
	return check_edges(m, info, uri, err);
}

static int check_volumes(struct micro *m, struct err *err)
{
	const struct micro_options *o = m->opts;
	const struct pst_volume_info *info = m->result->all.info;
	uint64_t offset;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < o->target.uri_count; i++) {
		rc = check_range(m, &info[i], o->target.uris[i], err);
		m->blocks += micro_range(o, &info[i], &offset);
		for (size_t k = 0; rc == 0 && pattern_writes(o->kind) && k < i; k++) {
			if (probe_same(&info[i], &info[k]))
				rc = err_set(err, EINVAL, "%s and %s are the same volume: their writes would overlap",
					     o->target.uris[k], o->target.uris[i]);
		}
	}
	return rc;
}

/* ---- running ------------------------------------------------------------------------------- */

static void prepare_threads(struct micro *m)
{
	for (unsigned int i = 0; i < m->thread_count; i++) {
		struct micro_thread *t = &m->threads[i];

		t->m = m;
		t->index = i;
		hist_init(&t->side[0].latency);
		hist_init(&t->side[1].latency);
		hist_init(&t->recent);
		series_part_init(&t->part, m->opts->target.series);
	}
}

/* Returns how many there are; fewer than wanted: @err. */
static unsigned int start_threads(struct micro *m, struct err *err)
{
	unsigned int n = 0;

	while (n < m->thread_count) {
		int rc = pthread_create(&m->threads[n].thread, NULL, micro_thread_main, &m->threads[n]);

		if (rc != 0) {
			err_set(err, rc, "cannot start %u threads: %s", m->thread_count, strerror(rc));
			break;
		}
		n++;
	}
	return n;
}

static int first_error(const struct micro *m, struct err *err)
{
	for (unsigned int i = 0; i < m->thread_count; i++) {
		if (m->threads[i].rc < 0) {
			*err = m->threads[i].err;
			return m->threads[i].rc;
		}
	}
	return 0;
}

static void show_scan(struct micro *m, struct bench_live *live)
{
	live->phase = "verifying";
	live->done = (double)atomic_load(&m->scanned) / (double)MAX(m->blocks, UINT64_C(1));
	live->seconds_left = -1;
}

static void show(struct micro *m, uint64_t now, uint64_t since_ns)
{
	const struct micro_options *o = m->opts;
	struct bench_live live = { .phase = "measuring", .done = -1, .seconds_left = -1, .stall = -1 };
	bool warm = now >= m->begin_ns;
	double seconds = (double)since_ns / 1e9;

	live.seconds = (double)(now - (m->begin_ns - o->warmup_ns)) / 1e9;
	if (!warm) {
		live.phase = "warm-up";
		live.seconds_left = (double)(m->begin_ns - now) / 1e9;
	} else if (m->end_ns != UINT64_MAX) {
		live.seconds = (double)(now - m->begin_ns) / 1e9;
		live.seconds_left = now < m->end_ns ? (double)(m->end_ns - now) / 1e9 : 0;
		live.done = 1 - live.seconds_left * 1e9 / (double)(m->end_ns - m->begin_ns);
	}
	if (atomic_load(&m->scanning) > 0)
		show_scan(m, &live);
	pthread_mutex_lock(&m->lock);
	live.iops = (double)m->recent.count / seconds;
	live.bytes_per_second = (double)m->recent_bytes / seconds;
	live.p99_ns = hist_percentile(&m->recent, 99);
	hist_init(&m->recent);
	m->recent_bytes = 0;
	pthread_mutex_unlock(&m->lock);
	o->live(&live, o->live_arg);
}

static void watch(struct micro *m)
{
	const struct bench_clock *clock = m->opts->target.clock;
	uint64_t shown = clock->now();

	while (atomic_load(&m->running) > 0) {
		uint64_t now = clock->now();

		if (m->opts->live && now - shown >= LIVE_NS) {
			show(m, now, now - shown);
			shown = now;
		}
		clock->sleep_until(now + TICK_NS);
	}
}

static int run_threads(struct micro *m, struct err *err)
{
	const struct micro_options *o = m->opts;
	unsigned int n;
	int rc = 0;

	prepare_threads(m);
	gate_init(&m->gate);
	n = start_threads(m, err);
	atomic_store(&m->running, n);
	gate_wait(&m->gate, n);
	rc = n < m->thread_count ? -err->code : first_error(m, err);
	if (rc == 0)
		rc = bench_ready(&o->target, err);
	m->abandoned = rc < 0;
	m->begin_ns = o->target.clock->now() + o->warmup_ns;
	m->end_ns = o->time_ns ? m->begin_ns + o->time_ns : UINT64_MAX;
	if (o->target.series)
		series_begin(o->target.series, m->begin_ns);
	gate_open(&m->gate);
	watch(m);
	for (unsigned int i = 0; i < n; i++)
		pthread_join(m->threads[i].thread, NULL);
	gate_deinit(&m->gate);
	return rc;
}

/* ---- results ------------------------------------------------------------------------------- */

static void merge_thread(struct micro_result *r, const struct micro_thread *t)
{
	for (int i = 0; i < 2; i++) {
		r->side[i].ops += t->side[i].ops;
		r->side[i].bytes += t->side[i].bytes;
		hist_merge(&r->side[i].latency, &t->side[i].latency);
		r->all.ops += t->side[i].ops;
		r->all.bytes += t->side[i].bytes;
		hist_merge(&r->all.latency, &t->side[i].latency);
	}
	for (int i = 0; i < BENCH_PATHS; i++)
		r->all.path_bytes[i] += t->path_bytes[i];
	if (r->all.errors == 0 && t->errors > 0)
		memcpy(r->all.first_error, t->first_error, sizeof(r->all.first_error));
	r->all.errors += t->errors;
	r->all.trouble.retries += t->trouble.retries;
	r->all.trouble.reconnects += t->trouble.reconnects;
	bench_verify_merge(&r->all.verify, &t->verify);
}

/* Where time went, of the I/Os that know it best. */
static void merge_split(struct micro *m)
{
	struct bench_result *r = &m->result->all;
	int best = 0;

	for (unsigned int i = 0; i < m->thread_count; i++)
		best |= m->threads[i].timing_ops[1] > 0;
	for (unsigned int i = 0; i < m->thread_count; i++) {
		bench_timing_add(&r->split, &m->threads[i].timing[best]);
		r->split_ops += m->threads[i].timing_ops[best];
	}
}

static void collect(struct micro *m)
{
	struct micro_result *r = m->result;
	uint64_t end = 0;

	r->threads = m->thread_count;
	r->inflight = (uint64_t)m->opts->depth * m->opts->queues * m->opts->target.uri_count;
	r->all.interrupted = atomic_load(m->opts->target.stop);
	r->all.path_missed = atomic_load(&m->path_missed);
	r->all.path_taken = (enum pst_path)atomic_load(&m->path_taken);
	r->all.cost = m->cost;
	for (unsigned int i = 0; i < m->thread_count; i++) {
		merge_thread(r, &m->threads[i]);
		end = MAX(end, m->threads[i].end_ns);
	}
	merge_split(m);
	r->all.ns = end > m->begin_ns ? end - m->begin_ns : 0;
	bench_result_points(&r->all, &m->opts->target, end);
}

static void note_verify(const struct micro *m, struct micro_result *r)
{
	struct bench_notes *notes = &r->all.notes;
	bool scanned = true;

	if (!m->opts->verify)
		return;
	bench_note(notes, "blocks were filled or checked by the threads that measure: figures are lower for it");
	for (unsigned int i = 0; i < m->thread_count; i++)
		scanned = scanned && m->threads[i].scanned;
	if (micro_keeps_versions(m->opts) && !scanned)
		bench_note(notes, "it ended early: not everything that was written was read back and checked");
	if (r->all.verify.skipped > 0)
		bench_note(notes, "%llu reads were of blocks that this run had not written: not checked",
			   (unsigned long long)r->all.verify.skipped);
}

static void note(const struct micro *m)
{
	const struct micro_options *o = m->opts;
	struct micro_result *r = m->result;
	struct bench_notes *notes = &r->all.notes;
	double rate = r->all.ns ? (double)r->all.ops * 1e9 / (double)r->all.ns : 0;

	bench_note_memory(notes, &o->target);
	for (size_t i = 0; i < o->target.uri_count; i++) {
		const struct pst_volume_info *v = &r->all.info[i];

		if (v->block_bytes > 1 && (o->block_bytes % v->block_bytes || o->offset % v->block_bytes))
			bench_note(notes, "%s: I/O is not aligned to blocks of %u bytes", o->target.uris[i],
				   v->block_bytes);
		if (pattern_writes(o->kind) && v->volatile_cache && !o->verify)
			bench_note(notes, "%s: has a volatile write cache: writes count when they are in it",
				   o->target.uris[i]);
	}
	if (o->rate && rate < 0.99 * (double)o->rate && !r->all.interrupted)
		bench_note(notes, "%.0f I/Os a second were asked for, %.0f were done", (double)o->rate, rate);
	if (r->all.interrupted)
		bench_note(notes, "interrupted");
	note_verify(m, r);
}

static int run(struct micro *m, struct err *err)
{
	const struct micro_options *o = m->opts;
	int rc = probe_volumes(&o->target, pattern_writes(o->kind), o->overwrite, m->result->all.info,
			       m->result->all.io, sizeof(m->result->all.io), err);

	if (rc == 0)
		rc = check_volumes(m, err);
	if (rc == 0)
		rc = run_threads(m, err);
	if (rc < 0)
		return rc;
	collect(m);
	note(m);
	return 0;
}

void micro_merge(struct micro_result *r, const struct micro_result *run)
{
	bench_result_merge(&r->all, &run->all);
	for (int i = 0; i < 2; i++) {
		r->side[i].ops += run->side[i].ops;
		r->side[i].bytes += run->side[i].bytes;
		hist_merge(&r->side[i].latency, &run->side[i].latency);
	}
}

int micro_run(const struct micro_options *opts, struct micro_result *ret_result, struct err *err)
{
	struct micro m = { .opts = opts, .result = ret_result, .thread_count = choose_threads(opts) };
	int rc = check_options(opts, err);

	if (rc < 0)
		return rc;
	memset(ret_result, 0, sizeof(*ret_result));
	hist_init(&ret_result->all.latency);
	hist_init(&ret_result->side[0].latency);
	hist_init(&ret_result->side[1].latency);
	hist_init(&m.recent);
	pthread_mutex_init(&m.lock, NULL);
	m.run = hash_u64(hash_u64(HASH_INIT, opts->target.clock->now()), (uint64_t)getpid());
	if (opts->rate)
		m.interval_ns = MAX(m.thread_count * UINT64_C(1000000000) / opts->rate, UINT64_C(1));
	m.threads = mem_calloc(m.thread_count, sizeof(*m.threads));
	rc = m.threads ? run(&m, err) : err_set(err, ENOMEM, "out of memory");
	pthread_mutex_destroy(&m.lock);
	mem_free(m.threads);
	return rc;
}
