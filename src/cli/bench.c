/* SPDX-License-Identifier: Apache-2.0 */
/* penstock bench: options, running, the live line. Reports are in bench-text.c and bench-json.c. */
#include "cli/bench.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "cli/agent-child.h"
#include "cli/bench-kind.h"
#include "cli/bench-more.h"
#include "cli/bench-report.h"
#include "cli/clients.h"
#include "cli/into.h"
#include "cli/report.h"
#include "cli/volume.h"

#define NOT_GIVEN BENCH_NOT_GIVEN

/* What the command line said; NOT_GIVEN and NULL where it did not. */
static struct {
	const char *io, *into, *require, *workload, *accelerator, *label;
	uint64_t read_percent, block, depth, queues, threads, time, warmup, passes, offset, size, rate, spin;
	uint64_t seed;
	uint64_t accelerators, epochs, steps, batch, prefetch, compute, piece, staging, mapped;
	bool verify, overwrite, go_on;
} given = {
	.read_percent = NOT_GIVEN, .block = NOT_GIVEN,	.depth = NOT_GIVEN,	   .queues = NOT_GIVEN,
	.threads = NOT_GIVEN,	   .time = NOT_GIVEN,	.warmup = NOT_GIVEN,	   .passes = NOT_GIVEN,
	.offset = NOT_GIVEN,	   .size = NOT_GIVEN,	.rate = NOT_GIVEN,	   .spin = 0,
	.seed = 1,		   .epochs = NOT_GIVEN, .accelerators = NOT_GIVEN, .steps = NOT_GIVEN,
	.batch = NOT_GIVEN,	   .compute = NOT_GIVEN, .prefetch = NOT_GIVEN,	   .piece = NOT_GIVEN,
	.staging = NOT_GIVEN,	   .mapped = NOT_GIVEN,
};

const struct cli_option bench_options[] = {
	{ "io", 'i', CLI_TEXT, &given.io, "read|write|randread|randwrite|mixed",
	  "pattern (default read); all but reads DESTROY what is on the volume", NULL },
	{ "read-percent", 0, CLI_COUNT, &given.read_percent, "N", "reads among mixed I/O (default 70)", NULL },
	{ "block-size", 'b', CLI_SIZE, &given.block, "SIZE", "bytes of one I/O (default 4k)", NULL },
	{ "depth", 'd', CLI_COUNT, &given.depth, "N", "I/Os in flight per queue and volume (default 32)", NULL },
	{ "queues", 'Q', CLI_COUNT, &given.queues, "N", "I/O queues (connections) per volume (default 1)", NULL },
	{ "threads", 'T', CLI_COUNT, &given.threads, "N",
	  "threads that do I/O, at most one per queue (default: one per CPU); of each accelerator (default 1)",
	  NULL },
	{ "time", 't', CLI_DURATION, &given.time, "TIME", "how long to measure (default 10s)", NULL },
	{ "warmup", 'w', CLI_DURATION, &given.warmup, "TIME", "I/O before that does not count (default 2s)", NULL },
	{ "passes", 0, CLI_COUNT, &given.passes, "N", "end when every block of the range was used N times", NULL },
	{ "offset", 0, CLI_SIZE, &given.offset, "N", "first byte of the range (default 0)", NULL },
	{ "size", 0, CLI_SIZE, &given.size, "N", "bytes of the range (default: to the end)", NULL },
	{ "rate", 0, CLI_COUNT, &given.rate, "IOPS", "I/Os per second; latencies count from when they were due",
	  NULL },
	{ "spin", 0, CLI_DURATION, &given.spin, "TIME", "poll this long before sleeping (default 0s)", NULL },
	{ "seed", 0, CLI_COUNT, &given.seed, "N", "of random orders and of contents (default 1)", NULL },
	{ "verify", 0, CLI_FLAG, &given.verify, NULL,
	  "check contents: of what is written here, or was by an earlier run or dataset create", NULL },
	{ "overwrite", 0, CLI_FLAG, &given.overwrite, NULL, "write even where a dataset is", NULL },
	{ "continue-on-error", 0, CLI_FLAG, &given.go_on, NULL, "count failed I/O and go on", NULL },
	{ "into", 0, CLI_TEXT, &given.into, CLI_INTO_VALUES,
	  "memory that data lands in (default host; emulated with --workload)", NULL },
	{ "require-path", 0, CLI_TEXT, &given.require, CLI_PATH_VALUES, "exit with 3 if data takes another way",
	  NULL },
	{ "piece-size", 0, CLI_SIZE, &given.piece, "SIZE", "cuda: of the staging ring's pieces (default 256k)", NULL },
	{ "staging-size", 0, CLI_SIZE, &given.staging, "SIZE", "cuda: of the staging ring (default 32M)", NULL },
	{ "mapped-size", 0, CLI_SIZE, &given.mapped, "SIZE",
	  "cuda: copies of up to this go through BAR1 where gdrcopy is (default 16k; 0: never)", NULL },
	{ "workload", 'W', CLI_TEXT, &given.workload, "NAME",
	  "unet3d, resnet50, cosmoflow, retinanet, flux, dlrm, checkpoint-save, checkpoint-restore, kv-cache, mixed",
	  NULL },
	{ "accelerator", 'A', CLI_TEXT, &given.accelerator, "NAME",
	  "h100, a100, b200, mi355 (default h100, or the workload's first)", NULL },
	{ "accelerators", 'N', CLI_COUNT, &given.accelerators, "N", "how many (default 1)", NULL },
	{ "epochs", 0, CLI_COUNT, &given.epochs, "N", "times through the dataset (default: the workload's)", NULL },
	{ "steps", 0, CLI_COUNT, &given.steps, "N", "most steps of each accelerator (default: all)", NULL },
	{ "batch", 0, CLI_COUNT, &given.batch, "N", "samples per step (default: the workload's)", NULL },
	{ "prefetch", 0, CLI_COUNT, &given.prefetch, "N", "batches read ahead (default 2)", NULL },
	{ "compute-time", 0, CLI_DURATION, &given.compute, "TIME", "of one step (default: the workload's)", NULL },
	BENCH_OPTIONS_MORE,
	BENCH_OPTIONS_REPORT,
	{ "label", 'l', CLI_TEXT, &given.label, "TEXT", "goes into the report", NULL },
	CLI_OPTION_OUTPUT,
	CLI_OPTIONS_IDENTITY,
	{ .name = NULL },
};

/* ---- time and signals ------------------------------------------------------------------------ */

atomic_bool bench_stop;

static void on_signal(int sig)
{
	atomic_store(&bench_stop, true);
}

/* The first one asks to finish early and report, the second one ends. */
void bench_catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

static void sleep_until(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

const struct bench_clock bench_clock_real = { .now = cli_now, .sleep_until = sleep_until };

/* ---- the live line --------------------------------------------------------------------------- */

static void live_micro(const struct bench_live *l, char *text, size_t n)
{
	char rate[FORMAT_MAX], p99[FORMAT_MAX];

	snprintf(text, n, "%.0f IOPS, %s/s, p99 %s", l->iops,
		 format_size((uint64_t)l->bytes_per_second, rate, sizeof(rate)),
		 format_duration(l->p99_ns, p99, sizeof(p99)));
}

static void live_train(const struct bench_live *l, char *text, size_t n)
{
	char rate[FORMAT_MAX], waited[32] = "";

	if (l->stall >= 0)
		snprintf(waited, sizeof(waited), ", waited %.1f %%", 100 * l->stall);
	snprintf(text, n, "%s/s%s", format_size((uint64_t)l->bytes_per_second, rate, sizeof(rate)), waited);
}

static void show(const struct bench_live *l, void *arg)
{
	char text[128], left[48] = "", done[32] = "", which[32] = "";

	if (given.workload)
		live_train(l, text, sizeof(text));
	else
		live_micro(l, text, sizeof(text));
	if (bench_report.of > 1)
		snprintf(which, sizeof(which), "run %u of %u, ", bench_report.now, bench_report.of);
	if (l->done >= 0)
		snprintf(done, sizeof(done), " (%.0f %%)", 100 * l->done);
	if (l->seconds_left >= 0)
		snprintf(left, sizeof(left), ", %.0f s left", l->seconds_left);
	if (atomic_load(&bench_stop))
		fputs("\rinterrupted: waiting for I/O in flight; once more to give up\033[K", stderr);
	else
		fprintf(stderr, "\r%s%s%s: %s, %.0f s%s\033[K", which, l->phase, done, text, l->seconds, left);
	fflush(stderr);
}

static bench_live_fn live(void)
{
	return isatty(STDERR_FILENO) == 1 ? show : NULL;
}

void bench_live_end(void)
{
	if (live())
		fputs("\r\033[K", stderr);
}

/* ---- options to requests --------------------------------------------------------------------- */

static uint64_t or(uint64_t value, uint64_t otherwise)
{
	return value == NOT_GIVEN ? otherwise : value;
}

/* A count that has to fit, and be 1 at least. */
static int count(const char *name, uint64_t value, uint64_t otherwise, unsigned int most, unsigned int *ret)
{
	value = or(value, otherwise);
	if (value < 1 || value > most)
		return cli_usage("bench: --%s %llu: expected 1 to %u", name, (unsigned long long)value, most);
	*ret = (unsigned int)value;
	return CLI_DONE;
}

static struct cli_into into;

static int parse_into(struct bench_target *t)
{
	const char *text = given.into ? given.into : given.workload ? "emulated" : "host";
	struct pst_cuda_options co = PST_OPTIONS(co);
	int rc = cli_into_parse("bench", text, given.require, &into);

	if (rc != CLI_DONE)
		return rc;
	t->emulated = into.kind == PST_MEMORY_EMULATED;
	t->cuda = into.kind == PST_MEMORY_CUDA;
	t->device = into.device;
	t->device_name = into.name;
	t->require = into.require;
	if (!t->cuda && (given.piece != NOT_GIVEN || given.staging != NOT_GIVEN || given.mapped != NOT_GIVEN))
		return cli_usage("bench: --piece-size, --staging-size and --mapped-size are for --into cuda:N");
	co.piece_bytes = or(given.piece, 256 << 10);
	co.staging_bytes = or(given.staging, 32 << 20);
	co.mapped_bytes = given.mapped == 0 ? SIZE_MAX : or(given.mapped, 16 << 10);
	t->cuda_options = co;
	return CLI_DONE;
}

int bench_path_missed(enum pst_path taken)
{
	cli_error("bench: --require-path %s: data takes the path '%s'", given.require, pst_path_name(taken));
	return CLI_REQUIRE;
}

static int check_path_of(const char *command, const struct bench_target *t, const struct cli_into *i, const char *uri)
{
	struct pst_memory *mem = NULL;
	struct cli_volume v;
	struct err err = ERR_NULL;
	int rc = cli_volume_open(&v, uri, CLI_READ);

	if (rc != CLI_DONE)
		return rc;
	if (bench_memory(t, v.ctx, 4096, &mem, &err) < 0)
		rc = cli_error("%s: %s", command, err_text(&err));
	else
		rc = cli_path_check(command, i, v.vol, mem);
	pst_memory_free(mem);
	cli_volume_close(&v);
	return rc;
}

int bench_check_path(const char *command, const struct bench_target *t, const struct cli_into *i)
{
	int rc = CLI_DONE;

	for (size_t k = 0; t->require != PST_PATH_NONE && rc == CLI_DONE && k < t->uri_count; k++)
		rc = check_path_of(command, t, i, t->uris[k]);
	return rc;
}

static int parse_target(struct bench_target *t, int argc, char **argv)
{
	int rc;

	if (argc > BENCH_URIS_MAX)
		return cli_usage("bench: %d volumes: expected at most %d", argc, BENCH_URIS_MAX);
	*t = (struct bench_target){
		.uris = (const char *const *)argv,
		.uri_count = (size_t)argc,
		.hostnqn = cli_identity.hostnqn,
		.hostid = cli_identity.hostid,
		.spin_ns = given.spin,
		.clock = &bench_clock_real,
		.stop = &bench_stop,
		.part = bench_more.part,
		.parts = bench_more.parts,
		.ready = child_barrier(),
	};
	rc = parse_into(t);
	return rc == CLI_DONE ? bench_check_path("bench", t, &into) : rc;
}

static int parse_io(enum pattern_kind *ret)
{
	const char *io = given.io ? given.io : "read";

	for (int i = PATTERN_READ; i <= PATTERN_MIXED; i++) {
		if (strcmp(io, pattern_name((enum pattern_kind)i)) == 0) {
			*ret = (enum pattern_kind)i;
			return CLI_DONE;
		}
	}
	return cli_usage("bench: --io '%s': expected read, write, randread, randwrite or mixed", io);
}

struct misplaced {
	const char *name;
	bool given;
};

/* An option that would be ignored is a mistake of whoever gave it. */
static int check_misplaced(const struct misplaced *list, const char *where)
{
	for (const struct misplaced *m = list; m->name; m++) {
		if (m->given)
			return cli_usage("bench: --%s has no meaning %s --workload", m->name, where);
	}
	return CLI_DONE;
}

static int only_workload(void)
{
	const struct misplaced list[] = {
		{ "accelerator", given.accelerator },
		{ "accelerators", given.accelerators != NOT_GIVEN },
		{ "epochs", given.epochs != NOT_GIVEN },
		{ "steps", given.steps != NOT_GIVEN },
		{ "batch", given.batch != NOT_GIVEN },
		{ "prefetch", given.prefetch != NOT_GIVEN },
		{ "compute-time", given.compute != NOT_GIVEN },
		{ NULL, false },
	};

	return check_misplaced(list, "without");
}

static int only_micro(void)
{
	const struct misplaced list[] = {
		{ "io", given.io },
		{ "read-percent", given.read_percent != NOT_GIVEN },
		{ "block-size", given.block != NOT_GIVEN },
		{ "warmup", given.warmup != NOT_GIVEN },
		{ "passes", given.passes != NOT_GIVEN },
		{ "offset", given.offset != NOT_GIVEN },
		{ "size", given.size != NOT_GIVEN },
		{ "rate", given.rate != NOT_GIVEN },
		{ "overwrite", given.overwrite },
		{ "continue-on-error", given.go_on },
		{ NULL, false },
	};

	return check_misplaced(list, "with");
}

static int parse_micro(struct bench_request *q)
{
	struct micro_options *o = &q->micro;
	bool passes = given.passes != NOT_GIVEN;
	int rc = only_workload();

	if (rc == CLI_DONE)
		rc = parse_io(&o->kind);
	if (rc == CLI_DONE)
		rc = count("depth", given.depth, 32, 1024, &o->depth);
	if (rc == CLI_DONE)
		rc = count("queues", given.queues, 1, 128, &o->queues);
	if (rc == CLI_DONE && given.threads != NOT_GIVEN)
		rc = count("threads", given.threads, 1, BENCH_THREADS_MAX, &o->threads);
	if (rc == CLI_DONE && given.read_percent != NOT_GIVEN && o->kind != PATTERN_MIXED)
		rc = cli_usage("bench: --read-percent has a meaning with --io mixed only");
	if (rc == CLI_DONE && or(given.read_percent, 70) > 100)
		rc = cli_usage("bench: --read-percent: expected 0 to 100");
	o->target = q->target;
	o->read_percent = (unsigned int)or(given.read_percent, 70);
	o->block_bytes = or(given.block, 4096);
	o->passes = or(given.passes, 0);
	o->time_ns = or(given.time, passes ? 0 : UINT64_C(10000000000));
	o->warmup_ns = or(given.warmup, passes ? 0 : UINT64_C(2000000000));
	o->offset = or(given.offset, 0);
	o->size = or(given.size, 0);
	o->rate = or(given.rate, 0);
	o->seed = given.seed;
	o->verify = given.verify;
	o->overwrite = given.overwrite;
	o->go_on = given.go_on;
	o->live = live();
	return rc;
}

static int parse_workload(struct workload *ret)
{
	const struct workload *w = workload_find(given.workload, given.accelerator);
	char names[128];

	if (w) {
		*ret = *w;
		return CLI_DONE;
	}
	if (!workload_find(given.workload, NULL))
		return cli_usage("bench: no workload '%s': expected %s", given.workload,
				 workload_names(NULL, names, sizeof(names)));
	return cli_usage("bench: no figures of %s for the accelerator '%s': expected %s", given.workload,
			 given.accelerator, workload_names(given.workload, names, sizeof(names)));
}

static int parse_train(struct bench_request *q)
{
	struct train_options *o = &q->train;
	struct workload *w = &o->workload;
	int rc = only_micro();

	if (rc == CLI_DONE)
		rc = parse_workload(w);
	if (rc == CLI_DONE)
		rc = count("batch", given.batch, w->batch, 1 << 20, &w->batch);
	if (rc == CLI_DONE)
		rc = count("epochs", given.epochs, w->epochs, 1 << 20, &w->epochs);
	if (rc == CLI_DONE)
		rc = count("accelerators", given.accelerators, 1, TRAIN_ACCELERATORS_MAX, &o->accelerators);
	if (rc == CLI_DONE)
		rc = count("threads", given.threads, 1, 64, &o->threads);
	if (rc == CLI_DONE)
		rc = count("queues", given.queues, 1, 128, &o->queues);
	if (rc == CLI_DONE)
		rc = count("prefetch", given.prefetch, 2, 1024, &o->prefetch);
	if (rc == CLI_DONE && given.depth != NOT_GIVEN)
		rc = count("depth", given.depth, 1, 1024, &o->depth);
	if (rc == CLI_DONE && given.compute == 0)
		rc = cli_usage("bench: --compute-time: expected more than 0");
	w->compute_ns = or(given.compute, w->compute_ns);
	o->prepare_ns = or(bench_more.prepare, 0);
	o->target = q->target;
	o->steps = or(given.steps, 0);
	o->time_ns = or(given.time, 0);
	o->seed = given.seed;
	o->verify = given.verify;
	o->live = live();
	return rc;
}

/* ---- running ------------------------------------------------------------------------------- */

int bench_judge(const struct bench_result *r)
{
	const struct bench_verify *v = &r->verify;
	int rc = CLI_DONE;

	if (r->errors > 0)
		rc = cli_error("%s%s", r->first_error, r->errors > 1 ? " (the first of several errors)" : "");
	for (uint64_t i = 0; i < MIN(v->failed, (uint64_t)BENCH_FAILURES_MAX); i++)
		rc = cli_error("%s", v->failures[i].text);
	if (v->failed > BENCH_FAILURES_MAX)
		rc = cli_error("%llu more like this", (unsigned long long)(v->failed - BENCH_FAILURES_MAX));
	return rc;
}

/* What only other kinds of run take. */
static int only_training(void)
{
	bool mixed = bench_is_mixed(given.workload);
	const struct misplaced list[] = {
		{ "io", given.io },
		{ "read-percent", given.read_percent != NOT_GIVEN },
		{ "passes", given.passes != NOT_GIVEN },
		{ "continue-on-error", given.go_on },
		{ "epochs", given.epochs != NOT_GIVEN },
		{ "steps", given.steps != NOT_GIVEN },
		{ "rate", given.rate != NOT_GIVEN && !mixed },
		{ "accelerator", given.accelerator && !mixed },
		{ "accelerators", given.accelerators != NOT_GIVEN && !mixed },
		{ "batch", given.batch != NOT_GIVEN && !mixed },
		{ "prefetch", given.prefetch != NOT_GIVEN && !mixed },
		{ "compute-time", given.compute != NOT_GIVEN && !mixed },
		{ "queues", given.queues != NOT_GIVEN && mixed },
		{ "threads", given.threads != NOT_GIVEN && mixed },
		{ "warmup", given.warmup != NOT_GIVEN && mixed },
		{ "clients", bench_more.clients && mixed },
		{ "part", bench_more.parts > 0 && mixed },
		{ NULL, false },
	};

	for (const struct misplaced *m = list; m->name; m++) {
		if (m->given)
			return cli_usage("bench: --%s has no meaning with --workload %s", m->name, given.workload);
	}
	return CLI_DONE;
}

static int check_more(void)
{
	const char *name = bench_more_misplaced(given.workload);

	if (name && given.workload)
		return cli_usage("bench: --%s has no meaning with --workload %s", name, given.workload);
	if (name)
		return cli_usage("bench: --%s has no meaning without --workload", name);
	return bench_is_more(given.workload) ? only_training() : CLI_DONE;
}

static int run_more(struct bench_request *q)
{
	struct bench_common c = {
		.workload = given.workload,
		.depth = given.depth,
		.queues = given.queues,
		.threads = given.threads,
		.block = given.block,
		.time = given.time,
		.warmup = given.warmup,
		.offset = given.offset,
		.size = given.size,
		.rate = given.rate,
		.accelerator = given.accelerator,
		.accelerators = given.accelerators,
		.batch = given.batch,
		.prefetch = given.prefetch,
		.compute = given.compute,
		.seed = given.seed,
		.verify = given.verify,
		.overwrite = given.overwrite,
		.live = live(),
	};

	return bench_more_run(q, &c);
}

/* What an agent does not need to know, or decides itself. */
static bool for_agents(const char *name)
{
	static const char *const ours[] = { "clients",	  "token-file", "label", "output-format",
					    "histograms", "part",	"report" };

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
		if (strcmp(name, ours[i]) == 0)
			return false;
	}
	return true;
}

/* Whatever else was given is handed on, each option one word; what is wrong with it was said before. */
static int run_clients(int argc, char **argv)
{
	struct json_object *list = json_object_new_array();
	char word[1024];
	int rc;

	if (bench_more.parts > 0)
		rc = cli_usage("bench: --part has no meaning with --clients, which are the parts");
	else
		rc = CLI_DONE;
	for (size_t i = 0; i < cli_given_count; i++) {
		const struct cli_given *g = &cli_given[i];

		if (!for_agents(g->option->name))
			continue;
		snprintf(word, sizeof(word), "--%s%s%s", g->option->name, g->arg ? "=" : "", g->arg ? g->arg : "");
		cli_json_str(list, NULL, word);
	}
	cli_json_str(list, NULL, "--");
	for (int i = 0; i < argc; i++)
		cli_json_str(list, NULL, argv[i]);
	if (rc == CLI_DONE && bench_report.path)
		rc = report_check(bench_report.path);
	if (rc == CLI_DONE)
		rc = clients_run(bench_more.clients, bench_more.token_file, list, given.label, &bench_stop);
	json_object_put(list);
	return rc;
}

/* Files are compared as they are: an option of a measurement would have no effect. */
static int compare(int argc, char **argv)
{
	for (size_t i = 0; i < cli_given_count; i++) {
		const char *name = cli_given[i].option->name;

		if (strcmp(name, "output-format") != 0 && strcmp(name, "require-not-worse") != 0)
			return cli_usage("bench compare: --%s has no meaning here", name);
	}
	return bench_compare(argc, argv);
}

/* What one client of several cannot tell, or decide. */
static int check_report(void)
{
	bool several = bench_more.clients || bench_more.parts > 0;

	if (bench_report.repeat != NOT_GIVEN && several)
		return cli_usage("bench: --repeat has no meaning with several clients: runs after the first would not "
				 "begin at one moment");
	if (bench_report.path && bench_more.parts > 0)
		return cli_usage("bench: --report has no meaning with --part, which has no verdict of its own: "
				 "--clients --report has all parts");
	if (bench_report.target_pid != NOT_GIVEN && several)
		return cli_usage("bench: --target-pid has no meaning with several clients: each would charge all of "
				 "the target's time to itself");
	return CLI_DONE;
}

int cmd_bench(int argc, char **argv)
{
	struct bench_request q = { .label = given.label };
	int rc;

	if (strcmp(argv[0], "compare") == 0)
		return compare(argc - 1, argv + 1);
	if (bench_report.not_worse != NOT_GIVEN)
		return cli_usage("bench: --require-not-worse has a meaning with 'bench compare' only");
	rc = parse_target(&q.target, argc, argv);
	if (rc == CLI_DONE)
		rc = check_report();
	if (rc == CLI_DONE)
		rc = count("repeat", bench_report.repeat, 1, BENCH_REPEAT_MAX, &q.repeat);
	if (rc == CLI_DONE)
		rc = check_more();
	if (rc == CLI_DONE)
		rc = bench_calibrate_check(q.repeat);
	if (rc == CLI_DONE && bench_more.token_file && !bench_more.clients)
		rc = cli_usage("bench: --token-file has no meaning without --clients");
	if (rc == CLI_DONE && !bench_is_more(given.workload))
		rc = given.workload ? parse_train(&q) : parse_micro(&q);
	if (rc != CLI_DONE)
		return rc;
	bench_catch_signals();
	if (bench_more.clients)
		return run_clients(argc, argv);
	/* Steps are timed by sleeping: by default the kernel may let a sleep last 50 us longer. */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	rc = bench_report_begin(&q);
	if (rc == CLI_DONE)
		rc = bench_is_more(given.workload) ? run_more(&q) : bench_run(&q, given.workload != NULL);
	bench_report_free();
	return rc;
}
