/* SPDX-License-Identifier: Apache-2.0 */
/* Runs what bench was asked for, as often as it was asked for, and reports all of it together. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "bench/micro.h"
#include "bench/train.h"
#include "cli/bench-kind.h"
#include "cli/bench-more.h"
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

int bench_report_end(const struct bench_request *q, struct json_object *doc, int printed)
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

/* ---- any kind -------------------------------------------------------------------------------- */

static int end(const struct bench_request *q, const struct bench_kind *k, const void *options, const void *all,
	       const void *runs)
{
	const struct bench_result *r = all;
	int printed, rc;

	if (r->path_missed)
		return bench_path_missed(r->path_taken);
	printed = cli_json ? CLI_DONE : k->text(q, options, all);
	printed = bench_report_end(q, k->doc(q, options, all, runs), printed);
	rc = bench_judge(r);
	return rc == CLI_DONE ? printed : rc;
}

/* What comes after a run that was interrupted or missed its path is left out. */
int bench_kind_run(const struct bench_request *request, const struct bench_kind *k, const void *options)
{
	struct bench_request q = *request;
	char *runs = mem_calloc(q.repeat + 1, k->size), *all = runs ? runs + q.repeat * k->size : NULL;
	struct err err = ERR_NULL;
	unsigned int n = 0;
	int rc = runs ? 0 : err_set(&err, ENOMEM, "out of memory");

	bench_report.of = q.repeat;
	for (bool more = true; rc == 0 && more && n < q.repeat; n++) {
		char *one = runs + n * k->size;
		const struct bench_result *r = (const void *)one;

		bench_report.now = n + 1;
		rc = k->run(options, one, &err);
		more = rc == 0 && !r->interrupted && !r->path_missed;
		if (rc == 0 && n == 0)
			memcpy(all, one, k->size);
		else if (rc == 0)
			k->merge(all, one);
	}
	bench_live_end();
	q.repeat = n;
	rc = rc < 0 ? cli_error("%s", err_text(&err)) : end(&q, k, options, all, runs);
	mem_free(runs);
	return rc;
}

/* ---- a pattern of I/O ------------------------------------------------------------------------ */

static int micro_kind_run(const void *options, void *ret_result, struct err *err)
{
	return micro_run(options, ret_result, err);
}

static void micro_kind_merge(void *result, const void *run)
{
	micro_merge(result, run);
}

static int micro_kind_text(const struct bench_request *q, const void *options, const void *result)
{
	return bench_micro_text(q, result);
}

static struct json_object *micro_kind_doc(const struct bench_request *q, const void *options, const void *result,
					  const void *runs)
{
	return bench_micro_doc(q, result, runs);
}

static const struct bench_kind micro_kind = {
	.size = sizeof(struct micro_result),
	.run = micro_kind_run,
	.merge = micro_kind_merge,
	.text = micro_kind_text,
	.doc = micro_kind_doc,
};

/* ---- training -------------------------------------------------------------------------------- */

static int train_kind_run(const void *options, void *ret_result, struct err *err)
{
	return train_run(options, ret_result, err);
}

static void train_kind_merge(void *result, const void *run)
{
	train_merge(result, run);
}

static int train_kind_text(const struct bench_request *q, const void *options, const void *result)
{
	return bench_train_text(q, result);
}

static struct json_object *train_kind_doc(const struct bench_request *q, const void *options, const void *result,
					  const void *runs)
{
	return bench_train_doc(q, result, runs);
}

static const struct bench_kind train_kind = {
	.size = sizeof(struct train_result),
	.run = train_kind_run,
	.merge = train_kind_merge,
	.text = train_kind_text,
	.doc = train_kind_doc,
};

/* ---- either ---------------------------------------------------------------------------------- */

static struct series series;
static bool series_made;

int bench_report_begin(struct bench_request *q)
{
	int rc = bench_watch_target("bench", &q->target);

	if (rc != CLI_DONE || !bench_report.path)
		return rc;
	rc = report_check(bench_report.path);
	if (rc == CLI_DONE && series_init(&series) < 0)
		rc = cli_error("bench: --report: out of memory");
	if (rc != CLI_DONE)
		return rc;
	series_made = true;
	q->target.series = &series;
	return CLI_DONE;
}

void bench_report_free(void)
{
	if (series_made)
		series_deinit(&series);
	series_made = false;
}

int bench_run(struct bench_request *q, bool workload)
{
	q->micro.target = q->target;
	q->train.target = q->target;
	if (bench_more.calibrate)
		return bench_calibrate(q);
	return workload ? bench_kind_run(q, &train_kind, &q->train) : bench_kind_run(q, &micro_kind, &q->micro);
}
