/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sweep.h"

#include <string.h>

#include "base/util.h"

/* Puts a depth where it belongs. 0, 1 to end, -errno. */
static int measure_one(struct sweep *s, unsigned int depth, sweep_measure_fn measure, void *arg, struct err *err)
{
	struct knee_point p = { .depth = depth };
	int rc = measure(depth, &p.throughput, arg, err);
	size_t at = s->n;

	if (rc != 0)
		return rc;
	while (at > 0 && s->points[at - 1].depth > depth)
		at--;
	memmove(&s->points[at + 1], &s->points[at], (s->n - at) * sizeof(p));
	s->points[at] = p;
	s->n++;
	return 0;
}

static int grow(struct sweep *s, unsigned int least, unsigned int most, sweep_measure_fn measure, void *arg,
		struct err *err)
{
	unsigned int flat = 0, depth = least;

	while (flat < 2) {
		double best = s->n ? s->points[knee_best(s->points, s->n)].throughput : 0;
		int rc = measure_one(s, depth, measure, arg, err);

		if (rc != 0)
			return rc;
		flat = s->points[s->n - 1].throughput > best * (1 + SWEEP_GROWTH) ? 0 : flat + 1;
		if (depth == most)
			break;
		depth = MIN(depth * 2, most);
	}
	/* With one depth nothing is known of growth. */
	s->grows = flat == 0 && s->n > 1;
	return 0;
}

static int refine(struct sweep *s, sweep_measure_fn measure, void *arg, struct err *err)
{
	unsigned int depth = knee_refine(s->points, s->n);

	while (depth != 0 && s->n < KNEE_POINTS_MAX) {
		int rc = measure_one(s, depth, measure, arg, err);

		if (rc != 0)
			return rc;
		depth = knee_refine(s->points, s->n);
	}
	return 0;
}

int sweep_run(unsigned int least, unsigned int most, sweep_measure_fn measure, void *arg, struct sweep *ret,
	      struct err *err)
{
	int rc;

	*ret = (struct sweep){ .n = 0 };
	rc = grow(ret, least, most, measure, arg, err);
	if (rc == 0)
		rc = refine(ret, measure, arg, err);
	if (rc < 0)
		return rc;
	ret->stopped = rc > 0;
	if (ret->n > 0) {
		ret->knee = knee_find(ret->points, ret->n);
		ret->best = knee_best(ret->points, ret->n);
		/* A depth between two others can turn out to have more than the last. */
		ret->grows = ret->grows && ret->best == ret->n - 1;
	}
	return 0;
}
