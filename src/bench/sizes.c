/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sizes.h"

#include "base/hash.h"
#include "base/rng.h"
#include "base/util.h"

enum { DRAWS = 12, DRAW_BITS = 20 };

/* Standard normal, in units of 2^-20: between -6 and 6. */
static int64_t normal(struct rng *r)
{
	int64_t sum = 0;

	for (int i = 0; i < DRAWS; i++)
		sum += (int64_t)(rng_u64(r) >> (64 - DRAW_BITS));
	/* The mean of a draw is half a unit short of the middle. */
	return sum + DRAWS / 2 - DRAWS * (INT64_C(1) << (DRAW_BITS - 1));
}

/* How far a size may lie from the mean. */
static int64_t reach(const struct sizes *s)
{
	return (int64_t)MIN(3 * s->stddev, s->mean - s->mean / 16);
}

uint64_t sizes_at(const struct sizes *s, uint64_t index)
{
	int64_t off, most = reach(s);
	struct rng r;

	if (s->stddev == 0)
		return s->mean;
	rng_init(&r, hash_u64(hash_u64(HASH_INIT, s->seed), index));
	off = (int64_t)s->stddev * normal(&r) / (INT64_C(1) << DRAW_BITS);
	off = MAX(MIN(off, most), -most);
	return MAX((uint64_t)((int64_t)s->mean + off), UINT64_C(1));
}

uint64_t sizes_least(const struct sizes *s)
{
	return MAX(s->mean - (uint64_t)reach(s), UINT64_C(1));
}

uint64_t sizes_most(const struct sizes *s)
{
	return s->mean + (uint64_t)reach(s);
}
