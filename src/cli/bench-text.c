/* SPDX-License-Identifier: Apache-2.0 */
/* The report of bench for people: the verdict first, then the figures it rests on. */
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "cli/bench.h"

const char *bench_part_name(int part)
{
	static const char *const names[BENCH_PARTS] = {
		"client_queue", "network", "target_queue", "qos", "media", "staging", "wakeup", "remote",
	};

	return names[part];
}

uint64_t bench_part(const struct pst_timing *t, int part)
{
	const uint64_t parts[BENCH_PARTS] = {
		t->client_queue, t->network, t->target_queue, t->qos,
		t->media,	 t->staging, t->wakeup,	      t->remote,
	};

	return parts[part];
}

/* "remote 81 %, staging 17 %": parts of at least one percent, the largest first. */
static const char *split(const struct pst_timing *t, char *buf, size_t n)
{
	bool used[BENCH_PARTS] = { false };
	uint64_t sum = 0;
	size_t len = 0;

	buf[0] = 0;
	for (int i = 0; i < BENCH_PARTS; i++)
		sum += bench_part(t, i);
	for (int round = 0; round < BENCH_PARTS && sum > 0; round++) {
		int best = -1;

		for (int i = 0; i < BENCH_PARTS; i++) {
			if (!used[i] && (best < 0 || bench_part(t, i) > bench_part(t, best)))
				best = i;
		}
		used[best] = true;
		if (bench_part(t, best) * 100 < sum || len >= n)
			break;
		len += (size_t)snprintf(buf + len, n - len, "%s%s %.0f %%", len ? ", " : "", bench_part_name(best),
					100.0 * (double)bench_part(t, best) / (double)sum);
	}
	return buf;
}

static void latency(const char *what, const struct hist *h)
{
	static const double percents[] = { 50, 95, 99, 99.9, 99.99 };
	char text[FORMAT_MAX];

	printf("%-14s mean %s", what, format_duration((uint64_t)hist_mean(h), text, sizeof(text)));
	for (size_t i = 0; i < ARRAY_SIZE(percents); i++)
		printf(", p%g %s", percents[i],
		       format_duration(hist_percentile(h, percents[i]), text, sizeof(text)));
	printf(", max %s\n", format_duration(h->count ? h->max : 0, text, sizeof(text)));
}

static void cpu(const struct bench_result *r)
{
	printf("%-14s user %.3f, system %.3f seconds per gigabyte\n", "cpu",
	       bench_per_gigabyte(r->cpu.user_ns, r->bytes), bench_per_gigabyte(r->cpu.system_ns, r->bytes));
}

static void errors(const struct bench_result *r)
{
	printf("%-14s %llu; %llu retries, %llu reconnects\n", "errors", (unsigned long long)r->errors,
	       (unsigned long long)r->trouble.retries, (unsigned long long)r->trouble.reconnects);
}

static void verified(const struct bench_verify *v, const char *what)
{
	printf("%-14s %llu %s, %llu wrong\n", "verified", (unsigned long long)v->samples, what,
	       (unsigned long long)v->failed);
}

static void volumes(const struct bench_target *t, const struct bench_result *r)
{
	for (size_t i = 0; i < t->uri_count; i++)
		printf("%-14s %s%s%s\n", i ? "" : "volume", t->uris[i], r->info[i].model[0] ? ", " : "",
		       r->info[i].model);
	if (t->cuda)
		printf("%-14s cuda:%u, %s, %s\n", "into", t->device, t->device_name, r->io);
	else
		printf("%-14s %s, %s\n", "into", t->emulated ? "emulated accelerator's memory" : "host memory",
		       r->io);
}

static int notes(const struct bench_notes *n)
{
	for (unsigned int i = 0; i < n->count; i++)
		printf("%-14s %s\n", i ? "" : "notes", n->text[i]);
	return fflush(stdout) == 0 ? CLI_DONE : cli_error("standard output cannot take the report");
}

/* ---- micro --------------------------------------------------------------------------------- */

static double per_second(uint64_t n, uint64_t ns)
{
	return ns ? (double)n * 1e9 / (double)ns : 0;
}

static void pattern(const struct micro_options *o, const struct micro_result *r)
{
	char size[FORMAT_MAX], rate[48] = "";

	if (o->kind == PATTERN_MIXED)
		snprintf(rate, sizeof(rate), ", %u %% reads", o->read_percent);
	printf("%-14s %s of %s%s, depth %u, %u queue%s, %u thread%s\n", "pattern", pattern_name(o->kind),
	       format_size(o->block_bytes, size, sizeof(size)), rate, o->depth, o->queues,
	       o->queues == 1 ? "" : "s", r->threads, r->threads == 1 ? "" : "s");
}

static void side(const char *what, const struct micro_side *s, uint64_t ns)
{
	char rate[FORMAT_MAX];

	printf("%-14s %.0f IOPS, %s/s\n", what, per_second(s->ops, ns),
	       format_size((uint64_t)per_second(s->bytes, ns), rate, sizeof(rate)));
}

int bench_micro_text(const struct bench_request *q, const struct micro_result *r)
{
	uint64_t ops = r->all.ops, bytes = r->all.bytes;
	char rate[FORMAT_MAX], p99[FORMAT_MAX], parts[160];

	if (ops == 0)
		printf("Nothing was measured.\n\n");
	else
		printf("%.0f IOPS, %s/s, p99 %s, over the path '%s'\n\n", per_second(ops, r->all.ns),
	       format_size((uint64_t)per_second(bytes, r->all.ns), rate, sizeof(rate)),
	       format_duration(hist_percentile(&r->all.latency, 99), p99, sizeof(p99)),
	       pst_path_name(bench_main_path(r->all.path_bytes)));
	volumes(&q->target, &r->all);
	pattern(&q->micro, r);
	printf("%-14s %llu I/Os in %.3f s\n", "measured", (unsigned long long)ops, (double)r->all.ns / 1e9);
	if (q->micro.kind == PATTERN_MIXED) {
		side("reads", &r->side[0], r->all.ns);
		latency("  latency", &r->side[0].latency);
		side("writes", &r->side[1], r->all.ns);
		latency("  latency", &r->side[1].latency);
	} else {
		latency("latency", &r->all.latency);
	}
	printf("%-14s %s\n", "spent in", split(&r->all.split, parts, sizeof(parts)));
	cpu(&r->all);
	errors(&r->all);
	if (q->micro.verify)
		verified(&r->all.verify, "blocks");
	return notes(&r->all.notes);
}

/* ---- workload ------------------------------------------------------------------------------ */

static void verdict(const struct train_options *o, const struct train_result *r)
{
	double waited = r->compute_ns + r->stall_ns
				? 100.0 * (double)r->stall_ns / (double)(r->compute_ns + r->stall_ns)
				: 0;
	char who[48] = "The accelerator", parts[160];

	if (o->accelerators > 1)
		snprintf(who, sizeof(who), "The %u accelerators", o->accelerators);
	if (!r->has_au)
		printf("%s did too few steps to say how long %s.\n\n", who,
		       o->accelerators > 1 ? "they waited" : "it waited");
	else if (waited < 0.05)
		printf("%s waited less than 0.1 %% of the time.\n\n", who);
	else
		printf("%s waited %.1f %% of the time, on: %s\n\n", who, waited,
		       split(&r->all.split, parts, sizeof(parts)));
}

/* Bytes a second of accelerators that never wait, with samples as large as this dataset's. */
static double appetite(const struct train_options *o, const struct train_result *r)
{
	double sample = r->dataset_samples ? (double)r->dataset_bytes / (double)r->dataset_samples : 0;

	return sample * o->workload.batch * o->accelerators * 1e9 / (double)o->workload.compute_ns;
}

int bench_train_text(const struct bench_request *q, const struct train_result *r)
{
	const struct train_options *o = &q->train;
	const struct workload *w = &o->workload;
	char rate[FORMAT_MAX], step[FORMAT_MAX], eats[FORMAT_MAX];

	verdict(o, r);
	printf("%-14s %s on %u %s, batches of %u, %s per step\n", "workload", w->name, o->accelerators,
	       w->accelerator, w->batch, format_duration(w->compute_ns, step, sizeof(step)));
	volumes(&q->target, &r->all);
	printf("%-14s %s\n", "path", pst_path_name(bench_main_path(r->all.path_bytes)));
	printf("%-14s %llu of each accelerator in %llu epoch%s, %.3f s\n", "steps", (unsigned long long)r->steps,
	       (unsigned long long)r->epochs, r->epochs == 1 ? "" : "s", (double)r->all.ns / 1e9);
	printf("%-14s %.0f samples/s, %s/s", "throughput", per_second(r->all.ops, r->all.ns),
	       format_size((uint64_t)per_second(r->all.bytes, r->all.ns), rate, sizeof(rate)));
	printf(" (%s/s would keep them busy)\n",
	       format_size((uint64_t)appetite(o, r), eats, sizeof(eats)));
	if (r->has_au) {
		printf("%-14s %.1f %% charged to storage, %.1f %% as DLIO computes it (MLPerf Storage asks for "
		       "%u %%)\n",
		       "utilisation", 100 * r->au_storage, 100 * r->au_mlperf, w->au_floor_percent);
		printf("%-14s %.3f accelerator-seconds; %.3f s at the barrier, where the slowest counts\n", "stall",
		       (double)r->stall_ns / 1e9, (double)r->job_stall_ns / 1e9);
		latency("batch wait", &r->all.latency);
	}
	printf("%-14s %.3f s, not counted above\n", "first batch", r->first_batch_seconds);
	cpu(&r->all);
	errors(&r->all);
	if (o->verify)
		verified(&r->all.verify, "samples");
	return notes(&r->all.notes);
}

/* ---- for the other workloads ----------------------------------------------------------------- */

void bench_text_volumes(const struct bench_target *t, const struct bench_result *r)
{
	volumes(t, r);
}

void bench_text_latency(const char *what, const struct hist *h)
{
	latency(what, h);
}

int bench_text_rest(const struct bench_result *r, bool verify, const char *what)
{
	cpu(r);
	errors(r);
	if (verify)
		verified(&r->verify, what);
	return notes(&r->notes);
}
