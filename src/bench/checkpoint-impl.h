/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a run of checkpoints. */
#ifndef BENCH_CHECKPOINT_IMPL_H
#define BENCH_CHECKPOINT_IMPL_H

#include <pthread.h>

#include "bench/checkpoint-book.h"
#include "bench/checkpoint.h"
#include "bench/gate.h"
#include "bench/mover.h"

enum { PARTS = 2 }; /* weights, optimizer */

struct checkpoint_rank {
	struct checkpoint *c;
	unsigned int index;
	pthread_t thread;
	int rc; /* of opening */
	struct err err;
	struct mover mover;
	struct move moves[PARTS];
	unsigned int open_moves;
	bool cancelled; /* of the checkpoint under way, some was given up */
	uint64_t oldest, newest; /* that its volume holds whole */
	/* of the last one; read by rank 0 between two meetings */
	uint64_t ns;
	uint64_t flush_ns;
	uint64_t given_up_ns; /* spent on one that did not come to its end */
	struct hist duration;
	struct bench_trouble trouble;
};

struct checkpoint {
	const struct checkpoint_options *o;
	struct checkpoint_result *r;
	struct checkpoint_rank *ranks;
	struct book book; /* of volume 0; the others' differ in their number */
	unsigned int volumes;
	uint64_t part_bytes; /* room for a rank in a slot */
	uint64_t model_bytes;
	uint64_t optimizer_bytes;
	struct gate gate;
	struct meeting meeting;
	bool abandoned;
	uint64_t begin_ns;
	uint64_t end_ns; /* UINT64_MAX: no limit */
	uint64_t ended_ns; /* before what was saved is read back */
	struct bench_cost cost_begin;
	atomic_uint running;
	atomic_uint done; /* checkpoints, for the live line */
	atomic_bool reading_back;
};

/* What a rank has of a checkpoint. */
uint64_t checkpoint_rank_bytes(const struct checkpoint *c, unsigned int rank);
/* Where on a volume the checkpoints' head lies. */
uint64_t checkpoint_offset(const struct checkpoint *c, unsigned int volume);
void *checkpoint_rank_main(void *arg);

#endif
