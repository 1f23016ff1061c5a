/* SPDX-License-Identifier: Apache-2.0 */
/* A thread of the KV cache workload: opens its part, writes the shared prompts, lets its users go. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/util.h"
#include "bench/kv-impl.h"

#define LOOK_NS UINT64_C(100000000) /* how long a wait may last before signals are looked at */

static const struct kv_options *opts_of(const struct kv_thread *t)
{
	return t->kv->o;
}

static uint64_t now_of(const struct kv_thread *t)
{
	return opts_of(t)->target.clock->now();
}

static bool stopped(const struct kv_thread *t)
{
	return atomic_load_explicit(opts_of(t)->target.stop, memory_order_relaxed) || t->mover.errors > 0 ||
	       t->mover.path_missed;
}

/* ---- opening ------------------------------------------------------------------------------- */

static void written(struct move *m)
{
	(*(unsigned int *)m->user)--;
}

/* The prompts that all share are there before anything is measured. */
static int write_prefixes(struct kv_thread *t)
{
	struct move moves[KV_PREFIXES * KV_PREFIX_PAGES];
	unsigned int open = 0;

	for (int i = 0; i < KV_PREFIXES; i++) {
		for (int k = 0; k < KV_PREFIX_PAGES; k++) {
			struct move *m = &moves[open++];

			t->prefix[i][k] = kv_pages_take(&t->pages, KV_PAGE_TOKENS);
			kv_move(t, m, t->prefix[i][k], true);
			m->done = written;
			m->user = &open;
		}
	}
	for (int i = 0; i < KV_PREFIXES * KV_PREFIX_PAGES; i++)
		mover_submit(&t->mover, &moves[i]);
	while (open > 0)
		mover_turn(&t->mover, LOOK_NS);
	return t->mover.errors > 0 ? err_set(&t->err, EIO, "%s", t->mover.first_error) : 0;
}

static int open_all(struct kv_thread *t)
{
	const struct kv_options *o = opts_of(t);
	struct mover_options mo = {
		.target = &o->target,
		.uri = o->target.uris[t->index % o->target.uri_count],
		.queues = o->queues,
		.depth = o->depth,
		.piece_bytes = o->piece_bytes,
		.seed = o->seed,
		.verify = o->verify,
	};
	uint32_t pages;
	int rc = mover_open(&t->mover, &mo, &t->err);

	if (rc < 0)
		return rc;
	kv_part(t->kv, t->index, &t->base, &pages);
	t->user_count = o->users / o->threads + (t->index < o->users % o->threads);
	t->users = mem_calloc(t->user_count, sizeof(*t->users));
	if (!t->users || kv_pages_init(&t->pages, pages) < 0)
		return err_set(&t->err, ENOMEM, "no memory for %u users and %u pages", t->user_count, pages);
	rng_init(&t->rng, hash_u64(hash_u64(HASH_INIT, o->seed), t->index));
	return write_prefixes(t);
}

static void close_all(struct kv_thread *t)
{
	mover_close(&t->mover, &t->trouble);
	kv_pages_deinit(&t->pages);
	mem_free(t->users);
}

/* ---- measuring ----------------------------------------------------------------------------- */

static void begin_due(struct kv_thread *t, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (unsigned int i = 0; i < t->user_count; i++) {
		struct kv_user *u = &t->users[i];

		if (u->state == KV_THINKING && u->due_ns <= now)
			kv_user_begin(u, now);
		if (u->state == KV_THINKING)
			next = MIN(next, u->due_ns);
	}
	t->next_due_ns = next;
}

/* CPU time counts from the first thread that begins to the last that ends. */
static void begin_measuring(struct kv_thread *t)
{
	struct kv *kv = t->kv;

	t->measuring = true;
	t->mover.recording = true;
	pthread_mutex_lock(&kv->lock);
	if (!kv->cpu_begun)
		kv->cost_begin = bench_cost_now(&kv->o->target);
	kv->cpu_begun = true;
	pthread_mutex_unlock(&kv->lock);
}

static void end_measuring(struct kv_thread *t)
{
	struct kv *kv = t->kv;

	t->ended_ns = MIN(now_of(t), kv->end_ns);
	t->mover.recording = false;
	t->measuring = false;
	pthread_mutex_lock(&kv->lock);
	if (kv->cpu_begun)
		kv->r->all.cost = bench_cost_since(&kv->o->target, &kv->cost_begin);
	pthread_mutex_unlock(&kv->lock);
}

static bool enough(const struct kv_thread *t)
{
	uint64_t most = opts_of(t)->turns;

	return most > 0 && atomic_load_explicit(&t->kv->turns, memory_order_relaxed) >= most;
}

static void measure(struct kv_thread *t)
{
	struct kv *kv = t->kv;
	uint64_t now = now_of(t);

	kv_users_init(t, now);
	while (now < kv->end_ns && !stopped(t) && !enough(t)) {
		uint64_t until = MIN(kv->end_ns, now + LOOK_NS);

		if (!t->measuring && now >= kv->begin_ns)
			begin_measuring(t);
		if (!t->measuring)
			until = MIN(until, kv->begin_ns);
		if (now >= t->next_due_ns)
			begin_due(t, now);
		until = MIN(until, t->next_due_ns);
		mover_turn(&t->mover, until > now ? until - now : 0);
		now = now_of(t);
	}
	end_measuring(t);
	mover_stop(&t->mover);
}

void *kv_thread_main(void *arg)
{
	struct kv_thread *t = arg;

	for (int i = 0; i < KV_CLASSES; i++) {
		hist_init(&t->class[i].turn);
		hist_init(&t->class[i].move[0]);
		hist_init(&t->class[i].move[1]);
	}
	t->rc = open_all(t);
	gate_arrive(&t->kv->gate);
	if (!t->kv->abandoned)
		measure(t);
	close_all(t);
	atomic_fetch_sub(&t->kv->running, 1);
	return NULL;
}
