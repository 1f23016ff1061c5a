/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which samples a rank reads in an epoch, in which order and batches: arithmetic only. The
 * epoch's permutation is dealt out to the ranks in turn (position p goes to rank p mod ranks), so
 * ranks never overlap and together miss nothing; all ranks get the same number of batches, since
 * an accelerator that has none would leave the others waiting at the next barrier.
 */
#ifndef FEED_PLAN_H
#define FEED_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "feed/shuffle.h"

struct plan {
	struct shuffle order; /* of groups */
	uint64_t samples; /* of this rank */
	uint64_t batches;
	uint32_t batch;
	uint32_t group;
	uint32_t rank;
	uint32_t ranks;
};

/*
 * @n samples in all. Without @keep_last the last, smaller batch of an epoch is left out. @batch is a
 * multiple of @group, the number of consecutive samples that are shuffled and dealt as one.
 */
void plan_init(struct plan *p, uint64_t n, uint32_t batch, uint32_t group, bool keep_last, uint32_t rank,
	       uint32_t ranks);
void plan_epoch(struct plan *p, bool sequential, uint64_t seed, uint64_t epoch);
/* Samples in batch @b. */
uint32_t plan_batch_size(const struct plan *p, uint64_t b);
/* The dataset's index of sample @i of batch @b. */
uint64_t plan_sample(const struct plan *p, uint64_t b, uint32_t i);

#endif
