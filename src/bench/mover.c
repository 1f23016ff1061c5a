/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/mover.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/content.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/util.h"

enum { BUFFER_ALIGN = 4096, EXTRA_REQUESTS = 8 };

struct mover_slot {
	struct mover_slot *next; /* in free, or in arrived */
	struct mover *m;
	struct move *move;
	size_t mem_offset;
	uint64_t at; /* within its object */
	uint64_t length;
	int error;
	uint16_t nvme_status;
};

/* ---- opening ------------------------------------------------------------------------------- */

static int open_volume(struct mover *m, struct err *err)
{
	struct pst_volume_options vo = PST_OPTIONS(vo);
	struct pst_error perr;

	vo.queues = m->o.queues;
	vo.depth = m->o.depth;
	vo.read_only = m->o.read_only;
	if (pst_volume_open(m->ctx, m->o.uri, &vo, &m->vol, &perr) < 0) {
		bench_err(err, &perr);
		return err_prefix(err, "%s", m->o.uri);
	}
	pst_volume_info(m->vol, &m->info);
	return 0;
}

/* Nothing that a target could compress, nor find twice among the buffers. */
static int fill_buffers(struct mover *m, uint64_t each)
{
	struct rng rng;
	int rc = 0;

	rng_init(&rng, hash_u64(hash_u64(HASH_INIT, m->o.seed), (uint64_t)(uintptr_t)m));
	for (unsigned int i = 0; rc == 0 && i < m->slot_count; i++) {
		rng_fill(&rng, m->host ? m->host + i * each : m->scratch, each);
		if (!m->host)
			rc = pst_memory_copy_in(m->mem, i * each, m->scratch, each);
	}
	return rc;
}

static int make_slots(struct mover *m, struct err *err)
{
	uint64_t each = ALIGN_UP(m->o.piece_bytes, (uint64_t)BUFFER_ALIGN);
	int rc;

	m->slots = mem_calloc(m->slot_count, sizeof(*m->slots));
	m->scratch = mem_aligned(BUFFER_ALIGN, each);
	if (!m->slots || !m->scratch)
		return err_set(err, ENOMEM, "out of memory");
	rc = bench_memory(m->o.target, m->ctx, m->slot_count * each, &m->mem, err);
	if (rc < 0)
		return rc;
	m->host = pst_memory_ptr(m->mem);
	for (unsigned int i = 0; i < m->slot_count; i++) {
		struct mover_slot *s = &m->slots[i];

		*s = (struct mover_slot){ .m = m, .mem_offset = i * each, .next = m->free };
		m->free = s;
	}
	rc = m->o.read_only ? 0 : fill_buffers(m, each);
	return rc < 0 ? err_set(err, -rc, "filling buffers: %s", strerror(-rc)) : 0;
}

int mover_open(struct mover *m, const struct mover_options *opts, struct err *err)
{
	int rc;

	*m = (struct mover){ .o = *opts, .slot_count = opts->depth * opts->queues };
	m->arrived_tail = &m->arrived;
	series_part_init(&m->series, opts->target->series);
	list_init(&m->ended);
	for (int i = 0; i < MOVER_CLASSES; i++)
		list_init(&m->waiting[i]);
	rc = bench_context(opts->target, PST_MODE_POLLED, 0, m->slot_count + EXTRA_REQUESTS, &m->ctx, err);
	if (rc == 0)
		rc = open_volume(m, err);
	return rc == 0 ? make_slots(m, err) : rc;
}

void mover_close(struct mover *m, struct bench_trouble *ret_trouble)
{
	bench_trouble_add(ret_trouble, m->vol);
	series_part_end(&m->series);
	pst_volume_close(m->vol);
	pst_memory_free(m->mem);
	pst_context_free(m->ctx);
	mem_free(m->slots);
	mem_free(m->scratch);
	m->vol = NULL;
	m->mem = NULL;
	m->ctx = NULL;
	m->slots = NULL;
	m->scratch = NULL;
}

/* ---- contents ------------------------------------------------------------------------------ */

static int fill(struct mover *m, const struct mover_slot *s)
{
	uint8_t *to = m->host ? m->host + s->mem_offset : m->scratch;

	if (!m->o.verify) {
		uint64_t mark = s->move->offset + s->at;

		/* Each piece differs from the last one of the same buffer, for targets that would notice. */
		if (m->host)
			memcpy(to, &mark, MIN(sizeof(mark), s->length));
		return 0;
	}
	content_fill(m->o.seed, s->move->object, s->at, to, s->length);
	return m->host ? 0 : pst_memory_copy_in(m->mem, s->mem_offset, m->scratch, s->length);
}

static void check(struct mover *m, const struct mover_slot *s)
{
	const uint8_t *from = m->host ? m->host + s->mem_offset : m->scratch;
	struct move *move = s->move;
	size_t good;
	int rc = m->host ? 0 : pst_memory_copy_out(m->mem, s->mem_offset, m->scratch, s->length);

	m->verify.samples++;
	if (rc < 0) {
		bench_verify_fail(&m->verify, "%s: byte %llu cannot be copied out of the accelerator: %s", m->o.uri,
				  (unsigned long long)(move->offset + s->at), strerror(-rc));
		return;
	}
	good = content_check(m->o.seed, move->object, s->at, from, s->length);
	if (good == s->length)
		return;
	move->wrong = true;
	bench_verify_fail(&m->verify, "%s: byte %llu is wrong (byte %llu of an object at byte %llu)", m->o.uri,
			  (unsigned long long)(move->offset + s->at + good), (unsigned long long)(s->at + good),
			  (unsigned long long)move->offset);
}

/* ---- arriving ------------------------------------------------------------------------------ */

static void arrived(const struct pst_completion *c, void *user)
{
	struct mover_slot *s = user;
	struct mover *m = s->m;
	enum pst_path want = m->o.target->require;

	s->error = c->error;
	s->nvme_status = c->nvme_status;
	s->next = NULL;
	*m->arrived_tail = s;
	m->arrived_tail = &s->next;
	if (c->error)
		return;
	if (want != PST_PATH_NONE && c->path != want) {
		m->path_missed = true;
		m->path_taken = c->path;
	}
	if (!m->recording)
		return;
	m->bytes[s->move->write] += c->bytes;
	m->path_bytes[c->path] += c->bytes;
	bench_timing_add(&m->timing, &c->timing);
	m->pieces++;
	if (m->series.to)
		series_part_add(&m->series, m->o.target->clock->now(), c->timing.total, c->bytes);
	atomic_fetch_add_explicit(&m->live_bytes, c->bytes, memory_order_relaxed);
}

static void count_error(struct mover *m, const char *what, uint64_t offset, int error, uint16_t nvme_status)
{
	const char *why = nvme_status ? pst_nvme_status_name(nvme_status) : strerror(-error);

	if (m->errors++ == 0)
		snprintf(m->first_error, sizeof(m->first_error), "%s: %s at byte %llu: %s", m->o.uri, what,
			 (unsigned long long)offset, why);
}

/* All that was issued has settled, and there is nothing more to issue. */
static bool over(const struct move *move)
{
	return move->settled == move->issued && (move->error || move->issued == move->length);
}

/* What will not be issued any more is taken from the queue. */
static void give_up(struct move *move, int error)
{
	if (move->error)
		return;
	move->error = error;
	if (move->issued < move->length)
		list_del(&move->link);
}

static void settle(struct mover *m, struct mover_slot *s)
{
	struct move *move = s->move;

	if (s->error) {
		count_error(m, move->write ? "write" : "read", move->offset + s->at, s->error, s->nvme_status);
		give_up(move, s->error);
	} else if (m->o.verify && !move->write) {
		check(m, s);
	}
	move->settled += s->length;
	s->next = m->free;
	m->free = s;
	m->in_flight--;
	if (over(move))
		move->done(move);
}

static void settle_all(struct mover *m)
{
	/* Checking a device's memory turns the loop, which may append to the list. */
	while (m->arrived) {
		struct mover_slot *s = m->arrived;

		m->arrived = s->next;
		if (!m->arrived)
			m->arrived_tail = &m->arrived;
		settle(m, s);
	}
	while (!list_empty(&m->ended)) {
		struct move *move = list_first_entry(&m->ended, struct move, link);

		list_del(&move->link);
		move->done(move);
	}
}

/* ---- issuing ------------------------------------------------------------------------------- */

static struct move *next_move(struct mover *m)
{
	for (int i = 0; i < MOVER_CLASSES; i++) {
		if (!list_empty(&m->waiting[i]))
			return list_first_entry(&m->waiting[i], struct move, link);
	}
	return NULL;
}

static void issue(struct mover *m, struct move *move)
{
	struct mover_slot *s = m->free;
	int rc = 0;

	m->free = s->next;
	s->move = move;
	s->at = move->issued;
	s->length = MIN(move->length - move->issued, m->o.piece_bytes);
	move->issued += s->length;
	if (move->issued == move->length)
		list_del(&move->link);
	m->in_flight++;
	if (move->write)
		rc = fill(m, s);
	if (rc == 0 && move->write)
		rc = pst_write(m->vol, m->mem, s->mem_offset, move->offset + s->at, s->length, arrived, s);
	else if (rc == 0)
		rc = pst_read(m->vol, m->mem, s->mem_offset, move->offset + s->at, s->length, arrived, s);
	if (rc < 0) {
		s->error = rc;
		s->nvme_status = 0;
		settle(m, s);
	}
}

static void issue_all(struct mover *m)
{
	struct move *move;

	while (!m->stopped && m->free && (move = next_move(m)) != NULL)
		issue(m, move);
}

void mover_submit(struct mover *m, struct move *move)
{
	INVARIANT(move->class < MOVER_CLASSES);
	move->issued = move->settled = 0;
	move->error = 0;
	move->wrong = false;
	list_add_tail(move->length > 0 ? &m->waiting[move->class] : &m->ended, &move->link);
}

void mover_turn(struct mover *m, uint64_t timeout_ns)
{
	int rc;

	issue_all(m);
	rc = pst_poll(m->ctx, list_empty(&m->ended) && !m->arrived ? timeout_ns : 0);
	if (rc < 0 && rc != -EINTR)
		count_error(m, "polling", 0, rc, 0);
	settle_all(m);
}

void mover_stop(struct mover *m)
{
	struct move *move;

	m->stopped = true;
	while ((move = next_move(m)) != NULL) {
		give_up(move, -ECANCELED);
		if (over(move))
			move->done(move);
	}
	while (m->in_flight > 0 || !list_empty(&m->ended))
		mover_turn(m, UINT64_C(100000000));
	m->stopped = false;
}

int mover_flush(struct mover *m)
{
	struct pst_completion c = { .error = 0 };
	int rc = pst_flush_sync(m->vol, &c);

	if (rc < 0)
		count_error(m, "flush", 0, rc, c.nvme_status);
	return rc;
}
