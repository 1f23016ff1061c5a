/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where more in flight stops to help: the knee is the smallest depth within 5 % of the best
 * throughput that was seen. Behind it every further I/O only waits in line. Arithmetic only; whoever
 * sweeps measures where this says.
 */
#ifndef BENCH_KNEE_H
#define BENCH_KNEE_H

#include <stddef.h>

#include "bench/workload.h"

#define KNEE_SHARE 0.95

enum { KNEE_POINTS_MAX = 64 };

struct knee_point {
	unsigned int depth;
	double throughput; /* of any unit; > 0 */
};

/* Of @points in order of depth, @n >= 1: the index of the best, and of the knee. */
size_t knee_best(const struct knee_point *points, size_t n);
size_t knee_find(const struct knee_point *points, size_t n);

/*
 * A depth that would tell more about where the knee is, between it and the point before; 0 when
 * these are next to one another, or within a fifth.
 */
unsigned int knee_refine(const struct knee_point *points, size_t n);

/*
 * Accelerators that a store of @bytes_per_second keeps at a utilisation of @au: as long as it is
 * the store that they wait for, N of them reach bytes_per_second / (N * what one takes).
 */
unsigned int knee_accelerators(const struct workload *w, double bytes_per_second, double au);

#endif
