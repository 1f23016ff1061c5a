/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads for blocking file operations; see pool.h. One lock around one queue: what passes through
 * here waits for a disk or copies through the page cache, so the lock is not what it waits for. The
 * way back is a lock-free stack, so that a loop collecting results never waits for a thread.
 */
#include "io/pool.h"

#include <errno.h>
#include <signal.h>

#include "base/alloc.h"
#include "base/util.h"
#include "io/fileop.h"
#include "io/ops.h"

#define DEFAULT_THREADS 4
#define MAX_THREADS     256
/* preadv and its kin, and a vector copy of a kilobyte: no more depth than that. */
#define STACK_BYTES (128 * 1024)

static void push_done(struct io_pool *p, struct io_op *op)
{
	struct io_op *head = atomic_load_explicit(&p->done, memory_order_relaxed);

	do {
		op->impl[0] = (uintptr_t)head;
	} while (!atomic_compare_exchange_weak(&p->done, &head, op));
	/* From here on the loop may have taken, finished and freed it. */
	p->loop->ops->wake(p->loop);
}

static struct io_op *next_op(struct io_pool *p)
{
	struct io_op *op;

	pthread_mutex_lock(&p->lock);
	while (!(op = list_pop_entry(&p->queue, struct io_op, link)) && !p->stopping) {
		p->idle++;
		pthread_cond_wait(&p->work, &p->lock);
		p->idle--;
	}
	if (op) {
		p->queued--;
		op->impl[1] = true; /* too late to cancel */
	}
	pthread_mutex_unlock(&p->lock);
	return op;
}

static void *run(void *arg)
{
	struct io_pool *p = arg;
	struct io_op *op;

	while ((op = next_op(p))) {
		op->result = io_fileop_execute(op);
		push_done(p, op);
	}
	return NULL;
}

int io_pool_init(struct io_pool *p, struct io_loop *loop, unsigned int max_threads)
{
	*p = (struct io_pool){ .loop = loop };
	p->max_threads =
		max_threads ? MIN(max_threads, (unsigned int)MAX_THREADS) : DEFAULT_THREADS;
	p->ids = mem_calloc(p->max_threads, sizeof(*p->ids));
	if (!p->ids)
		return -ENOMEM;
	list_init(&p->queue);
	atomic_init(&p->done, NULL);
	INVARIANT(pthread_mutex_init(&p->lock, NULL) == 0);
	INVARIANT(pthread_cond_init(&p->work, NULL) == 0);
	return 0;
}

void io_pool_deinit(struct io_pool *p)
{
	if (!p->ids)
		return;
	INVARIANT(p->pending == 0);
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (unsigned int i = 0; i < p->threads; i++)
		pthread_join(p->ids[i], NULL);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	p->ids = mem_free(p->ids);
}

/* Signals are for the process's own threads; these could only be interrupted by them. */
static int start_thread(struct io_pool *p)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int r;

	r = pthread_attr_init(&attr);
	if (r != 0)
		return -r;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&p->ids[p->threads], &attr, run, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (r == 0)
		p->threads++;
	return -r;
}

void io_pool_submit(struct io_pool *p, struct io_op *op)
{
	bool more;

	op->impl[1] = false;
	p->pending++;
	pthread_mutex_lock(&p->lock);
	list_add_tail(&p->queue, &op->link);
	more = ++p->queued > p->idle;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
	/* A thread that could not be started is missed only if it would have been the first. */
	if (more && p->threads < p->max_threads && start_thread(p) < 0 && p->threads == 0) {
		list_del(&op->link);
		p->queued--;
		p->pending--;
		io_op_finish(op, -EAGAIN);
	}
}

void io_pool_cancel(struct io_pool *p, struct io_op *op)
{
	bool queued;

	pthread_mutex_lock(&p->lock);
	queued = !op->impl[1];
	if (queued) {
		list_del(&op->link);
		p->queued--;
	}
	pthread_mutex_unlock(&p->lock);
	if (queued) {
		p->pending--;
		io_op_finish(op, -ECANCELED);
	}
}

void io_pool_collect(struct io_pool *p)
{
	struct io_op *op, *next, *fifo = NULL;

	if (!atomic_load_explicit(&p->done, memory_order_relaxed))
		return;
	for (op = atomic_exchange(&p->done, NULL); op; op = next) {
		next = (struct io_op *)(uintptr_t)op->impl[0];
		op->impl[0] = (uintptr_t)fifo;
		fifo = op;
	}
	for (op = fifo; op; op = next) {
		next = (struct io_op *)(uintptr_t)op->impl[0];
		p->pending--;
		io_op_finish(op, op->result);
	}
}
