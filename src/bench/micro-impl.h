/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a micro benchmark: what its threads share, and what each has for itself.
 *
 * A lane is one thread's part of one volume. A slot is an I/O that a lane can have in flight, with
 * its buffer. Slots go round: free, in flight, done, free.
 */
#ifndef BENCH_MICRO_IMPL_H
#define BENCH_MICRO_IMPL_H

#include <pthread.h>

#include "bench/gate.h"
#include "bench/micro.h"
#include "bench/versions.h"

struct micro_lane;

struct micro_slot {
	struct micro_slot *next; /* in lane->free, or thread->done */
	struct micro_lane *lane;
	uint64_t block;
	uint64_t start_ns;
	size_t mem_offset;
	int error;
	uint16_t nvme_status;
	uint16_t version; /* that a write carries, with verify */
	bool write;
};

struct micro_lane {
	struct micro_thread *thread;
	const char *uri;
	struct pst_volume *vol;
	uint64_t base; /* byte of the volume where its part begins */
	struct pattern pattern;
	struct versions versions; /* .of NULL: nobody keeps them */
	uint64_t scan;		  /* block that the last check comes to next */
	struct micro_slot *free;
};

struct micro_thread {
	struct micro *m;
	unsigned int index;
	pthread_t thread;
	int rc; /* of opening */
	struct err err;

	struct pst_context *ctx;
	struct pst_memory *mem;
	uint8_t *host;	  /* the CPU's address of mem; NULL: it has none */
	uint8_t *scratch; /* one block */
	struct micro_lane *lanes; /* one per volume */
	unsigned int turn;	  /* lane whose turn it is to be first */
	struct micro_slot *slots;
	uint64_t slot_count;
	struct micro_slot *done;
	struct micro_slot **done_tail;
	uint64_t in_flight;

	bool recording;
	bool measuring; /* the warm-up is over */
	bool scanning;	/* the last check, after the measured time */
	bool scanned;	/* it came to its end */
	uint64_t end_ns;
	uint64_t last_ns; /* last recorded completion */
	uint64_t due_ns;
	uint64_t published_ns;

	struct micro_side side[2];
	struct pst_timing timing[2]; /* of I/Os that were not sampled, that were */
	uint64_t timing_ops[2];
	uint64_t path_bytes[BENCH_PATHS];
	uint64_t errors;
	char first_error[320];
	struct bench_trouble trouble; /* when it has closed */
	struct bench_verify verify;
	struct series_part part;
	struct hist recent; /* for the live line */
	uint64_t recent_bytes;
};

struct micro {
	const struct micro_options *opts;
	struct micro_result *result;
	struct micro_thread *threads;
	unsigned int thread_count;
	uint64_t run;	      /* tells this run's blocks from an earlier one's */
	uint64_t interval_ns; /* between the I/Os of one thread, with a rate */
	uint64_t begin_ns;    /* of what is measured */
	uint64_t end_ns;
	struct gate gate;
	bool abandoned;		  /* some thread could not open */
	atomic_bool halt;	  /* an error, or the wrong path */
	atomic_bool path_missed;
	atomic_uint path_taken;
	atomic_uint running;
	atomic_uint scanning;	  /* threads that are at the last check */
	_Atomic uint64_t scanned; /* blocks it has passed, of: */
	uint64_t blocks;	  /* in all ranges */

	pthread_mutex_t lock; /* of what follows */
	bool cpu_begun;
	struct bench_cost cost_begin;
	struct bench_cost cost; /* when the last thread so far was over */
	struct hist recent;
	uint64_t recent_bytes;
};

/* Blocks of the range of a volume, and the byte where it begins. */
uint64_t micro_range(const struct micro_options *o, const struct pst_volume_info *info, uint64_t *ret_offset);
/* The part of @blocks that thread @t has. */
void micro_part(const struct micro *m, uint64_t blocks, unsigned int t, uint64_t *ret_first,
		uint64_t *ret_count);

/* ---- micro-thread.c: opening, and the loop -------------------------------------------------- */

void *micro_thread_main(void *arg);

/* ---- micro-io.c: one I/O ---------------------------------------------------------------------- */

static inline bool micro_keeps_versions(const struct micro_options *o)
{
	return o->verify && pattern_writes(o->kind);
}

/* Fills buffers with what will do as data when nobody checks it. -errno. */
int micro_prepare(struct micro_thread *t);
/* Submits as much as may be in flight now. */
void micro_submit(struct micro_thread *t, uint64_t now);
/* Looks at what has completed: contents, errors; its slots are free again. */
void micro_settle(struct micro_thread *t);

#endif
