/* SPDX-License-Identifier: Apache-2.0 */
/* Options of bench that are about reporting: repeats, the page, comparing. */
#ifndef CLI_BENCH_REPORT_H
#define CLI_BENCH_REPORT_H

#include "cli/bench.h"

enum { BENCH_REPEAT_MAX = 100 };

/* What was given, UINT64_MAX and NULL where it was not; and, for the live line, which run it is. */
struct bench_report {
	uint64_t repeat;
	const char *path;
	uint64_t target_pid;
	uint64_t not_worse; /* percent, of compare */
	unsigned int now, of;
};

extern struct bench_report bench_report;

#define BENCH_OPTIONS_REPORT \
	{ "repeat", 'r', CLI_COUNT, &bench_report.repeat, "N", \
	  "runs, for intervals and 'bench compare' (default 1)", NULL }, \
	{ "report", 'R', CLI_TEXT, &bench_report.path, "DIR|FILE.html", \
	  "write a page to read; into a directory, also its JSON and figures over time", NULL }, \
	{ "target-pid", 0, CLI_COUNT, &bench_report.target_pid, "PID", \
	  "process of the target on this machine, to report its CPU time too", NULL }, \
	{ "require-not-worse", 0, CLI_COUNT, &bench_report.not_worse, "PERCENT", \
	  "compare: exit with 3 if a figure is worse by more than this, or nobody knows", NULL }

/* Runs @q as often as it says, and reports. Returns enum cli_status. */
int bench_run(struct bench_request *q, bool workload);

/*
 * Repeats as text, the page where it was asked for, @doc as JSON where that was. Takes @doc; @printed: what
 * became of the text. Returns enum cli_status.
 */
int bench_report_end(const struct bench_request *q, struct json_object *doc, int printed);

/* penstock bench compare A.json B.json */
int bench_compare(int argc, char **argv);

#endif
