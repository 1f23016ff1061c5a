/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keep Alive (NVMe Base 2.0, 3.9): before KATO is over a sign of life goes out. Where the
 * controller counts all commands as such (TBKAS) one is sent only if nothing was completed meanwhile. The other
 * way round, a controller that does not answer it within KATO, and answers nothing else either, is
 * taken for dead.
 */
#include <errno.h>

#include "base/util.h"
#include "host/ctrl.h"
#include "nvme/cmd.h"

static void on_answer(struct host_admin *a)
{
	struct host_ctrl *c = container_of(a, struct host_ctrl, ka);
	struct nvme_status st = nvme_cpl_status(&a->cpl);

	c->ka_seen++; /* its own completion is no traffic */
	if (a->error == 0 && !nvme_status_ok(st) && st.dnr)
		c->ka_off = true; /* it is not supported after all */
}

static bool counts_traffic(const struct host_ctrl *c)
{
	return le32_to_cpu(c->id.ctratt) & NVME_CTRATT_TBKAS;
}

/* Traffic just after a look is noticed at the next, and missed only at the one after: 2/3 KATO. */
static uint64_t period(const struct host_ctrl *c)
{
	return MAX(c->config.kato_ns / (counts_traffic(c) ? 3 : 2), UINT64_C(1));
}

static void beat(struct host_ctrl *c)
{
	uint64_t now = io_now(c->loop);
	bool traffic = c->counts.completions != c->ka_seen;

	c->ka_seen = c->counts.completions;
	if (c->ka.req) {
		if (traffic)
			c->ka_sent_ns = now;
		else if (now - c->ka_sent_ns >= c->config.kato_ns)
			host_ctrl_fail(c, ETIMEDOUT, "the controller does not answer Keep Alive");
		return;
	}
	if (traffic && counts_traffic(c))
		return;
	c->ka_sent_ns = now;
	c->stats.keep_alives++;
	c->ka.done = on_answer;
	nvme_cmd_init_keep_alive(&c->ka.cmd);
	/* It has its own limit; the one of admin commands may be longer. */
	host_admin_issue(c, &c->ka, true);
}

static void on_timer(struct io_timer *t)
{
	struct host_ctrl *c = container_of(t, struct host_ctrl, ka_timer);

	if (!c->ka_off)
		beat(c);
	/* beat() may have ended the association. */
	if (!c->ka_off && c->state < HOST_STATE_DISCONNECT &&
	    io_timer_start(c->loop, &c->ka_timer, period(c)) < 0)
		host_ctrl_fail(c, ENOMEM, "no memory for a timer");
}

/* From Identify on: before a controller is enabled it takes no Keep Alive. */
void host_keepalive_start(struct host_ctrl *c)
{
	if (c->config.kato_ns == 0 || c->ka_off)
		return;
	c->ka_seen = c->counts.completions;
	if (io_timer_start(c->loop, &c->ka_timer, period(c)) < 0)
		host_ctrl_fail(c, ENOMEM, "no memory for a timer");
}

void host_keepalive_stop(struct host_ctrl *c)
{
	io_timer_stop(c->loop, &c->ka_timer);
}

void host_keepalive_init(struct host_ctrl *c)
{
	io_timer_init(&c->ka_timer, on_timer);
}
