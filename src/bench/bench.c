/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/util.h"

void bench_verify_fail(struct bench_verify *v, const char *fmt, ...)
{
	va_list args;

	if (v->failed < BENCH_FAILURES_MAX) {
		va_start(args, fmt);
		vsnprintf(v->failures[v->failed].text, sizeof(v->failures[0].text), fmt, args);
		va_end(args);
	}
	v->failed++;
}

void bench_verify_merge(struct bench_verify *v, const struct bench_verify *from)
{
	uint64_t n = MIN(from->failed, (uint64_t)BENCH_FAILURES_MAX);

	v->samples += from->samples;
	v->skipped += from->skipped;
	for (uint64_t i = 0; i < n && v->failed + i < BENCH_FAILURES_MAX; i++)
		v->failures[v->failed + i] = from->failures[i];
	v->failed += from->failed;
}

static uint64_t ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

struct bench_cpu bench_cpu_now(void)
{
	struct rusage r = { .ru_maxrss = 0 };

	getrusage(RUSAGE_SELF, &r);
	return (struct bench_cpu){ .user_ns = ns(&r.ru_utime), .system_ns = ns(&r.ru_stime) };
}

struct bench_cost bench_cost_now(const struct bench_target *t)
{
	struct bench_cost cost = { .cpu = bench_cpu_now() };

	cost.has_target = t->target_cpu && t->target_cpu(&cost.target);
	return cost;
}

static void subtract(struct bench_cpu *cpu, const struct bench_cpu *begin)
{
	cpu->user_ns -= begin->user_ns;
	cpu->system_ns -= begin->system_ns;
}

struct bench_cost bench_cost_since(const struct bench_target *t, const struct bench_cost *begin)
{
	struct bench_cost now = bench_cost_now(t);

	subtract(&now.cpu, &begin->cpu);
	now.has_target = now.has_target && begin->has_target;
	if (now.has_target)
		subtract(&now.target, &begin->target);
	return now;
}

double bench_per_gigabyte(uint64_t cpu_ns, uint64_t bytes)
{
	/* Nanoseconds per byte are seconds per 10^9 bytes. */
	return bytes ? (double)cpu_ns / (double)bytes : 0;
}

enum pst_path bench_main_path(const uint64_t path_bytes[BENCH_PATHS])
{
	int main = PST_PATH_NONE;

	for (int i = 0; i < BENCH_PATHS; i++)
		main = path_bytes[i] > path_bytes[main] ? i : main;
	return (enum pst_path)main;
}

bool bench_other_path(const uint64_t path_bytes[BENCH_PATHS], enum pst_path want, enum pst_path *ret_other)
{
	for (int i = 0; i < BENCH_PATHS; i++) {
		if (path_bytes[i] > 0 && i != (int)want) {
			*ret_other = (enum pst_path)i;
			return true;
		}
	}
	return false;
}

void bench_timing_add(struct pst_timing *sum, const struct pst_timing *t)
{
	sum->total += t->total;
	sum->client_queue += t->client_queue;
	sum->network += t->network;
	sum->target_queue += t->target_queue;
	sum->qos += t->qos;
	sum->media += t->media;
	sum->staging += t->staging;
	sum->wakeup += t->wakeup;
	sum->remote += t->remote;
}

void bench_trouble_add(struct bench_trouble *sum, const struct pst_volume *vol)
{
	struct pst_volume_stats s;

	if (!vol)
		return;
	pst_volume_stats(vol, &s);
	sum->retries += s.retries;
	sum->reconnects += s.reconnects;
}

void bench_note(struct bench_notes *notes, const char *fmt, ...)
{
	va_list args;

	if (notes->count == BENCH_NOTES_MAX)
		return;
	va_start(args, fmt);
	vsnprintf(notes->text[notes->count++], sizeof(notes->text[0]), fmt, args);
	va_end(args);
}

void bench_note_memory(struct bench_notes *notes, const struct bench_target *t)
{
	if (t->emulated)
		bench_note(notes, "the accelerator is emulated: its memory and its copy engine are this machine's");
	/* What stands for the driver in tests puts this into the name of its devices. */
	if (t->cuda && strstr(t->device_name, "double"))
		bench_note(notes, "the GPU is a test double: its memory and its copy engine are this machine's");
}

static void merge_note(struct bench_notes *notes, const char *text)
{
	for (unsigned int i = 0; i < notes->count; i++) {
		if (strcmp(notes->text[i], text) == 0)
			return;
	}
	bench_note(notes, "%s", text);
}

static void add_cpu(struct bench_cpu *sum, const struct bench_cpu *cpu)
{
	sum->user_ns += cpu->user_ns;
	sum->system_ns += cpu->system_ns;
}

void bench_result_merge(struct bench_result *r, const struct bench_result *run)
{
	r->ns += run->ns;
	r->ops += run->ops;
	r->bytes += run->bytes;
	hist_merge(&r->latency, &run->latency);
	bench_timing_add(&r->split, &run->split);
	r->split_ops += run->split_ops;
	for (int i = 0; i < BENCH_PATHS; i++)
		r->path_bytes[i] += run->path_bytes[i];
	add_cpu(&r->cost.cpu, &run->cost.cpu);
	add_cpu(&r->cost.target, &run->cost.target);
	r->cost.has_target = r->cost.has_target && run->cost.has_target;
	if (r->errors == 0 && run->errors > 0)
		memcpy(r->first_error, run->first_error, sizeof(r->first_error));
	r->errors += run->errors;
	r->trouble.retries += run->trouble.retries;
	r->trouble.reconnects += run->trouble.reconnects;
	bench_verify_merge(&r->verify, &run->verify);
	for (unsigned int i = 0; i < run->notes.count; i++)
		merge_note(&r->notes, run->notes.text[i]);
	r->interrupted = r->interrupted || run->interrupted;
	if (run->path_missed) {
		r->path_missed = true;
		r->path_taken = run->path_taken;
	}
}

void bench_result_points(struct bench_result *r, const struct bench_target *t, uint64_t end_ns)
{
	if (t->series)
		r->point_count = series_points(t->series, end_ns, r->points);
}

/* ---- what the library is asked for ----------------------------------------------------------- */

int bench_err(struct err *err, const struct pst_error *from)
{
	return err_set(err, from->code, "%s", from->text);
}

void bench_range(const struct bench_target *t, uint64_t volume_bytes, uint64_t offset, uint64_t size,
		 uint64_t *ret_offset, uint64_t *ret_size)
{
	const uint64_t mib = 1 << 20;
	uint64_t left = volume_bytes > offset ? volume_bytes - offset : 0, n = size ? size : left;

	if (t->parts > 1) {
		n = ALIGN_DOWN(n / t->parts, mib);
		offset += n * t->part;
	}
	*ret_offset = offset;
	*ret_size = n;
}

int bench_ready(const struct bench_target *t, struct err *err)
{
	int rc = t->ready ? t->ready(t->ready_arg) : 0;

	return rc < 0 ? err_set(err, -rc, "it was not told to begin: %s", strerror(-rc)) : 0;
}

int bench_context(const struct bench_target *t, enum pst_mode mode, unsigned int threads, unsigned int inflight,
		  struct pst_context **ret_ctx, struct err *err)
{
	struct pst_context_options o = PST_OPTIONS(o);
	struct pst_error perr;

	o.mode = mode;
	o.threads = threads;
	o.max_inflight = inflight;
	o.spin_ns = t->spin_ns;
	o.hostnqn = t->hostnqn;
	o.hostid = t->hostid;
	return pst_context_new(&o, ret_ctx, &perr) < 0 ? bench_err(err, &perr) : 0;
}

int bench_memory(const struct bench_target *t, struct pst_context *ctx, size_t size,
		 struct pst_memory **ret_mem, struct err *err)
{
	struct pst_error perr;
	int rc;

	if (t->cuda)
		rc = pst_memory_cuda_alloc(ctx, t->device, size, &t->cuda_options, ret_mem, &perr);
	else if (t->emulated)
		rc = pst_memory_emulated(ctx, size, NULL, ret_mem, &perr);
	else
		rc = pst_memory_alloc(ctx, size, ret_mem, &perr);
	return rc < 0 ? bench_err(err, &perr) : 0;
}
