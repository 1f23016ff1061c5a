/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of random, right PDUs as one end would send them, for tests and for the seed corpus of
 * the fuzzer. Built with the code under test, whose bytes test-golden.c has checked.
 */
#ifndef PENSTOCK_TCP_TEST_STREAM_H
#define PENSTOCK_TCP_TEST_STREAM_H

#include <string.h>

#include "base/rng.h"
#include "base/util.h"
#include "tcp/tx.h"

struct stream {
	uint8_t *bytes;
	size_t len;
	size_t cap;
	unsigned int pdus;
	unsigned int payloads;
};

struct stream_params {
	enum tcp_role from;
	bool hdgst;
	bool ddgst;
	uint8_t pda;
	bool ic; /* begins with ICReq or ICResp */
	unsigned int pdus;
	uint32_t max_data; /* of one payload, a multiple of 4 */
};

static inline void stream_append(struct stream *s, struct tcp_tx *tx, struct tcp_tx_pdu *pdu)
{
	struct iovec iov[8];
	int n;

	tcp_tx_push(tx, pdu);
	n = tcp_tx_gather(tx, iov, ARRAY_SIZE(iov));
	for (int i = 0; i < n; i++) {
		INVARIANT(iov[i].iov_len <= s->cap - s->len);
		memcpy(s->bytes + s->len, iov[i].iov_base, iov[i].iov_len);
		s->len += iov[i].iov_len;
	}
	s->pdus++;
	s->payloads += pdu->data_len > 0;
	tcp_tx_drop(tx);
}

static inline void stream_from_host(struct stream *s, struct rng *rng, struct tcp_tx *tx,
				    struct tcp_tx_pdu *pdu, const struct iovec *data)
{
	uint32_t len = (uint32_t)data->iov_len;
	struct nvme_cmd sqe;

	rng_fill(rng, &sqe, sizeof(sqe));
	switch (rng_below(rng, 4)) {
	case 0:
		tcp_build_h2c_data(tx, pdu, (uint16_t)rng_u64(rng), (uint16_t)rng_u64(rng),
				   (uint32_t)rng_u64(rng), data, 1, len, rng_below(rng, 2));
		break;
	case 1:
		tcp_build_cmd(tx, pdu, &sqe, data, 1, len);
		break;
	default:
		tcp_build_cmd(tx, pdu, &sqe, NULL, 0, 0);
	}
}

static inline void stream_from_controller(struct stream *s, struct rng *rng, struct tcp_tx *tx,
					  struct tcp_tx_pdu *pdu, const struct iovec *data)
{
	uint32_t len = (uint32_t)data->iov_len;
	bool last = rng_below(rng, 2);
	struct nvme_cpl cqe;

	rng_fill(rng, &cqe, sizeof(cqe));
	switch (rng_below(rng, 4)) {
	case 0:
		tcp_build_r2t(tx, pdu, (uint16_t)rng_u64(rng), (uint16_t)rng_u64(rng),
			      (uint32_t)rng_u64(rng), len);
		break;
	case 1:
		tcp_build_rsp(tx, pdu, &cqe);
		break;
	default:
		tcp_build_c2h_data(tx, pdu, (uint16_t)rng_u64(rng), (uint32_t)rng_u64(rng), data, 1,
				   len, last, last && rng_below(rng, 2));
	}
}

/* Appends to @s; @scratch: max_data bytes. */
static inline void stream_make(struct stream *s, struct rng *rng, const struct stream_params *p,
			       uint8_t *scratch)
{
	struct tcp_tx_pdu pdu = { 0 };
	struct tcp_tx tx;

	tcp_tx_init(&tx);
	if (p->ic) {
		if (p->from == TCP_ROLE_HOST)
			tcp_build_icreq(&pdu, p->pda, p->hdgst, p->ddgst, 0);
		else
			tcp_build_icresp(&pdu, p->pda, p->hdgst, p->ddgst, 131072);
		stream_append(s, &tx, &pdu);
	}
	tcp_tx_negotiated(&tx, p->hdgst, p->ddgst, p->pda);
	for (unsigned int i = 0; i < p->pdus; i++) {
		struct iovec data = { scratch, 4 * rng_between(rng, 1, p->max_data / 4) };

		rng_fill(rng, scratch, data.iov_len);
		if (p->from == TCP_ROLE_HOST)
			stream_from_host(s, rng, &tx, &pdu, &data);
		else
			stream_from_controller(s, rng, &tx, &pdu, &data);
		stream_append(s, &tx, &pdu);
	}
}

#endif
