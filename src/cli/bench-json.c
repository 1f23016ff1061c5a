/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of bench for scripts, schema penstock.bench/1. Names end in their unit and units are
 * base units; utilisations are fractions from 0 to 1; stalls are accelerator-seconds, summed over
 * the accelerators; with a workload, ops are samples and latency_us is the wait for a batch.
 */
#include "cli/bench.h"

#include <stdio.h>

#include "base/hist-text.h"
#include "bench/figures.h"
#include "bench/verdict.h"
#include "cli/bench-kind.h"
#include "cli/machine.h"
#include "penstock.h"

void bench_json_into(struct json_object *o, const struct bench_target *t, const struct bench_result *r)
{
	struct json_object *x = cli_json_object(o, "into"), *paths = cli_json_object(o, "path_bytes");

	cli_json_str(x, "kind", t->cuda ? "cuda" : t->emulated ? "emulated" : "host");
	if (t->cuda) {
		cli_json_u64(x, "device", t->device);
		cli_json_str(x, "name", t->device_name);
		cli_json_u64(x, "piece_bytes", t->cuda_options.piece_bytes);
		cli_json_u64(x, "staging_bytes", t->cuda_options.staging_bytes);
	}
	for (int i = 0; i < BENCH_PATHS; i++) {
		if (r->path_bytes[i] > 0)
			cli_json_u64(paths, pst_path_name((enum pst_path)i), r->path_bytes[i]);
	}
}

struct json_object *bench_json_begin(const struct bench_request *q, const struct bench_result *r)
{
	struct json_object *o = machine_doc("bench", q->label, &q->target, r);

	bench_json_into(o, &q->target, r);
	return o;
}

/* ---- figures ------------------------------------------------------------------------------- */

bool bench_histograms;

static void add_latency(struct json_object *o, const struct hist *h)
{
	static char text[HIST_TEXT_MAX];
	struct json_object *l = cli_json_object(o, "latency_us");

	cli_json_double(l, "mean", hist_mean(h) / 1e3);
	cli_json_double(l, "p50", (double)hist_percentile(h, 50) / 1e3);
	cli_json_double(l, "p95", (double)hist_percentile(h, 95) / 1e3);
	cli_json_double(l, "p99", (double)hist_percentile(h, 99) / 1e3);
	cli_json_double(l, "p99_9", (double)hist_percentile(h, 99.9) / 1e3);
	cli_json_double(l, "p99_99", (double)hist_percentile(h, 99.99) / 1e3);
	cli_json_double(l, "max", h->count ? (double)h->max / 1e3 : 0);
	if (!bench_histograms)
		return;
	hist_format(h, text, sizeof(text));
	cli_json_str(o, "latency_histogram", text);
}

static void add_rates(struct json_object *o, uint64_t ns, uint64_t ops, uint64_t bytes)
{
	double seconds = (double)ns / 1e9;

	cli_json_double(o, "seconds", seconds);
	cli_json_u64(o, "ops", ops);
	cli_json_u64(o, "bytes", bytes);
	cli_json_double(o, "iops", ns ? (double)ops / seconds : 0);
	cli_json_double(o, "bytes_per_second", ns ? (double)bytes / seconds : 0);
}

static void add_cpu(struct json_object *o, const char *end, const struct bench_cpu *c, uint64_t bytes)
{
	char key[32];

	cli_json_double(o, end, bench_per_gigabyte(c->user_ns + c->system_ns, bytes));
	snprintf(key, sizeof(key), "%s_user", end);
	cli_json_double(o, key, bench_per_gigabyte(c->user_ns, bytes));
	snprintf(key, sizeof(key), "%s_system", end);
	cli_json_double(o, key, bench_per_gigabyte(c->system_ns, bytes));
}

void bench_json_figures(struct json_object *o, const struct bench_result *r)
{
	struct json_object *g;

	cli_json_str(o, "path", pst_path_name(bench_main_path(r->path_bytes)));
	add_rates(o, r->ns, r->ops, r->bytes);
	add_latency(o, &r->latency);
	g = cli_json_object(o, "cpu_seconds_per_gigabyte");
	add_cpu(g, "client", &r->cost.cpu, r->bytes);
	if (r->cost.has_target)
		add_cpu(g, "target", &r->cost.target, r->bytes);
}

static void add_verify(struct json_object *o, bool on, const struct bench_verify *v)
{
	struct json_object *x = cli_json_object(o, "verify"), *list;

	cli_json_u64(x, "samples", v->samples);
	cli_json_u64(x, "failed", v->failed);
	cli_json_u64(x, "skipped", v->skipped);
	cli_json_bool(x, "enabled", on);
	list = cli_json_array(x, "failures");
	for (uint64_t i = 0; i < MIN(v->failed, (uint64_t)BENCH_FAILURES_MAX); i++)
		cli_json_str(list, NULL, v->failures[i].text);
}

void bench_json_end(struct json_object *o, const struct bench_result *r)
{
	struct json_object *list;

	cli_json_u64(o, "errors", r->errors);
	if (r->errors > 0)
		cli_json_str(o, "first_error", r->first_error);
	cli_json_u64(o, "retries", r->trouble.retries);
	cli_json_u64(o, "reconnects", r->trouble.reconnects);
	cli_json_bool(o, "interrupted", r->interrupted);
	list = cli_json_array(o, "notes");
	for (unsigned int i = 0; i < r->notes.count; i++)
		cli_json_str(list, NULL, r->notes.text[i]);
}

/* ---- repeats, and what a report draws -------------------------------------------------------- */

/* The mean of each figure over the repeats, and where the true one lies. */
static void add_intervals(struct json_object *o, const struct bench_request *q)
{
	struct json_object *list, *x;

	if (q->repeat < 2)
		return;
	list = cli_json_object(o, "intervals");
	cli_json_double(list, "confidence", FIGURES_CONFIDENCE);
	cli_json_str(list, "method", "Student's t over the repeats, on logarithms except for fractions");
	for (size_t i = 0; i < figure_count; i++) {
		struct stats_interval t;

		if (!figures_mean(o, &figures[i], &t))
			continue;
		x = cli_json_object(list, figures[i].name);
		cli_json_double(x, "mean", t.value);
		cli_json_double(x, "low", t.low);
		cli_json_double(x, "high", t.high);
	}
}

static void add_row(struct json_object *rows, const double *values, size_t n)
{
	struct json_object *row = cli_json_array(rows, NULL);

	for (size_t i = 0; i < n; i++)
		cli_json_double(row, NULL, values[i]);
}

static struct json_object *add_table(struct json_object *o, const char *const *columns)
{
	struct json_object *list = cli_json_array(o, "columns");

	for (size_t i = 0; columns[i]; i++)
		cli_json_str(list, NULL, columns[i]);
	return cli_json_array(o, "rows");
}

/* Which latency is not exceeded by which share: closer together towards the tail. */
static void add_distribution(struct json_object *o, const struct bench_request *q, const struct bench_result *r)
{
	static const char *const columns[] = { "percent", "us", NULL };
	static const double tail[] = { 99.5, 99.9, 99.95, 99.99, 99.999, 100 };
	struct json_object *rows;

	if (!q->target.series || r->latency.count == 0)
		return;
	rows = add_table(cli_json_object(o, "latency_distribution"), columns);
	for (size_t i = 0; i < 100 + ARRAY_SIZE(tail); i++) {
		double percent = i < 100 ? (double)i : tail[i - 100];

		add_row(rows, (const double[]){ percent, (double)hist_percentile(&r->latency, percent) / 1e3 }, 2);
	}
}

/* How one run went over time. */
static void add_series(struct json_object *o, const struct bench_result *r)
{
	static const char *const columns[] = { "seconds", "iops",	"bytes_per_second", "p50_us",
					       "p95_us",  "p99_us", "waiting",	    NULL };
	struct json_object *all = figures_at(o, "series"), *rows;

	all = all ? all : cli_json_array(o, "series");
	rows = add_table(cli_json_object(all, NULL), columns);
	for (size_t i = 0; i < r->point_count; i++) {
		const struct series_point *p = &r->points[i];
		double length = p->length_seconds;

		add_row(rows,
			(const double[]){ p->seconds, (double)p->ops / length, (double)p->bytes / length,
					  (double)p->p50_ns / 1e3, (double)p->p95_ns / 1e3, (double)p->p99_ns / 1e3,
					  (double)p->sum_ns / 1e9 / length },
			7);
	}
}

static const struct bench_result *run_at(const void *runs, size_t size, size_t i)
{
	return (const void *)((const char *)runs + i * size);
}

void bench_json_runs(struct json_object *o, const struct bench_request *q, const struct bench_result *all,
		     const void *runs, size_t size, bench_judged_fn judged)
{
	struct json_object *list = q->repeat > 1 ? cli_json_array(o, "repeats") : NULL, *one;

	for (unsigned int i = 0; list && i < q->repeat; i++) {
		one = cli_json_object(list, NULL);
		bench_json_figures(one, run_at(runs, size, i));
		if (judged)
			judged(one, run_at(runs, size, i));
	}
	add_intervals(o, q);
	add_distribution(o, q, all);
	for (unsigned int i = 0; q->target.series && i < q->repeat; i++) {
		if (run_at(runs, size, i)->point_count > 0)
			add_series(o, run_at(runs, size, i));
	}
}

/* ---- micro --------------------------------------------------------------------------------- */

static void add_micro_options(struct json_object *o, const struct micro_options *m, const struct micro_result *r)
{
	struct json_object *x = cli_json_object(o, "options");

	cli_json_str(x, "io", pattern_name(m->kind));
	if (m->kind == PATTERN_MIXED)
		cli_json_u64(x, "read_percent", m->read_percent);
	cli_json_u64(x, "block_size_bytes", m->block_bytes);
	cli_json_u64(x, "depth", m->depth);
	cli_json_u64(x, "queues", m->queues);
	cli_json_u64(x, "threads", r->threads);
	cli_json_u64(x, "inflight", r->inflight);
	cli_json_u64(x, "offset_bytes", m->offset);
	cli_json_u64(x, "size_bytes", m->size);
	cli_json_u64(x, "passes", m->passes);
	cli_json_double(x, "warmup_seconds", (double)m->warmup_ns / 1e9);
	cli_json_u64(x, "rate_iops", m->rate);
	cli_json_double(x, "spin_seconds", (double)m->target.spin_ns / 1e9);
	cli_json_u64(x, "seed", m->seed);
}

static void add_side(struct json_object *o, const char *key, const struct micro_side *s, uint64_t ns)
{
	struct json_object *x = cli_json_object(o, key);

	add_rates(x, ns, s->ops, s->bytes);
	add_latency(x, &s->latency);
}

void bench_json_split(struct json_object *o, const struct bench_result *r)
{
	struct json_object *split = cli_json_object(o, "latency_split_us");
	double n = (double)MAX(r->split_ops, UINT64_C(1));

	for (int i = 0; i < BENCH_PARTS; i++)
		cli_json_double(split, bench_part_name(i), (double)bench_part(&r->split, i) / 1e3 / n);
	cli_json_u64(o, "latency_split_ops", r->split_ops);
}

struct json_object *bench_micro_doc(const struct bench_request *q, const struct micro_result *r,
				    const struct micro_result *runs)
{
	struct json_object *o = bench_json_begin(q, &r->all);
	char verdict[VERDICT_MAX];

	cli_json_str(o, "verdict", verdict_micro(&q->micro, r, verdict, sizeof(verdict)));
	add_micro_options(o, &q->micro, r);
	bench_json_figures(o, &r->all);
	bench_json_split(o, &r->all);
	if (q->micro.kind == PATTERN_MIXED) {
		add_side(o, "read", &r->side[0], r->all.ns);
		add_side(o, "write", &r->side[1], r->all.ns);
	}
	add_verify(o, q->micro.verify, &r->all.verify);
	bench_json_end(o, &r->all);
	bench_json_runs(o, q, &r->all, runs, sizeof(*runs), NULL);
	return o;
}

/* ---- workload ------------------------------------------------------------------------------ */

/* A utilisation that does not exist is null, not a number that somebody might average. */
static void add_au(struct json_object *o, const char *key, bool has, double value)
{
	if (has)
		cli_json_double(o, key, value);
	else
		json_object_object_add(o, key, NULL);
}

/* What of a run says how long the accelerators waited. */
static void add_judged(struct json_object *w, const struct train_result *r)
{
	add_au(w, "au_mlperf", r->has_au, r->au_mlperf);
	add_au(w, "au_storage", r->has_au, r->au_storage);
	cli_json_double(w, "compute_seconds", (double)r->compute_ns / 1e9);
	cli_json_double(w, "stall_seconds", (double)r->stall_ns / 1e9);
	cli_json_double(w, "prepare_stall_seconds", (double)r->prepare_ns / 1e9);
	cli_json_double(w, "step_seconds", r->step_seconds);
}

static void add_workload(struct json_object *o, const struct train_options *t, const struct train_result *r)
{
	struct json_object *w = cli_json_object(o, "workload"), *split;

	cli_json_str(w, "name", t->workload.name);
	cli_json_str(w, "accelerator", t->workload.accelerator);
	cli_json_u64(w, "accelerators", t->accelerators);
	cli_json_u64(w, "batch", t->workload.batch);
	cli_json_u64(w, "prefetch", t->prefetch);
	cli_json_u64(w, "seed", t->seed);
	cli_json_double(w, "compute_seconds_per_step", (double)t->workload.compute_ns / 1e9);
	cli_json_double(w, "prepare_seconds_per_step", (double)t->prepare_ns / 1e9);
	cli_json_u64(w, "epochs", r->epochs);
	cli_json_u64(w, "steps", r->steps);
	cli_json_u64(w, "samples", r->all.ops);
	add_judged(w, r);
	split = cli_json_object(w, "stall_split");
	for (int i = 0; i < BENCH_PARTS; i++)
		cli_json_double(split, bench_part_name(i), (double)bench_part(&r->all.split, i) / 1e9);
	cli_json_double(w, "job_stall_seconds", (double)r->job_stall_ns / 1e9);
	cli_json_double(w, "first_batch_seconds", r->first_batch_seconds);
	cli_json_double(w, "compute_overrun", r->compute_overrun);
	cli_json_u64(w, "dataset_samples", r->dataset_samples);
	cli_json_u64(w, "dataset_bytes", r->dataset_bytes);
}

static void train_judged(struct json_object *one, const void *run)
{
	add_judged(cli_json_object(one, "workload"), run);
}

struct json_object *bench_train_doc(const struct bench_request *q, const struct train_result *r,
				    const struct train_result *runs)
{
	struct json_object *o = bench_json_begin(q, &r->all);
	char verdict[VERDICT_MAX];

	cli_json_str(o, "verdict", verdict_train(&q->train, r, verdict, sizeof(verdict)));
	bench_json_figures(o, &r->all);
	add_verify(o, q->train.verify, &r->all.verify);
	add_workload(o, &q->train, r);
	bench_json_end(o, &r->all);
	bench_json_runs(o, q, &r->all, runs, sizeof(*runs), train_judged);
	return o;
}

/* ---- for the other workloads ----------------------------------------------------------------- */

void bench_json_command(struct json_object *o)
{
	machine_command(o);
}

void bench_json_latency(struct json_object *o, const struct hist *h)
{
	add_latency(o, h);
}

void bench_json_rest(struct json_object *o, const struct bench_result *r, bool verify)
{
	add_verify(o, verify, &r->verify);
	bench_json_end(o, r);
}
