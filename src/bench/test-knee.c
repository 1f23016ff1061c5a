/* SPDX-License-Identifier: Apache-2.0 */
/* Curves whose knee is known, exact and with noise. */
#include "bench/knee.h"

#include <string.h>

#include "base/rng.h"
#include "base/util.h"
#include "tests/tap.h"

/* A pipe that holds @n of I/O: throughput grows with depth until it is full, by Little's law. */
static double pipe_of(unsigned int depth, double n)
{
	return depth < n ? 1000.0 * depth : 1000.0 * n;
}

static size_t sweep(struct knee_point *p, double n, struct rng *noise, double percent)
{
	size_t count = 0;

	for (unsigned int d = 1; d <= 256; d *= 2) {
		double factor = noise ? 1 + percent / 100 * (2 * rng_unit(noise) - 1) : 1;

		p[count++] = (struct knee_point){ d, factor * pipe_of(d, n) };
	}
	return count;
}

/* Measures where it is told to, as a sweep does. */
static size_t refine(struct knee_point *p, size_t n, double pipe, struct rng *noise, double percent)
{
	unsigned int d;

	while ((d = knee_refine(p, n)) != 0) {
		size_t at = knee_find(p, n);
		double factor = noise ? 1 + percent / 100 * (2 * rng_unit(noise) - 1) : 1;

		memmove(&p[at + 1], &p[at], (n - at) * sizeof(*p));
		p[at] = (struct knee_point){ d, factor * pipe_of(d, pipe) };
		n++;
	}
	return n;
}

static void exact(void)
{
	struct knee_point p[KNEE_POINTS_MAX];
	size_t n = sweep(p, 16, NULL, 0);

	is_u64(p[knee_find(p, n)].depth, 16, "a pipe of 16 is full at 16");
	n = sweep(p, 24, NULL, 0);
	is_u64(p[knee_find(p, n)].depth, 32, "a pipe of 24 at the next depth that was tried");
	n = refine(p, n, 24, NULL, 0);
	is_u64(p[knee_find(p, n)].depth, 24, "and at 24 when looked at closely");
	n = sweep(p, 100000, NULL, 0);
	is_u64(p[knee_find(p, n)].depth, 256, "a curve that only grows has its knee at its end");
	n = sweep(p, 0.5, NULL, 0);
	is_u64(p[knee_find(p, n)].depth, 1, "one that never grows at its beginning");
	is_u64(knee_refine(p, n), 0, "where there is nothing to look at more closely");
	n = 1;
	ok(knee_find(p, n) == 0 && knee_best(p, n) == 0, "of one point it is that");
}

static void shapes(void)
{
	static const struct knee_point peak[] = { { 1, 10 }, { 2, 20 }, { 4, 100 }, { 8, 80 }, { 16, 70 } };
	static const struct knee_point edge[] = { { 1, 94.9 }, { 2, 95 }, { 4, 100 } };

	is_u64(knee_find(peak, ARRAY_SIZE(peak)), 2, "a curve that falls again has its knee at the peak");
	is_u64(knee_find(edge, ARRAY_SIZE(edge)), 1, "within 5 %% is 95 %% and no less");
	is_u64(knee_best(edge, ARRAY_SIZE(edge)), 2, "the best is another point");
}

/*
 * 2 % either way: the highest of a noisy plateau may be 2 % above it, so a point of it within noise
 * is taken for lower with no more than 4 %, less than the 5 that count; but a depth that reaches
 * 0.95 * 0.98 / 1.02 of it may be taken.
 */
static void noisy(void)
{
	struct knee_point p[KNEE_POINTS_MAX];
	unsigned int off = 0;
	struct rng r;

	rng_init(&r, 7);
	for (int i = 0; i < 500; i++) {
		double pipe = 3 + 100 * rng_unit(&r);
		size_t n = refine(p, sweep(p, pipe, &r, 2), pipe, &r, 2);
		double found = p[knee_find(p, n)].depth;

		if (found < 0.95 * 0.95 * pipe - 1 || found > 1.3 * pipe + 1)
			off++;
	}
	is_u64(off, 0, "with noise of 2 %% the knee is found to a step, 500 times");
}

/* unet3d on an h100 takes 146600628 * 7 / 0.323 = 3.1771e9 bytes a second. */
static void accelerators(void)
{
	const struct workload *w = workload_find("unet3d", "h100");
	double one = workload_bytes_per_second(w);

	is_u64(knee_accelerators(w, 10e9, 0.9), 3, "10 GB/s feed three h100 with unet3d");
	is_u64(knee_accelerators(w, 0.9 * one, 0.9), 1, "nine tenths of what it takes feed one to nine tenths");
	is_u64(knee_accelerators(w, 0.899 * one, 0.9), 0, "less than that none");
	is_u64(knee_accelerators(w, 0.9 * one * 64, 0.9), 64, "64 times as much feed 64");
}

int main(void)
{
	exact();
	shapes();
	noisy();
	accelerators();
	return tap_done();
}
