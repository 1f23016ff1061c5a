/* SPDX-License-Identifier: Apache-2.0 */
/* The range lock against a model in one thread, and against data in several. */
#include "store/range-lock.h"

#include <pthread.h>
#include <sched.h>

#include "base/rng.h"
#include "base/util.h"
#include "tests/tap.h"

#define GRANULE (1u << RANGE_GRANULE_SHIFT)

/* ---- one thread, a model ------------------------------------------------------------------- */

struct holder {
	struct range_claim claim;
	uint64_t offset;
	uint64_t length;
	bool used, held;
};

static void model_granted(struct range_claim *c)
{
	struct holder *h = container_of(c, struct holder, claim);

	INVARIANT(h->used && !h->held);
	h->held = true;
}

static bool overlaps(const struct holder *a, const struct holder *b)
{
	return a->offset < b->offset + b->length && b->offset < a->offset + a->length;
}

static bool conflict_among_holders(const struct holder *h, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = 0; j < i; j++)
			if (h[i].held && h[j].held && overlaps(&h[i], &h[j]) &&
			    (h[i].claim.write || h[j].claim.write))
				return true;
	return false;
}

static void drop(struct range_lock *l, struct holder *h)
{
	h->held = false;
	h->used = false;
	range_lock_release(l, &h->claim);
}

/* Random claims over @space bytes of a table of @granules; those that wait are granted in time. */
static void test_model(uint64_t seed, uint64_t granules, uint64_t space)
{
	struct holder h[24] = { 0 };
	struct range_lock lock;
	unsigned int conflicts = 0, waited = 0, stuck = 0;
	struct rng rng;

	rng_init(&rng, seed);
	INVARIANT(range_lock_init(&lock, granules) == 0);
	for (unsigned int i = 0; i < 30000; i++) {
		struct holder *x = &h[rng_below(&rng, ARRAY_SIZE(h))];

		if (x->held) {
			drop(&lock, x);
		} else if (!x->used) {
			x->length = 512 * (1 + rng_below(&rng, 160));
			x->offset = 512 * rng_below(&rng, (space - x->length) / 512);
			x->claim.granted = model_granted;
			x->used = true;
			x->held = range_lock_claim(&lock, &x->claim, x->offset, x->length,
						   rng_below(&rng, 3) == 0);
			waited += !x->held;
		}
		conflicts += conflict_among_holders(h, ARRAY_SIZE(h));
	}
	/* Whoever is left is granted once the others go. */
	for (unsigned int round = 0; round < ARRAY_SIZE(h); round++)
		for (unsigned int i = 0; i < ARRAY_SIZE(h); i++)
			if (h[i].held)
				drop(&lock, &h[i]);
	for (unsigned int i = 0; i < ARRAY_SIZE(h); i++)
		stuck += h[i].used;
	is_u64(conflicts, 0, "table of %llu: nobody holds what excludes another",
	       (unsigned long long)granules);
	ok(waited > 100, "table of %llu: some had to wait (%u)", (unsigned long long)granules, waited);
	is_u64(stuck, 0, "table of %llu: everybody who waits is granted", (unsigned long long)granules);
	for (uint64_t i = 0; i < granules / 8 && stuck == 0; i++)
		stuck += atomic_load(&lock.words[i]) != 0;
	is_u64(stuck, 0, "table of %llu: it is empty at the end", (unsigned long long)granules);
	range_lock_deinit(&lock);
}

static void test_writer_is_not_starved(void)
{
	struct holder reader[2] = { 0 }, writer = { 0 }, late = { 0 };
	struct range_lock lock;

	INVARIANT(range_lock_init(&lock, 64) == 0);
	for (unsigned int i = 0; i < 2; i++)
		reader[i] = (struct holder){ .claim.granted = model_granted, .used = true };
	writer = (struct holder){ .claim.granted = model_granted, .used = true };
	late = writer;

	ok(range_lock_claim(&lock, &reader[0].claim, 0, 4096, false), "a reader comes in");
	ok(range_lock_claim(&lock, &reader[1].claim, 0, 4096, false), "another reader joins it");
	ok(!range_lock_claim(&lock, &writer.claim, 0, 8192, true), "a writer waits for both");
	ok(!range_lock_claim(&lock, &late.claim, 0, 4096, false), "a reader after the writer waits");
	range_lock_release(&lock, &reader[0].claim);
	ok(!writer.held && !late.held, "one reader left is not enough");
	range_lock_release(&lock, &reader[1].claim);
	ok(writer.held && !late.held, "the writer goes before the later reader");
	range_lock_release(&lock, &writer.claim);
	ok(late.held, "and the reader after it");
	range_lock_release(&lock, &late.claim);
	range_lock_deinit(&lock);
}

static void test_many_readers(void)
{
	static struct holder reader[300];
	struct range_lock lock;
	unsigned int at_once = 0, held = 0;

	INVARIANT(range_lock_init(&lock, 64) == 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(reader); i++) {
		reader[i] = (struct holder){ .claim.granted = model_granted, .used = true };
		reader[i].held = range_lock_claim(&lock, &reader[i].claim, 512, 512, false);
		at_once += reader[i].held;
	}
	is_u64(at_once, 127, "127 readers share a block");
	for (unsigned int i = 0; i < ARRAY_SIZE(reader); i++) {
		held += reader[i].held;
		range_lock_release(&lock, &reader[i].claim);
	}
	is_u64(held, ARRAY_SIZE(reader), "the others follow as those leave");
	range_lock_deinit(&lock);
}

/* ---- threads ------------------------------------------------------------------------------- */

#define CELLS 32
#define THREADS 3

static struct range_lock shared;
static uint64_t cells[CELLS][2]; /* writers keep both halves equal; deliberately not atomic */
static atomic_uint torn;
static bool spinning;

struct waiter {
	struct range_claim claim;
	atomic_bool held;
};

static void thread_granted(struct range_claim *c)
{
	atomic_store(&container_of(c, struct waiter, claim)->held, true);
}

static void shared_claim(struct waiter *w, uint64_t first, uint64_t count, bool write)
{
	if (spinning) {
		range_lock_spin(&shared, &w->claim, first * GRANULE, count * GRANULE, write);
		return;
	}
	atomic_store(&w->held, false);
	w->claim.granted = thread_granted;
	if (range_lock_claim(&shared, &w->claim, first * GRANULE, count * GRANULE, write))
		return;
	while (!atomic_load(&w->held))
		sched_yield();
}

static void *hammer(void *arg)
{
	struct rng rng;
	struct waiter w;

	rng_init(&rng, (uint64_t)(uintptr_t)arg);
	for (unsigned int i = 0; i < 40000; i++) {
		uint64_t first = rng_below(&rng, CELLS), count = 1 + rng_below(&rng, 12);
		bool write = rng_below(&rng, 2);

		shared_claim(&w, first, count, write);
		for (uint64_t j = first; j < first + count; j++) {
			uint64_t *cell = cells[j % CELLS];

			if (cell[0] != cell[1])
				atomic_fetch_add(&torn, 1);
			if (write) {
				cell[0]++;
				cell[1]++;
			}
		}
		if (spinning)
			range_lock_unspin(&shared, &w.claim);
		else
			range_lock_release(&shared, &w.claim);
	}
	return NULL;
}

static void test_threads(bool spin)
{
	pthread_t t[THREADS];

	spinning = spin;
	atomic_store(&torn, 0);
	INVARIANT(range_lock_init(&shared, CELLS) == 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		INVARIANT(pthread_create(&t[i], NULL, hammer, (void *)(i + 1)) == 0);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	is_u64(atomic_load(&torn), 0, "%s: no cell is ever seen half written",
	       spin ? "spinning" : "waiting");
	is_u64(atomic_load(&shared.waiters), 0, "%s: nobody is left waiting",
	       spin ? "spinning" : "waiting");
	range_lock_deinit(&shared);
}

/* Without waiting: all of it or nothing, and nothing is left behind by an attempt in vain. */
static void test_try(void)
{
	struct range_claim r1, r2, w;
	struct range_lock lock;

	INVARIANT(range_lock_init(&lock, 64) == 0);
	ok(range_lock_try(&lock, &r1, 20 * GRANULE, 4 * GRANULE, false), "a reader");
	ok(range_lock_try(&lock, &r2, 16 * GRANULE, 16 * GRANULE, false), "another over it");
	ok(!range_lock_try(&lock, &w, 0, 24 * GRANULE, true), "no writer over both");
	ok(range_lock_try(&lock, &w, 0, 16 * GRANULE, true), "one beside them, where that has not stayed");
	range_lock_unspin(&lock, &w);
	range_lock_unspin(&lock, &r2);
	ok(!range_lock_try(&lock, &w, 16 * GRANULE, 16 * GRANULE, true), "the first reader is still there");
	range_lock_unspin(&lock, &r1);
	ok(range_lock_try(&lock, &w, 40 * GRANULE, GRANULE, true), "a writer");
	ok(!range_lock_try(&lock, &r1, 0, 41 * GRANULE, false), "no reader over it");
	ok(range_lock_try(&lock, &r1, 0, 40 * GRANULE, false), "one up to it");
	range_lock_unspin(&lock, &r1);
	range_lock_unspin(&lock, &w);
	ok(range_lock_try(&lock, &w, 0, 64 * GRANULE, true), "in the end nothing is held");
	range_lock_unspin(&lock, &w);
	range_lock_deinit(&lock);
}

int main(void)
{
	test_try();
	test_model(1, 1024, 1024 * GRANULE);
	test_model(2, 64, 1024 * GRANULE);
	test_model(3, 32, 1u << 20);
	test_writer_is_not_starved();
	test_many_readers();
	test_threads(false);
	test_threads(true);
	return tap_done();
}
