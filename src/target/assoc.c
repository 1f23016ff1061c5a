/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The association: events of the framing in, requests and PDUs out; the idea is in assoc.h. What
 * commands mean is in fabrics.c, admin.c and io_cmd.c; how their data moves is in xfer.c; how time
 * is kept is in assoc-time.c.
 */
#include "target/assoc.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "target/abort.h"
#include "target/admin.h"
#include "target/aen.h"
#include "target/conn.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/fabrics.h"
#include "target/fence.h"
#include "target/fused.h"
#include "target/io_cmd.h"
#include "target/keep-alive.h"
#include "target/tenant.h"
#include "target/xfer.h"

static const char *const state_names[TGT_ASSOC_STATES] = {
	[TGT_ASSOC_ICREQ] = "icreq", [TGT_ASSOC_CONNECT] = "connect",
	[TGT_ASSOC_LIVE] = "live",   [TGT_ASSOC_DELETING] = "deleting",
	[TGT_ASSOC_DEAD] = "dead",
};

const char *tgt_assoc_state_name(enum tgt_assoc_state s)
{
	return s < TGT_ASSOC_STATES ? state_names[s] : "?";
}

void tgt_assoc_set_state(struct tgt_assoc *a, enum tgt_assoc_state s)
{
	/* Only forwards, and DEAD from everywhere. */
	INVARIANT(s > a->state);
	a->state = (uint8_t)s;
	a->stage_since = io_now(a->reactor->loop);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void init_lists(struct tgt_assoc *a)
{
	list_init(&a->waiting_buffer);
	list_init(&a->waiting_data);
	list_init(&a->waiting_fence);
	list_init(&a->fused);
	list_init(&a->in_store);
	list_init(&a->parked);
	list_init(&a->lent);
	list_init(&a->events);
	list_init(&a->abort_inbox);
	list_init(&a->abort_replies);
	list_init(&a->resv_replies);
	list_init(&a->barriers);
	list_init(&a->zombie_link);
}

int tgt_assoc_init(struct tgt_assoc *a, struct tgt_reactor *r, struct tgt_listener *l)
{
	const struct target_limits *lim = &r->target->limits;
	struct tcp_rx_options opts = {
		.role = TCP_ROLE_CONTROLLER,
		.max_data = lim->maxh2cdata,
		.max_icd = MAX(lim->in_capsule, (uint32_t)TGT_CONTROL_CAPSULE_DATA),
	};

	memset(a, 0, sizeof(*a));
	a->target = r->target;
	a->reactor = r;
	a->listener = l;
	init_lists(a);
	tcp_tx_init(&a->tx);
	a->sqflow = true;
	a->r2t_slot = &a->first_slot;
	a->r2t_slots = 1;
	tgt_arena_waiter_init(&a->waiter, true, tgt_xfer_retry);
	a->stage_since = io_now(r->loop);
	atomic_init(&a->last_traffic, a->stage_since);
	a->stage = mem_alloc(TGT_STAGE_BYTES);
	if (!a->stage)
		return -ENOMEM;
	tcp_rx_init(&a->rx, &opts, a->stage, TGT_STAGE_BYTES);
	return 0;
}

int tgt_assoc_make_queue(struct tgt_assoc *a, const char *hostnqn, uint32_t entries, bool io_queue)
{
	/* Both commands of a fused operation may bring their data in capsules. */
	uint32_t reserve = io_queue ? 2 * a->target->limits.in_capsule : TGT_CONTROL_CAPSULE_DATA;
	struct tgt_req **slots = mem_calloc(entries, sizeof(*slots));
	uint8_t *buffer = reserve ? mem_aligned(TGT_ARENA_PIECE, reserve) : NULL;
	struct tgt_tenant *tenant = tgt_tenant_get(a->reactor, hostnqn);

	INVARIANT(!a->first_slot && a->r2t_slot == &a->first_slot);
	if (!slots || (reserve && !buffer) || !tenant || tgt_split_init(&a->split, a->tx.ddgst) < 0 ||
	    pool_init(&a->pool, sizeof(struct tgt_req), entries) < 0) {
		mem_free(slots);
		mem_free(buffer);
		tgt_split_deinit(&a->split);
		tgt_tenant_put(tenant);
		return -ENOMEM;
	}
	a->tenant = tenant;
	tgt_arena_user_join(&a->arena, &tenant->arena);
	a->r2t_slot = slots;
	a->r2t_slots = entries;
	a->reserve = buffer;
	a->reserve_bytes = reserve;
	a->entries = entries;
	return 0;
}

void tgt_assoc_drop_queue(struct tgt_assoc *a)
{
	if (a->r2t_slot == &a->first_slot)
		return;
	INVARIANT(pool_is_full(&a->pool));
	pool_deinit(&a->pool);
	tgt_split_deinit(&a->split);
	mem_free(a->r2t_slot);
	a->r2t_slot = &a->first_slot;
	a->r2t_slots = 1;
	a->reserve = mem_free(a->reserve);
	a->entries = 0;
	tgt_arena_user_join(&a->arena, NULL);
	a->tenant = tgt_tenant_put(a->tenant);
}

void tgt_assoc_deinit(struct tgt_assoc *a)
{
	INVARIANT(a->in_flight == 0 && a->sending == 0 && a->mutating == 0 && a->away == 0);
	INVARIANT(a->arena.held[0] == 0 && a->arena.held[1] == 0);
	INVARIANT(!a->reserve_used && tcp_tx_empty(&a->tx));
	INVARIANT(list_empty(&a->abort_inbox) && list_empty(&a->abort_replies));
	INVARIANT(list_empty(&a->resv_replies));
	INVARIANT(list_empty(&a->barriers) && !list_is_linked(&a->zombie_link));
	tgt_arena_unwait(&a->waiter);
	tgt_assoc_drop_queue(a);
	a->stage = mem_free(a->stage);
}

/* ---- requests -------------------------------------------------------------------------------- */

static struct tgt_req *get_req(struct tgt_assoc *a, const struct nvme_cmd *cmd)
{
	struct tgt_req *req;
	size_t tag;

	if (a->state == TGT_ASSOC_CONNECT) {
		if (a->first_used)
			return NULL;
		a->first_used = true;
		tgt_req_begin(&a->first, a, 0, cmd);
		a->first.control = true;
		return &a->first;
	}
	req = pool_get(&a->pool);
	if (!req)
		return NULL;
	tag = (size_t)((char *)req - (char *)a->pool.memory) / a->pool.slot;
	tgt_req_begin(req, a, (uint16_t)tag, cmd);
	return req;
}

void tgt_assoc_freed(struct tgt_assoc *a, struct tgt_req *req)
{
	struct tgt_req *deleting = a->deleting;

	if (req == &a->first)
		a->first_used = false;
	else
		pool_put(&a->pool, req);
	if (a->wants_req || a->state == TGT_ASSOC_DEAD)
		tgt_conn_kick(tgt_conn_of(a));
	if (deleting && a->in_flight == 1) {
		/* Disconnect is the last command to be answered on its queue (6.4). */
		a->deleting = NULL;
		tgt_req_succeed(deleting, 0);
	} else if (a->state == TGT_ASSOC_DELETING && a->in_flight == 0) {
		tgt_assoc_kill(a, TARGET_CLOSE_DISCONNECTED, true);
	}
}

void tgt_assoc_ready(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;

	if (req->fuse) {
		tgt_fused_ready(req);
		return;
	}
	if (req->bad_data) {
		/* Not fatal: the command fails, and may be tried again (Transport 1.0, 3.5). */
		tgt_count(&a->reactor->stats.ddgst_errors, 1);
		tgt_req_complete(req, nvme_status(NVME_SC_TRANSIENT_TRANSPORT));
		return;
	}
	if (req->abort) {
		tgt_req_complete(req, nvme_status(NVME_SC_ABORT_REQUESTED));
		return;
	}
	if (!req->control && tgt_fence_holds(a)) {
		tgt_fence_wait(req);
		return;
	}
	tgt_io_run(req);
}

/* ---- what the host says ---------------------------------------------------------------------- */

static void on_icreq(struct tgt_assoc *a)
{
	const struct tcp_icreq *ic = &tcp_rx_pdu(&a->rx)->icreq;
	bool hdgst = ic->dgst & 1;
	bool ddgst = ic->dgst & 2;

	/* MAXR2T is not kept: there is never more than one R2T out for a command. */
	tcp_build_icresp(&a->ic_pdu, 0, hdgst, ddgst, a->target->limits.maxh2cdata);
	a->ic_pdu.sent = NULL;
	tcp_rx_negotiated(&a->rx, hdgst, ddgst, 0);
	tcp_tx_negotiated(&a->tx, hdgst, ddgst, ic->hpda);
	tcp_tx_push(&a->tx, &a->ic_pdu);
	tgt_assoc_set_state(a, TGT_ASSOC_CONNECT);
	tgt_conn_kick(tgt_conn_of(a));
}

/* Fields that mean the same in every command over fabrics. */
static struct nvme_status check_common(const struct tgt_req *req)
{
	if (nvme_cmd_psdt(&req->cmd) != NVME_PSDT_SGL)
		return nvme_status_dnr(NVME_SC_INVALID_FIELD);
	return req->fuse ? tgt_fused_check(req) : nvme_status_success();
}

/* Understands the command: sets dir, data_len and exec, or says what is wrong with it. */
static struct nvme_status parse(struct tgt_assoc *a, struct tgt_req *req)
{
	struct nvme_status st = check_common(req);

	if (!nvme_status_ok(st))
		return st;
	if (a->state == TGT_ASSOC_CONNECT)
		return tgt_fabrics_parse_first(req);
	if (a->state == TGT_ASSOC_DELETING)
		return nvme_status_dnr(NVME_SC_ABORTED_SQ_DELETION);
	if (req->cmd.opc == NVME_OPC_FABRICS) {
		req->control = true;
		return tgt_fabrics_parse(req);
	}
	return a->qid == 0 ? tgt_admin_parse(req) : tgt_io_parse(req);
}

static void overrun(struct tgt_assoc *a)
{
	tcp_rx_fail(&a->rx, TCP_FES_SEQUENCE, 0, "queue_overrun");
	tgt_assoc_fail(a, tcp_rx_error(&a->rx));
}

/*
 * A command capsule. When all requests are taken the host has exceeded its queue, unless some are
 * only being sent: then the host may have seen an answer before we know that it was taken.
 */
static void on_capsule(struct tgt_assoc *a)
{
	const struct nvme_cmd *cmd = &tcp_rx_pdu(&a->rx)->cmd.sqe;
	uint32_t capsule = tcp_rx_data_len(&a->rx);
	struct tgt_req *req = get_req(a, cmd);
	struct nvme_status st;
	bool taken = false;

	a->wants_req = !req && a->sending > 0;
	if (a->wants_req)
		return;
	if (!req) {
		overrun(a);
		return;
	}
	if (a->state == TGT_ASSOC_LIVE)
		a->got_command = true;
	st = parse(a, req);
	if (a->qid > 0 && (req->fuse || a->fused_expect))
		taken = tgt_fused_begin(req, capsule, st);
	else if (nvme_status_ok(st))
		taken = tgt_xfer_begin(req, capsule);
	else
		tgt_req_complete(req, st);
	if (capsule > 0 && !taken && a->state != TGT_ASSOC_DEAD)
		tcp_rx_discard(&a->rx);
}

static void on_pdu(struct tgt_assoc *a)
{
	a->rx_since = 0;
	a->landing = NULL;
	switch (tcp_rx_pdu(&a->rx)->ch.type) {
	case TCP_PDU_ICREQ:
		on_icreq(a);
		break;
	case TCP_PDU_CMD:
		on_capsule(a);
		break;
	case TCP_PDU_H2C_DATA:
		tgt_xfer_h2c(a);
		break;
	case TCP_PDU_H2C_TERM:
		tgt_assoc_kill(a, TARGET_CLOSE_HOST_TERM, false);
		break;
	default:
		INVARIANT(!"the framing lets no other type through");
	}
}

static void on_data(struct tgt_assoc *a)
{
	struct tgt_req *req = a->landing;
	bool good = tcp_rx_ddgst_ok(&a->rx);

	a->rx_since = 0;
	a->landing = NULL;
	if (!req)
		return; /* it was discarded */
	if (req->state == TGT_REQ_CAPSULE)
		tgt_xfer_capsule_done(req, good);
	else
		tgt_xfer_h2c_done(req, good);
}

/* Whatever keeps the next event from being taken, if it is still so. */
static bool blocked(struct tgt_assoc *a)
{
	if (a->state == TGT_ASSOC_DEAD)
		return true;
	if (a->capsule_waits)
		return !tgt_xfer_retry_capsule(a);
	if (a->wants_req) {
		if (pool_used(&a->pool) == a->pool.count)
			return true;
		on_capsule(a);
		return a->state == TGT_ASSOC_DEAD || a->capsule_waits || a->wants_req;
	}
	return false;
}

void tgt_assoc_process(struct tgt_assoc *a)
{
	int budget = TGT_ASSOC_BUDGET;

	a->more_input = false;
	while (!blocked(a)) {
		enum tcp_rx_event ev;

		if (budget-- == 0) {
			a->more_input = true;
			break;
		}
		ev = tcp_rx_next(&a->rx);
		if (ev == TCP_RX_NEED_MORE)
			break;
		if (ev == TCP_RX_PDU)
			on_pdu(a);
		else if (ev == TCP_RX_DATA)
			on_data(a);
		else
			tgt_assoc_fail(a, tcp_rx_error(&a->rx));
	}
	/* How long a PDU takes counts only while it is the host we are waiting for. */
	if (a->capsule_waits || a->wants_req || !tcp_rx_partial(&a->rx))
		a->rx_since = 0;
	else if (a->rx_since == 0)
		a->rx_since = io_now(a->reactor->loop);
}

int tgt_assoc_recv_iov(struct tgt_assoc *a, struct iovec *iov, int max)
{
	if (a->state == TGT_ASSOC_DEAD || a->capsule_waits || a->wants_req || a->more_input)
		return 0;
	return tcp_rx_iov(&a->rx, iov, max, 0);
}

void tgt_assoc_received(struct tgt_assoc *a, size_t n)
{
	if (a->state == TGT_ASSOC_DEAD)
		return;
	atomic_store_explicit(&a->last_traffic, io_now(a->reactor->loop), memory_order_relaxed);
	tcp_rx_received(&a->rx, n);
	tgt_assoc_process(a);
}

int tgt_assoc_send_iov(struct tgt_assoc *a, struct iovec *iov, int max)
{
	int n = tcp_tx_gather(&a->tx, iov, max);

	if (n > 0 && a->tx_since == 0)
		a->tx_since = io_now(a->reactor->loop);
	return n;
}

void tgt_assoc_sent(struct tgt_assoc *a, size_t n)
{
	if (n > 0)
		a->tx_since = 0; /* progress: what is left starts anew when it is gathered */
	tcp_tx_sent(&a->tx, n);
	tgt_lend_take_back(a);
}

/* ---- the end --------------------------------------------------------------------------------- */

void tgt_assoc_kill(struct tgt_assoc *a, enum target_close reason, bool linger)
{
	struct target *t = a->target;

	if (a->state == TGT_ASSOC_DEAD)
		return;
	tgt_assoc_log_end(a, reason);
	tgt_assoc_set_state(a, TGT_ASSOC_DEAD);
	a->reason = (uint8_t)reason;
	a->linger = linger;
	a->linger_since = a->stage_since;
	a->more_input = a->wants_req = false;
	tgt_count(&a->reactor->stats.closed[reason], 1);
	tgt_arena_unwait(&a->waiter);
	if (a->ctrl && a->qid == 0)
		tgt_keep_alive_stop(a->ctrl);
	target_lock(t);
	if (a->ctrl)
		tgt_ctrl_detach(tgt_conn_of(a));
	tgt_abort_refuse_inbox(a);
	target_unlock(t);
	tgt_conn_kick(tgt_conn_of(a));
}

static enum target_close close_of_fes(const struct tcp_error *e)
{
	if (e->reason && strcmp(e->reason, "queue_overrun") == 0)
		return TARGET_CLOSE_QUEUE_OVERRUN;
	switch (e->fes) {
	case TCP_FES_SEQUENCE:
		return TARGET_CLOSE_PDU_SEQUENCE;
	case TCP_FES_HDGST:
		return TARGET_CLOSE_PDU_HDGST;
	case TCP_FES_RANGE:
		return TARGET_CLOSE_PDU_RANGE;
	case TCP_FES_LIMIT:
		return TARGET_CLOSE_PDU_LIMIT;
	case TCP_FES_UNSUPPORTED:
		return TARGET_CLOSE_PDU_UNSUPPORTED;
	default:
		return TARGET_CLOSE_PDU_FIELD;
	}
}

void tgt_assoc_fail(struct tgt_assoc *a, const struct tcp_error *e)
{
	if (a->state == TGT_ASSOC_DEAD)
		return;
	tgt_assoc_log_error(a, e);
	if (e->fes != TCP_FES_NONE) {
		tcp_build_term(&a->term_pdu, TCP_ROLE_CONTROLLER, e);
		a->term_pdu.sent = NULL;
		tcp_tx_push(&a->tx, &a->term_pdu);
	}
	tgt_assoc_kill(a, close_of_fes(e), e->fes != TCP_FES_NONE);
}

static void release_list(struct list *l)
{
	while (!list_empty(l))
		tgt_req_release(list_first_entry(l, struct tgt_req, link));
}

void tgt_assoc_release(struct tgt_assoc *a)
{
	INVARIANT(a->state == TGT_ASSOC_DEAD);
	tcp_tx_drop(&a->tx);
	/* The one whose capsule was arriving is in no list. */
	if (a->landing &&
	    (a->landing->state == TGT_REQ_CAPSULE || a->landing->state == TGT_REQ_BUFFER))
		tgt_req_release(a->landing);
	a->landing = NULL;
	a->capsule_waits = false;
	a->deleting = NULL;
	a->connecting = NULL;
	a->fused_first = NULL;
	a->event_count = 0;
	release_list(&a->waiting_buffer);
	release_list(&a->waiting_data);
	release_list(&a->waiting_fence);
	release_list(&a->fused);
	release_list(&a->parked);
	release_list(&a->events);
}

bool tgt_assoc_drained(const struct tgt_assoc *a)
{
	return a->in_flight == 0;
}

bool tgt_assoc_quiet(const struct tgt_assoc *a)
{
	bool last = true;

	if (!list_empty(&a->in_store) || a->sending > 0 || a->away > 0 || !tcp_tx_empty(&a->tx))
		return false;
	/* The I/O queues would end with their admin queue: it goes last. */
	if (a->ctrl && a->qid == 0) {
		target_lock(a->target);
		last = a->ctrl->io_queues == 0;
		target_unlock(a->target);
	}
	return last;
}
