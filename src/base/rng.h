/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers from a seed: the same on every machine and for ever, which simulation, workloads
 * and generated data all rest on. Changing what a seed gives invalidates recorded seeds and data
 * sets. Not for secrets.
 *
 * xoshiro256** by Blackman and Vigna, seeded through SplitMix64, for any seed including 0.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t s[4];
};

void rng_init(struct rng *r, uint64_t seed);

/* Starts `child` as a stream of its own, so that what one consumer draws does not move another. */
void rng_fork(struct rng *r, struct rng *child);

uint64_t rng_u64(struct rng *r);

/* Even over [0, n). n > 0. */
uint64_t rng_below(struct rng *r, uint64_t n);

/* Even over [min, max], both included. min <= max. */
uint64_t rng_between(struct rng *r, uint64_t min, uint64_t max);

/* True `ppm` times in a million; always draws exactly once. */
bool rng_chance_ppm(struct rng *r, uint32_t ppm);

/* Even over [0, 1). */
double rng_unit(struct rng *r);

/* Fills with random bytes. The same bytes whatever the byte order of the CPU. */
void rng_fill(struct rng *r, void *p, size_t n);

#endif
