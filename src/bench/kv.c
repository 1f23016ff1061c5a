/* SPDX-License-Identifier: Apache-2.0 */
/* The KV cache workload from outside of its threads: checks, start, live line, results. */
#include "bench/kv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/util.h"
#include "bench/guard.h"
#include "bench/kv-impl.h"
#include "bench/probe.h"

#define TICK_NS UINT64_C(20000000)
#define LIVE_NS UINT64_C(1000000000)

/* ---- what is asked for ----------------------------------------------------------------------- */

static int check_mix(const struct kv_options *o, struct err *err)
{
	unsigned int percent = 0;
	bool some = false;

	for (int i = 0; i < KV_CLASSES; i++)
		percent += o->percent[i];
	for (int i = 0; i < KV_TEMPLATES; i++)
		some = some || o->templates[i];
	if (percent != 100)
		return err_set(err, EINVAL, "classes of %u, %u and %u percent: expected 100 together", o->percent[0],
			       o->percent[1], o->percent[2]);
	if (o->prefix_percent > 100 || o->end_percent > 100)
		return err_set(err, EINVAL, "a share of more than 100 percent");
	return some ? 0 : err_set(err, EINVAL, "no kind of user");
}

static int check_options(const struct kv_options *o, struct err *err)
{
	if (!o->model || o->model->kv_bytes_per_token == 0)
		return err_set(err, EINVAL, "no figures of a KV cache for this model");
	if (o->users < 1 || o->users > KV_USERS_MAX)
		return err_set(err, EINVAL, "%u users: expected 1 to %d", o->users, KV_USERS_MAX);
	if (o->threads < 1 || o->threads > o->users || o->threads > BENCH_THREADS_MAX)
		return err_set(err, EINVAL, "%u threads: expected at least 1 and at most one per user", o->threads);
	if (o->target.uri_count > o->threads)
		return err_set(err, EINVAL, "%zu volumes for %u threads: expected at most as many",
			       o->target.uri_count, o->threads);
	if (o->piece_bytes < 512 || o->piece_bytes > 1 << 30)
		return err_set(err, EINVAL, "pieces of %llu bytes: expected 512 bytes to 1 GiB",
			       (unsigned long long)o->piece_bytes);
	if (o->depth < 1 || o->queues < 1 || o->depth * o->queues > 1 << 16)
		return err_set(err, EINVAL, "%u queues of depth %u: expected 1 to 65536 pieces in flight", o->queues,
			       o->depth);
	if (o->time_ns == 0 && o->turns == 0)
		return err_set(err, EINVAL, "it would never end: no time and no turns");
	return check_mix(o, err);
}

void kv_part(const struct kv *kv, unsigned int index, uint64_t *ret_base, uint32_t *ret_pages)
{
	const struct kv_options *o = kv->o;
	unsigned int volumes = (unsigned int)o->target.uri_count, v = index % volumes;
	uint64_t size = kv->r->all.info[v].size_bytes, offset, room;
	/* Threads on this volume. */
	uint64_t n = o->threads / volumes + (v < o->threads % volumes);
	uint64_t pages;

	bench_range(&o->target, size, o->offset, o->size, &offset, &room);
	room = size > offset ? MIN(room, size - offset) : 0;
	pages = MIN(room / n / kv->page_bytes, (uint64_t)UINT32_MAX);
	*ret_base = ALIGN_UP(offset, (uint64_t)KV_ALIGN) + index / volumes * pages * kv->page_bytes;
	/* Rounding the offset up may have cost the last page. */
	*ret_pages = (uint32_t)(pages > 0 && offset % KV_ALIGN ? pages - 1 : pages);
}

static int check_room(struct kv *kv, struct err *err)
{
	const struct kv_options *o = kv->o;
	uint64_t base;
	uint32_t pages;

	for (unsigned int i = 0; i < o->threads; i++) {
		kv_part(kv, i, &base, &pages);
		if (pages < KV_PAGES_LEAST)
			return err_set(err, ENOSPC,
				       "%s: each thread has %llu bytes there, and a conversation may take %llu: take "
				       "fewer threads or a smaller --scale",
				       o->target.uris[i % o->target.uri_count],
				       (unsigned long long)(pages * kv->page_bytes),
				       (unsigned long long)(KV_PAGES_LEAST * kv->page_bytes));
		kv->r->pages += pages;
	}
	return 0;
}

/* ---- running ------------------------------------------------------------------------------- */

static unsigned int start_threads(struct kv *kv, struct err *err)
{
	unsigned int n = 0;

	while (n < kv->o->threads) {
		int rc;

		kv->threads[n].kv = kv;
		kv->threads[n].index = n;
		rc = pthread_create(&kv->threads[n].thread, NULL, kv_thread_main, &kv->threads[n]);
		if (rc != 0) {
			err_set(err, rc, "cannot start %u threads: %s", kv->o->threads, strerror(rc));
			break;
		}
		n++;
	}
	return n;
}

static int first_error(const struct kv *kv, struct err *err)
{
	for (unsigned int i = 0; i < kv->o->threads; i++) {
		if (kv->threads[i].rc < 0) {
			*err = kv->threads[i].err;
			return kv->threads[i].rc;
		}
	}
	return 0;
}

struct shown {
	uint64_t ns, bytes, turns;
};

static void show(struct kv *kv, uint64_t now, struct shown *before)
{
	const struct kv_options *o = kv->o;
	double since = (double)(now - before->ns) / 1e9;
	struct bench_live live = { .phase = "measuring", .done = -1, .stall = -1 };
	struct shown sum = { .ns = now };

	for (unsigned int i = 0; i < o->threads; i++) {
		sum.bytes += atomic_load(&kv->threads[i].mover.live_bytes);
		sum.turns += atomic_load(&kv->threads[i].live_turns);
	}
	if (now < kv->begin_ns)
		live.phase = "warm-up";
	live.seconds = (double)(now + o->warmup_ns - kv->begin_ns) / 1e9;
	live.seconds_left = -1;
	if (kv->end_ns != UINT64_MAX)
		live.seconds_left = now < kv->end_ns ? (double)(kv->end_ns - now) / 1e9 : 0;
	live.iops = (double)(sum.turns - before->turns) / since;
	live.bytes_per_second = (double)(sum.bytes - before->bytes) / since;
	*before = sum;
	o->live(&live, o->live_arg);
}

static void watch(struct kv *kv)
{
	const struct bench_clock *clock = kv->o->target.clock;
	struct shown shown = { .ns = clock->now() };

	while (atomic_load(&kv->running) > 0) {
		uint64_t now = clock->now();

		if (kv->o->live && !kv->abandoned && now - shown.ns >= LIVE_NS)
			show(kv, now, &shown);
		clock->sleep_until(now + TICK_NS);
	}
}

static int run_threads(struct kv *kv, struct err *err)
{
	const struct kv_options *o = kv->o;
	unsigned int n;
	int rc;

	gate_init(&kv->gate);
	n = start_threads(kv, err);
	atomic_store(&kv->running, n);
	gate_wait(&kv->gate, n);
	rc = n < o->threads ? -err->code : first_error(kv, err);
	if (rc == 0)
		rc = bench_ready(&o->target, err);
	kv->abandoned = rc < 0;
	kv->begin_ns = o->target.clock->now() + o->warmup_ns;
	kv->end_ns = o->time_ns ? kv->begin_ns + o->time_ns : UINT64_MAX;
	if (o->target.series)
		series_begin(o->target.series, kv->begin_ns);
	gate_open(&kv->gate);
	watch(kv);
	for (unsigned int i = 0; i < n; i++)
		pthread_join(kv->threads[i].thread, NULL);
	gate_deinit(&kv->gate);
	return rc;
}

/* ---- results ------------------------------------------------------------------------------- */

static void merge_classes(struct kv_result *r, const struct kv_thread *t)
{
	for (int i = 0; i < KV_CLASSES; i++) {
		struct kv_class *c = &r->class[i];
		const struct kv_class *from = &t->class[i];

		c->turns += from->turns;
		hist_merge(&c->turn, &from->turn);
		hist_merge(&r->all.latency, &from->turn);
		r->all.ops += from->turns;
		for (int k = 0; k < 2; k++) {
			c->bytes[k] += from->bytes[k];
			hist_merge(&c->move[k], &from->move[k]);
		}
	}
}

static void merge_counts(struct kv_counts *c, const struct kv_counts *from)
{
	c->conversations += from->conversations;
	c->hits += from->hits;
	c->misses += from->misses;
	c->prefixes += from->prefixes;
	c->dropped += from->dropped;
	c->refused += from->refused;
	c->tokens[0] += from->tokens[0];
	c->tokens[1] += from->tokens[1];
}

void kv_merge(struct kv_result *r, const struct kv_result *run)
{
	bench_result_merge(&r->all, &run->all);
	merge_counts(&r->counts, &run->counts);
	for (int i = 0; i < KV_CLASSES; i++) {
		r->class[i].turns += run->class[i].turns;
		hist_merge(&r->class[i].turn, &run->class[i].turn);
		for (int k = 0; k < 2; k++) {
			r->class[i].bytes[k] += run->class[i].bytes[k];
			hist_merge(&r->class[i].move[k], &run->class[i].move[k]);
		}
	}
}

static void merge_thread(struct kv_result *r, const struct kv_thread *t)
{
	const struct mover *m = &t->mover;
	struct bench_result *all = &r->all;

	merge_classes(r, t);
	merge_counts(&r->counts, &t->counts);
	all->bytes += m->bytes[0] + m->bytes[1];
	bench_timing_add(&all->split, &m->timing);
	all->split_ops += m->pieces;
	for (int i = 0; i < BENCH_PATHS; i++)
		all->path_bytes[i] += m->path_bytes[i];
	if (all->errors == 0 && m->errors > 0)
		memcpy(all->first_error, m->first_error, sizeof(all->first_error));
	all->errors += m->errors;
	all->trouble.retries += t->trouble.retries;
	all->trouble.reconnects += t->trouble.reconnects;
	bench_verify_merge(&all->verify, &m->verify);
	if (m->path_missed) {
		all->path_missed = true;
		all->path_taken = m->path_taken;
	}
}

static void collect(struct kv *kv)
{
	struct kv_result *r = kv->r;
	uint64_t ended = 0;

	for (unsigned int i = 0; i < kv->o->threads; i++) {
		merge_thread(r, &kv->threads[i]);
		ended = MAX(ended, kv->threads[i].ended_ns);
	}
	r->all.ns = ended > kv->begin_ns ? ended - kv->begin_ns : 0;
	r->all.interrupted = atomic_load(kv->o->target.stop);
	bench_result_points(&r->all, &kv->o->target, ended);
}

static void note(const struct kv *kv)
{
	const struct kv_options *o = kv->o;
	struct kv_result *r = kv->r;
	struct bench_notes *n = &r->all.notes;

	bench_note(n, "not an MLPerf result");
	if (o->scale_ppm != 1000000)
		bench_note(n, "scaled: a token has %llu bytes, %s's has %llu", (unsigned long long)r->token_bytes,
			   o->model->name, (unsigned long long)o->model->kv_bytes_per_token);
	bench_note_memory(n, &o->target);
	if (o->verify)
		bench_note(n, "contents were filled in or checked by the threads that measure: figures are lower "
			      "for it");
	if (r->counts.refused > 0)
		bench_note(n, "%llu turns found no room for their tokens: the volume is small for %u users",
			   (unsigned long long)r->counts.refused, o->users);
	if (r->all.interrupted)
		bench_note(n, "interrupted");
}

static int prepare(struct kv *kv, struct err *err)
{
	const struct kv_options *o = kv->o;
	struct bench_result *all = &kv->r->all;
	int rc = probe_volumes(&o->target, true, true, all->info, all->io, sizeof(all->io), err);

	if (rc == 0)
		rc = guard_same(&o->target, all->info, err);
	if (rc == 0)
		rc = guard_write(&o->target, o->offset, o->overwrite, err);
	if (rc < 0)
		return rc;
	kv->token_bytes = model_scaled(o->model->kv_bytes_per_token, o->scale_ppm);
	kv->page_bytes = ALIGN_UP(KV_PAGE_TOKENS * kv->token_bytes, (uint64_t)KV_ALIGN);
	kv->r->token_bytes = kv->token_bytes;
	kv->run = hash_u64(hash_u64(HASH_INIT, o->target.clock->now()), (uint64_t)getpid());
	return check_room(kv, err);
}

int kv_run(const struct kv_options *opts, struct kv_result *ret_result, struct err *err)
{
	struct kv kv = { .o = opts, .r = ret_result };
	int rc = check_options(opts, err);

	if (rc < 0)
		return rc;
	memset(ret_result, 0, sizeof(*ret_result));
	hist_init(&ret_result->all.latency);
	for (int i = 0; i < KV_CLASSES; i++) {
		hist_init(&ret_result->class[i].turn);
		hist_init(&ret_result->class[i].move[0]);
		hist_init(&ret_result->class[i].move[1]);
	}
	rc = prepare(&kv, err);
	if (rc < 0)
		return rc;
	pthread_mutex_init(&kv.lock, NULL);
	kv.threads = mem_calloc(opts->threads, sizeof(*kv.threads));
	rc = kv.threads ? run_threads(&kv, err) : err_set(err, ENOMEM, "out of memory");
	if (rc == 0) {
		collect(&kv);
		note(&kv);
	}
	pthread_mutex_destroy(&kv.lock);
	mem_free(kv.threads);
	return rc;
}
