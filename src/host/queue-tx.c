/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sending: what is queued in a turn goes out in one call at its end. A command whose data does not
 * travel in its capsule is followed by H2CData as the controller asks with R2Ts, one PDU of a
 * command at a time, so that one large write does not keep the other commands waiting.
 */
#include "host/queue.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"

static bool sending(const struct host_queue *q)
{
	return !q->failed && (q->state == HOST_QUEUE_IC || q->state == HOST_QUEUE_CONNECT ||
			      q->state == HOST_QUEUE_UP);
}

/* ---- the stream ---------------------------------------------------------------------------- */

static void on_flush(struct io_defer *d)
{
	struct host_queue *q = container_of(d, struct host_queue, flush);
	int n;

	if (q->send_op.pending || !q->stream)
		return;
	n = tcp_tx_gather(&q->tx, q->send_iov, IO_MAX_IOV);
	if (n == 0)
		return;
	q->flushes++;
	if (q->flush_timed) {
		q->flush_timed = false;
		q->flushed_ns = io_now_precise(q->loop);
	}
	io_stream_send(q->stream, &q->send_op, q->send_iov, n, false);
}

void host_queue_flush_later(struct host_queue *q)
{
	if (!q->send_op.pending)
		io_defer(q->loop, &q->flush);
}

static void on_sent(struct io_op *op)
{
	struct host_queue *q = container_of(op, struct host_queue, send_op);

	if (host_queue_op_done(q))
		return;
	if (op->result < 0) {
		if (q->state == HOST_QUEUE_TERM)
			host_queue_close_term(q);
		else
			host_queue_fail(q, (int)-op->result, "sending: %s",
					strerror((int)-op->result));
		return;
	}
	tcp_tx_sent(&q->tx, (size_t)op->result);
	if (q->state == HOST_QUEUE_TERM)
		host_queue_term_step(q);
	else if (sending(q) && !tcp_tx_empty(&q->tx))
		host_queue_flush_later(q);
}

/* ---- requests ------------------------------------------------------------------------------ */

static void on_capsule_sent(struct tcp_tx_pdu *pdu)
{
	struct host_req *r = container_of(pdu, struct host_req, cmd);

	if (sending(r->q)) {
		r->sent_ns = r->timed ? r->q->flushed_ns : io_now(r->q->loop);
		if (r->in_capsule)
			r->delivered = r->bytes;
	}
	host_req_settle(r);
}

static void on_data_sent(struct tcp_tx_pdu *pdu)
{
	struct host_req *r = container_of(pdu, struct host_req, h2c);

	if (sending(r->q)) {
		r->delivered += pdu->data_len;
		if (r->now.length == 0) {
			r->now = r->next;
			r->next.length = 0;
		}
		/* A command that was answered early needs no more of it. */
		if (r->now.length > 0 && !r->answered)
			host_req_send_data(r);
	}
	host_req_settle(r);
}

void host_req_send_data(struct host_req *r)
{
	struct host_queue *q = r->q;
	uint32_t offset = r->now.offset;
	uint32_t n = MIN(r->now.length, q->maxh2cdata); /* a count of bytes (I007) */
	int niov = host_iov_slice(r->iov, r->niov, offset, n, r->slice);

	r->now.offset += n;
	r->now.length -= n;
	tcp_build_h2c_data(&q->tx, &r->h2c, le16_to_cpu(r->sqe.cid), r->now.ttag, offset, r->slice,
			   niov, n, r->now.length == 0);
	r->h2c.sent = on_data_sent;
	r->h2c_flush = q->flushes + 1;
	tcp_tx_push(&q->tx, &r->h2c);
	host_queue_flush_later(q);
}

void host_queue_send(struct host_queue *q, struct host_req *r)
{
	uint16_t cid = (uint16_t)(r->generation << q->index_bits | r->index);
	bool fabrics = r->sqe.opc == NVME_OPC_FABRICS;
	uint32_t most = fabrics ? HOST_ADMIN_ICD : q->p.max_in_capsule;

	r->sqe.cid = cpu_to_le16(cid);
	r->in_capsule = r->dir == NVME_DIR_TO_CONTROLLER && r->bytes > 0 && r->bytes <= most;
	r->sqe.sgl = r->in_capsule ? nvme_sgl_in_capsule(0, r->bytes) : nvme_sgl_transport(r->bytes);
	r->queued_ns = io_now(q->loop);
	list_add_tail(r->unwatched ? &q->unwatched : &q->inflight, &r->link);
	if (r->dir == NVME_DIR_TO_HOST && r->bytes > 0) {
		q->reads++;
		q->read_bytes += r->bytes;
	}
	tcp_build_cmd(&q->tx, &r->cmd, &r->sqe, r->in_capsule ? r->iov : NULL,
		      r->in_capsule ? r->niov : 0, r->in_capsule ? r->bytes : 0);
	r->cmd.sent = on_capsule_sent;
	tcp_tx_push(&q->tx, &r->cmd);
	q->flush_timed |= r->timed;
	host_queue_flush_later(q);
}

void host_queue_tx_init(struct host_queue *q)
{
	io_op_init(&q->send_op, on_sent);
	io_defer_init(&q->flush, on_flush);
}
