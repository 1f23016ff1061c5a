/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receiving: the four PDUs of a controller, held against the commands that are in flight. Nothing a
 * controller sends makes this end send memory it was not told to write from, or report data that did
 * not come; what cannot be is an H2CTermReq with the status the standard has for it (NVMe/TCP 1.0,
 * 3.3.2.1, 3.3.2.2).
 */
#include "host/queue.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/check.h"
#include "base/util.h"

/*
 * With large reads in flight, ask for little beyond the present payload: the next one then stays in
 * the socket until its place is known, instead of being staged and copied. Small payloads are
 * cheaper to copy than to receive one by one.
 */
#define LARGE_READ	(32 * 1024)
#define LARGE_READ_HINT 256

static bool receiving(const struct host_queue *q)
{
	return !q->failed && (q->state == HOST_QUEUE_IC || q->state == HOST_QUEUE_CONNECT ||
			      q->state == HOST_QUEUE_UP);
}

static void broken(struct host_queue *q, uint16_t fes, size_t fei, const char *reason)
{
	tcp_rx_fail(&q->rx, fes, (uint32_t)fei, reason);
}

static void touch(struct host_req *r)
{
	if (r->first_ns == 0)
		r->first_ns = io_now(r->q->loop);
}

/* The last word on a command; what it is worth is its owner's to judge. */
static void answered(struct host_req *r)
{
	struct host_queue *q = r->q;

	r->answered = true;
	r->last_ns = io_now(q->loop);
	q->counts->completions++;
	host_req_settle(r);
}

/* ---- CapsuleResp --------------------------------------------------------------------------- */

static void on_rsp(struct host_queue *q, const struct tcp_rsp *rsp)
{
	struct host_req *r = host_queue_find(q, nvme_cpl_cid(&rsp->cqe));

	if (!r) {
		broken(q, TCP_FES_HDR_FIELD,
		       offsetof(struct tcp_rsp, cqe) + offsetof(struct nvme_cpl, cid), "rsp_cid");
		return;
	}
	touch(r);
	r->cpl = rsp->cqe;
	answered(r);
}

/* ---- C2HData ------------------------------------------------------------------------------- */

/* Whether this data may come now; tells the receiver why not. */
static bool c2h_allowed(struct host_queue *q, const struct host_req *r, const struct tcp_data *d)
{
	uint32_t datao = le32_to_cpu(d->datao);

	if (!r)
		broken(q, TCP_FES_HDR_FIELD, offsetof(struct tcp_data, cccid), "c2h_cccid");
	else if (r->dir != NVME_DIR_TO_HOST)
		broken(q, TCP_FES_SEQUENCE, 0, "c2h_for_no_read");
	else if (r->last_seen)
		broken(q, TCP_FES_SEQUENCE, 0, "c2h_after_last");
	else if ((d->ch.flags & TCP_PDU_SUCCESS) && q->p.config->sqflow)
		broken(q, TCP_FES_HDR_FIELD, offsetof(struct tcp_ch, flags), "c2h_success_sqflow");
	else if (!range_within(datao, le32_to_cpu(d->datal), r->bytes))
		broken(q, TCP_FES_RANGE, 0, "c2h_range");
	else if (datao != r->received)
		broken(q, TCP_FES_SEQUENCE, 0, "c2h_not_contiguous");
	else
		return true;
	return false;
}

static void on_c2h(struct host_queue *q, const struct tcp_data *d)
{
	struct host_req *r = host_queue_find(q, le16_to_cpu(d->cccid));
	int n;

	if (!c2h_allowed(q, r, d))
		return;
	touch(r);
	n = host_iov_slice(r->iov, r->niov, r->received, le32_to_cpu(d->datal), q->land);
	q->landing = r;
	tcp_rx_land(&q->rx, q->land, n);
}

/* A payload is complete. LAST and SUCCESS are two things (I014). */
static void on_payload(struct host_queue *q)
{
	const struct tcp_data *d = &tcp_rx_pdu(&q->rx)->data;
	struct host_req *r = q->landing;
	uint32_t n = tcp_rx_data_len(&q->rx);

	q->landing = NULL;
	r->received += n;
	q->read_bytes -= n;
	if (!tcp_rx_ddgst_ok(&q->rx)) {
		/* Not fatal: the command goes on, and fails in the end (3.5). */
		r->ddgst_bad = true;
		q->counts->ddgst_errors++;
	}
	if (d->ch.flags & TCP_PDU_LAST)
		r->last_seen = true;
	if (d->ch.flags & TCP_PDU_SUCCESS) {
		r->cpl = nvme_cpl(le16_to_cpu(r->sqe.cid), 0, nvme_status_success(), 0);
		answered(r);
	}
}

/* ---- R2T ----------------------------------------------------------------------------------- */

/*
 * May this R2T come while the data of the one before is on its way? Only when all of that was given
 * to the stream: then the controller may well have it although we have not heard so (Z007).
 */
static bool r2t_may_wait(const struct host_queue *q, const struct host_req *r)
{
	return r->now.length == 0 && r->next.length == 0 && q->flushes >= r->h2c_flush;
}

static bool r2t_allowed(struct host_queue *q, const struct host_req *r, const struct tcp_r2t *t)
{
	uint32_t r2to = le32_to_cpu(t->r2to);
	uint32_t r2tl = le32_to_cpu(t->r2tl);

	if (!r)
		broken(q, TCP_FES_HDR_FIELD, offsetof(struct tcp_r2t, cccid), "r2t_cccid");
	else if (r->dir != NVME_DIR_TO_CONTROLLER || r->bytes == 0 || r->in_capsule)
		broken(q, TCP_FES_SEQUENCE, 0, "r2t_for_no_write");
	else if (r2tl == 0)
		broken(q, TCP_FES_HDR_FIELD, offsetof(struct tcp_r2t, r2tl), "r2t_of_nothing");
	else if (!range_within(r2to, r2tl, r->bytes))
		broken(q, TCP_FES_RANGE, 0, "r2t_range");
	else if ((r->h2c.queued || r->now.length > 0) && !r2t_may_wait(q, r))
		broken(q, TCP_FES_LIMIT, 0, "r2t_limit");
	else if (r2to != r->solicited)
		broken(q, TCP_FES_SEQUENCE, 0, "r2t_not_contiguous");
	else
		return true;
	return false;
}

static void on_r2t(struct host_queue *q, const struct tcp_r2t *t)
{
	struct host_req *r = host_queue_find(q, le16_to_cpu(t->cccid));
	struct host_r2t r2t = { .ttag = le16_to_cpu(t->ttag),
				.offset = le32_to_cpu(t->r2to),
				.length = le32_to_cpu(t->r2tl) };

	if (!r2t_allowed(q, r, t))
		return;
	touch(r);
	r->solicited += r2t.length;
	if (r->h2c.queued) {
		r->next = r2t;
	} else {
		r->now = r2t;
		host_req_send_data(r);
	}
}

/* ---- all ----------------------------------------------------------------------------------- */

static void on_term(struct host_queue *q, const struct tcp_term *t)
{
	le32 fei;

	memcpy(&fei, t->fei, sizeof(fei));
	q->counts->term_received++;
	host_queue_fail(q, ECONNABORTED, "the controller ended the connection: %s (%u)",
			tcp_fes_name(le16_to_cpu(t->fes)), le32_to_cpu(fei));
}

static void on_pdu(struct host_queue *q)
{
	const union tcp_pdu *pdu = tcp_rx_pdu(&q->rx);

	switch (pdu->ch.type) {
	case TCP_PDU_C2H_DATA:
		on_c2h(q, &pdu->data);
		break;
	case TCP_PDU_RSP:
		on_rsp(q, &pdu->rsp);
		break;
	case TCP_PDU_R2T:
		on_r2t(q, &pdu->r2t);
		break;
	case TCP_PDU_ICRESP:
		host_queue_on_icresp(q, &pdu->icresp);
		break;
	case TCP_PDU_C2H_TERM:
		on_term(q, &pdu->term);
		break;
	default:
		INVARIANT(false); /* the receiver lets nothing else through to a host */
	}
}

void host_queue_drain(struct host_queue *q)
{
	while (receiving(q)) {
		switch (tcp_rx_next(&q->rx)) {
		case TCP_RX_NEED_MORE:
			return;
		case TCP_RX_PDU:
			on_pdu(q);
			break;
		case TCP_RX_DATA:
			on_payload(q);
			break;
		case TCP_RX_ERROR:
			host_queue_protocol_error(q);
			return;
		}
	}
}

static size_t hint(const struct host_queue *q)
{
	return q->reads > 0 && q->read_bytes / q->reads >= LARGE_READ ? LARGE_READ_HINT : 0;
}

void host_queue_receive(struct host_queue *q)
{
	int n = tcp_rx_iov(&q->rx, q->recv_iov, ARRAY_SIZE(q->recv_iov), hint(q));

	io_stream_recv(q->stream, &q->recv_op, q->recv_iov, n);
}

/* Into staging: no memory of requests is touched. */
void host_queue_receive_junk(struct host_queue *q)
{
	q->recv_iov[0] = (struct iovec){ .iov_base = q->stage, .iov_len = q->stage_size };
	io_stream_recv(q->stream, &q->recv_op, q->recv_iov, 1);
}

static void on_received(struct io_op *op)
{
	struct host_queue *q = container_of(op, struct host_queue, recv_op);

	if (host_queue_op_done(q))
		return;
	if (q->state == HOST_QUEUE_TERM) {
		if (op->result > 0)
			host_queue_receive_junk(q);
		else
			host_queue_close_term(q);
		return;
	}
	if (!receiving(q))
		return;
	if (op->result <= 0) {
		int error = op->result == 0 ? ECONNRESET : (int)-op->result;

		host_queue_fail(q, error, "%s",
				op->result == 0 ? "the controller closed the connection"
						: strerror(error));
		return;
	}
	tcp_rx_received(&q->rx, (size_t)op->result);
	host_queue_drain(q);
	if (receiving(q))
		host_queue_receive(q);
}

void host_queue_rx_init(struct host_queue *q)
{
	io_op_init(&q->recv_op, on_received);
}
