/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of one I/O: drawn, filled, submitted; recorded in its callback; checked after the poll
 * that brought it, since a callback must not block and a check of a device's memory does.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "base/util.h"
#include "bench/micro-impl.h"
#include "bench/stamp.h"

static const struct micro_options *opts_of(const struct micro_thread *t)
{
	return t->m->opts;
}

static uint64_t now_of(const struct micro_thread *t)
{
	return opts_of(t)->target.clock->now();
}

static uint64_t offset_of(const struct micro_slot *s)
{
	return s->lane->base + s->block * opts_of(s->lane->thread)->block_bytes;
}

/* ---- buffers ------------------------------------------------------------------------------- */

/* The slot's buffer as the CPU may fill it; put_buffer() brings it to where it belongs. */
static uint8_t *buffer(struct micro_thread *t, const struct micro_slot *s)
{
	return t->host ? t->host + s->mem_offset : t->scratch;
}

static int put_buffer(struct micro_thread *t, const struct micro_slot *s)
{
	if (t->host)
		return 0;
	return pst_memory_copy_in(t->mem, s->mem_offset, t->scratch, opts_of(t)->block_bytes);
}

static int get_buffer(struct micro_thread *t, const struct micro_slot *s)
{
	if (t->host)
		return 0;
	return pst_memory_copy_out(t->mem, s->mem_offset, t->scratch, opts_of(t)->block_bytes);
}

int micro_prepare(struct micro_thread *t)
{
	struct rng rng;
	int rc = 0;

	if (!pattern_writes(opts_of(t)->kind) || opts_of(t)->verify)
		return 0;
	/* Nothing that a target could compress, nor find twice among the buffers. */
	rng_init(&rng, hash_u64(hash_u64(HASH_INIT, opts_of(t)->seed), t->index));
	for (uint64_t i = 0; rc == 0 && i < t->slot_count; i++) {
		rng_fill(&rng, buffer(t, &t->slots[i]), opts_of(t)->block_bytes);
		rc = put_buffer(t, &t->slots[i]);
	}
	return rc;
}

static int fill(struct micro_thread *t, struct micro_slot *s)
{
	struct stamp stamp = { .offset = offset_of(s), .run = t->m->run };

	if (opts_of(t)->verify) {
		s->version = stamp.version = versions_next(&s->lane->versions, s->block);
		stamp_fill(opts_of(t)->seed, &stamp, buffer(t, s), opts_of(t)->block_bytes);
		return put_buffer(t, s);
	}
	/* Each block differs from the last one of the same buffer, for targets that would notice. */
	if (t->host)
		memcpy(buffer(t, s), &stamp.offset, MIN(sizeof(stamp.offset), opts_of(t)->block_bytes));
	return 0;
}

/* ---- done ---------------------------------------------------------------------------------- */

static void fail(struct micro_thread *t, const struct micro_slot *s)
{
	const char *why = s->nvme_status ? pst_nvme_status_name(s->nvme_status) : strerror(-s->error);

	if (t->errors++ == 0)
		snprintf(t->first_error, sizeof(t->first_error), "%s: %s at byte %llu: %s", s->lane->uri,
			 s->write ? "write" : "read", (unsigned long long)offset_of(s), why);
	if (!opts_of(t)->go_on)
		atomic_store(&t->m->halt, true);
}

static void record(struct micro_thread *t, const struct micro_slot *s, const struct pst_completion *c,
		   uint64_t now)
{
	struct micro_side *side = &t->side[s->write];
	uint64_t latency = now - s->start_ns;

	hist_add(&side->latency, latency);
	side->ops++;
	side->bytes += c->bytes;
	t->path_bytes[c->path] += c->bytes;
	bench_timing_add(&t->timing[c->sampled], &c->timing);
	t->timing_ops[c->sampled]++;
	series_part_add(&t->part, now, latency, c->bytes);
	t->last_ns = now;
}

static void arrived(const struct pst_completion *c, void *user)
{
	struct micro_slot *s = user;
	struct micro_thread *t = s->lane->thread;
	uint64_t now = now_of(t);
	enum pst_path want = opts_of(t)->target.require;

	s->error = c->error;
	s->nvme_status = c->nvme_status;
	s->next = NULL;
	*t->done_tail = s;
	t->done_tail = &s->next;
	if (c->error || !t->recording)
		return;
	if (want != PST_PATH_NONE && c->path != want) {
		atomic_store(&t->m->path_taken, c->path);
		atomic_store(&t->m->path_missed, true);
		atomic_store(&t->m->halt, true);
	}
	if (opts_of(t)->live) {
		hist_add(&t->recent, now - s->start_ns);
		t->recent_bytes += c->bytes;
	}
	if (now >= t->m->begin_ns && now < t->end_ns)
		record(t, s, c, now);
}

/* ---- contents ------------------------------------------------------------------------------ */

static void wrong(struct micro_thread *t, const struct micro_slot *s, enum stamp_verdict verdict,
		  const struct stamp *want, const struct stamp *found, size_t at)
{
	unsigned long long offset = offset_of(s);
	const char *uri = s->lane->uri;

	switch (verdict) {
	case STAMP_FOREIGN:
		bench_verify_fail(&t->verify,
				  "%s: byte %llu: no block of %llu bytes written by bench --verify with seed %llu",
				  uri, offset, (unsigned long long)opts_of(t)->block_bytes,
				  (unsigned long long)opts_of(t)->seed);
		break;
	case STAMP_MISPLACED:
		bench_verify_fail(&t->verify, "%s: byte %llu: holds the block that belongs at byte %llu", uri,
				  offset, (unsigned long long)found->offset);
		break;
	case STAMP_CORRUPT:
		bench_verify_fail(&t->verify, "%s: byte %llu is wrong, in the block at byte %llu", uri,
				  offset + at, offset);
		break;
	case STAMP_STALE:
		bench_verify_fail(&t->verify,
				  "%s: byte %llu: an old block, version %llu%s, where version %llu was acknowledged",
				  uri, offset, (unsigned long long)found->version,
				  found->run == want->run ? "" : " of an earlier run",
				  (unsigned long long)want->version);
		break;
	case STAMP_GOOD:
		break;
	}
}

static void check(struct micro_thread *t, struct micro_slot *s)
{
	const struct versions *v = &s->lane->versions;
	struct stamp want = { .offset = offset_of(s), .run = t->m->run }, found;
	enum stamp_verdict verdict;
	size_t at;

	if (v->of) {
		want.version = versions_now(v, s->block);
		if (want.version == 0) {
			t->verify.skipped++;
			return;
		}
	}
	s->error = get_buffer(t, s);
	if (s->error) {
		fail(t, s);
		return;
	}
	t->verify.samples++;
	verdict = stamp_check(opts_of(t)->seed, want.offset, v->of ? &want : NULL, buffer(t, s),
			      opts_of(t)->block_bytes, &found, &at);
	if (verdict != STAMP_GOOD)
		wrong(t, s, verdict, &want, &found, at);
}

static void settle_one(struct micro_thread *t, struct micro_slot *s)
{
	struct micro_lane *l = s->lane;

	if (s->error)
		fail(t, s);
	else if (!s->write && opts_of(t)->verify)
		check(t, s);
	if (l->versions.of && s->write)
		versions_end_write(&l->versions, s->block, s->error ? 0 : s->version);
	else if (l->versions.of)
		versions_end_read(&l->versions, s->block);
	s->next = l->free;
	l->free = s;
	t->in_flight--;
}

void micro_settle(struct micro_thread *t)
{
	/* A check of a device's memory turns the loop, which may append to the list. */
	while (t->done) {
		struct micro_slot *s = t->done;

		t->done = s->next;
		if (!t->done)
			t->done_tail = &t->done;
		settle_one(t, s);
	}
}

/* ---- submitting ---------------------------------------------------------------------------- */

/* The next block that this run has written. */
static bool next_scanned(struct micro_lane *l, uint64_t *ret_block)
{
	uint64_t from = l->scan;
	bool found = false;

	while (!found && l->scan < l->versions.count)
		found = versions_now(&l->versions, l->scan++) != 0;
	atomic_fetch_add_explicit(&l->thread->m->scanned, l->scan - from, memory_order_relaxed);
	*ret_block = l->scan - 1;
	return found;
}

static bool next(struct micro_lane *l, struct micro_slot *s)
{
	s->write = false;
	if (l->thread->scanning)
		return next_scanned(l, &s->block);
	return pattern_next(&l->pattern, l->versions.of ? &l->versions : NULL, &s->block, &s->write);
}

/* Submits one I/O. @due: when it should have been, 0: now. False: none can be in flight now. */
static bool submit_one(struct micro_lane *l, uint64_t due)
{
	struct micro_thread *t = l->thread;
	struct micro_slot *s = l->free;
	uint64_t n = opts_of(t)->block_bytes;
	int rc = 0;

	if (!s || !next(l, s))
		return false;
	l->free = s->next;
	if (l->versions.of)
		versions_begin(&l->versions, s->block);
	if (s->write)
		rc = fill(t, s);
	t->in_flight++;
	s->start_ns = due ? due : now_of(t);
	if (rc == 0 && s->write)
		rc = pst_write(l->vol, t->mem, s->mem_offset, offset_of(s), n, arrived, s);
	else if (rc == 0)
		rc = pst_read(l->vol, t->mem, s->mem_offset, offset_of(s), n, arrived, s);
	if (rc < 0) {
		s->error = rc;
		s->nvme_status = 0;
		settle_one(t, s);
	}
	return rc == 0;
}

static void submit_paced(struct micro_thread *t, uint64_t now)
{
	unsigned int lanes = (unsigned int)opts_of(t)->target.uri_count, full = 0;

	while (t->due_ns <= now && full < lanes) {
		struct micro_lane *l = &t->lanes[t->turn];

		t->turn = (t->turn + 1) % lanes;
		if (!submit_one(l, t->due_ns)) {
			full++;
			continue;
		}
		full = 0;
		t->due_ns += t->m->interval_ns;
	}
}

void micro_submit(struct micro_thread *t, uint64_t now)
{
	unsigned int lanes = (unsigned int)opts_of(t)->target.uri_count;

	if (t->m->interval_ns && !t->scanning) {
		submit_paced(t, now);
		return;
	}
	/* Who is first is answered first, and is there when the next round begins: each has its turn at that. */
	for (unsigned int i = 0; i < lanes; i++) {
		struct micro_lane *l = &t->lanes[(t->turn + i) % lanes];

		while (!atomic_load_explicit(&t->m->halt, memory_order_relaxed) && submit_one(l, 0))
			;
	}
	t->turn = (t->turn + 1) % lanes;
}
