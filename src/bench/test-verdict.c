/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences for results that are made up, and judgements of figures. */
#include "bench/verdict.h"

#include <string.h>

#include "bench/figures.h"
#include "base/util.h"
#include "tests/tap.h"

#define S UINT64_C(1000000000)

static struct micro_result micro;
static struct train_result train;
static char text[VERDICT_MAX];

static void says(const char *words, const char *when)
{
	if (!ok(strstr(text, words) != NULL, "%s: '%s'", when, words))
		diag("it says: %s", text);
}

static void of_micro(void)
{
	struct micro_options o = { .depth = 32 };
	struct micro_result *r = &micro;

	hist_init(&r->all.latency);
	verdict_micro(&o, r, text, sizeof(text));
	says("Nothing was measured.", "no I/O");
	hist_add(&r->all.latency, 1000000);
	*r = (struct micro_result){ .all = { .ns = S, .ops = 5000, .bytes = 5000 * 4096,
					  .latency = r->all.latency } };
	r->threads = 2;
	r->all.path_bytes[PST_PATH_HOST] = 1;
	r->all.cost.cpu = (struct bench_cpu){ .user_ns = S, .system_ns = S * 9 / 10 };
	r->all.split = (struct pst_timing){ .client_queue = 100, .remote = 900 };
	verdict_micro(&o, r, text, sizeof(text));
	says("5000 IOPS, 19.5 MiB/s, p99 1 ms, over the path 'host'.", "figures first");
	says("This machine's CPU limits: 2 threads doing I/O kept 1.9 CPUs busy.", "CPU that is used up");
	r->all.cost.cpu.user_ns = 0;
	verdict_micro(&o, r, text, sizeof(text));
	says("(90 %) at the far end and on the way there", "one part of the time that is most");
	r->all.split = (struct pst_timing){ .network = 300, .media = 400, .wakeup = 300 };
	verdict_micro(&o, r, text, sizeof(text));
	ok(strstr(text, "An I/O spends") == NULL, "no part stands out: none is blamed");
	o.rate = 5000;
	verdict_micro(&o, r, text, sizeof(text));
	says("It kept the rate", "a rate that is kept");
}

static void of_train(void)
{
	struct train_options o = { .accelerators = 1 };
	struct train_result *r = &train;

	verdict_train(&o, r, text, sizeof(text));
	says("The accelerator did too few steps to say how long it waited.", "one step");
	r->has_au = true;
	r->compute_ns = 900;
	r->stall_ns = 100;
	r->all.split = (struct pst_timing){ .remote = 81, .staging = 17, .wakeup = 2 };
	verdict_train(&o, r, text, sizeof(text));
	says("The accelerator waited 10.0 % of the time, on: remote 81 %, staging 17 %, wakeup 2 %", "a stall");
	o.accelerators = 8;
	r->stall_ns = 0;
	verdict_train(&o, r, text, sizeof(text));
	says("The 8 accelerators waited less than 0.1 % of the time.", "none");
}

static const char before[] = "{\"iops\":1,\"latency_us\":{\"p99\":100},\"repeats\":["
			     "{\"iops\":100,\"latency_us\":{\"p99\":10}},{\"iops\":101,\"latency_us\":{\"p99\":11}},"
			     "{\"iops\":99,\"latency_us\":{\"p99\":12}}]}";
static const char after[] = "{\"repeats\":[{\"iops\":90,\"latency_us\":{\"p99\":10}},"
			    "{\"iops\":91,\"latency_us\":{\"p99\":11}},{\"iops\":89,\"latency_us\":{\"p99\":13}}]}";
static const char one[] = "{\"iops\":50,\"workload\":{\"au_storage\":0.5,\"au_mlperf\":null}}";

static const struct figure *named(const char *name)
{
	for (size_t i = 0; i < figure_count; i++) {
		if (strcmp(figures[i].name, name) == 0)
			return &figures[i];
	}
	return NULL;
}

static void of_figures(void)
{
	struct json_object *a = json_tokener_parse(before), *b = json_tokener_parse(after);
	struct json_object *c = json_tokener_parse(one);
	const struct figure *iops = named("iops"), *p99 = named("latency_us.p99"), *au = named("workload.au_storage");
	struct stats_interval i;
	double v[8];

	ok(figures_values(a, iops, v, 8) == 3 && v[2] == 99, "repeats have values of their own");
	ok(figures_values(a, p99, v, 8) == 3 && v[0] == 10, "inside too");
	ok(figures_values(c, iops, v, 8) == 1 && v[0] == 50, "a single run has one");
	ok(figures_values(c, named("workload.au_mlperf"), v, 8) == 0, "null is no value");
	ok(figures_values(a, au, v, 8) == 0, "nor is what is not there");
	ok(figures_compare(a, b, iops, &i) && figures_judge(iops, &i, 0) == FIGURE_WORSE, "a tenth less is shown");
	ok(figures_judge(iops, &i, 0.2) == FIGURE_SAME, "not to be more than a fifth");
	ok(figures_compare(b, a, iops, &i) && figures_judge(iops, &i, 0) == FIGURE_BETTER,
	   "the other way it is better");
	ok(figures_compare(a, b, p99, &i) && figures_judge(p99, &i, 0) == FIGURE_SAME, "what overlaps shows nothing");
	ok(figures_compare(a, c, iops, &i) && figures_judge(iops, &i, 0) == FIGURE_UNKNOWN, "one run shows nothing");
	ok(!figures_compare(a, c, au, &i), "what one lacks is not compared");
	ok(figures_compare(c, c, au, &i) && i.value == 0, "utilisations are compared by difference");
	ok(figures_number(a, "latency_us.p99") == 100 && figures_number(a, "x.y") == -1, "numbers by path");
	ok(figures_text(a, "iops")[0] == 0, "a number is no text");
	json_object_put(a);
	json_object_put(b);
	json_object_put(c);
}

int main(void)
{
	of_micro();
	of_train();
	of_figures();
	return tap_done();
}
