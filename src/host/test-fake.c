/* SPDX-License-Identifier: Apache-2.0 */
#include "host/test-fake.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "nvme/feature.h"
#include "nvme/nsdesc.h"
#include "nvme/reg.h"
#include "nvme/text.h"

/* ---- sending ------------------------------------------------------------------------------- */

/* A PDU with its data, from the heap. */
struct fake_pdu {
	struct tcp_tx_pdu pdu;
	struct iovec iov;
	uint8_t data[];
};

static void free_pdu(struct tcp_tx_pdu *pdu)
{
	free(container_of(pdu, struct fake_pdu, pdu));
}

static struct fake_pdu *new_pdu(const void *data, uint32_t len)
{
	struct fake_pdu *p = calloc(1, sizeof(*p) + len);

	INVARIANT(p);
	p->pdu.sent = free_pdu;
	if (len)
		memcpy(p->data, data, len);
	p->iov = (struct iovec){ .iov_base = p->data, .iov_len = len };
	return p;
}

static void push(struct fake_conn *c, struct fake_pdu *p)
{
	if (!c->stream) {
		free(p);
		return;
	}
	tcp_tx_push(&c->tx, &p->pdu);
	io_defer(c->f->loop, &c->flush);
}

static void on_flush(struct io_defer *d)
{
	struct fake_conn *c = container_of(d, struct fake_conn, flush);
	int n;

	if (!c->stream || c->send_op.pending)
		return;
	n = tcp_tx_gather(&c->tx, c->send_iov, IO_MAX_IOV);
	if (n > 0)
		io_stream_send(c->stream, &c->send_op, c->send_iov, n, false);
}

void fake_rsp(struct fake_conn *c, uint16_t cid, struct nvme_status st, uint64_t result)
{
	struct nvme_cpl cpl = nvme_cpl(cid, 0, st, 0);
	struct fake_pdu *p = new_pdu(NULL, 0);

	nvme_cpl_set_u64(&cpl, result);
	tcp_build_rsp(&c->tx, &p->pdu, &cpl);
	push(c, p);
}

static void c2h(struct fake_conn *c, uint16_t cid, uint32_t datao, const void *data, uint32_t len,
		bool last, bool success, bool corrupt)
{
	struct fake_pdu *p = new_pdu(data, len);

	tcp_build_c2h_data(&c->tx, &p->pdu, cid, datao, &p->iov, 1, len, last || success, success);
	/* The builder insists that SUCCESS comes with LAST; a test may not. */
	if (!last)
		p->pdu.head[1] &= (uint8_t)~TCP_PDU_LAST;
	p->pdu.tail[0] ^= corrupt;
	push(c, p);
}

void fake_c2h(struct fake_conn *c, uint16_t cid, uint32_t datao, const void *data, uint32_t len,
	      bool last, bool success)
{
	c2h(c, cid, datao, data, len, last, success, false);
}

void fake_c2h_corrupt(struct fake_conn *c, uint16_t cid, uint32_t datao, const void *data,
		      uint32_t len, bool last, bool success)
{
	c2h(c, cid, datao, data, len, last, success, true);
}

void fake_r2t(struct fake_conn *c, uint16_t cid, uint16_t ttag, uint32_t r2to, uint32_t r2tl)
{
	struct fake_pdu *p = new_pdu(NULL, 0);

	tcp_build_r2t(&c->tx, &p->pdu, cid, ttag, r2to, r2tl);
	push(c, p);
}

void fake_raw(struct fake_conn *c, const void *bytes, uint32_t len)
{
	struct fake_pdu *p = new_pdu(NULL, 0);

	INVARIANT(len <= sizeof(p->pdu.head));
	tcp_build_r2t(&c->tx, &p->pdu, 0, 0, 0, 4);
	memcpy(p->pdu.head, bytes, len);
	p->pdu.head_len = (uint16_t)len;
	push(c, p);
}

/* ---- commands ------------------------------------------------------------------------------ */

static const struct nvme_status success = { 0 };

static void send_data(struct fake_conn *c, const struct nvme_cmd *cmd, const void *data,
		      uint32_t len)
{
	uint16_t cid = nvme_cmd_cid(cmd);
	bool flag = c->f->success && c->qid != 0 &&
		    (c->f->success_unasked ||
		     (c->f->last_io_connect.cattr & NVME_CATTR_DISABLE_SQFLOW));
	uint32_t at = 0;

	while (at < len) {
		uint32_t n = MIN(len - at, c->f->c2h_chunk);
		bool last = at + n == len;

		fake_c2h(c, cid, at, (const uint8_t *)data + at, n, last, last && flag);
		at += n;
	}
	if (!flag)
		fake_rsp(c, cid, success, 0);
}

static void identify(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	struct fake *f = c->f;
	uint32_t nsid = nvme_cmd_nsid(cmd);
	uint8_t page[NVME_IDENTIFY_SIZE] = { 0 };
	struct nvme_ns_list *list = (struct nvme_ns_list *)(void *)page;

	switch (nvme_identify_cns(cmd)) {
	case NVME_CNS_CTRL:
		memcpy(page, &f->id, sizeof(f->id));
		break;
	case NVME_CNS_ACTIVE_NS_LIST:
		for (uint32_t i = 0; i < f->nsids; i++)
			list->nsid[i] = cpu_to_le32(i + 1);
		break;
	case NVME_CNS_NS:
		if (nsid == 0 || nsid > 1024) {
			fake_rsp(c, nvme_cmd_cid(cmd), nvme_status_dnr(NVME_SC_INVALID_NAMESPACE),
				 0);
			return;
		}
		if (nsid <= f->nsids)
			memcpy(page, &f->ns, sizeof(f->ns));
		break;
	case NVME_CNS_NS_DESC_LIST:
		nvme_ns_desc_append(page, 0, NVME_NIDT_UUID, f->uuid);
		break;
	default:
		fake_rsp(c, nvme_cmd_cid(cmd), nvme_status_dnr(NVME_SC_INVALID_FIELD), 0);
		return;
	}
	send_data(c, cmd, page, sizeof(page));
}

static void property(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	const struct nvme_property_cmd *p = nvme_cmd_as_property(cmd);
	struct fake *f = c->f;
	struct nvme_cpl cpl = nvme_cpl(nvme_cmd_cid(cmd), 0, success, 0);
	struct nvme_cap cap = { .max_entries = f->mqes, .cqr = true, .to = 2,
				.css = NVME_CAP_CSS_NVM };
	struct fake_pdu *pdu = new_pdu(NULL, 0);
	uint32_t ofst = le32_to_cpu(p->ofst);

	if (nvme_cmd_is_fabrics(cmd, NVME_FABRICS_PROPERTY_SET)) {
		f->shn = nvme_cc_decode((uint32_t)le64_to_cpu(p->value)).shn;
		f->shutdowns += f->shn != 0;
	} else if (ofst == NVME_REG_CAP) {
		nvme_cpl_set_u64(&cpl, nvme_cap_encode(cap));
	} else if (ofst == NVME_REG_VS) {
		cpl.cdw0 = cpu_to_le32(NVME_VS_2_0);
	} else if (ofst == NVME_REG_CSTS) {
		cpl.cdw0 = cpu_to_le32((f->not_ready ? 0 : NVME_CSTS_RDY) |
				       (f->shn ? NVME_CSTS_SHST_COMPLETE : 0));
		f->not_ready -= f->not_ready > 0;
	}
	tcp_build_rsp(&c->tx, &pdu->pdu, &cpl);
	push(c, pdu);
}

static void fabrics(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	struct fake *f = c->f;

	switch (nvme_cmd_fctype(cmd)) {
	case NVME_FABRICS_CONNECT:
		c->qid = le16_to_cpu(nvme_cmd_as_connect(cmd)->qid);
		memcpy(c->qid ? &f->last_io_connect : &f->last_connect, cmd, sizeof(*cmd));
		c->connected = true;
		f->connects += c->qid == 0;
		if (c->qid == 0)
			f->shn = 0;
		fake_rsp(c, nvme_cmd_cid(cmd), success, le16_to_cpu(f->id.cntlid));
		break;
	case NVME_FABRICS_DISCONNECT:
		f->disconnects++;
		fake_rsp(c, nvme_cmd_cid(cmd), success, 0);
		break;
	default:
		property(c, cmd);
	}
}

static void features(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	struct nvme_queue_counts n = { c->f->granted, c->f->granted };
	uint32_t dw0 = 0;

	if (nvme_feature_fid(cmd) == NVME_FID_NUMBER_OF_QUEUES)
		dw0 = nvme_queue_counts_encode(n);
	else if (nvme_feature_fid(cmd) == NVME_FID_ASYNC_EVENT_CONFIG)
		c->f->aec = nvme_feature_dw11(cmd);
	fake_rsp(c, nvme_cmd_cid(cmd), success, dw0);
}

static void admin(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	static const uint8_t zeroes[NVME_IDENTIFY_SIZE];
	struct fake *f = c->f;
	uint16_t cid = nvme_cmd_cid(cmd);

	switch (cmd->opc) {
	case NVME_ADMIN_IDENTIFY:
		identify(c, cmd);
		break;
	case NVME_ADMIN_SET_FEATURES:
		features(c, cmd);
		break;
	case NVME_ADMIN_ASYNC_EVENT_REQUEST:
		f->aers++;
		f->aer_conn = c;
		f->aer_cid = cid;
		break;
	case NVME_ADMIN_KEEP_ALIVE:
		f->keep_alives++;
		fake_rsp(c, cid, success, 0);
		break;
	case NVME_ADMIN_GET_LOG_PAGE:
		send_data(c, cmd, zeroes, (uint32_t)MIN(nvme_cmd_get_log(cmd).bytes, sizeof(zeroes)));
		break;
	default:
		fake_rsp(c, cid, nvme_status_dnr(NVME_SC_INVALID_OPCODE), 0);
	}
}

static uint8_t *place(struct fake *f, const struct nvme_cmd *cmd)
{
	return f->disk + nvme_cmd_slba(cmd) * FAKE_BLOCK;
}

static void await_data(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	for (uint16_t i = 0; i < FAKE_WRITES; i++) {
		if (c->writes[i].used)
			continue;
		c->writes[i] = (struct fake_write){ .used = true, .cmd = *cmd };
		fake_r2t(c, nvme_cmd_cid(cmd), (uint16_t)(FAKE_TTAG + i), 0,
			 MIN(nvme_cmd_sgl_len(cmd), c->f->r2t_chunk));
		return;
	}
	INVARIANT(false);
}

static void io(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	struct fake *f = c->f;
	uint16_t cid = nvme_cmd_cid(cmd);

	switch (cmd->opc) {
	case NVME_NVM_READ:
		f->reads++;
		send_data(c, cmd, place(f, cmd), nvme_cmd_sgl_len(cmd));
		break;
	case NVME_NVM_WRITE:
		f->writes++;
		if (cmd->sgl.id == NVME_SGL_ID_TRANSPORT) {
			await_data(c, cmd);
			break;
		}
		memcpy(place(f, cmd), c->payload, nvme_cmd_sgl_len(cmd));
		fake_rsp(c, cid, success, 0);
		break;
	case NVME_NVM_WRITE_ZEROES:
		memset(place(f, cmd), 0, nvme_cmd_nlb(cmd) * FAKE_BLOCK);
		fake_rsp(c, cid, success, 0);
		break;
	default:
		fake_rsp(c, cid, success, 0);
	}
}

void fake_execute(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	if (cmd->opc == NVME_OPC_FABRICS)
		fabrics(c, cmd);
	else if (c->qid == 0)
		admin(c, cmd);
	else
		io(c, cmd);
}

void fake_event(struct fake *f, uint32_t dw0)
{
	struct fake_conn *c = f->aer_conn;

	INVARIANT(c);
	f->aer_conn = NULL;
	fake_rsp(c, f->aer_cid, success, dw0);
}

/* ---- receiving ----------------------------------------------------------------------------- */

static void command(struct fake_conn *c)
{
	c->f->commands++;
	if (!c->f->hook || !c->f->hook(c, &tcp_rx_pdu(&c->rx)->cmd.sqe))
		fake_execute(c, &tcp_rx_pdu(&c->rx)->cmd.sqe);
}

static void icreq(struct fake_conn *c, const struct tcp_icreq *ic)
{
	struct fake *f = c->f;
	uint8_t dgst = (ic->dgst & f->dgst) | f->dgst_forced;
	struct fake_pdu *p = new_pdu(NULL, 0);

	c->maxr2t = le32_to_cpu(ic->maxr2t);
	tcp_build_icresp(&p->pdu, f->cpda, dgst & 1, dgst & 2, f->maxh2cdata);
	push(c, p);
	tcp_rx_negotiated(&c->rx, dgst & 1, dgst & 2, f->cpda);
	tcp_tx_negotiated(&c->tx, dgst & 1, dgst & 2, ic->hpda);
}

static void h2c_data(struct fake_conn *c)
{
	const struct tcp_data *d = &tcp_rx_pdu(&c->rx)->data;
	uint32_t n = tcp_rx_data_len(&c->rx);
	uint16_t i = (uint16_t)(le16_to_cpu(d->ttag) - FAKE_TTAG);
	struct fake_write *w = i < FAKE_WRITES ? &c->writes[i] : NULL;
	struct fake *f = c->f;

	f->h2c_max = MAX(f->h2c_max, n);
	if (!w || !w->used || le16_to_cpu(d->cccid) != nvme_cmd_cid(&w->cmd) ||
	    le32_to_cpu(d->datao) != w->received) {
		f->r2t_oversent++;
		return;
	}
	memcpy(place(f, &w->cmd) + w->received, c->payload, n);
	w->received += n;
	if (w->received == nvme_cmd_sgl_len(&w->cmd)) {
		w->used = false;
		fake_rsp(c, nvme_cmd_cid(&w->cmd), success, 0);
	} else if (d->ch.flags & TCP_PDU_LAST) {
		fake_r2t(c, nvme_cmd_cid(&w->cmd), le16_to_cpu(d->ttag), w->received,
			 MIN(nvme_cmd_sgl_len(&w->cmd) - w->received, f->r2t_chunk));
	}
}

static void on_data(struct fake_conn *c)
{
	uint8_t type = tcp_rx_pdu(&c->rx)->ch.type;

	if (type == TCP_PDU_CMD)
		command(c);
	else if (type == TCP_PDU_H2C_DATA)
		h2c_data(c);
}

static void on_pdu(struct fake_conn *c)
{
	const union tcp_pdu *pdu = tcp_rx_pdu(&c->rx);
	uint32_t len = tcp_rx_data_len(&c->rx);
	le32 fei;

	if (len) {
		c->land = (struct iovec){ .iov_base = c->payload, .iov_len = len };
		tcp_rx_land(&c->rx, &c->land, 1);
	}
	if (pdu->ch.type == TCP_PDU_ICREQ && !c->f->silent) {
		icreq(c, &pdu->icreq);
	} else if (pdu->ch.type == TCP_PDU_H2C_TERM) {
		c->f->terms++;
		c->f->term_fes = le16_to_cpu(pdu->term.fes);
		memcpy(&fei, pdu->term.fei, 4);
		c->f->term_fei = le32_to_cpu(fei);
	} else if (pdu->ch.type == TCP_PDU_CMD && !len) {
		command(c);
	}
}

static void receive(struct fake_conn *c)
{
	int n = tcp_rx_iov(&c->rx, c->recv_iov, ARRAY_SIZE(c->recv_iov), 0);

	io_stream_recv(c->stream, &c->recv_op, c->recv_iov, n);
}

static void maybe_gone(struct fake_conn *c)
{
	if (c->closing && !c->recv_op.pending && !c->send_op.pending)
		io_defer(c->f->loop, &c->gone);
}

static void on_gone(struct io_defer *d)
{
	struct fake_conn *c = container_of(d, struct fake_conn, gone);

	if (c->recv_op.pending || c->send_op.pending)
		return;
	tcp_tx_drop(&c->tx);
	io_defer_cancel(&c->flush);
	list_del(&c->link);
	free(c);
}

void fake_close(struct fake_conn *c, bool reset)
{
	if (c->closing)
		return;
	if (c->f->aer_conn == c)
		c->f->aer_conn = NULL;
	c->closing = true;
	io_stream_close(c->stream, reset);
	c->stream = NULL;
	maybe_gone(c);
}

static void on_received(struct io_op *op)
{
	struct fake_conn *c = container_of(op, struct fake_conn, recv_op);
	enum tcp_rx_event ev;

	if (c->closing || op->result <= 0) {
		if (c->f->keeps_open && op->result == 0 && !c->closing)
			return; /* the host has to give up by itself */
		fake_close(c, false);
		maybe_gone(c);
		return;
	}
	tcp_rx_received(&c->rx, (size_t)op->result);
	while (!c->closing && (ev = tcp_rx_next(&c->rx)) != TCP_RX_NEED_MORE) {
		if (ev == TCP_RX_ERROR) {
			c->f->r2t_oversent++; /* this host does not send such things */
			fake_close(c, true);
			return;
		}
		if (c->deaf) {
			if (ev == TCP_RX_PDU && tcp_rx_data_len(&c->rx))
				tcp_rx_discard(&c->rx);
			continue;
		}
		if (ev == TCP_RX_PDU)
			on_pdu(c);
		else
			on_data(c);
	}
	if (!c->closing)
		receive(c);
}

static void on_sent(struct io_op *op)
{
	struct fake_conn *c = container_of(op, struct fake_conn, send_op);

	if (c->closing || op->result < 0) {
		maybe_gone(c);
		return;
	}
	tcp_tx_sent(&c->tx, (size_t)op->result);
	if (!tcp_tx_empty(&c->tx))
		io_defer(c->f->loop, &c->flush);
}

static void on_accepted(struct io_op *op)
{
	struct tcp_rx_options opts = { .role = TCP_ROLE_CONTROLLER, .max_data = 1 << 17,
				       .max_icd = 1 << 17 };
	struct io_stream_options so = { 0 };
	struct fake *f = container_of(op, struct fake, accept_op);
	struct fake_conn *c;

	if (op->result < 0) {
		/* Cancelled by fake_stop(); fake_start() may have been called meanwhile. */
		if (f->listener)
			io_accept(f->listener, &f->accept_op);
		return;
	}
	c = calloc(1, sizeof(*c));
	INVARIANT(c);
	c->f = f;
	f->accepted++;
	io_op_init(&c->recv_op, on_received);
	io_op_init(&c->send_op, on_sent);
	io_defer_init(&c->flush, on_flush);
	io_defer_init(&c->gone, on_gone);
	tcp_rx_init(&c->rx, &opts, c->stage, sizeof(c->stage));
	tcp_tx_init(&c->tx);
	list_add_tail(&f->conns, &c->link);
	INVARIANT(io_stream_new(f->loop, op->sock, &so, &c->stream) == 0);
	receive(c);
	io_accept(f->listener, &f->accept_op);
}

/* ---- the world ----------------------------------------------------------------------------- */

void fake_start(struct fake *f)
{
	struct io_listen_options lo = { 0 };

	INVARIANT(io_listen(f->loop, &f->addr, &lo, &f->listener, NULL) == 0);
	if (!f->accept_op.pending)
		io_accept(f->listener, &f->accept_op);
}

void fake_stop(struct fake *f)
{
	struct fake_conn *c, *next;

	if (f->listener)
		io_listener_close(f->listener);
	f->listener = NULL;
	list_for_each_entry_safe (c, next, &f->conns, link)
		fake_close(c, true);
}

void fake_init(struct fake *f, uint64_t seed)
{
	struct sim_config calm;

	*f = (struct fake){
		.maxh2cdata = 65536, .mqes = 128, .granted = 16, .dgst = 3, .c2h_chunk = 65536,
		.r2t_chunk = 65536, .success = true, .nsids = 1, .uuid = { 1, 2, 3 },
	};
	sim_config_calm(&calm);
	f->sim = sim_new(seed, &calm);
	f->node = sim_node_new(f->sim, "target");
	f->host_node = sim_node_new(f->sim, "host");
	f->loop = sim_loop_new(f->node);
	f->host_loop = sim_loop_new(f->host_node);
	f->disk = calloc(FAKE_BLOCKS, FAKE_BLOCK);
	INVARIANT(f->disk);
	list_init(&f->conns);
	io_op_init(&f->accept_op, on_accepted);
	sim_node_addr(f->node, FAKE_PORT, &f->addr);

	f->id.cntlid = cpu_to_le16(9);
	f->id.cntrltype = NVME_CNTRLTYPE_IO;
	f->id.mdts = 5; /* 128 KiB */
	f->id.kas = cpu_to_le16(10);
	f->id.oaes = cpu_to_le32(NVME_AEC_NS_ATTRIBUTE);
	f->id.maxcmd = cpu_to_le16(128);
	f->id.ioccsz = cpu_to_le32(4 + 4096 / 16);
	f->id.sgls = cpu_to_le32(NVME_SGLS_ANY_ALIGNMENT | NVME_SGLS_OFFSET | NVME_SGLS_TRANSPORT);
	f->id.oncs = cpu_to_le16(NVME_ONCS_COMPARE | NVME_ONCS_DATASET_MGMT |
				 NVME_ONCS_WRITE_ZEROES);
	f->id.ofcs = cpu_to_le16(NVME_OFCS_DISCONNECT);
	nvme_text_encode(f->id.sn, sizeof(f->id.sn), "FAKE");
	f->ns.nsze = cpu_to_le64(FAKE_BLOCKS);
	f->ns.ncap = cpu_to_le64(FAKE_BLOCKS);
	f->ns.lbaf[0].lbads = 9;
	fake_start(f);
}

static bool all_gone(void *arg)
{
	struct fake *f = arg;

	return list_empty(&f->conns) && !f->accept_op.pending;
}

void fake_deinit(struct fake *f)
{
	fake_stop(f);
	INVARIANT(sim_run_until(f->sim, all_gone, f, 60 * FAKE_S) == 0);
	io_loop_free(f->loop);
	io_loop_free(f->host_loop);
	sim_free(f->sim);
	free(f->disk);
}

void fake_config(const struct fake *f, struct host_config *c)
{
	host_config_init(c);
	c->addr = f->addr;
	c->subnqn = FAKE_NQN;
	c->hostnqn = FAKE_HOST;
	c->hostid[0] = 1;
	c->depth = 16;
	c->kato_ns = 1 * FAKE_S;
	c->connect_timeout_ns = 1 * FAKE_S;
	c->admin_timeout_ns = 2 * FAKE_S;
	c->io_timeout_ns = 2 * FAKE_S;
	c->reconnect_min_ns = 10 * FAKE_MS;
	c->reconnect_max_ns = 500 * FAKE_MS;
	c->loss_timeout_ns = 10 * FAKE_S;
	c->shutdown_timeout_ns = 1 * FAKE_S;
}
