/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a receiver's owner can rely on: payload arrives in its place without a copy, a payload's
 * place can be taken away half-way, borrowed memory is where it was, errors stay, and junk behind an
 * error is not parsed.
 */
#include <string.h>

#include "base/crc32c.h"
#include "tcp/test-stream.h"
#include "tests/tap.h"

enum { STAGE = 4096, DATA = 1000 };

static uint8_t payload[DATA];
static uint8_t stage[STAGE];
static uint8_t wire[4 * STAGE];
static struct tcp_rx rx;

static void begin(enum tcp_role role, bool hdgst, bool ddgst)
{
	struct tcp_rx_options opts = { .role = role, .max_data = 8192, .max_icd = 8192 };

	tcp_rx_init(&rx, &opts, stage, sizeof(stage));
	rx.connected = true;
	tcp_rx_negotiated(&rx, hdgst, ddgst, 0);
}

/* A C2HData of the payload at the start of wire[]; returns its length. */
static size_t one_pdu(bool digests, uint16_t cid)
{
	struct iovec iov = { payload, DATA };
	struct stream s = { .bytes = wire, .cap = sizeof(wire) };
	struct tcp_tx_pdu pdu = { 0 };
	struct tcp_tx tx;

	tcp_tx_init(&tx);
	tcp_tx_negotiated(&tx, digests, digests, 0);
	tcp_build_c2h_data(&tx, &pdu, cid, 0, &iov, 1, DATA, true, true);
	stream_append(&s, &tx, &pdu);
	return s.len;
}

/* Gives @n bytes to the receiver in one call; @hint as the owner would. */
static void give(const uint8_t *p, size_t n, size_t hint)
{
	struct iovec iov[4];
	int count = tcp_rx_iov(&rx, iov, 4, hint);
	size_t done = 0;

	for (int i = 0; i < count && done < n; i++) {
		size_t some = MIN(iov[i].iov_len, n - done);

		memcpy(iov[i].iov_base, p + done, some);
		done += some;
	}
	INVARIANT(done == n);
	tcp_rx_received(&rx, n);
}

static void in_place(bool digests)
{
	uint8_t got[DATA] = { 0 };
	struct iovec land[2] = { { got, 400 }, { got + 400, DATA - 400 } };
	size_t head = digests ? 28 : 24;
	struct iovec iov[4];
	size_t len = one_pdu(digests, 7);

	begin(TCP_ROLE_HOST, digests, digests);
	give(wire, head, head);
	ok(tcp_rx_next(&rx) == TCP_RX_PDU, "header alone: PDU");
	tcp_rx_land(&rx, land, 2);
	ok(tcp_rx_next(&rx) == TCP_RX_NEED_MORE, "payload is not there yet");
	ok(tcp_rx_iov(&rx, iov, 4, 24) == 3 && iov[0].iov_base == got && iov[0].iov_len == 400 &&
		   iov[1].iov_base == got + 400 && iov[1].iov_len == 600 &&
		   iov[2].iov_base == stage && iov[2].iov_len == 24,
	   "one receive: the payload in place, then as much staging as was hinted");
	ok(tcp_rx_iov(&rx, iov, 2, 0) == 1 && iov[0].iov_len == 400,
	   "too few vectors: a part of the payload and nothing behind it");
	give(wire + head, len - head, 0);
	is_mem(got, payload, DATA, "payload is in its place, digests %d", digests);
	ok(tcp_rx_next(&rx) == TCP_RX_DATA && tcp_rx_ddgst_ok(&rx), "and complete");
	is_u64(le16_to_cpu(tcp_rx_pdu(&rx)->data.cccid), 7, "its header is still there");
	ok(tcp_rx_next(&rx) == TCP_RX_NEED_MORE && !tcp_rx_partial(&rx), "nothing is half-way");
}

static void data_digest_wrong(void)
{
	uint8_t got[DATA];
	struct iovec land = { got, DATA };
	size_t len = one_pdu(true, 7);

	wire[28 + 500] ^= 1;
	memcpy(wire + len, wire, len);
	memcpy(wire + 2 * len, wire, len);
	wire[2 * len + 28 + 500] ^= 1;
	begin(TCP_ROLE_HOST, true, true);
	give(wire, 3 * len, 0);
	ok(tcp_rx_next(&rx) == TCP_RX_PDU, "damaged payload: PDU");
	ok(tcp_rx_borrow(&rx) != NULL, "borrowed");
	ok(tcp_rx_next(&rx) == TCP_RX_DATA && !tcp_rx_ddgst_ok(&rx),
	   "data digest error, not fatal (3.5)");
	tcp_rx_next(&rx);
	tcp_rx_land(&rx, &land, 1);
	ok(tcp_rx_next(&rx) == TCP_RX_DATA && !tcp_rx_ddgst_ok(&rx), "the same when landed");
	tcp_rx_next(&rx);
	tcp_rx_land(&rx, &land, 1);
	ok(tcp_rx_next(&rx) == TCP_RX_DATA && tcp_rx_ddgst_ok(&rx), "the next one is right again");
}

static void unland_at(size_t at, bool digests)
{
	uint8_t got[DATA];
	struct iovec land = { got, DATA };
	size_t head = digests ? 28 : 24;
	size_t len = one_pdu(digests, 7);
	size_t clean = DATA;

	memset(got, 0x5a, sizeof(got));
	memcpy(wire + len, wire, len);
	begin(TCP_ROLE_HOST, digests, digests);
	give(wire, head, head);
	tcp_rx_next(&rx);
	tcp_rx_land(&rx, &land, 1);
	if (at > 0)
		give(wire + head, at, 0);
	tcp_rx_next(&rx);
	tcp_rx_unland(&rx);
	tcp_rx_unland(&rx);
	give(wire + head + at, len - head - at, 0);
	ok(tcp_rx_next(&rx) == TCP_RX_DATA && tcp_rx_ddgst_ok(&rx),
	   "unland after %zu bytes: the rest is discarded, DATA comes (E008)", at);
	while (clean > 0 && got[clean - 1] == 0x5a)
		clean--;
	ok(clean <= at, "nothing was written behind byte %zu", at);
	give(wire + len, len, 0);
	ok(tcp_rx_next(&rx) == TCP_RX_PDU && tcp_rx_data_len(&rx) == DATA, "the next PDU is found");
	tcp_rx_discard(&rx);
	ok(tcp_rx_next(&rx) == TCP_RX_DATA, "and discarded");
}

static void many_in_one_receive(void)
{
	struct stream s = { .bytes = wire, .cap = sizeof(wire) };
	struct tcp_tx_pdu pdu = { 0 };
	struct iovec data = { payload, 512 };
	struct nvme_cmd sqe = { 0 };
	struct tcp_tx tx;
	const uint8_t *lent[4];
	unsigned int seen = 0;

	tcp_tx_init(&tx);
	for (uint16_t i = 0; i < 4; i++) {
		sqe.cid = cpu_to_le16(i);
		tcp_build_cmd(&tx, &pdu, &sqe, &data, 1, 512);
		stream_append(&s, &tx, &pdu);
		tcp_build_cmd(&tx, &pdu, &sqe, NULL, 0, 0);
		stream_append(&s, &tx, &pdu);
	}
	begin(TCP_ROLE_CONTROLLER, false, false);
	give(wire, s.len, 0);
	for (unsigned int i = 0; i < 4; i++) {
		seen += tcp_rx_next(&rx) == TCP_RX_PDU && tcp_rx_data_len(&rx) == 512;
		lent[i] = tcp_rx_borrow(&rx);
		seen += tcp_rx_next(&rx) == TCP_RX_DATA;
		seen += tcp_rx_next(&rx) == TCP_RX_PDU && tcp_rx_data_len(&rx) == 0;
	}
	is_u64(seen, 12, "eight capsules from one receive");
	ok(tcp_rx_next(&rx) == TCP_RX_NEED_MORE, "and no more");
	seen = 0;
	for (unsigned int i = 0; i < 4; i++)
		seen += lent[i] && !memcmp(lent[i], payload, 512);
	is_u64(seen, 4, "all borrowed payloads stay valid until the next receive");
}

static void borrow_needs_all(void)
{
	uint8_t got[DATA];
	struct iovec land = { got, DATA };
	size_t len = one_pdu(true, 7);

	begin(TCP_ROLE_HOST, true, true);
	give(wire, len - 1, 0);
	ok(tcp_rx_next(&rx) == TCP_RX_PDU, "all but the last byte of the digest: PDU");
	ok(tcp_rx_borrow(&rx) == NULL, "not to be borrowed");
	tcp_rx_land(&rx, &land, 1);
	ok(tcp_rx_next(&rx) == TCP_RX_NEED_MORE && tcp_rx_partial(&rx), "landed, digest missing");
	give(wire + len - 1, 1, 0);
	ok(tcp_rx_next(&rx) == TCP_RX_DATA && tcp_rx_ddgst_ok(&rx), "complete");
	is_mem(got, payload, DATA, "payload that was staged is copied to its place");
}

static void errors_stay(void)
{
	struct iovec iov[2];
	size_t len = one_pdu(false, 7);

	memcpy(wire + len, wire, len);
	begin(TCP_ROLE_HOST, false, false);
	give(wire, 2 * len, 0);
	tcp_rx_next(&rx);
	tcp_rx_fail(&rx, TCP_FES_SEQUENCE, 0, "r2t_for_read");
	tcp_rx_fail(&rx, TCP_FES_RANGE, 8, "later");
	ok(tcp_rx_next(&rx) == TCP_RX_ERROR && tcp_rx_next(&rx) == TCP_RX_ERROR,
	   "an error the owner found is for good (T004)");
	ok(tcp_rx_error(&rx)->fes == TCP_FES_SEQUENCE && tcp_rx_error(&rx)->header_len == 24 &&
		   !memcmp(tcp_rx_error(&rx)->header, wire, 24),
	   "the first error is told, with its header");
	ok(tcp_rx_iov(&rx, iov, 2, 0) == 0 && !tcp_rx_partial(&rx), "nothing more is received");
	tcp_rx_received(&rx, 10);
	ok(tcp_rx_next(&rx) == TCP_RX_ERROR, "nor parsed");

	begin(TCP_ROLE_HOST, false, false);
	give(wire, 100, 0);
	tcp_rx_next(&rx);
	tcp_rx_land(&rx, &(struct iovec){ payload, DATA }, 1);
	tcp_rx_next(&rx);
	tcp_rx_iov(&rx, iov, 2, 0);
	tcp_rx_fail(&rx, TCP_FES_SEQUENCE, 0, "owner");
	tcp_rx_received(&rx, 100);
	ok(tcp_rx_next(&rx) == TCP_RX_ERROR, "an error while a receive is under way");
}

int main(void)
{
	for (size_t i = 0; i < DATA; i++)
		payload[i] = (uint8_t)(i * 31 + i / 256);
	in_place(false);
	in_place(true);
	data_digest_wrong();
	unland_at(0, false);
	unland_at(1, true);
	unland_at(500, false);
	unland_at(DATA - 1, true);
	many_in_one_receive();
	borrow_needs_all();
	errors_stay();
	return tap_done();
}
