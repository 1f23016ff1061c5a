/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds a byte stream to a receiver, cut into pieces as a seed says, and sums up all that came out
 * of it in one hash: headers, payloads, digests' verdicts, the error, and whether something was
 * half-way at the end. The property under test, here and in tests/fuzz: the sum depends on the
 * bytes alone, not on the cuts, the staging size, the hints, or where payload was landed.
 */
#ifndef PENSTOCK_TCP_TEST_FEED_H
#define PENSTOCK_TCP_TEST_FEED_H

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "base/util.h"
#include "tcp/rx.h"

struct feed_params {
	enum tcp_role role;
	bool hdgst;
	bool ddgst;
	uint8_t pda;
	bool connected; /* past ICReq and ICResp from the start */
	uint32_t max_data;
	uint32_t max_icd;
	uint64_t answers; /* seed: which payloads are discarded; part of the result */
};

struct feed_cuts {
	size_t piece; /* bytes a receive at most; 0: random */
	size_t stage; /* 512 to 65536 */
	uint64_t seed; /* pieces, hints, vectors, land or borrow: not part of the result */
};

struct feed_result {
	uint64_t hash;
	unsigned int pdus;
	unsigned int payloads;
	unsigned int bad_digests;
	bool failed;
	struct tcp_error error;
};

struct feed_run {
	struct tcp_rx rx;
	const struct feed_params *params;
	const struct feed_cuts *cuts;
	struct rng rng;
	struct rng answers;
	bool dropped;
	const uint8_t *payload; /* landed or borrowed */
	uint8_t *memory;
	struct iovec land[8];
	struct feed_result *res;
};

/* Cuts @len bytes at @p into vectors, some of them empty. */
static inline int feed_vectors(struct rng *rng, uint8_t *p, size_t len, struct iovec *iov, int max)
{
	int n = 0;

	while (n < max - 1 && len > 0 && rng_chance_ppm(rng, 700000)) {
		size_t some = rng_below(rng, len + 1);

		iov[n++] = (struct iovec){ .iov_base = p, .iov_len = some };
		p += some;
		len -= some;
	}
	iov[n++] = (struct iovec){ .iov_base = p, .iov_len = len };
	return n;
}

static inline void feed_answer(struct feed_run *f)
{
	uint32_t len = tcp_rx_data_len(&f->rx);

	f->payload = NULL;
	f->dropped = rng_chance_ppm(&f->answers, 200000);
	if (f->dropped) {
		tcp_rx_discard(&f->rx);
		return;
	}
	if (rng_chance_ppm(&f->rng, 500000))
		f->payload = tcp_rx_borrow(&f->rx);
	if (!f->payload) {
		/* Exactly as long as the payload, so that a sanitizer sees one byte too many. */
		free(f->memory);
		f->memory = malloc(len);
		INVARIANT(f->memory);
		f->payload = f->memory;
		tcp_rx_land(&f->rx, f->land,
			    feed_vectors(&f->rng, f->memory, len, f->land, ARRAY_SIZE(f->land)));
	}
}

static inline void feed_pdu(struct feed_run *f)
{
	const union tcp_pdu *pdu = tcp_rx_pdu(&f->rx);
	uint32_t len = tcp_rx_data_len(&f->rx);

	f->res->pdus++;
	f->res->hash = hash_bytes(f->res->hash, pdu->bytes, tcp_pdu_hlen(pdu->ch.type));
	f->res->hash = hash_u64(f->res->hash, len);
	if (pdu->ch.type == TCP_PDU_ICREQ || pdu->ch.type == TCP_PDU_ICRESP)
		tcp_rx_negotiated(&f->rx, f->params->hdgst, f->params->ddgst, f->params->pda);
	if (len > 0)
		feed_answer(f);
}

static inline void feed_data(struct feed_run *f)
{
	bool right = tcp_rx_ddgst_ok(&f->rx);

	f->res->payloads++;
	f->res->bad_digests += !right;
	f->res->hash = hash_u64(f->res->hash, right);
	if (!f->dropped)
		f->res->hash = hash_bytes(f->res->hash, f->payload, tcp_rx_data_len(&f->rx));
}

/* Takes all events. */
static inline void feed_drain(struct feed_run *f)
{
	for (;;) {
		switch (tcp_rx_next(&f->rx)) {
		case TCP_RX_NEED_MORE:
			return;
		case TCP_RX_PDU:
			feed_pdu(f);
			break;
		case TCP_RX_DATA:
			feed_data(f);
			break;
		case TCP_RX_ERROR:
			f->res->failed = true;
			f->res->error = *tcp_rx_error(&f->rx);
			f->res->hash = hash_u64(f->res->hash, f->res->error.fes);
			f->res->hash = hash_u64(f->res->hash, f->res->error.fei);
			f->res->hash = hash_str(f->res->hash, f->res->error.reason);
			f->res->hash = hash_bytes(f->res->hash, f->res->error.header,
						  f->res->error.header_len);
			return;
		}
	}
}

/* One receive of at most @len bytes; returns how many it took. */
static inline size_t feed_piece(struct feed_run *f, const uint8_t *bytes, size_t len)
{
	size_t hint = rng_chance_ppm(&f->rng, 500000) ? 0 : rng_between(&f->rng, 1, 300);
	struct iovec iov[9];
	int n = tcp_rx_iov(&f->rx, iov, (int)rng_between(&f->rng, 2, ARRAY_SIZE(iov)), hint);
	size_t most = f->cuts->piece ? f->cuts->piece : rng_between(&f->rng, 1, 2 * len);
	size_t done = 0;

	INVARIANT(n > 0);
	most = MIN(most, len);
	for (int i = 0; i < n && done < most; i++) {
		size_t some = MIN(iov[i].iov_len, most - done);

		INVARIANT(iov[i].iov_len > 0);
		memcpy(iov[i].iov_base, bytes + done, some);
		done += some;
	}
	tcp_rx_received(&f->rx, done);
	return done;
}

static inline void feed(const struct feed_params *params, const struct feed_cuts *cuts,
			const uint8_t *bytes, size_t len, struct feed_result *res)
{
	struct tcp_rx_options opts = { .role = params->role,
				       .max_data = params->max_data,
				       .max_icd = params->max_icd };
	struct feed_run f = { .params = params, .cuts = cuts, .res = res };
	uint8_t *stage = malloc(cuts->stage);
	size_t at = 0;

	INVARIANT(stage);
	*res = (struct feed_result){ .hash = HASH_INIT };
	rng_init(&f.rng, cuts->seed);
	rng_init(&f.answers, params->answers);
	tcp_rx_init(&f.rx, &opts, stage, cuts->stage);
	if (params->connected) {
		f.rx.connected = true;
		tcp_rx_negotiated(&f.rx, params->hdgst, params->ddgst, params->pda);
	}
	while (at < len && !res->failed) {
		at += feed_piece(&f, bytes + at, len - at);
		feed_drain(&f);
	}
	res->hash = hash_u64(res->hash, tcp_rx_partial(&f.rx));
	free(f.memory);
	free(stage);
}

#endif
