/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/knee.h"

#include <math.h>

size_t knee_best(const struct knee_point *points, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		best = points[i].throughput > points[best].throughput ? i : best;
	return best;
}

size_t knee_find(const struct knee_point *points, size_t n)
{
	double enough = KNEE_SHARE * points[knee_best(points, n)].throughput;
	size_t i = 0;

	while (points[i].throughput < enough)
		i++;
	return i;
}

unsigned int knee_refine(const struct knee_point *points, size_t n)
{
	size_t knee = knee_find(points, n);
	unsigned int low, high;

	if (knee == 0)
		return 0;
	low = points[knee - 1].depth;
	high = points[knee].depth;
	return high - low < 2 || high - low <= high / 5 ? 0 : low + (high - low) / 2;
}

unsigned int knee_accelerators(const struct workload *w, double bytes_per_second, double au)
{
	double n = floor(bytes_per_second / (au * workload_bytes_per_second(w)) + 1e-9);

	return n > 1e9 ? 1000000000u : (unsigned int)n;
}
