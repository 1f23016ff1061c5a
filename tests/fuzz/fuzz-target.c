/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole associations against hosts that send anything at all: an admin queue and three I/O queues
 * of each of two hosts, a memory store that holds or fails operations, an arena that can be emptied,
 * time that passes. The input is a list of steps, each a byte that says what (bits 4:0) and where (bit
 * 5 the host, bits 7:6 the queue), and one for it. Some send what a host would send with fields of the
 * input's choosing, so that the fuzzer gets past the framing; others send bytes as they are.
 *
 * What must hold: no crash, and once all connections are gone the target drains, with every pool
 * full and every piece of memory back, which it asserts itself.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "nvme/nqn.h"
#include "target/listener.h"
#include "target/test-rig.h"
#include "tests/fuzz/fuzz.h"

enum {
	HOSTS = 2,
	QUEUES = 4, /* [0] the admin queue, the others I/O queues of the same controller */
	CONNS = HOSTS * QUEUES,
	BUFFER = 256 * 1024,
	STEPS_MAX = 200,
	TAKERS = 64,
	FILLED = 32, /* two ranges of Dataset Management, or the keys of a reservation */
};

enum step {
	STEP_OPEN,    /* flags: digests, flow control; initialised and connected */
	STEP_BYTES,   /* n bytes of the input, as they are */
	STEP_COMMAND, /* an SQE of the input in a right capsule, with some data */
	STEP_DATA,    /* H2CData for the last R2T, right or nearly */
	STEP_STORE,   /* hold, release, fail */
	STEP_TIME,    /* milliseconds, or seconds */
	STEP_CLOSE,
	STEP_ARENA, /* all memory is taken, or given back */
	STEP_FILLED, /* as STEP_COMMAND, with all dwords and the begin of the data of the input */
	STEP_COUNT
};

struct host_conn {
	struct io_stream *stream;
	struct io_op recv_op, send_op;
	struct iovec recv_iov, send_iov;
	uint8_t *in, *out;
	size_t in_len, out_len, out_at;
	struct tcp_tx tx;
	struct tcp_r2t r2t; /* the last one */
	uint16_t cid;
};

static struct {
	struct rig rig;
	struct host_conn conns[CONNS];
	uint16_t cntlid[HOSTS];
	struct tgt_arena_user takers[TAKERS]; /* several, for one may not have all of the memory */
	struct tgt_buf held[TAKERS];
	int held_count;
	const uint8_t *at;
	size_t left;
} f;

/* ---- the input ---- */

static uint8_t next_byte(void)
{
	if (f.left == 0)
		return 0;
	f.left--;
	return *f.at++;
}

static void next_bytes(void *to, size_t n)
{
	uint8_t *p = to;

	while (n-- > 0)
		*p++ = next_byte();
}

/* ---- a host's end ---- */

static void receive(struct host_conn *c);

static unsigned int host_of(const struct host_conn *c)
{
	return (unsigned int)(c - f.conns) / QUEUES;
}

static unsigned int qid_of(const struct host_conn *c)
{
	return (unsigned int)(c - f.conns) % QUEUES;
}

/* Only what later steps need is looked at: the last R2T, and the controller's identifier. */
static void look(struct host_conn *c)
{
	size_t at = 0;

	while (c->in_len - at >= 8) {
		union tcp_pdu pdu = { 0 };
		uint32_t plen;

		memcpy(&pdu, c->in + at, MIN(sizeof(pdu), c->in_len - at));
		plen = le32_to_cpu(pdu.ch.plen);
		if (plen < 8 || c->in_len - at < plen)
			break;
		if (pdu.ch.type == TCP_PDU_R2T)
			c->r2t = pdu.r2t;
		if (pdu.ch.type == TCP_PDU_RSP && qid_of(c) == 0 && f.cntlid[host_of(c)] == 0)
			f.cntlid[host_of(c)] = (uint16_t)nvme_cpl_dw0(&pdu.rsp.cqe);
		at += plen;
	}
	memmove(c->in, c->in + at, c->in_len - at);
	c->in_len -= at;
	if (c->in_len == BUFFER)
		c->in_len = 0; /* nonsense, or more than we care for */
}

static void on_received(struct io_op *op)
{
	struct host_conn *c = container_of(op, struct host_conn, recv_op);

	if (op->result <= 0)
		return;
	c->in_len += (size_t)op->result;
	look(c);
	receive(c);
}

static void receive(struct host_conn *c)
{
	if (!c->stream || c->recv_op.pending)
		return;
	c->recv_iov = (struct iovec){ c->in + c->in_len, BUFFER - c->in_len };
	io_stream_recv(c->stream, &c->recv_op, &c->recv_iov, 1);
}

static void transmit(struct host_conn *c)
{
	if (!c->stream || c->send_op.pending || c->out_at == c->out_len)
		return;
	c->send_iov = (struct iovec){ c->out + c->out_at, c->out_len - c->out_at };
	io_stream_send(c->stream, &c->send_op, &c->send_iov, 1, false);
}

static void on_sent(struct io_op *op)
{
	struct host_conn *c = container_of(op, struct host_conn, send_op);

	if (op->result < 0)
		return;
	c->out_at += (size_t)op->result;
	transmit(c);
}

static void put(struct host_conn *c, const void *p, size_t n)
{
	if (!c->send_op.pending && c->out_at == c->out_len)
		c->out_at = c->out_len = 0;
	if (!c->stream || n > BUFFER - c->out_len)
		return;
	memcpy(c->out + c->out_len, p, n);
	c->out_len += n;
	transmit(c);
}

static void put_pdu(struct host_conn *c, struct tcp_tx_pdu *pdu)
{
	struct iovec iov[8];
	int n;

	pdu->sent = NULL;
	tcp_tx_push(&c->tx, pdu);
	while ((n = tcp_tx_gather(&c->tx, iov, 8)) > 0) {
		size_t bytes = 0;

		for (int i = 0; i < n; i++) {
			put(c, iov[i].iov_base, iov[i].iov_len);
			bytes += iov[i].iov_len;
		}
		tcp_tx_sent(&c->tx, bytes);
	}
}

static void close_conn(struct host_conn *c, bool reset)
{
	if (c->stream)
		io_stream_close(c->stream, reset);
	c->stream = NULL;
	while (c->recv_op.pending || c->send_op.pending)
		rig_run(&f.rig, RIG_MS);
	free(c->in);
	free(c->out);
	c->in = c->out = NULL;
}

static void put_connect(struct host_conn *c, uint16_t qid, uint8_t flags)
{
	struct peer who = { .hostnqn = host_of(c) ? RIG_HOST2 : RIG_HOST };
	struct nvme_connect_data data;
	struct tcp_tx_pdu pdu = { 0 };
	struct nvme_cmd cmd;
	struct iovec iov = { &data, sizeof(data) };

	memset(who.hostid, host_of(c) ? 0x22 : 0x11, sizeof(who.hostid));
	peer_connect_data(&who, flags & 128 ? NVME_DISCOVERY_NQN : RIG_NQN,
			  qid ? f.cntlid[host_of(c)] : NVME_CNTLID_DYNAMIC, &data);
	nvme_cmd_init_connect(&cmd, qid, 16, flags & 4 ? 0 : NVME_CATTR_DISABLE_SQFLOW, 0);
	cmd.cid = cpu_to_le16(++c->cid);
	cmd.sgl = nvme_sgl_in_capsule(0, sizeof(data));
	tcp_build_cmd(&c->tx, &pdu, &cmd, &iov, 1, sizeof(data));
	put_pdu(c, &pdu);
}

static void put_enable(struct host_conn *c)
{
	struct nvme_cc cc = { .en = true, .iosqes = 6, .iocqes = 4 };
	struct tcp_tx_pdu pdu = { 0 };
	struct nvme_cmd cmd;

	nvme_cmd_init_property_set(&cmd, NVME_REG_CC, 4, nvme_cc_encode(cc));
	cmd.cid = cpu_to_le16(++c->cid);
	tcp_build_cmd(&c->tx, &pdu, &cmd, NULL, 0, 0);
	put_pdu(c, &pdu);
}

static void attach(struct host_conn *c)
{
	struct io_sock *ours, *theirs;

	memset(c, 0, sizeof(*c));
	c->in = malloc(BUFFER);
	c->out = malloc(BUFFER);
	INVARIANT(c->in && c->out);
	io_op_init(&c->recv_op, on_received);
	io_op_init(&c->send_op, on_sent);
	tcp_tx_init(&c->tx);
	INVARIANT(io_sock_pair(f.rig.loop, &ours, &theirs) == 0);
	INVARIANT(io_stream_new(f.rig.loop, ours, NULL, &c->stream) == 0);
	tgt_accept_sock(f.rig.target, &f.rig.target->reactors[0], NULL, theirs);
	receive(c);
}

/* ---- steps ---- */

/*
 * Bits of @flags: header digest, data digest, flow control, bare (nothing is said yet); 6:4 alignment;
 * 7 to the discovery service.
 */
static void step_open(unsigned int n, uint8_t flags)
{
	struct host_conn *c = &f.conns[n];
	struct tcp_tx_pdu pdu = { 0 };

	if (c->stream)
		return;
	if (qid_of(c) == 0)
		f.cntlid[host_of(c)] = 0;
	close_conn(c, false);
	attach(c);
	if (flags & 8)
		return;
	tcp_build_icreq(&pdu, flags >> 4 & 7, flags & 1, flags & 2, 0);
	put_pdu(c, &pdu);
	tcp_tx_negotiated(&c->tx, flags & 1, flags & 2, 0);
	put_connect(c, (uint16_t)qid_of(c), flags);
	if (qid_of(c) == 0)
		put_enable(c);
	rig_run(&f.rig, RIG_MS);
}

static void step_bytes(struct host_conn *c, uint8_t n)
{
	uint8_t bytes[256];

	next_bytes(bytes, n);
	put(c, bytes, n);
}

/*
 * Dwords 0 and 1, the end of SGL 1, then dwords 10 to 12; 64 * @data bytes of zeroes. @filled: up to
 * dword 15, and 8 * @data bytes that begin with those of the input.
 */
static void step_command(struct host_conn *c, uint8_t data, bool filled)
{
	uint8_t bytes[255 * 64] = { 0 };
	struct tcp_tx_pdu pdu = { 0 };
	struct nvme_cmd cmd;
	struct iovec iov = { bytes, data * (filled ? 8u : 64u) };

	next_bytes(&cmd, 8);
	memset((uint8_t *)&cmd + 8, 0, sizeof(cmd) - 8);
	next_bytes(&cmd.sgl.len, 8);
	next_bytes(&cmd.cdw10, filled ? 24 : 12);
	if (filled)
		next_bytes(bytes, data ? FILLED : 0);
	tcp_build_cmd(&c->tx, &pdu, &cmd, data ? &iov : NULL, data ? 1 : 0, (uint32_t)iov.iov_len);
	put_pdu(c, &pdu);
}

static void step_data(struct host_conn *c, uint8_t how)
{
	static uint8_t zeroes[65536];
	uint32_t len = MIN(le32_to_cpu(c->r2t.r2tl), (uint32_t)sizeof(zeroes));
	struct tcp_tx_pdu pdu = { 0 };
	struct iovec iov = { zeroes, len };

	if (how & 1)
		iov.iov_len = len / 2;
	if (iov.iov_len == 0)
		return;
	tcp_build_h2c_data(&c->tx, &pdu, le16_to_cpu(c->r2t.cccid),
			   le16_to_cpu(c->r2t.ttag) ^ (how >> 7), how & 2 ? len / 2 : 0, &iov, 1,
			   (uint32_t)iov.iov_len, how & 4);
	put_pdu(c, &pdu);
}

static void step_store(uint8_t how)
{
	struct rig_store *s = &f.rig.stores[how & 1];

	if (how & 2)
		s->hold = true;
	else if (how & 4)
		rig_store_release_one(s);
	else
		rig_store_release(s);
	s->fail = how & 8 ? -5 : 0;
}

/* All memory, or all but the last pieces of it. */
static void step_arena(uint8_t how)
{
	struct tgt_arena *a = &f.rig.target->reactors[0].arena;
	uint32_t bytes = 1 << 20, least = how & 2 ? 16 * TGT_ARENA_PIECE : TGT_ARENA_PIECE;

	while (f.held_count > 0) {
		f.held_count--;
		tgt_arena_put(a, &f.takers[f.held_count], &f.held[f.held_count]);
	}
	while (how & 1 && bytes >= least && f.held_count < TAKERS) {
		if (tgt_arena_get(a, &f.takers[f.held_count], bytes, true, &f.held[f.held_count]) == TGT_ARENA_OK)
			f.held_count++;
		else
			bytes /= 2;
	}
}

static void step(void)
{
	uint8_t what = next_byte(), arg = next_byte();
	unsigned int n = (what >> 6) + (what & 32 ? QUEUES : 0);
	struct host_conn *c = &f.conns[n];

	what = (what & 31) % STEP_COUNT;
	if (!c->stream && (what == STEP_BYTES || what == STEP_COMMAND || what == STEP_DATA || what == STEP_FILLED))
		return;
	switch ((enum step)what) {
	case STEP_OPEN:
		step_open(n, arg);
		break;
	case STEP_BYTES:
		step_bytes(c, arg);
		break;
	case STEP_COMMAND:
		step_command(c, arg, false);
		break;
	case STEP_FILLED:
		step_command(c, arg, true);
		break;
	case STEP_DATA:
		step_data(c, arg);
		break;
	case STEP_STORE:
		step_store(arg);
		break;
	case STEP_TIME:
		rig_run(&f.rig, arg & 0x80 ? (arg & 0x7f) * RIG_S : (arg & 0x0f) * RIG_MS / 2);
		break;
	case STEP_CLOSE:
		close_conn(c, arg & 1);
		break;
	case STEP_ARENA:
		step_arena(arg);
		break;
	case STEP_COUNT:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	memset(&f, 0, sizeof(f));
	f.at = data;
	f.left = size;
	rig_init(&f.rig);
	f.rig.config.log = NULL;
	f.rig.config.limits.mdts = 65536;
	f.rig.config.limits.arena = 1 << 20;
	f.rig.config.limits.queue_depth = 32;
	f.rig.config.limits.c2h_chunk = 16384;
	f.rig.config.limits.io_queues = QUEUES - 1;
	rig_start(&f.rig);
	for (int i = 0; i < STEPS_MAX && f.left > 0; i++)
		step();
	rig_run(&f.rig, 2 * RIG_MS);
	for (unsigned int i = 0; i < CONNS; i++)
		close_conn(&f.conns[i], i & 1);
	step_arena(0);
	for (size_t i = 0; i < ARRAY_SIZE(f.rig.stores); i++)
		rig_store_release(&f.rig.stores[i]);
	rig_end(&f.rig);
	return 0;
}
