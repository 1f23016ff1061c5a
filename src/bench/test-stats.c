/* SPDX-License-Identifier: Apache-2.0 */
/* Against published tables, worked examples, and how often an interval holds the truth. */
#include "bench/stats.h"

#include <math.h>

#include "base/rng.h"
#include "base/util.h"
#include "tests/tap.h"

static void is_near(double got, double want, double within, const char *what)
{
	if (!ok(fabs(got - want) <= within, "%s is %g", what, want))
		diag("got %.9g", got);
}

/* Two-sided critical values, NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2. */
static void t_table(void)
{
	is_near(stats_t(0.95, 1), 12.706, 0.0005, "t of 95 % and 1 degree of freedom");
	is_near(stats_t(0.95, 4), 2.776, 0.0005, "of 4");
	is_near(stats_t(0.95, 10), 2.228, 0.0005, "of 10");
	is_near(stats_t(0.99, 5), 4.032, 0.0005, "t of 99 % and 5");
	is_near(stats_t(0.90, 30), 1.697, 0.0005, "t of 90 % and 30");
	is_near(stats_t(0.95, 1e7), 1.95996, 0.0001, "t of very many: the normal distribution's");
	ok(stats_t(0.95, 2.5) < stats_t(0.95, 2) && stats_t(0.95, 2.5) > stats_t(0.95, 3),
	   "degrees need not be whole");
}

static void mean(void)
{
	static const double x[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
	struct stats_interval i = stats_mean(x, ARRAY_SIZE(x), 0.95);
	struct stats s = { .n = 0 };

	for (size_t k = 0; k < ARRAY_SIZE(x); k++)
		stats_add(&s, x[k]);
	is_near(s.mean, 5, 1e-12, "the mean");
	is_near(stats_sd(&s), sqrt(32.0 / 7), 1e-12, "the standard deviation");
	/* 5 -+ 2.364624 * 2.138090 / sqrt(8) */
	is_near(i.low, 3.212512, 1e-5, "the lower end of the mean's interval");
	is_near(i.high, 6.787488, 1e-5, "the upper end");
	i = stats_mean(x, 1, 0.95);
	ok(!i.known && i.value == 2, "of one run there is a value and no interval");
	ok(stats_geometric((const double[]){ 1, 100 }, 2, 0.95, &i) && i.low > 0,
	   "a geometric mean's is never below 0");
	is_near(i.value, 10, 1e-9, "the geometric mean of 1 and 100");
	ok(!stats_geometric((const double[]){ 1, 0 }, 2, 0.95, &i), "nothing has none");
}

/* Worked by hand: variances 2.5 and 10, n = 5 each: se^2 = 2.5, df = 2.5^2 / (0.5^2/4 + 2^2/4) = 5.882. */
static void difference(void)
{
	static const double a[] = { 1, 2, 3, 4, 5 }, b[] = { 10, 12, 14, 16, 18 };
	struct stats_interval i = stats_difference(a, 5, b, 5, 0.95);
	double reach = stats_t(0.95, 5.882352941) * sqrt(2.5);

	ok(i.known, "two sets of runs have an interval");
	is_near(i.value, 11, 1e-12, "the difference");
	is_near(i.low, 11 - reach, 1e-6, "its lower end");
	is_near(i.high, 11 + reach, 1e-6, "its upper end");
	ok(!stats_difference(a, 1, b, 5, 0.95).known && !stats_difference(a, 5, b, 1, 0.95).known,
	   "one run on either side has none");
	i = stats_difference(a, 1, a, 1, 0.95);
	ok(i.value == 0 && !i.known, "one run each: a value, and no more");
}

static void ratio(void)
{
	static const double a[] = { 100, 110, 90, 105, 95 }, same[] = { 7, 7, 7 }, zero[] = { 1, 0 };
	struct stats_interval i, back;
	double twice[5];

	for (int k = 0; k < 5; k++)
		twice[k] = 2 * a[k];
	ok(stats_ratio(a, 5, twice, 5, 0.95, &i) && i.known, "a ratio is found");
	is_near(i.value, 2, 1e-12, "twice as much");
	ok(i.low > 1.7 && i.low < 2 && i.high > 2 && i.high < 2.4, "its interval is around it (%f to %f)", i.low,
	   i.high);
	ok(stats_ratio(twice, 5, a, 5, 0.95, &back) && fabs(back.low * i.high - 1) < 1e-9 &&
		   fabs(back.high * i.low - 1) < 1e-9,
	   "the other way round it is the inverse");
	ok(stats_ratio(same, 3, same, 3, 0.95, &i) && i.low == 1 && i.high == 1,
	   "runs that do not vary leave no doubt");
	ok(!stats_ratio(a, 5, zero, 2, 0.95, &i) && !stats_ratio(zero, 2, a, 5, 0.95, &i), "nothing has no ratio");
}

/* The sum of 12 even numbers is about normal. */
static double normal(struct rng *r)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += rng_unit(r);
	return sum;
}

/* What 95 % means: so often does the interval hold the truth. 4000 trials: 0.95 -+ 0.014 is four sigma. */
static void coverage(void)
{
	struct stats_interval i;
	unsigned int held = 0;
	struct rng r;

	rng_init(&r, 42);
	for (int t = 0; t < 4000; t++) {
		double a[5], b[5];

		for (int k = 0; k < 5; k++) {
			a[k] = 100 * exp(0.03 * normal(&r));
			b[k] = 107 * exp(0.08 * normal(&r));
		}
		if (stats_ratio(a, 5, b, 5, 0.95, &i) && i.low <= 1.07 && i.high >= 1.07)
			held++;
	}
	ok(held > 3740 && held < 3880, "an interval of 95 %% holds the true ratio in %u of 4000 trials", held);
}

int main(void)
{
	t_table();
	mean();
	difference();
	ratio();
	coverage();
	return tap_done();
}
