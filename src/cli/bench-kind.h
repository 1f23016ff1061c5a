/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kind of measurement, as what all kinds share sees it: runs it as often as was asked for, puts the
 * runs together, reports them as text, JSON and page.
 */
#ifndef CLI_BENCH_KIND_H
#define CLI_BENCH_KIND_H

#include "cli/bench.h"

struct bench_kind {
	size_t size; /* of a result, which begins with a struct bench_result */
	int (*run)(const void *options, void *ret_result, struct err *err); /* as micro_run() */
	void (*merge)(void *result, const void *run);
	int (*text)(const struct bench_request *q, const void *options, const void *result);
	/* @result is all of @runs together, of which there are q->repeat. */
	struct json_object *(*doc)(const struct bench_request *q, const void *options, const void *result,
				   const void *runs);
};

/* Returns enum cli_status. */
int bench_kind_run(const struct bench_request *q, const struct bench_kind *k, const void *options);

/* What one of several runs has in "repeats" beside the figures that all kinds have; NULL: nothing. */
typedef void (*bench_judged_fn)(struct json_object *one, const void *run);

/*
 * Adds to @o what the runs of a document are: repeats and intervals where there are several, and for a
 * page the distribution of @all latencies and each run's course. Each run is of @size bytes and begins
 * with a struct bench_result.
 */
void bench_json_runs(struct json_object *o, const struct bench_request *q, const struct bench_result *all,
		     const void *runs, size_t size, bench_judged_fn judged);

/*
 * Before anything is measured: checks what a report needs, and gives @q->target what it takes to fill
 * one. Then bench_report_free(), whatever it returned.
 */
int bench_report_begin(struct bench_request *q);
void bench_report_free(void);

#endif
