/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a training run. */
#ifndef BENCH_TRAIN_IMPL_H
#define BENCH_TRAIN_IMPL_H

#include <pthread.h>

#include "bench/gate.h"
#include "bench/manifest.h"
#include "bench/prepare.h"
#include "bench/train.h"

struct train_rank {
	struct train *t;
	unsigned int index;
	pthread_t thread;
	int rc; /* of opening */
	struct err err;
	const char *uri;

	struct pst_context *ctx;
	struct pst_volume *vol;
	struct pst_dataset *ds;
	struct pst_memory *mem;
	struct pst_feed *feed;
	struct prepare *prepare; /* NULL: nothing is prepared */
	struct manifest manifest; /* .samples 0: none */
	struct pst_extent extents[FORMAT_EXTENTS_MAX];
	uint64_t group_records; /* that the extents of a group belong to */
	uint32_t group;		/* extents of a group: samples as the feed has them */
	uint8_t *scratch;	  /* with verify: VERIFY_PIECE bytes */

	uint64_t batches; /* per epoch */
	uint64_t epochs;  /* begun */
	uint64_t begun_ns; /* of the present epoch */
	uint64_t ended_ns; /* when it was over */
	uint64_t samples;
	uint64_t bytes;
	uint64_t job_stall_ns;
	uint64_t prepare_ns;
	uint64_t overrun_ns;
	struct au au;
	struct pst_timing stall;
	struct hist wait;
	uint64_t path_bytes[BENCH_PATHS];
	uint64_t errors;
	char first_error[320];
	struct bench_trouble trouble; /* when it has closed */
	struct bench_verify verify;

	/* For the live line, read by another thread. */
	_Atomic uint64_t live_steps;
	_Atomic uint64_t live_bytes;
	_Atomic uint64_t live_stall_ns;
	_Atomic uint64_t live_compute_ns;
	atomic_bool live_verifying;
};

struct train {
	const struct train_options *opts;
	struct train_result *result;
	struct train_rank *ranks;
	struct gate gate;
	struct meeting meeting;
	bool abandoned;
	uint64_t begin_ns;
	uint64_t end_ns;	 /* UINT64_MAX: no limit */
	struct bench_cost cost_begin;
	atomic_uint running;
	atomic_bool path_missed;
	atomic_uint path_taken;
};

/* ---- train-rank.c ---------------------------------------------------------------------------- */

void *train_rank_main(void *arg);

/* ---- train-verify.c -------------------------------------------------------------------------- */

enum { VERIFY_PIECE = 1 << 20 };

/* Checks every sample of the batch, where it lies. */
void train_verify(struct train_rank *r, const struct pst_batch *b);

#endif
