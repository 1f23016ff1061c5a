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
	struct micro_options micro; /* without workload */
	struct train_options train; /* with */
};

/* Both print the report on stdout, and return CLI_DONE or what went wrong in printing. */
int bench_micro_text(const struct bench_request *q, const struct micro_result *r);
int bench_train_text(const struct bench_request *q, const struct train_result *r);
int bench_micro_json(const struct bench_request *q, const struct micro_result *r);
int bench_train_json(const struct bench_request *q, const struct train_result *r);

/* ---- for the files of the other workloads ---------------------------------------------------- */

/* With each latency_us also all latencies, as text (base/hist-text.h). */
extern bool bench_histograms;

/* Parts of a report: what every kind of run has. The rest: cost, errors, checks, notes. */
struct json_object *bench_json_begin(const struct bench_request *q, const struct bench_result *r);
void bench_json_command(struct json_object *o);
void bench_json_figures_of(struct json_object *o, const struct bench_result *r);
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

/* The parts of a stall by name, as in JSON and text. */
enum { BENCH_PARTS = 8 };
const char *bench_part_name(int part);
uint64_t bench_part(const struct pst_timing *t, int part);

#endif
