/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How large sample number i of a generated dataset is: a function of (seed, i) alone, the same on
 * every machine and for ever, so that whoever knows the rule can tell a sample that was cut short.
 *
 * The rule, by name "normal-12/1": twelve even draws of 20 bits are summed, which is near enough to
 * a normal distribution (Irwin-Hall), and scaled to the mean and standard deviation in whole
 * numbers; no floating point, whose last bit differs between machines. What lies further from the
 * mean than three standard deviations, or below a sixteenth of the mean, is moved to that border
 * and likewise on the other side, so that the mean stays where it was. That makes unet3d's standard
 * deviation 4 % smaller than asked for. No sample is empty.
 */
#ifndef BENCH_SIZES_H
#define BENCH_SIZES_H

#include <stdint.h>

#define SIZES_RULE "normal-12/1"

/* Most that a rule may ask for; keeps the arithmetic within 64 bits. */
#define SIZES_MAX (UINT64_C(1) << 39)

struct sizes {
	uint64_t seed;
	uint64_t mean;	 /* bytes, 1 to SIZES_MAX */
	uint64_t stddev; /* bytes, 0 to mean */
};

uint64_t sizes_at(const struct sizes *s, uint64_t index);

/* Bounds of what sizes_at() returns. */
uint64_t sizes_least(const struct sizes *s);
uint64_t sizes_most(const struct sizes *s);

#endif
