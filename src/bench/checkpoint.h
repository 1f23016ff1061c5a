/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saving and restoring checkpoints: ranks, each a thread with its share of a model's weights and of
 * the optimizer's state, write or read them at one moment and wait for one another. A save ends with
 * a Flush of each rank, which is part of its duration. As MLPerf Storage counts, a checkpoint takes
 * as long as its slowest rank.
 *
 * On a volume lie a head (checkpoint-book.h) and as many checkpoints as fit, the latest over the
 * oldest. Several volumes have ranks dealt to them in turn, and a head each. A restore reads the
 * latest first, then older ones, and begins again when there are no more.
 *
 * With verify contents are known. A save fills them in while it writes and reads everything back
 * after the last checkpoint, outside of the measured time; a restore checks while it reads.
 */
#ifndef BENCH_CHECKPOINT_H
#define BENCH_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/bench.h"
#include "bench/model.h"

enum {
	CHECKPOINT_COUNT_MAX = 1000,
	CHECKPOINT_RANKS_MAX = BENCH_THREADS_MAX,
};

struct checkpoint_options {
	struct bench_target target;
	bool restore;
	const struct model *model;  /* restore: NULL for whatever is there */
	unsigned int ranks;	    /* restore: 0 for as many as saved */
	uint64_t scale_ppm;	    /* of the model's sizes; restore: 0 for as saved */
	unsigned int count;	    /* checkpoints; 0: until the time is over */
	uint64_t time_ns;	    /* 0: no limit; what is under way is given up */
	uint64_t pause_ns;	    /* between the end of one and the beginning of the next */
	uint64_t piece_bytes;
	unsigned int depth;  /* pieces in flight, per queue */
	unsigned int queues; /* per rank */
	uint64_t offset;     /* the part of each volume, bytes */
	uint64_t size;	     /* 0: to its end */
	uint64_t seed;
	bool verify;
	bool overwrite; /* a save may destroy a dataset */
	bench_live_fn live;
	void *live_arg;
};

struct checkpoint_result {
	/*
	 * Its time is the sum of the checkpoints' and of what was given up. An op is one rank's part of
	 * one checkpoint, and its latency from the moment all begin until it is durable (restored: in
	 * memory). The split is that of pieces.
	 */
	struct bench_result all;
	struct model model;	 /* as it was saved */
	unsigned int ranks;
	uint64_t scale_ppm;
	uint64_t checkpoint_bytes; /* of all ranks */
	unsigned int slots;	   /* checkpoints that the volumes hold */
	unsigned int count;	   /* complete ones */
	uint64_t ns[CHECKPOINT_COUNT_MAX];	 /* of each: its slowest rank's */
	uint64_t flush_ns[CHECKPOINT_COUNT_MAX]; /* of that, the Flush that took longest */
	double rank_rate[CHECKPOINT_COUNT_MAX];	 /* bytes a second of its slowest rank */
};

/* As micro_run(). -EINVAL: the volumes hold no such checkpoint. */
int checkpoint_run(const struct checkpoint_options *opts, struct checkpoint_result *ret_result, struct err *err);

/* Adds a further run with the same options; of more than CHECKPOINT_COUNT_MAX checkpoints the first are described. */
void checkpoint_merge(struct checkpoint_result *r, const struct checkpoint_result *run);

#endif
