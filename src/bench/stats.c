/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/stats.h"

#include <math.h>

void stats_add(struct stats *s, double x)
{
	double before = x - s->mean;

	s->n++;
	s->mean += before / (double)s->n;
	s->m2 += before * (x - s->mean);
}

double stats_sd(const struct stats *s)
{
	return s->n < 2 ? 0 : sqrt(s->m2 / (double)(s->n - 1));
}

/* ---- Student's t ----------------------------------------------------------------------------- */

/* A denominator of the fraction below that has become nothing would end it. */
static double apart_from_zero(double x)
{
	return fabs(x) < 1e-300 ? 1e-300 : x;
}

/*
 * The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. It
 * converges fast for x < (a + 1) / (a + b + 2).
 */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / apart_from_zero(1 - (a + b) * x / (a + 1)), f = d;

	for (int m = 1; m < 500; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 / apart_from_zero(1 + even * d);
		c = apart_from_zero(1 + even / c);
		f *= c * d;
		d = 1 / apart_from_zero(1 + odd * d);
		c = apart_from_zero(1 + odd / c);
		step = c * d;
		f *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return f;
}

/* I_x(a, b), DLMF 8.17.2. */
static double beta_regularized(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* P(|T| > t) with @df degrees of freedom. */
static double two_tails(double t, double df)
{
	return beta_regularized(df / 2, 0.5, df / (df + t * t));
}

double stats_t(double confidence, double df)
{
	double low = 0, high = 1e6;

	for (int i = 0; i < 200 && high - low > 1e-10 * high; i++) {
		double mid = (low + high) / 2;

		if (two_tails(mid, df) > 1 - confidence)
			low = mid;
		else
			high = mid;
	}
	return (low + high) / 2;
}

/* ---- intervals ------------------------------------------------------------------------------- */

static struct stats collect(const double *x, size_t n, double (*f)(double))
{
	struct stats s = { .n = 0 };

	for (size_t i = 0; i < n; i++)
		stats_add(&s, f ? f(x[i]) : x[i]);
	return s;
}

/* Of a value whose error's square is the sum of @a and @b, each with its own degrees of freedom. */
static struct stats_interval around(double value, double a, double dfa, double b, double dfb, double confidence)
{
	struct stats_interval r = { .value = value, .known = true, .low = value, .high = value };
	double se = a + b, reach;

	if (se <= 0)
		return r;
	reach = stats_t(confidence, se * se / (a * a / dfa + b * b / dfb)) * sqrt(se);
	r.low = value - reach;
	r.high = value + reach;
	return r;
}

static struct stats_interval welch(const struct stats *a, const struct stats *b, double confidence)
{
	double na = (double)a->n, nb = (double)b->n, value = b->mean - a->mean;

	if (a->n < 2 || b->n < 2)
		return (struct stats_interval){ .value = value, .low = value, .high = value };
	return around(value, a->m2 / (na - 1) / na, na - 1, b->m2 / (nb - 1) / nb, nb - 1, confidence);
}

static struct stats_interval mean_of(const struct stats *s, double confidence)
{
	double n = (double)s->n;

	if (s->n < 2)
		return (struct stats_interval){ .value = s->mean, .low = s->mean, .high = s->mean };
	/* The second part is nothing, whatever its degrees of freedom. */
	return around(s->mean, s->m2 / (n - 1) / n, n - 1, 0, 1, confidence);
}

struct stats_interval stats_mean(const double *x, size_t n, double confidence)
{
	struct stats s = collect(x, n, NULL);

	return mean_of(&s, confidence);
}

struct stats_interval stats_difference(const double *a, size_t na, const double *b, size_t nb, double confidence)
{
	struct stats sa = collect(a, na, NULL), sb = collect(b, nb, NULL);

	return welch(&sa, &sb, confidence);
}

static bool positive(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!(x[i] > 0))
			return false;
	}
	return n > 0;
}

static void from_logarithms(struct stats_interval *i)
{
	i->value = exp(i->value);
	i->low = exp(i->low);
	i->high = exp(i->high);
}

bool stats_geometric(const double *x, size_t n, double confidence, struct stats_interval *ret)
{
	struct stats s;

	if (!positive(x, n))
		return false;
	s = collect(x, n, log);
	*ret = mean_of(&s, confidence);
	from_logarithms(ret);
	return true;
}

bool stats_ratio(const double *a, size_t na, const double *b, size_t nb, double confidence,
		 struct stats_interval *ret)
{
	struct stats sa, sb;

	if (!positive(a, na) || !positive(b, nb))
		return false;
	sa = collect(a, na, log);
	sb = collect(b, nb, log);
	*ret = welch(&sa, &sb, confidence);
	from_logarithms(ret);
	return true;
}
