/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "bench/report-impl.h"
#include "bench/verdict.h"

enum { TABLE_ROWS = 24 };

/* ---- key figures --------------------------------------------------------------------------- */

static void key(struct report *r, const char *name, const char *at, enum figure_unit unit, const char *small)
{
	text_add(r->t, "<div><dt>%s</dt><dd>", name);
	report_figure(r, at, unit);
	if (small)
		text_add(r->t, "<small>%s</small>", small);
	text_add(r->t, "</dd></div>\n");
}

static void target_cost(struct report *r)
{
	if (figures_at(r->doc, "cpu_seconds_per_gigabyte.target")) {
		key(r, "CPU of the target", "cpu_seconds_per_gigabyte.target", FIGURE_SECONDS_PER_GIGABYTE, NULL);
		return;
	}
	text_add(r->t, "<div><dt>CPU of the target</dt><dd><span class=\"soft\">not known</span>"
		       "<small>%s</small></dd></div>\n",
		 strcmp(figures_text(r->doc, "target.transport"), "file") == 0
			 ? "a file: there is no other end"
			 : "the target does not tell it");
}

static void keys_of_training(struct report *r)
{
	key(r, "Utilisation", "workload.au_storage", FIGURE_FRACTION, "charged with nothing but storage");
	key(r, "As DLIO has it", "workload.au_mlperf", FIGURE_FRACTION, "not an MLPerf result");
	key(r, "Throughput", "bytes_per_second", FIGURE_BYTES_PER_SECOND, NULL);
	key(r, "Batch wait, p50", "latency_us.p50", FIGURE_MICROSECONDS, NULL);
	key(r, "p99", "latency_us.p99", FIGURE_MICROSECONDS, NULL);
}

static void keys_of_checkpoints(struct report *r)
{
	key(r, "A checkpoint", "workload.duration_seconds", FIGURE_SECONDS, "mean, of its slowest rank");
	key(r, "The longest", "workload.duration_most_seconds", FIGURE_SECONDS, NULL);
	key(r, "Flush", "workload.flush_seconds", FIGURE_SECONDS, "mean, part of that");
	key(r, "Throughput", "workload.bytes_per_second", FIGURE_BYTES_PER_SECOND, "of a checkpoint");
}

/* Everything whose key figures are those that all kinds have. */
static void keys_of_ops(struct report *r)
{
	const struct report_words *w = report_words(r->doc);

	key(r, "Throughput", "bytes_per_second", FIGURE_BYTES_PER_SECOND, NULL);
	key(r, w->op, "iops", FIGURE_PER_SECOND, NULL);
	key(r, "Latency, p50", "latency_us.p50", FIGURE_MICROSECONDS, NULL);
	key(r, "p99", "latency_us.p99", FIGURE_MICROSECONDS, NULL);
}

static void keys_of_sweep(struct report *r)
{
	text_add(r->t, "<div><dt>Knee</dt><dd>");
	report_number(r, "knee.depth", "");
	text_add(r->t, "<small>in flight per queue and volume</small></dd></div>\n");
	key(r, "Throughput there", "knee.bytes_per_second", FIGURE_BYTES_PER_SECOND, NULL);
	key(r, "p99 there", "knee.latency_us.p99", FIGURE_MICROSECONDS, NULL);
	key(r, "Best throughput", "best.bytes_per_second", FIGURE_BYTES_PER_SECOND, NULL);
	text_add(r->t, "<div><dt>Best at depth</dt><dd>");
	report_number(r, "best.depth", "");
	text_add(r->t, "</dd></div>\n");
}

void report_keys(struct report *r)
{
	text_add(r->t, "<section class=\"keys\">\n<dl>\n");
	switch (report_kind(r->doc)) {
	case REPORT_SWEEP:
		keys_of_sweep(r);
		break;
	case REPORT_TRAINING:
		keys_of_training(r);
		break;
	case REPORT_CHECKPOINTS:
		keys_of_checkpoints(r);
		break;
	default:
		keys_of_ops(r);
	}
	if (report_kind(r->doc) != REPORT_SWEEP) {
		key(r, "CPU here", "cpu_seconds_per_gigabyte.client", FIGURE_SECONDS_PER_GIGABYTE, NULL);
		target_cost(r);
	}
	text_add(r->t, "</dl>\n</section>\n");
}

/* ---- where the time went --------------------------------------------------------------------- */

void report_split(struct report *r)
{
	bool workload = figures_at(r->doc, "workload.stall_split") != NULL;
	const char *at = workload ? "workload.stall_split" : "latency_split_us";
	struct json_object *split = figures_at(r->doc, at), *x;
	double sum = 0, factor = workload ? 1e6 : 1;
	char name[64], shown[FIGURE_TEXT_MAX], title[64];

	for (int i = 0; i < BENCH_PARTS; i++)
		sum += MAX(figures_number(split, bench_part_name(i)), 0.0);
	if (sum <= 0)
		return;
	snprintf(title, sizeof(title), "Where %s spend their time", report_words(r->doc)->in_series);
	report_section(r, workload ? "What the accelerators waited for" : title, true);
	text_add(r->t, "<div class=\"bar\" aria-hidden=\"true\">");
	for (int i = 0; i < BENCH_PARTS; i++)
		text_add(r->t, "<i class=\"p%d\" style=\"width:%.3f%%\"></i>", i,
			 100 * MAX(figures_number(split, bench_part_name(i)), 0.0) / sum);
	text_add(r->t, "</div>\n<div class=\"scroll\"><table>\n");
	for (int i = 0; i < BENCH_PARTS; i++) {
		if (!json_object_object_get_ex(split, bench_part_name(i), &x) || json_object_get_double(x) <= 0)
			continue;
		snprintf(name, sizeof(name), "%s.%s", at, bench_part_name(i));
		text_add(r->t, "<tr><td><span class=\"key p%d\"></span>%s</td><td class=\"n\">", i,
			 bench_part_words(i));
		report_data(r, name, x,
			    figures_format(FIGURE_MICROSECONDS, factor * json_object_get_double(x), shown));
		text_add(r->t, "</td><td class=\"n\">%.1f %%</td><td class=\"soft\">%s</td></tr>\n",
			 100 * json_object_get_double(x) / sum, bench_part_name(i));
	}
	text_add(r->t, "</table></div>\n<p class=\"soft\">%s</p>\n</section>\n",
		 workload ? "Accelerator-seconds, first batches of epochs left out; each wait belongs to the request "
			    "that arrived last."
			  : "Of one, in the mean.");
}

/* ---- latency, repeats ------------------------------------------------------------------------ */

static void latency_cell(struct report *r, const char *of, const char *key)
{
	char at[64];

	snprintf(at, sizeof(at), "%slatency_us.%s", of, key);
	text_add(r->t, "<td class=\"n\">");
	report_figure(r, at, FIGURE_MICROSECONDS);
	text_add(r->t, "</td>");
}

void report_latency(struct report *r)
{
	static const char *const keys[] = { "mean", "p50", "p95", "p99", "p99_9", "p99_99", "max" };
	static const char *const words[] = { "mean", "p50", "p95", "p99", "p99.9", "p99.99", "longest" };
	const struct report_words *w = report_words(r->doc);
	bool mixed = figures_at(r->doc, "read") != NULL;

	report_section(r, w->latency, true);
	text_add(r->t, "<div class=\"scroll\"><table>\n<tr><th></th><th class=\"n\">%s</th>%s</tr>\n",
		 w->op,
		 mixed ? "<th class=\"n\">reads</th><th class=\"n\">writes</th>" : "");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		text_add(r->t, "<tr><th>%s</th>", words[i]);
		latency_cell(r, "", keys[i]);
		if (mixed) {
			latency_cell(r, "read.", keys[i]);
			latency_cell(r, "write.", keys[i]);
		}
		text_add(r->t, "</tr>\n");
	}
	text_add(r->t, "</table></div>\n</section>\n");
}

static void interval_row(struct report *r, const struct figure *f, struct json_object *interval)
{
	char shown[FIGURE_TEXT_MAX], at[96];
	static const char *const keys[] = { "mean", "low", "high" };

	text_add(r->t, "<tr><th>%s</th>", f->words);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		text_add(r->t, "<td class=\"n\">");
		snprintf(at, sizeof(at), "/intervals/%s/%s", f->name, keys[i]);
		report_data(r, at, figures_at(interval, keys[i]),
			    figures_format(f->unit, figures_number(interval, keys[i]), shown));
		text_add(r->t, "</td>");
	}
	text_add(r->t, "</tr>\n");
}

void report_repeats(struct report *r)
{
	struct json_object *intervals = figures_at(r->doc, "intervals"), *x;
	size_t n = report_length(figures_at(r->doc, "repeats"));

	if (!intervals) {
		text_add(r->t, "<p class=\"soft\">One run: how far another would be from it is not known; --repeat 5 "
			       "tells.</p>\n");
		return;
	}
	report_section(r, "From run to run", true);
	text_add(r->t, "<p class=\"soft\">%zu runs. Means, and 95 %% intervals of them, by Student's t on "
		       "logarithms, of utilisations "
		       "as they are.</p>\n", n);
	text_add(r->t, "<div class=\"scroll\"><table>\n<tr><th></th><th class=\"n\">mean</th>"
		       "<th class=\"n\">from</th>"
		       "<th class=\"n\">to</th></tr>\n");
	for (size_t i = 0; i < figure_count; i++) {
		if (json_object_object_get_ex(intervals, figures[i].name, &x))
			interval_row(r, &figures[i], x);
	}
	text_add(r->t, "</table></div>\n</section>\n");
}

/* ---- sweep --------------------------------------------------------------------------------- */

void report_cell_of(struct report *r, struct json_object *o, const char *list, size_t i, const char *path,
		    enum figure_unit unit)
{
	char at[96], shown[FIGURE_TEXT_MAX];
	struct json_object *value = figures_at(o, path);

	snprintf(at, sizeof(at), "%s.%zu.%s", list, i, path);
	text_add(r->t, "<td class=\"n\">");
	if (value)
		report_data(r, at, value, figures_format(unit, json_object_get_double(value), shown));
	text_add(r->t, "</td>");
}

static void points(struct report *r)
{
	struct json_object *list = figures_at(r->doc, "points");

	text_add(r->t, "<div class=\"scroll\"><table>\n<tr><th class=\"n\">depth</th><th class=\"n\">throughput</th>"
		       "<th class=\"n\">least run</th><th class=\"n\">most</th>"
		       "<th class=\"n\">I/Os</th><th class=\"n\">p50</th><th class=\"n\">p99</th>"
		       "<th class=\"n\">CPU here</th></tr>\n");
	for (size_t i = 0; i < report_length(list); i++) {
		struct json_object *p = report_item(list, i);
		bool knee = figures_number(p, "depth") == figures_number(r->doc, "knee.depth");

		text_add(r->t, "<tr%s><td class=\"n\">%.0f%s</td>", knee ? " class=\"mark\"" : "",
			 figures_number(p, "depth"), knee ? ", the knee" : "");
		report_cell_of(r, p, "points", i, "bytes_per_second", FIGURE_BYTES_PER_SECOND);
		report_cell_of(r, p, "points", i, "least_bytes_per_second", FIGURE_BYTES_PER_SECOND);
		report_cell_of(r, p, "points", i, "most_bytes_per_second", FIGURE_BYTES_PER_SECOND);
		report_cell_of(r, p, "points", i, "iops", FIGURE_PER_SECOND);
		report_cell_of(r, p, "points", i, "latency_us.p50", FIGURE_MICROSECONDS);
		report_cell_of(r, p, "points", i, "latency_us.p99", FIGURE_MICROSECONDS);
		report_cell_of(r, p, "points", i, "cpu_seconds_per_gigabyte.client", FIGURE_SECONDS_PER_GIGABYTE);
		text_add(r->t, "</tr>\n");
	}
	text_add(r->t, "</table></div>\n");
}

static void feeds(struct report *r)
{
	struct json_object *list = figures_at(r->doc, "feeds");
	char at[64], shown[32];

	report_section(r, "Accelerators that it can feed", true);
	text_add(r->t, "<p class=\"soft\">An estimate: so many keep a utilisation of ");
	report_figure(r, "utilisation", FIGURE_FRACTION);
	text_add(r->t, " on the throughput at the knee. Each takes that share of sample bytes &times; batch / "
		       "computing time, from published figures of its workload, and is taken to read as this sweep "
		       "did. <code>penstock bench --workload</code> measures it.</p>\n");
	text_add(r->t, "<div class=\"scroll\"><table>\n<tr><th>workload</th><th>accelerator</th>"
		       "<th class=\"n\">each takes</th><th class=\"n\">how many</th>"
		       "<th class=\"n\">exactly</th></tr>\n");
	for (size_t i = 0; i < report_length(list); i++) {
		struct json_object *f = report_item(list, i);

		text_add(r->t, "<tr><td>%s</td><td>%s</td>", figures_text(f, "workload"),
			 figures_text(f, "accelerator"));
		report_cell_of(r, f, "feeds", i, "bytes_per_second_each", FIGURE_BYTES_PER_SECOND);
		snprintf(at, sizeof(at), "feeds.%zu.accelerators", i);
		text_add(r->t, "<td class=\"n\"><b>");
		report_data(r, at, figures_at(f, "accelerators"),
			    json_object_get_string(figures_at(f, "accelerators")));
		text_add(r->t, "</b></td><td class=\"n\">");
		snprintf(at, sizeof(at), "feeds.%zu.exactly", i);
		snprintf(shown, sizeof(shown), "%.2f", figures_number(f, "exactly"));
		report_data(r, at, figures_at(f, "exactly"), shown);
		text_add(r->t, "</td></tr>\n");
	}
	text_add(r->t, "</table></div>\n</section>\n");
}

void report_sweep(struct report *r)
{
	report_section(r, "Depth by depth", true);
	points(r);
	text_add(r->t, "</section>\n");
	if (report_length(figures_at(r->doc, "feeds")) > 0)
		feeds(r);
}

/* ---- the figures of plots --------------------------------------------------------------------- */

static void table(struct report *r, struct json_object *t, const char *at, const char *name, bool open)
{
	struct json_object *columns = figures_at(t, "columns"), *rows = figures_at(t, "rows");
	size_t n = report_length(rows), step = MAX((n + TABLE_ROWS - 1) / TABLE_ROWS, (size_t)1);
	char place[96], shown[32];

	text_add(r->t, "<details%s><summary>%s%s</summary><div class=\"scroll\"><table>\n<tr>",
		 open ? " open" : "", name, step > 1 ? ", every so many" : "");
	for (size_t i = 0; i < report_length(columns); i++)
		text_add(r->t, "<th class=\"n\">%s</th>", json_object_get_string(report_item(columns, i)));
	text_add(r->t, "</tr>\n");
	for (size_t i = 0; i < n; i += step) {
		text_add(r->t, "<tr>");
		for (size_t c = 0; c < report_length(columns); c++) {
			snprintf(place, sizeof(place), "%s/rows/%zu/%zu", at, i, c);
			snprintf(shown, sizeof(shown), "%.6g", report_cell(rows, i, c));
			text_add(r->t, "<td class=\"n\">");
			report_data(r, place, report_item(report_item(rows, i), c), shown);
			text_add(r->t, "</td>");
		}
		text_add(r->t, "</tr>\n");
	}
	text_add(r->t, "</table></div></details>\n");
}

void report_tables(struct report *r, bool open)
{
	struct json_object *series = figures_at(r->doc, "series"), *all = figures_at(r->doc, "latency_distribution");
	char name[64], at[32];

	for (size_t i = 0; i < report_length(series); i++) {
		snprintf(at, sizeof(at), "/series/%zu", i);
		if (report_length(series) > 1)
			snprintf(name, sizeof(name), "Figures over time, run %zu", i + 1);
		else
			snprintf(name, sizeof(name), "Figures over time");
		table(r, report_item(series, i), at, name, open);
	}
	if (all)
		table(r, all, "/latency_distribution", "Figures of the distribution", open);
}
