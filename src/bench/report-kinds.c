/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of a page that only some kinds of measurement have; each looks for its own, and is silent without. */
#include <stdio.h>

#include "base/util.h"
#include "bench/report-impl.h"

enum { CHECKPOINTS_SHOWN = 50 };

static void begin_table(struct report *r, const char *title, const char *const *columns)
{
	report_section(r, title, true);
	text_add(r->t, "<div class=\"scroll\"><table>\n<tr>");
	for (size_t i = 0; columns[i]; i++)
		text_add(r->t, "<th%s>%s</th>", i ? " class=\"n\"" : "", columns[i]);
	text_add(r->t, "</tr>\n");
}

static void end_table(struct report *r, const char *says)
{
	text_add(r->t, "</table></div>\n");
	if (says)
		text_add(r->t, "<p class=\"soft\">%s</p>\n", says);
	text_add(r->t, "</section>\n");
}

static void name_cell(struct report *r, const char *name)
{
	text_add(r->t, "<th>");
	text_escape(r->t, name);
	text_add(r->t, "</th>");
}

/* ---- checkpoints --------------------------------------------------------------------------- */

void report_checkpoints(struct report *r)
{
	static const char *const columns[] = { "", "duration", NULL };
	struct json_object *list = figures_at(r->doc, "workload.durations_seconds");
	size_t n = MIN(report_length(list), (size_t)CHECKPOINTS_SHOWN);
	char at[64], shown[FIGURE_TEXT_MAX];

	if (n == 0)
		return;
	begin_table(r, "Checkpoint by checkpoint", columns);
	for (size_t i = 0; i < n; i++) {
		struct json_object *x = report_item(list, i);

		text_add(r->t, "<tr><th>%zu</th><td class=\"n\">", i + 1);
		snprintf(at, sizeof(at), "workload.durations_seconds.%zu", i);
		report_data(r, at, x, figures_format(FIGURE_SECONDS, json_object_get_double(x), shown));
		text_add(r->t, "</td></tr>\n");
	}
	end_table(r, n < report_length(list) ? "The first of them; all are in the JSON." : NULL);
}

/* ---- classes of the KV cache ----------------------------------------------------------------- */

void report_classes(struct report *r)
{
	static const char *const columns[] = { "class", "turns",    "p50",  "p95", "promised",
					       "p99",	"promised", "kept", NULL };
	struct json_object *list = figures_at(r->doc, "workload.classes");
	char at[64];

	if (report_length(list) == 0)
		return;
	begin_table(r, "Classes, and what they promise", columns);
	for (size_t i = 0; i < report_length(list); i++) {
		struct json_object *c = report_item(list, i), *kept = figures_at(c, "kept");

		text_add(r->t, "<tr>");
		name_cell(r, figures_text(c, "name"));
		snprintf(at, sizeof(at), "workload.classes.%zu.turns", i);
		text_add(r->t, "<td class=\"n\">");
		report_data(r, at, figures_at(c, "turns"), json_object_get_string(figures_at(c, "turns")));
		text_add(r->t, "</td>");
		report_cell_of(r, c, "workload.classes", i, "latency_us.p50", FIGURE_MICROSECONDS);
		report_cell_of(r, c, "workload.classes", i, "latency_us.p95", FIGURE_MICROSECONDS);
		report_cell_of(r, c, "workload.classes", i, "target_p95_us", FIGURE_MICROSECONDS);
		report_cell_of(r, c, "workload.classes", i, "latency_us.p99", FIGURE_MICROSECONDS);
		report_cell_of(r, c, "workload.classes", i, "target_p99_us", FIGURE_MICROSECONDS);
		text_add(r->t, "<td class=\"n%s\">%s</td></tr>\n",
			 kept && !json_object_get_boolean(kept) ? " bad" : "",
			 !kept ? "no turns" : json_object_get_boolean(kept) ? "yes" : "no");
	}
	end_table(r, "From when a turn was due until all it had to read and to write was done.");
}

/* ---- streams of a mixed run -------------------------------------------------------------------- */

static void stream(struct report *r, struct json_object *s, size_t i)
{
	text_add(r->t, "<tr>");
	name_cell(r, figures_text(s, "name"));
	report_cell_of(r, s, "workload.streams", i, "alone.bytes_per_second", FIGURE_BYTES_PER_SECOND);
	report_cell_of(r, s, "workload.streams", i, "together.bytes_per_second", FIGURE_BYTES_PER_SECOND);
	report_cell_of(r, s, "workload.streams", i, "throughput_ratio", FIGURE_FRACTION);
	report_cell_of(r, s, "workload.streams", i, "alone.latency_us.p99", FIGURE_MICROSECONDS);
	report_cell_of(r, s, "workload.streams", i, "together.latency_us.p99", FIGURE_MICROSECONDS);
	report_cell_of(r, s, "workload.streams", i, "alone.au_storage", FIGURE_FRACTION);
	report_cell_of(r, s, "workload.streams", i, "together.au_storage", FIGURE_FRACTION);
	text_add(r->t, "</tr>\n");
}

void report_streams(struct report *r)
{
	static const char *const columns[] = { "stream",   "alone",	       "together", "keeps", "p99 alone",
					       "together", "utilisation alone", "together", NULL };
	struct json_object *list = figures_at(r->doc, "workload.streams");

	if (report_length(list) == 0)
		return;
	begin_table(r, "Alone, and together", columns);
	for (size_t i = 0; i < report_length(list); i++)
		stream(r, report_item(list, i), i);
	end_table(r, "p99 of training is that of waits for a batch, of checkpoints that of a rank's part.");
}

/* ---- several clients ------------------------------------------------------------------------- */

void report_clients(struct report *r)
{
	static const char *const columns[] = { "client", "throughput", "operations", "p50",
					       "p95",	 "p99",	       "CPU there",  NULL };
	struct json_object *list = figures_at(r->doc, "clients");

	if (report_length(list) == 0)
		return;
	begin_table(r, "Client by client", columns);
	for (size_t i = 0; i < report_length(list); i++) {
		struct json_object *c = report_item(list, i);

		text_add(r->t, "<tr>");
		name_cell(r, figures_text(c, "client"));
		report_cell_of(r, c, "clients", i, "report.bytes_per_second", FIGURE_BYTES_PER_SECOND);
		report_cell_of(r, c, "clients", i, "report.iops", FIGURE_PER_SECOND);
		report_cell_of(r, c, "clients", i, "report.latency_us.p50", FIGURE_MICROSECONDS);
		report_cell_of(r, c, "clients", i, "report.latency_us.p95", FIGURE_MICROSECONDS);
		report_cell_of(r, c, "clients", i, "report.latency_us.p99", FIGURE_MICROSECONDS);
		report_cell_of(r, c, "clients", i, "report.cpu_seconds_per_gigabyte.client",
			       FIGURE_SECONDS_PER_GIGABYTE);
		text_add(r->t, "</tr>\n");
	}
	end_table(r, "Counts and rates of the whole are sums, percentiles those of all latencies together. The "
		     "machine below is the first client's.");
}
