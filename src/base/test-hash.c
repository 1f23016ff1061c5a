/* SPDX-License-Identifier: Apache-2.0 */
/* The hash: FNV-1a's published values, our own recorded ones, cuts, and how well words mix. */
#include "base/hash.h"

#include <math.h>

#include "base/rng.h"
#include "tests/tap.h"

static void test_published(void)
{
	is_u64(hash_bytes(HASH_INIT, "", 0), UINT64_C(0xcbf29ce484222325), "FNV-1a of nothing");
	is_u64(hash_bytes(HASH_INIT, "a", 1), UINT64_C(0xaf63dc4c8601ec8c), "FNV-1a of a");
	is_u64(hash_bytes(HASH_INIT, "foobar", 6), UINT64_C(0x85944171f73967e8),
	       "FNV-1a of foobar");
}

static void test_recorded(void)
{
	uint64_t h = HASH_INIT;

	for (uint64_t i = 0; i < 1000; i++)
		h = hash_u64(h, i);
	is_u64(h, UINT64_C(0x4a092c2887a7eab0), "recorded value of the numbers to 999");
}

static void test_cuts(void)
{
	uint64_t whole = hash_bytes(HASH_INIT, "abcdef", 6);

	is_u64(hash_bytes(hash_bytes(HASH_INIT, "ab", 2), "cdef", 4), whole,
	       "cutting bytes is free");
	ok(hash_str(hash_str(HASH_INIT, "ab"), "c") != hash_str(hash_str(HASH_INIT, "a"), "bc"),
	   "cutting texts is not");
	ok(hash_u64(hash_u64(HASH_INIT, 1), 2) != hash_u64(hash_u64(HASH_INIT, 2), 1),
	   "order counts");
	ok(hash_u64(0, 0) != 0, "a zero does not vanish");
	ok(hash_u64(hash_u64(HASH_INIT, 0), 0) != hash_u64(HASH_INIT, 0), "nor does a second");
}

/* Flipping any one bit of value or state must flip each bit of the result about half the time. */
static void test_mixing(void)
{
	enum { ROUNDS = 2000 };
	struct rng r;
	double worst = 0;

	rng_init(&r, 64);
	for (unsigned bit = 0; bit < 64; bit++) {
		unsigned flips[2][64] = { { 0 } };

		for (int i = 0; i < ROUNDS; i++) {
			uint64_t h = rng_u64(&r), v = rng_u64(&r), mask = UINT64_C(1) << bit;
			uint64_t by_value = hash_u64(h, v) ^ hash_u64(h, v ^ mask);
			uint64_t by_state = hash_u64(h, v) ^ hash_u64(h ^ mask, v);

			for (unsigned out = 0; out < 64; out++) {
				flips[0][out] += by_value >> out & 1;
				flips[1][out] += by_state >> out & 1;
			}
		}
		for (unsigned out = 0; out < 64; out++) {
			worst = fmax(worst, fabs(flips[0][out] / (double)ROUNDS - 0.5));
			worst = fmax(worst, fabs(flips[1][out] / (double)ROUNDS - 0.5));
		}
	}
	ok(worst < 0.1, "every bit reaches every bit (worst bias %.3f)", worst);
}

int main(void)
{
	test_published();
	test_recorded();
	test_cuts();
	test_mixing();
	return tap_done();
}
