/* SPDX-License-Identifier: Apache-2.0 */
/* The load of one host; see work.h. */
#include "work.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

static void slot_next(struct work_slot *s);

static void wrong(struct work *w, const struct work_slot *s, const char *what)
{
	if (!w->wrong[0])
		snprintf(w->wrong, sizeof(w->wrong), "host %u: %s (kind %d, error %d, status %x)",
			 w->host, what, s ? (int)s->io.kind : -1, s ? s->io.error : 0,
			 s ? (unsigned int)(s->io.status.sct << 8 | s->io.status.sc) : 0);
}

/* ---- an operation ends ----------------------------------------------------------------------- */

/*
 * The host's own errors: nobody knows what became of the last try, whatever was said of one
 * before.
 */
static bool unanswered(int error)
{
	return error == -ECANCELED || error == -ENOTCONN || error == -ETIMEDOUT ||
	       error == -ECONNRESET || error == -EPIPE || error == -ECONNABORTED ||
	       error == -ESHUTDOWN;
}

static enum oracle_outcome outcome_of(const struct work_slot *s)
{
	if (s->io.error == 0)
		return ORACLE_OK;
	return unanswered(s->io.error) || nvme_status_ok(s->io.status) ? ORACLE_UNKNOWN
								       : ORACLE_FAILED;
}

/* A controller that has given up answers at once: whoever tries again at once does nothing else. */
static uint64_t think_ns(struct work *w, enum oracle_outcome outcome)
{
	uint64_t max = w->plan->think_max_ns;

	return (outcome == ORACLE_OK ? 0 : 1000000) + (max ? rng_below(&w->rng, max) : 0);
}

/*
 * Where its time went. Host and target share the clock here, and nothing takes time but what the
 * simulator says, so what the target claims must fit between sending and the answer.
 */
static bool times_are_right(const struct host_io *io)
{
	bool moves = io->kind == HOST_IO_READ || io->kind == HOST_IO_WRITE;
	uint64_t told = io->times.queue + io->times.qos + io->times.media;

	if (io->error != 0)
		return true;
	if (io->submitted_ns > io->queued_ns || io->queued_ns > io->sent_ns || io->sent_ns > io->last_ns ||
	    io->first_ns > io->last_ns)
		return false;
	if (io->has_times != (io->timed && moves))
		return false;
	return !io->has_times || told <= io->last_ns - io->sent_ns;
}

static void slot_done(struct host_io *io)
{
	struct work_slot *s = container_of(io, struct work_slot, io);
	struct work *w = s->work;
	enum oracle_outcome outcome = outcome_of(s);

	if (!s->busy) {
		wrong(w, s, "an operation was finished twice");
		return;
	}
	s->busy = false;
	w->busy--;
	if (!times_are_right(io))
		wrong(w, s, "the times of an operation do not fit each other");
	shared_ended(w->shared, w->host, s->shared_start, io->kind != HOST_IO_READ, io->error == 0,
		     io->error != 0 && nvme_status_is(io->status, NVME_SC_RESERVATION_CONFLICT));
	s->op.again = io->tries > 1 || outcome == ORACLE_UNKNOWN;
	oracle_end(w->oracle, &s->op, outcome, s->data);
	if (outcome == ORACLE_OK) {
		w->succeeded++;
		/*
		 * It began after all that is unknown had been given up: the fence has dealt with
		 * it.
		 */
		if (w->unknowns > 0 && s->unknowns == w->unknowns)
			oracle_settle(w->oracle, w->host);
	} else {
		w->failed++;
		w->unknowns += outcome == ORACLE_UNKNOWN;
		/* Its connection may have been dead since before the heal, with nobody noticing. */
		s->redo = w->sweeping && outcome == ORACLE_UNKNOWN;
		if (w->sweeping && !s->redo)
			wrong(w, s, "an operation failed after the heal");
	}
	sim_note(w->sim, "host=%u op=%d slba=%" PRIu64 " nlb=%u fua=%d tries=%u error=%d", w->host,
		 (int)s->op.kind, s->op.slba, s->op.nlb, s->op.durable, io->tries, io->error);
	if (w->ctrl)
		io_timer_start(w->loop, &s->think, think_ns(w, outcome));
}

/* ---- an operation begins --------------------------------------------------------------------- */

static enum host_io_kind draw_kind(struct work *w)
{
	const struct plan *p = w->plan;
	uint64_t sum = p->weight_read + p->weight_write + p->weight_zero + p->weight_trim +
		       p->weight_flush;
	uint64_t at = rng_below(&w->rng, sum);

	if (at < p->weight_read)
		return HOST_IO_READ;
	at -= p->weight_read;
	if (at < p->weight_write)
		return HOST_IO_WRITE;
	at -= p->weight_write;
	if (at < p->weight_zero)
		return HOST_IO_WRITE_ZEROES;
	return at - p->weight_zero < p->weight_trim ? HOST_IO_DEALLOCATE : HOST_IO_FLUSH;
}

static void draw_range(struct work *w, struct work_slot *s)
{
	const struct plan *p = w->plan;

	s->op.nlb = (uint32_t)rng_between(&w->rng, 1, p->max_nlb);
	s->op.slba = rng_below(&w->rng, p->blocks - s->op.nlb + 1);
}

static void draw_op(struct work *w, struct work_slot *s)
{
	s->io.kind = draw_kind(w);
	draw_range(w, s);
	s->op.durable = (s->io.kind == HOST_IO_WRITE || s->io.kind == HOST_IO_WRITE_ZEROES) &&
			rng_chance_ppm(&w->rng, w->plan->fua_ppm);
	w->issued++;
}

/* The next of a sweep; false: there is none. */
static bool sweep_op(struct work *w, struct work_slot *s)
{
	if (w->sweep_flush) {
		w->sweep_flush = false;
		s->io.kind = HOST_IO_FLUSH;
		return true;
	}
	if (w->sweep_at == w->plan->blocks)
		return false;
	s->io.kind = HOST_IO_READ;
	s->op.slba = w->sweep_at;
	s->op.nlb = (uint32_t)MIN((uint64_t)w->plan->max_nlb, w->plan->blocks - w->sweep_at);
	w->sweep_at += s->op.nlb;
	return true;
}

static enum oracle_kind oracle_kind_of(const struct plan *p, enum host_io_kind kind)
{
	switch (kind) {
	case HOST_IO_READ:
		return ORACLE_READ;
	case HOST_IO_WRITE:
		return ORACLE_WRITE;
	case HOST_IO_WRITE_ZEROES:
		return ORACLE_ZERO;
	case HOST_IO_DEALLOCATE:
		/* Ours does it whenever the store can, and says that it reads as zeroes then. */
		return p->memory || p->sim.disk_discard ? ORACLE_ZERO : ORACLE_TRIM;
	default:
		return ORACLE_FLUSH;
	}
}

static int cut(struct work *w, struct work_slot *s, size_t n)
{
	int niov = 0;
	uint8_t *at = s->data;

	while (n > 0) {
		size_t some = niov == (int)ARRAY_SIZE(s->iov) - 1 || rng_below(&w->rng, 3) == 0
				      ? n
				      : (size_t)rng_between(&w->rng, 1, n);

		s->iov[niov++] = (struct iovec){ at, some };
		at += some;
		n -= some;
	}
	return niov;
}

static void slot_submit(struct work_slot *s)
{
	struct work *w = s->work;
	bool data = s->io.kind == HOST_IO_READ || s->io.kind == HOST_IO_WRITE;
	size_t n = (size_t)s->op.nlb * w->plan->block;

	s->op.kind = oracle_kind_of(w->plan, s->io.kind);
	s->op.host = w->host;
	s->op.again = false;
	oracle_begin(w->oracle, &s->op);
	if (s->io.kind == HOST_IO_WRITE)
		oracle_fill(w->oracle, &s->op, s->data);
	else if (s->io.kind == HOST_IO_READ)
		memset(s->data, 0xa5, n);
	s->io.done = slot_done;
	s->io.timed = w->issued & 1;
	s->io.nsid = 1;
	s->io.fua = s->op.durable;
	s->io.slba = s->op.slba;
	s->io.nlb = s->op.nlb;
	s->io.bytes = data ? (uint32_t)n : 0;
	s->io.iov = s->iov;
	s->io.niov = data ? cut(w, s, n) : 0;
	s->unknowns = w->unknowns;
	s->shared_start = shared_now(w->shared);
	s->busy = true;
	w->busy++;
	host_submit(w->ctrl, &s->io);
}

static void slot_next(struct work_slot *s)
{
	struct work *w = s->work;

	if (!w->ctrl || s->busy)
		return;
	if (s->redo) {
		s->redo = false;
		slot_submit(s);
		return;
	}
	s->op = (struct oracle_op){ 0 };
	if (w->sweeping) {
		/* What is read must have been flushed. */
		if ((w->busy > 0 && w->sweep_at == 0) || !sweep_op(w, s))
			return;
	} else if (w->issued < w->plan->ops) {
		draw_op(w, s);
	} else {
		return;
	}
	slot_submit(s);
}

static void slot_think(struct io_timer *t)
{
	struct work_slot *s = container_of(t, struct work_slot, think);
	struct work *w = s->work;

	slot_next(s);
	/* The flush that the others waited for. */
	for (unsigned int i = 0; w->sweeping && i < w->plan->slots; i++)
		slot_next(&w->slot[i]);
}

/* ---- life ------------------------------------------------------------------------------------ */

void work_init(struct work *w, const struct plan *plan, struct sim *sim, struct oracle *oracle,
	       struct shared *shared, unsigned int host)
{
	size_t bytes = (size_t)plan->max_nlb * plan->block;

	*w = (struct work){ .plan = plan, .sim = sim, .oracle = oracle, .shared = shared,
			   .host = host };
	rng_init(&w->rng, plan->seed * 2 + host);
	w->slot = calloc(plan->slots, sizeof(*w->slot));
	INVARIANT(w->slot != NULL);
	for (unsigned int i = 0; i < plan->slots; i++) {
		struct work_slot *s = &w->slot[i];

		s->work = w;
		s->memory = malloc(bytes + 64);
		INVARIANT(s->memory != NULL);
		/* Words, which is what the oracle looks at, but nothing more. */
		s->data = s->memory + 8 * rng_below(&w->rng, 8);
		io_timer_init(&s->think, slot_think);
	}
}

void work_deinit(struct work *w)
{
	INVARIANT(w->busy == 0);
	for (unsigned int i = 0; i < w->plan->slots; i++)
		free(w->slot[i].memory);
	free(w->slot);
}

void work_attach(struct work *w, struct io_loop *loop, struct host_ctrl *ctrl)
{
	w->loop = loop;
	w->ctrl = ctrl;
	for (unsigned int i = 0; i < w->plan->slots; i++)
		slot_next(&w->slot[i]);
}

void work_detach(struct work *w)
{
	w->ctrl = NULL;
	for (unsigned int i = 0; w->loop && i < w->plan->slots; i++)
		io_timer_stop(w->loop, &w->slot[i].think);
}

bool work_over(const struct work *w)
{
	for (unsigned int i = 0; i < w->plan->slots; i++)
		if (w->slot[i].redo)
			return false;
	return w->busy == 0 && (w->sweeping ? w->sweep_at == w->plan->blocks && !w->sweep_flush
					    : w->issued == w->plan->ops);
}

void work_sweep(struct work *w, bool flush)
{
	w->sweeping = true;
	w->sweep_at = 0;
	w->sweep_flush = flush;
	for (unsigned int i = 0; i < w->plan->slots; i++)
		slot_next(&w->slot[i]);
}
