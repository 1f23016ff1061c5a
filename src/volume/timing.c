/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of a request went: that of its last command, from the request's submission on, so the
 * parts sum to its latency exactly. Times are those of the loop's turns, which is as good as it gets
 * without a look at the clock for each; requests that are sampled get that look, and the target's own
 * figures where it has them to give.
 *
 * A request that waits because its port waits for a staging piece waits for the copy engine, if copies
 * are what holds most of the pieces; if they are being received into, it waits for its turn like any
 * other. Each port has a clock that runs only while the former is so, and the wait of a request is the
 * difference of two looks at that.
 */
#include "volume/request.h"

bool port_samples(struct port *p, uint64_t length)
{
	if (p->vol->sample_every == TIMING_NEVER)
		return false;
	if (length >= TIMING_ALWAYS_BYTES)
		return true;
	if (p->until_sample > 1) {
		p->until_sample--;
		return false;
	}
	p->until_sample = p->vol->sample_every;
	return true;
}

void port_blocked(struct port *p, const struct landing *l)
{
	p->blocked_on_copies = l->queue->pending * 2 >= mem_staging_count(l->staging);
	p->blocked_since = io_now(p->worker->loop);
}

void port_unblocked(struct port *p)
{
	if (p->blocked_on_copies)
		p->blocked_ns += io_now(p->worker->loop) - p->blocked_since;
	p->blocked_on_copies = false;
}

uint64_t port_blocked_ns(const struct port *p)
{
	uint64_t now = p->blocked_on_copies ? io_now(p->worker->loop) : 0;

	return p->blocked_ns + (p->blocked_on_copies ? now - p->blocked_since : 0);
}

/* At most @want of what is left of a whole. */
static uint64_t part(uint64_t want, uint64_t *left)
{
	uint64_t n = MIN(want, *left);

	*left -= n;
	return n;
}

/* What lies between sending and the answer. Two clocks measured it, so the target's word has a limit. */
static void split_remote(struct pst_timing *t, const struct command *c, uint64_t span)
{
	if (!c->port->backend->info.remote) {
		t->media = span;
	} else if (!c->b.has_times) {
		t->remote = span;
	} else {
		t->media = part(c->b.times.media, &span);
		t->qos = part(c->b.times.qos, &span);
		t->target_queue = part(c->b.times.queue, &span);
		t->network = span;
	}
}

void command_stamp(const struct command *c)
{
	struct request *r = c->req;
	struct io_loop *loop = c->port->worker->loop;
	/* The backend's times are its loop's, which may be those of the turn's begin. */
	uint64_t sent = MAX(c->b.sent_ns ? c->b.sent_ns : c->issued_ns, r->submit_ns);
	uint64_t last = MAX(c->b.last_ns, sent), landed = MAX(c->landed_ns, last);
	uint64_t end = MAX(r->sampled ? io_now_precise(loop) : io_now(loop), landed);
	uint64_t left = sent - r->submit_ns;
	struct pst_timing *t = &r->timing;

	*t = (struct pst_timing){ .total = end - r->submit_ns };
	/* A write's copy out of the device comes before it is sent. */
	t->staging = landed - last + part(c->fetch_ns, &left);
	t->staging += part(c->blocked_ns, &left);
	t->client_queue = left;
	split_remote(t, c, last - sent);
	t->wakeup = end - landed;
}
