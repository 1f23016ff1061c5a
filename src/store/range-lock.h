/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may touch which blocks now: many readers or one writer per block, for one store, shared by
 * all loops. Neither the page cache of Linux nor direct I/O promises that a read and a write of
 * the same block that are in flight together see each other whole, so what overlaps takes turns.
 *
 * The lock is a table of one byte per granule of 4 KiB, bit 7 for a writer (there, or waiting for
 * readers to leave) and seven bits counting readers. Granules map to bytes in order, modulo the
 * table: neighbours sit in one word, so a megabyte is 32 compare-and-swaps, and nothing is
 * allocated or searched. The price: two ranges a multiple of the table apart take turns for
 * nothing, and so do the 512-byte blocks of one granule.
 *
 * Everybody acquires in ascending order of the table and waits holding what is below; a writer
 * takes a word and waits for its readers before it goes on. So every chain of waiting goes upwards,
 * and ends. Waiters stand in one line, first come first served among those that overlap.
 */
#ifndef PENSTOCK_STORE_RANGE_LOCK_H
#define PENSTOCK_STORE_RANGE_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

#define RANGE_GRANULE_SHIFT 12 /* the largest logical block */

struct range_lock {
	_Atomic(uint64_t) *words; /* eight granules each */
	uint64_t mask;            /* granules - 1 */
	atomic_uint waiters;      /* length of the line */
	pthread_mutex_t mutex;    /* guards the line */
	struct list line;
};

/* A claim on a range, embedded in its owner. Set @granted once; the rest is private. */
struct range_claim {
	/* Called, from the thread of whoever made room, once the claim is held. */
	void (*granted)(struct range_claim *c);
	struct list link;
	uint64_t first;    /* granule of the table where it starts */
	uint64_t head;     /* granules that wrapped to the table's start: they come first */
	uint64_t count;    /* granules in all */
	uint64_t position; /* of those, taken */
	bool write;
	bool draining; /* a writer whose mark is on the word at position, waiting for readers there */
};

/* @granules: size of the table, a power of two of at least 8. -ENOMEM. */
int range_lock_init(struct range_lock *l, uint64_t granules);
/* Nothing is claimed. */
void range_lock_deinit(struct range_lock *l);

/*
 * Claims the granules that bytes [offset, offset + length) touch; length > 0, and at most the
 * table. True: held now. False: @c->granted will be called. Any thread.
 */
bool range_lock_claim(struct range_lock *l, struct range_claim *c, uint64_t offset, uint64_t length,
		      bool write);
/* Gives a held claim up, and grants what waited for it. Any thread. */
void range_lock_release(struct range_lock *l, struct range_claim *c);

/*
 * The same table without the line, for holders that only copy memory and never wait for anything:
 * spins until the claim is held. Not to be mixed with the above on one table. @c needs no set-up.
 */
void range_lock_spin(struct range_lock *l, struct range_claim *c, uint64_t offset, uint64_t length,
		     bool write);
/* The same without waiting. False: somebody is in the way, and nothing is held. */
bool range_lock_try(struct range_lock *l, struct range_claim *c, uint64_t offset, uint64_t length,
		    bool write);
void range_lock_unspin(struct range_lock *l, struct range_claim *c);

#endif
