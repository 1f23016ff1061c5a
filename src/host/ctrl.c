/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of a controller. A table says which states may follow which, one setter holds to
 * it and runs the handler of the new state, and every failure goes through one function. Whatever
 * goes wrong leads to TEARDOWN, where all queues go down; only from there is connected anew, given
 * up, or closed. So there is one place where requests of a dead association are, and one moment at
 * which they are all back.
 */
#include "host/ctrl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"
#include "base/parse.h"
#include "base/util.h"

#define BIT(s) (UINT32_C(1) << HOST_STATE_##s)

static const uint32_t allowed[HOST_STATES] = {
	[HOST_STATE_NEW] = BIT(ADMIN) | BIT(CLOSED),
	[HOST_STATE_ADMIN] = BIT(CAP) | BIT(TEARDOWN),
	[HOST_STATE_CAP] = BIT(VERSION) | BIT(TEARDOWN),
	[HOST_STATE_VERSION] = BIT(ENABLE) | BIT(TEARDOWN),
	[HOST_STATE_ENABLE] = BIT(READY) | BIT(TEARDOWN),
	[HOST_STATE_READY] = BIT(IDENTIFY) | BIT(TEARDOWN),
	[HOST_STATE_IDENTIFY] = BIT(LIMITS) | BIT(AEN) | BIT(TEARDOWN),
	[HOST_STATE_LIMITS] = BIT(BEHAVIOR) | BIT(TEARDOWN),
	[HOST_STATE_BEHAVIOR] = BIT(AEN) | BIT(TEARDOWN),
	[HOST_STATE_AEN] = BIT(QUEUES) | BIT(LIVE) | BIT(TEARDOWN),
	[HOST_STATE_QUEUES] = BIT(TIMES) | BIT(TEARDOWN),
	[HOST_STATE_TIMES] = BIT(NAMESPACES) | BIT(TEARDOWN),
	[HOST_STATE_NAMESPACES] = BIT(IO) | BIT(TEARDOWN),
	[HOST_STATE_IO] = BIT(LIVE) | BIT(TEARDOWN),
	[HOST_STATE_LIVE] = BIT(DISCONNECT) | BIT(TEARDOWN),
	[HOST_STATE_DISCONNECT] = BIT(SHUTDOWN) | BIT(TEARDOWN),
	[HOST_STATE_SHUTDOWN] = BIT(TEARDOWN),
	[HOST_STATE_TEARDOWN] = BIT(BACKOFF) | BIT(FAILED) | BIT(CLOSED),
	[HOST_STATE_BACKOFF] = BIT(ADMIN) | BIT(FAILED) | BIT(CLOSED),
	[HOST_STATE_FAILED] = BIT(CLOSED),
};

static void enter_admin(struct host_ctrl *c);
static void enter_live(struct host_ctrl *c);
static void enter_disconnect(struct host_ctrl *c);
static void enter_teardown(struct host_ctrl *c);
static void enter_backoff(struct host_ctrl *c);
static void enter_failed(struct host_ctrl *c);
static void enter_closed(struct host_ctrl *c);

static void (*const handlers[HOST_STATES])(struct host_ctrl *) = {
	[HOST_STATE_ADMIN] = enter_admin,
	[HOST_STATE_CAP] = host_setup_cap,
	[HOST_STATE_VERSION] = host_setup_version,
	[HOST_STATE_ENABLE] = host_setup_enable,
	[HOST_STATE_READY] = host_setup_ready,
	[HOST_STATE_IDENTIFY] = host_setup_identify,
	[HOST_STATE_LIMITS] = host_setup_limits,
	[HOST_STATE_BEHAVIOR] = host_setup_behavior,
	[HOST_STATE_AEN] = host_setup_aen,
	[HOST_STATE_QUEUES] = host_setup_queues,
	[HOST_STATE_TIMES] = host_setup_times,
	[HOST_STATE_NAMESPACES] = host_ns_connecting,
	[HOST_STATE_IO] = host_setup_io,
	[HOST_STATE_LIVE] = enter_live,
	[HOST_STATE_DISCONNECT] = enter_disconnect,
	[HOST_STATE_SHUTDOWN] = host_setup_shutdown,
	[HOST_STATE_TEARDOWN] = enter_teardown,
	[HOST_STATE_BACKOFF] = enter_backoff,
	[HOST_STATE_FAILED] = enter_failed,
	[HOST_STATE_CLOSED] = enter_closed,
};

const char *host_state_name(enum host_state s)
{
	static const char *const names[HOST_STATES] = {
#define HOST_STATE_NAME(id, text) [HOST_STATE_##id] = (text),
		HOST_STATE_LIST(HOST_STATE_NAME)
#undef HOST_STATE_NAME
	};

	return names[s];
}

void host_ctrl_set(struct host_ctrl *c, enum host_state state)
{
	INVARIANT(allowed[c->state] & UINT32_C(1) << state);
	c->state = state;
	handlers[state](c);
}

static void log_failure(const struct host_ctrl *c)
{
	char addr[IO_ADDR_TEXT];

	if (!log_enabled(c->config.log, LOG_LEVEL_WARN))
		return;
	io_addr_format(&c->config.addr, addr);
	log_event(c->config.log, LOG_LEVEL_WARN, "host_failure", LOG_STR("subsystem", c->subnqn),
		  LOG_STR("peer", addr), LOG_U64("cntlid", c->cntlid),
		  LOG_STR("state", host_state_name(c->state)), LOG_STR("why", err_text(&c->err)));
}

static void log_state(const struct host_ctrl *c, const char *event)
{
	char addr[IO_ADDR_TEXT];

	if (!log_enabled(c->config.log, LOG_LEVEL_INFO))
		return;
	io_addr_format(&c->config.addr, addr);
	log_event(c->config.log, LOG_LEVEL_INFO, event, LOG_STR("subsystem", c->subnqn),
		  LOG_STR("peer", addr), LOG_U64("cntlid", c->cntlid), LOG_U64("queues", c->io_up));
}

/* States in which there is an association, or one is being made. */
static bool associated(const struct host_ctrl *c)
{
	return c->state >= HOST_STATE_ADMIN && c->state < HOST_STATE_TEARDOWN;
}

void host_ctrl_fail(struct host_ctrl *c, int error, const char *fmt, ...)
{
	va_list args;

	if (!associated(c))
		return;
	va_start(args, fmt);
	err_setv(&c->err, error, fmt, args);
	va_end(args);
	log_failure(c);
	c->abrupt = true;
	host_ctrl_set(c, HOST_STATE_TEARDOWN);
}

/* ---- what the owner is told ---------------------------------------------------------------- */

void host_ctrl_tell(struct host_ctrl *c, enum host_event event)
{
	if (c->closing || !c->config.event)
		return;
	c->events |= UINT32_C(1) << event;
	io_defer(c->loop, &c->event_defer);
}

/* In an order that ends with how things are now. */
void host_ctrl_tell_now(struct host_ctrl *c)
{
	static const enum host_event up[] = {
		HOST_EVENT_LOST, HOST_EVENT_LIVE, HOST_EVENT_NAMESPACES, HOST_EVENT_DISCOVERY,
		HOST_EVENT_FAILED,
	};
	static const enum host_event down[] = {
		HOST_EVENT_LIVE, HOST_EVENT_NAMESPACES, HOST_EVENT_DISCOVERY, HOST_EVENT_LOST,
		HOST_EVENT_FAILED,
	};
	const enum host_event *order = host_ctrl_live(c) ? up : down;
	uint32_t events = c->events;

	c->events = 0;
	for (size_t i = 0; i < ARRAY_SIZE(up) && !c->closing; i++) {
		if (events & UINT32_C(1) << order[i])
			c->config.event(c, order[i], c->config.arg);
	}
}

/* ---- connecting ---------------------------------------------------------------------------- */

static void enter_admin(struct host_ctrl *c)
{
	struct host_queue_params p = {
		.config = &c->config,
		.qid = 0,
		.cntlid = NVME_CNTLID_DYNAMIC,
		.depth = HOST_ADMIN_DEPTH,
		.entries = HOST_ADMIN_DEPTH + 1,
		.max_in_capsule = HOST_ADMIN_ICD,
		.stage = HOST_ADMIN_STAGE,
	};
	int rc;

	c->stats.attempts++;
	c->abrupt = false;
	c->shutdown_sent = false;
	rc = host_queue_start(&c->admin, &p);
	if (rc < 0)
		host_ctrl_fail(c, -rc, "no memory for the admin queue");
}

void host_ctrl_admin_up(struct host_ctrl *c)
{
	c->cntlid = c->admin.connect_cntlid;
	host_ctrl_set(c, HOST_STATE_CAP);
}

static void enter_live(struct host_ctrl *c)
{
	c->was_live = true;
	c->up = true;
	c->backoff_ns = c->config.reconnect_min_ns;
	c->stats.connects++;
	log_state(c, "host_live");
	host_events_start(c);
	host_ctrl_tell(c, HOST_EVENT_LIVE);
	host_io_pump(c);
}

/* ---- the way down -------------------------------------------------------------------------- */

static bool io_queues_down(const struct host_ctrl *c)
{
	for (unsigned int i = 0; i < c->config.queues; i++) {
		if (c->io[i].state != HOST_QUEUE_DOWN)
			return false;
	}
	return true;
}

static void disconnected(struct host_req *r, enum host_req_end end)
{
	host_queue_stop(r->q, false);
}

/* An I/O queue is deleted in order where the controller can (OFCS), otherwise just closed. */
static void disconnect_queue(struct host_ctrl *c, struct host_queue *q)
{
	struct host_req *r = NULL;

	if (le16_to_cpu(c->id.ofcs) & NVME_OFCS_DISCONNECT)
		r = host_queue_get(q);
	if (!r) {
		host_queue_stop(q, false);
		return;
	}
	r->finish = disconnected;
	r->iov = NULL;
	r->niov = 0;
	r->bytes = 0;
	r->dir = NVME_DIR_NONE;
	nvme_cmd_init_disconnect(&r->sqe);
	host_queue_send(q, r);
}

static void enter_disconnect(struct host_ctrl *c)
{
	host_keepalive_stop(c);
	if (io_timer_start(c->loop, &c->limit, c->config.shutdown_timeout_ns) < 0) {
		host_ctrl_set(c, HOST_STATE_TEARDOWN);
		return;
	}
	for (unsigned int i = 0; i < c->config.queues; i++)
		disconnect_queue(c, &c->io[i]);
	if (io_queues_down(c))
		host_ctrl_set(c, HOST_STATE_SHUTDOWN);
}

/* Timers first: none of them may fire on a queue that is going (I010). */
static void enter_teardown(struct host_ctrl *c)
{
	io_timer_stop(c->loop, &c->timer);
	io_timer_stop(c->loop, &c->limit);
	io_timer_stop(c->loop, &c->tick);
	host_keepalive_stop(c);
	if (c->up && !c->closing) {
		c->stats.losses++;
		c->lost_ns = io_now(c->loop);
		host_ctrl_tell(c, HOST_EVENT_LOST);
	}
	c->up = false;
	for (unsigned int i = 0; i < c->config.queues; i++)
		host_queue_stop(&c->io[i], c->abrupt);
	host_queue_stop(&c->admin, c->abrupt);
	io_defer(c->loop, &c->down_defer);
}

/* All queues are down, and every request is back. */
static void all_down(struct host_ctrl *c)
{
	uint64_t now = io_now(c->loop);

	host_ns_abandon(c);
	host_admin_fail_waiting(c, ENOTCONN);
	host_io_requeue(c);
	c->io_up = 0;
	if (c->closing)
		host_ctrl_set(c, HOST_STATE_CLOSED);
	else if (!c->was_live && !c->config.retry_first)
		host_ctrl_set(c, HOST_STATE_FAILED);
	else if (now - c->lost_ns >= c->config.loss_timeout_ns)
		host_ctrl_set(c, HOST_STATE_FAILED);
	else
		host_ctrl_set(c, HOST_STATE_BACKOFF);
}

void host_ctrl_check_down(struct host_ctrl *c)
{
	if (c->state == HOST_STATE_DISCONNECT && io_queues_down(c))
		host_ctrl_set(c, HOST_STATE_SHUTDOWN);
	else if (c->state == HOST_STATE_TEARDOWN && io_queues_down(c) &&
		 c->admin.state == HOST_QUEUE_DOWN)
		all_down(c);
}

/* ---- between connections, and the ends ------------------------------------------------------ */

/* 25 % either way, so that hosts that lost the same target do not come back together. */
static uint64_t jittered(struct host_ctrl *c, uint64_t ns)
{
	uint64_t random, half = ns / 2;

	io_random(c->loop, &random, sizeof(random));
	return half == 0 ? ns : ns - half / 2 + random % half;
}

static void enter_backoff(struct host_ctrl *c)
{
	uint64_t end = u64_add_saturated(c->lost_ns, c->config.loss_timeout_ns);
	uint64_t pause = jittered(c, c->backoff_ns);

	c->backoff_ns = MIN(u64_add_saturated(c->backoff_ns, c->backoff_ns),
			    c->config.reconnect_max_ns);
	pause = MIN(pause, end - io_now(c->loop));
	if (io_timer_start(c->loop, &c->timer, pause) < 0)
		host_ctrl_set(c, HOST_STATE_FAILED);
}

void host_ctrl_backoff_over(struct host_ctrl *c)
{
	if (io_now(c->loop) - c->lost_ns >= c->config.loss_timeout_ns)
		host_ctrl_set(c, HOST_STATE_FAILED);
	else
		host_ctrl_set(c, HOST_STATE_ADMIN);
}

static void enter_failed(struct host_ctrl *c)
{
	char limit[FORMAT_MAX];

	if (c->was_live || c->config.retry_first) {
		format_duration(c->config.loss_timeout_ns, limit, sizeof(limit));
		err_prefix(&c->err, "no connection for %s; last", limit);
	}
	log_state(c, "host_given_up");
	host_io_fail_waiting(c, c->was_live ? ETIMEDOUT : ENOTCONN);
	host_ctrl_tell(c, HOST_EVENT_FAILED);
}

static void enter_closed(struct host_ctrl *c)
{
	host_io_fail_waiting(c, ECANCELED);
	io_defer(c->loop, &c->free_defer);
}
