/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keep alive timer; the idea is in keep-alive.h.
 */
#include "target/keep-alive.h"

#include "base/check.h"
#include "base/util.h"
#include "target/conn.h"
#include "target/core.h"
#include "target/ctrl.h"

#define MS UINT64_C(1000000)

static struct io_loop *loop_of(const struct tgt_ctrl *c)
{
	return c->admin->assoc.reactor->loop;
}

static uint64_t kato_ns(const struct tgt_ctrl *c)
{
	return atomic_load_explicit(&c->kato_ms, memory_order_relaxed) * MS;
}

/* The latest sign of life of any queue. */
static uint64_t last_traffic(struct tgt_ctrl *c)
{
	uint64_t last = 0;

	target_lock(c->target);
	for (uint32_t qid = 0; qid <= c->target->limits.io_queues; qid++) {
		const struct tgt_conn *q = c->queues[qid];

		if (q)
			last = MAX(last, atomic_load_explicit(&q->assoc.last_traffic,
							      memory_order_relaxed));
	}
	target_unlock(c->target);
	return last;
}

static void arm(struct tgt_ctrl *c, uint64_t delay)
{
	/* A timer that cannot be had must not mean a controller that lives for ever. */
	if (io_timer_start(loop_of(c), &c->keep_alive, delay) < 0)
		tgt_assoc_kill(&c->admin->assoc, TARGET_CLOSE_NO_MEMORY, false);
}

static void on_timer(struct io_timer *t)
{
	struct tgt_ctrl *c = container_of(t, struct tgt_ctrl, keep_alive);
	uint64_t now = io_now(loop_of(c));
	uint64_t due = u64_add_saturated(last_traffic(c), kato_ns(c));

	if (due > now) {
		c->keep_alive_late = false;
		arm(c, due - now);
	} else if (!c->keep_alive_late) {
		c->keep_alive_late = true;
		arm(c, c->target->limits.keep_alive_grace_ns);
	} else {
		/* With it all other queues end. */
		tgt_assoc_kill(&c->admin->assoc, TARGET_CLOSE_KEEP_ALIVE, false);
	}
}

void tgt_keep_alive_init(struct tgt_ctrl *c)
{
	io_timer_init(&c->keep_alive, on_timer);
}

void tgt_ctrl_set_kato(struct tgt_ctrl *c, uint32_t kato_ms)
{
	uint64_t ms = DIV_ROUND_UP((uint64_t)kato_ms, (uint64_t)TGT_KAS_MS) * TGT_KAS_MS;

	/* The last multiple that fits. */
	ms = MIN(ms, (uint64_t)UINT32_MAX / TGT_KAS_MS * TGT_KAS_MS);
	atomic_store_explicit(&c->kato_ms, (uint32_t)ms, memory_order_relaxed);
	c->keep_alive_late = false;
	if (ms == 0)
		tgt_keep_alive_stop(c);
	else
		arm(c, ms * MS);
}

void tgt_keep_alive_stop(struct tgt_ctrl *c)
{
	io_timer_stop(loop_of(c), &c->keep_alive);
}
