/* SPDX-License-Identifier: Apache-2.0 */
/* penstock sweep: options, and a measurement for each depth. What comes of it is told by sweep-doc.c. */
#include "cli/sweep.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "cli/bench-more.h"
#include "cli/bench-report.h"
#include "cli/report.h"
#include "cli/volume.h"

#define NOT_GIVEN BENCH_NOT_GIVEN

static struct {
	const char *io, *into, *require, *accelerator, *label;
	uint64_t read_percent, block, queues, threads, time, warmup, offset, size, spin, seed, least, most;
	uint64_t utilisation, repeat;
	bool overwrite;
} given = {
	.read_percent = NOT_GIVEN,
	.block = 128 << 10,
	.queues = NOT_GIVEN,
	.threads = NOT_GIVEN,
	.time = UINT64_C(1000000000),
	.warmup = UINT64_C(250000000),
	.repeat = NOT_GIVEN,
	.seed = 1,
	.least = NOT_GIVEN,
	.most = NOT_GIVEN,
	.utilisation = NOT_GIVEN,
};

const struct cli_option sweep_options[] = {
	{ "io", 'i', CLI_TEXT, &given.io, "read|write|randread|randwrite|mixed",
	  "pattern (default randread); all but reads DESTROY what is on the volume", NULL },
	{ "read-percent", 0, CLI_COUNT, &given.read_percent, "N", "reads among mixed I/O (default 70)", NULL },
	{ "block-size", 'b', CLI_SIZE, &given.block, "SIZE", "bytes of one I/O (default 128k)", NULL },
	{ "min-depth", 0, CLI_COUNT, &given.least, "N", "first depth, per queue and volume (default 1)", NULL },
	{ "max-depth", 0, CLI_COUNT, &given.most, "N", "last depth (default 256), if it grows until there", NULL },
	{ "queues", 'Q', CLI_COUNT, &given.queues, "N", "I/O queues (connections) per volume (default 1)", NULL },
	{ "threads", 'T', CLI_COUNT, &given.threads, "N",
	  "threads that do I/O (default: one per CPU, at most one per queue)", NULL },
	{ "time", 't', CLI_DURATION, &given.time, "TIME", "to measure a depth, each time (default 1s)", NULL },
	{ "warmup", 'w', CLI_DURATION, &given.warmup, "TIME", "before that, not counted (default 250ms)", NULL },
	{ "repeat", 'r', CLI_COUNT, &given.repeat, "N",
	  "times that each depth is measured; the median counts (default 3)", NULL },
	{ "offset", 0, CLI_SIZE, &given.offset, "N", "first byte of the range (default 0)", NULL },
	{ "size", 0, CLI_SIZE, &given.size, "N", "bytes of the range (default: to the end)", NULL },
	{ "spin", 0, CLI_DURATION, &given.spin, "TIME", "poll this long before sleeping (default 0s)", NULL },
	{ "seed", 0, CLI_COUNT, &given.seed, "N", "of random orders (default 1)", NULL },
	{ "overwrite", 0, CLI_FLAG, &given.overwrite, NULL, "write even where a dataset is", NULL },
	{ "into", 0, CLI_TEXT, &given.into, CLI_INTO_VALUES, "memory that data lands in (default host)", NULL },
	{ "require-path", 0, CLI_TEXT, &given.require, CLI_PATH_VALUES, "exit with 3 if data takes another way",
	  NULL },
	{ "accelerator", 'A', CLI_TEXT, &given.accelerator, "NAME",
	  "which to feed: h100, a100, b200, mi355 (default h100 and b200)", NULL },
	{ "utilisation", 'u', CLI_COUNT, &given.utilisation, "PERCENT",
	  "that they are to be kept at (default 90)", NULL },
	{ "report", 'R', CLI_TEXT, &bench_report.path, "DIR|FILE.html",
	  "write a page to read; into a directory, also its JSON", NULL },
	{ "target-pid", 0, CLI_COUNT, &bench_report.target_pid, "PID",
	  "process of the target on this machine, to report its CPU time too", NULL },
	{ "label", 'l', CLI_TEXT, &given.label, "TEXT", "goes into the report", NULL },
	CLI_OPTION_OUTPUT,
	CLI_OPTIONS_IDENTITY,
	{ .name = NULL },
};

/* ---- options ------------------------------------------------------------------------------- */

static int parse_io(struct micro_options *o)
{
	const char *io = given.io ? given.io : "randread";

	o->read_percent = given.read_percent == NOT_GIVEN ? 70 : (unsigned int)given.read_percent;
	for (int i = PATTERN_READ; i <= PATTERN_MIXED; i++) {
		if (strcmp(io, pattern_name((enum pattern_kind)i)) != 0)
			continue;
		o->kind = (enum pattern_kind)i;
		if (given.read_percent != NOT_GIVEN && o->kind != PATTERN_MIXED)
			return cli_usage("sweep: --read-percent has a meaning with --io mixed only");
		if (o->read_percent > 100)
			return cli_usage("sweep: --read-percent: expected 0 to 100");
		return CLI_DONE;
	}
	return cli_usage("sweep: --io '%s': expected read, write, randread, randwrite or mixed", io);
}

static int count(const char *name, uint64_t value, uint64_t otherwise, unsigned int most, unsigned int *ret)
{
	value = value == NOT_GIVEN ? otherwise : value;
	if (value < 1 || value > most)
		return cli_usage("sweep: --%s %llu: expected 1 to %u", name, (unsigned long long)value, most);
	*ret = (unsigned int)value;
	return CLI_DONE;
}

static int parse_counts(struct sweep_request *q)
{
	struct micro_options *o = &q->micro;
	int rc = count("queues", given.queues, 1, 128, &o->queues);

	if (rc == CLI_DONE && given.threads != NOT_GIVEN)
		rc = count("threads", given.threads, 1, BENCH_THREADS_MAX, &o->threads);
	if (rc == CLI_DONE)
		rc = count("max-depth", given.most, 256, 1024, &q->most);
	if (rc == CLI_DONE)
		rc = count("min-depth", given.least, 1, 1024, &q->least);
	if (rc == CLI_DONE && q->least > q->most)
		rc = cli_usage("sweep: --min-depth %u is above --max-depth %u", q->least, q->most);
	if (rc == CLI_DONE)
		rc = count("utilisation", given.utilisation, 90, 100, &q->utilisation);
	if (rc == CLI_DONE)
		rc = count("repeat", given.repeat, 3, BENCH_REPEAT_MAX, &q->repeat);
	if (rc == CLI_DONE && given.time == 0)
		rc = cli_usage("sweep: --time: expected more than 0");
	return rc;
}

static int parse_accelerator(struct sweep_request *q)
{
	q->accelerator = given.accelerator;
	for (size_t i = 0; i < workload_count; i++) {
		if (!q->accelerator || strcmp(workloads[i].accelerator, q->accelerator) == 0)
			return CLI_DONE;
	}
	return cli_usage("sweep: no figures of any workload for the accelerator '%s': expected h100, a100, b200 "
			 "or mi355", q->accelerator);
}

static int parse_target(struct bench_target *t, int argc, char **argv)
{
	struct pst_cuda_options co = PST_OPTIONS(co);
	struct cli_into into;
	int rc;

	if (argc > BENCH_URIS_MAX)
		return cli_usage("sweep: %d volumes: expected at most %d", argc, BENCH_URIS_MAX);
	rc = cli_into_parse("sweep", given.into ? given.into : "host", given.require, &into);
	if (rc != CLI_DONE)
		return rc;
	*t = (struct bench_target){
		.uris = (const char *const *)argv,
		.uri_count = (size_t)argc,
		.hostnqn = cli_identity.hostnqn,
		.hostid = cli_identity.hostid,
		.spin_ns = given.spin,
		.clock = &bench_clock_real,
		.stop = &bench_stop,
		.emulated = into.kind == PST_MEMORY_EMULATED,
		.cuda = into.kind == PST_MEMORY_CUDA,
		.device = into.device,
		.require = into.require,
		.cuda_options = co,
	};
	t->device_name = mem_strdup(into.name);
	if (!t->device_name)
		return cli_error("out of memory");
	rc = bench_watch_target("sweep", t);
	return rc == CLI_DONE ? bench_check_path("sweep", t, &into) : rc;
}

/* ---- the live line --------------------------------------------------------------------------- */

static void show(const struct bench_live *l, void *arg)
{
	const struct micro_options *o = arg;
	char rate[FORMAT_MAX], p99[FORMAT_MAX];

	fprintf(stderr, "\rdepth %u, %s: %s/s, p99 %s\033[K", o->depth, l->phase,
		format_size((uint64_t)l->bytes_per_second, rate, sizeof(rate)),
		format_duration(l->p99_ns, p99, sizeof(p99)));
	fflush(stderr);
}

/* A depth that was measured stays to be seen. */
static void show_done(const struct micro_options *o, const struct micro_result *r)
{
	char rate[FORMAT_MAX], p99[FORMAT_MAX];

	if (!o->live)
		return;
	fprintf(stderr, "\rdepth %-4u %s/s, p99 %s\033[K\n", o->depth,
		format_size((uint64_t)((double)r->all.bytes * 1e9 / (double)r->all.ns), rate, sizeof(rate)),
		format_duration(hist_percentile(&r->all.latency, 99), p99, sizeof(p99)));
}

/* ---- measuring ----------------------------------------------------------------------------- */

struct running {
	struct micro_options micro;
	struct micro_result *runs; /* of one depth */
	unsigned int repeat;
	struct sweep_outcome *out;
	unsigned int measured; /* in all */
};

static uint64_t depth_of(const void *element)
{
	struct json_object *const *o = element, *depth;

	return json_object_object_get_ex(*o, "depth", &depth) ? json_object_get_uint64(depth) : 0;
}

static int by_depth(const void *a, const void *b)
{
	return depth_of(a) < depth_of(b) ? -1 : depth_of(a) > depth_of(b);
}

static double rate_of(const struct micro_result *r)
{
	return r->all.ns ? (double)r->all.bytes * 1e9 / (double)r->all.ns : 0;
}

/* 0; 1: what an error or an interruption cut short is no measurement of that depth; -errno. */
static int measure_once(struct running *x, struct micro_result *r, struct err *err)
{
	int rc = micro_run(&x->micro, r, err);

	if (rc < 0)
		return rc;
	if (x->measured++ == 0)
		*x->out->all = r->all;
	else
		bench_result_merge(x->out->all, &r->all);
	x->out->threads = r->threads;
	return r->all.interrupted || r->all.path_missed || r->all.errors > 0;
}

/* The run in the middle: whatever disturbs a machine makes some runs slow, and few fast. */
static int measure(unsigned int depth, double *ret_throughput, void *arg, struct err *err)
{
	struct running *x = arg;
	unsigned int order[BENCH_REPEAT_MAX];
	const struct micro_result *middle;

	x->micro.depth = depth;
	for (unsigned int i = 0; i < x->repeat; i++) {
		int rc = measure_once(x, &x->runs[i], err);
		unsigned int at = i;

		if (rc != 0)
			return rc;
		for (; at > 0 && rate_of(&x->runs[order[at - 1]]) > rate_of(&x->runs[i]); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	middle = &x->runs[order[x->repeat / 2]];
	if (middle->all.bytes == 0)
		return err_set(err, ETIMEDOUT, "depth %u: nothing completed in %g s: expected a longer --time", depth,
			       (double)x->micro.time_ns / 1e9);
	show_done(&x->micro, middle);
	json_object_array_add(x->out->points, sweep_point(depth, middle, rate_of(&x->runs[order[0]]),
							  rate_of(&x->runs[order[x->repeat - 1]])));
	json_object_array_sort(x->out->points, by_depth);
	*ret_throughput = rate_of(middle);
	return 0;
}

/* ---- the end ------------------------------------------------------------------------------- */

static int report(const struct sweep_request *q, struct sweep_outcome *o)
{
	struct json_object *doc;
	int rc = CLI_DONE, printed;

	if (o->all->path_missed) {
		cli_error("sweep: --require-path %s: data takes the path '%s'", given.require,
			  pst_path_name(o->all->path_taken));
		return CLI_REQUIRE;
	}
	if (o->sweep.n == 0)
		return bench_judge(o->all) != CLI_DONE ? CLI_FAILED
						       : cli_error("sweep: interrupted before a depth was measured");
	doc = sweep_doc(q, o);
	if (bench_report.path)
		rc = report_write(doc, bench_report.path);
	if (cli_json) {
		printed = cli_json_print(doc);
	} else {
		printed = sweep_text(doc);
		json_object_put(doc);
	}
	rc = rc == CLI_DONE ? printed : rc;
	return bench_judge(o->all) == CLI_DONE ? rc : CLI_FAILED;
}

static int run(const struct sweep_request *q, struct running *x, struct sweep_outcome *o)
{
	struct err err = ERR_NULL;
	int rc;

	x->micro = q->micro;
	if (isatty(STDERR_FILENO) == 1) {
		x->micro.live = show;
		x->micro.live_arg = &x->micro;
	}
	rc = sweep_run(q->least, q->most, measure, x, &o->sweep, &err);
	if (x->micro.live)
		fputs("\r\033[K", stderr);
	return rc < 0 ? cli_error("%s", err_text(&err)) : report(q, o);
}

int cmd_sweep(int argc, char **argv)
{
	struct sweep_request q = { .label = given.label };
	struct sweep_outcome o = { .all = mem_zalloc(sizeof(*o.all)), .points = json_object_new_array() };
	struct running x = { .out = &o };
	int rc = o.all ? parse_io(&q.micro) : cli_error("out of memory");

	q.micro.block_bytes = given.block;
	q.micro.time_ns = given.time;
	q.micro.warmup_ns = given.warmup;
	q.micro.offset = given.offset;
	q.micro.size = given.size;
	q.micro.seed = given.seed;
	q.micro.overwrite = given.overwrite;
	if (rc == CLI_DONE)
		rc = parse_counts(&q);
	if (rc == CLI_DONE)
		rc = parse_accelerator(&q);
	if (rc == CLI_DONE && bench_report.path)
		rc = report_check(bench_report.path);
	if (rc == CLI_DONE)
		rc = parse_target(&q.micro.target, argc, argv);
	x.repeat = q.repeat;
	x.runs = rc == CLI_DONE ? mem_calloc(q.repeat, sizeof(*x.runs)) : NULL;
	if (rc == CLI_DONE && !x.runs)
		rc = cli_error("out of memory");
	if (rc == CLI_DONE) {
		bench_catch_signals();
		prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
		rc = run(&q, &x, &o);
	}
	mem_free((void *)(uintptr_t)q.micro.target.device_name);
	json_object_put(o.points);
	mem_free(o.all);
	mem_free(x.runs);
	return rc;
}
