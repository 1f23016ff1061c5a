/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bucket arithmetic. With P = 2^HIST_PART_BITS, values below P have a bucket each; above, the
 * bucket is made of the position of the value's top bit and the HIST_PART_BITS bits that follow
 * it. Numbers run on without a gap, so bucket order is value order.
 */
#include "base/hist.h"

#include <math.h>
#include <string.h>

#include "base/check.h"
#include "base/util.h"

#define HIST_PARTS (UINT64_C(1) << HIST_PART_BITS)

static unsigned hist_index(uint64_t value)
{
	if (value < HIST_PARTS)
		return (unsigned)value;
	if (value >> HIST_MAX_BITS)
		return HIST_BUCKETS - 1;

	unsigned shift = 63 - (unsigned)__builtin_clzll(value) - HIST_PART_BITS;

	/* value >> shift is in [P, 2P). */
	return (unsigned)((shift << HIST_PART_BITS) + (value >> shift));
}

/* The middle of a bucket's values. */
static uint64_t hist_middle(unsigned index)
{
	if (index < 2 * HIST_PARTS)
		return index;

	unsigned shift = (index >> HIST_PART_BITS) - 1;
	uint64_t low = (HIST_PARTS + (index & (HIST_PARTS - 1))) << shift;

	return low + (UINT64_C(1) << shift) / 2;
}

void hist_init(struct hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

void hist_add(struct hist *h, uint64_t value)
{
	h->count++;
	h->sum = u64_add_saturated(h->sum, value);
	h->min = MIN(h->min, value);
	h->max = MAX(h->max, value);
	h->bucket[hist_index(value)]++;
}

void hist_merge(struct hist *h, const struct hist *from)
{
	h->count += from->count;
	h->sum = u64_add_saturated(h->sum, from->sum);
	h->min = MIN(h->min, from->min);
	h->max = MAX(h->max, from->max);
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		h->bucket[i] += from->bucket[i];
}

double hist_mean(const struct hist *h)
{
	return h->count ? (double)h->sum / (double)h->count : 0;
}

/* Rank, from 1 to count, of the sample that answers a percentile. */
static uint64_t hist_rank(const struct hist *h, double percent)
{
	double exact = percent / 100 * (double)h->count;
	/*
	 * 99.9 is not a binary fraction: do not let its error of 1 part in 10^16 take the next
	 * rank.
	 */
	double rank = ceil(exact - exact * 1e-12);

	if (!(rank >= 1))
		return 1;
	return rank >= (double)h->count ? h->count : (uint64_t)rank;
}

uint64_t hist_percentile(const struct hist *h, double percent)
{
	if (h->count == 0)
		return 0;
	if (percent <= 0)
		return h->min;

	uint64_t rank = hist_rank(h, percent);
	uint64_t seen = 0;
	unsigned i = 0;

	/* The last sample is the maximum, which is known exactly. */
	if (rank == h->count)
		return h->max;
	while (seen + h->bucket[i] < rank)
		seen += h->bucket[i++];
	return MIN(MAX(hist_middle(i), h->min), h->max);
}

uint64_t hist_count_to(const struct hist *h, uint64_t value)
{
	unsigned last = hist_index(value);
	uint64_t n = 0;

	for (unsigned i = 0; i <= last; i++)
		n += h->bucket[i];
	return n;
}
