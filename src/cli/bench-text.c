/* SPDX-License-Identifier: Apache-2.0 */
/* The report of bench for people: the verdict first, then the figures it rests on. */
#include <stdio.h>

#include "base/parse.h"
#include "bench/figures.h"
#include "bench/verdict.h"
#include "cli/bench.h"

static void latency(const char *what, const struct hist *h)
{
	static const double percents[] = { 50, 95, 99, 99.9, 99.99 };
	char text[FORMAT_MAX];

	printf("%-14s mean %s", what, format_duration((uint64_t)hist_mean(h), text, sizeof(text)));
	for (size_t i = 0; i < ARRAY_SIZE(percents); i++)
		printf(", p%g %s", percents[i],
		       format_duration(hist_percentile(h, percents[i]), text, sizeof(text)));
	printf(", max %s\n", format_duration(h->count ? h->max : 0, text, sizeof(text)));
}

static void cpu(const struct bench_result *r)
{
	printf("%-14s user %.3f, system %.3f seconds per gigabyte", "cpu",
	       bench_per_gigabyte(r->cost.cpu.user_ns, r->bytes),
	       bench_per_gigabyte(r->cost.cpu.system_ns, r->bytes));
	if (r->cost.has_target)
		printf("; of the target %.3f",
		       bench_per_gigabyte(r->cost.target.user_ns + r->cost.target.system_ns, r->bytes));
	printf("\n");
}

static void errors(const struct bench_result *r)
{
	printf("%-14s %llu; %llu retries, %llu reconnects\n", "errors", (unsigned long long)r->errors,
	       (unsigned long long)r->trouble.retries, (unsigned long long)r->trouble.reconnects);
}

static void verified(const struct bench_verify *v, const char *what)
{
	printf("%-14s %llu %s, %llu wrong\n", "verified", (unsigned long long)v->samples, what,
	       (unsigned long long)v->failed);
}

static void volumes(const struct bench_target *t, const struct bench_result *r)
{
	for (size_t i = 0; i < t->uri_count; i++)
		printf("%-14s %s%s%s\n", i ? "" : "volume", t->uris[i], r->info[i].model[0] ? ", " : "",
		       r->info[i].model);
	if (t->cuda)
		printf("%-14s cuda:%u, %s, %s\n", "into", t->device, t->device_name, r->io);
	else
		printf("%-14s %s, %s\n", "into", t->emulated ? "emulated accelerator's memory" : "host memory",
		       r->io);
}

static int notes(const struct bench_notes *n)
{
	for (unsigned int i = 0; i < n->count; i++)
		printf("%-14s %s\n", i ? "" : "notes", n->text[i]);
	return cli_output_done();
}

void bench_repeats_text(struct json_object *doc, unsigned int repeats)
{
	struct json_object *intervals = figures_at(doc, "intervals");

	printf("\n%u runs; their mean, and the 95 %% interval of it:\n", repeats);
	for (size_t i = 0; i < figure_count; i++) {
		char mean[FIGURE_TEXT_MAX], low[FIGURE_TEXT_MAX], high[FIGURE_TEXT_MAX];
		struct json_object *x;

		if (!json_object_object_get_ex(intervals, figures[i].name, &x))
			continue;
		printf("  %-34s %s, %s to %s\n", figures[i].words,
		       figures_format(figures[i].unit, figures_number(x, "mean"), mean),
		       figures_format(figures[i].unit, figures_number(x, "low"), low),
		       figures_format(figures[i].unit, figures_number(x, "high"), high));
	}
}

/* ---- micro --------------------------------------------------------------------------------- */

static double per_second(uint64_t n, uint64_t ns)
{
	return ns ? (double)n * 1e9 / (double)ns : 0;
}

static void pattern(const struct micro_options *o, const struct micro_result *r)
{
	char size[FORMAT_MAX], rate[48] = "";

	if (o->kind == PATTERN_MIXED)
		snprintf(rate, sizeof(rate), ", %u %% reads", o->read_percent);
	printf("%-14s %s of %s%s, depth %u, %u queue%s, %u thread%s\n", "pattern", pattern_name(o->kind),
	       format_size(o->block_bytes, size, sizeof(size)), rate, o->depth, o->queues,
	       o->queues == 1 ? "" : "s", r->threads, r->threads == 1 ? "" : "s");
}

static void side(const char *what, const struct micro_side *s, uint64_t ns)
{
	char rate[FORMAT_MAX];

	printf("%-14s %.0f IOPS, %s/s\n", what, per_second(s->ops, ns),
	       format_size((uint64_t)per_second(s->bytes, ns), rate, sizeof(rate)));
}

int bench_micro_text(const struct bench_request *q, const struct micro_result *r)
{
	char text[VERDICT_MAX];

	printf("%s\n\n", verdict_micro(&q->micro, r, text, sizeof(text)));
	volumes(&q->target, &r->all);
	pattern(&q->micro, r);
	printf("%-14s %llu I/Os in %.3f s\n", "measured", (unsigned long long)r->all.ops, (double)r->all.ns / 1e9);
	if (q->micro.kind == PATTERN_MIXED) {
		side("reads", &r->side[0], r->all.ns);
		latency("  latency", &r->side[0].latency);
		side("writes", &r->side[1], r->all.ns);
		latency("  latency", &r->side[1].latency);
	} else {
		latency("latency", &r->all.latency);
	}
	printf("%-14s %s\n", "spent in", verdict_split(&r->all.split, text, sizeof(text)));
	cpu(&r->all);
	errors(&r->all);
	if (q->micro.verify)
		verified(&r->all.verify, "blocks");
	return notes(&r->all.notes);
}

/* ---- workload ------------------------------------------------------------------------------ */

/* Bytes a second of accelerators that never wait, with samples as large as this dataset's. */
static double appetite(const struct train_options *o, const struct train_result *r)
{
	double sample = r->dataset_samples ? (double)r->dataset_bytes / (double)r->dataset_samples : 0;

	return sample * o->workload.batch * o->accelerators * 1e9 / (double)o->workload.compute_ns;
}

int bench_train_text(const struct bench_request *q, const struct train_result *r)
{
	const struct train_options *o = &q->train;
	const struct workload *w = &o->workload;
	char rate[FORMAT_MAX], step[FORMAT_MAX], eats[FORMAT_MAX], text[VERDICT_MAX];

	printf("%s\n\n", verdict_train(o, r, text, sizeof(text)));
	printf("%-14s %s on %u %s, batches of %u, %s per step\n", "workload", w->name, o->accelerators,
	       w->accelerator, w->batch, format_duration(w->compute_ns, step, sizeof(step)));
	volumes(&q->target, &r->all);
	printf("%-14s %s\n", "path", pst_path_name(bench_main_path(r->all.path_bytes)));
	printf("%-14s %llu of each accelerator in %llu epoch%s, %.3f s\n", "steps", (unsigned long long)r->steps,
	       (unsigned long long)r->epochs, r->epochs == 1 ? "" : "s", (double)r->all.ns / 1e9);
	printf("%-14s %.0f samples/s, %s/s", "throughput", per_second(r->all.ops, r->all.ns),
	       format_size((uint64_t)per_second(r->all.bytes, r->all.ns), rate, sizeof(rate)));
	printf(" (%s/s would keep them busy)\n",
	       format_size((uint64_t)appetite(o, r), eats, sizeof(eats)));
	if (r->has_au) {
		printf("%-14s %.1f %% charged to storage, %.1f %% as DLIO computes it (MLPerf Storage asks for "
		       "%u %%)\n",
		       "utilisation", 100 * r->au_storage, 100 * r->au_mlperf, w->au_floor_percent);
		printf("%-14s %.3f accelerator-seconds; %.3f s at the barrier, where the slowest counts\n", "stall",
		       (double)r->stall_ns / 1e9, (double)r->job_stall_ns / 1e9);
		if (o->prepare_ns > 0)
			printf("%-14s %.3f accelerator-seconds waited for batches to be prepared\n", "preparing",
			       (double)r->prepare_ns / 1e9);
		latency("batch wait", &r->all.latency);
	}
	printf("%-14s %.3f s, not counted above\n", "first batch", r->first_batch_seconds);
	cpu(&r->all);
	errors(&r->all);
	if (o->verify)
		verified(&r->all.verify, "samples");
	return notes(&r->all.notes);
}

/* ---- for the other workloads ----------------------------------------------------------------- */

void bench_text_volumes(const struct bench_target *t, const struct bench_result *r)
{
	volumes(t, r);
}

void bench_text_latency(const char *what, const struct hist *h)
{
	latency(what, h);
}

int bench_text_rest(const struct bench_result *r, bool verify, const char *what)
{
	cpu(r);
	errors(r);
	if (verify)
		verified(&r->verify, what);
	return notes(&r->notes);
}
