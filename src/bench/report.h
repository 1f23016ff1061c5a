/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document of bench or sweep as a page for people: one HTML file without anything from outside,
 * for light and dark, wide and narrow. It is made from the JSON and from nothing else, so a figure
 * on the page is the figure that scripts get: each is a <data> element with its place in the JSON
 * and its value. The verdict comes first, then what it rests on, then what it takes to repeat it.
 *
 * Plots are drawn by gnuplot, whom the caller runs; without it the page has tables in their place.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <json-c/json.h>

#include "bench/text.h"

enum { REPORT_PLOTS_MAX = 6 };

struct report_plot {
	const char *caption;
	const char *says;   /* what one sees in it, in a sentence */
	struct text script; /* for gnuplot, which writes SVG to its standard output */
	struct text svg;    /* report_svg() of that; empty: there was no gnuplot */
};

/* The plots that @doc has data for. Returns how many. */
size_t report_plots(struct json_object *doc, struct report_plot ret[REPORT_PLOTS_MAX]);
void report_plots_deinit(struct report_plot *plots, size_t n);

/*
 * What gnuplot wrote, fit to stand in a page: no prologue, no tooltips, no names that another plot
 * of the page has too. False: that is no SVG.
 */
bool report_svg(const char *raw, size_t n, struct report_plot *plot);

/* The page. @without: why there are no plots, NULL if there are. */
void report_page(struct json_object *doc, const struct report_plot *plots, size_t n, const char *without,
		 struct text *ret);

/* A table of columns and rows, as in the document, as CSV. */
void report_csv(struct json_object *table, struct text *ret);

/* ---- between the files of it ------------------------------------------------------------------ */

extern const char *const report_style[]; /* ends with NULL */

/* What a document is of. */
enum report_kind {
	REPORT_IO, /* a pattern of I/O */
	REPORT_TRAINING,
	REPORT_CHECKPOINTS,
	REPORT_KV,
	REPORT_MIXED,
	REPORT_SWEEP,
	REPORT_KINDS,
};

/* How a kind is spoken of. */
struct report_words {
	const char *op;	       /* "I/Os": whose latencies they are */
	const char *latency;   /* "Latency" */
	const char *in_series; /* "I/Os": what a course over time is of */
};

enum report_kind report_kind(struct json_object *doc);
const struct report_words *report_words(struct json_object *doc);

/* An element of an array, or of a row of a table; a number, or 0. */
struct json_object *report_item(struct json_object *list, size_t i);
double report_cell(struct json_object *rows, size_t row, size_t column);
size_t report_length(struct json_object *list);

#endif
