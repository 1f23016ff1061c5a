/* SPDX-License-Identifier: Apache-2.0 */
/* The generator and what is drawn from it; see rng.h. */
#include "base/rng.h"

#include <string.h>

#include "base/le.h"
#include "base/util.h"

static uint64_t rotate_left(uint64_t v, unsigned by)
{
	return v << by | v >> (64 - by);
}

/* SplitMix64: turns seeds that differ in one bit into states that have nothing in common. */
static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

void rng_init(struct rng *r, uint64_t seed)
{
	for (size_t i = 0; i < ARRAY_SIZE(r->s); i++)
		r->s[i] = splitmix(&seed);
}

void rng_fork(struct rng *r, struct rng *child)
{
	rng_init(child, rng_u64(r));
}

uint64_t rng_u64(struct rng *r)
{
	uint64_t *s = r->s;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
	INVARIANT(n > 0);

	/* 2^64 mod n: the values below it would make some results more likely, so draw again. */
	uint64_t unfair = -n % n;
	uint64_t v;

	do {
		v = rng_u64(r);
	} while (v < unfair);
	return v % n;
}

uint64_t rng_between(struct rng *r, uint64_t min, uint64_t max)
{
	INVARIANT(min <= max);
	if (max - min == UINT64_MAX)
		return rng_u64(r);
	return min + rng_below(r, max - min + 1);
}

bool rng_chance_ppm(struct rng *r, uint32_t ppm)
{
	/*
	 * One draw always, so that a seed's other draws stay where they are when a chance is
	 * tuned.
	 */
	return (rng_u64(r) >> 32) * UINT64_C(1000000) >> 32 < ppm;
}

double rng_unit(struct rng *r)
{
	/* A double holds 53 bits. */
	return (double)(rng_u64(r) >> 11) * 0x1.0p-53;
}

void rng_fill(struct rng *r, void *p, size_t n)
{
	uint8_t *at = p;

	while (n > 0) {
		le64 word = cpu_to_le64(rng_u64(r));
		size_t some = MIN(n, sizeof(word));

		memcpy(at, &word, some);
		at += some;
		n -= some;
	}
}
