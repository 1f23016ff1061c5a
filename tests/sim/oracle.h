/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a disk may answer. The oracle is told of every operation when it begins and when it ends,
 * and decides for each block that was read whether a correct disk could have returned it.
 *
 * Every write has contents of its own, so what is read names the write it came from. A block is
 * then a register whose history must be linearizable, and with unique values that can be decided
 * exactly and cheaply (Gibbons and Korach, "Testing Shared Memories", 1997): the operations on one
 * value form a cluster that spans a zone of time; a history is right if no two zones conflict. A
 * write that was sent more than once may also happen more than once while it lasts; of its value
 * only this is held: that it does not come back once something newer, begun after the write had
 * ended, is known to be there. Zeroes are not unique: a read of them is right if it could belong
 * to some operation that wrote them.
 *
 * A power cut begins a new history of each block, which starts with one of the values that may
 * have survived: those not older than what is known to be durable, by FUA or by a flush. Where the
 * oracle cannot know (operations across a power cut) it allows more rather than less: what it
 * reports is wrong.
 *
 * Time here is the order of the calls. Memory: aborts when there is none.
 */
#ifndef TESTS_SIM_ORACLE_H
#define TESTS_SIM_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oracle;
struct oracle_rec;

enum oracle_kind {
	ORACLE_READ,
	ORACLE_WRITE,
	ORACLE_ZERO, /* write zeroes, or a deallocate that promises zeroes */
	ORACLE_TRIM, /* a deallocate that promises nothing: old data or zeroes */
	ORACLE_FLUSH,
};

enum oracle_outcome {
	ORACLE_OK,
	ORACLE_FAILED,  /* the disk answered: it is over, done or not or in part */
	ORACLE_UNKNOWN, /* no answer: it may still happen, until oracle_settle() */
};

/* One operation, embedded in its owner. The first six are the owner's. */
struct oracle_op {
	enum oracle_kind kind;
	unsigned int host; /* who asks: 0 .. 7 */
	bool durable;      /* write, zero: FUA */
	uint64_t slba;
	uint32_t nlb;
	bool again; /* set before oracle_end(): perhaps it happened more than once */

	uint64_t start;
	uint64_t cuts;          /* power cuts before it began */
	struct oracle_rec *rec; /* what is remembered of a write, for ever */
};

/* A disk, all zero. */
struct oracle_disk {
	uint64_t seed; /* of contents */
	uint64_t blocks;
	uint32_t block;  /* bytes, a multiple of 512 */
	uint32_t sector; /* bytes: where a block may tear when power is lost; or longer than it */
	bool cache;      /* what is acknowledged is not durable yet */
	bool tries_tear; /* so may a try that fails, of an operation that is tried again */
};

struct oracle *oracle_new(const struct oracle_disk *disk);
struct oracle *oracle_free(struct oracle *o);

/* Before it is submitted. */
void oracle_begin(struct oracle *o, struct oracle_op *op);
/* The contents of a write: nlb blocks. */
void oracle_fill(const struct oracle *o, const struct oracle_op *op, void *data);
/* @data: what a read that succeeded has read, nlb blocks; otherwise unused. */
void oracle_end(struct oracle *o, struct oracle_op *op, enum oracle_outcome outcome,
		const void *data);

/* The disk lost its power, and with it what was in flight and, in part, what was not durable. */
void oracle_power_cut(struct oracle *o);
/* Operations of @host whose outcome is unknown do not happen any more. */
void oracle_settle(struct oracle *o, unsigned int host);

/*
 * Of what is acknowledged and not durable by now, no later flush says anything: a sync failed, what
 * it was to write may be forgotten, and whoever knew that has been replaced.
 */
void oracle_doubt(struct oracle *o);

/* What was wrong first, with the history of the block; NULL: nothing. */
const char *oracle_wrong(const struct oracle *o);

#endif
