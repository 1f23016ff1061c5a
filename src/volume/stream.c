/* SPDX-License-Identifier: Apache-2.0 */
#include "volume/stream.h"

#include "memory/cuda.h"
#include "volume/request.h"

#define LOOK_MIN_NS UINT64_C(5000)
#define LOOK_MAX_NS UINT64_C(1000000)

static struct mem_device *device_of(const struct request *r)
{
	return r->mem->dock->dev;
}

int stream_mark(struct request *r)
{
	return mem_cuda_mark(device_of(r), r->stream, &r->mark);
}

void stream_unmark(struct request *r)
{
	mem_cuda_unmark(device_of(r), r->mark);
	r->mark = NULL;
}

/* Has its turn come? A device that has failed ends the wait, and the request with an error. */
static bool ready(struct request *r)
{
	int rc = mem_cuda_passed(device_of(r), r->mark);

	if (rc == 0)
		return false;
	stream_unmark(r);
	r->error = rc < 0 ? rc : 0;
	return true;
}

bool stream_admit(struct request *r)
{
	struct landing *l;
	uint64_t now;

	if (!r->mark || ready(r))
		return true;
	l = landing_of(r->mem, r->port->worker);
	now = io_now_precise(l->worker->loop);
	if (list_empty(&l->parked))
		l->parked_since = now;
	l->parked_look = now + LOOK_MIN_NS;
	list_add_tail(&l->parked, &r->link);
	landing_arm(l);
	return false;
}

/* As with copies: a look after a quarter of what has been waited, so that none is late by more. */
void stream_look(struct landing *l)
{
	struct list again = LIST_INIT(again);
	uint64_t now, waited;
	struct request *r;

	if (list_empty(&l->parked))
		return;
	now = io_now_precise(l->worker->loop);
	waited = now - MIN(now, l->parked_since);
	l->parked_look = now + MIN(MAX(waited / 4, LOOK_MIN_NS), LOOK_MAX_NS);
	list_splice_tail(&again, &l->parked);
	while ((r = list_pop_entry(&again, struct request, link))) {
		if (ready(r)) {
			l->parked_since = now;
			port_submit(r->port, r);
		} else {
			list_add_tail(&l->parked, &r->link);
		}
	}
}

bool stream_follows(const struct request *r, struct mem_job *job)
{
	return r->on_stream && mem_cuda_follow(job, r->stream) == 0;
}
