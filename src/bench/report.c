/* SPDX-License-Identifier: Apache-2.0 */
/* The page: head, verdict, key figures, sections in order. What stands in them is in report-parts.c. */
#include "bench/report.h"

#include <string.h>

#include "bench/figures.h"
#include "bench/report-impl.h"

struct json_object *report_item(struct json_object *list, size_t i)
{
	return json_object_is_type(list, json_type_array) ? json_object_array_get_idx(list, i) : NULL;
}

size_t report_length(struct json_object *list)
{
	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

double report_cell(struct json_object *rows, size_t row, size_t column)
{
	return json_object_get_double(report_item(report_item(rows, row), column));
}

/* ---- kinds --------------------------------------------------------------------------------- */

enum report_kind report_kind(struct json_object *doc)
{
	const char *name = figures_text(doc, "workload.name");

	if (strcmp(figures_text(doc, "schema"), "penstock.sweep/1") == 0)
		return REPORT_SWEEP;
	if (strncmp(name, "checkpoint-", 11) == 0)
		return REPORT_CHECKPOINTS;
	if (strcmp(name, "kv-cache") == 0)
		return REPORT_KV;
	if (strcmp(name, "mixed") == 0)
		return REPORT_MIXED;
	return *name ? REPORT_TRAINING : REPORT_IO;
}

const struct report_words *report_words(struct json_object *doc)
{
	static const struct report_words words[REPORT_KINDS] = {
		[REPORT_IO] = { "I/Os", "Latency", "I/Os" },
		[REPORT_TRAINING] = { "batches", "Waits for a batch", "batches" },
		[REPORT_CHECKPOINTS] = { "ranks' parts", "A rank's part of a checkpoint", "pieces" },
		[REPORT_KV] = { "turns", "Turns", "pieces" },
		[REPORT_MIXED] = { "inference's reads", "Latency of inference's reads", "I/Os" },
		[REPORT_SWEEP] = { "I/Os", "Latency", "I/Os" },
	};

	return &words[report_kind(doc)];
}

/* ---- what everything below is written with ------------------------------------------------------ */

const char *report_emulated(struct json_object *doc)
{
	if (strcmp(figures_text(doc, "into.kind"), "emulated") == 0)
		return "emulated accelerator";
	/* As bench_note_memory() knows it. */
	if (strstr(figures_text(doc, "into.name"), "double"))
		return "test double of a GPU";
	return figures_at(doc, "workload.compute_seconds_per_step") ? "timed accelerator" : NULL;
}

static void badge(struct report *r)
{
	if (r->emulated)
		text_add(r->t, " <span class=\"badge\">%s</span>", r->emulated);
}

void report_section(struct report *r, const char *title, bool figures_in_it)
{
	text_add(r->t, "<section>\n<h2>%s", title);
	if (figures_in_it)
		badge(r);
	text_add(r->t, "</h2>\n");
}

/* The place of a value as a JSON pointer (RFC 6901), which is @at itself where it begins with a slash. */
static void pointer(struct report *r, const char *at)
{
	if (*at != '/')
		text_add(r->t, "/");
	for (size_t i = 0; at[i]; i++)
		text_put(r->t, *at != '/' && at[i] == '.' ? "/" : at + i, 1);
}

void report_data(struct report *r, const char *at, struct json_object *value, const char *shown)
{
	text_add(r->t, "<data data-at=\"");
	pointer(r, at);
	text_add(r->t, "\" value=\"");
	text_escape(r->t, value ? json_object_to_json_string(value) : "");
	text_add(r->t, "\">");
	text_escape(r->t, shown);
	text_add(r->t, "</data>");
}

void report_figure(struct report *r, const char *at, enum figure_unit unit)
{
	struct json_object *value = figures_at(r->doc, at);
	char shown[FIGURE_TEXT_MAX];

	if (value)
		report_data(r, at, value, figures_format(unit, json_object_get_double(value), shown));
	else
		text_add(r->t, "<span class=\"soft\">none</span>");
}

void report_number(struct report *r, const char *at, const char *after)
{
	struct json_object *value = figures_at(r->doc, at);

	report_data(r, at, value, value ? json_object_get_string(value) : "none");
	text_add(r->t, "%s", after);
}

void report_fact(struct report *r, const char *name, const char *value)
{
	if (!*value)
		return;
	text_add(r->t, "<dt>%s</dt><dd>", name);
	text_escape(r->t, value);
	text_add(r->t, "</dd>\n");
}

/* ---- head and verdict ---------------------------------------------------------------------- */

static bool is_sweep(const struct report *r)
{
	return report_kind(r->doc) == REPORT_SWEEP;
}

static void title(struct report *r)
{
	const char *label = figures_text(r->doc, "label");

	text_add(r->t, "penstock %s", is_sweep(r) ? "sweep" : "bench");
	if (*label) {
		text_add(r->t, " &middot; ");
		text_escape(r->t, label);
	}
}

static void head(struct report *r)
{
	text_add(r->t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
	title(r);
	text_add(r->t, "</title>\n<style>\n");
	for (size_t i = 0; report_style[i]; i++)
		text_add(r->t, "%s", report_style[i]);
	text_add(r->t, "</style>\n</head>\n<body>\n<main>\n<header>\n<p class=\"what\">");
	if (r->emulated)
		text_add(r->t, "<span class=\"badge\">%s</span>", r->emulated);
	title(r);
	text_add(r->t, " &middot; ");
	text_escape(r->t, figures_text(r->doc, "time"));
	text_add(r->t, "</p>\n<h1>");
	text_escape(r->t, figures_text(r->doc, "verdict"));
	text_add(r->t, "</h1>\n</header>\n");
}

/* What qualifies everything: faults first, then notes. */
static void notes(struct report *r)
{
	struct json_object *list = figures_at(r->doc, "notes"), *failures = figures_at(r->doc, "verify.failures");
	double errors = figures_number(r->doc, "errors"), failed = figures_number(r->doc, "verify.failed");

	if (errors <= 0 && failed <= 0 && report_length(list) == 0)
		return;
	text_add(r->t, "<ul class=\"notes\">\n");
	if (errors > 0) {
		text_add(r->t, "<li class=\"bad\">%.0f errors, the first: ", errors);
		text_escape(r->t, figures_text(r->doc, "first_error"));
		text_add(r->t, "</li>\n");
	}
	for (size_t i = 0; i < report_length(failures); i++) {
		text_add(r->t, "<li class=\"bad\">");
		text_escape(r->t, json_object_get_string(report_item(failures, i)));
		text_add(r->t, "</li>\n");
	}
	for (size_t i = 0; i < report_length(list); i++) {
		text_add(r->t, "<li>");
		text_escape(r->t, json_object_get_string(report_item(list, i)));
		text_add(r->t, "</li>\n");
	}
	text_add(r->t, "</ul>\n");
}

static void plots(struct report *r, const struct report_plot *p, size_t n, const char *without)
{
	if (n == 0)
		return;
	report_section(r, is_sweep(r) ? "The curve" : "Over time, and as a whole", without != NULL);
	if (without) {
		text_add(r->t, "<p class=\"soft\">");
		text_escape(r->t, without);
		text_add(r->t, "</p>\n");
	} else {
		text_add(r->t, "<div class=\"plots\">\n");
	}
	for (size_t i = 0; i < n && !without; i++) {
		text_add(r->t, "<figure><figcaption><b>%s", p[i].caption);
		badge(r);
		text_add(r->t, "</b>%s</figcaption>\n%s\n</figure>\n", p[i].says, p[i].svg.s ? p[i].svg.s : "");
	}
	if (!without)
		text_add(r->t, "</div>\n");
	report_tables(r, without != NULL);
	text_add(r->t, "</section>\n");
}

void report_page(struct json_object *doc, const struct report_plot *p, size_t n, const char *without,
		 struct text *ret)
{
	struct report r = { .doc = doc, .t = ret, .emulated = report_emulated(doc) };

	head(&r);
	report_keys(&r);
	notes(&r);
	if (is_sweep(&r)) {
		plots(&r, p, n, without);
		report_sweep(&r);
	} else {
		report_split(&r);
		report_checkpoints(&r);
		report_classes(&r);
		report_streams(&r);
		report_clients(&r);
		plots(&r, p, n, without);
		report_latency(&r);
		report_repeats(&r);
	}
	report_set_up(&r);
	report_topology(&r);
	report_again(&r);
	text_add(ret, "<footer>Made by penstock ");
	text_escape(ret, figures_text(doc, "version"));
	text_add(ret, ". Each figure is a &lt;data&gt; element that names its place in the JSON (RFC 6901).</footer>\n"
		      "</main>\n</body>\n</html>\n");
}

/* ---- CSV ----------------------------------------------------------------------------------- */

void report_csv(struct json_object *table, struct text *ret)
{
	struct json_object *columns = figures_at(table, "columns"), *rows = figures_at(table, "rows");

	for (size_t i = 0; i < report_length(columns); i++)
		text_add(ret, "%s%s", i ? "," : "", json_object_get_string(report_item(columns, i)));
	text_add(ret, "\n");
	for (size_t r = 0; r < report_length(rows); r++) {
		struct json_object *row = report_item(rows, r);

		for (size_t i = 0; i < report_length(row); i++)
			text_add(ret, "%s%s", i ? "," : "", json_object_to_json_string(report_item(row, i)));
		text_add(ret, "\n");
	}
}
