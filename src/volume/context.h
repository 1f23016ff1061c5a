/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a context: workers, each a loop with or without a thread of its own, the pool of
 * requests, and the queue of completions that pst_wait() takes from.
 *
 * What crosses threads is the pool and that queue, under one lock, and messages to a worker's loop.
 * In a polled context there is one thread and the lock is left out.
 */
#ifndef VOLUME_CONTEXT_H
#define VOLUME_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "io/io.h"
#include "penstock.h"

struct request;

struct worker {
	struct pst_context *ctx;
	struct io_loop *loop;
	pthread_t thread;
	bool running; /* has a thread */
	struct list landings; /* struct landing.link, see landing.h */
};

struct pst_context {
	enum pst_mode mode;
	unsigned int worker_count;
	struct worker *workers;
	char hostnqn[224];
	uint8_t hostid[16];
	unsigned int max_inflight;

	pthread_mutex_t lock; /* of what follows; threaded contexts only */
	pthread_cond_t completed_cond;
	struct request *requests;
	struct list free;	/* struct request.link */
	struct list completed;	/* struct request.link */
	unsigned int completed_count;
	unsigned int waiters;	 /* threads in pst_wait() */
	unsigned int expected; /* requests in flight that will come to pst_wait() */
	uint64_t callbacks;	 /* polled: made in this pst_poll() */

	atomic_uint objects; /* volumes and memories that are open */

	pthread_mutex_t docks_lock;
	struct list docks; /* struct dock.link: devices in use, see landing.h */
};

/* Runs @fn on the worker's thread and waits until it has returned. From any other thread. */
void worker_call(struct worker *w, void (*fn)(struct worker *w, void *arg), void *arg);

/*
 * Waits until *@flag: on the condition variable if the worker has a thread, else by turning its
 * loop. Set it with worker_signal(), from the worker's thread.
 */
struct worker_event {
	struct worker *worker;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool set;
};

void worker_event_init(struct worker_event *e, struct worker *w);
void worker_event_set(struct worker_event *e);
/* Waits, and deinitialises. */
void worker_event_wait(struct worker_event *e);

/* A request from the pool, or NULL. @waited: its completion will be taken by pst_wait(). */
struct request *context_get(struct pst_context *ctx, bool waited);
void context_put(struct pst_context *ctx, struct request *r, bool waited);
/* It is done: its callback is called, or it is queued for pst_wait(). Worker's thread. */
void context_complete(struct pst_context *ctx, struct request *r);

/*
 * As pst_context_new(), polled, on a loop that there is, which it takes over, also when it fails: for
 * simulated machines.
 */
int context_new_on_loop(struct io_loop *loop, const struct pst_context_options *opts, struct pst_context **ret_ctx,
			struct pst_error *err);

/* Fills in a struct pst_error from a struct err; returns its -code. @dst may be NULL. */
struct err;
int pst_error_from(struct pst_error *dst, const struct err *src);

#endif
