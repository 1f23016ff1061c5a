/* SPDX-License-Identifier: Apache-2.0 */
/* Runs what bench was asked for, as often as it was asked for, and reports all of it together. */
#include <errno.h>

#include "base/alloc.h"
#include "bench/micro.h"
#include "bench/train.h"
#include "cli/bench-report.h"
#include "cli/machine.h"
#include "cli/report.h"

#define NOT_GIVEN UINT64_MAX

struct bench_report bench_report = {
	.repeat = NOT_GIVEN,
	.target_pid = NOT_GIVEN,
	.not_worse = NOT_GIVEN,
};

static bool target_cpu(struct bench_cpu *ret)
{
	return machine_cpu_of(bench_report.target_pid, ret) == 0;
}

int bench_watch_target(const char *command, struct bench_target *t)
{
	struct bench_cpu cpu;

	if (bench_report.target_pid == NOT_GIVEN)
		return CLI_DONE;
	t->target_cpu = target_cpu;
	return target_cpu(&cpu) ? CLI_DONE
				: cli_error("%s: --target-pid %llu: no such process on this machine", command,
					    (unsigned long long)bench_report.target_pid);
}

/* Text or JSON on stdout, the page where it was asked for. Takes @doc. */
static int report(const struct bench_request *q, struct json_object *doc, int printed)
{
	int rc = CLI_DONE;

	if (!cli_json && q->repeat > 1)
		bench_repeats_text(doc, q->repeat);
	if (bench_report.path)
		rc = report_write(doc, bench_report.path);
	if (cli_json)
		printed = cli_json_print(doc);
	else
		json_object_put(doc);
	return rc == CLI_DONE ? printed : rc;
}

/* ---- a pattern of I/O ------------------------------------------------------------------------ */

static int end_micro(const struct bench_request *q, const struct micro_result *all, const struct micro_result *runs)
{
	int printed, rc;

	if (all->all.path_missed)
		return bench_path_missed(all->all.path_taken);
	printed = cli_json ? CLI_DONE : bench_micro_text(q, all);
	printed = report(q, bench_micro_doc(q, all, runs), printed);
	rc = bench_judge(&all->all);
	return rc == CLI_DONE ? printed : rc;
}

/* What comes after a run that was interrupted or missed its path is left out. */
static int run_micro(struct bench_request *q)
{
	struct micro_result *runs = mem_calloc(q->repeat + 1, sizeof(*runs)), *all = runs + q->repeat;
	struct err err = ERR_NULL;
	unsigned int n = 0;
	int rc = runs ? 0 : err_set(&err, ENOMEM, "out of memory");

	for (bool more = true; rc == 0 && more && n < q->repeat; n++) {
		bench_report.now = n + 1;
		rc = micro_run(&q->micro, &runs[n], &err);
		more = rc == 0 && !runs[n].all.interrupted && !runs[n].all.path_missed;
		if (rc == 0 && n == 0)
			*all = runs[0];
		else if (rc == 0)
			micro_merge(all, &runs[n]);
	}
	bench_live_end();
	q->repeat = n;
	rc = rc < 0 ? cli_error("%s", err_text(&err)) : end_micro(q, all, runs);
	mem_free(runs);
	return rc;
}

/* ---- training -------------------------------------------------------------------------------- */

static int end_train(const struct bench_request *q, const struct train_result *all, const struct train_result *runs)
{
	int printed, rc;

	if (all->all.path_missed)
		return bench_path_missed(all->all.path_taken);
	printed = cli_json ? CLI_DONE : bench_train_text(q, all);
	printed = report(q, bench_train_doc(q, all, runs), printed);
	rc = bench_judge(&all->all);
	return rc == CLI_DONE ? printed : rc;
}

static int run_train(struct bench_request *q)
{
	struct train_result *runs = mem_calloc(q->repeat + 1, sizeof(*runs)), *all = runs + q->repeat;
	struct err err = ERR_NULL;
	unsigned int n = 0;
	int rc = runs ? 0 : err_set(&err, ENOMEM, "out of memory");

	for (bool more = true; rc == 0 && more && n < q->repeat; n++) {
		bench_report.now = n + 1;
		rc = train_run(&q->train, &runs[n], &err);
		more = rc == 0 && !runs[n].all.interrupted && !runs[n].all.path_missed;
		if (rc == 0 && n == 0)
			*all = runs[0];
		else if (rc == 0)
			train_merge(all, &runs[n]);
	}
	bench_live_end();
	q->repeat = n;
	rc = rc < 0 ? cli_error("%s", err_text(&err)) : end_train(q, all, runs);
	mem_free(runs);
	return rc;
}

/* ---- either ---------------------------------------------------------------------------------- */

/* What a report needs is taken before anything is measured, and refused before too. */
int bench_run(struct bench_request *q, bool workload)
{
	static struct series series;
	bool watched = false;
	int rc;

	rc = bench_watch_target("bench", &q->target);
	if (rc == CLI_DONE && bench_report.path) {
		rc = report_check(bench_report.path);
		if (rc == CLI_DONE && series_init(&series) < 0)
			rc = cli_error("bench: --report: out of memory");
		watched = rc == CLI_DONE;
		q->target.series = &series;
	}
	q->micro.target = q->target;
	q->train.target = q->target;
	bench_report.of = q->repeat;
	if (rc == CLI_DONE)
		rc = workload ? run_train(q) : run_micro(q);
	if (watched)
		series_deinit(&series);
	return rc;
}
