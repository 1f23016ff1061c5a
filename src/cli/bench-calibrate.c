/* SPDX-License-Identifier: Apache-2.0 */
/* bench --calibrate: the report of a training run is that of the cold one, with what the others add. */
#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "bench/verdict.h"
#include "cli/bench-more.h"
#include "cli/bench-report.h"

int bench_calibrate_check(unsigned int repeat)
{
	if (!bench_more.calibrate && bench_more.cache != BENCH_NOT_GIVEN)
		return cli_usage("bench: --cache-size has no meaning without --calibrate");
	if (bench_more.calibrate && (bench_more.clients || bench_more.parts > 0))
		return cli_usage("bench: --calibrate takes one machine apart: it has no meaning with several clients");
	if (bench_more.calibrate && repeat > 1)
		return cli_usage("bench: --calibrate is three runs already: --repeat has no meaning with it");
	return CLI_DONE;
}

/* ---- text ---------------------------------------------------------------------------------- */

static void share(const char *what, double seconds, const struct calibration *c)
{
	char text[FORMAT_MAX];

	printf("  %-12s %s, %.1f %%\n", what, format_duration((uint64_t)(seconds * 1e9), text, sizeof(text)),
	       100 * seconds / c->step);
}

static void run_text(const struct train_result *r, enum calibrate_run which)
{
	char text[FORMAT_MAX];

	printf("  %-12s a step takes %s; utilisation %.2f %% charged to storage, %.2f %% as DLIO computes it\n",
	       calibrate_name(which), format_duration((uint64_t)(r->step_seconds * 1e9), text, sizeof(text)),
	       100 * r->au_storage, 100 * r->au_mlperf);
}

static void text(const struct calibrate_result *r)
{
	char verdict[VERDICT_MAX];

	printf("%s\n\ncalibration\n", verdict_calibration(&r->split, verdict, sizeof(verdict)));
	share("computing", r->split.compute, &r->split);
	share("fetching", r->split.fetch, &r->split);
	share("preparing", r->split.preparation, &r->split);
	share("overhead", r->split.overhead, &r->split);
	for (int i = 0; i < CALIBRATE_RUNS; i++)
		run_text(&r->runs[i], (enum calibrate_run)i);
	printf("\ncold\n");
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void run_json(struct json_object *runs, const struct train_result *r, enum calibrate_run which)
{
	struct json_object *x = cli_json_object(runs, calibrate_name(which));

	cli_json_u64(x, "steps", r->steps);
	cli_json_double(x, "step_seconds", r->step_seconds);
	cli_json_double(x, "au_mlperf", r->au_mlperf);
	cli_json_double(x, "au_storage", r->au_storage);
	cli_json_double(x, "stall_seconds", (double)r->stall_ns / 1e9);
	cli_json_double(x, "prepare_stall_seconds", (double)r->prepare_ns / 1e9);
	cli_json_double(x, "compute_overrun", r->compute_overrun);
	cli_json_double(x, "bytes_per_second", r->all.ns ? (double)r->all.bytes * 1e9 / (double)r->all.ns : 0);
}

/* Of one step, so that it does not depend on how many there were. */
static void add(struct json_object *doc, const struct calibrate_result *r)
{
	const struct calibration *c = &r->split;
	struct json_object *workload = NULL, *x, *runs;
	char verdict[VERDICT_MAX];

	json_object_object_get_ex(doc, "workload", &workload);
	json_object_object_add(doc, "verdict",
			       json_object_new_string(verdict_calibration(c, verdict, sizeof(verdict))));
	x = cli_json_object(workload, "calibration");
	cli_json_double(x, "step_seconds", c->step);
	cli_json_double(x, "compute_seconds", c->compute);
	cli_json_double(x, "fetch_stall_seconds", c->fetch);
	cli_json_double(x, "preparation_stall_seconds", c->preparation);
	cli_json_double(x, "overhead_seconds", c->overhead);
	cli_json_double(x, "by_chance_fraction", c->chance);
	cli_json_double(x, "au_storage", c->au_storage);
	cli_json_u64(x, "files", r->files);
	cli_json_u64(x, "cached_files", r->cached_files);
	cli_json_u64(x, "cached_bytes", r->cached_bytes);
	runs = cli_json_object(x, "runs");
	for (int i = 0; i < CALIBRATE_RUNS; i++)
		run_json(runs, &r->runs[i], (enum calibrate_run)i);
}

/* ---- running ------------------------------------------------------------------------------- */

/* A run that ended otherwise than it should is reported as it is: what it says is why there is no calibration. */
static int end(const struct bench_request *q, struct calibrate_result *r)
{
	struct train_result *of = &r->runs[r->complete ? CALIBRATE_COLD : r->last];
	struct json_object *doc;
	int printed = CLI_DONE, rc;

	if (of->all.path_missed)
		return bench_path_missed(of->all.path_taken);
	if (!r->complete)
		bench_note(&of->all.notes, "no calibration: the run '%s' is the last there was",
			   calibrate_name(r->last));
	if (!cli_json && r->complete)
		text(r);
	if (!cli_json)
		printed = bench_train_text(q, of);
	doc = bench_train_doc(q, of, of);
	if (r->complete)
		add(doc, r);
	printed = bench_report_end(q, doc, printed);
	rc = bench_judge(&of->all);
	return rc == CLI_DONE ? printed : rc;
}

int bench_calibrate(struct bench_request *q)
{
	struct calibrate_result *r = mem_zalloc(sizeof(*r));
	struct calibrate_options o = { .train = q->train };
	struct err err = ERR_NULL;
	int rc = r ? 0 : err_set(&err, ENOMEM, "out of memory");

	o.cache_bytes = bench_more.cache == BENCH_NOT_GIVEN ? 0 : bench_more.cache;
	if (rc == 0)
		rc = calibrate_run(&o, r, &err);
	bench_live_end();
	rc = rc < 0 ? cli_error("%s", err_text(&err)) : end(q, r);
	mem_free(r);
	return rc;
}
