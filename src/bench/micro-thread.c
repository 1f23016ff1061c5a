/* SPDX-License-Identifier: Apache-2.0 */
/* A thread of a micro benchmark: opens its share of the volumes, measures, checks, closes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/util.h"
#include "bench/micro-impl.h"

enum { BUFFER_ALIGN = 4096 };

#define LOOK_NS	   UINT64_C(100000000) /* how long a wait may last before signals are looked at */
#define PUBLISH_NS UINT64_C(200000000)

static const struct micro_options *opts_of(const struct micro_thread *t)
{
	return t->m->opts;
}

static uint64_t now_of(const struct micro_thread *t)
{
	return opts_of(t)->target.clock->now();
}

/* ---- opening ------------------------------------------------------------------------------- */

static unsigned int queues_of(const struct micro_thread *t)
{
	unsigned int n = t->m->thread_count, q = opts_of(t)->queues;

	return q / n + (t->index < q % n);
}

static int open_lane(struct micro_thread *t, size_t i)
{
	const struct micro_options *o = opts_of(t);
	struct pst_volume_options vo = PST_OPTIONS(vo);
	struct micro_lane *l = &t->lanes[i];
	uint64_t first, count, offset, blocks;
	struct pst_error perr;

	l->thread = t;
	l->uri = o->target.uris[i];
	vo.queues = queues_of(t);
	vo.depth = o->depth;
	vo.read_only = !pattern_writes(o->kind);
	if (pst_volume_open(t->ctx, l->uri, &vo, &l->vol, &perr) < 0) {
		bench_err(&t->err, &perr);
		err_prefix(&t->err, "%s", l->uri);
		return -perr.code;
	}
	blocks = micro_range(o, &t->m->result->all.info[i], &offset);
	micro_part(t->m, blocks, t->index, &first, &count);
	l->base = offset + first * o->block_bytes;
	pattern_init(&l->pattern, o->kind, count, o->passes, o->read_percent,
		     hash_u64(hash_u64(hash_u64(HASH_INIT, o->seed), t->index), i));
	if (micro_keeps_versions(o) && versions_init(&l->versions, count) < 0)
		return err_set(&t->err, ENOMEM,
			       "no memory to keep the versions of %llu blocks: check a smaller range with --size",
			       (unsigned long long)count);
	return 0;
}

static int make_slots(struct micro_thread *t)
{
	const struct micro_options *o = opts_of(t);
	uint64_t each = ALIGN_UP(o->block_bytes, (uint64_t)BUFFER_ALIGN);
	uint64_t per_lane = (uint64_t)o->depth * queues_of(t);
	int rc;

	t->slot_count = per_lane * o->target.uri_count;
	t->slots = mem_calloc(t->slot_count, sizeof(*t->slots));
	t->scratch = mem_aligned(BUFFER_ALIGN, each);
	if (!t->slots || !t->scratch)
		return err_set(&t->err, ENOMEM, "out of memory");
	rc = bench_memory(&o->target, t->ctx, t->slot_count * each, &t->mem, &t->err);
	if (rc < 0)
		return rc;
	t->host = pst_memory_ptr(t->mem);
	for (uint64_t i = 0; i < t->slot_count; i++) {
		struct micro_slot *s = &t->slots[i];

		s->lane = &t->lanes[i / per_lane];
		s->mem_offset = i * each;
		s->next = s->lane->free;
		s->lane->free = s;
	}
	rc = micro_prepare(t);
	return rc < 0 ? err_set(&t->err, -rc, "filling buffers: %s", strerror(-rc)) : 0;
}

static int open_all(struct micro_thread *t)
{
	const struct micro_options *o = opts_of(t);
	/* A few more than slots: flushes. */
	unsigned int inflight = o->depth * queues_of(t) * (unsigned int)o->target.uri_count + 8;
	int rc = bench_context(&o->target, PST_MODE_POLLED, 0, inflight, &t->ctx, &t->err);

	if (rc < 0)
		return rc;
	t->lanes = mem_calloc(o->target.uri_count, sizeof(*t->lanes));
	if (!t->lanes)
		return err_set(&t->err, ENOMEM, "out of memory");
	for (size_t i = 0; rc == 0 && i < o->target.uri_count; i++)
		rc = open_lane(t, i);
	return rc < 0 ? rc : make_slots(t);
}

static void close_all(struct micro_thread *t)
{
	for (size_t i = 0; t->lanes && i < opts_of(t)->target.uri_count; i++) {
		bench_trouble_add(&t->trouble, t->lanes[i].vol);
		pst_volume_close(t->lanes[i].vol);
		versions_deinit(&t->lanes[i].versions);
	}
	pst_memory_free(t->mem);
	pst_context_free(t->ctx);
	mem_free(t->lanes);
	mem_free(t->slots);
	mem_free(t->scratch);
}

/* ---- measuring ----------------------------------------------------------------------------- */

static bool stopped(const struct micro_thread *t)
{
	return atomic_load_explicit(opts_of(t)->target.stop, memory_order_relaxed) ||
	       atomic_load_explicit(&t->m->halt, memory_order_relaxed);
}

static bool passes_done(const struct micro_thread *t)
{
	for (size_t i = 0; i < opts_of(t)->target.uri_count; i++) {
		if (!pattern_ended(&t->lanes[i].pattern))
			return false;
	}
	return t->in_flight == 0;
}

/* Decides whether to go on, and notes the time when not. */
static bool going(struct micro_thread *t, uint64_t now)
{
	if (now >= t->m->end_ns)
		t->end_ns = t->m->end_ns;
	else if (stopped(t))
		t->end_ns = now;
	else if (passes_done(t))
		t->end_ns = t->last_ns;
	else
		return true;
	return false;
}

/* CPU time counts from the first thread that begins to the last that ends. */
static void begin_measuring(struct micro_thread *t)
{
	struct micro *m = t->m;

	t->measuring = true;
	pthread_mutex_lock(&m->lock);
	if (!m->cpu_begun)
		m->cost_begin = bench_cost_now(&m->opts->target);
	m->cpu_begun = true;
	pthread_mutex_unlock(&m->lock);
}

static void end_measuring(struct micro_thread *t)
{
	struct micro *m = t->m;

	t->recording = false;
	series_part_end(&t->part);
	pthread_mutex_lock(&m->lock);
	if (m->cpu_begun)
		m->cost = bench_cost_since(&m->opts->target, &m->cost_begin);
	pthread_mutex_unlock(&m->lock);
}

static void publish(struct micro_thread *t, uint64_t now)
{
	struct micro *m = t->m;

	if (!opts_of(t)->live || now - t->published_ns < PUBLISH_NS)
		return;
	t->published_ns = now;
	pthread_mutex_lock(&m->lock);
	hist_merge(&m->recent, &t->recent);
	m->recent_bytes += t->recent_bytes;
	pthread_mutex_unlock(&m->lock);
	hist_init(&t->recent);
	t->recent_bytes = 0;
}

/* How long a poll may wait: no event that is due may be missed. */
static uint64_t patience(const struct micro_thread *t, uint64_t now)
{
	uint64_t until = MIN(now + LOOK_NS, t->m->end_ns);

	if (!t->measuring)
		until = MIN(until, t->m->begin_ns);
	if (t->m->interval_ns && t->in_flight < t->slot_count)
		until = MIN(until, t->due_ns);
	return until > now ? until - now : 0;
}

static void turn(struct micro_thread *t, uint64_t now)
{
	int rc;

	micro_submit(t, now);
	rc = pst_poll(t->ctx, patience(t, now_of(t)));
	micro_settle(t);
	if (rc < 0 && rc != -EINTR && t->errors++ == 0) {
		memcpy(t->first_error, "polling failed", sizeof("polling failed"));
		atomic_store(&t->m->halt, true);
	}
}

static void drain(struct micro_thread *t)
{
	while (t->in_flight > 0) {
		pst_poll(t->ctx, LOOK_NS);
		micro_settle(t);
	}
}

static void measure(struct micro_thread *t)
{
	uint64_t now = now_of(t);

	t->end_ns = t->m->end_ns;
	/* The threads' turns are spread over the interval. */
	t->due_ns = now + t->m->interval_ns / t->m->thread_count * t->index;
	t->published_ns = now;
	t->recording = true;
	while (going(t, now)) {
		if (!t->measuring && now >= t->m->begin_ns)
			begin_measuring(t);
		turn(t, now);
		now = now_of(t);
		publish(t, now);
	}
	end_measuring(t);
	drain(t);
}

/* ---- the last check -------------------------------------------------------------------------- */

static bool scan_ended(const struct micro_thread *t)
{
	for (size_t i = 0; i < opts_of(t)->target.uri_count; i++) {
		if (t->lanes[i].scan < t->lanes[i].versions.count)
			return false;
	}
	return t->in_flight == 0;
}

static void flush(struct micro_thread *t)
{
	for (size_t i = 0; i < opts_of(t)->target.uri_count; i++) {
		int rc = pst_flush_sync(t->lanes[i].vol, NULL);

		if (rc < 0 && t->errors++ == 0)
			snprintf(t->first_error, sizeof(t->first_error), "%s: flush: %s", t->lanes[i].uri,
				 strerror(-rc));
	}
}

/* Reads back everything that was written, after a flush. */
static void scan(struct micro_thread *t)
{
	flush(t);
	t->scanning = true;
	atomic_fetch_add(&t->m->scanning, 1);
	while (!stopped(t) && !scan_ended(t)) {
		micro_submit(t, 0);
		pst_poll(t->ctx, LOOK_NS);
		micro_settle(t);
	}
	drain(t);
	t->scanned = !stopped(t);
}

void *micro_thread_main(void *arg)
{
	struct micro_thread *t = arg;

	t->done_tail = &t->done;
	t->rc = open_all(t);
	gate_arrive(&t->m->gate);
	if (!t->m->abandoned) {
		measure(t);
		if (micro_keeps_versions(opts_of(t)) && !stopped(t))
			scan(t);
	}
	close_all(t);
	atomic_fetch_sub(&t->m->running, 1);
	return NULL;
}
