/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making and closing a controller, its settings, and what its queues, timers and deferred functions
 * call: the wiring around the state machine of ctrl.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "host/ctrl.h"

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

/* Receive buffer of an I/O queue: some sixteen answers to 4 KiB reads in one call. */
#define DEFAULT_STAGE (64 * 1024)
/* A receive buffer holds a header with its padding at the least; see tcp_rx_init(). */
#define STAGE_MIN 512

/* ---- settings ------------------------------------------------------------------------------ */

void host_config_init(struct host_config *c)
{
	*c = (struct host_config){
		.queues = 1,
		.depth = 128,
		.times = true,
		.in_capsule = true,
		.stage = DEFAULT_STAGE,
		.kato_ns = 5 * S,
		.connect_timeout_ns = 10 * S,
		.admin_timeout_ns = 30 * S,
		.io_timeout_ns = 30 * S,
		.reconnect_min_ns = 100 * MS,
		.reconnect_max_ns = 10 * S,
		.loss_timeout_ns = 600 * S,
		.shutdown_timeout_ns = 5 * S,
		.retries = 5,
	};
}

static int check_nqn(const char *what, const char *nqn, struct err *err)
{
	uint8_t field[NVME_NQN_FIELD_SIZE];

	if (!nqn || nvme_nqn_to_field(nqn, field) < 0)
		return err_set(err, EINVAL, "%s: expected a name of 1 to %d bytes", what,
			       NVME_NQN_MAX);
	return 0;
}

static int check_config(const struct host_config *c, struct err *err)
{
	int rc = check_nqn("subsystem NQN", c->subnqn, err);

	if (rc == 0)
		rc = check_nqn("host NQN", c->hostnqn, err);
	if (rc < 0)
		return rc;
	if (c->addr.len == 0)
		return err_set(err, EINVAL, "address: none given");
	if (c->queues > HOST_QUEUES_MAX)
		return err_set(err, EINVAL, "queues: %u: expected 0 to %d", c->queues,
			       HOST_QUEUES_MAX);
	if (c->depth < 1 || c->depth > HOST_DEPTH_MAX)
		return err_set(err, EINVAL, "depth: %u: expected 1 to %d", c->depth,
			       HOST_DEPTH_MAX);
	if (c->hpda > TCP_PDA_MAX)
		return err_set(err, EINVAL, "hpda: %u: expected 0 to %d", c->hpda, TCP_PDA_MAX);
	if (c->stage < STAGE_MIN)
		return err_set(err, EINVAL, "stage: %zu: expected at least %d bytes", c->stage,
			       STAGE_MIN);
	if (c->nsid == NVME_NSID_ALL)
		return err_set(err, EINVAL, "nsid: 0xffffffff is no namespace");
	if (!c->connect_timeout_ns || !c->admin_timeout_ns || !c->io_timeout_ns ||
	    !c->reconnect_min_ns || c->reconnect_max_ns < c->reconnect_min_ns)
		return err_set(err, EINVAL,
			       "time limits: expected none that is 0, and a longest pause that is "
			       "not shorter than the first");
	return 0;
}

/* ---- from queues, timers and deferred functions --------------------------------------------- */

static void queue_up(struct host_queue *q)
{
	struct host_ctrl *c = q->owner;

	if (q == &c->admin && c->state == HOST_STATE_ADMIN)
		host_ctrl_admin_up(c);
	else if (q != &c->admin && c->state == HOST_STATE_IO && ++c->io_up == c->io_wanted)
		host_ctrl_set(c, HOST_STATE_LIVE);
}

static void queue_failed(struct host_queue *q, int error, const char *text)
{
	struct host_ctrl *c = q->owner;

	/* The controller may close a queue that it was asked to delete before we do. */
	if (c->state == HOST_STATE_DISCONNECT && q != &c->admin)
		host_queue_stop(q, false);
	else if (q == &c->admin)
		host_ctrl_fail(c, error, "%s", text);
	else
		host_ctrl_fail(c, error, "I/O queue %u: %s", q->p.qid, text);
}

static void queue_down(struct host_queue *q)
{
	host_ctrl_check_down(q->owner);
}

static void queue_room(struct host_queue *q)
{
	struct host_ctrl *c = q->owner;

	if (q == &c->admin)
		host_admin_pump(c);
	else
		host_io_pump(c);
}

static const struct host_queue_ops queue_ops = {
	.up = queue_up,
	.failed = queue_failed,
	.down = queue_down,
	.room = queue_room,
};

static void on_timer(struct io_timer *t)
{
	struct host_ctrl *c = container_of(t, struct host_ctrl, timer);

	if (c->state == HOST_STATE_BACKOFF)
		host_ctrl_backoff_over(c);
	else if (c->state == HOST_STATE_NEW)
		host_ctrl_set(c, HOST_STATE_ADMIN);
	else
		host_setup_poll(c);
}

static void on_limit(struct io_timer *t)
{
	struct host_ctrl *c = container_of(t, struct host_ctrl, limit);

	host_ctrl_set(c, HOST_STATE_TEARDOWN);
}

static void on_down(struct io_defer *d)
{
	host_ctrl_check_down(container_of(d, struct host_ctrl, down_defer));
}

static void on_tell(struct io_defer *d)
{
	host_ctrl_tell_now(container_of(d, struct host_ctrl, event_defer));
}

/* ---- life ---------------------------------------------------------------------------------- */

static void ctrl_free(struct host_ctrl *c)
{
	for (unsigned int i = 0; c->io && i < c->config.queues; i++)
		host_queue_deinit(&c->io[i]);
	host_queue_deinit(&c->admin);
	mem_free(c->io);
	mem_free(c->page);
	mem_free(c->ns);
	mem_free(c);
}

static void on_free(struct io_defer *d)
{
	struct host_ctrl *c = container_of(d, struct host_ctrl, free_defer);
	void (*closed)(void *arg) = c->closed;
	void *arg = c->closed_arg;

	host_io_finish_due(c);
	INVARIANT(c->waiting_count == 0 && list_empty(&c->finished) &&
		  list_empty(&c->admin_finished) && list_empty(&c->admin_waiting));
	INVARIANT(!io_timer_armed(&c->timer) && !io_timer_armed(&c->limit) &&
		  !io_timer_armed(&c->tick) && !io_timer_armed(&c->ka_timer));
	io_timer_stop(c->loop, &c->retry_timer);
	io_defer_cancel(&c->event_defer);
	io_defer_cancel(&c->finish_defer);
	io_defer_cancel(&c->down_defer);
	ctrl_free(c);
	if (closed)
		closed(arg);
}

static void ctrl_init(struct host_ctrl *c, struct io_loop *loop, const struct host_config *config)
{
	c->loop = loop;
	c->config = *config;
	snprintf(c->subnqn, sizeof(c->subnqn), "%s", config->subnqn);
	snprintf(c->hostnqn, sizeof(c->hostnqn), "%s", config->hostnqn);
	c->config.subnqn = c->subnqn;
	c->config.hostnqn = c->hostnqn;
	c->discovery = nvme_nqn_is_discovery(c->subnqn);
	if (c->discovery)
		c->config.queues = 0;
	c->backoff_ns = config->reconnect_min_ns;
	c->lost_ns = io_now(loop);
	io_timer_init(&c->timer, on_timer);
	io_timer_init(&c->limit, on_limit);
	io_defer_init(&c->down_defer, on_down);
	io_defer_init(&c->event_defer, on_tell);
	io_defer_init(&c->free_defer, on_free);
	host_queue_init(&c->admin, loop, &queue_ops, c, &c->counts);
	host_keepalive_init(c);
	host_limits_init(c);
	host_io_init(c);
}

int host_ctrl_new(struct io_loop *loop, const struct host_config *config,
		  struct host_ctrl **ret_ctrl, struct err *err)
{
	int rc = check_config(config, err);
	struct host_ctrl *c;

	if (rc < 0)
		return rc;
	c = mem_zalloc(sizeof(*c));
	if (!c)
		return err_set(err, ENOMEM, "no memory for a controller");
	ctrl_init(c, loop, config);
	c->page = mem_aligned(64, NVME_IDENTIFY_SIZE);
	c->io = mem_calloc(MAX(c->config.queues, 1u), sizeof(*c->io));
	if (!c->page || !c->io || io_timer_start(loop, &c->timer, 0) < 0) {
		mem_free(c->io);
		c->io = NULL;
		ctrl_free(c);
		return err_set(err, ENOMEM, "no memory for a controller with %u queues",
			       config->queues);
	}
	for (unsigned int i = 0; i < c->config.queues; i++)
		host_queue_init(&c->io[i], loop, &queue_ops, c, &c->counts);
	*ret_ctrl = c;
	return 0;
}

void host_ctrl_close(struct host_ctrl *c, void (*closed)(void *arg), void *arg)
{
	INVARIANT(!c->closing);
	c->closing = true;
	c->closed = closed;
	c->closed_arg = arg;
	c->events = 0;
	io_timer_stop(c->loop, &c->retry_timer);
	host_io_fail_waiting(c, ECANCELED);
	host_admin_fail_waiting(c, ECANCELED);
	switch (c->state) {
	case HOST_STATE_LIVE:
		host_ctrl_set(c, HOST_STATE_DISCONNECT);
		break;
	case HOST_STATE_NEW:
	case HOST_STATE_BACKOFF:
		io_timer_stop(c->loop, &c->timer);
		host_ctrl_set(c, HOST_STATE_CLOSED);
		break;
	case HOST_STATE_FAILED:
		host_ctrl_set(c, HOST_STATE_CLOSED);
		break;
	case HOST_STATE_TEARDOWN:
		break; /* ends in CLOSED now */
	default:
		host_ctrl_set(c, HOST_STATE_TEARDOWN);
		break;
	}
}

void host_ctrl_reset(struct host_ctrl *c)
{
	if (host_ctrl_live(c))
		host_ctrl_fail(c, ECONNRESET, "reset on request");
}
