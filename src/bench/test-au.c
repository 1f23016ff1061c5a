/* SPDX-License-Identifier: Apache-2.0 */
/* Worked examples: each is computed by hand in its comment. */
#include "bench/au.h"

#include <math.h>

#include "base/util.h"
#include "tests/tap.h"

#define MS UINT64_C(1000000)

static void is_figure(bool have, double got, double want, const char *what)
{
	if (!ok(have && fabs(got - want) < 1e-9, "%s is %.6f", what, want))
		diag("got %.9f", got);
}

static void is_mlperf(const struct au *a, double want, const char *what)
{
	double got = -1;
	bool have = au_mlperf(a, &got);

	is_figure(have, got, want, what);
}

static void is_storage(const struct au *a, double want, const char *what)
{
	double got = -1;
	bool have = au_storage(a, &got);

	is_figure(have, got, want, what);
}

/*
 * Four steps of 100 ms compute. Waits: 500 (the first), 20, 0, 30. Between steps 5 ms of loop and
 * barrier, four times. t_end - t_start = 500 + 20 + 0 + 30 + 4 * 100 + 4 * 5 = 970.
 * AU = 300 / (970 - (500 + 100)) = 300 / 370. Storage: 300 / (300 + 50) = 300 / 350.
 */
static void one_epoch(void)
{
	static const uint64_t wait[] = { 500, 20, 0, 30 };
	struct au a = { .begun_ns = 0 };

	au_begin(&a, 1000 * MS);
	for (size_t i = 0; i < ARRAY_SIZE(wait); i++)
		au_step(&a, wait[i] * MS, wait[i] * MS, 100 * MS);
	au_end(&a, 1970 * MS);
	is_mlperf(&a, 300.0 / 370, "AU with a slow first step, waits and a loop");
	is_storage(&a, 300.0 / 350, "AU charged to storage");
	is_u64(a.steps, 4, "all steps count as done");
	is_u64(a.stall_ns, 50 * MS, "the stall is that of the later steps");
	is_u64(a.first_wait_ns, 500 * MS, "the first wait is apart");
	is_u64(a.elapsed_ns, 970 * MS, "the time is all of it");
	ok(a.judged_steps == 3 && a.judged_ns == 370 * MS, "three steps took 370 ms");
}

/* No waits, no loop: 3 steps of 100. AU = 200 / (300 - 100) = 1. */
static void perfect(void)
{
	struct au a = { .begun_ns = 0 };

	au_begin(&a, 0);
	for (int i = 0; i < 3; i++)
		au_step(&a, 0, 0, 100 * MS);
	au_end(&a, 300 * MS);
	is_mlperf(&a, 1, "AU of a store that is infinitely fast");
	is_storage(&a, 1, "and of storage");
}

/*
 * A loop as expensive as the step, a store that never makes it wait: 3 steps of 1 ms, 1 ms of loop
 * behind each. AU = 2 / (6 - 1) = 0.4, though storage is not to blame: 2 / 2 = 1.
 */
static void loop_bound(void)
{
	struct au a = { .begun_ns = 0 };

	au_begin(&a, 0);
	for (int i = 0; i < 3; i++)
		au_step(&a, 0, 0, MS);
	au_end(&a, 6 * MS);
	is_mlperf(&a, 0.4, "AU of a loop that is slow");
	is_storage(&a, 1, "is not charged to storage");
}

/*
 * Two epochs of two steps of 100. First: waits 50, 100; block 100 + 50 + 100 + 100 = 350;
 * AU = 100 / (350 - 150) = 1/2. Second: waits 10, 0; block 210; AU = 100 / (210 - 110) = 1.
 * Mean 3/4. Storage: 200 / (200 + 100) = 2/3.
 */
static void two_epochs(void)
{
	struct au a = { .begun_ns = 0 };

	au_begin(&a, 0);
	au_step(&a, 50 * MS, 50 * MS, 100 * MS);
	au_step(&a, 100 * MS, 100 * MS, 100 * MS);
	au_end(&a, 350 * MS);
	au_begin(&a, 1000 * MS);
	au_step(&a, 10 * MS, 10 * MS, 100 * MS);
	au_step(&a, 0, 0, 100 * MS);
	au_end(&a, 1210 * MS);
	is_mlperf(&a, 0.75, "the mean of two epochs");
	is_storage(&a, 2.0 / 3, "storage over both");
	is_u64(a.elapsed_ns, 560 * MS, "time between epochs is no epoch's");
	is_u64(a.first_wait_ns, 60 * MS, "first waits add up");
}

/* As perfect(), with 40 ms of checking in the middle that counts for nothing. */
static void pauses(void)
{
	struct au a = { .begun_ns = 0 };

	au_begin(&a, 0);
	au_step(&a, 0, 0, 100 * MS);
	au_pause(&a, 30 * MS);
	au_step(&a, 0, 0, 100 * MS);
	au_pause(&a, 10 * MS);
	au_end(&a, 240 * MS);
	is_mlperf(&a, 1, "AU with pauses");
	is_u64(a.elapsed_ns, 200 * MS, "which are not in the time");
	au_begin(&a, 1000 * MS);
	au_step(&a, 0, 0, 100 * MS);
	au_step(&a, 100 * MS, 100 * MS, 100 * MS);
	au_end(&a, 1300 * MS);
	/* 1 and 100 / 200. */
	is_mlperf(&a, 0.75, "a pause is not carried into the next epoch");
}

static void too_little(void)
{
	struct au a = { .begun_ns = 0 };
	double v = 7;

	ok(!au_mlperf(&a, &v) && !au_storage(&a, &v), "no step, no AU");
	au_begin(&a, 0);
	au_step(&a, MS, MS, MS);
	au_end(&a, 2 * MS);
	ok(!au_mlperf(&a, &v) && !au_storage(&a, &v) && v == 7, "one step, no AU");
	is_u64(a.steps, 1, "but a step");
	au_begin(&a, 0);
	au_end(&a, MS);
	is_u64(a.blocks, 1, "an epoch without a step is none");
}

/* Ranks with 1/2 and 1: the mean is 3/4; one without a figure does not count. */
static void ranks(void)
{
	struct au a[3] = { { .begun_ns = 0 } };
	double v = 0;
	bool have;

	for (unsigned int i = 0; i < 2; i++) {
		au_begin(&a[i], 0);
		au_step(&a[i], 0, 0, 100 * MS);
		au_step(&a[i], (100 - 100 * i) * MS, (100 - 100 * i) * MS, 100 * MS);
		au_end(&a[i], (300 - 100 * i) * MS);
	}
	have = au_mean(a, 3, au_mlperf, &v);
	is_figure(have, v, 0.75, "the mean over ranks");
	have = au_mean(a, 3, au_storage, &v);
	is_figure(have, v, 0.75, "the mean over ranks, of storage");
	ok(!au_mean(a + 2, 1, au_mlperf, &v), "no rank has one: there is none");
}

int main(void)
{
	one_epoch();
	perfect();
	loop_bound();
	two_epochs();
	pauses();
	too_little();
	ranks();
	return tap_done();
}
