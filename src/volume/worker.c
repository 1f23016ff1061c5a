/* SPDX-License-Identifier: Apache-2.0 */
/* Calls into a worker's thread, and waiting for what happens there. */
#include "volume/context.h"

struct call {
	struct io_msg msg;
	struct worker *worker;
	void (*fn)(struct worker *w, void *arg);
	void *arg;
	struct worker_event done;
};

static void call_run(struct io_msg *m)
{
	struct call *c = container_of(m, struct call, msg);

	c->fn(c->worker, c->arg);
	worker_event_set(&c->done);
}

void worker_call(struct worker *w, void (*fn)(struct worker *w, void *arg), void *arg)
{
	struct call c = { .msg = { .fn = call_run }, .worker = w, .fn = fn, .arg = arg };

	if (!w->running) {
		fn(w, arg);
		return;
	}
	worker_event_init(&c.done, w);
	io_post(w->loop, &c.msg);
	worker_event_wait(&c.done);
}

void worker_event_init(struct worker_event *e, struct worker *w)
{
	*e = (struct worker_event){ .worker = w };
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->cond, NULL);
}

/* The waiter may free the event as soon as it sees it set: signal with the lock held. */
void worker_event_set(struct worker_event *e)
{
	pthread_mutex_lock(&e->lock);
	e->set = true;
	pthread_cond_signal(&e->cond);
	pthread_mutex_unlock(&e->lock);
}

void worker_event_wait(struct worker_event *e)
{
	if (!e->worker->running) {
		while (!e->set)
			io_loop_turn(e->worker->loop, UINT64_MAX);
	} else {
		pthread_mutex_lock(&e->lock);
		while (!e->set)
			pthread_cond_wait(&e->cond, &e->lock);
		pthread_mutex_unlock(&e->lock);
	}
	pthread_mutex_destroy(&e->lock);
	pthread_cond_destroy(&e->cond);
}
