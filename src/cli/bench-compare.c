/* SPDX-License-Identifier: Apache-2.0 */
/*
 * penstock bench compare: two reports in JSON, figure by figure, with how sure one can be. What
 * differs between the two set-ups is listed and not judged: that is what one compares for.
 */
#include <errno.h>
#include <json-c/json.h>
#include <json-c/json_util.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/figures.h"
#include "cli/bench-report.h"

struct compared {
	const struct figure *figure;
	double a, b; /* means */
	size_t runs_a, runs_b;
	struct stats_interval change;
	enum figure_verdict verdict;
};

/* ---- reading ------------------------------------------------------------------------------- */

static struct json_object *load(const char *path)
{
	struct json_object *doc;

	/* json-c's own words for a file that is not there name its source, so the file is tried first. */
	if (access(path, R_OK) < 0) {
		cli_error("bench compare: %s: %s", path, strerror(errno));
		return NULL;
	}
	doc = json_object_from_file(path);
	if (doc && strcmp(figures_text(doc, "schema"), "penstock.bench/1") == 0)
		return doc;
	cli_error("bench compare: %s: expected a report of 'penstock bench --output-format json', schema "
		  "penstock.bench/1%s%s",
		  path, doc ? ", not " : "", doc ? figures_text(doc, "schema") : "");
	json_object_put(doc);
	return NULL;
}

/* As a person reads it, of any type. */
static const char *text_at(struct json_object *doc, const char *path)
{
	struct json_object *o = figures_at(doc, path);

	return o ? json_object_get_string(o) : "";
}

static const char *kind_of(struct json_object *doc)
{
	const char *workload = figures_text(doc, "workload.name"), *io = figures_text(doc, "options.io");

	return *workload ? workload : *io ? io : "something else";
}

/* Two kinds of measurement have no figure in common that means the same. */
static int check_kinds(struct json_object *a, struct json_object *b)
{
	if (strcmp(kind_of(a), kind_of(b)) != 0)
		return cli_error("bench compare: A is a report of %s, B of %s: they measure different things",
				 kind_of(a), kind_of(b));
	if (strcmp(text_at(a, "options.read_percent"), text_at(b, "options.read_percent")) != 0)
		return cli_error("bench compare: of A %s %% are reads, of B %s %%: they measure different things",
				 text_at(a, "options.read_percent"), text_at(b, "options.read_percent"));
	return CLI_DONE;
}

/* ---- comparing ----------------------------------------------------------------------------- */

static double mean_of(struct json_object *doc, const struct figure *f, size_t *ret_n)
{
	double values[FIGURES_REPEATS_MAX];
	struct stats_interval mean;

	*ret_n = figures_values(doc, f, values, FIGURES_REPEATS_MAX);
	return figures_mean(doc, f, &mean) ? mean.value : values[0];
}

static size_t compare(struct json_object *a, struct json_object *b, struct compared *ret)
{
	double margin = bench_report.not_worse == UINT64_MAX ? 0 : (double)bench_report.not_worse / 100;
	size_t n = 0;

	for (size_t i = 0; i < figure_count; i++) {
		struct compared *c = &ret[n];

		c->figure = &figures[i];
		if (!figures_compare(a, b, c->figure, &c->change))
			continue;
		c->a = mean_of(a, c->figure, &c->runs_a);
		c->b = mean_of(b, c->figure, &c->runs_b);
		c->verdict = figures_judge(c->figure, &c->change, margin);
		n++;
	}
	return n;
}

static const char *verdict_name(enum figure_verdict v)
{
	static const char *const names[] = {
		[FIGURE_SAME] = "no difference shown",
		[FIGURE_BETTER] = "better",
		[FIGURE_WORSE] = "worse",
		[FIGURE_UNKNOWN] = "one run: not known",
	};

	return names[v];
}

static const char *const settings[] = {
	"version", "host.name", "host.kernel", "host.cpu_model", "host.cpus", "host.io", "target.uri", "target.model",
	"path", "options.io", "options.read_percent", "options.block_size_bytes", "options.depth", "options.queues",
	"options.threads", "options.rate_iops", "options.spin_seconds", "options.seed", "workload.accelerator",
	"workload.accelerators", "workload.batch", "workload.prefetch", "workload.compute_seconds_per_step",
	"workload.seed", "workload.dataset_bytes",
};

static bool differs(struct json_object *a, struct json_object *b, size_t i)
{
	return strcmp(text_at(a, settings[i]), text_at(b, settings[i])) != 0;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* "+3.2 %", or in percentage points. */
static const char *change(const struct figure *f, double value, char *buf, size_t n)
{
	if (f->unit == FIGURE_FRACTION)
		snprintf(buf, n, "%+.1f points", 100 * value);
	else
		snprintf(buf, n, "%+.1f %%", 100 * (value - 1));
	return buf;
}

/*
 * Of all figures the one that says which is faster: of training the first, utilisation; of users who
 * think between their turns not how many turns there were, but how long they took.
 */
static const struct compared *main_figure(struct json_object *a, const struct compared *c, size_t n)
{
	const char *name = strcmp(figures_text(a, "workload.name"), "kv-cache") == 0 ? "latency_us.p95" : "";

	for (size_t i = 0; i < n; i++) {
		if (strcmp(c[i].figure->name, name) == 0)
			return &c[i];
	}
	return n > 0 ? c : NULL;
}

/* The sentence that everything else is there for. */
static const char *says(const struct compared *c, char *buf, size_t n)
{
	static const char *const begins[] = {
		[FIGURE_SAME] = "No difference is shown",
		[FIGURE_BETTER] = "B is faster than A",
		[FIGURE_WORSE] = "B is slower than A",
		[FIGURE_UNKNOWN] = "Nothing is certain of one run on a side, --repeat makes several",
	};
	char value[32], low[32], high[32], interval[96] = "";

	if (!c) {
		snprintf(buf, n, "The two have no figure in common.");
		return buf;
	}
	if (c->change.known)
		snprintf(interval, sizeof(interval), " (95 %% interval %s to %s)",
			 change(c->figure, c->change.low, low, sizeof(low)),
			 change(c->figure, c->change.high, high, sizeof(high)));
	snprintf(buf, n, "%s: %s %s%s.", begins[c->verdict], c->figure->words,
		 change(c->figure, c->change.value, value, sizeof(value)), interval);
	return buf;
}

static void line(const struct compared *c)
{
	char a[FIGURE_TEXT_MAX], b[FIGURE_TEXT_MAX], value[32], low[32], high[32], interval[80] = "-";

	if (c->change.known)
		snprintf(interval, sizeof(interval), "%s to %s", change(c->figure, c->change.low, low, sizeof(low)),
			 change(c->figure, c->change.high, high, sizeof(high)));
	printf("%-32s %-14s %-14s %-14s %-32s %s\n", c->figure->words, figures_format(c->figure->unit, c->a, a),
	       figures_format(c->figure->unit, c->b, b), change(c->figure, c->change.value, value, sizeof(value)),
	       interval, verdict_name(c->verdict));
}

static int print_text(struct json_object *a, struct json_object *b, char **paths, const struct compared *c, size_t n)
{
	char text[256];

	printf("%s\n\n", says(main_figure(a, c, n), text, sizeof(text)));
	for (int i = 0; i < 2; i++)
		printf("%c  %s%s%s, %s, %zu run%s\n", 'A' + i, paths[i], *figures_text(i ? b : a, "label") ? ", " : "",
		       figures_text(i ? b : a, "label"), figures_text(i ? b : a, "time"),
		       n ? (i ? c->runs_b : c->runs_a) : 0, n && (i ? c->runs_b : c->runs_a) == 1 ? "" : "s");
	printf("\n%-32s %-14s %-14s %-14s %-32s\n", "", "A", "B", "change", "95 % interval");
	for (size_t i = 0; i < n; i++)
		line(&c[i]);
	printf("\nEach interval stands for itself: of twenty figures without a difference, one is marked.\n");
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		if (differs(a, b, i))
			printf("differs: %s: %s, %s\n", settings[i], text_at(a, settings[i]), text_at(b, settings[i]));
	}
	return cli_output_done();
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void add_side(struct json_object *o, const char *key, struct json_object *doc, const char *path)
{
	struct json_object *x = cli_json_object(o, key);

	cli_json_str(x, "file", path);
	cli_json_str(x, "label", figures_text(doc, "label"));
	cli_json_str(x, "time", figures_text(doc, "time"));
	cli_json_str(x, "command", figures_text(doc, "command"));
}

static const char *const words[] = {
	[FIGURE_SAME] = "same",
	[FIGURE_BETTER] = "better",
	[FIGURE_WORSE] = "worse",
	[FIGURE_UNKNOWN] = "unknown",
};

static void add_verdict(struct json_object *o, const struct compared *c)
{
	static const char *const verdicts[] = {
		[FIGURE_SAME] = "no_difference_shown",
		[FIGURE_BETTER] = "faster",
		[FIGURE_WORSE] = "slower",
		[FIGURE_UNKNOWN] = "unknown",
	};
	char text[256];

	cli_json_str(o, "verdict", c ? verdicts[c->verdict] : "unknown");
	cli_json_str(o, "says", says(c, text, sizeof(text)));
	cli_json_str(o, "figure", c ? c->figure->name : "");
}

static void add_compared(struct json_object *list, const struct compared *c)
{
	struct json_object *o = cli_json_object(list, NULL);

	cli_json_str(o, "name", c->figure->name);
	cli_json_bool(o, "more_is_better", c->figure->more_is_better);
	cli_json_double(o, "a", c->a);
	cli_json_double(o, "b", c->b);
	cli_json_u64(o, "runs_a", c->runs_a);
	cli_json_u64(o, "runs_b", c->runs_b);
	cli_json_str(o, "kind", c->figure->unit == FIGURE_FRACTION ? "difference" : "ratio");
	cli_json_double(o, "value", c->change.value);
	/* An interval that does not exist is null, not a number that somebody might use. */
	if (c->change.known) {
		cli_json_double(o, "low", c->change.low);
		cli_json_double(o, "high", c->change.high);
	} else {
		json_object_object_add(o, "low", NULL);
		json_object_object_add(o, "high", NULL);
	}
	cli_json_str(o, "verdict", words[c->verdict]);
}

static int print_json(struct json_object *a, struct json_object *b, char **paths, const struct compared *c, size_t n)
{
	struct json_object *o = cli_json_new("compare"), *list;

	add_verdict(o, main_figure(a, c, n));
	cli_json_double(o, "confidence", FIGURES_CONFIDENCE);
	cli_json_str(o, "method", "Welch's t over repeats, on logarithms for ratios");
	add_side(o, "a", a, paths[0]);
	add_side(o, "b", b, paths[1]);
	list = cli_json_array(o, "figures");
	for (size_t i = 0; i < n; i++)
		add_compared(list, &c[i]);
	list = cli_json_array(o, "differs");
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		struct json_object *x;

		if (!differs(a, b, i))
			continue;
		x = cli_json_object(list, NULL);
		cli_json_str(x, "name", settings[i]);
		cli_json_str(x, "a", text_at(a, settings[i]));
		cli_json_str(x, "b", text_at(b, settings[i]));
	}
	return cli_json_print(o);
}

/* ---- the command --------------------------------------------------------------------------- */

static int require(const struct compared *c, size_t n)
{
	int rc = CLI_DONE;

	for (size_t i = 0; i < n && bench_report.not_worse != UINT64_MAX; i++) {
		if (c[i].verdict == FIGURE_WORSE)
			cli_error("bench compare: --require-not-worse %llu: %s is worse by more than that",
				  (unsigned long long)bench_report.not_worse, c[i].figure->words);
		else if (c[i].verdict == FIGURE_UNKNOWN)
			cli_error("bench compare: --require-not-worse: of one run %s cannot be judged: use --repeat",
				  c[i].figure->words);
		else
			continue;
		rc = CLI_REQUIRE;
	}
	return rc;
}

static int compare_docs(struct json_object *a, struct json_object *b, char **paths)
{
	struct compared c[FIGURES_MAX];
	int rc = check_kinds(a, b), printed;
	size_t n;

	if (rc != CLI_DONE)
		return rc;
	n = compare(a, b, c);
	printed = cli_json ? print_json(a, b, paths, c, n) : print_text(a, b, paths, c, n);
	rc = require(c, n);
	return rc == CLI_DONE ? printed : rc;
}

int bench_compare(int argc, char **argv)
{
	struct json_object *a, *b;
	int rc = CLI_FAILED;

	if (argc != 2)
		return cli_usage("bench compare: expected two files: penstock bench compare A.json B.json");
	a = load(argv[0]);
	b = a ? load(argv[1]) : NULL;
	if (a && b)
		rc = compare_docs(a, b, argv);
	json_object_put(a);
	json_object_put(b);
	return rc;
}
