/* SPDX-License-Identifier: Apache-2.0 */
/* A run of checkpoints from outside of its ranks: what is asked for and what is there, start, results. */
#include "bench/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/util.h"
#include "bench/checkpoint-impl.h"
#include "bench/guard.h"
#include "bench/probe.h"

#define TICK_NS UINT64_C(20000000)
#define LIVE_NS UINT64_C(1000000000)

uint64_t checkpoint_rank_bytes(const struct checkpoint *c, unsigned int rank)
{
	return c->optimizer_bytes + (rank < c->r->model.model_ranks ? c->model_bytes : 0);
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static int check_options(const struct checkpoint_options *o, struct err *err)
{
	if (!o->restore && (!o->model || o->scale_ppm == 0))
		return err_set(err, EINVAL, "a save needs a model and a scale");
	if (o->count > CHECKPOINT_COUNT_MAX || (o->count == 0 && o->time_ns == 0))
		return err_set(err, EINVAL, "%u checkpoints: expected 1 to %d, or a time", o->count,
			       CHECKPOINT_COUNT_MAX);
	if (o->piece_bytes < 512 || o->piece_bytes > 1 << 30)
		return err_set(err, EINVAL, "pieces of %llu bytes: expected 512 bytes to 1 GiB",
			       (unsigned long long)o->piece_bytes);
	if (o->depth < 1 || o->queues < 1 || o->depth * o->queues > 1 << 16)
		return err_set(err, EINVAL, "%u queues of depth %u: expected 1 to 65536 pieces in flight", o->queues,
			       o->depth);
	return 0;
}

static int check_ranks(const struct checkpoint *c, struct err *err)
{
	const struct model *m = &c->r->model;
	unsigned int most = MIN((unsigned int)CHECKPOINT_RANKS_MAX, model_all_ranks(m));

	if (c->r->ranks < 1 || c->r->ranks > most)
		return err_set(err, EINVAL, "%u ranks: %s has %u of them, expected 1 to %u", c->r->ranks, m->name,
			       model_all_ranks(m), most);
	if (c->volumes > c->r->ranks)
		return err_set(err, EINVAL, "%u volumes for %u ranks: expected at most as many", c->volumes,
			       c->r->ranks);
	return 0;
}

/* Sizes from model, ranks and scale. */
static void plan_sizes(struct checkpoint *c)
{
	struct checkpoint_result *r = c->r;

	c->model_bytes = model_scaled(r->model.model_bytes, r->scale_ppm);
	c->optimizer_bytes = model_scaled(r->model.optimizer_bytes, r->scale_ppm);
	c->part_bytes = ALIGN_UP(c->model_bytes + c->optimizer_bytes, (uint64_t)BOOK_ALIGN);
	for (unsigned int i = 0; i < r->ranks; i++)
		r->checkpoint_bytes += checkpoint_rank_bytes(c, i);
}

uint64_t checkpoint_offset(const struct checkpoint *c, unsigned int volume)
{
	uint64_t offset, size;

	bench_range(&c->o->target, c->r->all.info[volume].size_bytes, c->o->offset, c->o->size, &offset, &size);
	return offset;
}

static uint64_t room_of(const struct checkpoint_options *o, const struct pst_volume_info *info)
{
	uint64_t offset, size;

	bench_range(&o->target, info->size_bytes, o->offset, o->size, &offset, &size);
	return info->size_bytes > offset ? MIN(size, info->size_bytes - offset) : 0;
}

static int plan_slots(struct checkpoint *c, struct err *err)
{
	const struct checkpoint_options *o = c->o;
	uint64_t slots = o->count ? o->count : CHECKPOINT_COUNT_MAX;
	uint64_t slot = DIV_ROUND_UP(c->r->ranks, c->volumes) * c->part_bytes;

	for (unsigned int i = 0; i < c->volumes; i++) {
		uint64_t room = room_of(o, &c->r->all.info[i]);

		if (room < BOOK_ROOM + slot)
			return err_set(err, ENOSPC,
				       "%s: a checkpoint takes %llu bytes there, and %llu are left: take fewer ranks "
				       "or a smaller --scale",
				       o->target.uris[i], (unsigned long long)(BOOK_ROOM + slot),
				       (unsigned long long)room);
		slots = MIN(slots, (room - BOOK_ROOM) / slot);
	}
	c->book.slots = (uint32_t)slots;
	c->book.slot_bytes = slot;
	return 0;
}

static int prepare_save(struct checkpoint *c, struct err *err)
{
	const struct checkpoint_options *o = c->o;
	struct checkpoint_result *r = c->r;
	int rc = probe_volumes(&o->target, true, true, r->all.info, r->all.io, sizeof(r->all.io), err);

	if (rc == 0)
		rc = guard_same(&o->target, r->all.info, err);
	if (rc == 0)
		rc = guard_write(&o->target, o->offset, o->overwrite, err);
	if (rc < 0)
		return rc;
	r->model = *o->model;
	r->ranks = o->ranks;
	r->scale_ppm = o->scale_ppm;
	rc = check_ranks(c, err);
	if (rc < 0)
		return rc;
	plan_sizes(c);
	snprintf(c->book.model, sizeof(c->book.model), "%s", r->model.name);
	c->book.ranks = r->ranks;
	c->book.scale_ppm = r->scale_ppm;
	c->book.seed = o->seed;
	c->book.run = hash_u64(hash_u64(HASH_INIT, o->target.clock->now()), (uint64_t)getpid());
	c->book.known_contents = o->verify;
	c->book.volumes = c->volumes;
	c->book.oldest = 1;
	return plan_slots(c, err);
}

/* ---- what is there ------------------------------------------------------------------------- */

static int load_one(struct checkpoint *c, struct pst_context *ctx, unsigned int i, struct book *ret, struct err *err)
{
	struct pst_volume_options vo = PST_OPTIONS(vo);
	struct pst_volume *vol;
	struct pst_error perr;
	int rc;

	vo.read_only = true;
	if (pst_volume_open(ctx, c->o->target.uris[i], &vo, &vol, &perr) < 0)
		return bench_err(err, &perr);
	rc = book_load(ctx, vol, checkpoint_offset(c, i), ret, err);
	pst_volume_close(vol);
	return rc;
}

/* Those of a checkpoint that is whole on every volume, in the order of the URIs. */
static int check_book(struct checkpoint *c, unsigned int i, const struct book *b, struct err *err)
{
	if (b->volumes != c->volumes || b->volume != i)
		return err_set(err, EINVAL, "volume %u of %u that the checkpoints are spread over: expected %u of %u",
			       b->volume + 1, b->volumes, i + 1, c->volumes);
	if (i == 0)
		c->book = *b;
	if (b->run != c->book.run || b->ranks != c->book.ranks || b->slot_bytes != c->book.slot_bytes ||
	    b->slots != c->book.slots || b->scale_ppm != c->book.scale_ppm)
		return err_set(err, EINVAL, "holds checkpoints of another run than %s", c->o->target.uris[0]);
	c->book.oldest = MAX(c->book.oldest, b->oldest);
	c->book.newest = MIN(c->book.newest, b->newest);
	return 0;
}

static int load_books(struct checkpoint *c, struct err *err)
{
	struct pst_context *ctx;
	struct book b;
	int rc = bench_context(&c->o->target, PST_MODE_POLLED, 0, 0, &ctx, err);

	if (rc < 0)
		return rc;
	for (unsigned int i = 0; rc == 0 && i < c->volumes; i++) {
		rc = load_one(c, ctx, i, &b, err);
		if (rc == 0)
			rc = check_book(c, i, &b, err);
		if (rc < 0)
			err_prefix(err, "%s", c->o->target.uris[i]);
	}
	pst_context_free(ctx);
	if (rc == 0 && c->book.newest < c->book.oldest)
		return err_set(err, EINVAL, "%s: no checkpoint there is complete", c->o->target.uris[0]);
	return rc;
}

static int check_wanted(const struct checkpoint *c, struct err *err)
{
	const struct checkpoint_options *o = c->o;
	const struct book *b = &c->book;

	if (o->model && strcmp(o->model->name, b->model) != 0)
		return err_set(err, EINVAL, "the checkpoints are of %s, not of %s", b->model, o->model->name);
	if (o->ranks && o->ranks != b->ranks)
		return err_set(err, EINVAL, "the checkpoints were saved by %u ranks, not by %u", b->ranks, o->ranks);
	if (o->scale_ppm && o->scale_ppm != b->scale_ppm)
		return err_set(err, EINVAL, "the checkpoints were saved with --scale %g, not with %g",
			       (double)b->scale_ppm / 1e6, (double)o->scale_ppm / 1e6);
	if (o->verify && !b->known_contents)
		return err_set(err, EINVAL,
			       "the checkpoints were saved without --verify: their contents are not known");
	return 0;
}

static int prepare_restore(struct checkpoint *c, struct err *err)
{
	struct checkpoint_result *r = c->r;
	const struct model *model;
	int rc = probe_volumes(&c->o->target, false, false, r->all.info, r->all.io, sizeof(r->all.io), err);

	if (rc == 0)
		rc = load_books(c, err);
	if (rc == 0)
		rc = check_wanted(c, err);
	if (rc < 0)
		return rc;
	model = model_find(c->book.model);
	if (!model)
		return err_set(err, EINVAL, "the checkpoints are of '%s', which this version does not know",
			       c->book.model);
	r->model = *model;
	r->ranks = c->book.ranks;
	r->scale_ppm = c->book.scale_ppm;
	rc = check_ranks(c, err);
	if (rc < 0)
		return rc;
	plan_sizes(c);
	if (c->book.slot_bytes != DIV_ROUND_UP(r->ranks, c->volumes) * c->part_bytes)
		return err_set(err, EINVAL, "the checkpoints were saved by a version with other sizes of %s",
			       r->model.name);
	for (unsigned int i = 0; i < c->volumes; i++) {
		if (room_of(c->o, &r->all.info[i]) < BOOK_ROOM + c->book.slots * c->book.slot_bytes)
			return err_set(err, EINVAL, "%s: the volume is smaller than its checkpoints",
				       c->o->target.uris[i]);
	}
	return 0;
}

/* ---- running ------------------------------------------------------------------------------- */

static unsigned int start_ranks(struct checkpoint *c, struct err *err)
{
	unsigned int n = 0;

	while (n < c->r->ranks) {
		int rc;

		c->ranks[n].c = c;
		c->ranks[n].index = n;
		rc = pthread_create(&c->ranks[n].thread, NULL, checkpoint_rank_main, &c->ranks[n]);
		if (rc != 0) {
			err_set(err, rc, "cannot start %u ranks: %s", c->r->ranks, strerror(rc));
			break;
		}
		n++;
	}
	return n;
}

static int first_error(const struct checkpoint *c, struct err *err)
{
	for (unsigned int i = 0; i < c->r->ranks; i++) {
		if (c->ranks[i].rc < 0) {
			*err = c->ranks[i].err;
			return c->ranks[i].rc;
		}
	}
	return 0;
}

static void show(struct checkpoint *c, uint64_t now, uint64_t *before, uint64_t since_ns)
{
	const struct checkpoint_options *o = c->o;
	struct bench_live live = { .phase = o->restore ? "restoring" : "saving", .done = -1, .seconds_left = -1 };
	uint64_t bytes = 0;

	live.stall = -1;
	for (unsigned int i = 0; i < c->r->ranks; i++)
		bytes += atomic_load(&c->ranks[i].mover.live_bytes);
	if (atomic_load(&c->reading_back))
		live.phase = "reading back";
	else if (o->count)
		live.done = (double)bytes / ((double)o->count * (double)c->r->checkpoint_bytes);
	live.seconds = (double)(now - c->begin_ns) / 1e9;
	if (live.done > 0)
		live.seconds_left = live.seconds * (1 / live.done - 1);
	live.bytes_per_second = (double)(bytes - *before) * 1e9 / (double)since_ns;
	*before = bytes;
	o->live(&live, o->live_arg);
}

static void watch(struct checkpoint *c)
{
	const struct bench_clock *clock = c->o->target.clock;
	uint64_t shown = clock->now(), bytes = 0;

	while (atomic_load(&c->running) > 0) {
		uint64_t now = clock->now();

		if (c->o->live && !c->abandoned && now - shown >= LIVE_NS) {
			show(c, now, &bytes, now - shown);
			shown = now;
		}
		clock->sleep_until(now + TICK_NS);
	}
}

static int run_ranks(struct checkpoint *c, struct err *err)
{
	unsigned int n;
	int rc;

	gate_init(&c->gate);
	meeting_init(&c->meeting, c->r->ranks);
	n = start_ranks(c, err);
	atomic_store(&c->running, n);
	gate_wait(&c->gate, n);
	rc = n < c->r->ranks ? -err->code : first_error(c, err);
	if (rc == 0)
		rc = bench_ready(&c->o->target, err);
	c->abandoned = rc < 0;
	c->begin_ns = c->o->target.clock->now();
	c->end_ns = c->o->time_ns ? c->begin_ns + c->o->time_ns : UINT64_MAX;
	c->cost_begin = bench_cost_now(&c->o->target);
	if (c->o->target.series)
		series_begin(c->o->target.series, c->begin_ns);
	gate_open(&c->gate);
	watch(c);
	for (unsigned int i = 0; i < n; i++)
		pthread_join(c->ranks[i].thread, NULL);
	meeting_deinit(&c->meeting);
	gate_deinit(&c->gate);
	return rc;
}

/* ---- results ------------------------------------------------------------------------------- */

static void merge_rank(struct bench_result *all, const struct checkpoint_rank *rank, bool write)
{
	const struct mover *m = &rank->mover;

	all->ops += rank->duration.count;
	all->bytes += m->bytes[write];
	hist_merge(&all->latency, &rank->duration);
	bench_timing_add(&all->split, &m->timing);
	all->split_ops += m->pieces;
	for (int i = 0; i < BENCH_PATHS; i++)
		all->path_bytes[i] += m->path_bytes[i];
	if (all->errors == 0 && m->errors > 0)
		memcpy(all->first_error, m->first_error, sizeof(all->first_error));
	all->errors += m->errors;
	all->trouble.retries += rank->trouble.retries;
	all->trouble.reconnects += rank->trouble.reconnects;
	bench_verify_merge(&all->verify, &m->verify);
	if (m->path_missed) {
		all->path_missed = true;
		all->path_taken = m->path_taken;
	}
}

static void collect(struct checkpoint *c)
{
	struct checkpoint_result *r = c->r;
	uint64_t given_up = 0;

	r->slots = c->book.slots;
	r->all.interrupted = atomic_load(c->o->target.stop);
	for (unsigned int i = 0; i < r->ranks; i++) {
		merge_rank(&r->all, &c->ranks[i], !c->o->restore);
		given_up = MAX(given_up, c->ranks[i].given_up_ns);
	}
	r->all.ns = given_up;
	for (unsigned int i = 0; i < r->count; i++)
		r->all.ns += r->ns[i];
	bench_result_points(&r->all, &c->o->target, c->ended_ns);
}

static void note(const struct checkpoint *c)
{
	const struct checkpoint_options *o = c->o;
	struct checkpoint_result *r = c->r;
	struct bench_notes *n = &r->all.notes;

	bench_note(n, "not an MLPerf result");
	if (r->scale_ppm != 1000000)
		bench_note(n, "scaled: sizes are %g of %s's", (double)r->scale_ppm / 1e6, r->model.name);
	if (r->ranks < model_all_ranks(&r->model))
		bench_note(n, "%u of the %u ranks of %s: the first ones", r->ranks, model_all_ranks(&r->model),
			   r->model.name);
	bench_note_memory(n, &o->target);
	if (r->slots < r->count)
		bench_note(n, "the volumes hold %u checkpoint%s at a time: %s", r->slots, r->slots == 1 ? "" : "s",
			   o->restore ? "they were read more than once, so caches may have had them"
				      : "later ones were written over earlier ones");
	if (o->verify)
		bench_note(n, "contents were filled in or checked by the threads that measure: figures are lower "
			      "for it");
	if (r->count == CHECKPOINT_COUNT_MAX && o->time_ns)
		bench_note(n, "it ended before its time, after %d checkpoints", CHECKPOINT_COUNT_MAX);
	if (r->all.interrupted)
		bench_note(n, "interrupted");
}

static int run(struct checkpoint *c, struct err *err)
{
	int rc = c->o->restore ? prepare_restore(c, err) : prepare_save(c, err);

	if (rc < 0)
		return rc;
	c->ranks = mem_calloc(c->r->ranks, sizeof(*c->ranks));
	if (!c->ranks)
		return err_set(err, ENOMEM, "no memory for %u ranks", c->r->ranks);
	rc = run_ranks(c, err);
	if (rc == 0) {
		collect(c);
		note(c);
	}
	mem_free(c->ranks);
	return rc;
}

void checkpoint_merge(struct checkpoint_result *r, const struct checkpoint_result *run)
{
	bench_result_merge(&r->all, &run->all);
	for (unsigned int i = 0; i < run->count && r->count < CHECKPOINT_COUNT_MAX; i++) {
		r->ns[r->count] = run->ns[i];
		r->flush_ns[r->count] = run->flush_ns[i];
		r->rank_rate[r->count++] = run->rank_rate[i];
	}
}

int checkpoint_run(const struct checkpoint_options *opts, struct checkpoint_result *ret_result, struct err *err)
{
	struct checkpoint c = { .o = opts, .r = ret_result, .volumes = (unsigned int)opts->target.uri_count };
	int rc = check_options(opts, err);

	if (rc < 0)
		return rc;
	memset(ret_result, 0, sizeof(*ret_result));
	hist_init(&ret_result->all.latency);
	return run(&c, err);
}
