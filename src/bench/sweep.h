/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which depths to measure, so that the knee (knee.h) is found with few of them: powers of two until
 * more brings nothing any longer, then between the knee and the depth below it. How a depth is
 * measured is the caller's business, so a test can stand in for a store.
 */
#ifndef BENCH_SWEEP_H
#define BENCH_SWEEP_H

#include <stdbool.h>

#include "base/err.h"
#include "bench/knee.h"

/*
 * Twice in a row less than this above the best so far, and it has stopped to grow. Half of what the
 * knee allows: a curve that still grows by so little has its knee among what was measured.
 */
#define SWEEP_GROWTH 0.025

/* 0 and @ret_throughput > 0; 1 to end here, with what there is; -errno. */
typedef int (*sweep_measure_fn)(unsigned int depth, double *ret_throughput, void *arg, struct err *err);

struct sweep {
	struct knee_point points[KNEE_POINTS_MAX]; /* in order of depth */
	size_t n; /* 0: it ended before the first */
	size_t knee, best;
	bool grows; /* it still grew at the last depth that was allowed */
	bool stopped;
};

/* Depths from @least to @most, 1 <= least <= most. 0, or what measuring returned. */
int sweep_run(unsigned int least, unsigned int most, sweep_measure_fn measure, void *arg, struct sweep *ret,
	      struct err *err);

#endif
