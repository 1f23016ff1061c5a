/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every PDU, bytes out and bytes in, with every combination of digests and every alignment. What is
 * expected is put together here from the figures of 3.6.2, not with the code under test.
 */
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/util.h"
#include "tcp/rx.h"
#include "tcp/tx.h"
#include "tests/tap.h"

struct combo {
	bool hdgst;
	bool ddgst;
	uint8_t pda;
};

static uint8_t payload[1000];
static const struct iovec payload_iov[] = {
	{ payload, 1 }, { payload + 1, 0 }, { payload + 1, 599 }, { payload + 600, 400 },
};

static void put32(uint8_t *at, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(v >> 8 * i);
}

/* A whole PDU from a header without PDO, PLEN and digest flags; returns its length. */
static size_t expected(uint8_t *out, const uint8_t *header, size_t hlen, const struct combo *c,
		       size_t data_len)
{
	size_t unit = 4 * (c->pda + 1u);
	size_t at = hlen + (c->hdgst ? 4 : 0);
	size_t pdo = data_len ? (at + unit - 1) / unit * unit : 0;
	size_t end = data_len ? pdo + data_len + (c->ddgst ? 4 : 0) : at;

	memset(out, 0, end);
	memcpy(out, header, hlen);
	out[1] |= (uint8_t)(c->hdgst | (data_len && c->ddgst) << 1);
	out[3] = (uint8_t)pdo;
	put32(out + 4, (uint32_t)end);
	if (c->hdgst)
		put32(out + hlen, crc32c(0, out, hlen));
	memcpy(out + pdo, data_len ? payload : out, data_len ? data_len : 0);
	if (data_len && c->ddgst)
		put32(out + end - 4, crc32c(0, payload, data_len));
	return end;
}

static size_t flatten(struct tcp_tx *tx, uint8_t *out)
{
	struct iovec iov[16];
	int n = tcp_tx_gather(tx, iov, ARRAY_SIZE(iov));
	size_t len = 0;

	for (int i = 0; i < n; i++) {
		memcpy(out + len, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	tcp_tx_sent(tx, len);
	return len;
}

/* Whether the receiving end takes @bytes as one PDU with the payload. */
static bool taken(const struct combo *c, enum tcp_role role, const uint8_t *bytes, size_t len,
		  size_t data_len, bool connected)
{
	struct tcp_rx_options opts = { .role = role, .max_data = 1000, .max_icd = 1000 };
	struct tcp_rx rx;
	uint8_t stage[2048];
	struct iovec iov[2];
	const void *data;

	tcp_rx_init(&rx, &opts, stage, sizeof(stage));
	rx.connected = connected;
	tcp_rx_negotiated(&rx, c->hdgst, c->ddgst, c->pda);
	if (tcp_rx_iov(&rx, iov, 2, 0) != 1)
		return false;
	memcpy(iov[0].iov_base, bytes, len);
	tcp_rx_received(&rx, len);
	if (tcp_rx_next(&rx) != TCP_RX_PDU || tcp_rx_data_len(&rx) != data_len)
		return false;
	if (memcmp(tcp_rx_pdu(&rx), bytes, tcp_pdu_hlen(bytes[0])))
		return false;
	if (data_len) {
		data = tcp_rx_borrow(&rx);
		if (!data || (bytes[0] > 3 && memcmp(data, payload, data_len)))
			return false;
		if (tcp_rx_next(&rx) != TCP_RX_DATA || !tcp_rx_ddgst_ok(&rx))
			return false;
	}
	return tcp_rx_next(&rx) == TCP_RX_NEED_MORE && !tcp_rx_partial(&rx);
}

/* One PDU both ways; counts what is wrong. */
static unsigned int compare(struct tcp_tx *tx, struct tcp_tx_pdu *pdu, const struct combo *c,
			    const uint8_t *header, size_t hlen, size_t data_len)
{
	uint8_t want[1400], got[1400];
	size_t want_len = expected(want, header, hlen, c, data_len);
	size_t got_len;
	enum tcp_role to = header[0] & 1 ? TCP_ROLE_HOST : TCP_ROLE_CONTROLLER;

	tcp_tx_push(tx, pdu);
	got_len = flatten(tx, got);
	if (got_len != want_len || memcmp(got, want, want_len) || !tcp_tx_empty(tx)) {
		diag("type %u hdgst %d ddgst %d pda %u: bytes differ", header[0], c->hdgst,
		     c->ddgst, c->pda);
		return 1;
	}
	if (!taken(c, to, got, got_len, data_len, true)) {
		diag("type %u hdgst %d ddgst %d pda %u: not taken", header[0], c->hdgst, c->ddgst,
		     c->pda);
		return 1;
	}
	return 0;
}

static unsigned int check_commands(struct tcp_tx *tx, struct tcp_tx_pdu *pdu, const struct combo *c)
{
	uint8_t h[72] = { 0x04, 0, 72 };
	struct nvme_cmd sqe;
	unsigned int wrong;

	for (size_t i = 0; i < 64; i++)
		h[8 + i] = (uint8_t)(i + 1);
	memcpy(&sqe, h + 8, 64);
	tcp_build_cmd(tx, pdu, &sqe, NULL, 0, 0);
	wrong = compare(tx, pdu, c, h, 72, 0);
	tcp_build_cmd(tx, pdu, &sqe, payload_iov, ARRAY_SIZE(payload_iov), 1000);
	return wrong + compare(tx, pdu, c, h, 72, 1000);
}

static unsigned int check_small(struct tcp_tx *tx, struct tcp_tx_pdu *pdu, const struct combo *c)
{
	uint8_t rsp[24] = { 0x05, 0, 24 };
	uint8_t r2t[24] = { 0x09, 0, 24, 0, 0, 0, 0, 0, 0x34, 0x12, 0x78, 0x56,
			    0x00, 0x10, 0x02, 0x00, 0x00, 0x20, 0x00, 0x00 };
	struct nvme_cpl cqe;
	unsigned int wrong;

	for (size_t i = 0; i < 16; i++)
		rsp[8 + i] = (uint8_t)(0xf0 + i);
	memcpy(&cqe, rsp + 8, 16);
	tcp_build_rsp(tx, pdu, &cqe);
	wrong = compare(tx, pdu, c, rsp, 24, 0);
	tcp_build_r2t(tx, pdu, 0x1234, 0x5678, 0x21000, 0x2000);
	return wrong + compare(tx, pdu, c, r2t, 24, 0);
}

static unsigned int check_data(struct tcp_tx *tx, struct tcp_tx_pdu *pdu, const struct combo *c)
{
	uint8_t h2c[24] = { 0x06, 0x04, 24, 0, 0, 0, 0, 0, 0x34, 0x12, 0x78, 0x56,
			    0x00, 0x10, 0x00, 0x80, 0xe8, 0x03 };
	uint8_t c2h[24] = { 0x07, 0x0c, 24, 0, 0, 0, 0, 0, 0x34, 0x12, 0, 0,
			    0x00, 0x10, 0x00, 0x80, 0xe8, 0x03 };
	const struct iovec *v = payload_iov;
	int n = ARRAY_SIZE(payload_iov);
	unsigned int wrong;

	tcp_build_h2c_data(tx, pdu, 0x1234, 0x5678, 0x80001000, v, n, 1000, true);
	wrong = compare(tx, pdu, c, h2c, 24, 1000);
	tcp_build_h2c_data(tx, pdu, 0x1234, 0x5678, 0x80001000, v, n, 1000, false);
	h2c[1] = 0;
	wrong += compare(tx, pdu, c, h2c, 24, 1000);
	tcp_build_c2h_data(tx, pdu, 0x1234, 0x80001000, v, n, 1000, true, true);
	wrong += compare(tx, pdu, c, c2h, 24, 1000);
	tcp_build_c2h_data(tx, pdu, 0x1234, 0x80001000, v, n, 1000, true, false);
	c2h[1] = 0x04;
	wrong += compare(tx, pdu, c, c2h, 24, 1000);
	tcp_build_c2h_data(tx, pdu, 0x1234, 0x80001000, v, n, 1000, false, false);
	c2h[1] = 0;
	return wrong + compare(tx, pdu, c, c2h, 24, 1000);
}

static void check_negotiation(void)
{
	static const struct combo plain = { 0 };
	uint8_t icreq[128] = { 0x00, 0, 128, 0, 128, 0, 0, 0, 0, 0, 31, 3, 7 };
	uint8_t icresp[128] = { 0x01, 0, 128, 0, 128, 0, 0, 0, 0, 0, 5, 1, 0, 0, 2, 0 };
	struct tcp_tx_pdu pdu = { 0 };
	struct tcp_tx tx;
	uint8_t got[1400];

	tcp_tx_init(&tx);
	/* Neither PDU ever has digests, whatever is in force. */
	tcp_tx_negotiated(&tx, true, true, 3);
	tcp_build_icreq(&pdu, 31, true, true, 7);
	tcp_tx_push(&tx, &pdu);
	is_u64(flatten(&tx, got), 128, "ICReq is 128 bytes");
	is_mem(got, icreq, 128, "ICReq: HPDA 31, both digests, MAXR2T 7");
	ok(taken(&plain, TCP_ROLE_CONTROLLER, got, 128, 0, false), "ICReq is taken");
	tcp_build_icresp(&pdu, 5, true, false, 131072);
	tcp_tx_push(&tx, &pdu);
	is_u64(flatten(&tx, got), 128, "ICResp is 128 bytes");
	is_mem(got, icresp, 128, "ICResp: CPDA 5, header digest, MAXH2CDATA 131072 bytes (I007)");
	ok(taken(&plain, TCP_ROLE_HOST, got, 128, 0, false), "ICResp is taken");
}

static void check_term(enum tcp_role role)
{
	static const struct combo plain = { 0 };
	struct tcp_error e = { .fes = TCP_FES_HDR_FIELD, .fei = 0x01020304, .header_len = 72 };
	uint8_t want[24 + 72] = { 0x02, 0, 24, 0, 96, 0, 0, 0, 1, 0, 4, 3, 2, 1 };
	struct tcp_tx_pdu pdu = { 0 };
	struct tcp_tx tx;
	uint8_t got[1400];

	memset(e.header, 0xe5, sizeof(e.header));
	memset(want + 24, 0xe5, 72);
	want[0] = role == TCP_ROLE_HOST ? 0x02 : 0x03;
	tcp_tx_init(&tx);
	tcp_tx_negotiated(&tx, true, true, 31);
	tcp_build_term(&pdu, role, &e);
	tcp_tx_push(&tx, &pdu);
	is_u64(flatten(&tx, got), 96, "%s: header and the offending header, no digests",
	       tcp_pdu_name(want[0]));
	is_mem(got, want, 96, "%s: FES, FEI, header", tcp_pdu_name(want[0]));
	ok(taken(&plain, role == TCP_ROLE_HOST ? TCP_ROLE_CONTROLLER : TCP_ROLE_HOST, got, 96, 72,
		 true),
	   "%s is taken", tcp_pdu_name(want[0]));
}

/* Written out by hand, so that both sides of the comparison above cannot be wrong together. */
static void check_literal(void)
{
	/* 512 bytes of 0xaa at offset 0x1000 of command 2, both digests, HPDA 7: PDO is 32. */
	static const uint8_t head[32] = {
		0x07, 0x0f, 0x18, 0x20, 0x24, 0x02, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x10,
		0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xea, 0x6b, 0xef,
	};
	static const uint8_t tail[4] = { 0x5a, 0xb8, 0x3a, 0x7d };
	uint8_t data[512], got[1400];
	struct iovec iov = { data, sizeof(data) };
	struct tcp_tx_pdu pdu = { 0 };
	struct tcp_tx tx;

	memset(data, 0xaa, sizeof(data));
	tcp_tx_init(&tx);
	tcp_tx_negotiated(&tx, true, true, 7);
	tcp_build_c2h_data(&tx, &pdu, 2, 0x1000, &iov, 1, 512, true, true);
	tcp_tx_push(&tx, &pdu);
	is_u64(flatten(&tx, got), 32 + 512 + 4, "C2HData, by hand: length");
	is_mem(got, head, 32, "C2HData, by hand: header, digest, padding");
	is_mem(got + 544, tail, 4, "C2HData, by hand: data digest");
}

int main(void)
{
	struct tcp_tx_pdu *pdu = calloc(1, sizeof(*pdu));
	struct combo c;
	struct tcp_tx tx;

	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7 + i / 256);
	for (int digests = 0; digests < 4; digests++) {
		unsigned int commands = 0, small = 0, data = 0;

		for (uint8_t pda = 0; pda <= TCP_PDA_MAX; pda++) {
			c = (struct combo){ digests & 1, digests & 2, pda };
			tcp_tx_init(&tx);
			tcp_tx_negotiated(&tx, c.hdgst, c.ddgst, pda);
			commands += check_commands(&tx, pdu, &c);
			small += check_small(&tx, pdu, &c);
			data += check_data(&tx, pdu, &c);
		}
		is_u64(commands, 0, "CapsuleCmd, PDA 0..31, hdgst %d ddgst %d (I018)", c.hdgst,
		       c.ddgst);
		is_u64(small, 0, "CapsuleResp and R2T, hdgst %d ddgst %d", c.hdgst, c.ddgst);
		is_u64(data, 0, "H2CData and C2HData, PDA 0..31, hdgst %d ddgst %d (I018)",
		       c.hdgst, c.ddgst);
	}
	check_negotiation();
	check_term(TCP_ROLE_HOST);
	check_term(TCP_ROLE_CONTROLLER);
	check_literal();
	is_str(tcp_pdu_name(8), "unknown", "type 8 is reserved");
	is_str(tcp_pdu_name(0xff), "unknown", "type ff is reserved");
	is_u64(tcp_pdu_hlen(8), 0, "a reserved type has no HLEN");
	is_str(tcp_fes_name(7), "unknown", "FES 7 is reserved");
	is_str(tcp_fes_name(2), "PDU Sequence Error", "FES 2");
	free(pdu);
	return tap_done();
}
