/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The histogram against the sorted samples themselves, for shapes of latency that occur: even, with
 * a long tail, in two groups, all the same.
 */
#include "base/hist.h"

#include <math.h>

#include "base/rng.h"
#include "base/util.h"
#include "tests/tap.h"

enum { SAMPLES = 20000 };

/* The middle of a bucket is within half a bucket of any of its values. */
#define BOUND (1.0 / 256)

static const double percents[] = { 0,  0.01, 1,	 5,    10,   25,    50,	   75,
				   90, 95,   99, 99.9, 99.99, 99.999, 100 };

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t draw_small(struct rng *r)
{
	return rng_below(r, 300);
}

static uint64_t draw_even(struct rng *r)
{
	return rng_below(r, 1000000000);
}

static uint64_t draw_tail(struct rng *r)
{
	return (uint64_t)(20000 / pow(1 - rng_unit(r), 1.5));
}

static uint64_t draw_two_groups(struct rng *r)
{
	return rng_chance_ppm(r, 990000) ? 80000 + rng_below(r, 3000)
					 : 9000000 + rng_below(r, 90000);
}

static uint64_t draw_same(struct rng *r)
{
	return 123456789;
}

static uint64_t draw_any_magnitude(struct rng *r)
{
	return rng_u64(r) >> (64 - HIST_MAX_BITS + rng_below(r, HIST_MAX_BITS));
}

/* Nearest rank: the smallest sample that at least `percent` of them do not exceed. */
static uint64_t exact_percentile(const uint64_t *sorted, size_t count, double percent)
{
	/* In whole hundred-thousandths of a percent, where nothing is rounded. */
	uint64_t parts = (uint64_t)llround(percent * 1000) * count;
	uint64_t rank = DIV_ROUND_UP(parts, UINT64_C(100000));

	return sorted[rank ? rank - 1 : 0];
}

static void test_shape(const char *name, uint64_t (*draw)(struct rng *r), size_t count)
{
	static uint64_t samples[SAMPLES];
	static struct hist h;
	struct rng r;
	double worst = 0, sum = 0;

	rng_init(&r, 42);
	hist_init(&h);
	for (size_t i = 0; i < count; i++) {
		samples[i] = draw(&r);
		sum += (double)samples[i];
		hist_add(&h, samples[i]);
	}
	qsort(samples, count, sizeof(samples[0]), compare_u64);
	for (size_t i = 0; i < ARRAY_SIZE(percents); i++) {
		double want = (double)exact_percentile(samples, count, percents[i]);
		double got = (double)hist_percentile(&h, percents[i]);

		worst = fmax(worst, fabs(got - want) / fmax(want, 1));
	}
	ok(worst <= BOUND, "%s, %zu samples: percentiles within %.2f %% (%.3f %%)", name, count,
	   BOUND * 100, worst * 100);
	ok(h.min == samples[0] && h.max == samples[count - 1] && h.count == count,
	   "%s, %zu samples: minimum, maximum and count are exact", name, count);
	ok(fabs(hist_mean(&h) - sum / (double)count) <= sum * 1e-9, "%s, %zu samples: mean", name,
	   count);
	is_u64(hist_percentile(&h, 0), samples[0], "%s, %zu samples: 0 %% is the minimum", name,
	       count);
	is_u64(hist_percentile(&h, 100), samples[count - 1],
	       "%s, %zu samples: 100 %% is the maximum", name, count);
}

static void test_shapes(void)
{
	static const struct {
		const char *name;
		uint64_t (*draw)(struct rng *r);
	} shapes[] = {
		{ "small", draw_small },    { "even", draw_even },
		{ "long tail", draw_tail }, { "two groups", draw_two_groups },
		{ "same", draw_same },      { "any magnitude", draw_any_magnitude },
	};

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		test_shape(shapes[i].name, shapes[i].draw, 1);
		test_shape(shapes[i].name, shapes[i].draw, 3);
		test_shape(shapes[i].name, shapes[i].draw, 1000);
		test_shape(shapes[i].name, shapes[i].draw, SAMPLES);
	}
}

static void test_every_bucket(void)
{
	static struct hist h;
	unsigned bad = 0;

	/* Both edges of the range of each power of two, and one either side. */
	for (unsigned bits = 0; bits < HIST_MAX_BITS; bits++) {
		for (int delta = -1; delta <= 1; delta++) {
			uint64_t v = (UINT64_C(1) << bits) + (uint64_t)delta;

			hist_init(&h);
			/* Larger and smaller ones, lest minimum and maximum correct the answer. */
			hist_add(&h, 0);
			hist_add(&h, v);
			hist_add(&h, UINT64_C(1) << (HIST_MAX_BITS - 1));
			double error = fabs((double)hist_percentile(&h, 50) - (double)v);

			bad += error > (double)v * BOUND;
		}
	}
	is_u64(bad, 0, "edges of every power of two fall into the right bucket");
}

static void test_merge(void)
{
	static struct hist all, part[3], empty;
	struct rng r;

	rng_init(&r, 43);
	hist_init(&all);
	hist_init(&empty);
	for (int i = 0; i < 3; i++)
		hist_init(&part[i]);
	for (int i = 0; i < SAMPLES; i++) {
		uint64_t v = draw_any_magnitude(&r);

		hist_add(&all, v);
		hist_add(&part[rng_below(&r, 3)], v);
	}
	hist_merge(&part[1], &part[2]);
	hist_merge(&part[0], &part[1]);
	is_mem(&part[0], &all, sizeof(all), "merged parts are the whole, in every bucket");
	hist_merge(&part[0], &empty);
	is_mem(&part[0], &all, sizeof(all), "merging nothing changes nothing");
	hist_merge(&empty, &all);
	is_mem(&empty, &all, sizeof(all), "merging into nothing copies");
}

static void test_limits(void)
{
	static struct hist h;

	hist_init(&h);
	is_u64(hist_percentile(&h, 50), 0, "an empty one has percentile 0");
	ok(hist_mean(&h) == 0, "and mean 0");
	hist_add(&h, 5);
	hist_add(&h, UINT64_MAX);
	hist_add(&h, UINT64_MAX);
	is_u64(h.max, UINT64_MAX, "the maximum is exact, however long");
	is_u64(h.sum, UINT64_MAX, "the sum stops at the top");
	is_u64(hist_percentile(&h, 100), UINT64_MAX, "so is 100 %%");
	is_u64(hist_percentile(&h, 1), 5, "a long one does not disturb the rest");
	ok(hist_percentile(&h, 50) >= UINT64_C(1) << (HIST_MAX_BITS - 1), "it counts as very long");
	is_u64(hist_percentile(&h, -1), 5, "below 0 is the minimum");
	is_u64(hist_percentile(&h, 101), UINT64_MAX, "above 100 is the maximum");
	is_u64(hist_percentile(&h, NAN), 5, "what is no number has an answer too");
}

static void test_count_to(void)
{
	static struct hist h;

	hist_init(&h);
	for (uint64_t v = 1; v <= 1000; v++)
		hist_add(&h, v * 1000);
	is_u64(hist_count_to(&h, 0), 0, "none to 0");
	is_u64(hist_count_to(&h, UINT64_MAX), 1000, "all to the end");
	ok(fabs((double)hist_count_to(&h, 500000) - 500) <= 500 * 2 * BOUND, "half to the middle");
}

int main(void)
{
	test_limits();
	test_every_bucket();
	test_shapes();
	test_merge();
	test_count_to();
	return tap_done();
}
