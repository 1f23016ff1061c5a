/* SPDX-License-Identifier: Apache-2.0 */
/* Devices in use, and each worker's way into them; see landing.h. */
#include "volume/landing.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "volume/memory.h"
#include "volume/stream.h"

static void landing_poll(struct landing *l)
{
	mem_queue_poll(l->queue, io_now_precise(l->worker->loop));
	stream_look(l);
	landing_arm(l);
}

static void landing_tick(struct io_timer *t)
{
	landing_poll(container_of(t, struct landing, timer));
}

static void landing_woken(struct io_msg *m)
{
	struct landing *l = container_of(m, struct landing, wake);

	atomic_store(&l->woken, false);
	landing_poll(l);
}

/* A device that finishes by interrupt, from a thread of its driver. */
static void landing_wake(void *arg)
{
	struct landing *l = arg;

	if (!atomic_exchange(&l->woken, true))
		io_post(l->worker->loop, &l->wake);
}

void landing_arm(struct landing *l)
{
	uint64_t next = mem_queue_next(l->queue), now;

	if (!list_empty(&l->parked))
		next = MIN(next, l->parked_look);
	if (next == UINT64_MAX) {
		io_timer_stop(l->worker->loop, &l->timer);
		return;
	}
	now = io_now_precise(l->worker->loop);
	/* -ENOMEM leaves the timer of before; the queue is then polled late, not never. */
	(void)io_timer_start(l->worker->loop, &l->timer, next > now ? next - now : 0);
}

struct make {
	struct dock *dock;
	struct err *err;
	int rc;
};

static void landing_make(struct worker *w, void *arg)
{
	struct make *m = arg;
	struct dock *d = m->dock;
	struct landing *l = &d->landings[w - w->ctx->workers];
	size_t piece = d->piece ? d->piece : MEM_STAGING_PIECE_DEFAULT;
	unsigned int pieces = (unsigned int)MAX(d->staging / d->ctx->worker_count / piece, (size_t)2);

	l->worker = w;
	list_init(&l->parked);
	io_timer_init(&l->timer, landing_tick);
	l->wake.fn = landing_woken;
	m->rc = mem_queue_new(d->dev, landing_wake, l, &l->queue);
	if (m->rc < 0)
		err_set(m->err, -m->rc, "%s: no queue of the copy engine: %s", d->dev->name, strerror(-m->rc));
	else
		m->rc = mem_staging_new(d->dev, piece, pieces, &l->staging, m->err);
}

/* What went wrong with copies whose requests were over already is of no use to anybody by now. */
static void landing_unmake(struct worker *w, void *arg)
{
	struct dock *d = arg;
	struct landing *l = &d->landings[w - w->ctx->workers];

	if (!l->worker)
		return;
	io_timer_stop(w->loop, &l->timer);
	mem_queue_free(l->queue);
	mem_staging_free(l->staging);
}

struct dock *dock_free(struct dock *d)
{
	if (!d)
		return NULL;
	for (unsigned int i = 0; d->landings && i < d->ctx->worker_count; i++)
		worker_call(&d->ctx->workers[i], landing_unmake, d);
	mem_free(d->landings);
	mem_device_free(d->dev);
	mem_free(d);
	return NULL;
}

int dock_new(struct pst_context *ctx, struct mem_device *dev, size_t staging, size_t piece, struct dock **ret,
	     struct err *err)
{
	struct dock *d = mem_zalloc(sizeof(*d));
	struct make m = { .dock = d, .err = err };

	if (!d) {
		mem_device_free(dev);
		return err_set(err, ENOMEM, "no memory for staging");
	}
	d->ctx = ctx;
	d->dev = dev;
	d->staging = staging;
	d->piece = piece;
	d->landings = mem_calloc(ctx->worker_count, sizeof(*d->landings));
	if (!d->landings)
		m.rc = err_set(err, ENOMEM, "no memory for staging");
	for (unsigned int i = 0; m.rc == 0 && i < ctx->worker_count; i++)
		worker_call(&ctx->workers[i], landing_make, &m);
	if (m.rc < 0) {
		dock_free(d);
		return m.rc;
	}
	*ret = d;
	return 0;
}

void docks_free(struct pst_context *ctx)
{
	struct dock *d;

	while ((d = list_pop_entry(&ctx->docks, struct dock, link)))
		dock_free(d);
}
