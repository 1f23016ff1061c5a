/* SPDX-License-Identifier: Apache-2.0 */
#include "feed/plan.h"

#include "base/util.h"

void plan_init(struct plan *p, uint64_t n, uint32_t batch, uint32_t group, bool keep_last, uint32_t rank,
	       uint32_t ranks)
{
	uint64_t share = n / group / ranks * group;

	INVARIANT(batch % group == 0);
	*p = (struct plan){ .batch = batch, .group = group, .rank = rank, .ranks = ranks };
	p->order.n = n / group;
	p->batches = keep_last ? DIV_ROUND_UP(share, (uint64_t)batch) : share / batch;
	p->samples = keep_last ? share : p->batches * batch;
}

void plan_epoch(struct plan *p, bool sequential, uint64_t seed, uint64_t epoch)
{
	uint64_t n = p->order.n;

	if (sequential || n == 0)
		shuffle_init_sequential(&p->order, n);
	else
		shuffle_init(&p->order, n, seed, epoch);
}

uint32_t plan_batch_size(const struct plan *p, uint64_t b)
{
	return (uint32_t)MIN(p->samples - b * p->batch, (uint64_t)p->batch);
}

uint64_t plan_sample(const struct plan *p, uint64_t b, uint32_t i)
{
	uint64_t at = b * p->batch + i;

	return shuffle_at(&p->order, at / p->group * p->ranks + p->rank) * p->group + at % p->group;
}
