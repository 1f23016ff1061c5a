/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are two sets of runs different, and by how much? Arithmetic only.
 *
 * The method is Welch's: each run is one observation, the two sets may vary differently, and the
 * interval comes from Student's t with the Welch-Satterthwaite degrees of freedom. Rates, latencies
 * and costs are compared as ratios, on logarithms, since what disturbs a run acts by factors;
 * fractions that may be zero, as differences. It assumes that runs are independent and, for
 * small sets, that the logarithms are about normal; a bootstrap would assume less, but of three to
 * ten runs it makes intervals that are too narrow. Of one run nothing can be said, and nothing is.
 */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

#include <stdbool.h>
#include <stddef.h>

/* Add them up one by one (Welford). All zeroes: none yet. */
struct stats {
	size_t n;
	double mean;
	double m2; /* sum of squared distances from the mean */
};

void stats_add(struct stats *s, double x);
/* Of the sample, n - 1 below; 0 with fewer than two. */
double stats_sd(const struct stats *s);

/* A difference or a ratio, and where the true one lies, as sure as was asked. */
struct stats_interval {
	double value;
	bool known; /* low and high mean something: there were two observations at least (on each side) */
	double low;
	double high;
};

/* That of the mean. @confidence: 0.95. */
struct stats_interval stats_mean(const double *x, size_t n, double confidence);
/* That of the geometric mean. False: some observation is not positive. */
bool stats_geometric(const double *x, size_t n, double confidence, struct stats_interval *ret);
/* mean(b) - mean(a). */
struct stats_interval stats_difference(const double *a, size_t na, const double *b, size_t nb, double confidence);
/*
 * Geometric mean of @b over that of @a. False: some observation is not positive, so there is no
 * ratio of logarithms.
 */
bool stats_ratio(const double *a, size_t na, const double *b, size_t nb, double confidence,
		 struct stats_interval *ret);

/* The t that |T| stays below with probability @confidence, to 9 digits. @df > 0, need not be whole. */
double stats_t(double confidence, double df);

#endif
