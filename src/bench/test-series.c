/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/series.h"

#include <math.h>

#include "base/alloc.h"
#include "base/util.h"
#include "tests/tap.h"

#define MS UINT64_C(1000000)
#define BEGIN (1000 * MS)

static struct series s;
static struct series_point points[SERIES_SLICES];

static void in_slices(void)
{
	size_t n;

	series_begin(&s, BEGIN);
	series_add(&s, BEGIN - 1, 5 * MS, 100);
	series_add(&s, BEGIN, 1 * MS, 10);
	series_add(&s, BEGIN + 100 * MS - 1, 3 * MS, 20);
	series_add(&s, BEGIN + 100 * MS, 7 * MS, 40);
	series_add(&s, BEGIN + 349 * MS, 2 * MS, 80);
	n = series_points(&s, BEGIN + 350 * MS, points);
	is_u64(n, 4, "350 ms are four slices");
	is_u64(points[0].ops, 2, "what was before the beginning is left out");
	is_u64(points[0].bytes, 30, "bytes are counted where they came");
	is_u64(points[1].ops, 1, "a slice begins where the one before ends");
	is_u64(points[1].p99_ns / 100000, 70, "with its latency");
	ok(points[2].ops == 0 && points[2].p50_ns == 0, "in which nothing came is there and empty");
	ok(fabs(points[3].length_seconds - 0.05) < 1e-9 && fabs(points[3].seconds - 0.35) < 1e-9,
	   "the last one is as long as it was");
	is_u64(points[3].bytes, 80, "and has what came in it");
	n = series_points(&s, BEGIN + 1000 * MS, points);
	ok(n == 10 && points[9].ops == 0, "a run that ended in silence shows it");
}

/* One op every 10 ms for 100 s: 1000 slices of 100 ms are too many; 800 ms make 125. */
static void grows(void)
{
	uint64_t ops = 0, bytes = 0;
	bool even = true;
	size_t n;

	series_begin(&s, BEGIN);
	for (uint64_t i = 0; i < 10000; i++)
		series_add(&s, BEGIN + i * 10 * MS, 1000 + i, 3);
	n = series_points(&s, BEGIN + 100000 * MS, points);
	is_u64(n, 125, "a long run has longer slices");
	for (size_t i = 0; i < n; i++) {
		ops += points[i].ops;
		bytes += points[i].bytes;
		even = even && points[i].ops == 80 && fabs(points[i].length_seconds - 0.8) < 1e-9;
	}
	ok(even, "all of one length");
	is_u64(ops, 10000, "nothing is lost");
	is_u64(bytes, 30000, "no byte either");
	ok(points[0].p50_ns >= 1035 && points[0].p50_ns <= 1045, "their percentiles are exact (%llu)",
	   (unsigned long long)points[0].p50_ns);
	series_add(&s, BEGIN + 40 * 3600 * 1000 * MS, 1, 1);
	n = series_points(&s, BEGIN + 40 * 3600 * 1000 * MS, points);
	ok(n <= SERIES_SLICES && points[0].ops > 9000, "forty hours of silence too (%zu slices)", n);
}

/* The same through parts of two threads as straight. */
static void parts(void)
{
	static struct series_part a, b, none;
	static struct series_point straight[SERIES_SLICES];
	size_t n, m;
	bool same;

	series_begin(&s, BEGIN);
	for (uint64_t i = 0; i < 5000; i++)
		series_add(&s, BEGIN + i * 7 * MS, i, i % 10);
	n = series_points(&s, BEGIN + 35000 * MS, straight);
	series_begin(&s, BEGIN);
	series_part_init(&a, &s);
	series_part_init(&b, &s);
	series_part_init(&none, NULL);
	series_part_add(&none, 1, 1, 1);
	series_part_end(&none);
	series_part_add(&a, BEGIN - 5, 77, 1000);
	for (uint64_t i = 0; i < 5000; i++)
		series_part_add(i % 2 ? &a : &b, BEGIN + i * 7 * MS, i, i % 10);
	series_part_end(&a);
	series_part_end(&b);
	m = series_points(&s, BEGIN + 35000 * MS, points);
	same = n == m;
	for (size_t i = 0; same && i < n; i++)
		same = points[i].ops == straight[i].ops && points[i].bytes == straight[i].bytes &&
		       points[i].p99_ns == straight[i].p99_ns && points[i].sum_ns == straight[i].sum_ns;
	ok(same, "threads with parts of their own give the same as one");
}

int main(void)
{
	mem_fail_after(1);
	ok(series_init(&s) < 0, "no memory is said");
	series_deinit(&s);
	mem_fail_after(0);
	ok(series_init(&s) == 0, "there is some");
	in_slices();
	grows();
	parts();
	series_deinit(&s);
	return tap_done();
}
