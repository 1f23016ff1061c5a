/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a queue comes up: the TCP connection, ICReq and ICResp, the Connect command (NVMe/TCP 1.0,
 * 3.1; NVMe Base 2.0, 6.3). Each phase has a time limit of its own that begins with the phase (I015).
 */
#include "host/queue.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "base/util.h"

/* One R2T per command at a time; MAXR2T counts from zero. */
#define MAXR2T 0

static void phase(struct host_queue *q, enum host_queue_state state)
{
	q->state = state;
	if (io_timer_start(q->loop, &q->timer, q->p.config->connect_timeout_ns) < 0)
		host_queue_fail(q, ENOMEM, "no memory for a timer");
}

static void on_timer(struct io_timer *t)
{
	struct host_queue *q = container_of(t, struct host_queue, timer);
	char limit[32], addr[IO_ADDR_TEXT];

	format_duration(q->p.config->connect_timeout_ns, limit, sizeof(limit));
	io_addr_format(&q->p.config->addr, addr);
	switch (q->state) {
	case HOST_QUEUE_TCP:
		host_queue_fail(q, ETIMEDOUT, "no TCP connection to %s within %s", addr, limit);
		break;
	case HOST_QUEUE_IC:
		host_queue_fail(q, ETIMEDOUT, "%s accepts connections but sent no ICResp within %s",
				addr, limit);
		break;
	case HOST_QUEUE_CONNECT:
		host_queue_fail(q, ETIMEDOUT, "no answer to Connect within %s", limit);
		break;
	case HOST_QUEUE_TERM:
		host_queue_close_term(q);
		break;
	default:
		break;
	}
}

/* ---- TCP ----------------------------------------------------------------------------------- */

static void begin_ic(struct host_queue *q)
{
	const struct host_config *c = q->p.config;
	/* What belongs to no read is refused by its offsets, not by a limit here. */
	struct tcp_rx_options opts = { .role = TCP_ROLE_HOST, .max_data = UINT32_MAX };

	q->local = *io_stream_local(q->stream);
	tcp_rx_init(&q->rx, &opts, q->stage, q->stage_size);
	tcp_build_icreq(&q->ic, c->hpda, c->hdgst, c->ddgst, MAXR2T);
	tcp_tx_push(&q->tx, &q->ic);
	host_queue_flush_later(q);
	phase(q, HOST_QUEUE_IC);
	host_queue_receive(q);
}

static void on_connected(struct io_op *op)
{
	struct host_queue *q = container_of(op, struct host_queue, connect_op);
	const struct host_config *c = q->p.config;
	struct io_stream_options opts = {
		/* A peer that vanished is noticed by unacknowledged data no later than by silence. */
		.user_timeout_ns = c->kato_ns ? c->kato_ns : c->io_timeout_ns,
	};
	char addr[IO_ADDR_TEXT];
	int rc = (int)op->result;

	if (q->state == HOST_QUEUE_CLOSING || q->failed) {
		if (rc == 0)
			io_sock_close(op->sock);
		host_queue_op_done(q);
		return;
	}
	if (rc == 0)
		rc = io_stream_new(q->loop, op->sock, &opts, &q->stream);
	if (rc < 0) {
		io_addr_format(&c->addr, addr);
		host_queue_fail(q, -rc, "connecting to %s: %s", addr, strerror(-rc));
		return;
	}
	begin_ic(q);
}

int host_queue_connect(struct host_queue *q)
{
	const struct host_config *c = q->p.config;
	int rc;

	rc = io_timer_start(q->loop, &q->timer, c->connect_timeout_ns);
	if (rc < 0)
		return rc;
	q->state = HOST_QUEUE_TCP;
	io_connect(q->loop, &q->connect_op, &c->addr, c->local.len ? &c->local : NULL);
	return 0;
}

/* ---- the Connect command ------------------------------------------------------------------- */

static void connect_refused(struct host_queue *q, const struct nvme_cpl *cpl)
{
	struct nvme_status st = nvme_cpl_status(cpl);
	uint32_t dw0 = nvme_cpl_dw0(cpl);
	int error = -nvme_status_to_errno_fabrics(st);
	bool parameter = nvme_status_is(st, (enum nvme_sc)NVME_SC_CONNECT_INVALID_PARAM);

	/* The two that are the user's to mend, in the user's words. */
	if (parameter && dw0 == NVME_CONNECT_INVALID_DATA(subnqn))
		host_queue_fail(q, error,
				"Connect refused: %s: there is no subsystem %s at this address ('penstock discover' "
				"lists those there are)",
				nvme_status_name_fabrics(st), q->p.config->subnqn);
	else if (nvme_status_is(st, (enum nvme_sc)NVME_SC_CONNECT_INVALID_HOST))
		host_queue_fail(q, error, "Connect refused: %s: the target does not let the host %s in",
				nvme_status_name_fabrics(st), q->p.config->hostnqn);
	else if (parameter)
		host_queue_fail(q, error, "Connect refused: %s: byte %u of the %s",
				nvme_status_name_fabrics(st), dw0 & 0xffff,
				dw0 & 1u << 16 ? "data" : "command");
	else
		host_queue_fail(q, error, "Connect refused: %s", nvme_status_name_fabrics(st));
}

static void on_connect(struct host_req *r, enum host_req_end end)
{
	struct host_queue *q = r->q;
	uint32_t dw0 = nvme_cpl_dw0(&r->cpl);

	if (end == HOST_REQ_LOST || q->failed)
		return;
	if (!nvme_status_ok(nvme_cpl_status(&r->cpl))) {
		connect_refused(q, &r->cpl);
		return;
	}
	if (dw0 & (NVME_CONNECT_AUTHREQ_ATR | NVME_CONNECT_AUTHREQ_ASCR)) {
		host_queue_fail(q, ENOKEY, "the controller requires authentication");
		return;
	}
	q->connect_cntlid = nvme_connect_dw0_cntlid(dw0);
	if (q->p.qid != 0 && q->connect_cntlid != q->p.cntlid) {
		host_queue_fail(q, EPROTO, "queue %u was connected to controller %u, not %u",
				q->p.qid, q->connect_cntlid, q->p.cntlid);
		return;
	}
	io_timer_stop(q->loop, &q->timer);
	q->state = HOST_QUEUE_UP;
	q->ops->up(q);
}

static void send_connect(struct host_queue *q)
{
	const struct host_config *c = q->p.config;
	struct nvme_connect_data *d = &q->connect_data;
	uint64_t kato_ms = DIV_ROUND_UP(c->kato_ns, UINT64_C(1000000));
	struct host_req *r;

	phase(q, HOST_QUEUE_CONNECT);
	memset(d, 0, sizeof(*d));
	memcpy(d->hostid, c->hostid, sizeof(d->hostid));
	d->cntlid = cpu_to_le16(q->p.cntlid);
	INVARIANT(nvme_nqn_to_field(c->subnqn, d->subnqn) == 0);
	INVARIANT(nvme_nqn_to_field(c->hostnqn, d->hostnqn) == 0);
	q->connect_iov = (struct iovec){ .iov_base = d, .iov_len = sizeof(*d) };

	r = host_queue_get(q);
	INVARIANT(r); /* the first one of an empty queue */
	r->finish = on_connect;
	r->owner = q;
	r->iov = &q->connect_iov;
	r->niov = 1;
	r->bytes = sizeof(*d);
	r->dir = NVME_DIR_TO_CONTROLLER;
	nvme_cmd_init_connect(&r->sqe, q->p.qid, q->p.entries,
			      c->sqflow ? 0 : NVME_CATTR_DISABLE_SQFLOW,
			      q->p.qid == 0 ? (uint32_t)MIN(kato_ms, UINT64_C(0xffffffff)) : 0);
	host_queue_send(q, r);
}

/* ---- ICResp -------------------------------------------------------------------------------- */

void host_queue_on_icresp(struct host_queue *q, const struct tcp_icresp *ic)
{
	const struct host_config *c = q->p.config;

	q->hdgst = ic->dgst & TCP_PDU_HDGST;
	q->ddgst = ic->dgst & TCP_PDU_DDGST;
	/* 3.3.1.1: a digest that was not asked for is a fatal error, one that is refused need not be. */
	if ((q->hdgst && !c->hdgst) || (q->ddgst && !c->ddgst)) {
		tcp_rx_fail(&q->rx, TCP_FES_HDR_FIELD, offsetof(struct tcp_icresp, dgst),
			    "digest_not_asked_for");
		return;
	}
	if ((c->hdgst && !q->hdgst) || (c->ddgst && !q->ddgst)) {
		host_queue_fail(q, EPROTONOSUPPORT, "the controller does without the %s digest",
				c->hdgst && !q->hdgst ? "header" : "data");
		return;
	}
	q->maxh2cdata = le32_to_cpu(ic->maxh2cdata);
	tcp_rx_negotiated(&q->rx, q->hdgst, q->ddgst, c->hpda);
	tcp_tx_negotiated(&q->tx, q->hdgst, q->ddgst, ic->cpda);
	send_connect(q);
}

void host_queue_connect_init(struct host_queue *q)
{
	io_op_init(&q->connect_op, on_connected);
	io_timer_init(&q->timer, on_timer);
}
