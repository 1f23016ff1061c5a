/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded set of threads that do file operations with blocking calls, for one loop: all of epoll's,
 * and the few that io_uring has no operation for. Threads start when the first operations come, one
 * at a time up to the limit, so a loop that touches no file has none.
 *
 * Everything here is called on the loop's thread.
 */
#ifndef PENSTOCK_IO_POOL_H
#define PENSTOCK_IO_POOL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "io/io.h"

struct io_pool {
	struct io_loop *loop;
	unsigned int max_threads;
	unsigned int threads;
	unsigned int pending; /* submitted, not collected; the loop's side of the count */
	pthread_t *ids;

	pthread_mutex_t lock; /* guards the rest but for `done` */
	pthread_cond_t work;
	struct list queue; /* io_op.link */
	unsigned int queued;
	unsigned int idle;
	bool stopping;

	_Atomic(struct io_op *) done; /* LIFO by io_op.impl[0]; pushed by threads */
};

/* @max_threads 0: 4. Starts nothing. 0 or -ENOMEM. */
int io_pool_init(struct io_pool *p, struct io_loop *loop, unsigned int max_threads);
/* Nothing may be pending. */
void io_pool_deinit(struct io_pool *p);

/* Queues @op, a file operation that was checked; it comes back from io_pool_collect(). */
void io_pool_submit(struct io_pool *p, struct io_op *op);
/* Finishes @op with -ECANCELED if no thread has it yet. */
void io_pool_cancel(struct io_pool *p, struct io_op *op);
/* Puts what threads have done on the loop's finished list; they wake the loop for it. */
void io_pool_collect(struct io_pool *p);

#endif
