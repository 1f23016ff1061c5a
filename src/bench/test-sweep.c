/* SPDX-License-Identifier: Apache-2.0 */
/* A store that is made up: so long per I/O, so many at a time. What depth fills it is Little's law. */
#include "bench/sweep.h"

#include <errno.h>

#include "base/util.h"
#include "tests/tap.h"

struct store {
	double latency, most; /* seconds of one I/O; I/Os a second */
	unsigned int calls, stop_at, fail_at;
	unsigned int asked[KNEE_POINTS_MAX];
};

static int measure(unsigned int depth, double *ret_throughput, void *arg, struct err *err)
{
	struct store *s = arg;
	double alone = depth / s->latency;

	if (s->calls == s->stop_at)
		return 1;
	if (s->calls == s->fail_at)
		return err_set(err, EIO, "it broke");
	s->asked[s->calls++] = depth;
	*ret_throughput = MIN(alone, s->most);
	return 0;
}

#define STORE(l, m) { .latency = (l), .most = (m), .stop_at = UINT32_MAX, .fail_at = UINT32_MAX }

static void little(void)
{
	/* 2 ms and 5000 a second: 10 in flight fill it, and 9.5 of them reach 95 %. */
	struct store s = STORE(0.002, 5000);
	struct err err = ERR_NULL;
	struct sweep w;

	is_i64(sweep_run(1, 256, measure, &s, &w, &err), 0, "it runs");
	is_u64(w.points[w.knee].depth, 10, "2 ms and 5000 a second have their knee at 10");
	ok(!w.grows && !w.stopped, "it has stopped to grow");
	ok(w.points[w.best].throughput >= 5000, "the best is what it can do");
	is_u64(w.points[w.n - 1].depth, 64, "two doublings without growth are enough: up to 64");
	for (size_t i = 1; i < w.n; i++)
		ok(w.points[i].depth > w.points[i - 1].depth, "depth %u is in its place", w.points[i].depth);
	ok(w.n == s.calls, "each depth that was measured is there, once: %zu of %u", w.n, s.calls);
	s = (struct store)STORE(1, 1e9);
	is_i64(sweep_run(1, 100, measure, &s, &w, &err), 0, "a store that never fills");
	ok(w.grows && w.points[w.knee].depth > 93, "still grows at the end, and the knee is there: at %u",
	   w.points[w.knee].depth);
	is_u64(w.points[w.n - 1].depth, 100, "the last depth is the one that was allowed, no power of two");
	s = (struct store)STORE(1e-9, 1000);
	is_i64(sweep_run(1, 256, measure, &s, &w, &err), 0, "a store that one I/O fills");
	is_u64(w.points[w.knee].depth, 1, "has its knee at 1");
	is_u64(w.n, 3, "and three depths told so");
	is_i64(sweep_run(8, 8, measure, &s, &w, &err), 0, "one depth alone");
	ok(w.n == 1 && w.knee == 0 && !w.grows, "is the knee of itself");
}

/* Grows to 3 and has less at 4, but more than at 2: what growing finds first is not the end of it. */
static int humped(unsigned int depth, double *ret_throughput, void *arg, struct err *err)
{
	*ret_throughput = depth == 4 ? 2.5 : depth;
	return 0;
}

static void hump(void)
{
	struct err err = ERR_NULL;
	struct sweep w;

	is_i64(sweep_run(1, 4, humped, NULL, &w, &err), 0, "a store that has less at the last depth");
	ok(w.points[w.best].depth == 3 && !w.grows, "does not grow there");
}

static void ends(void)
{
	struct store s = STORE(0.002, 5000);
	struct err err = ERR_NULL;
	struct sweep w;

	s.stop_at = 3;
	is_i64(sweep_run(1, 256, measure, &s, &w, &err), 0, "interrupted");
	ok(w.stopped && w.n == 3 && w.points[w.knee].depth == 4, "what was measured is there");
	s = (struct store)STORE(0.002, 5000);
	s.stop_at = 0;
	is_i64(sweep_run(1, 256, measure, &s, &w, &err), 0, "interrupted at once");
	ok(w.stopped && w.n == 0, "there is nothing");
	s = (struct store)STORE(0.002, 5000);
	s.fail_at = 2;
	is_i64(sweep_run(1, 256, measure, &s, &w, &err), -EIO, "an error ends it");
	is_str(err_text(&err), "it broke", "and is told");
}

int main(void)
{
	little();
	hump();
	ends();
	return tap_done();
}
