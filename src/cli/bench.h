/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the bench command share: what was asked for, and the two ways to report. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "bench/micro.h"
#include "bench/train.h"
#include "cli/cli.h"
#include "cli/into.h"

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

/* ---- for whatever measures -------------------------------------------------------------------- */

/* Set by the first SIGINT or SIGTERM once they are caught, to finish early and report; the second ends. */
extern atomic_bool bench_stop;
void bench_catch_signals(void);
extern const struct bench_clock bench_clock_real;
/* What can be known of --require-path beforehand is said before anything is written. */
int bench_check_path(const char *command, const struct bench_target *t, const struct cli_into *i);
/* --target-pid: fills in target_cpu, if it was given. */
int bench_watch_target(const char *command, struct bench_target *t);
/* "into" and "path_bytes" of a document: what memory data landed in, and by which way. */
void bench_json_into(struct json_object *o, const struct bench_target *t, const struct bench_result *r);
/* "latency_split_us", and of how many ops it is the mean. */
void bench_json_split(struct json_object *o, const struct bench_result *r);
/* Errors, retries, notes. */
void bench_json_end(struct json_object *o, const struct bench_result *r);

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
