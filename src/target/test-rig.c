/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the target; the idea is in test-rig.h. Memory of the rig itself is plain heap
 * memory, which base/alloc.h does not fail.
 */
#include "target/test-rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/util.h"
#include "target/listener.h"

/* ---- stores ---------------------------------------------------------------------------------- */

static void forward_done(struct store_op *op)
{
	struct store_op *outer = op->inner;

	outer->result = op->result;
	free(op);
	outer->done(outer);
}

/* Hands @op to the memory store below, under an operation of its own. */
static bool forward(struct rig_store *s, struct io_loop *loop, struct store_op *op)
{
	struct store_op *under = calloc(1, sizeof(*under));

	INVARIANT(under);
	under->kind = op->kind;
	under->flags = op->flags;
	under->offset = op->offset;
	under->length = op->length;
	under->iov = op->iov;
	under->niov = op->niov;
	under->done = forward_done;
	under->inner = op;
	if (!store_submit(s->under, loop, under))
		return false;
	op->result = under->result;
	free(under);
	return true;
}

static bool changes(enum store_kind kind)
{
	return kind == STORE_WRITE || kind == STORE_ZERO || kind == STORE_DISCARD ||
	       kind == STORE_COMPARE_WRITE;
}

static bool rig_store_submit(struct store *store, struct io_loop *loop, struct store_op *op)
{
	struct rig_store *s = container_of(store, struct rig_store, store);

	s->count[op->kind]++;
	s->fua += op->flags & STORE_FUA ? 1 : 0;
	s->keep += op->flags & STORE_KEEP ? 1 : 0;
	if (s->hold || (s->hold_writes && changes(op->kind))) {
		list_add_tail(&s->held, &op->link);
		return false;
	}
	if (s->fail) {
		op->result = s->fail;
		return true;
	}
	return forward(s, loop, op);
}

static int rig_store_refresh(struct store *store)
{
	return 0;
}

static void rig_store_free(struct store *store)
{
}

static const struct store_ops rig_store_ops = {
	.name = "rig",
	.submit = rig_store_submit,
	.lend = store_lends_nothing,
	.take_back = store_takes_nothing,
	.refresh = rig_store_refresh,
	.free = rig_store_free,
};

static void late_done(struct io_op *io)
{
	struct store_op *op = container_of(io, struct store_op, io);

	op->done(op);
}

bool rig_store_release_one(struct rig_store *s)
{
	struct store_op *op = list_pop_entry(&s->held, struct store_op, link);

	if (!op)
		return false;
	if (s->fail)
		op->result = s->fail;
	else if (!forward(s, op->loop, op))
		return true;
	/* From the loop's turn, as the contract has it. */
	io_op_init(&op->io, late_done);
	io_complete(op->loop, &op->io, 0);
	return true;
}

void rig_store_release(struct rig_store *s)
{
	s->hold = s->hold_writes = false;
	while (rig_store_release_one(s))
		;
}

static void make_store(struct rig *rig, struct rig_store *s, const char *spec, bool cache)
{
	struct err err;

	list_init(&s->held);
	if (store_open(rig->loop, spec, &s->under, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		INVARIANT(!"a store can be opened");
	}
	s->store.ops = &rig_store_ops;
	s->store.info = s->under->info;
	s->store.info.in_memory = false;
	s->store.info.volatile_cache = cache;
	memset(s->store.info.uuid, cache ? 0xc3 : 0xa1, 16);
}

/* ---- the target ------------------------------------------------------------------------------ */

static void log_sink(void *ctx, enum log_level level, const char *line, size_t n)
{
	struct rig *rig = ctx;

	if (rig->log_len + n >= sizeof(rig->log_text))
		rig->log_len = 0;
	memcpy(rig->log_text + rig->log_len, line, n);
	rig->log_len += n;
	rig->log_text[rig->log_len] = '\0';
}

void rig_init(struct rig *rig)
{
	struct sim_config calm;

	memset(rig, 0, sizeof(*rig));
	sim_config_calm(&calm);
	rig->sim = sim_new(1, &calm);
	rig->node = sim_node_new(rig->sim, "target");
	rig->loop = sim_loop_new(rig->node);
	make_store(rig, &rig->stores[0], "memory:1M,block=512", false);
	make_store(rig, &rig->stores[1], "memory:8M,block=4096", true);
	target_config_init(&rig->config);
	rig->namespaces[0] = (struct target_ns_config){ .nsid = 1, .store = &rig->stores[0].store };
	rig->namespaces[1] = (struct target_ns_config){ .nsid = 3, .store = &rig->stores[1].store };
	rig->namespaces[2] = (struct target_ns_config){ .nsid = 7,
							.store = &rig->stores[0].store,
							.read_only = true };
	rig->hosts[0] = RIG_HOST2;
	rig->subsystems[0] = (struct target_subsys_config){
		.nqn = RIG_NQN,
		.serial = "SERIAL01",
		.allow_any = true,
		.namespaces = rig->namespaces,
		.namespace_count = ARRAY_SIZE(rig->namespaces),
	};
	rig->subsystems[1] = (struct target_subsys_config){
		.nqn = RIG_OTHER,
		.hosts = rig->hosts,
		.host_count = 1,
	};
	rig->config.subsystems = rig->subsystems;
	rig->config.subsystem_count = ARRAY_SIZE(rig->subsystems);
	sim_node_addr(rig->node, 4420, &rig->listeners[0].addr);
	sim_node_addr(rig->node, 4421, &rig->listeners[1].addr);
	rig->config.listeners = rig->listeners;
	rig->config.listener_count = ARRAY_SIZE(rig->listeners);
	rig->config.limits.arena = 16 << 20;
	rig->log = (struct log){ .level = LOG_LEVEL_DEBUG, .sink = log_sink, .ctx = rig };
	rig->config.log = &rig->log;
}

void rig_start(struct rig *rig)
{
	struct err err = ERR_NULL;

	if (target_new_on_loops(&rig->config, &rig->loop, 1, &rig->target, &err) < 0 ||
	    target_start(rig->target, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		INVARIANT(!"a target can be started");
	}
}

static bool drained(void *arg)
{
	return target_drained(arg);
}

void rig_end(struct rig *rig)
{
	if (rig->target) {
		target_drain(rig->target, true);
		for (size_t i = 0; i < ARRAY_SIZE(rig->stores); i++)
			rig_store_release(&rig->stores[i]);
		INVARIANT(sim_run_until(rig->sim, drained, rig->target, 60 * RIG_S) == 0);
		rig->target = target_free(rig->target);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rig->stores); i++)
		store_free(rig->stores[i].under);
	rig->loop = io_loop_free(rig->loop);
	rig->sim = sim_free(rig->sim);
}

void rig_run(struct rig *rig, uint64_t ns)
{
	INVARIANT(sim_run_for(rig->sim, ns) == 0);
}

void rig_take_arena(struct rig *rig)
{
	struct tgt_arena *arena = &rig->target->reactors[0].arena;
	uint32_t bytes = 1 << 20;

	memset(rig->takers, 0, sizeof(rig->takers));
	while (bytes >= TGT_ARENA_PIECE) {
		int i = rig->taken_count;

		INVARIANT(i < RIG_TAKERS);
		if (tgt_arena_get(arena, &rig->takers[i], bytes, true, &rig->taken[i]) ==
		    TGT_ARENA_OK)
			rig->taken_count++;
		else
			bytes /= 2;
	}
	INVARIANT(arena->free <= 1);
}

void rig_give_arena(struct rig *rig)
{
	for (; rig->taken_count > 0; rig->taken_count--) {
		int i = rig->taken_count - 1;

		tgt_arena_put(&rig->target->reactors[0].arena, &rig->takers[i], &rig->taken[i]);
	}
}

uint64_t rig_closed(struct rig *rig, enum target_close reason)
{
	struct target_stats st;

	target_stats(rig->target, &st);
	return st.closed[reason];
}

bool rig_logged(const struct rig *rig, const char *text)
{
	return strstr(rig->log_text, text) != NULL;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void peer_recv(struct peer *p)
{
	if (!p->stream || p->recv_op.pending || p->eof || p->error)
		return;
	if (p->in_at == p->in_len)
		p->in_at = p->in_len = 0;
	p->recv_iov = (struct iovec){ p->in + p->in_len, RIG_PEER_BUFFER - p->in_len };
	if (p->sip)
		p->recv_iov.iov_len = MIN(p->recv_iov.iov_len, p->sip);
	INVARIANT(p->recv_iov.iov_len > 0);
	io_stream_recv(p->stream, &p->recv_op, &p->recv_iov, 1);
}

static void on_recv(struct io_op *op)
{
	struct peer *p = container_of(op, struct peer, recv_op);

	if (op->result > 0)
		p->in_len += (size_t)op->result;
	else if (op->result == 0)
		p->eof = true;
	else
		p->error = (int)op->result;
	peer_recv(p);
}

void peer_sip(struct peer *p, size_t bytes)
{
	p->sip = bytes;
}

static void peer_send(struct peer *p)
{
	if (!p->stream || p->send_op.pending || p->out_at == p->out_len)
		return;
	p->send_iov = (struct iovec){ p->out + p->out_at, p->out_len - p->out_at };
	io_stream_send(p->stream, &p->send_op, &p->send_iov, 1, false);
}

static void on_send(struct io_op *op)
{
	struct peer *p = container_of(op, struct peer, send_op);

	if (op->result < 0) {
		p->error = (int)op->result;
		return;
	}
	p->out_at += (size_t)op->result;
	peer_send(p);
}

void peer_open(struct peer *p, struct rig *rig, int listener)
{
	struct target *t = rig->target;
	struct io_sock *ours, *theirs;

	memset(p, 0, sizeof(*p));
	p->rig = rig;
	p->in = malloc(RIG_PEER_BUFFER);
	p->out = malloc(RIG_PEER_BUFFER);
	p->hostnqn = RIG_HOST;
	p->patience = 100 * RIG_MS;
	memset(p->hostid, 0x11, sizeof(p->hostid));
	tcp_tx_init(&p->tx);
	io_op_init(&p->recv_op, on_recv);
	io_op_init(&p->send_op, on_send);
	INVARIANT(p->in && p->out && io_sock_pair(rig->loop, &ours, &theirs) == 0);
	INVARIANT(io_stream_new(rig->loop, ours, NULL, &p->stream) == 0);
	tgt_accept_sock(t, &t->reactors[0], listener < 0 ? NULL : t->listeners[listener], theirs);
	peer_recv(p);
	rig_run(rig, RIG_MS);
}

void peer_close(struct peer *p)
{
	if (p->stream)
		io_stream_close(p->stream, false);
	p->stream = NULL;
	/* Its operations end in a later turn. */
	while (p->recv_op.pending || p->send_op.pending)
		rig_run(p->rig, RIG_MS);
	free(p->in);
	free(p->out);
	p->in = p->out = NULL;
}

void peer_bytes(struct peer *p, const void *bytes, size_t n)
{
	if (p->out_at == p->out_len && !p->send_op.pending)
		p->out_at = p->out_len = 0;
	INVARIANT(n <= RIG_PEER_BUFFER - p->out_len);
	memcpy(p->out + p->out_len, bytes, n);
	p->out_len += n;
	peer_send(p);
}

static void gather_into(struct tcp_tx *tx, struct peer *p)
{
	struct iovec iov[16];
	int n;

	while ((n = tcp_tx_gather(tx, iov, 16)) > 0) {
		size_t bytes = 0;

		for (int i = 0; i < n; i++) {
			peer_bytes(p, iov[i].iov_base, iov[i].iov_len);
			bytes += iov[i].iov_len;
		}
		tcp_tx_sent(tx, bytes);
	}
}

void peer_pdu(struct peer *p, struct tcp_tx_pdu *pdu)
{
	pdu->sent = NULL;
	tcp_tx_push(&p->tx, pdu);
	gather_into(&p->tx, p);
}

/* ---- PDUs ------------------------------------------------------------------------------------ */

static bool digest_right(const uint8_t *bytes, size_t n)
{
	le32 d;

	memcpy(&d, bytes + n, sizeof(d));
	return le32_to_cpu(d) == crc32c(0, bytes, n);
}

static bool has_data(const struct tcp_ch *ch)
{
	return ch->type == TCP_PDU_C2H_DATA || ch->type == TCP_PDU_C2H_TERM;
}

/* Takes a whole PDU out of what was received. */
static bool take(struct peer *p, union tcp_pdu *ret, void *data, size_t max, uint32_t *ret_len)
{
	const uint8_t *at = p->in + p->in_at;
	size_t have = p->in_len - p->in_at;
	struct tcp_ch ch;
	uint32_t plen, start, len = 0;
	bool hdgst, ddgst;

	if (have < sizeof(ch))
		return false;
	memcpy(&ch, at, sizeof(ch));
	plen = le32_to_cpu(ch.plen);
	if (have < plen)
		return false;
	hdgst = p->hdgst && ch.type != TCP_PDU_ICRESP && ch.type != TCP_PDU_C2H_TERM;
	ddgst = p->ddgst && ch.type == TCP_PDU_C2H_DATA;
	INVARIANT(!hdgst || ((ch.flags & TCP_PDU_HDGST) && digest_right(at, ch.hlen)));
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, at, MIN((size_t)ch.hlen, sizeof(*ret)));
	if (has_data(&ch) && plen > ch.hlen) {
		start = ch.type == TCP_PDU_C2H_TERM ? ch.hlen : ch.pdo;
		len = plen - start - (ddgst ? 4 : 0);
		INVARIANT(!ddgst || ((ch.flags & TCP_PDU_DDGST) && digest_right(at + start, len)));
		INVARIANT(!data || len <= max);
		if (data)
			memcpy(data, at + start, len);
	}
	if (ret_len)
		*ret_len = len;
	p->in_at += plen;
	return true;
}

bool peer_next_in(struct peer *p, uint64_t ns, union tcp_pdu *ret, void *data, size_t max,
		  uint32_t *ret_len)
{
	uint64_t until = sim_now(p->rig->sim) + ns;

	for (;;) {
		if (take(p, ret, data, max, ret_len))
			return true;
		if (sim_now(p->rig->sim) >= until)
			return false;
		rig_run(p->rig, RIG_MS / 4);
	}
}

bool peer_next(struct peer *p, union tcp_pdu *ret, void *data, size_t max, uint32_t *ret_len)
{
	return peer_next_in(p, p->patience, ret, data, max, ret_len);
}

bool peer_ends(struct peer *p, uint64_t ns)
{
	uint64_t until = sim_now(p->rig->sim) + ns;

	while (!p->eof && !p->error && sim_now(p->rig->sim) < until)
		rig_run(p->rig, ns / 1000 + 1);
	return p->eof || p->error;
}

bool peer_terminated(struct peer *p, uint16_t fes, uint32_t fei)
{
	union tcp_pdu pdu;
	le32 got;

	do {
		if (!peer_next(p, &pdu, NULL, 0, NULL))
			return false;
	} while (pdu.ch.type != TCP_PDU_C2H_TERM);
	memcpy(&got, pdu.term.fei, sizeof(got));
	if (le16_to_cpu(pdu.term.fes) != fes || le32_to_cpu(got) != fei) {
		printf("# fes %u fei %u\n", le16_to_cpu(pdu.term.fes), le32_to_cpu(got));
		return false;
	}
	return peer_ends(p, 5 * RIG_S);
}

/* ---- the protocol ---------------------------------------------------------------------------- */

void peer_ic(struct peer *p, uint8_t hpda, bool hdgst, bool ddgst)
{
	struct tcp_tx_pdu pdu = { 0 };
	union tcp_pdu got;

	tcp_build_icreq(&pdu, hpda, hdgst, ddgst, 0);
	peer_pdu(p, &pdu);
	INVARIANT(peer_next(p, &got, NULL, 0, NULL) && got.ch.type == TCP_PDU_ICRESP);
	p->hdgst = got.icresp.dgst & 1;
	p->ddgst = got.icresp.dgst & 2;
	p->maxh2cdata = le32_to_cpu(got.icresp.maxh2cdata);
	tcp_tx_negotiated(&p->tx, p->hdgst, p->ddgst, got.icresp.cpda);
}

uint16_t peer_submit(struct peer *p, struct nvme_cmd *cmd, const void *in_capsule, uint32_t len)
{
	struct iovec iov = { .iov_base = NULL, .iov_len = len };
	struct tcp_tx_pdu pdu = { 0 };

	memcpy(&iov.iov_base, &in_capsule, sizeof(in_capsule));
	cmd->cid = cpu_to_le16(++p->cid);
	tcp_build_cmd(&p->tx, &pdu, cmd, len ? &iov : NULL, len ? 1 : 0, len);
	peer_pdu(p, &pdu);
	return p->cid;
}

static struct nvme_cpl no_answer(void)
{
	return (struct nvme_cpl){ .status = cpu_to_le16(0xffff) };
}

struct nvme_cpl peer_wait(struct peer *p, uint16_t cid)
{
	return peer_finish(p, cid, NULL, 0);
}

static void answer_r2t(struct peer *p, const struct tcp_r2t *r2t, uint8_t *buf)
{
	uint32_t at = le32_to_cpu(r2t->r2to);
	uint32_t left = le32_to_cpu(r2t->r2tl);

	while (left > 0) {
		uint32_t n = MIN(left, p->maxh2cdata);
		struct iovec iov = { buf + at, n };
		struct tcp_tx_pdu pdu = { 0 };

		tcp_build_h2c_data(&p->tx, &pdu, le16_to_cpu(r2t->cccid), le16_to_cpu(r2t->ttag),
				   at, &iov, 1, n, n == left);
		peer_pdu(p, &pdu);
		at += n;
		left -= n;
	}
}

struct nvme_cpl peer_finish(struct peer *p, uint16_t cid, void *buf, uint32_t len)
{
	static uint8_t payload[4 << 20];
	union tcp_pdu pdu;
	uint32_t n;

	while (peer_next(p, &pdu, payload, sizeof(payload), &n)) {
		switch (pdu.ch.type) {
		case TCP_PDU_RSP:
			if (nvme_cpl_cid(&pdu.rsp.cqe) == cid)
				return pdu.rsp.cqe;
			break;
		case TCP_PDU_R2T:
			if (le16_to_cpu(pdu.r2t.cccid) == cid)
				answer_r2t(p, &pdu.r2t, buf);
			break;
		case TCP_PDU_C2H_DATA:
			if (le16_to_cpu(pdu.data.cccid) != cid)
				break;
			INVARIANT(le32_to_cpu(pdu.data.datao) + n <= len);
			memcpy((uint8_t *)buf + le32_to_cpu(pdu.data.datao), payload, n);
			if (pdu.ch.flags & TCP_PDU_SUCCESS)
				return nvme_cpl(cid, 0, nvme_status_success(), 0);
			break;
		default:
			return no_answer();
		}
	}
	return no_answer();
}

struct nvme_cpl peer_do(struct peer *p, struct nvme_cmd *cmd, void *buf, uint32_t len)
{
	if (len > 0)
		cmd->sgl = nvme_sgl_transport(len);
	return peer_finish(p, peer_submit(p, cmd, NULL, 0), buf, len);
}

struct nvme_cpl peer_connect_with(struct peer *p, const struct nvme_cmd *sqe,
				  const struct nvme_connect_data *data)
{
	struct nvme_cmd cmd = *sqe;

	cmd.sgl = nvme_sgl_in_capsule(0, sizeof(*data));
	return peer_wait(p, peer_submit(p, &cmd, data, sizeof(*data)));
}

void peer_connect_data(const struct peer *p, const char *subnqn, uint16_t cntlid,
		       struct nvme_connect_data *ret)
{
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->hostid, p->hostid, sizeof(ret->hostid));
	ret->cntlid = cpu_to_le16(cntlid);
	snprintf((char *)ret->subnqn, sizeof(ret->subnqn), "%s", subnqn);
	snprintf((char *)ret->hostnqn, sizeof(ret->hostnqn), "%s", p->hostnqn);
}

struct nvme_cpl peer_connect(struct peer *p, const char *subnqn, uint16_t qid, uint16_t cntlid,
			     uint32_t entries, uint32_t kato_ms)
{
	struct nvme_connect_data data;
	struct nvme_cmd cmd;

	nvme_cmd_init_connect(&cmd, qid, entries, p->sqflow ? 0 : NVME_CATTR_DISABLE_SQFLOW,
			      kato_ms);
	peer_connect_data(p, subnqn, cntlid, &data);
	return peer_connect_with(p, &cmd, &data);
}

uint64_t peer_get(struct peer *p, uint32_t ofst, unsigned int size)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	nvme_cmd_init_property_get(&cmd, ofst, size);
	cpl = peer_do(p, &cmd, NULL, 0);
	return nvme_cpl_u64(&cpl);
}

struct nvme_cpl peer_set(struct peer *p, uint32_t ofst, uint64_t value)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_property_set(&cmd, ofst, 4, value);
	return peer_do(p, &cmd, NULL, 0);
}

void peer_enable(struct peer *p)
{
	struct nvme_cc cc = { .en = true, .iosqes = 6, .iocqes = 4 };

	peer_set(p, NVME_REG_CC, nvme_cc_encode(cc));
	INVARIANT(peer_get(p, NVME_REG_CSTS, 4) == NVME_CSTS_RDY);
}

uint16_t peer_admin(struct peer *p, struct rig *rig, const char *subnqn)
{
	struct nvme_cpl cpl;

	peer_open(p, rig, -1);
	peer_ic(p, 0, false, false);
	cpl = peer_connect(p, subnqn, 0, NVME_CNTLID_DYNAMIC, 32, 0);
	INVARIANT(peer_status(&cpl) == 0);
	peer_enable(p);
	return (uint16_t)nvme_cpl_dw0(&cpl);
}

void peer_io(struct peer *p, struct rig *rig, const char *subnqn, uint16_t qid, uint16_t cntlid)
{
	struct nvme_cpl cpl;

	peer_open(p, rig, -1);
	peer_ic(p, 0, false, false);
	cpl = peer_connect(p, subnqn, qid, cntlid, 128, 0);
	INVARIANT(peer_status(&cpl) == 0);
}

uint16_t peer_status(const struct nvme_cpl *cpl)
{
	return nvme_status_code(nvme_cpl_status(cpl));
}

bool peer_dnr(const struct nvme_cpl *cpl)
{
	return nvme_cpl_status(cpl).dnr;
}
