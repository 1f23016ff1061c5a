/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves objects between memory and a volume: one thread, one polled context, a ring of buffers. An
 * object is a run of bytes of the volume that is written or read in pieces, several at a time and
 * several objects at a time; smaller classes get free buffers first. Who submits an object is told
 * when its last piece has settled, from inside mover_turn().
 *
 * With verify every byte of every object follows from the seed, the object's number and its place,
 * is filled in before it is written and checked when it is read, by the same thread: figures taken
 * with it are lower. Without, what is written is random and differs from piece to piece.
 */
#ifndef BENCH_MOVER_H
#define BENCH_MOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "bench/bench.h"

enum { MOVER_CLASSES = 4 };

struct mover_options {
	const struct bench_target *target;
	const char *uri;
	unsigned int queues;
	unsigned int depth; /* pieces in flight: per queue */
	uint64_t piece_bytes;
	uint64_t seed;
	bool read_only;
	bool verify;
};

struct move {
	/* The caller's. */
	uint64_t offset; /* bytes of the volume */
	uint64_t length; /* 0: done at once, from the next turn */
	uint64_t object; /* what its contents follow from */
	bool write;
	unsigned int class; /* below MOVER_CLASSES */
	void (*done)(struct move *m);
	void *user;

	/* Valid in done. */
	int error; /* 0 or -errno; then not all of it was moved */
	bool wrong; /* contents were, with verify */

	/* private */
	struct list link;
	uint64_t issued;
	uint64_t settled;
	uint64_t failed_at;
};

struct mover_slot;

struct mover {
	struct mover_options o;
	struct pst_context *ctx;
	struct pst_volume *vol;
	struct pst_volume_info info;
	struct pst_memory *mem;
	uint8_t *host; /* the CPU's address of mem; NULL: it has none */
	uint8_t *scratch;
	struct mover_slot *slots, *free, *arrived, **arrived_tail;
	unsigned int slot_count;
	unsigned int in_flight;
	struct list waiting[MOVER_CLASSES]; /* with pieces to issue */
	struct list ended;		    /* that have nothing to move */
	bool stopped;			    /* nothing more is issued */
	bool recording;

	/* while recording */
	uint64_t bytes[2]; /* read, written */
	uint64_t path_bytes[BENCH_PATHS];
	struct pst_timing timing;
	uint64_t pieces; /* that timing is of */
	struct series_part series;
	_Atomic uint64_t live_bytes;
	/* always */
	uint64_t errors;
	char first_error[320];
	struct bench_verify verify; /* samples are pieces */
	bool path_missed;
	enum pst_path path_taken;
};

/* Opens context, volume and memory. Blocks. mover_close() is right whatever it returned. */
int mover_open(struct mover *m, const struct mover_options *opts, struct err *err);
void mover_close(struct mover *m, struct bench_trouble *ret_trouble);

void mover_submit(struct mover *m, struct move *move);
/* Issues what it can and waits up to @timeout_ns for something to arrive. */
void mover_turn(struct mover *m, uint64_t timeout_ns);
/* Gives up what was not issued yet, lets the rest arrive: each move is done, those given up with -ECANCELED. */
void mover_stop(struct mover *m);
/* Makes what was written durable. Blocks. Returns 0 or -errno, which it has counted. */
int mover_flush(struct mover *m);

#endif
