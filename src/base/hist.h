/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Latency histogram with logarithmic-linear buckets: each power of two is cut into 128 equal parts,
 * so whatever the magnitude, a value read back is within 0.4 % of one that was put in. Adding is a
 * few instructions and never allocates; merging is exact (merging two histograms gives the one that
 * would have held all their samples). The price is 35 KiB per histogram: keep one per class of work
 * and core, not one per request stream.
 *
 * Unit: nanoseconds by convention; nothing here depends on it. Thread: no locks, one owner.
 */
#ifndef BASE_HIST_H
#define BASE_HIST_H

#include <stdint.h>

enum {
	/* 128 parts per power of two: widest bucket 1/128 of its value, its middle within 1/256. */
	HIST_PART_BITS = 7,
	/*
	 * 2^41 ns is 36 minutes; no request lives that long. Longer ones count in the last
	 * bucket.
	 */
	HIST_MAX_BITS = 41,
	HIST_BUCKETS = (HIST_MAX_BITS - HIST_PART_BITS + 1) << HIST_PART_BITS,
};

struct hist {
	uint64_t count;
	uint64_t sum; /* stops at UINT64_MAX */
	uint64_t min; /* exact; UINT64_MAX while empty */
	uint64_t max; /* exact */
	uint64_t bucket[HIST_BUCKETS];
};

/* Makes it empty. */
void hist_init(struct hist *h);

void hist_add(struct hist *h, uint64_t value);

/* Adds the samples of `from` to those of `h`. */
void hist_merge(struct hist *h, const struct hist *from);

/* Arithmetic mean, exact while the sum fits; 0 if empty. */
double hist_mean(const struct hist *h);

/*
 * Smallest value that at least `percent` (0 to 100) of the samples do not exceed (nearest rank),
 * within 0.4 %; 0 gives the minimum and 100 the maximum, both exact. 0 if empty.
 */
uint64_t hist_percentile(const struct hist *h, double percent);

/*
 * Number of samples that do not exceed `value`, as Prometheus' cumulative buckets need it. Samples
 * in the same bucket as `value` count as not exceeding it.
 */
uint64_t hist_count_to(const struct hist *h, uint64_t value);

#endif
