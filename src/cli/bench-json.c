/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of bench for scripts, schema penstock.bench/1. Names end in their unit and units are
 * base units; utilisations are fractions from 0 to 1; stalls are accelerator-seconds, summed over
 * the accelerators; with a workload, ops are samples and latency_us is the wait for a batch.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/hist-text.h"
#include "cli/bench.h"
#include "penstock.h"

/* ---- this machine ---------------------------------------------------------------------------- */

/* The command line as it was given: getopt has reordered the one main() has. */
static void add_command(struct json_object *o)
{
	char text[4096];
	FILE *f = fopen("/proc/self/cmdline", "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	while (n > 0 && text[n - 1] == 0)
		n--;
	text[n] = 0;
	for (size_t i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : ' ';
	cli_json_str(o, "command", text);
}

static void cpu_model(char *buf, size_t n)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256], *colon;

	snprintf(buf, n, "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		colon = strchr(line, ':');
		if (strncmp(line, "model name", 10) != 0 || !colon || colon[1] == 0)
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(buf, n, "%s", colon + 2);
		break;
	}
	if (f)
		fclose(f);
}

static void add_host(struct json_object *o, const char *io)
{
	struct json_object *h = cli_json_object(o, "host");
	long pages = sysconf(_SC_PHYS_PAGES), cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname u = { .nodename = "" };
	char model[128];

	uname(&u);
	cpu_model(model, sizeof(model));
	cli_json_str(h, "name", u.nodename);
	cli_json_str(h, "system", u.sysname);
	cli_json_str(h, "kernel", u.release);
	cli_json_str(h, "machine", u.machine);
	cli_json_str(h, "cpu_model", model);
	cli_json_u64(h, "cpus", cpus > 0 ? (uint64_t)cpus : 0);
	cli_json_u64(h, "memory_bytes", pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0);
	cli_json_str(h, "io", io);
}

static void fill_target(struct json_object *t, const struct pst_volume_info *i)
{
	cli_json_str(t, "uri", i->uri);
	cli_json_str(t, "transport", i->transport);
	cli_json_u64(t, "size_bytes", i->size_bytes);
	cli_json_u64(t, "block_bytes", i->block_bytes);
	cli_json_u64(t, "max_transfer_bytes", i->max_transfer_bytes);
	cli_json_bool(t, "volatile_cache", i->volatile_cache);
	cli_json_bool(t, "times", i->target_times);
	if (!i->subsystem_nqn[0])
		return;
	cli_json_str(t, "address", i->address);
	cli_json_str(t, "subsystem_nqn", i->subsystem_nqn);
	cli_json_u64(t, "nsid", i->nsid);
	cli_json_str(t, "model", i->model);
	cli_json_str(t, "serial", i->serial);
	cli_json_str(t, "firmware", i->firmware);
}

/* Where data landed, and how many bytes took which path. */
static void add_into(struct json_object *o, const struct bench_target *t, const struct bench_result *r)
{
	struct json_object *x = cli_json_object(o, "into"), *paths = cli_json_object(o, "path_bytes");

	cli_json_str(x, "kind", t->cuda ? "cuda" : t->emulated ? "emulated" : "host");
	if (t->cuda) {
		cli_json_u64(x, "device", t->device);
		cli_json_str(x, "name", t->device_name);
		cli_json_u64(x, "piece_bytes", t->cuda_options.piece_bytes);
		cli_json_u64(x, "staging_bytes", t->cuda_options.staging_bytes);
	}
	for (int i = 0; i < BENCH_PATHS; i++) {
		if (r->path_bytes[i] > 0)
			cli_json_u64(paths, pst_path_name((enum pst_path)i), r->path_bytes[i]);
	}
}

static struct json_object *begin(const struct bench_request *q, const struct bench_result *r)
{
	struct json_object *o = cli_json_new("bench"), *all, *one;

	cli_json_str(o, "label", q->label ? q->label : "");
	add_command(o);
	cli_json_str(o, "version", pst_version());
	add_host(o, r->io);
	add_into(o, &q->target, r);
	fill_target(cli_json_object(o, "target"), &r->info[0]);
	if (q->target.uri_count < 2)
		return o;
	all = cli_json_array(o, "targets");
	for (size_t i = 0; i < q->target.uri_count; i++) {
		one = cli_json_object(all, NULL);
		fill_target(one, &r->info[i]);
	}
	return o;
}

/* ---- figures ------------------------------------------------------------------------------- */

bool bench_histograms;

static void add_latency(struct json_object *o, const struct hist *h)
{
	static char text[HIST_TEXT_MAX];
	struct json_object *l = cli_json_object(o, "latency_us");

	cli_json_double(l, "mean", hist_mean(h) / 1e3);
	cli_json_double(l, "p50", (double)hist_percentile(h, 50) / 1e3);
	cli_json_double(l, "p95", (double)hist_percentile(h, 95) / 1e3);
	cli_json_double(l, "p99", (double)hist_percentile(h, 99) / 1e3);
	cli_json_double(l, "p99_9", (double)hist_percentile(h, 99.9) / 1e3);
	cli_json_double(l, "p99_99", (double)hist_percentile(h, 99.99) / 1e3);
	cli_json_double(l, "max", h->count ? (double)h->max / 1e3 : 0);
	if (!bench_histograms)
		return;
	hist_format(h, text, sizeof(text));
	cli_json_str(o, "latency_histogram", text);
}

static void add_rates(struct json_object *o, uint64_t ns, uint64_t ops, uint64_t bytes)
{
	double seconds = (double)ns / 1e9;

	cli_json_double(o, "seconds", seconds);
	cli_json_u64(o, "ops", ops);
	cli_json_u64(o, "bytes", bytes);
	cli_json_double(o, "iops", ns ? (double)ops / seconds : 0);
	cli_json_double(o, "bytes_per_second", ns ? (double)bytes / seconds : 0);
}

static void add_figures(struct json_object *o, const struct bench_result *r)
{
	cli_json_str(o, "path", pst_path_name(bench_main_path(r->path_bytes)));
	add_rates(o, r->ns, r->ops, r->bytes);
	add_latency(o, &r->latency);
}

static void add_cpu(struct json_object *o, const struct bench_result *r)
{
	struct json_object *g = cli_json_object(o, "cpu_seconds_per_gigabyte");

	cli_json_double(g, "client_user", bench_per_gigabyte(r->cpu.user_ns, r->bytes));
	cli_json_double(g, "client_system", bench_per_gigabyte(r->cpu.system_ns, r->bytes));
}

static void add_verify(struct json_object *o, bool on, const struct bench_verify *v)
{
	struct json_object *x = cli_json_object(o, "verify"), *list;

	cli_json_u64(x, "samples", v->samples);
	cli_json_u64(x, "failed", v->failed);
	cli_json_u64(x, "skipped", v->skipped);
	cli_json_bool(x, "enabled", on);
	list = cli_json_array(x, "failures");
	for (uint64_t i = 0; i < MIN(v->failed, (uint64_t)BENCH_FAILURES_MAX); i++)
		cli_json_str(list, NULL, v->failures[i].text);
}

static void add_end(struct json_object *o, const struct bench_result *r)
{
	struct json_object *list;

	cli_json_u64(o, "errors", r->errors);
	if (r->errors > 0)
		cli_json_str(o, "first_error", r->first_error);
	cli_json_u64(o, "retries", r->trouble.retries);
	cli_json_u64(o, "reconnects", r->trouble.reconnects);
	cli_json_bool(o, "interrupted", r->interrupted);
	list = cli_json_array(o, "notes");
	for (unsigned int i = 0; i < r->notes.count; i++)
		cli_json_str(list, NULL, r->notes.text[i]);
}

/* ---- micro --------------------------------------------------------------------------------- */

static void add_micro_options(struct json_object *o, const struct micro_options *m, const struct micro_result *r)
{
	struct json_object *x = cli_json_object(o, "options");

	cli_json_str(x, "io", pattern_name(m->kind));
	if (m->kind == PATTERN_MIXED)
		cli_json_u64(x, "read_percent", m->read_percent);
	cli_json_u64(x, "block_size_bytes", m->block_bytes);
	cli_json_u64(x, "depth", m->depth);
	cli_json_u64(x, "queues", m->queues);
	cli_json_u64(x, "threads", r->threads);
	cli_json_u64(x, "inflight", r->inflight);
	cli_json_u64(x, "offset_bytes", m->offset);
	cli_json_u64(x, "size_bytes", m->size);
	cli_json_u64(x, "passes", m->passes);
	cli_json_double(x, "warmup_seconds", (double)m->warmup_ns / 1e9);
	cli_json_u64(x, "rate_iops", m->rate);
	cli_json_double(x, "spin_seconds", (double)m->target.spin_ns / 1e9);
	cli_json_u64(x, "seed", m->seed);
}

static void add_side(struct json_object *o, const char *key, const struct micro_side *s, uint64_t ns)
{
	struct json_object *x = cli_json_object(o, key);

	add_rates(x, ns, s->ops, s->bytes);
	add_latency(x, &s->latency);
}

int bench_micro_json(const struct bench_request *q, const struct micro_result *r)
{
	struct json_object *o = begin(q, &r->all), *split;

	add_micro_options(o, &q->micro, r);
	add_figures(o, &r->all);
	split = cli_json_object(o, "latency_split_us");
	for (int i = 0; i < BENCH_PARTS; i++)
		cli_json_double(split, bench_part_name(i),
				r->all.split_ops ? (double)bench_part(&r->all.split, i) / 1e3 /
							   (double)r->all.split_ops
						 : 0);
	cli_json_u64(o, "latency_split_ops", r->all.split_ops);
	if (q->micro.kind == PATTERN_MIXED) {
		add_side(o, "read", &r->side[0], r->all.ns);
		add_side(o, "write", &r->side[1], r->all.ns);
	}
	add_cpu(o, &r->all);
	add_verify(o, q->micro.verify, &r->all.verify);
	add_end(o, &r->all);
	return cli_json_print(o);
}

/* ---- workload ------------------------------------------------------------------------------ */

/* A utilisation that does not exist is null, not a number that somebody might average. */
static void add_au(struct json_object *o, const char *key, bool has, double value)
{
	if (has)
		cli_json_double(o, key, value);
	else
		json_object_object_add(o, key, NULL);
}

static void add_workload(struct json_object *o, const struct train_options *t, const struct train_result *r)
{
	struct json_object *w = cli_json_object(o, "workload"), *split;

	cli_json_str(w, "name", t->workload.name);
	cli_json_str(w, "accelerator", t->workload.accelerator);
	cli_json_u64(w, "accelerators", t->accelerators);
	cli_json_u64(w, "batch", t->workload.batch);
	cli_json_u64(w, "prefetch", t->prefetch);
	cli_json_u64(w, "seed", t->seed);
	cli_json_double(w, "compute_seconds_per_step", (double)t->workload.compute_ns / 1e9);
	cli_json_u64(w, "epochs", r->epochs);
	cli_json_u64(w, "steps", r->steps);
	cli_json_u64(w, "samples", r->all.ops);
	add_au(w, "au_mlperf", r->has_au, r->au_mlperf);
	add_au(w, "au_storage", r->has_au, r->au_storage);
	cli_json_double(w, "compute_seconds", (double)r->compute_ns / 1e9);
	cli_json_double(w, "stall_seconds", (double)r->stall_ns / 1e9);
	split = cli_json_object(w, "stall_split");
	for (int i = 0; i < BENCH_PARTS; i++)
		cli_json_double(split, bench_part_name(i), (double)bench_part(&r->all.split, i) / 1e9);
	cli_json_double(w, "job_stall_seconds", (double)r->job_stall_ns / 1e9);
	cli_json_double(w, "first_batch_seconds", r->first_batch_seconds);
	cli_json_double(w, "compute_overrun", r->compute_overrun);
	cli_json_u64(w, "dataset_samples", r->dataset_samples);
	cli_json_u64(w, "dataset_bytes", r->dataset_bytes);
}

int bench_train_json(const struct bench_request *q, const struct train_result *r)
{
	struct json_object *o = begin(q, &r->all);

	add_figures(o, &r->all);
	add_cpu(o, &r->all);
	add_verify(o, q->train.verify, &r->all.verify);
	add_workload(o, &q->train, r);
	add_end(o, &r->all);
	return cli_json_print(o);
}

/* ---- for the other workloads ----------------------------------------------------------------- */

struct json_object *bench_json_begin(const struct bench_request *q, const struct bench_result *r)
{
	return begin(q, r);
}

void bench_json_command(struct json_object *o)
{
	add_command(o);
}

void bench_json_figures_of(struct json_object *o, const struct bench_result *r)
{
	add_figures(o, r);
}

void bench_json_latency(struct json_object *o, const struct hist *h)
{
	add_latency(o, h);
}

void bench_json_rest(struct json_object *o, const struct bench_result *r, bool verify)
{
	add_cpu(o, r);
	add_verify(o, verify, &r->verify);
	add_end(o, r);
}
