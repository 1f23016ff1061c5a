/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checked arithmetic at its limits, and against 128 bits. The 64-bit functions are the interesting
 * ones; the others come from the same macro and are tried at their own limits.
 */
#include "base/check.h"

#include "base/rng.h"
#include "tests/tap.h"

__extension__ typedef unsigned __int128 u128;

static void test_limits_u32(void)
{
	uint32_t v = 7;

	ok(u32_add(UINT32_MAX, 0, &v) && v == UINT32_MAX, "u32_add up to the limit");
	ok(!u32_add(UINT32_MAX, 1, &v), "u32_add past it");
	ok(u32_sub(5, 5, &v) && v == 0, "u32_sub down to 0");
	ok(!u32_sub(5, 6, &v), "u32_sub past it");
	ok(u32_mul(0x10000, 0xffff, &v) && v == 0xffff0000, "u32_mul up to the limit");
	v = 7;
	ok(!u32_mul(0x10000, 0x10000, &v), "u32_mul past it");
	is_u64(v, 7, "a result that does not fit is not written");
}

static void test_limits_u64(void)
{
	uint64_t v = 7;

	ok(u64_add(UINT64_MAX - 1, 1, &v) && v == UINT64_MAX, "u64_add up to the limit");
	ok(!u64_add(UINT64_MAX, 1, &v), "u64_add past it");
	ok(!u64_add(UINT64_MAX, UINT64_MAX, &v), "u64_add far past it");
	ok(u64_mul(UINT64_MAX, 1, &v) && v == UINT64_MAX, "u64_mul up to the limit");
	ok(u64_mul(UINT64_MAX, 0, &v) && v == 0, "u64_mul by 0");
	ok(!u64_mul(UINT64_C(1) << 32, UINT64_C(1) << 32, &v), "u64_mul past it by one bit");
	ok(u64_add(3, 4, &v), "a result may be one of the operands ...");
	ok(u64_add(v, v, &v) && v == 14, "... as it is written last");
	is_u64(u64_add_saturated(UINT64_MAX - 1, 5), UINT64_MAX,
	       "a saturated sum stops at the top");
	is_u64(u64_add_saturated(2, 5), 7, "and is a sum below it");
}

static void test_limits_size(void)
{
	size_t v = 7;

	ok(size_add(SIZE_MAX, 0, &v) && v == SIZE_MAX, "size_add up to the limit");
	ok(!size_add(SIZE_MAX, 1, &v), "size_add past it");
	ok(!size_sub(0, 1, &v), "size_sub past 0");
	ok(!size_mul(SIZE_MAX / 2 + 1, 2, &v), "size_mul past the limit");
}

/* Values near the limits, where the mistakes are. */
static uint64_t interesting(struct rng *r)
{
	uint64_t edge = UINT64_C(1) << rng_below(r, 64);

	switch (rng_below(r, 4)) {
	case 0:
		return rng_u64(r);
	case 1:
		return edge + rng_below(r, 3) - 1;
	case 2:
		return UINT64_MAX - rng_below(r, 3);
	default:
		return rng_below(r, 5);
	}
}

static void test_against_128_bits(void)
{
	struct rng r;
	unsigned bad = 0;

	rng_init(&r, 11);
	for (int i = 0; i < 200000; i++) {
		uint64_t a = interesting(&r), b = interesting(&r), v = 0;
		u128 sum = (u128)a + b, product = (u128)a * b;

		bad += u64_add(a, b, &v) != (sum <= UINT64_MAX) || (sum <= UINT64_MAX && v != sum);
		v = 0;
		bad += u64_mul(a, b, &v) != (product <= UINT64_MAX) ||
		       (product <= UINT64_MAX && v != product);
		bad += u64_sub(a, b, &v) != (a >= b) || (a >= b && v != a - b);
	}
	is_u64(bad, 0, "agrees with 128 bits on 200000 pairs");
}

static void test_range(void)
{
	struct rng r;
	unsigned bad = 0;

	ok(range_within(0, 10, 10), "the whole");
	ok(range_within(10, 0, 10), "nothing, at the end");
	ok(!range_within(11, 0, 10), "nothing, past the end");
	ok(!range_within(10, 1, 10), "one past the end");
	ok(!range_within(UINT64_MAX, 2, UINT64_MAX), "an end that would wrap");
	ok(!range_within(1, UINT64_MAX, 10), "a length that would wrap");
	rng_init(&r, 12);
	for (int i = 0; i < 200000; i++) {
		uint64_t offset = interesting(&r), n = interesting(&r), limit = interesting(&r);

		bad += range_within(offset, n, limit) != ((u128)offset + n <= limit);
	}
	is_u64(bad, 0, "range_within agrees with 128 bits");
}

int main(void)
{
	test_limits_u32();
	test_limits_u64();
	test_limits_size();
	test_against_128_bits();
	test_range();
	return tap_done();
}
