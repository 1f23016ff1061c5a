/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connect; the idea is in connect.h.
 *
 * Every field is looked at before anything is made; a wrong one is named by its offset in the
 * completion. A Connect that fails is answered and the connection is closed.
 *
 * A host that lost an I/O queue may connect the same queue ID again before we have seen the old
 * connection end, on another core perhaps. Refusing that would cost it the controller, so such a
 * Connect waits a little for the old queue to go.
 */
#include "target/connect.h"

#include <string.h>

#include "base/util.h"
#include "nvme/fabrics.h"
#include "nvme/nqn.h"
#include "target/access.h"
#include "target/assoc.h"
#include "target/conn.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/keep-alive.h"

#define QID_WAIT_NS  UINT64_C(500000000) /* how long at most */
#define QID_RETRY_NS UINT64_C(5000000)   /* and how often it looks */

/* What Connect asks for, understood. */
struct wish {
	uint16_t qid;
	uint32_t entries;
	uint8_t cattr;
	uint32_t kato_ms;
	uint16_t cntlid;
	struct tgt_host_id host;
	struct tgt_subsys *subsys;
};

/* How it ended: a status, and dword 0 of the completion. */
struct verdict {
	struct nvme_status status;
	uint32_t result;
	bool wait; /* not now, but maybe soon */
};

static struct verdict granted(uint16_t cntlid)
{
	return (struct verdict){ .status = nvme_status_success(), .result = cntlid };
}

static struct verdict refused(enum nvme_sc code)
{
	return (struct verdict){ .status = nvme_status_dnr(code) };
}

static struct verdict invalid(uint32_t where)
{
	return (struct verdict){ .status = nvme_status_dnr(NVME_SC_CONNECT_INVALID_PARAM),
				 .result = where };
}

/* ---- looking at it --------------------------------------------------------------------------- */

static struct verdict check_sqe(const struct target_limits *lim, const struct nvme_connect_cmd *cmd,
				struct wish *w)
{
	uint32_t depth = lim->queue_depth;

	w->qid = le16_to_cpu(cmd->qid);
	w->entries = le16_to_cpu(cmd->sqsize) + 1u;
	w->cattr = cmd->cattr;
	w->kato_ms = le32_to_cpu(cmd->kato);
	if (le16_to_cpu(cmd->recfmt) != 0)
		return refused(NVME_SC_CONNECT_FORMAT);
	if (w->qid > lim->io_queues)
		return invalid(NVME_CONNECT_INVALID_SQE(qid));
	if (w->qid == 0)
		depth = MAX(depth, (uint32_t)NVME_ADMIN_QUEUE_MIN_ENTRIES);
	if (w->entries < 2 || w->entries > depth)
		return invalid(NVME_CONNECT_INVALID_SQE(sqsize));
	return granted(0);
}

static struct verdict check_data(struct tgt_assoc *a, const struct nvme_connect_data *d,
				 struct wish *w)
{
	char subnqn[NVME_NQN_SIZE];

	memcpy(w->host.id, d->hostid, sizeof(w->host.id));
	w->cntlid = le16_to_cpu(d->cntlid);
	if (nvme_nqn_from_field(d->subnqn, subnqn) < 0)
		return invalid(NVME_CONNECT_INVALID_DATA(subnqn));
	if (nvme_nqn_from_field(d->hostnqn, w->host.nqn) < 0)
		return invalid(NVME_CONNECT_INVALID_DATA(hostnqn));
	w->subsys = tgt_subsys_find(a->target, subnqn);
	if (!w->subsys || !tgt_access_listener(w->subsys, a->listener))
		return invalid(NVME_CONNECT_INVALID_DATA(subnqn));
	if (!tgt_access_host(w->subsys, w->host.nqn))
		return refused(NVME_SC_CONNECT_INVALID_HOST);
	if (w->qid == 0 && w->cntlid != NVME_CNTLID_DYNAMIC)
		return invalid(NVME_CONNECT_INVALID_DATA(cntlid));
	if (w->qid > 0 && w->subsys->discovery)
		return invalid(NVME_CONNECT_INVALID_SQE(qid)); /* no I/O queues there (3.1.2.3) */
	return granted(0);
}

/* ---- doing it -------------------------------------------------------------------------------- */

static struct verdict connect_admin(struct tgt_assoc *a, const struct wish *w)
{
	struct target *t = a->target;
	struct nvme_status st;
	struct tgt_ctrl *c;

	if (tgt_assoc_make_queue(a, w->host.nqn, w->entries, false) < 0)
		return (struct verdict){ .status = nvme_status(NVME_SC_INTERNAL_ERROR) };
	target_lock(t);
	st = tgt_ctrl_new(tgt_conn_of(a), w->subsys, &w->host, &c);
	target_unlock(t);
	if (!nvme_status_ok(st)) {
		tgt_assoc_drop_queue(a);
		return (struct verdict){ .status = st };
	}
	return granted(c->cntlid);
}

/* The lock is held. The queue is made already. */
static struct verdict attach_io(struct tgt_assoc *a, const struct wish *w)
{
	struct tgt_ctrl *c = tgt_ctrl_find(w->subsys, w->cntlid);

	if (!c || strcmp(c->host.nqn, w->host.nqn) != 0 ||
	    memcmp(c->host.id, w->host.id, sizeof(c->host.id)) != 0)
		return invalid(NVME_CONNECT_INVALID_DATA(cntlid));
	if (!atomic_load_explicit(&c->ready, memory_order_acquire))
		return refused(NVME_SC_SEQUENCE_ERROR); /* only after CC.EN and CSTS.RDY (3.5.2) */
	if (c->queues[w->qid]) {
		struct verdict v = refused(NVME_SC_SEQUENCE_ERROR);

		v.wait = true;
		return v;
	}
	tgt_ctrl_attach(c, tgt_conn_of(a), w->qid);
	return granted(c->cntlid);
}

static struct verdict connect_io(struct tgt_assoc *a, const struct wish *w)
{
	struct verdict v;

	if (tgt_assoc_make_queue(a, w->host.nqn, w->entries, true) < 0)
		return (struct verdict){ .status = nvme_status(NVME_SC_INTERNAL_ERROR) };
	target_lock(a->target);
	v = attach_io(a, w);
	target_unlock(a->target);
	if (!nvme_status_ok(v.status))
		tgt_assoc_drop_queue(a);
	return v;
}

static struct verdict try(struct tgt_assoc *a, const struct tgt_req *req, struct wish *w)
{
	const struct nvme_connect_cmd *cmd = nvme_cmd_as_connect(&req->cmd);
	struct verdict v = check_sqe(&a->target->limits, cmd, w);

	if (nvme_status_ok(v.status))
		v = check_data(a, req->buf.iov[0].iov_base, w);
	if (!nvme_status_ok(v.status))
		return v;
	return w->qid == 0 ? connect_admin(a, w) : connect_io(a, w);
}

/* ---- and saying so --------------------------------------------------------------------------- */

static void log_granted(struct tgt_assoc *a, const struct wish *w)
{
	enum log_level level = w->qid == 0 ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;
	uint64_t held;

	if (!target_log_pass(a->target, level, io_now(a->reactor->loop), &held))
		return;
	log_event(a->target->log, level, "connect", LOG_STR("host", w->host.nqn),
		  LOG_STR("subsystem", w->subsys->nqn), LOG_U64("cntlid", a->ctrl->cntlid),
		  LOG_U64("qid", w->qid), LOG_U64("entries", w->entries),
		  LOG_U64("kato_ms", w->kato_ms), LOG_STR("peer", tgt_conn_of(a)->peer),
		  LOG_U64("reactor", a->reactor->index), LOG_U64("held_back", held));
}

static void log_refused(struct tgt_assoc *a, const struct wish *w, const struct verdict *v)
{
	uint64_t held;

	if (!target_log_pass(a->target, LOG_LEVEL_WARN, io_now(a->reactor->loop), &held))
		return;
	/* Names are printed only when they were found to be terminated and printable. */
	log_event(a->target->log, LOG_LEVEL_WARN, "connect_refused",
		  LOG_STR("status", nvme_status_name_fabrics(v->status)), LOG_HEX("dw0", v->result),
		  LOG_STR("host", w->host.nqn[0] ? w->host.nqn : NULL),
		  LOG_STR("subsystem", w->subsys ? w->subsys->nqn : NULL), LOG_U64("qid", w->qid),
		  LOG_STR("peer", tgt_conn_of(a)->peer), LOG_U64("held_back", held));
}

static void grant(struct tgt_req *req, const struct wish *w, uint16_t cntlid)
{
	struct tgt_assoc *a = req->assoc;

	tgt_count(&a->reactor->stats.connects, 1);
	a->sqflow = !(w->cattr & NVME_CATTR_DISABLE_SQFLOW);
	a->waiter.control = w->qid == 0;
	tgt_assoc_set_state(a, TGT_ASSOC_LIVE);
	log_granted(a, w);
	tgt_req_succeed(req, cntlid);
	if (w->qid == 0)
		tgt_ctrl_set_kato(a->ctrl, w->kato_ms);
}

static void refuse(struct tgt_req *req, const struct wish *w, const struct verdict *v)
{
	struct tgt_assoc *a = req->assoc;

	tgt_count(&a->reactor->stats.connects_refused, 1);
	log_refused(a, w, v);
	req->result = v->result;
	tgt_req_complete(req, v->status);
	tgt_assoc_kill(a, TARGET_CLOSE_CONNECT_REFUSED, true);
}

/* Until it is tried again. */
static void park(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;

	if (req->state != TGT_REQ_PARKED)
		tgt_req_set_state(req, TGT_REQ_PARKED);
	list_add_tail(&a->parked, &req->link);
	a->connecting = req;
	a->connect_again = io_now(a->reactor->loop) + QID_RETRY_NS;
	tgt_conn_kick(tgt_conn_of(a));
}

static void connect_exec(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;
	struct wish w = { 0 };
	struct verdict v = try(a, req, &w);
	bool first = req->state != TGT_REQ_PARKED;

	if (nvme_status_ok(v.status))
		grant(req, &w, (uint16_t)v.result);
	else if (v.wait && (first || io_now(a->reactor->loop) < req->since + QID_WAIT_NS))
		park(req);
	else
		refuse(req, &w, &v);
}

void tgt_connect_again(struct tgt_assoc *a)
{
	struct tgt_req *req = a->connecting;

	a->connecting = NULL;
	list_del(&req->link);
	connect_exec(req);
}

struct nvme_status tgt_connect_parse(struct tgt_req *req)
{
	if (nvme_cmd_sgl_len(&req->cmd) != NVME_CONNECT_DATA_SIZE)
		return nvme_status_dnr(NVME_SC_SGL_INVALID_LENGTH);
	req->dir = NVME_DIR_TO_CONTROLLER;
	req->data_len = NVME_CONNECT_DATA_SIZE;
	req->exec = connect_exec;
	return nvme_status_success();
}
