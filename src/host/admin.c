/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admin commands: the owner's and our own, on the one admin queue. A few places of the queue are
 * kept for our own, so that an owner who asks for much cannot starve the keep alive.
 */
#include <errno.h>

#include "base/util.h"
#include "host/ctrl.h"
#include "nvme/cmd.h"

static void finish_later(struct host_ctrl *c, struct host_admin *a, int error)
{
	a->error = -error;
	list_add_tail(&c->admin_finished, &a->link);
	io_defer(c->loop, &c->finish_defer);
}

static void on_answer(struct host_req *r, enum host_req_end end)
{
	struct host_admin *a = r->owner;

	a->req = NULL;
	a->error = end == HOST_REQ_LOST ? -ENOTCONN : 0;
	a->cpl = r->cpl;
	a->received = r->received;
	if (end == HOST_REQ_ANSWERED && r->ddgst_bad && nvme_status_ok(nvme_cpl_status(&a->cpl)))
		a->cpl.status = cpu_to_le16(
			nvme_status_encode(nvme_status(NVME_SC_TRANSIENT_TRANSPORT)));
	a->done(a);
}

static void start(struct host_ctrl *c, struct host_admin *a, struct host_req *r, bool unwatched)
{
	a->req = r;
	r->finish = on_answer;
	r->owner = a;
	r->sqe = a->cmd;
	r->iov = a->iov;
	r->niov = a->niov;
	r->bytes = a->bytes;
	r->dir = nvme_cmd_direction(&a->cmd);
	r->unwatched = unwatched;
	host_queue_send(&c->admin, r);
	if (!unwatched)
		host_limits_watch(c);
}

static void reset_results(struct host_admin *a)
{
	a->error = 0;
	a->cpl = (struct nvme_cpl){ 0 };
	a->received = 0;
	a->req = NULL;
	list_init(&a->link);
}

void host_admin_issue(struct host_ctrl *c, struct host_admin *a, bool unwatched)
{
	struct host_req *r;

	reset_results(a);
	r = host_queue_get(&c->admin);
	if (r)
		start(c, a, r, unwatched);
	else
		finish_later(c, a, ENOTCONN);
}

/* What the controller object itself sends, or must not be sent over fabrics. */
static bool forbidden(const struct host_admin *a)
{
	if (nvme_cmd_direction(&a->cmd) == NVME_DIR_BOTH ||
	    (nvme_cmd_direction(&a->cmd) == NVME_DIR_NONE && a->bytes > 0))
		return true;
	switch (a->cmd.opc) {
	case NVME_OPC_FABRICS:
	case NVME_ADMIN_ASYNC_EVENT_REQUEST:
	case NVME_ADMIN_KEEP_ALIVE:
	case NVME_ADMIN_CREATE_IO_SQ:
	case NVME_ADMIN_DELETE_IO_SQ:
	case NVME_ADMIN_CREATE_IO_CQ:
	case NVME_ADMIN_DELETE_IO_CQ:
		return true;
	default:
		return false;
	}
}

void host_admin_pump(struct host_ctrl *c)
{
	while (host_ctrl_live(c) && !list_empty(&c->admin_waiting) &&
	       c->admin.free_count > HOST_ADMIN_RESERVED) {
		struct host_admin *a =
			list_pop_entry(&c->admin_waiting, struct host_admin, link);

		start(c, a, host_queue_get(&c->admin), false);
	}
}

void host_admin_submit(struct host_ctrl *c, struct host_admin *a)
{
	size_t sum = 0;

	INVARIANT(a->done && a->niov >= 0 && a->niov <= HOST_IOV_MAX);
	for (int i = 0; i < a->niov; i++)
		sum += a->iov[i].iov_len;
	INVARIANT(sum == a->bytes);
	reset_results(a);
	a->cmd.flags = (a->cmd.flags & 0x3f) | NVME_FLAGS_SGL;
	if (forbidden(a)) {
		finish_later(c, a, EINVAL);
	} else if (!host_ctrl_live(c) || c->closing) {
		finish_later(c, a, c->closing ? ECANCELED : ENOTCONN);
	} else {
		list_add_tail(&c->admin_waiting, &a->link);
		host_admin_pump(c);
	}
}

void host_admin_fail_waiting(struct host_ctrl *c, int error)
{
	struct host_admin *a;

	while ((a = list_pop_entry(&c->admin_waiting, struct host_admin, link)))
		finish_later(c, a, error);
}
