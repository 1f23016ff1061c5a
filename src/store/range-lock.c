/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table and the line of range-lock.h. Taking and giving back are compare-and-swaps on words;
 * the mutex is for those who wait, and for who gives back while somebody does.
 *
 * No wake-up is lost: a waiter counts itself before its last attempt, and a holder gives back
 * before it looks at the count, both sequentially consistent; so either the attempt sees the room
 * or the holder sees the waiter.
 */
#include "store/range-lock.h"

#include <errno.h>
#include <sched.h>

#include "base/alloc.h"
#include "base/util.h"

#define GRANULES_PER_WORD 8
#define WRITERS UINT64_C(0x8080808080808080)
#define READERS UINT64_C(0x7f7f7f7f7f7f7f7f)
#define ONES UINT64_C(0x0101010101010101)

/* A copy of 32 KiB takes about a microsecond; after this many pauses the holder lost its CPU. */
#define SPINS_BEFORE_YIELD 200

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

int range_lock_init(struct range_lock *l, uint64_t granules)
{
	INVARIANT(is_power_of_two(granules) && granules >= GRANULES_PER_WORD);
	*l = (struct range_lock){ .mask = granules - 1 };
	list_init(&l->line);
	l->words = mem_zalloc(granules);
	if (!l->words)
		return -ENOMEM;
	pthread_mutex_init(&l->mutex, NULL);
	return 0;
}

void range_lock_deinit(struct range_lock *l)
{
	if (!l->words)
		return;
	INVARIANT(list_empty(&l->line));
	pthread_mutex_destroy(&l->mutex);
	l->words = mem_free(l->words);
}

/* ---- one word ------------------------------------------------------------------------------ */

/* The part of a claim that lies in one word. */
struct span {
	_Atomic(uint64_t) *word;
	uint64_t mask; /* its bytes */
	uint64_t granules;
};

static inline struct span span_at(const struct range_lock *l, const struct range_claim *c,
				  uint64_t position)
{
	bool head = position < c->head;
	uint64_t granule = head ? position : c->first + (position - c->head);
	uint64_t left = (head ? c->head : c->count) - position;
	uint64_t lane = granule % GRANULES_PER_WORD;
	uint64_t n = MIN(left, GRANULES_PER_WORD - lane);

	return (struct span){
		.word = &l->words[granule / GRANULES_PER_WORD],
		.mask = (UINT64_MAX >> (64 - 8 * n)) << (8 * lane),
		.granules = n,
	};
}

static inline bool take_read(const struct span *s)
{
	uint64_t v = atomic_load_explicit(s->word, memory_order_seq_cst);
	uint64_t one = ONES & s->mask;

	do {
		if (v & WRITERS & s->mask)
			return false;
		/* 127 readers: the next would be taken for a writer. It waits like one. */
		if ((v + one) & WRITERS & s->mask)
			return false;
	} while (!atomic_compare_exchange_weak(s->word, &v, v + one));
	return true;
}

/* Marks first, so that no new reader comes, and then waits for those that are there. */
static inline bool take_write(struct range_claim *c, const struct span *s)
{
	uint64_t v = atomic_load_explicit(s->word, memory_order_seq_cst);

	if (!c->draining) {
		do {
			if (v & WRITERS & s->mask)
				return false;
		} while (!atomic_compare_exchange_weak(s->word, &v, v | (WRITERS & s->mask)));
	}
	c->draining = (v & READERS & s->mask) != 0;
	return !c->draining;
}

/* ---- claims -------------------------------------------------------------------------------- */

static void claim_set(const struct range_lock *l, struct range_claim *c, uint64_t offset,
		      uint64_t length, bool write)
{
	uint64_t first = offset >> RANGE_GRANULE_SHIFT;
	uint64_t last = (offset + length - 1) >> RANGE_GRANULE_SHIFT;
	uint64_t room;

	c->count = last - first + 1;
	c->first = first & l->mask;
	room = l->mask + 1 - c->first;
	c->head = c->count > room ? c->count - room : 0;
	c->position = 0;
	c->write = write;
	c->draining = false;
	INVARIANT(length > 0 && c->count <= l->mask + 1);
}

/* Takes what it can. True: all of it. */
static bool claim_advance(struct range_lock *l, struct range_claim *c)
{
	while (c->position < c->count) {
		struct span s = span_at(l, c, c->position);

		if (!(c->write ? take_write(c, &s) : take_read(&s)))
			return false;
		c->position += s.granules;
	}
	return true;
}

/* Gives back what was taken. */
static void claim_drop(struct range_lock *l, struct range_claim *c)
{
	for (uint64_t at = 0; at < c->position;) {
		struct span s = span_at(l, c, at);

		if (c->write)
			atomic_fetch_and(s.word, ~(WRITERS & s.mask));
		else
			atomic_fetch_sub(s.word, ONES & s.mask);
		at += s.granules;
	}
}

/* Under the mutex: moves every waiter that now holds its claim to @granted, in order. */
static void line_advance(struct range_lock *l, struct list *granted)
{
	struct range_claim *c, *tmp;

	list_for_each_entry_safe(c, tmp, &l->line, link) {
		if (!claim_advance(l, c))
			continue;
		list_del(&c->link);
		list_add_tail(granted, &c->link);
		atomic_fetch_sub(&l->waiters, 1);
	}
}

static void grant(struct list *granted)
{
	struct range_claim *c;

	while ((c = list_pop_entry(granted, struct range_claim, link)))
		c->granted(c);
}

bool range_lock_claim(struct range_lock *l, struct range_claim *c, uint64_t offset, uint64_t length,
		      bool write)
{
	struct list granted;
	bool held = true;

	claim_set(l, c, offset, length, write);
	if (atomic_load_explicit(&l->waiters, memory_order_relaxed) == 0 && claim_advance(l, c))
		return true;

	/* Those in the line get their turn first, else a newcomer could overtake them for ever. */
	list_init(&granted);
	pthread_mutex_lock(&l->mutex);
	list_add_tail(&l->line, &c->link);
	atomic_fetch_add(&l->waiters, 1);
	line_advance(l, &granted);
	/* The newcomer is last: it is granted if it is the last of those. */
	if (list_empty(&granted) || list_last_entry(&granted, struct range_claim, link) != c)
		held = false;
	else
		list_del(&c->link);
	pthread_mutex_unlock(&l->mutex);
	grant(&granted);
	return held;
}

void range_lock_release(struct range_lock *l, struct range_claim *c)
{
	struct list granted;

	INVARIANT(c->position == c->count);
	claim_drop(l, c);
	if (atomic_load(&l->waiters) == 0)
		return;
	list_init(&granted);
	pthread_mutex_lock(&l->mutex);
	line_advance(l, &granted);
	pthread_mutex_unlock(&l->mutex);
	grant(&granted);
}

void range_lock_spin(struct range_lock *l, struct range_claim *c, uint64_t offset, uint64_t length,
		     bool write)
{
	claim_set(l, c, offset, length, write);
	for (unsigned int spins = 0; !claim_advance(l, c); spins++) {
		if (spins < SPINS_BEFORE_YIELD)
			cpu_relax();
		else
			sched_yield();
	}
}

bool range_lock_try(struct range_lock *l, struct range_claim *c, uint64_t offset, uint64_t length,
		    bool write)
{
	struct span s;

	claim_set(l, c, offset, length, write);
	if (claim_advance(l, c))
		return true;
	if (c->draining) {
		s = span_at(l, c, c->position);
		atomic_fetch_and(s.word, ~(WRITERS & s.mask));
	}
	claim_drop(l, c);
	return false;
}

void range_lock_unspin(struct range_lock *l, struct range_claim *c)
{
	INVARIANT(c->position == c->count);
	claim_drop(l, c);
}
