/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generator gives its published sequence, which data sets and recorded seeds depend on, and
 * what is drawn from it is fair. The fairness bounds are five standard deviations: with fixed
 * seeds they hold always or never.
 */
#include "base/rng.h"

#include <math.h>

#include "tests/tap.h"

static void test_published(void)
{
	static const uint64_t want[] = {
		UINT64_C(11520), UINT64_C(0), UINT64_C(1509978240), UINT64_C(1215971899390074240),
		UINT64_C(1216172134540287360), UINT64_C(607988272756665600),
		UINT64_C(16172922978634559625), UINT64_C(8476171486693032832),
	};
	struct rng r = { { 1, 2, 3, 4 } };
	uint64_t got[8];

	for (int i = 0; i < 8; i++)
		got[i] = rng_u64(&r);
	is_mem(got, want, sizeof(want), "xoshiro256** from state 1 2 3 4");
	rng_init(&r, 1234567);
	is_u64(r.s[0], UINT64_C(6457827717110365317), "SplitMix64, first of seed 1234567");
	is_u64(r.s[3], UINT64_C(4593380528125082431), "SplitMix64, fourth of seed 1234567");
}

static void test_below(struct rng *r)
{
	enum { SIDES = 10, THROWS = 1000000 };
	unsigned seen[SIDES] = { 0 };
	unsigned high = 0;
	double worst = 0;

	for (int i = 0; i < THROWS; i++)
		seen[rng_below(r, SIDES)]++;
	for (int i = 0; i < SIDES; i++)
		worst = fmax(worst, fabs(seen[i] - (double)THROWS / SIDES));
	ok(worst < 5 * sqrt(THROWS * 0.1 * 0.9), "ten sides come up equally (worst off by %.0f)",
	   worst);
	/* A plain remainder would give the lower half of this range two thirds of the draws. */
	for (int i = 0; i < THROWS; i++)
		high += rng_below(r, UINT64_C(3) << 62) >= UINT64_C(3) << 61;
	ok(fabs(high - THROWS / 2.0) < 5 * sqrt(THROWS * 0.25), "fair where 2^64 is no multiple");
	is_u64(rng_below(r, 1), 0, "below 1 there is only 0");
}

static void test_between(struct rng *r)
{
	bool low = false, high = false, outside = false;

	for (int i = 0; i < 1000; i++) {
		uint64_t v = rng_between(r, 5, 8);

		low |= v == 5;
		high |= v == 8;
		outside |= v < 5 || v > 8;
	}
	ok(low && high && !outside, "both ends are included, and no more");
	is_u64(rng_between(r, UINT64_MAX, UINT64_MAX), UINT64_MAX, "a range of one");
	(void)rng_between(r, 0, UINT64_MAX);
	ok(true, "a range of everything");
}

static void test_chance(struct rng *r)
{
	enum { THROWS = 1000000 };
	struct rng twin = *r;
	unsigned never = 0, always = 0, third = 0;

	for (int i = 0; i < THROWS; i++) {
		never += rng_chance_ppm(r, 0);
		always += rng_chance_ppm(r, 1000000);
		third += rng_chance_ppm(r, 333333);
	}
	is_u64(never, 0, "0 ppm is never");
	/* The second draw from this state is 0, see above. */
	struct rng low = { { 1, 2, 3, 4 } };

	(void)rng_u64(&low);
	ok(!rng_chance_ppm(&low, 0), "not even when the lowest number is drawn");
	is_u64(always, THROWS, "1000000 ppm is always");
	ok(fabs(third - THROWS / 3.0) < 5 * sqrt(THROWS * 2.0 / 9), "333333 ppm is a third");
	for (int i = 0; i < 3 * THROWS; i++)
		(void)rng_u64(&twin);
	is_u64(rng_u64(r), rng_u64(&twin), "one draw each, whatever the chance");
}

static void test_unit(struct rng *r)
{
	double sum = 0, least = 1, most = 0;

	for (int i = 0; i < 100000; i++) {
		double v = rng_unit(r);

		sum += v;
		least = fmin(least, v);
		most = fmax(most, v);
	}
	ok(least >= 0 && most < 1, "from 0 to below 1");
	ok(fabs(sum / 100000 - 0.5) < 0.005, "half on average");
}

static void test_fill(void)
{
	struct rng a, b;
	uint8_t whole[64], part[64] = { 0 };

	rng_init(&a, 5);
	rng_init(&b, 5);
	rng_fill(&a, whole, sizeof(whole));
	rng_fill(&b, part, 13);
	is_mem(part, whole, 13, "a shorter fill is the start of a longer one");
	ok(part[13] == 0 && part[14] == 0, "and writes no further");
	rng_init(&a, 5);
	is_u64(whole[0], rng_u64(&a) & 0xff, "lowest byte first");
}

static void test_fork(void)
{
	struct rng a, b, child_a, child_b;

	rng_init(&a, 9);
	rng_init(&b, 9);
	rng_fork(&a, &child_a);
	rng_fork(&b, &child_b);
	for (int i = 0; i < 100; i++)
		(void)rng_u64(&child_a);
	is_u64(rng_u64(&a), rng_u64(&b), "what a child draws does not move its parent");
	rng_init(&a, 9);
	rng_fork(&a, &child_a);
	is_u64(rng_u64(&child_a), rng_u64(&child_b), "the same seed has the same children");
	ok(rng_u64(&child_a) != rng_u64(&a), "a child is not its parent");
}

static void draw_below_zero(void *arg)
{
	(void)rng_below(arg, 0);
}

int main(void)
{
	struct rng r;

	test_published();
	rng_init(&r, 0);
	ok(r.s[0] | r.s[1] | r.s[2] | r.s[3], "seed 0 is a seed like any other");
	test_below(&r);
	test_between(&r);
	test_chance(&r);
	test_unit(&r);
	test_fill();
	test_fork();
	is_abort(draw_below_zero, &r, "nothing lies below 0");
	return tap_done();
}
