/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of a request, and its end; the idea is in req.h. What sends an answer is in xfer.c.
 */
#include "target/req.h"

#include <string.h>

#include "base/util.h"
#include "target/assoc.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/fused.h"
#include "target/resv-ns.h"
#include "target/timing.h"
#include "target/xfer.h"

#define BIT(s) (1u << TGT_REQ_##s)

static const struct {
	const char *name;
	uint32_t next; /* states that may follow */
} states[TGT_REQ_STATES] = {
	[TGT_REQ_FREE] = { "free", BIT(NEW) },
	[TGT_REQ_NEW] = { "new", BIT(BUFFER) | BIT(CAPSULE) | BIT(R2T) | BIT(FUSED) | BIT(FENCED) |
					 BIT(STORE) | BIT(PARKED) | BIT(SENDING) | BIT(FREE) },
	[TGT_REQ_BUFFER] = { "buffer", BIT(CAPSULE) | BIT(R2T) | BIT(FENCED) | BIT(STORE) |
					       BIT(PARKED) | BIT(SENDING) | BIT(FREE) },
	[TGT_REQ_CAPSULE] = { "capsule", BIT(FUSED) | BIT(FENCED) | BIT(STORE) | BIT(PARKED) |
						 BIT(SENDING) | BIT(FREE) },
	[TGT_REQ_R2T] = { "r2t", BIT(FUSED) | BIT(FENCED) | BIT(STORE) | BIT(PARKED) |
					 BIT(SENDING) | BIT(FREE) },
	[TGT_REQ_FUSED] = { "fused", BIT(BUFFER) | BIT(R2T) | BIT(FENCED) | BIT(STORE) |
					     BIT(SENDING) | BIT(FREE) },
	[TGT_REQ_FENCED] = { "fenced", BIT(STORE) | BIT(PARKED) | BIT(SENDING) | BIT(FREE) },
	[TGT_REQ_STORE] = { "store", BIT(SENDING) | BIT(FREE) },
	[TGT_REQ_PARKED] = { "parked", BIT(SENDING) | BIT(FREE) },
	[TGT_REQ_SENDING] = { "sending", BIT(FREE) },
};

const char *tgt_req_state_name(enum tgt_req_state s)
{
	return s < TGT_REQ_STATES ? states[s].name : "?";
}

void tgt_req_set_state(struct tgt_req *req, enum tgt_req_state s)
{
	INVARIANT(states[req->state].next & 1u << s);
	if (req->timed)
		tgt_timing_leave(req);
	req->state = (uint8_t)s;
	req->since = io_now(req->assoc->reactor->loop);
}

void tgt_req_begin(struct tgt_req *req, struct tgt_assoc *a, uint16_t tag,
		   const struct nvme_cmd *cmd)
{
	/*
	 * What is not cleared here (vectors, store operation, PDUs) is filled in before it is used.
	 */
	list_init(&req->link);
	req->assoc = a;
	req->state = TGT_REQ_FREE;
	req->dir = NVME_DIR_NONE;
	req->fuse = (uint8_t)nvme_cmd_fuse(cmd);
	req->other = NULL;
	req->drain = NULL;
	req->access = 0;
	req->control = a->qid == 0;
	req->abort = false;
	req->bad_data = false;
	req->timed = false;
	req->mutates = false;
	req->tag = tag;
	req->ttag = 0;
	req->cmd = *cmd;
	req->status = nvme_status_success();
	req->result = 0;
	req->buf.niov = req->buf.runs = 0;
	req->data_len = 0;
	req->xfer = 0;
	req->reserve = false;
	req->lends = false;
	req->exec = NULL;
	req->ns = NULL;
	req->pin = NULL;
	req->store_seq = 0;
	req->step = 0;
	req->data_pdu.queued = false;
	req->rsp_pdu.queued = false;
	a->in_flight++;
	tgt_req_set_state(req, TGT_REQ_NEW);
	req->begun = req->since;
}

static void leave_lists(struct tgt_req *req)
{
	list_del(&req->link);
	tgt_xfer_forget(req);
}

static void leave_drain(struct tgt_req *req)
{
	struct tgt_resv_drain *d = req->drain;

	req->drain = NULL;
	if (d)
		tgt_resv_drained(d);
}

void tgt_req_complete(struct tgt_req *req, struct nvme_status status)
{
	struct tgt_assoc *a = req->assoc;

	leave_lists(req);
	leave_drain(req);
	if (req->fuse)
		tgt_fused_ends(req);
	if (req->pin && !req->lends) {
		tgt_ns_pin_put(req->pin);
		req->pin = NULL;
	}
	req->status = status;
	if (a->state == TGT_ASSOC_DEAD) {
		tgt_req_release(req);
		return;
	}
	if (!nvme_status_ok(status) && a->ctrl)
		tgt_ctrl_log_error(a->ctrl, req, a->qid);
	tgt_xfer_answer(req);
}

void tgt_req_succeed(struct tgt_req *req, uint64_t result)
{
	req->result = result;
	tgt_req_complete(req, nvme_status_success());
}

void tgt_req_fail(struct tgt_req *req, enum nvme_sc code)
{
	tgt_req_complete(req, nvme_status_dnr(code));
}

void tgt_req_release(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;

	leave_lists(req);
	leave_drain(req);
	if (req->other)
		req->other = req->other->other = NULL;
	INVARIANT(!req->data_pdu.queued && !req->rsp_pdu.queued);
	if (req->pin)
		tgt_ns_pin_put(req->pin);
	req->pin = NULL;
	tgt_xfer_put_buffer(req);
	if (req->state == TGT_REQ_SENDING)
		a->sending--;
	tgt_req_set_state(req, TGT_REQ_FREE);
	a->in_flight--;
	tgt_assoc_freed(a, req);
}
