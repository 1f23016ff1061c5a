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

/* The parts of a stall by name, as in JSON and text. */
enum { BENCH_PARTS = 8 };
const char *bench_part_name(int part);
uint64_t bench_part(const struct pst_timing *t, int part);

#endif
