/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fence; the idea is in fence.h.
 *
 * tgt_ctrl.fenced counts what a controller waits for: zombies of its host plus barriers of its own.
 * A zombie is counted at every controller of its host that is in the subsystem's list when it dies,
 * and at each that enters the list while it lasts; so when it ends, one is taken off from each in
 * the list.
 */
#include "target/fence.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/util.h"
#include "target/assoc.h"
#include "target/conn.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/io_cmd.h"

enum {
	/*
	 * How long a receive must have found nothing. By then the loop has polled at least once
	 * since the barrier was set up, so what lay in the socket at that moment would have been
	 * seen.
	 */
	LOOK_NS = 2 * 1000 * 1000,
	/* A connection that reads all the time for a second has read what was there before that. */
	LOOKS_MAX = 500,
};

bool tgt_fence_holds(const struct tgt_assoc *a)
{
	return atomic_load_explicit(&a->ctrl->fenced, memory_order_acquire) > 0 &&
	       !a->target->hooks.no_fence;
}

void tgt_fence_count(struct tgt_req *req)
{
	/* Once: the later steps of a command are as old as it is. */
	if (!req->store_seq)
		req->store_seq = ++req->assoc->store_seq;
}

void tgt_fence_wait(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;

	tgt_fence_count(req);
	tgt_req_set_state(req, TGT_REQ_FENCED);
	list_add_tail(&a->waiting_fence, &req->link);
	tgt_count(&a->reactor->stats.fence_waits, 1);
	tgt_conn_kick(tgt_conn_of(a)); /* it has a time limit now */
}

void tgt_assoc_fence_lifted(struct tgt_assoc *a)
{
	while (!list_empty(&a->waiting_fence) && a->state == TGT_ASSOC_LIVE &&
	       !tgt_fence_holds(a)) {
		struct tgt_req *req = list_first_entry(&a->waiting_fence, struct tgt_req, link);

		list_del(&req->link);
		tgt_io_run(req);
	}
}

/* ---- counts ---------------------------------------------------------------------------------- */

static void raise_fence(struct tgt_ctrl *c)
{
	atomic_fetch_add_explicit(&c->fenced, 1, memory_order_release);
}

static void lower_fence(struct tgt_ctrl *c)
{
	unsigned int before = atomic_fetch_sub_explicit(&c->fenced, 1, memory_order_release);

	INVARIANT(before > 0);
	if (before > 1 || c->gone)
		return;
	for (uint32_t qid = 1; qid <= c->target->limits.io_queues; qid++)
		if (c->queues[qid])
			tgt_conn_notify(c->queues[qid], TGT_NOTICE_FENCE);
}

static void for_each_of_host(struct tgt_subsys *s, const struct tgt_host_id *host,
			     void (*fn)(struct tgt_ctrl *c))
{
	struct tgt_ctrl *c;

	list_for_each_entry(c, &s->ctrls, link)
		if (tgt_host_same(&c->host, host))
			fn(c);
}

static void end_barrier(struct tgt_barrier *b)
{
	struct tgt_ctrl *waiter = b->waiter;

	list_del(&b->link);
	mem_free(b);
	lower_fence(waiter);
	tgt_ctrl_put(waiter, false);
}

static void begin_zombie(struct tgt_assoc *a)
{
	if (list_is_linked(&a->zombie_link))
		return;
	list_add_tail(&a->ctrl->subsys->zombies, &a->zombie_link);
	for_each_of_host(a->ctrl->subsys, &a->ctrl->host, raise_fence);
}

static void end_zombie(struct tgt_assoc *a)
{
	if (!list_is_linked(&a->zombie_link))
		return;
	list_del(&a->zombie_link);
	for_each_of_host(a->ctrl->subsys, &a->ctrl->host, lower_fence);
}

void tgt_fence_doom(struct tgt_assoc *a)
{
	begin_zombie(a);
}

void tgt_fence_died(struct tgt_assoc *a)
{
	a->zombie = a->mutating > 0;
	if (a->zombie)
		begin_zombie(a);
	else
		end_zombie(a);
	/* After that, so that no waiter is free in between. */
	while (!list_empty(&a->barriers))
		end_barrier(list_first_entry(&a->barriers, struct tgt_barrier, link));
}

/* The last operation of a zombie that changes the store has ended. */
static void drained(struct tgt_assoc *a)
{
	target_lock(a->target);
	a->zombie = false;
	end_zombie(a);
	target_unlock(a->target);
}

/* ---- barriers -------------------------------------------------------------------------------- */

static int add_barrier(struct tgt_ctrl *c, struct tgt_conn *older)
{
	struct tgt_barrier *b = mem_zalloc(sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->waiter = c;
	tgt_ctrl_get(c, false);
	raise_fence(c);
	list_add_tail(&older->assoc.barriers, &b->link);
	tgt_conn_notify(older, TGT_NOTICE_BARRIER);
	return 0;
}

static void drop_barriers(struct tgt_ctrl *c, struct tgt_conn *older)
{
	struct tgt_barrier *b, *next;

	list_for_each_entry_safe(b, next, &older->assoc.barriers, link)
		if (b->waiter == c)
			end_barrier(b);
}

static int visit_queues(struct tgt_ctrl *c, struct tgt_ctrl *older, bool add)
{
	for (uint32_t qid = 1; qid <= c->target->limits.io_queues; qid++) {
		struct tgt_conn *conn = older->queues[qid];

		if (!conn)
			continue;
		if (!add)
			drop_barriers(c, conn);
		else if (add_barrier(c, conn) < 0)
			return -ENOMEM;
	}
	return 0;
}

int tgt_fence_new_ctrl(struct tgt_ctrl *c)
{
	struct tgt_subsys *s = c->subsys;
	struct tgt_ctrl *older;
	struct tgt_assoc *z;
	int r = 0;

	list_for_each_entry(older, &s->ctrls, link) {
		if (older == c || !tgt_host_same(&older->host, &c->host))
			continue;
		r = visit_queues(c, older, true);
		if (r < 0)
			break;
	}
	if (r < 0) {
		list_for_each_entry(older, &s->ctrls, link)
			if (older != c)
				visit_queues(c, older, false);
		return r;
	}
	list_for_each_entry(z, &s->zombies, zombie_link)
		if (tgt_host_same(&z->ctrl->host, &c->host))
			raise_fence(c);
	return 0;
}

/* Nothing is unread that was there when the barrier was set up, as far as we can tell. */
static bool caught_up(struct tgt_conn *c, struct tgt_barrier *b)
{
	const struct tgt_assoc *a = &c->assoc;
	bool first = !b->started;
	bool idle = c->recv_op.pending && b->receives == c->receives;

	b->started = true;
	b->receives = c->receives;
	if (first)
		return false;
	if (idle)
		return true;
	/*
	 * Not reading is no sign of life: it waits for memory, and there may be more behind that.
	 */
	if (a->capsule_waits || a->wants_req)
		return false;
	return ++b->looks > LOOKS_MAX;
}

static bool any_up_to(const struct list *requests, uint64_t seq)
{
	struct tgt_req *req;

	list_for_each_entry(req, requests, link)
		if (req->store_seq <= seq)
			return true;
	return false;
}

/* What is held back by a fence is on its way to the store all the same. */
static bool store_passed(const struct tgt_assoc *a, uint64_t seq)
{
	return !any_up_to(&a->in_store, seq) && !any_up_to(&a->waiting_fence, seq);
}

static void look(struct tgt_conn *c)
{
	struct tgt_assoc *a = &c->assoc;
	struct tgt_barrier *b, *next;

	list_for_each_entry_safe(b, next, &a->barriers, link) {
		if (!b->caught_up && caught_up(c, b)) {
			b->caught_up = true;
			b->store_seq = a->store_seq;
		}
		if (b->caught_up && store_passed(a, b->store_seq))
			end_barrier(b);
	}
}

static bool needs_timer(const struct tgt_assoc *a)
{
	struct tgt_barrier *b;

	list_for_each_entry(b, &a->barriers, link)
		/* Nobody says when a request leaves the fence for an end of its own. */
		if (!b->caught_up || any_up_to(&a->waiting_fence, b->store_seq))
			return true;
	return false;
}

void tgt_fence_look(struct tgt_conn *c)
{
	struct tgt_assoc *a = &c->assoc;
	bool again;

	target_lock(a->target);
	look(c);
	again = needs_timer(a);
	a->barriers_seen = !list_empty(&a->barriers);
	target_unlock(a->target);
	if (!again || io_timer_armed(&c->barrier_timer))
		return;
	/*
	 * Without a timer the barrier would never end: the waiter's commands would expire instead.
	 */
	if (io_timer_start(a->reactor->loop, &c->barrier_timer, LOOK_NS) < 0)
		tgt_assoc_kill(a, TARGET_CLOSE_NO_MEMORY, false);
}

void tgt_fence_store_done(struct tgt_assoc *a)
{
	/*
	 * Unlocked on purpose: a barrier that is being added now is looked at because of its
	 * notice.
	 */
	if (a->barriers_seen && a->state != TGT_ASSOC_DEAD)
		tgt_fence_look(tgt_conn_of(a));
	if (a->zombie && a->mutating == 0)
		drained(a);
}
