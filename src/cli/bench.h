/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the bench command share: what was asked for, and the two ways to report. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "bench/micro.h"
#include "bench/train.h"
#include "cli/cli.h"

struct bench_request {
	const char *label;
	struct bench_target target;
	unsigned int repeat; /* runs, 1 or more */
	struct micro_options micro; /* without workload */
	struct train_options train; /* with */
};

/*
 * The report of @r, which is all @runs together; q->repeat of them. Text is printed, and what went
 * wrong in printing returned; a document is the caller's.
 */
int bench_micro_text(const struct bench_request *q, const struct micro_result *r);
int bench_train_text(const struct bench_request *q, const struct train_result *r);
struct json_object *bench_micro_doc(const struct bench_request *q, const struct micro_result *r,
				    const struct micro_result *runs);
struct json_object *bench_train_doc(const struct bench_request *q, const struct train_result *r,
				    const struct train_result *runs);

/* ---- for the files of the other workloads ---------------------------------------------------- */

/* With each latency_us also all latencies, as text (base/hist-text.h). */
extern bool bench_histograms;

/* Parts of a report: what every kind of run has. The rest: cost, errors, checks, notes. */
struct json_object *bench_json_begin(const struct bench_request *q, const struct bench_result *r);
void bench_json_command(struct json_object *o);
void bench_json_latency(struct json_object *o, const struct hist *h);
void bench_json_rest(struct json_object *o, const struct bench_result *r, bool verify);
void bench_text_volumes(const struct bench_target *t, const struct bench_result *r);
void bench_text_latency(const char *what, const struct hist *h);
int bench_text_rest(const struct bench_result *r, bool verify, const char *what);

/* Removes the live line. */
void bench_live_end(void);
/* --require-path was not met: says so, CLI_REQUIRE. */
int bench_path_missed(enum pst_path taken);
/* Says what went wrong, on stderr as well, so that a script which only looks there sees it. */
int bench_judge(const struct bench_result *r);

/* The intervals of a document. */
void bench_repeats_text(struct json_object *doc, unsigned int repeats);

/* Path, rates, latencies and CPU time of one result, as in every document that has some. */
void bench_json_figures(struct json_object *o, const struct bench_result *r);

#endif
