/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving a command's data. A command takes memory for all of its data at once or waits with none,
 * so two commands never hold half of what each needs. One R2T asks for all of it, which respects
 * any MAXR2T.
 *
 * Waiting must not block what would end the wait. A command that waits for memory therefore waits
 * in a list while its socket goes on being read, since the H2CData behind it may be what frees
 * memory. Only data in a capsule has to go somewhere before anything behind it can be read. For
 * that each connection has one buffer of its own: when the arena is empty, the capsule lands there,
 * its command goes to the store without needing the socket again, and the buffer is free for the
 * next one. Progress is slow then, but it is progress.
 *
 * What lies in memory needs none of this: a Read sends the store's own memory (lend.h), and a Write
 * whose data came whole with its capsule takes it from where it was received.
 */
#include "target/xfer.h"

#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "target/assoc.h"
#include "target/conn.h"
#include "target/core.h"
#include "target/fence.h"
#include "target/fused.h"

/* ---- memory ---------------------------------------------------------------------------------- */

static enum tgt_arena_result get_buffer(struct tgt_req *req, uint32_t bytes)
{
	struct tgt_assoc *a = req->assoc;

	if (req == &a->first && bytes <= sizeof(a->connect_data)) {
		tgt_buf_lent(&req->buf, a->connect_data, bytes);
		return TGT_ARENA_OK;
	}
	return tgt_arena_get(&a->reactor->arena, &a->arena, bytes, req->control, &req->buf);
}

/* For data in a capsule only, which cannot wait in a list. */
static bool get_reserve(struct tgt_req *req, uint32_t bytes)
{
	struct tgt_assoc *a = req->assoc;

	if (a->reserve_used || bytes > a->reserve_bytes)
		return false;
	a->reserve_used = req->reserve = true;
	tgt_buf_lent(&req->buf, a->reserve, bytes);
	return true;
}

void tgt_xfer_put_buffer(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;

	if (req->reserve) {
		req->reserve = a->reserve_used = false;
		/* The capsule that waits for it can have it now. */
		if (a->capsule_waits)
			tgt_conn_kick(tgt_conn_of(a));
	}
	tgt_arena_put(&a->reactor->arena, &a->arena, &req->buf);
}

static void wait_for_buffer(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;

	tgt_req_set_state(req, TGT_REQ_BUFFER);
	tgt_arena_wait(&a->reactor->arena, &a->waiter);
}

/* The vectors of @buf from @offset on, @len bytes of them; returns how many. */
static int slice(const struct tgt_buf *buf, size_t offset, size_t len, struct iovec *out)
{
	int n = 0;

	for (int i = 0; i < buf->niov && len > 0; i++) {
		const struct iovec *v = &buf->iov[i];

		if (offset >= v->iov_len) {
			offset -= v->iov_len;
			continue;
		}
		out[n].iov_base = (uint8_t *)v->iov_base + offset;
		out[n].iov_len = MIN(v->iov_len - offset, len);
		len -= out[n++].iov_len;
		offset = 0;
	}
	INVARIANT(len == 0);
	return n;
}

/* The buffer that the data of @req goes to, and where in it: a fused operation has one for both. */
static struct tgt_buf *buffer_of(struct tgt_req *req, uint32_t *ret_offset)
{
	bool second = req->fuse == NVME_FUSE_SECOND;

	*ret_offset = second ? req->data_len : 0;
	return second ? &req->other->buf : &req->buf;
}

/* Memory for data in a capsule of @bytes; of a fused operation for both commands at once. */
static bool get_for_capsule(struct tgt_req *req, uint32_t bytes)
{
	if (req->fuse) {
		req = req->fuse == NVME_FUSE_SECOND ? req->other : req;
		bytes = 2 * req->data_len;
		if (req->buf.niov > 0)
			return true;
	}
	return get_buffer(req, bytes) == TGT_ARENA_OK || get_reserve(req, bytes);
}

/* ---- data from the host ---------------------------------------------------------------------- */

void tgt_xfer_start_r2t(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;

	INVARIANT(req->tag < a->r2t_slots && !a->r2t_slot[req->tag]);
	req->ttag = (uint16_t)(a->r2t_generation++ << TGT_TTAG_INDEX_BITS | req->tag);
	a->r2t_slot[req->tag] = req;
	tgt_req_set_state(req, TGT_REQ_R2T);
	list_add_tail(&a->waiting_data, &req->link);
	req->data_pdu.sent = NULL;
	tcp_build_r2t(&a->tx, &req->data_pdu, tgt_req_cid(req), req->ttag, 0, req->data_len);
	tcp_tx_push(&a->tx, &req->data_pdu);
	tgt_conn_kick(tgt_conn_of(a));
}

static void land_capsule(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;
	struct tgt_buf *buf;
	uint32_t offset;
	int n;

	tgt_req_set_state(req, TGT_REQ_CAPSULE);
	if (!req->fuse) {
		tcp_rx_land(&a->rx, req->buf.iov, req->buf.niov);
		return;
	}
	buf = buffer_of(req, &offset);
	n = slice(buf, offset, req->data_len, a->land);
	tcp_rx_land(&a->rx, a->land, n);
	if (req->other)
		tgt_fused_start(req->fuse == NVME_FUSE_SECOND ? req->other : req);
}

/* What a command whose data does not come in capsules needs. */
static uint32_t memory_of(const struct tgt_req *req)
{
	return req->fuse ? 2 * req->data_len : req->data_len;
}

/* The request has its memory. */
static void got_buffer(struct tgt_req *req)
{
	if (req->fuse)
		tgt_fused_start(req);
	else if (req->dir == NVME_DIR_TO_CONTROLLER)
		tgt_xfer_start_r2t(req);
	else
		tgt_assoc_ready(req);
}

enum tgt_arena_result tgt_xfer_retry(struct tgt_arena_waiter *w)
{
	struct tgt_assoc *a = container_of(w, struct tgt_assoc, waiter);
	enum tgt_arena_result r = TGT_ARENA_OK;

	while (!list_empty(&a->waiting_buffer)) {
		struct tgt_req *req = list_first_entry(&a->waiting_buffer, struct tgt_req, link);

		r = get_buffer(req, memory_of(req));
		if (r != TGT_ARENA_OK)
			break;
		list_del(&req->link);
		got_buffer(req);
	}
	if (a->capsule_waits)
		tgt_conn_kick(tgt_conn_of(a)); /* it tries when the connection is processed */
	return a->capsule_waits && r == TGT_ARENA_OK ? TGT_ARENA_OVER : r;
}

bool tgt_xfer_retry_capsule(struct tgt_assoc *a)
{
	struct tgt_req *req = a->landing;
	uint32_t bytes = tcp_rx_data_len(&a->rx);

	INVARIANT(a->capsule_waits && req && req->state == TGT_REQ_BUFFER);
	if (!get_for_capsule(req, bytes)) {
		tgt_arena_wait(&a->reactor->arena, &a->waiter);
		return false;
	}
	a->capsule_waits = false;
	land_capsule(req);
	return true;
}

/*
 * Whether the command needs its data no longer than until exec returns: a Write, on its own, into
 * memory, that nothing holds up. Then the data may stay where it was received.
 */
static bool passes_through(const struct tgt_req *req)
{
	return !req->control && req->cmd.opc == NVME_NVM_WRITE &&
	       nvme_cmd_fuse(&req->cmd) == NVME_FUSE_NONE && le64_to_cpu(req->cmd.sgl.addr) == 0 &&
	       store_info(req->ns->store)->in_memory && !tgt_fence_holds(req->assoc);
}

static bool borrow_capsule(struct tgt_req *req, uint32_t capsule)
{
	const void *p = passes_through(req) ? tcp_rx_borrow(&req->assoc->rx) : NULL;

	if (!p)
		return false;
	tgt_req_set_state(req, TGT_REQ_CAPSULE);
	tgt_buf_lent(&req->buf, (void *)(uintptr_t)p, capsule);
	return true;
}

/* Data that is in the capsule; the descriptor's offset and length lie within it. */
void tgt_xfer_begin_capsule(struct tgt_req *req, uint32_t capsule)
{
	struct tgt_assoc *a = req->assoc;

	a->landing = req;
	if (borrow_capsule(req, capsule))
		return;
	if (get_for_capsule(req, capsule)) {
		land_capsule(req);
		return;
	}
	a->capsule_waits = true;
	wait_for_buffer(req);
}

/* Data that travels in PDUs of its own, either way. */
void tgt_xfer_begin_transport(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;

	/* First come, first served: a small command does not overtake a large one for ever. */
	if (list_empty(&a->waiting_buffer) && get_buffer(req, memory_of(req)) == TGT_ARENA_OK) {
		got_buffer(req);
		return;
	}
	wait_for_buffer(req);
	list_add_tail(&a->waiting_buffer, &req->link);
}

/* Which of the two descriptors is it, and is it used as it may be? (Transport 1.0, 3.3.2.2) */
struct nvme_status tgt_xfer_check_sgl(const struct tgt_req *req, uint32_t capsule)
{
	const struct nvme_sgl_desc *sgl = &req->cmd.sgl;
	uint64_t offset = le64_to_cpu(sgl->addr);
	uint32_t limit = req->assoc->target->limits.in_capsule;

	if (sgl->id == NVME_SGL_ID_TRANSPORT)
		return nvme_status_success();
	if (sgl->id != NVME_SGL_ID_IN_CAPSULE)
		return nvme_status_dnr(NVME_SC_SGL_INVALID_TYPE);
	if (req->dir != NVME_DIR_TO_CONTROLLER)
		return nvme_status_dnr(NVME_SC_INVALID_FIELD);
	if (req->control)
		limit = TGT_CONTROL_CAPSULE_DATA;
	if (capsule > limit || offset > capsule || nvme_sgl_len(sgl) > capsule - offset)
		return nvme_status_dnr(NVME_SC_SGL_INVALID_OFFSET);
	return nvme_status_success();
}

bool tgt_xfer_begin(struct tgt_req *req, uint32_t capsule)
{
	struct nvme_status st;

	if (req->dir == NVME_DIR_NONE || req->data_len == 0) {
		tgt_assoc_ready(req);
		return false;
	}
	st = tgt_xfer_check_sgl(req, capsule);
	if (!nvme_status_ok(st)) {
		tgt_req_complete(req, st);
		return false;
	}
	if (req->lends) {
		tgt_assoc_ready(req);
		return false;
	}
	if (req->cmd.sgl.id == NVME_SGL_ID_IN_CAPSULE) {
		tgt_xfer_begin_capsule(req, capsule);
		return true;
	}
	tgt_xfer_begin_transport(req);
	return false;
}

/*
 * The descriptor may name a part of the capsule's data that does not start at its beginning. Nobody
 * does that, so it may cost a move.
 */
static void trim_capsule(struct tgt_req *req)
{
	size_t offset = (size_t)le64_to_cpu(req->cmd.sgl.addr);
	struct iovec from[TGT_BUF_IOV];
	struct tgt_buf *buf = &req->buf;
	size_t at = 0;
	int n;

	if (offset > 0) {
		n = slice(buf, offset, req->data_len, from);
		for (int i = 0; i < n; i++) {
			const uint8_t *src = from[i].iov_base;

			/* Piece by piece downwards: a byte is read before its place is written. */
			for (size_t k = 0; k < from[i].iov_len; k++, at++) {
				struct iovec to;

				slice(buf, at, 1, &to);
				memcpy(to.iov_base, src + k, 1);
			}
		}
	}
	tgt_buf_trim(buf, req->data_len);
}

void tgt_xfer_capsule_done(struct tgt_req *req, bool digest_ok)
{
	if (!req->fuse)
		trim_capsule(req);
	req->xfer = req->data_len;
	req->bad_data = !digest_ok;
	tgt_assoc_ready(req);
}

static bool h2c_wrong(struct tgt_assoc *a, enum tcp_fes fes, size_t fei, const char *reason)
{
	tcp_rx_fail(&a->rx, fes, (uint32_t)fei, reason);
	tgt_assoc_fail(a, tcp_rx_error(&a->rx));
	return false;
}

bool tgt_xfer_h2c(struct tgt_assoc *a)
{
	const struct tcp_data *d = &tcp_rx_pdu(&a->rx)->data;
	uint16_t ttag = le16_to_cpu(d->ttag);
	uint32_t index = ttag & (TGT_QUEUE_DEPTH_MAX - 1);
	uint32_t len = tcp_rx_data_len(&a->rx);
	struct tgt_req *req = index < a->r2t_slots ? a->r2t_slot[index] : NULL;
	uint32_t left, offset;
	struct tgt_buf *buf;
	int n;

	if (!req || req->ttag != ttag)
		return h2c_wrong(a, TCP_FES_HDR_FIELD, offsetof(struct tcp_data, ttag), "h2c_ttag");
	if (le16_to_cpu(d->cccid) != tgt_req_cid(req))
		return h2c_wrong(a, TCP_FES_HDR_FIELD, offsetof(struct tcp_data, cccid),
				 "h2c_cccid");
	left = req->data_len - req->xfer;
	/* Of one R2T the data comes in order and without gaps (3.6.2.8). */
	if (le32_to_cpu(d->datao) != req->xfer)
		return h2c_wrong(a, TCP_FES_RANGE, 0, "h2c_offset");
	if (len > left)
		return h2c_wrong(a, TCP_FES_RANGE, 0, "h2c_length");
	/* An early LAST means that the rest will never come. A missing one is forgiven. */
	if ((d->ch.flags & TCP_PDU_LAST) && len < left)
		return h2c_wrong(a, TCP_FES_HDR_FIELD, offsetof(struct tcp_ch, flags), "h2c_last");
	buf = buffer_of(req, &offset);
	n = slice(buf, offset + req->xfer, len, a->land);
	a->landing = req;
	tcp_rx_land(&a->rx, a->land, n);
	return true;
}

void tgt_xfer_h2c_done(struct tgt_req *req, bool digest_ok)
{
	req->xfer += tcp_rx_data_len(&req->assoc->rx);
	req->bad_data |= !digest_ok;
	if (req->xfer < req->data_len)
		return;
	list_del(&req->link);
	tgt_xfer_forget(req);
	tgt_assoc_ready(req);
}

void tgt_xfer_forget(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;

	if (req->tag < a->r2t_slots && a->r2t_slot[req->tag] == req)
		a->r2t_slot[req->tag] = NULL;
	if (a->landing == req) {
		a->landing = NULL;
		a->capsule_waits = false;
	}
}

/* ---- the answer ------------------------------------------------------------------------------ */

/*
 * SQHD. An entry counts as free again when its command has been answered, not when it was fetched,
 * so a host never has more commands outstanding than we have requests.
 */
static uint16_t next_sqhd(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;

	/*
	 * Connect's answer says whether the host's wish to go without flow control is granted
	 * (6.3).
	 */
	if (!a->sqflow)
		return req == &a->first ? UINT16_MAX : 0;
	if (a->entries == 0)
		return 0;
	a->sqhd = (uint16_t)((a->sqhd + 1u) % a->entries);
	return a->sqhd;
}

static void rsp_sent(struct tcp_tx_pdu *pdu)
{
	tgt_req_release(container_of(pdu, struct tgt_req, rsp_pdu));
}

static void send_rsp(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;
	struct nvme_cpl cpl = nvme_cpl(tgt_req_cid(req), next_sqhd(req), req->status, 0);

	nvme_cpl_set_u64(&cpl, req->result);
	req->rsp_pdu.sent = rsp_sent;
	tcp_build_rsp(&a->tx, &req->rsp_pdu, &cpl);
	tcp_tx_push(&a->tx, &req->rsp_pdu);
}

/*
 * Without flow control the last C2HData may stand for the completion (3.3.2.1), if there is nothing
 * else to say in it.
 */
static bool success_in_data(const struct tgt_req *req)
{
	return !req->assoc->sqflow && req->result == 0;
}

static void data_sent(struct tcp_tx_pdu *pdu);

/* The next C2HData, and the response behind the last one. */
static void send_chunk(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;
	uint32_t offset = req->xfer;
	uint32_t left = req->data_len - offset;
	uint32_t n = req->lends ? tgt_lend_chunk(req, left) : MIN(a->target->limits.c2h_chunk, left);
	int parts = req->lends ? 0 : slice(&req->buf, offset, n, req->part);
	bool last = n == left;

	req->xfer += n;
	req->data_pdu.sent = data_sent;
	tcp_build_c2h_data(&a->tx, &req->data_pdu, tgt_req_cid(req), offset, req->part, parts, n,
			   last, last && success_in_data(req));
	if (req->lends)
		tgt_lend_begin(req);
	tcp_tx_push(&a->tx, &req->data_pdu);
	if (last && !success_in_data(req))
		send_rsp(req);
}

static void data_sent(struct tcp_tx_pdu *pdu)
{
	struct tgt_req *req = container_of(pdu, struct tgt_req, data_pdu);
	struct tgt_assoc *a = req->assoc;

	if (req->lends)
		tgt_lend_done(req);
	if (req->xfer < req->data_len) {
		if (a->state == TGT_ASSOC_DEAD)
			tgt_req_release(req);
		else
			send_chunk(req);
		return;
	}
	tgt_xfer_put_buffer(req);
	if (success_in_data(req))
		tgt_req_release(req);
}

void tgt_xfer_answer(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;

	tgt_req_set_state(req, TGT_REQ_SENDING);
	a->sending++;
	req->xfer = 0;
	if (nvme_status_ok(req->status) && req->dir == NVME_DIR_TO_HOST && req->data_len > 0) {
		send_chunk(req);
	} else {
		tgt_xfer_put_buffer(req);
		send_rsp(req);
	}
	tgt_conn_kick(tgt_conn_of(a));
}
