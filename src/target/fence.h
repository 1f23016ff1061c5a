/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fence: a command of a dead association must not change the store after a host was told that a
 * later command has changed it.
 *
 * A connection dies while one of its writes is in the store. The host reconnects, or goes to
 * another path, and sends the write again, then others; the old one lands last and overwrites data
 * that was acknowledged. So, for each host and subsystem:
 *
 * - An association that is dead while operations of its own may still change the store is a zombie;
 *   so is one that was told to end and may not have seen that yet. As long as there is one, I/O
 *   commands of all queues of that host wait.
 * - When a host makes a new controller while others of its are alive, one of those may be dead
 *   without our knowing: its last bytes, and the end of stream behind them, lie unread in a socket.
 *   The new controller's I/O therefore waits for each of them at a barrier, until it has read what
 *   there was to read at that moment and what it had for the store then has ended: what was there,
 *   and what was held back by a fence of its own. A live one passes in a few milliseconds.
 *
 * Waiting is bounded by limits.fence_ns; a command that waited so long fails with Namespace Not
 * Ready, to be tried again. It is never let through.
 *
 * "The same host" is tgt_host_same(). Counts and lists are guarded by the target's lock; the I/O
 * path reads one atomic.
 */
#ifndef PENSTOCK_TARGET_FENCE_H
#define PENSTOCK_TARGET_FENCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct tgt_assoc;
struct tgt_conn;
struct tgt_ctrl;
struct tgt_req;

/* One new controller that waits for one older connection. */
struct tgt_barrier {
	struct list link;        /* in tgt_assoc.barriers of the older connection */
	struct tgt_ctrl *waiter; /* held */
	uint64_t receives;       /* of the connection when it was last looked at */
	uint32_t looks;          /* how often it was busy, and not blocked, since */
	bool started;
	bool caught_up;
	uint64_t store_seq; /* once caught up: requests up to this one must end */
};

/* Whether I/O of this association must wait now. */
bool tgt_fence_holds(const struct tgt_assoc *a);
/* @req waits. */
void tgt_fence_wait(struct tgt_req *req);
/* @req is ready for the store, whether it may go there or not: counts it, once. */
void tgt_fence_count(struct tgt_req *req);

/*
 * A new controller, in its subsystem's list already: counts the zombies of its host and sets up the
 * barriers. -ENOMEM: none was set up. The lock is held.
 */
int tgt_fence_new_ctrl(struct tgt_ctrl *c);
/* @a was told to end, by whatever core: a zombie from here on. The lock is held. */
void tgt_fence_doom(struct tgt_assoc *a);
/* @a is dead: a zombie, if it still changes the store. Its barriers end. The lock is held. */
void tgt_fence_died(struct tgt_assoc *a);
/* An operation of @a left the store: barriers or, if it is a zombie, its host may wait for that. */
void tgt_fence_store_done(struct tgt_assoc *a);
/* TGT_NOTICE_BARRIER arrived, or the connection's barrier timer fired. */
void tgt_fence_look(struct tgt_conn *c);

#endif
