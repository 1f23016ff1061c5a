/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reactors: one a core, with what belongs to it (core.h has the struct). Either on a thread of its
 * own, which makes the loop and runs it, or on a loop of the caller's.
 */
#ifndef PENSTOCK_TARGET_REACTOR_H
#define PENSTOCK_TARGET_REACTOR_H

#include "base/err.h"
#include "target/core.h"

/* Something for a reactor's thread to do while another waits. */
struct tgt_call {
	int (*fn)(struct tgt_reactor *r, void *arg, struct err *err);
	void *arg;
	struct err *err;
	int result;
	bool done;
	pthread_mutex_t lock;
	pthread_cond_t cond;
};

/*
 * Memory and views of reactor @index. @loop NULL: a thread is started, which makes a loop. Errors
 * of that, -ENOMEM.
 */
int tgt_reactor_init(struct tgt_reactor *r, struct target *t, unsigned int index,
		     struct io_loop *loop, struct err *err);
/* Waits for its thread to end; 0 or -errno of the loop. Nothing without a thread. */
int tgt_reactor_join(struct tgt_reactor *r);
/* Has nothing left. Takes one that was never initialised, if zeroed. */
void tgt_reactor_deinit(struct tgt_reactor *r);

/*
 * Runs @fn on the reactor's thread and waits for it. On a loop of the caller's it is simply called:
 * the caller is that thread.
 */
int tgt_reactor_call(struct tgt_reactor *r,
		     int (*fn)(struct tgt_reactor *r, void *arg, struct err *err), void *arg,
		     struct err *err);

/* The one with the fewest connections. Any thread. */
struct tgt_reactor *tgt_reactor_least(struct target *t);

/* A connection of @r was freed. */
void tgt_reactor_conn_ended(struct tgt_reactor *r);
/* Copies what readers of other threads want to know about the arena. */
void tgt_reactor_note_arena(struct tgt_reactor *r);

/*
 * Every connection that is no longer admitted shall end. Something of the caller's keeps the target
 * from being drained.
 */
void tgt_reactors_enforce(struct target *t);

/* Tells @r that the target drains. Any thread, and signal handlers. */
void tgt_reactor_drain(struct tgt_reactor *r);

#endif
