/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of a report by which runs are judged and compared, read from its JSON: where each
 * stands, whether more of it is better, and its values over the repeats. One table, so that what a
 * report shows, what compare compares and what has an interval are the same.
 */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "bench/stats.h"

enum { FIGURES_MAX = 16, FIGURES_REPEATS_MAX = 1000 };

#define FIGURES_CONFIDENCE 0.95

enum figure_unit {
	FIGURE_BYTES_PER_SECOND,
	FIGURE_PER_SECOND,
	FIGURE_MICROSECONDS,
	FIGURE_SECONDS,
	FIGURE_SECONDS_PER_GIGABYTE,
	FIGURE_FRACTION,
};

struct figure {
	const char *name; /* also where it stands: "latency_us.p99" */
	const char *words;
	enum figure_unit unit;
	bool more_is_better;
};

/* In the order of a report; a figure that a report lacks is not in it. */
extern const struct figure figures[];
extern const size_t figure_count;

/* What stands at "a.b.c" of @doc; NULL if nothing does. */
struct json_object *figures_at(struct json_object *doc, const char *path);
/* A number there, or -1. */
double figures_number(struct json_object *doc, const char *path);
/* A text there, or "". */
const char *figures_text(struct json_object *doc, const char *path);

/* One value for each repeat, or the one there is. 0: the report has no such figure. */
size_t figures_values(struct json_object *doc, const struct figure *f, double *ret, size_t max);

/*
 * The mean over repeats, and where the true one lies: of fractions arithmetic, of everything else
 * geometric. False: fewer than two.
 */
bool figures_mean(struct json_object *doc, const struct figure *f, struct stats_interval *ret);
/* Fractions are compared as differences, everything else as ratios. False: one of them lacks it. */
bool figures_compare(struct json_object *a, struct json_object *b, const struct figure *f,
		     struct stats_interval *ret);

/* For people, with the unit: "1.50 GiB/s", "640 us", "92.1 %". Returns @buf. */
enum { FIGURE_TEXT_MAX = 40 };
const char *figures_format(enum figure_unit unit, double value, char buf[FIGURE_TEXT_MAX]);

/* What the interval shows of b against a. */
enum figure_verdict {
	FIGURE_SAME, /* no difference is shown */
	FIGURE_BETTER,
	FIGURE_WORSE,
	FIGURE_UNKNOWN, /* one run on a side: there is no interval */
};

/*
 * @margin: worse by more than this fraction (0 for any) is worse. What is better is so by any
 * amount.
 */
enum figure_verdict figures_judge(const struct figure *f, const struct stats_interval *i, double margin);

#endif
