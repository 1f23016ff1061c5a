/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fabrics commands (NVMe Base 2.0, 6); the idea is in fabrics.h.
 */
#include "target/fabrics.h"

#include "base/util.h"
#include "nvme/fabrics.h"
#include "target/assoc.h"
#include "target/connect.h"
#include "target/property.h"

struct nvme_status tgt_fabrics_parse_first(struct tgt_req *req)
{
	if (!nvme_cmd_is_fabrics(&req->cmd, NVME_FABRICS_CONNECT))
		return nvme_status_dnr(NVME_SC_SEQUENCE_ERROR);
	return tgt_connect_parse(req);
}

static void abort_all(struct list *l)
{
	while (!list_empty(l))
		tgt_req_complete(list_first_entry(l, struct tgt_req, link),
				 nvme_status_dnr(NVME_SC_ABORTED_SQ_DELETION));
}

/*
 * Disconnect (6.4): what has not begun is aborted, what has begun ends, and then this is answered,
 * last. tgt_assoc_freed() sees to the rest.
 */
static void disconnect_exec(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;

	tgt_assoc_set_state(a, TGT_ASSOC_DELETING);
	abort_all(&a->waiting_buffer);
	abort_all(&a->waiting_fence);
	if (a->in_flight == 1) {
		tgt_req_succeed(req, 0);
		return;
	}
	tgt_req_set_state(req, TGT_REQ_PARKED);
	list_add_tail(&a->parked, &req->link);
	a->deleting = req;
}

static struct nvme_status disconnect_parse(struct tgt_req *req)
{
	if (req->assoc->qid == 0)
		return nvme_status_dnr(NVME_SC_INVALID_QUEUE_TYPE);
	if (le16_to_cpu(nvme_cmd_as_disconnect(&req->cmd)->recfmt) != 0)
		return nvme_status_dnr(NVME_SC_CONNECT_FORMAT);
	req->exec = disconnect_exec;
	return nvme_status_success();
}

struct nvme_status tgt_fabrics_parse(struct tgt_req *req)
{
	bool admin = req->assoc->qid == 0;

	switch (nvme_cmd_fctype(&req->cmd)) {
	case NVME_FABRICS_CONNECT:
		return nvme_status_dnr(NVME_SC_SEQUENCE_ERROR); /* once is enough (6.3) */
	case NVME_FABRICS_PROPERTY_GET:
		return admin ? tgt_property_get_parse(req)
			     : nvme_status_dnr(NVME_SC_INVALID_QUEUE_TYPE);
	case NVME_FABRICS_PROPERTY_SET:
		return admin ? tgt_property_set_parse(req)
			     : nvme_status_dnr(NVME_SC_INVALID_QUEUE_TYPE);
	case NVME_FABRICS_DISCONNECT:
		return disconnect_parse(req);
	default:
		return nvme_status_dnr(NVME_SC_INVALID_OPCODE);
	}
}
