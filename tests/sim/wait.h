/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests that read as a sequence of calls: submit one operation, let the world run until it is
 * done, and have its result.
 */
#ifndef TESTS_SIM_WAIT_H
#define TESTS_SIM_WAIT_H

#include <errno.h>
#include <string.h>

#include "io/sim.h"

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

struct waiter {
	struct io_op op;
	struct iovec iov;
	bool done;
	unsigned int calls;
	uint64_t at; /* when it was done */
	struct sim *sim;
};

static inline void waiter_done(struct io_op *op)
{
	struct waiter *w = container_of(op, struct waiter, op);

	w->done = true;
	w->calls++;
	w->at = sim_now(w->sim);
}

static inline struct io_op *waiter_arm(struct waiter *w, struct sim *sim)
{
	*w = (struct waiter){ .sim = sim };
	io_op_init(&w->op, waiter_done);
	return &w->op;
}

static inline bool waiter_is_done(void *arg)
{
	return ((struct waiter *)arg)->done;
}

/* The result, or -ETIME if it does not come within the limit. */
static inline int64_t waiter_wait(struct waiter *w, uint64_t limit_ns)
{
	return sim_run_until(w->sim, waiter_is_done, w, limit_ns) == 0 ? w->op.result : -ETIME;
}

static inline void waiter_send(struct waiter *w, struct sim *sim, struct io_stream *s,
			       const void *p, size_t n)
{
	struct io_op *op = waiter_arm(w, sim);

	w->iov.iov_base = (void *)(uintptr_t)p;
	w->iov.iov_len = n;
	io_stream_send(s, op, &w->iov, 1, false);
}

static inline void waiter_recv(struct waiter *w, struct sim *sim, struct io_stream *s, void *p,
			       size_t n)
{
	struct io_op *op = waiter_arm(w, sim);

	w->iov.iov_base = p;
	w->iov.iov_len = n;
	io_stream_recv(s, op, &w->iov, 1);
}

static inline int64_t send_some(struct sim *sim, struct io_stream *s, const void *p, size_t n)
{
	struct waiter w;

	waiter_send(&w, sim, s, p, n);
	return waiter_wait(&w, 100 * S);
}

static inline int64_t recv_some(struct sim *sim, struct io_stream *s, void *p, size_t n)
{
	struct waiter w;

	waiter_recv(&w, sim, s, p, n);
	return waiter_wait(&w, 100 * S);
}

#endif
