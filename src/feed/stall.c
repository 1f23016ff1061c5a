/* SPDX-License-Identifier: Apache-2.0 */
#include "feed/stall.h"

#include "base/util.h"

void stall_begin(struct stall *s, uint64_t now)
{
	if (s->waiting)
		return;
	s->waiting = true;
	s->number++;
	s->begin_ns = now;
}

static uint64_t cut(uint64_t want, uint64_t *left)
{
	uint64_t n = MIN(want, *left);

	*left -= n;
	return n;
}

/* Backwards, from the callback to the submission. */
struct pst_timing stall_tail(const struct pst_timing *t, uint64_t wait)
{
	struct pst_timing s = { .total = wait };
	uint64_t left = wait;

	s.wakeup = cut(t->wakeup, &left);
	s.staging = cut(t->staging, &left);
	s.remote = cut(t->remote, &left);
	s.network = cut(t->network, &left);
	s.media = cut(t->media, &left);
	s.qos = cut(t->qos, &left);
	s.target_queue = cut(t->target_queue, &left);
	s.client_queue = left;
	return s;
}

static void add(struct pst_timing *sum, const struct pst_timing *t)
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

struct stall_chain stall_arrived(const struct stall *s, const struct stall_chain *chain,
				 const struct pst_timing *t, uint64_t now)
{
	struct stall_chain next = { .number = 0 };
	uint64_t since;

	if (!s->waiting)
		return next;
	next.number = s->number;
	if (chain->number == s->number) {
		next.sum = chain->sum;
		add(&next.sum, t);
	} else {
		since = now > s->begin_ns ? now - s->begin_ns : 0;
		next.sum = stall_tail(t, MIN(since, t->total));
	}
	return next;
}

struct pst_timing stall_split(const struct pst_timing *sum, uint64_t wait, uint64_t late)
{
	uint64_t wakeup = MIN(late, wait);
	struct pst_timing s = stall_tail(sum, wait - wakeup);

	s.wakeup += wakeup;
	s.total += wakeup;
	return s;
}
