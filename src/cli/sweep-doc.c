/* SPDX-License-Identifier: Apache-2.0 */
/* What a sweep found, as a document of schema penstock.sweep/1, and as text from that document. */
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "bench/figures.h"
#include "bench/verdict.h"
#include "cli/machine.h"
#include "cli/sweep.h"

/* ---- JSON ---------------------------------------------------------------------------------- */

/* Runs of one depth that are further apart than the knee's share make it unsure. */
#define SPREAD_MAX (1 - KNEE_SHARE)

struct json_object *sweep_point(unsigned int depth, const struct micro_result *r, double least, double most)
{
	struct json_object *o = json_object_new_object();

	cli_json_u64(o, "depth", depth);
	cli_json_u64(o, "inflight", r->inflight);
	bench_json_figures(o, &r->all);
	cli_json_double(o, "least_bytes_per_second", least);
	cli_json_double(o, "most_bytes_per_second", most);
	bench_json_split(o, &r->all);
	return o;
}

static void add_options(struct json_object *o, const struct sweep_request *q, const struct sweep_outcome *out)
{
	const struct micro_options *m = &q->micro;
	struct json_object *x = cli_json_object(o, "options");

	cli_json_str(x, "io", pattern_name(m->kind));
	if (m->kind == PATTERN_MIXED)
		cli_json_u64(x, "read_percent", m->read_percent);
	cli_json_u64(x, "block_size_bytes", m->block_bytes);
	cli_json_u64(x, "min_depth", q->least);
	cli_json_u64(x, "max_depth", q->most);
	cli_json_u64(x, "queues", m->queues);
	cli_json_u64(x, "threads", out->threads);
	cli_json_u64(x, "offset_bytes", m->offset);
	cli_json_u64(x, "size_bytes", m->size);
	cli_json_u64(x, "repeat", q->repeat);
	cli_json_double(x, "time_seconds", (double)m->time_ns / 1e9);
	cli_json_double(x, "warmup_seconds", (double)m->warmup_ns / 1e9);
	cli_json_double(x, "spin_seconds", (double)m->target.spin_ns / 1e9);
	cli_json_u64(x, "seed", m->seed);
}

static bool wanted(const struct sweep_request *q, const struct workload *w)
{
	if (q->accelerator)
		return strcmp(w->accelerator, q->accelerator) == 0;
	return strcmp(w->accelerator, "h100") == 0 || strcmp(w->accelerator, "b200") == 0;
}

/*
 * An accelerator at utilisation u computes u of the time, and takes u of what one takes that never
 * waits. So a store of B bytes a second keeps B / (u * what one takes) of them there.
 */
static void add_feeds(struct json_object *o, const struct sweep_request *q, double bytes_per_second)
{
	struct json_object *list, *x;
	double au = q->utilisation / 100.0;

	/* Training reads. */
	if (pattern_writes(q->micro.kind))
		return;
	cli_json_double(o, "utilisation", au);
	list = cli_json_array(o, "feeds");
	for (size_t i = 0; i < workload_count; i++) {
		const struct workload *w = &workloads[i];
		double each = au * workload_bytes_per_second(w);

		if (!wanted(q, w))
			continue;
		x = cli_json_object(list, NULL);
		cli_json_str(x, "workload", w->name);
		cli_json_str(x, "accelerator", w->accelerator);
		cli_json_u64(x, "sample_bytes", w->sample_bytes);
		cli_json_double(x, "bytes_per_second_each", each);
		cli_json_u64(x, "accelerators", knee_accelerators(w, bytes_per_second, au));
		cli_json_double(x, "exactly", bytes_per_second / each);
	}
}

static void add_verdict(struct json_object *o, const struct sweep_request *q, const struct sweep_outcome *out)
{
	const struct sweep *s = &out->sweep;
	struct json_object *knee = json_object_array_get_idx(out->points, s->knee);
	char rate[FIGURE_TEXT_MAX], p99[FIGURE_TEXT_MAX], text[VERDICT_MAX];
	int n = snprintf(text, sizeof(text), "The knee is at depth %u: %s, p99 %s", s->points[s->knee].depth,
			 figures_format(FIGURE_BYTES_PER_SECOND, s->points[s->knee].throughput, rate),
			 figures_format(FIGURE_MICROSECONDS, figures_number(knee, "latency_us.p99"), p99));

	if (s->best == s->knee)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ", and no depth has more.");
	else
		n += snprintf(text + n, sizeof(text) - (size_t)n, ". The best, %s, takes depth %u.",
			      figures_format(FIGURE_BYTES_PER_SECOND, s->points[s->best].throughput, rate),
			      s->points[s->best].depth);
	if (s->stopped)
		snprintf(text + n, sizeof(text) - (size_t)n, " It ended early: more depths may have had more.");
	else if (s->grows)
		snprintf(text + n, sizeof(text) - (size_t)n, " It still grew at depth %u, the last that was allowed.",
			 q->most);
	cli_json_str(o, "verdict", text);
}

/* Figures of a depth are in its point; these say which. */
static void add_marked(struct json_object *o, const struct sweep_outcome *out)
{
	struct json_object *points = json_object_get(out->points);

	json_object_object_add(o, "points", points);
	json_object_object_add(o, "knee", json_object_get(json_object_array_get_idx(points, out->sweep.knee)));
	json_object_object_add(o, "best", json_object_get(json_object_array_get_idx(points, out->sweep.best)));
	cli_json_bool(o, "still_grows", out->sweep.grows);
}

/* How sure the knee is: it rests on two depths. */
static void note_spread(struct json_object *point, struct bench_notes *notes)
{
	double least = figures_number(point, "least_bytes_per_second");
	double most = figures_number(point, "most_bytes_per_second");
	char a[FIGURE_TEXT_MAX], b[FIGURE_TEXT_MAX];

	if (most - least <= SPREAD_MAX * figures_number(point, "bytes_per_second"))
		return;
	bench_note(notes, "runs of depth %.0f had %s to %s: the knee is no surer than that, a longer --time may help",
		   figures_number(point, "depth"), figures_format(FIGURE_BYTES_PER_SECOND, least, a),
		   figures_format(FIGURE_BYTES_PER_SECOND, most, b));
}

struct json_object *sweep_doc(const struct sweep_request *q, struct sweep_outcome *out)
{
	struct json_object *o = machine_doc("sweep", q->label, &q->micro.target, out->all);

	add_verdict(o, q, out);
	bench_json_into(o, &q->micro.target, out->all);
	cli_json_str(o, "path", pst_path_name(bench_main_path(out->all->path_bytes)));
	add_options(o, q, out);
	add_marked(o, out);
	add_feeds(o, q, out->sweep.points[out->sweep.knee].throughput);
	note_spread(figures_at(o, "knee"), &out->all->notes);
	if (out->sweep.best != out->sweep.knee)
		note_spread(figures_at(o, "best"), &out->all->notes);
	bench_json_end(o, out->all);
	return o;
}

/* ---- text ---------------------------------------------------------------------------------- */

static struct json_object *item(struct json_object *list, size_t i)
{
	return json_object_array_get_idx(list, i);
}

static const char *cell(struct json_object *o, const char *path, enum figure_unit unit, char buf[FIGURE_TEXT_MAX])
{
	return figures_format(unit, figures_number(o, path), buf);
}

static void points_text(struct json_object *doc)
{
	struct json_object *points = figures_at(doc, "points");
	double knee = figures_number(doc, "knee.depth");
	char a[FIGURE_TEXT_MAX], b[FIGURE_TEXT_MAX], c[FIGURE_TEXT_MAX], d[FIGURE_TEXT_MAX], e[FIGURE_TEXT_MAX];
	char runs[2 * FIGURE_TEXT_MAX];

	printf("\n%8s %14s %26s %12s %10s %10s %12s\n", "depth", "throughput", "runs", "I/Os", "p50", "p99",
	       "CPU here");
	for (size_t i = 0; i < json_object_array_length(points); i++) {
		struct json_object *p = item(points, i);

		snprintf(runs, sizeof(runs), "%s - %s", cell(p, "least_bytes_per_second", FIGURE_BYTES_PER_SECOND, a),
			 cell(p, "most_bytes_per_second", FIGURE_BYTES_PER_SECOND, b));
		printf("%8.0f %14s %26s %12s %10s %10s %12s%s\n", figures_number(p, "depth"),
		       cell(p, "bytes_per_second", FIGURE_BYTES_PER_SECOND, a), runs,
		       cell(p, "iops", FIGURE_PER_SECOND, b),
		       cell(p, "latency_us.p50", FIGURE_MICROSECONDS, c),
		       cell(p, "latency_us.p99", FIGURE_MICROSECONDS, d),
		       cell(p, "cpu_seconds_per_gigabyte.client", FIGURE_SECONDS_PER_GIGABYTE, e),
		       figures_number(p, "depth") == knee ? "   the knee" : "");
	}
}

static void feeds_text(struct json_object *doc)
{
	struct json_object *feeds = figures_at(doc, "feeds");
	char each[FIGURE_TEXT_MAX], rate[FIGURE_TEXT_MAX];

	if (!feeds)
		return;
	printf("\nAccelerators that %s feed at a utilisation of %.0f %%, an estimate: each takes that share of\n"
	       "sample bytes * batch / computing time of its workload, and reads as this sweep did.\n\n"
	       "%-12s %-12s %14s %8s %10s\n", cell(doc, "knee.bytes_per_second", FIGURE_BYTES_PER_SECOND, rate),
	       100 * figures_number(doc, "utilisation"), "workload", "accelerator", "each takes", "how many",
	       "exactly");
	for (size_t i = 0; i < json_object_array_length(feeds); i++) {
		struct json_object *f = item(feeds, i);

		printf("%-12s %-12s %14s %8.0f %10.2f\n", figures_text(f, "workload"), figures_text(f, "accelerator"),
		       cell(f, "bytes_per_second_each", FIGURE_BYTES_PER_SECOND, each),
		       figures_number(f, "accelerators"), figures_number(f, "exactly"));
	}
}

int sweep_text(struct json_object *doc)
{
	struct json_object *notes = figures_at(doc, "notes"), *all = figures_at(doc, "targets");
	char size[FORMAT_MAX];

	printf("%s\n\n", figures_text(doc, "verdict"));
	for (size_t i = 0; all && i < json_object_array_length(all); i++)
		printf("%-14s %s\n", i ? "" : "volumes", figures_text(item(all, i), "uri"));
	if (!all)
		printf("%-14s %s\n", "volume", figures_text(doc, "target.uri"));
	printf("%-14s %s, path %s\n", "into", figures_text(doc, "into.kind"), figures_text(doc, "path"));
	printf("%-14s %s of %s, %.0f queue(s) per volume, %.0f thread(s)\n", "pattern",
	       figures_text(doc, "options.io"),
	       format_size((uint64_t)figures_number(doc, "options.block_size_bytes"), size, sizeof(size)),
	       figures_number(doc, "options.queues"), figures_number(doc, "options.threads"));
	points_text(doc);
	feeds_text(doc);
	for (size_t i = 0; i < json_object_array_length(notes); i++)
		printf("%s%-14s %s\n", i ? "" : "\n", i ? "" : "notes", json_object_get_string(item(notes, i)));
	return fflush(stdout) == 0 ? CLI_DONE : cli_error("standard output cannot take the report");
}
