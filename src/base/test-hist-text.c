/* SPDX-License-Identifier: Apache-2.0 */
/* There and back bit for bit; pooled percentiles; every kind of damage refused. */
#include "base/hist-text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/util.h"
#include "tests/tap.h"

static char text[HIST_TEXT_MAX];
static struct hist a, b, all, back;

static bool same(const struct hist *x, const struct hist *y)
{
	return memcmp(x, y, sizeof(*x)) == 0;
}

static void round_trip(const struct hist *h, const char *what)
{
	struct err err = ERR_NULL;
	size_t n = hist_format(h, text, sizeof(text));

	ok(n < sizeof(text) && strlen(text) == n, "%s: %zu bytes of text", what, n);
	ok(hist_parse(text, &back, &err) == 0 && same(h, &back), "%s: comes back the same %s", what, err.text);
}

static void there_and_back(void)
{
	struct rng r;

	hist_init(&a);
	round_trip(&a, "empty");
	is_str(text, "hist/1 7 41 0 0 0 0", "as documented");
	hist_add(&a, 0);
	hist_add(&a, 5);
	hist_add(&a, 5);
	round_trip(&a, "three samples");
	is_str(text, "hist/1 7 41 3 10 0 5 0:1 5:2", "as documented");
	rng_init(&r, 1);
	for (int i = 0; i < 100000; i++)
		hist_add(&a, rng_u64(&r) >> rng_below(&r, 64));
	round_trip(&a, "samples of every size");
	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		a.bucket[i] = UINT64_MAX / HIST_BUCKETS;
	a.count = a.bucket[0] * HIST_BUCKETS;
	round_trip(&a, "full");
	is_u64(hist_format(&a, text, 10), strlen("hist/1 7 4") + hist_format(&a, text, 10) - 10, "too little room");
	is_str(text, "hist/1 7 ", "is cut");
}

/* Percentiles of two halves, through text, are those of the whole. */
static void pooled(void)
{
	struct err err = ERR_NULL;
	struct rng r;

	hist_init(&a);
	hist_init(&b);
	hist_init(&all);
	rng_init(&r, 7);
	for (int i = 0; i < 10000; i++) {
		uint64_t fast = rng_between(&r, 1000, 2000), slow = rng_between(&r, 50000, 900000);

		hist_add(&a, fast);
		hist_add(&b, slow);
		hist_add(&all, fast);
		hist_add(&all, slow);
	}
	hist_format(&b, text, sizeof(text));
	ok(hist_parse(text, &back, &err) == 0, "parsed");
	hist_merge(&back, &a);
	ok(same(&all, &back), "merged, it is the histogram of all samples");
	is_u64(hist_percentile(&back, 99), hist_percentile(&all, 99), "so is its p99");
}

static void damaged(void)
{
	static const struct {
		const char *text;
		int rc;
	} bad[] = {
		{ "", -EBADMSG },
		{ "hist/2 7 41 0 0 0 0", -EBADMSG },
		{ "hist/1 ", -EBADMSG },
		{ "hist/1 8 41 0 0 0 0", -EOPNOTSUPP },
		{ "hist/1 7 41 1 5 5 5", -EBADMSG },	     /* a sample that is in no bucket */
		{ "hist/1 7 41 1 5 5 5 5:2", -EBADMSG },     /* more than counted */
		{ "hist/1 7 41 2 5 5 5 5:1 5:1", -EBADMSG }, /* a bucket twice */
		{ "hist/1 7 41 2 5 5 5 6:1 5:1", -EBADMSG }, /* out of order */
		{ "hist/1 7 41 1 5 5 5 5:1 6:0", -EBADMSG }, /* an empty one */
		{ "hist/1 7 41 1 5 5 5 4480:1", -EBADMSG },  /* none of ours */
		{ "hist/1 7 41 1 5 6 5 5:1", -EBADMSG },     /* min above max */
		{ "hist/1 7 41 1 5 5 5 5:1 ", -EBADMSG },
		{ "hist/1 7 41 1 5 5 5 5:1x", -EBADMSG },
		{ "hist/1 7 41 1  5 5 5 5:1", -EBADMSG },
		{ "hist/1 7 41 -1 5 5 5 5:1", -EBADMSG },
		{ "hist/1 7 41 99999999999999999999 5 5 5 5:1", -EBADMSG },
		{ "hist/1 7 41 1 5 5 5 5:18446744073709551615 6:2", -EBADMSG },
	};

	is_u64(HIST_BUCKETS, 4480, "as many buckets as the cases below think");
	hist_init(&back);
	hist_add(&back, 77);
	a = back;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = ERR_NULL;

		ok(hist_parse(bad[i].text, &back, &err) == bad[i].rc && err.text[0] && same(&a, &back), "'%s': %s",
		   bad[i].text, err.text);
	}
}

int main(void)
{
	there_and_back();
	pooled();
	damaged();
	return tap_done();
}
