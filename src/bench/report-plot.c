/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts for gnuplot. Its colours are those of a light page; the page's style finds them by value
 * and gives them others in the dark, which is why they are few and fixed: see report-style.c.
 */
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "bench/figures.h"
#include "bench/report.h"
#include "bench/series.h"

#define AXIS	"#8a8f94"
#define GRID	"#e2e3de"
#define FIRST	"#1f4e79"
#define SECOND	"#4a90c8"
#define THIRD	"#d9702b"
#define PALE	"#cfe0ef"

/* A unit that makes numbers short. */
struct unit {
	double divide;
	const char *name;
};

static struct unit time_unit(double most_us)
{
	if (most_us >= 2e6)
		return (struct unit){ 1e6, "s" };
	return most_us >= 2e3 ? (struct unit){ 1e3, "ms" } : (struct unit){ 1, "us" };
}

static struct unit rate_unit(double most)
{
	if (most >= 2.0 * (1 << 30))
		return (struct unit){ 1 << 30, "GiB/s" };
	return most >= 2.0 * (1 << 20) ? (struct unit){ 1 << 20, "MiB/s" } : (struct unit){ 1 << 10, "KiB/s" };
}

/* ---- every plot ------------------------------------------------------------------------------ */

static struct text *begin(struct report_plot *p, const char *caption, const char *says)
{
	*p = (struct report_plot){ .caption = caption, .says = says };
	text_add(&p->script, "set terminal svg size 520,240 dynamic noenhanced font 'sans-serif,12'\n"
			     "set encoding utf8\nset border 3 lc rgb '" AXIS "'\n"
			     "set tics nomirror out scale 0.4\n"
			     "set grid ytics lt 1 lw 1 lc rgb '" GRID "'\n"
			     "set key at graph 1,1.16 right top horizontal samplen 1.2 width 1\n"
			     "set lmargin 8\nset rmargin 2.5\nset tmargin 2.4\nset bmargin 3.2\n");
	return &p->script;
}

static void axes(struct text *t, const char *x, const char *y)
{
	text_add(t, "set xlabel '%s' offset 0,0.4\nset label 1 '%s' at graph 0,1.0 right offset -0.8,1.05\n", x, y);
}

static void range(struct text *t, const char *axis, double low, double high)
{
	text_add(t, "set %srange [%.9g:%.9g]\n", axis, low, high);
}

/* From nothing, with air above; or in powers where the highest is far above the lowest. */
static void scale_y(struct text *t, double least, double most)
{
	least = MAX(least, most / 1e4);
	if (least > 0 && most / least > 20) {
		text_add(t, "set logscale y\n");
		range(t, "y", pow(10, floor(log10(least))), pow(10, ceil(log10(most) - 1e-9)));
	} else {
		range(t, "y", 0, most > 0 ? most * 1.08 : 1);
	}
}

/* ---- over time ------------------------------------------------------------------------------- */

enum { SECONDS, IOPS, BYTES, P50, P95, P99, WAITING };

static double most_in(struct json_object *doc, int column)
{
	struct json_object *series = figures_at(doc, "series");
	double most = 0;

	for (size_t i = 0; i < report_length(series); i++) {
		struct json_object *rows = figures_at(report_item(series, i), "rows");

		for (size_t r = 0; r < report_length(rows); r++)
			most = MAX(most, report_cell(rows, r, (size_t)column));
	}
	return most;
}

static double least_in(struct json_object *doc, int column)
{
	struct json_object *series = figures_at(doc, "series");
	double least = 0;

	for (size_t i = 0; i < report_length(series); i++) {
		struct json_object *rows = figures_at(report_item(series, i), "rows");

		for (size_t r = 0; r < report_length(rows); r++) {
			double x = report_cell(rows, r, (size_t)column);

			least = x > 0 && (least <= 0 || x < least) ? x : least;
		}
	}
	return least;
}

/*
 * Waiting is recorded when what was waited for arrives; it went on before that. So what is more than a
 * slice has room for, with @n accelerators, goes into the slices before.
 */
static void spread(struct json_object *rows, double n, double ret[SERIES_SLICES])
{
	double over = 0;

	for (size_t r = MIN(report_length(rows), (size_t)SERIES_SLICES); r-- > 0;) {
		double length = report_cell(rows, r, SECONDS) - (r ? report_cell(rows, r - 1, SECONDS) : 0), part;

		over += report_cell(rows, r, WAITING) * length;
		part = MIN(over, n * length);
		ret[r] = length > 0 ? part / length : 0;
		over -= part;
	}
}

/* A slice in which nothing completed has a rate of 0 and no latency: the line goes on to the next that has one. */
static void add_row(struct text *t, struct json_object *rows, size_t r, double x, const int *columns, size_t n,
		    double divide, const double *waiting)
{
	bool rate = columns[0] == BYTES || columns[0] == WAITING;

	if (!rate && report_cell(rows, r, (size_t)columns[0]) <= 0)
		return;
	text_add(t, "%.6g", x);
	for (size_t c = 0; c < n; c++)
		text_add(t, " %.6g",
			 (columns[c] == WAITING ? waiting[r] : report_cell(rows, r, (size_t)columns[c])) / divide);
	text_add(t, "\n");
}

/* One run behind the other, a line between them. Each value is drawn in the middle of its slice. */
static void add_runs(struct text *t, struct json_object *doc, const int *columns, size_t n, double divide)
{
	struct json_object *series = figures_at(doc, "series");
	double begin_at = 0;

	text_add(t, "$d << EOD\n");
	for (size_t i = 0; i < report_length(series); i++) {
		struct json_object *rows = figures_at(report_item(series, i), "rows");
		double before = 0, at = 0, waiting[SERIES_SLICES];

		spread(rows, MAX(figures_number(doc, "workload.accelerators"), 1.0), waiting);
		for (size_t r = 0; r < MIN(report_length(rows), (size_t)SERIES_SLICES); r++) {
			at = report_cell(rows, r, SECONDS);
			add_row(t, rows, r, begin_at + (before + at) / 2, columns, n, divide, waiting);
			before = at;
		}
		text_add(t, "\n");
		begin_at += at;
	}
	text_add(t, "EOD\n");
	range(t, "x", 0, begin_at > 0 ? begin_at : 1);
	begin_at = 0;
	for (size_t i = 0; i + 1 < report_length(series); i++) {
		struct json_object *rows = figures_at(report_item(series, i), "rows");

		begin_at += report_length(rows) ? report_cell(rows, report_length(rows) - 1, SECONDS) : 0;
		text_add(t, "set arrow from %.6g, graph 0 to %.6g, graph 1 nohead lt 1 lc rgb '" AXIS "'\n", begin_at,
			 begin_at);
	}
}

static void latency_plot(struct json_object *doc, struct report_plot *p)
{
	struct text *t;
	double most = most_in(doc, P99);
	struct unit u = time_unit(most);

	if (report_kind(doc) == REPORT_TRAINING)
		t = begin(p, "Wait for a batch over time",
			  "How long the batches that came in each moment were waited for.");
	else if (report_kind(doc) == REPORT_IO)
		t = begin(p, "Latency over time", "Of the I/Os that completed in each moment.");
	else
		t = begin(p, "Latency over time", "Of the pieces that completed in each moment.");
	add_runs(t, doc, (const int[]){ P50, P95, P99 }, 3, u.divide);
	scale_y(t, least_in(doc, P50) / u.divide, most / u.divide);
	axes(t, "seconds", u.name);
	text_add(t, "plot $d using 1:4 with lines lt 1 lw 1.4 lc rgb '" THIRD "' title 'p99', "
		    "$d using 1:3 with lines lt 1 lw 1.4 lc rgb '" SECOND "' title 'p95', "
		    "$d using 1:2 with lines lt 1 lw 1.8 lc rgb '" FIRST "' title 'p50'\n");
}

static void throughput_plot(struct json_object *doc, struct report_plot *p)
{
	struct text *t = begin(p, "Throughput over time", "Bytes that arrived in each moment.");
	double most = most_in(doc, BYTES);
	struct unit u = rate_unit(most);

	add_runs(t, doc, (const int[]){ BYTES }, 1, u.divide);
	range(t, "y", 0, most > 0 ? most / u.divide * 1.08 : 1);
	axes(t, "seconds", u.name);
	text_add(t, "plot $d using 1:2 with filledcurves y1=0 fs solid 1 noborder lc rgb '" PALE "' notitle, "
		    "$d using 1:2 with lines lt 1 lw 1.8 lc rgb '" FIRST "' notitle\n");
}

/* Accelerator-seconds of waiting per second, over how many accelerators there are. */
static void waiting_plot(struct json_object *doc, struct report_plot *p)
{
	struct text *t = begin(p, "Waiting over time", "Share of the accelerators' time that went into waiting for "
						       "batches, first batches of epochs included.");
	double n = MAX(figures_number(doc, "workload.accelerators"), 1.0);

	add_runs(t, doc, (const int[]){ WAITING }, 1, n / 100);
	range(t, "y", 0, MIN(105.0, MAX(1.0, 1.15 * 100 * most_in(doc, WAITING) / n)));
	axes(t, "seconds", "%");
	text_add(t, "plot $d using 1:2 with filledcurves y1=0 fs solid 1 noborder lc rgb '" PALE "' notitle, "
		    "$d using 1:2 with lines lt 1 lw 1.8 lc rgb '" FIRST "' notitle\n");
}

static void distribution_plot(struct json_object *doc, struct report_plot *p)
{
	struct json_object *rows = figures_at(doc, "latency_distribution.rows");
	static const char *const says[REPORT_KINDS] = {
		[REPORT_IO] = "Share of the I/Os that were done within that time.",
		[REPORT_TRAINING] = "Share of the batches that were there within that time.",
		[REPORT_CHECKPOINTS] = "Share of the ranks' parts that were done within that time.",
		[REPORT_KV] = "Share of the turns that were done within that time.",
		[REPORT_MIXED] = "Share of inference's reads, all streams together, that were done within that time.",
		[REPORT_SWEEP] = "",
	};
	bool wait = report_kind(doc) == REPORT_TRAINING;
	struct text *t = begin(p, wait ? "Distribution of waits" : "Latency distribution", says[report_kind(doc)]);
	size_t n = report_length(rows);
	double high = MAX(report_cell(rows, n - 1, 1), 0.001), low = MAX(report_cell(rows, 0, 1), high / 1e5);
	struct unit u = time_unit(report_cell(rows, MIN(n - 1, (size_t)95), 1));

	text_add(t, "$d << EOD\n");
	for (size_t i = 0; i < n; i++)
		text_add(t, "%.6g %.6g\n", MAX(report_cell(rows, i, 1), low) / u.divide, report_cell(rows, i, 0));
	text_add(t, "EOD\n");
	/* Less than a decade has no tics in powers of ten. */
	if (high / low > 10)
		text_add(t, "set logscale x\n");
	range(t, "x", MIN(low, high / 1.01) / u.divide, high / u.divide);
	range(t, "y", 0, 100);
	text_add(t, "set grid xtics ytics lt 1 lw 1 lc rgb '" GRID "'\n");
	axes(t, u.name, "%");
	text_add(t, "plot $d using 1:2 with steps lt 1 lw 1.8 lc rgb '" FIRST "' notitle\n");
}

/* ---- sweep --------------------------------------------------------------------------------- */

static double point(struct json_object *points, size_t i, const char *path)
{
	return figures_number(report_item(points, i), path);
}

/* @y of each depth, a dot for each that was measured, the knee as an upright. */
static void curve(struct json_object *doc, struct text *t, const char *y, double divide)
{
	struct json_object *points = figures_at(doc, "points");
	double knee = figures_number(doc, "knee.depth"), first = point(points, 0, "depth");
	size_t n = report_length(points);
	double last = n ? point(points, n - 1, "depth") : 1;

	text_add(t, "$d << EOD\n");
	for (size_t i = 0; i < n; i++)
		text_add(t, "%.6g %.6g\n", point(points, i, "depth"), point(points, i, y) / divide);
	text_add(t, "EOD\nset logscale x 2\n");
	range(t, "x", first * 0.85, MAX(last, 2.0) * 1.18);
	text_add(t, "set arrow from %.6g, graph 0 to %.6g, graph 1 nohead lt 1 lw 1.4 lc rgb '" THIRD "'\n"
		    "set label 2 'knee: %.0f' at %.6g, graph 0.06 left offset 0.6,0\n",
		 knee, knee, knee, knee);
	for (size_t i = 0; i < n; i++)
		text_add(t, "set object circle at %.6g,%.6g size screen 0.006 fs solid 1 noborder fc rgb '" FIRST
			    "' front\n",
			 point(points, i, "depth"), point(points, i, y) / divide);
	text_add(t, "plot $d using 1:2 with lines lt 1 lw 1.8 lc rgb '" FIRST "' notitle\n");
}

static double most_of(struct json_object *points, const char *path, bool least)
{
	double found = 0;

	for (size_t i = 0; i < report_length(points); i++) {
		double x = point(points, i, path);

		if (i == 0 || (least ? x < found : x > found))
			found = x;
	}
	return found;
}

static void sweep_plots(struct json_object *doc, struct report_plot *p)
{
	struct json_object *points = figures_at(doc, "points");
	double most = most_of(points, "bytes_per_second", false), slow = most_of(points, "latency_us.p99", false);
	struct text *t = begin(&p[0], "Throughput by depth", "Beyond the knee more in flight brings less than 5 %.");
	struct unit u = rate_unit(most);

	range(t, "y", 0, most / u.divide * 1.1);
	axes(t, "I/Os in flight per queue and volume", u.name);
	curve(doc, t, "bytes_per_second", u.divide);
	u = time_unit(slow);
	t = begin(&p[1], "p99 latency by depth", "What each further I/O in flight costs those that wait behind it.");
	scale_y(t, most_of(points, "latency_us.p99", true) / u.divide, slow / u.divide);
	axes(t, "I/Os in flight per queue and volume", u.name);
	curve(doc, t, "latency_us.p99", u.divide);
}

/* ---- all of them --------------------------------------------------------------------------- */

size_t report_plots(struct json_object *doc, struct report_plot ret[REPORT_PLOTS_MAX])
{
	size_t n = 0;

	if (report_length(figures_at(doc, "points")) > 0) {
		sweep_plots(doc, ret);
		return 2;
	}
	if (report_length(figures_at(doc, "series")) > 0 && most_in(doc, SECONDS) > 0) {
		latency_plot(doc, &ret[n++]);
		throughput_plot(doc, &ret[n++]);
		if (report_kind(doc) == REPORT_TRAINING)
			waiting_plot(doc, &ret[n++]);
	}
	if (report_length(figures_at(doc, "latency_distribution.rows")) > 0)
		distribution_plot(doc, &ret[n++]);
	return n;
}

void report_plots_deinit(struct report_plot *plots, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		text_deinit(&plots[i].script);
		text_deinit(&plots[i].svg);
	}
}

/* ---- what gnuplot wrote ---------------------------------------------------------------------- */

/* The end of an element or attribute that begins at @s and that a page has no use for, or NULL. */
static const char *useless(const char *s)
{
	static const struct {
		const char *begin, *end;
	} list[] = {
		{ "<title>", "</title>" },
		{ "<desc>", "</desc>" },
		{ "<defs>", "</defs>" },
		{ " id=\"", "\"" },
		{ " xmlns:xlink=\"", "\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		size_t n = strlen(list[i].begin);
		const char *end;

		if (strncmp(s, list[i].begin, n) != 0)
			continue;
		end = strstr(s + n, list[i].end);
		return end ? end + strlen(list[i].end) : NULL;
	}
	return NULL;
}

bool report_svg(const char *raw, size_t n, struct report_plot *plot)
{
	const char *s = strstr(raw, "<svg"), *end = s ? strstr(s, "</svg>") : NULL;

	if (!end || end > raw + n)
		return false;
	s += strlen("<svg");
	text_add(&plot->svg, "<svg class=\"plot\" role=\"img\" aria-label=\"");
	text_escape(&plot->svg, plot->caption);
	text_add(&plot->svg, "\"");
	end += strlen("</svg>");
	while (s < end) {
		const char *skip = useless(s);
		bool space = *s == '\n' || *s == '\t' || *s == ' ';

		if (skip) {
			s = skip;
			continue;
		}
		/* Runs of white space are half of its text. */
		if (!space || (s[1] != '\n' && s[1] != '\t' && s[1] != ' '))
			text_put(&plot->svg, space ? " " : s, 1);
		s++;
	}
	return !plot->svg.failed;
}
