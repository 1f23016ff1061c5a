/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a page: what its sections are written with, and they. */
#ifndef BENCH_REPORT_IMPL_H
#define BENCH_REPORT_IMPL_H

#include "bench/figures.h"
#include "bench/report.h"

struct report {
	struct json_object *doc;
	struct text *t;
	const char *emulated; /* what of it is no real accelerator; NULL: nothing */
};

/* ---- report.c -------------------------------------------------------------------------------- */

const char *report_emulated(struct json_object *doc);
/* Begins one; whatever shows figures says whether they are an emulated device's. */
void report_section(struct report *r, const char *title, bool figures_in_it);
/* @at: where the value stands in the document, "a.b" or "/a/b"; its text there becomes the value here. */
void report_data(struct report *r, const char *at, struct json_object *value, const char *shown);
void report_figure(struct report *r, const char *at, enum figure_unit unit);
void report_number(struct report *r, const char *at, const char *after);
/* A line of a list of facts; nothing where there is no value. */
void report_fact(struct report *r, const char *name, const char *value);

/* ---- report-parts.c: sections ------------------------------------------------------------------ */

/* A cell with what stands at @path of @o, which itself is element @i of the @list of the document. */
void report_cell_of(struct report *r, struct json_object *o, const char *list, size_t i, const char *path,
		    enum figure_unit unit);
void report_keys(struct report *r);
void report_split(struct report *r);
void report_latency(struct report *r);
void report_repeats(struct report *r);
void report_sweep(struct report *r);
/* The figures of plots, every so many. @open: there are no plots. */
void report_tables(struct report *r, bool open);

/* ---- report-kinds.c: sections that only some kinds have -------------------------------------------- */

void report_checkpoints(struct report *r);
void report_classes(struct report *r);
void report_streams(struct report *r);
void report_clients(struct report *r);

/* ---- report-setup.c: what it was measured on, and how to do it again ------------------------------ */

void report_set_up(struct report *r);
void report_topology(struct report *r);
void report_again(struct report *r);

#endif
