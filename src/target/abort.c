/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Abort command; the idea is in abort.h.
 */
#include "target/abort.h"

#include "base/util.h"
#include "nvme/cmd-admin.h"
#include "target/assoc.h"
#include "target/conn.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/fused.h"

static struct tgt_req *find(struct list *l, uint16_t cid)
{
	struct tgt_req *req;

	list_for_each_entry(req, l, link)
		if (tgt_req_cid(req) == cid)
			return req;
	return NULL;
}

/* Whether the command was stopped before it began. */
static bool abort_here(struct tgt_assoc *a, uint16_t cid)
{
	struct tgt_req *req = find(&a->waiting_buffer, cid);

	if (!req)
		req = find(&a->waiting_fence, cid);
	if (!req) {
		req = find(&a->fused, cid);
		if (req)
			return tgt_fused_abort(req);
	}
	if (!req) {
		req = find(&a->events, cid);
		if (req)
			a->event_count--;
	}
	if (req) {
		tgt_req_complete(req, nvme_status(NVME_SC_ABORT_REQUESTED));
		return true;
	}
	req = find(&a->waiting_data, cid);
	if (!req && a->landing && tgt_req_cid(a->landing) == cid)
		req = a->landing;
	if (req)
		req->abort = true;
	return false;
}

static struct tgt_req *req_of(struct tgt_abort *m)
{
	return container_of(m, struct tgt_req, abort_msg);
}

/* Sends the answer back. The lock is held. */
static void reply(struct tgt_abort *m, bool aborted)
{
	struct tgt_assoc *from = req_of(m)->assoc;

	m->aborted = aborted;
	list_del(&m->link);
	list_add_tail(&from->abort_replies, &m->link);
	tgt_conn_notify(tgt_conn_of(from), TGT_NOTICE_REPLY);
}

void tgt_abort_take_inbox(struct tgt_assoc *a)
{
	struct target *t = a->target;

	for (;;) {
		struct tgt_abort *m = NULL;
		bool aborted;

		target_lock(t);
		if (!list_empty(&a->abort_inbox)) {
			m = list_first_entry(&a->abort_inbox, struct tgt_abort, link);
			list_del(&m->link);
		}
		target_unlock(t);
		if (!m)
			return;
		aborted = a->state != TGT_ASSOC_DEAD && abort_here(a, m->cid);
		target_lock(t);
		reply(m, aborted);
		target_unlock(t);
	}
}

void tgt_abort_refuse_inbox(struct tgt_assoc *a)
{
	while (!list_empty(&a->abort_inbox))
		reply(list_first_entry(&a->abort_inbox, struct tgt_abort, link), false);
}

static void answer(struct tgt_req *req, bool aborted)
{
	tgt_req_succeed(req, aborted ? NVME_ABORT_DW0_ABORTED : NVME_ABORT_DW0_NOT_ABORTED);
}

void tgt_abort_take_replies(struct tgt_assoc *a)
{
	struct list replies = LIST_INIT(replies);
	struct tgt_abort *m;

	target_lock(a->target);
	list_splice_tail(&replies, &a->abort_replies);
	target_unlock(a->target);
	while ((m = list_pop_entry(&replies, struct tgt_abort, link))) {
		a->away--;
		a->ctrl->aborts--;
		answer(req_of(m), m->aborted); /* of a dead association: only released */
	}
}

/* Hands the request over to the core of queue @sqid; false if there is no such queue. */
static bool send_away(struct tgt_req *req, uint16_t sqid)
{
	struct tgt_assoc *a = req->assoc;
	struct tgt_ctrl *c = a->ctrl;
	struct tgt_conn *to = NULL;

	target_lock(a->target);
	if (sqid <= a->target->limits.io_queues)
		to = c->queues[sqid];
	if (to) {
		list_init(&req->abort_msg.link);
		req->abort_msg.cid = nvme_abort_cid(&req->cmd);
		list_add_tail(&to->assoc.abort_inbox, &req->abort_msg.link);
		a->away++;
		c->aborts++;
		tgt_conn_notify(to, TGT_NOTICE_ABORT);
	}
	target_unlock(a->target);
	return to != NULL;
}

static void abort_exec(struct tgt_req *req)
{
	uint16_t sqid = nvme_abort_sqid(&req->cmd);

	if (sqid == 0) {
		answer(req, abort_here(req->assoc, nvme_abort_cid(&req->cmd)));
		return;
	}
	if (req->assoc->ctrl->aborts >= TGT_ABORT_LIMIT) {
		tgt_req_fail(req, NVME_SC_ABORT_LIMIT);
		return;
	}
	tgt_req_set_state(req, TGT_REQ_PARKED);
	if (!send_away(req, sqid))
		answer(req, false);
}

struct nvme_status tgt_abort_parse(struct tgt_req *req)
{
	req->exec = abort_exec;
	return nvme_status_success();
}
