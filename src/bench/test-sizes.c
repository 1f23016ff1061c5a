/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sizes.h"

#include <math.h>

#include "base/util.h"
#include "tests/tap.h"

enum { N = 20000 };

struct moments {
	double mean;
	double stddev;
	uint64_t least;
	uint64_t most;
};

static struct moments measure(const struct sizes *s)
{
	struct moments m = { .least = UINT64_MAX };
	double sum = 0, squares = 0;

	for (uint64_t i = 0; i < N; i++) {
		uint64_t v = sizes_at(s, i);
		double off = (double)v - (double)s->mean;

		sum += off;
		squares += off * off;
		m.least = MIN(m.least, v);
		m.most = MAX(m.most, v);
	}
	m.mean = (double)s->mean + sum / N;
	m.stddev = sqrt(squares / N - (sum / N) * (sum / N));
	return m;
}

static void unet3d(void)
{
	struct sizes s = { .seed = 7, .mean = 146600628, .stddev = 68341808 };
	struct moments m = measure(&s);

	/* The standard error of the mean of 20000 draws is 0.33 % of it. */
	ok(fabs(m.mean / 146600628 - 1) < 0.012, "the mean is the one asked for (%.0f)", m.mean);
	ok(m.stddev / 68341808 > 0.94 && m.stddev / 68341808 < 0.98,
	   "the standard deviation is 4 %% smaller (%.0f)", m.stddev);
	ok(m.least >= 146600628 / 16 && m.most <= 2 * 146600628u, "no sample is further off than the rule says");
	ok(m.least == sizes_least(&s) && m.most == sizes_most(&s), "both borders are reached");
}

static void cosmoflow(void)
{
	struct sizes s = { .seed = 7, .mean = 2828486, .stddev = 71311 };
	struct moments m = measure(&s);

	ok(fabs(m.mean / 2828486 - 1) < 0.001, "cosmoflow's mean (%.0f)", m.mean);
	ok(fabs(m.stddev / 71311 - 1) < 0.03, "cosmoflow's standard deviation (%.0f)", m.stddev);
	ok(m.least >= 2828486 - 3 * 71311 && m.most <= 2828486 + 3 * 71311, "within three of them");
}

static void edges(void)
{
	struct sizes s = { .seed = 1, .mean = 114660 };
	struct sizes tiny = { .seed = 1, .mean = 1, .stddev = 1 };
	struct sizes huge = { .seed = 3, .mean = SIZES_MAX, .stddev = SIZES_MAX };
	struct moments m = measure(&tiny);

	is_u64(sizes_at(&s, 0), 114660, "without a deviation every sample has the mean");
	is_u64(sizes_at(&s, UINT64_MAX), 114660, "the last one too");
	ok(m.least >= 1 && m.most <= 2, "no sample is empty");
	m = measure(&huge);
	ok(m.least == sizes_least(&huge) && m.most == sizes_most(&huge), "the largest rule does not overflow");
}

/* Datasets that exist were made with these; a change of the rule needs a new name. */
static void golden(void)
{
	static const uint64_t want[] = { 186424035, 209287325, 191176657, 191559043, 181451967, 111004264 };
	struct sizes s = { .seed = 42, .mean = 146600628, .stddev = 68341808 }, other = s;
	uint64_t same = 0;

	for (uint64_t i = 0; i < ARRAY_SIZE(want); i++)
		is_u64(sizes_at(&s, i), want[i], "sample %llu of seed 42 is what it always was",
		       (unsigned long long)i);
	other.seed = 43;
	for (uint64_t i = 0; i < 1000; i++)
		same += sizes_at(&s, i) == sizes_at(&other, i);
	/* About one in twenty lies at either border, so a few agree. */
	ok(same < 20, "another seed gives other sizes");
}

int main(void)
{
	unet3d();
	cosmoflow();
	edges();
	golden();
	return tap_done();
}
