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
	char subnqn[NVME_NQN_SIZE];
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

static struct verdict check_data(const struct nvme_connect_data *d, struct wish *w)
{
	memcpy(w->host.id, d->hostid, sizeof(w->host.id));
	w->cntlid = le16_to_cpu(d->cntlid);
	if (nvme_nqn_from_field(d->subnqn, w->subnqn) < 0)
		return invalid(NVME_CONNECT_INVALID_DATA(subnqn));
	if (nvme_nqn_from_field(d->hostnqn, w->host.nqn) < 0)
		return invalid(NVME_CONNECT_INVALID_DATA(hostnqn));
	return granted(0);
}

/* Whom it is for, and whether it may: what a change may take away at any time. The lock is held. */
static struct verdict admit(struct tgt_assoc *a, const struct wish *w, struct tgt_subsys **ret_s)
{
	struct tgt_subsys *s = tgt_subsys_find(a->target, w->subnqn);

	if (!s || !tgt_access_listener(s, a->listener))
		return invalid(NVME_CONNECT_INVALID_DATA(subnqn));
	if (!tgt_access_host(s, w->host.nqn))
		return refused(NVME_SC_CONNECT_INVALID_HOST);
	if (w->qid == 0 && w->cntlid != NVME_CNTLID_DYNAMIC)
		return invalid(NVME_CONNECT_INVALID_DATA(cntlid));
	if (w->qid > 0 && s->discovery)
		return invalid(NVME_CONNECT_INVALID_SQE(qid)); /* no I/O queues there (3.1.2.3) */
	*ret_s = s;
	return granted(0);
}

/* ---- doing it -------------------------------------------------------------------------------- */

/* The lock is held. The queue is made already. */
static struct verdict attach_admin(struct tgt_assoc *a, const struct wish *w, struct tgt_subsys *s)
{
	struct tgt_ctrl *c;
	struct nvme_status st = tgt_ctrl_new(tgt_conn_of(a), s, &w->host, &c);

	return nvme_status_ok(st) ? granted(c->cntlid) : (struct verdict){ .status = st };
}

/* The same. */
static struct verdict attach_io(struct tgt_assoc *a, const struct wish *w, struct tgt_subsys *s)
{
	struct tgt_ctrl *c = tgt_ctrl_find(s, w->cntlid);

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

/*
 * Admitted twice: before anything is made for somebody who may be nobody, and again together with
 * the attaching, as a right may be taken away in between.
 */
static struct verdict attach(struct tgt_assoc *a, const struct wish *w)
{
	struct tgt_subsys *s;
	struct verdict v;

	target_lock(a->target);
	v = admit(a, w, &s);
	target_unlock(a->target);
	if (!nvme_status_ok(v.status))
		return v;
	if (tgt_assoc_make_queue(a, w->host.nqn, w->entries, w->qid > 0) < 0)
		return (struct verdict){ .status = nvme_status(NVME_SC_INTERNAL_ERROR) };
	target_lock(a->target);
	v = admit(a, w, &s);
	if (nvme_status_ok(v.status))
		v = w->qid == 0 ? attach_admin(a, w, s) : attach_io(a, w, s);
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
		v = check_data(req->buf.iov[0].iov_base, w);
	return nvme_status_ok(v.status) ? attach(a, w) : v;
}

/* ---- and saying so --------------------------------------------------------------------------- */

static void log_granted(struct tgt_assoc *a, const struct wish *w)
{
	enum log_level level = w->qid == 0 ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;
	uint64_t held;

	if (!target_log_pass(a->target, level, io_now(a->reactor->loop), &held))
		return;
	log_event(a->target->log, level, "connect", LOG_STR("host", w->host.nqn),
		  LOG_STR("subsystem", w->subnqn), LOG_U64("cntlid", a->ctrl->cntlid),
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
		  LOG_STR("subsystem", w->subnqn[0] ? w->subnqn : NULL), LOG_U64("qid", w->qid),
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
