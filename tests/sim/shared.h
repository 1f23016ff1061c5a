/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hosts that share a namespace may see of one another: blocks that are only changed by fused
 * Compare and Write, as clustered file systems lock with, and a reservation (NVM Command Set 1.0,
 * 2.1.3.1; NVMe Base 2.0, 8.19).
 *
 * Every new value of a lock is unique and names the one that it replaces, so what happened to a lock
 * is a chain: no value is replaced twice, none that was refused is ever seen, none comes back once it
 * is known to be replaced. Of a reservation two things are held: nobody else writes while a host is
 * known to have it, and the holder is not refused. What is not known claims nothing.
 *
 * Time here is the order of the calls. Memory: aborts when there is none.
 */
#ifndef TESTS_SIM_SHARED_H
#define TESTS_SIM_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARED_LOCKS 2

enum shared_outcome {
	SHARED_DONE,
	SHARED_REFUSED, /* it is known that nothing happened, nor will */
	SHARED_UNKNOWN, /* it may have happened, or still happen */
};

struct shared_value;

struct shared_lock {
	struct shared_value *values; /* by number; 0: the zeroes of a new disk */
	size_t count, cap;
	bool spoilt; /* a write that failed may have torn it: nothing is said of it any more */
};

struct shared {
	uint32_t block; /* bytes */
	uint64_t clock;
	struct shared_lock lock[SHARED_LOCKS];
	int holder; /* a host, or -1: nobody is known to have the reservation */
	uint64_t held_since;
	uint64_t lives; /* of the target: what is told of an earlier one counts for nothing */
	/* What has happened, to know that something has. */
	uint64_t locked, lost_races, conflicts, reserved, aborts, aborted, verified;
	char wrong[192]; /* the first thing that was */
};

void shared_init(struct shared *s, uint32_t block);
void shared_deinit(struct shared *s);

/* ---- locks ----------------------------------------------------------------------------------- */

/* Before it is submitted: a value to be written where @from is expected. */
uint64_t shared_lock_begin(struct shared *s, unsigned int lock, uint64_t from);
void shared_lock_end(struct shared *s, unsigned int lock, uint64_t number, enum shared_outcome outcome);
/* The contents of a value, and the value of contents that were read since @start. False: of none now. */
void shared_fill(const struct shared *s, uint64_t number, void *block);
bool shared_lock_read(struct shared *s, unsigned int lock, uint64_t start, const void *block,
		      uint64_t *ret_number);

/* ---- the reservation ------------------------------------------------------------------------- */

uint64_t shared_now(struct shared *s);
/* An Acquire (Write Exclusive) of @host, which began in that life of the target, has succeeded. */
void shared_acquired(struct shared *s, unsigned int host, uint64_t life);
/* @host is about to give it up. */
void shared_releases(struct shared *s, unsigned int host);
/* A command of @host that began at @start has ended. */
void shared_ended(struct shared *s, unsigned int host, uint64_t start, bool writes, bool done,
		  bool conflict);

/* The target has ended, and reservations with it. @power: what was not acknowledged may be lost. */
void shared_target_gone(struct shared *s, bool power);

#endif
