/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue: whatever is sent at a time, the same bytes go out in the same order and every owner is
 * told once, not before its last byte; dropping tells the rest.
 */
#include <string.h>

#include "base/util.h"
#include "tcp/tx.h"
#include "tests/tap.h"

enum { PDUS = 5, CAP = 8192 };

static uint8_t payload[2000];
static const struct iovec payload_iov[] = {
	{ payload, 100 }, { payload + 100, 0 }, { payload + 100, 1 }, { payload + 101, 1899 },
};
static struct tcp_tx tx;
static struct tcp_tx_pdu pdus[PDUS];
static unsigned int told[PDUS];
static unsigned int order[4 * PDUS];
static unsigned int orders;

static void on_sent(struct tcp_tx_pdu *pdu)
{
	unsigned int i = (unsigned int)(pdu - pdus);

	told[i]++;
	order[orders++ % ARRAY_SIZE(order)] = i;
}

static void fill_queue(void)
{
	struct nvme_cmd sqe = { 0 };
	struct nvme_cpl cqe = { 0 };

	memset(told, 0, sizeof(told));
	orders = 0;
	tcp_tx_init(&tx);
	tcp_tx_negotiated(&tx, true, true, 5);
	tcp_build_cmd(&tx, &pdus[0], &sqe, NULL, 0, 0);
	tcp_build_cmd(&tx, &pdus[1], &sqe, payload_iov, ARRAY_SIZE(payload_iov), 2000);
	tcp_build_rsp(&tx, &pdus[2], &cqe);
	tcp_build_h2c_data(&tx, &pdus[3], 1, 2, 0, payload_iov, ARRAY_SIZE(payload_iov), 2000, true);
	tcp_build_r2t(&tx, &pdus[4], 1, 2, 0, 100);
	for (int i = 0; i < PDUS; i++) {
		pdus[i].sent = on_sent;
		tcp_tx_push(&tx, &pdus[i]);
	}
}

/* Sends all, @step bytes at a time, from gathers of @max vectors; returns the length. */
static size_t send_all(uint8_t *out, size_t step, int max)
{
	struct iovec iov[32];
	size_t len = 0, some;
	int n;

	while ((n = tcp_tx_gather(&tx, iov, max)) > 0) {
		some = 0;
		for (int i = 0; i < n && some < step; i++) {
			size_t take = MIN(iov[i].iov_len, step - some);

			memcpy(out + len, iov[i].iov_base, take);
			len += take;
			some += take;
		}
		tcp_tx_sent(&tx, some);
	}
	return len;
}

static bool told_once_in_order(void)
{
	for (unsigned int i = 0; i < PDUS; i++) {
		if (told[i] != 1 || order[i] != i)
			return false;
	}
	return orders == PDUS;
}

static void every_size(void)
{
	static uint8_t want[CAP], got[CAP];
	size_t total, len;
	unsigned int wrong = 0;

	fill_queue();
	total = tx.bytes;
	len = send_all(want, CAP, 32);
	is_u64(len, total, "the queue knows its bytes");
	ok(told_once_in_order(), "each owner is told once, in order");
	for (size_t step = 1; step <= total; step++) {
		fill_queue();
		len = send_all(got, step, step % 2 ? 32 : 1 + (int)(step % 7));
		wrong += len != total || memcmp(got, want, total) || !told_once_in_order() ||
			 tx.bytes != 0;
	}
	is_u64(wrong, 0, "1 to %zu bytes at a time: the same bytes, each owner told once", total);
}

static void not_before_the_last_byte(void)
{
	struct iovec iov[32];
	size_t first;

	fill_queue();
	first = tcp_tx_pdu_bytes(&pdus[0]);
	tcp_tx_gather(&tx, iov, 32);
	tcp_tx_sent(&tx, first - 1);
	is_u64(told[0], 0, "one byte short: not told");
	tcp_tx_sent(&tx, 1);
	is_u64(told[0], 1, "the last byte: told");
	tcp_tx_sent(&tx, tcp_tx_pdu_bytes(&pdus[1]) - 1);
	is_u64(told[1], 0, "one byte of data digest short: not told");
	tcp_tx_drop(&tx);
	ok(told_once_in_order(), "dropped: the others are told, in order");
	ok(tcp_tx_empty(&tx) && tx.bytes == 0 && tcp_tx_gather(&tx, iov, 32) == 0, "and gone");
}

/* An owner may build and queue its PDU again, or drop everything, from inside its sent function. */
static unsigned int rounds;

static void again(struct tcp_tx_pdu *pdu)
{
	if (++rounds < 3) {
		tcp_build_r2t(&tx, pdu, 1, 2, 0, 100);
		tcp_tx_push(&tx, pdu);
	} else {
		tcp_tx_drop(&tx);
	}
}

static void from_inside(void)
{
	static uint8_t out[CAP];

	fill_queue();
	rounds = 0;
	pdus[0].sent = again;
	send_all(out, CAP, 32);
	is_u64(rounds, 3, "queued again from inside sent(), twice");
	ok(told[1] == 1 && told[4] == 1 && tcp_tx_empty(&tx), "the others told once");

	fill_queue();
	rounds = 2;
	pdus[0].sent = again;
	tcp_tx_sent(&tx, tcp_tx_pdu_bytes(&pdus[0]) + 10);
	ok(told[1] == 1 && told[2] == 1 && told[4] == 1 && tcp_tx_empty(&tx),
	   "all dropped from inside sent()");
}

static void behind_a_gather(void)
{
	static uint8_t out[CAP];
	struct tcp_tx_pdu late = { 0 };
	struct nvme_cmd sqe = { 0 };
	struct iovec iov[32];
	size_t total;

	fill_queue();
	total = tx.bytes;
	tcp_tx_gather(&tx, iov, 32);
	tcp_build_cmd(&tx, &late, &sqe, NULL, 0, 0);
	tcp_tx_push(&tx, &late);
	tcp_tx_sent(&tx, total);
	ok(told_once_in_order() && late.queued, "what was queued behind a gather is still to go");
	is_u64(send_all(out, CAP, 32), tcp_tx_pdu_bytes(&late), "and goes");
}

static void cut_before_a_term(void)
{
	struct tcp_error e = { .fes = TCP_FES_SEQUENCE, .header_len = 24 };
	static uint8_t out[CAP];
	struct tcp_tx_pdu term = { 0 };
	size_t left;

	fill_queue();
	tcp_tx_sent(&tx, tcp_tx_pdu_bytes(&pdus[0]) + 1);
	left = tcp_tx_pdu_bytes(&pdus[1]) - 1;
	tcp_tx_cut(&tx);
	ok(told[1] == 0 && told[2] == 1 && told[4] == 1 && tx.bytes == left,
	   "cut: what has begun stays, the rest is given back");
	tcp_build_term(&term, TCP_ROLE_HOST, &e);
	tcp_tx_push(&tx, &term);
	is_u64(send_all(out, CAP, 32), left + 48, "the begun PDU ends, then the TermReq");
	ok(out[left] == TCP_PDU_H2C_TERM && told[1] == 1, "in this order");
}

/* Payload that is lent for a send: placed when it is gathered, anew after each part, or not now. */
static struct {
	bool refuse;
	unsigned int asked, firsts;
	struct iovec rest;
} lender;

static bool lend(struct tcp_tx_pdu *pdu, bool first)
{
	lender.asked++;
	lender.firsts += first;
	if (lender.refuse)
		return false;
	lender.rest = (struct iovec){ payload + pdu->data_sent, pdu->data_len - pdu->data_sent };
	tcp_tx_place(pdu, &lender.rest, 1);
	return true;
}

static void held_payload(void)
{
	enum { N = 600 };
	struct tcp_tx_pdu held = { .sent = NULL };
	struct iovec iov[32];
	size_t head, got = 0;
	bool right = true;
	int n;

	tcp_tx_init(&tx);
	tcp_build_c2h_data(&tx, &held, 1, 0, NULL, 0, N, true, true);
	held.hold = lend;
	tcp_tx_push(&tx, &held);
	head = held.head_len;
	lender.refuse = true;
	is_u64((uint64_t)tcp_tx_gather(&tx, iov, 32), 0, "held: not now, so nothing of it goes");
	ok(lender.asked == 1 && lender.firsts == 1, "held: it was asked once, as the first");
	lender.refuse = false;
	is_u64((uint64_t)tcp_tx_gather(&tx, iov, 2), 0, "held: nor with too few vectors left for it");
	is_u64((uint64_t)tcp_tx_gather(&tx, iov, 3), 2, "held: head and payload");
	tcp_tx_sent(&tx, head + 100);
	for (size_t at = 100; at < N; at += got) {
		n = tcp_tx_gather(&tx, iov, 32);
		right = right && n == 1 && iov[0].iov_base == payload + at && iov[0].iov_len == N - at;
		got = MIN((size_t)77, N - at);
		tcp_tx_sent(&tx, got);
	}
	ok(right && tcp_tx_empty(&tx), "held: in parts, placed anew each time");
	tcp_build_c2h_data(&tx, &held, 1, 0, NULL, 0, N, true, true);
	ok(!held.hold, "held: building forgets it");
}

int main(void)
{
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 13);
	every_size();
	not_before_the_last_byte();
	from_inside();
	behind_a_gather();
	cut_before_a_term();
	held_payload();
	return tap_done();
}
