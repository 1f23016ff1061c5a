/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank: all come to a meeting, write or read their parts, and come to another one that says how
 * long the slowest took. What is not checkpointing (heads of volumes, pauses, reading back) lies
 * between the second meeting and the next first one, and is not measured.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "bench/checkpoint-impl.h"

#define LOOK_NS UINT64_C(100000000) /* how long a wait may last before signals are looked at */

static uint64_t now_of(const struct checkpoint_rank *r)
{
	return r->c->o->target.clock->now();
}

static bool stopped(const struct checkpoint_rank *r)
{
	return atomic_load_explicit(r->c->o->target.stop, memory_order_relaxed) || r->mover.errors > 0 ||
	       r->mover.path_missed;
}

static int open_rank(struct checkpoint_rank *r)
{
	const struct checkpoint_options *o = r->c->o;
	struct mover_options mo = {
		.target = &o->target,
		.uri = o->target.uris[r->index % r->c->volumes],
		.queues = o->queues,
		.depth = o->depth,
		.piece_bytes = o->piece_bytes,
		.seed = r->c->book.seed,
		.read_only = o->restore,
		.verify = o->verify,
	};

	return mover_open(&r->mover, &mo, &r->err);
}

static void fail(struct checkpoint_rank *r, const struct err *err)
{
	struct mover *m = &r->mover;

	if (m->errors++ == 0)
		snprintf(m->first_error, sizeof(m->first_error), "%s: %s", m->o.uri, err_text(err));
}

/* ---- one checkpoint -------------------------------------------------------------------------- */

static void moved(struct move *m)
{
	struct checkpoint_rank *r = m->user;

	r->open_moves--;
	r->cancelled = r->cancelled || m->error != 0;
}

/* Weights first, then the optimizer's state, one behind the other in the rank's place of the slot. */
static void submit(struct checkpoint_rank *r, uint64_t number, bool write)
{
	const struct checkpoint *c = r->c;
	uint64_t slot = (number - 1) % c->book.slots;
	uint64_t at = checkpoint_offset(c, r->index % c->volumes) + BOOK_ROOM + slot * c->book.slot_bytes +
		      r->index / c->volumes * c->part_bytes;
	uint64_t bytes[PARTS] = { r->index < c->r->model.model_ranks ? c->model_bytes : 0, c->optimizer_bytes };
	uint64_t key = hash_u64(hash_u64(HASH_INIT, c->book.run), number);

	r->cancelled = false;
	r->open_moves = PARTS;
	for (unsigned int i = 0; i < PARTS; i++) {
		r->moves[i] = (struct move){
			.offset = at,
			.length = bytes[i],
			.object = hash_u64(key, (uint64_t)r->index * PARTS + i),
			.write = write,
			.class = i,
			.done = moved,
			.user = r,
		};
		at += bytes[i];
		mover_submit(&r->mover, &r->moves[i]);
	}
}

/* False: it was given up. */
static bool move_parts(struct checkpoint_rank *r, uint64_t number, bool write, uint64_t end_ns)
{
	submit(r, number, write);
	while (r->open_moves > 0) {
		uint64_t now = now_of(r);

		if (stopped(r) || now >= end_ns) {
			mover_stop(&r->mover);
			return false;
		}
		mover_turn(&r->mover, MIN(LOOK_NS, end_ns - now));
	}
	return !r->cancelled;
}

/* From the first byte until it is durable, or in memory. False: it was given up. */
static bool measured(struct checkpoint_rank *r, uint64_t number)
{
	bool save = !r->c->o->restore;
	uint64_t begin = now_of(r), moved_at, end;
	bool whole;

	r->mover.recording = true;
	whole = move_parts(r, number, save, r->c->end_ns);
	r->mover.recording = false;
	moved_at = now_of(r);
	if (whole && save && mover_flush(&r->mover) < 0)
		whole = false;
	end = now_of(r);
	r->ns = end - begin;
	r->flush_ns = end - moved_at;
	if (whole)
		hist_add(&r->duration, r->ns);
	else
		r->given_up_ns = r->ns;
	return whole;
}

/* ---- heads of volumes ------------------------------------------------------------------------ */

/* The first rank on a volume keeps its head. */
static void store(struct checkpoint_rank *r, uint64_t oldest, uint64_t newest)
{
	struct book b = r->c->book;
	struct err err = ERR_NULL;

	if (r->index >= r->c->volumes || r->c->o->restore)
		return;
	b.volume = r->index;
	b.oldest = oldest;
	b.newest = newest;
	if (book_store(r->mover.ctx, r->mover.vol, checkpoint_offset(r->c, r->index), &b, &err) < 0)
		fail(r, &err);
}

static uint64_t oldest_of(const struct checkpoint *c, uint64_t newest)
{
	return newest > c->book.slots ? newest - c->book.slots + 1 : 1;
}

/* ---- all of them --------------------------------------------------------------------------- */

/* Rank 0, while the others wait for the next meeting. */
static void collect(struct checkpoint *c)
{
	struct checkpoint_result *r = c->r;
	unsigned int i = r->count;
	double rate;

	if (i == CHECKPOINT_COUNT_MAX)
		return;
	for (unsigned int k = 0; k < r->ranks; k++) {
		const struct checkpoint_rank *rank = &c->ranks[k];

		rate = rank->ns ? (double)checkpoint_rank_bytes(c, k) * 1e9 / (double)rank->ns : 0;
		r->ns[i] = MAX(r->ns[i], rank->ns);
		r->flush_ns[i] = MAX(r->flush_ns[i], rank->flush_ns);
		r->rank_rate[i] = k == 0 || rate < r->rank_rate[i] ? rate : r->rank_rate[i];
	}
	r->count++;
	atomic_store(&c->done, r->count);
}

static void pause_between(struct checkpoint_rank *r)
{
	uint64_t until = now_of(r) + r->c->o->pause_ns, now;

	while ((now = now_of(r)) < until && !stopped(r))
		r->c->o->target.clock->sleep_until(MIN(until, now + LOOK_NS));
}

/* Which one comes as the @i-th: saves go on counting, restores go back from the latest. */
static uint64_t number_of(const struct checkpoint *c, unsigned int i)
{
	uint64_t have = c->book.newest - c->book.oldest + 1;

	return c->o->restore ? c->book.newest - i % have : (uint64_t)i + 1;
}

static bool last(const struct checkpoint_rank *r, unsigned int i)
{
	const struct checkpoint_options *o = r->c->o;

	return (o->count > 0 && i + 1 >= o->count) || i + 1 >= CHECKPOINT_COUNT_MAX || now_of(r) >= r->c->end_ns;
}

static void run(struct checkpoint_rank *r)
{
	struct checkpoint *c = r->c;
	uint64_t number, most;
	bool whole;

	for (unsigned int i = 0;; i++) {
		number = number_of(c, i);
		/* What is about to be overwritten is no checkpoint any more. */
		r->oldest = oldest_of(c, number);
		if (i == 0 || r->oldest > 1)
			store(r, r->oldest, number - 1);
		if (i > 0)
			pause_between(r);
		if (meeting_join(&c->meeting, stopped(r), 0, &most))
			return;
		whole = measured(r, number);
		/* All stop where one gave up: a checkpoint without it is none. */
		if (meeting_join(&c->meeting, !whole, 0, &most))
			return;
		if (r->index == 0)
			collect(c);
		r->newest = number;
		store(r, r->oldest, number);
		if (meeting_join(&c->meeting, last(r, i), 0, &most))
			return;
	}
}

/* Everything that is still there, outside of the measured time. */
static void read_back(struct checkpoint_rank *r)
{
	if (!r->c->o->verify || r->c->o->restore || r->newest == 0)
		return;
	atomic_store(&r->c->reading_back, true);
	for (uint64_t n = r->oldest; n <= r->newest && !stopped(r); n++)
		move_parts(r, n, false, UINT64_MAX);
}

void *checkpoint_rank_main(void *arg)
{
	struct checkpoint_rank *r = arg;
	struct checkpoint *c = r->c;

	hist_init(&r->duration);
	r->rc = open_rank(r);
	gate_arrive(&c->gate);
	if (!c->abandoned) {
		run(r);
		if (r->index == 0) {
			c->r->all.cost = bench_cost_since(&c->o->target, &c->cost_begin);
			c->ended_ns = now_of(r);
		}
		read_back(r);
	}
	mover_close(&r->mover, &r->trouble);
	atomic_fetch_sub(&c->running, 1);
	return NULL;
}
