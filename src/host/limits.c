/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that take too long. Requests in flight are kept in the order in which they were sent, so
 * only the oldest of each queue has to be looked at, by one timer for the whole controller that runs
 * while anything is in flight: no timer per I/O, and none when idle.
 *
 * A command that got no answer in its time costs the association: an Abort would leave open what
 * became of it, a torn connection does not.
 */
#include <errno.h>

#include "base/check.h"
#include "base/parse.h"
#include "base/util.h"
#include "host/ctrl.h"
#include "nvme/names.h"

#define MS UINT64_C(1000000)

/* A limit is held to within a quarter of itself, and to these. */
#define TICK_MIN_NS (20 * MS)
#define TICK_MAX_NS (1000 * MS)

static uint64_t tick_ns(const struct host_ctrl *c)
{
	uint64_t ns = MIN(c->config.io_timeout_ns, c->config.admin_timeout_ns) / 4;

	return MAX(MIN(ns, TICK_MAX_NS), TICK_MIN_NS);
}

static bool overdue(const struct host_queue *q, uint64_t now, uint64_t limit)
{
	uint64_t oldest = host_queue_oldest(q);

	return oldest != UINT64_MAX && now - oldest >= limit;
}

static void timed_out(struct host_ctrl *c, struct host_queue *q, uint64_t limit)
{
	struct host_req *r = list_first_entry(&q->inflight, struct host_req, link);
	bool admin = q == &c->admin;
	char text[FORMAT_MAX];

	c->stats.timeouts++;
	if (!admin && r->sqe.opc != NVME_OPC_FABRICS)
		((struct host_io *)r->owner)->faults++;
	format_duration(limit, text, sizeof(text));
	host_ctrl_fail(c, ETIMEDOUT, "no answer to %s on queue %u within %s",
		       nvme_cmd_name(r->sqe.opc, admin, nvme_cmd_fctype(&r->sqe)), q->p.qid, text);
}

static void on_tick(struct io_timer *t)
{
	struct host_ctrl *c = container_of(t, struct host_ctrl, tick);
	uint64_t now = io_now(c->loop);
	bool any = !list_empty(&c->admin.inflight);

	if (overdue(&c->admin, now, c->config.admin_timeout_ns)) {
		timed_out(c, &c->admin, c->config.admin_timeout_ns);
		return;
	}
	for (unsigned int i = 0; i < c->io_up; i++) {
		struct host_queue *q = &c->io[i];

		any |= !list_empty(&q->inflight);
		if (overdue(q, now, c->config.io_timeout_ns)) {
			timed_out(c, q, c->config.io_timeout_ns);
			return;
		}
	}
	if (any)
		host_limits_watch(c);
}

void host_limits_watch(struct host_ctrl *c)
{
	if (!io_timer_armed(&c->tick) && io_timer_start(c->loop, &c->tick, tick_ns(c)) < 0)
		host_ctrl_fail(c, ENOMEM, "no memory for a timer");
}

void host_limits_init(struct host_ctrl *c)
{
	io_timer_init(&c->tick, on_tick);
}
