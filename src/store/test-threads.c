/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads with a loop each on the same few blocks of one store: no block is ever seen half
 * written, by a reader or in the end. Also what the race detectors look at.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "store/test-rig.h"

#define HOT (48u << 10)
#define DEPTH 8
#define THREADS 2

static pthread_barrier_t all_over;

struct worker {
	struct rig rig;
	enum rig_kind kind;
	struct store *store;
	uint64_t seed;
	unsigned int rounds;
	unsigned int torn;
	unsigned int failed;
	pthread_t thread;
};

struct slot {
	struct call call;
	uint8_t *buf;
	struct iovec iov;
};

/* A block is one 64-bit value over and over. */
static unsigned int torn_blocks(const uint8_t *at, uint64_t n, uint32_t block)
{
	unsigned int torn = 0;

	for (uint64_t i = 0; i < n; i += block)
		torn += memcmp(at + i, at + i + 8, block - 8) != 0;
	return torn;
}

static void start(struct worker *w, struct slot *slot, struct rng *rng)
{
	uint32_t block = store_info(w->store)->block;
	uint64_t length = block * (1 + rng_below(rng, HOT / 2 / block));
	uint64_t offset = block * rng_below(rng, (HOT - length) / block + 1), value = rng_u64(rng);
	static const enum store_kind kinds[] = { STORE_READ, STORE_READ, STORE_WRITE, STORE_WRITE,
						 STORE_ZERO };
	enum store_kind kind = kinds[rng_below(rng, ARRAY_SIZE(kinds))];

	for (uint64_t i = 0; i < length; i += sizeof(value))
		memcpy(slot->buf + i, &value, sizeof(value));
	slot->iov = (struct iovec){ slot->buf, length };
	call_start(&slot->call, &w->rig, w->store, kind, 0, offset, length, &slot->iov,
		   kind == STORE_ZERO ? 0 : 1);
}

static void finish(struct worker *w, struct slot *slot)
{
	w->failed += call_wait(&slot->call, &w->rig) != 0;
	if (slot->call.op.kind == STORE_READ)
		w->torn += torn_blocks(slot->buf, slot->call.op.length, store_info(w->store)->block);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct slot slot[DEPTH];
	struct rng rng;

	rng_init(&rng, w->seed);
	INVARIANT(rig_init(&w->rig, w->kind, NULL)); /* a loop belongs to the thread that makes it */
	for (unsigned int i = 0; i < DEPTH; i++) {
		slot[i].buf = pages(HOT);
		start(w, &slot[i], &rng);
	}
	for (unsigned int i = 0; i < w->rounds; i++) {
		finish(w, &slot[i % DEPTH]);
		start(w, &slot[i % DEPTH], &rng);
	}
	for (unsigned int i = 0; i < DEPTH; i++) {
		finish(w, &slot[i]);
		mem_free(slot[i].buf);
	}
	/* Who brings another's waiter back still has to do with that one's loop for a moment. */
	pthread_barrier_wait(&all_over);
	rig_deinit(&w->rig);
	return NULL;
}

static void test_store(struct rig *main_rig, enum rig_kind kind, const char *spec, const char *what,
		       unsigned int rounds)
{
	struct store *s = rig_open(main_rig, spec);
	unsigned int torn = 0, failed = 0;
	struct worker w[THREADS];

	INVARIANT(run(main_rig, s, STORE_ZERO, 0, 0, HOT, NULL) == 0);
	INVARIANT(pthread_barrier_init(&all_over, NULL, THREADS) == 0);
	for (unsigned int i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .store = s, .kind = kind, .seed = i + 1,
				   .rounds = rounds };
		INVARIANT(pthread_create(&w[i].thread, NULL, work, &w[i]) == 0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		torn += w[i].torn;
		failed += w[i].failed;
	}
	pthread_barrier_destroy(&all_over);
	is_u64(failed, 0, "%s %s: all succeed", main_rig->name, what);
	is_u64(torn, 0, "%s %s: no block is seen half written", main_rig->name, what);
	store_free(s);
}

static void test_file(struct rig *r, enum rig_kind kind, const char *options)
{
	char spec[512];

	snprintf(spec, sizeof(spec), "file:%s,size=1M,%s", rig_path(r, "h.img"), options);
	test_store(r, kind, spec, options, 2500);
	rig_unlink(r, "h.img");
}

int main(void)
{
	struct rig r;

	for (int kind = RIG_URING; kind <= RIG_EPOLL; kind++) {
		if (!rig_init(&r, (enum rig_kind)kind, NULL))
			continue;
		test_store(&r, (enum rig_kind)kind, "memory:1M", "memory", 8000);
		test_store(&r, (enum rig_kind)kind, "memory:1M,block=4096", "memory, blocks of 4096", 8000);
		test_file(&r, (enum rig_kind)kind, "direct=off");
		test_file(&r, (enum rig_kind)kind, "direct=off,block=4096");
		test_file(&r, (enum rig_kind)kind, "direct=auto");
		test_file(&r, (enum rig_kind)kind, "direct=auto,block=4096");
		rig_deinit(&r);
	}
	return tap_done();
}
