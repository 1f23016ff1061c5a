/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving machine. Bytes arrive in two places: payload whose place is known goes straight
 * there, everything else into the staging buffer, and tcp_rx_next() takes from staging only. So
 * there is one parser whatever way the stream was cut, and a header is looked at only when all of
 * it is there: the same bytes give the same events. The price is that a header which is only half
 * there is moved to the front of staging (at most 255 bytes) and checked again when more has come.
 */
#include "tcp/rx.h"

#include <string.h>

#include "base/crc32c.h"
#include "base/util.h"
#include "tcp/check.h"

/* The longest header with digest and padding, PDO's 255, and as much again for what follows. */
#define STAGE_MIN 512

enum rx_state {
	RX_HEADER,   /* a header comes next */
	RX_ANSWER,   /* its payload waits for land, borrow or discard */
	RX_LAND,     /* payload is going where the owner said */
	RX_DISCARD,  /* payload is being dropped */
	RX_BORROWED, /* payload lies in staging, the owner is looking at it */
	RX_FAILED,
};

void tcp_rx_init(struct tcp_rx *rx, const struct tcp_rx_options *opts, void *stage, size_t cap)
{
	INVARIANT(cap >= STAGE_MIN);
	memset(rx, 0, sizeof(*rx));
	rx->opts = *opts;
	rx->stage = stage;
	rx->cap = cap;
	rx->state = RX_HEADER;
	rx->ddgst_ok = true;
}

void tcp_rx_negotiated(struct tcp_rx *rx, bool hdgst, bool ddgst, uint8_t pda)
{
	INVARIANT(pda <= TCP_PDA_MAX);
	rx->hdgst = hdgst;
	rx->ddgst = ddgst;
	rx->pda = pda;
}

static size_t staged(const struct tcp_rx *rx)
{
	return rx->tail - rx->head;
}

static uint32_t read_le32(const uint8_t *at)
{
	le32 v;

	memcpy(&v, at, sizeof(v));
	return le32_to_cpu(v);
}

static enum tcp_rx_event fail(struct tcp_rx *rx, const struct tcp_verdict *why,
			      const void *header, uint8_t len)
{
	rx->error.fes = why->fes;
	rx->error.fei = why->fei;
	rx->error.reason = why->reason;
	memcpy(rx->error.header, header, len);
	rx->error.header_len = len;
	rx->state = RX_FAILED;
	return TCP_RX_ERROR;
}

/* ---- where bytes go ------------------------------------------------------------------------ */

/*
 * @n bytes of payload are at their place (@src NULL), or are copied there. The digest goes over
 * them at once, while they are in the cache.
 */
static void land_bytes(struct tcp_rx *rx, const uint8_t *src, size_t n)
{
	while (n > 0) {
		const struct iovec *v = &rx->land[rx->land_i];
		uint8_t *dst = (uint8_t *)v->iov_base + rx->land_off;
		size_t some = MIN(n, v->iov_len - rx->land_off);

		if (src) {
			memcpy(dst, src, some);
			src += some;
		}
		if (rx->digest)
			rx->crc = crc32c(rx->crc, dst, some);
		rx->data_done += (uint32_t)some;
		rx->land_off += some;
		n -= some;
		if (rx->land_off == v->iov_len) {
			rx->land_i++;
			rx->land_off = 0;
		}
	}
}

/* Takes payload that is in staging; returns whether all of it is there. */
static bool take_staged(struct tcp_rx *rx)
{
	size_t left = rx->data_len - rx->data_done;
	size_t some = MIN(staged(rx), left);

	if (some > 0) {
		if (rx->state == RX_LAND)
			land_bytes(rx, rx->stage + rx->head, some);
		else
			rx->data_done += (uint32_t)some;
		rx->head += some;
	}
	return some == left;
}

/* What is in staging goes to its front. Nobody looks at it any more: see tcp_rx_borrow(). */
static void compact(struct tcp_rx *rx)
{
	size_t n = staged(rx);

	if (n > 0 && rx->head > 0)
		memmove(rx->stage, rx->stage + rx->head, n);
	rx->head = 0;
	rx->tail = n;
}

/* Vectors for the rest of the payload; returns how many, and in rx->direct how many bytes. */
static int land_iov(struct tcp_rx *rx, struct iovec *iov, int max)
{
	size_t off = rx->land_off;
	int n = 0;

	for (int i = rx->land_i; i < rx->land_n && n < max; i++) {
		const struct iovec *v = &rx->land[i];

		if (v->iov_len > off) {
			iov[n].iov_base = (uint8_t *)v->iov_base + off;
			iov[n].iov_len = v->iov_len - off;
			rx->direct += iov[n].iov_len;
			n++;
		}
		off = 0;
	}
	return n;
}

int tcp_rx_iov(struct tcp_rx *rx, struct iovec *iov, int max, size_t hint)
{
	size_t space;
	int n = 0;

	INVARIANT(max >= 2 && rx->state != RX_ANSWER && rx->state != RX_BORROWED);
	rx->direct = 0;
	if (rx->state == RX_FAILED)
		return 0;
	if (rx->state == RX_LAND || rx->state == RX_DISCARD)
		take_staged(rx);
	compact(rx);
	if (rx->state == RX_LAND) {
		n = land_iov(rx, iov, max - 1);
		if (rx->direct < rx->data_len - rx->data_done)
			return n;
	}
	space = rx->cap - rx->tail;
	if (hint > 0 && hint < space)
		space = hint;
	if (space > 0) {
		iov[n].iov_base = rx->stage + rx->tail;
		iov[n].iov_len = space;
		n++;
	}
	INVARIANT(n > 0); /* full of events that the owner did not take */
	return n;
}

void tcp_rx_received(struct tcp_rx *rx, size_t n)
{
	size_t direct = MIN(n, rx->direct);

	rx->direct -= direct;
	if (rx->state == RX_FAILED)
		return;
	if (rx->state == RX_LAND)
		land_bytes(rx, NULL, direct);
	else
		rx->data_done += (uint32_t)direct; /* the place was taken back meanwhile */
	n -= direct;
	INVARIANT(n <= rx->cap - rx->tail);
	rx->tail += n;
}

/* ---- events -------------------------------------------------------------------------------- */

/* Fixed sizes, so that the compiler makes them a few moves. */
static void copy_header(union tcp_pdu *pdu, const uint8_t *at, uint8_t hlen)
{
	if (hlen == sizeof(pdu->data))
		memcpy(pdu, at, sizeof(pdu->data));
	else if (hlen == sizeof(pdu->cmd))
		memcpy(pdu, at, sizeof(pdu->cmd));
	else
		memcpy(pdu, at, sizeof(pdu->icreq));
}

static enum tcp_rx_event next_header(struct tcp_rx *rx)
{
	const uint8_t *at = rx->stage + rx->head;
	const struct tcp_ch *ch = (const struct tcp_ch *)(const void *)at;
	const struct tcp_pdu_rule *rule;
	struct tcp_verdict why;
	size_t whole;

	if (staged(rx) < sizeof(*ch))
		return TCP_RX_NEED_MORE;
	if (!tcp_check_ch(rx, ch, &why))
		return fail(rx, &why, at, sizeof(*ch));

	rule = &tcp_pdu_rules[ch->type];
	whole = rule->hlen;
	if (tcp_rule_hdgst(rx, rule)) {
		whole += TCP_DIGEST_LEN;
		if (staged(rx) < whole)
			return TCP_RX_NEED_MORE;
		why.fei = read_le32(at + rule->hlen);
		if (why.fei != crc32c(0, at, rule->hlen)) {
			why.fes = TCP_FES_HDGST;
			why.reason = "header_digest";
			return fail(rx, &why, at, rule->hlen);
		}
	}
	if (staged(rx) < whole)
		return TCP_RX_NEED_MORE;

	copy_header(&rx->pdu, at, rule->hlen);
	if (!tcp_check_header(rx, &rx->pdu, &rx->data_len, &why))
		return fail(rx, &why, at, rule->hlen);
	if (rx->data_len > 0 && rule->data != TCP_DATA_TERM) {
		whole = ch->pdo;
		if (staged(rx) < whole)
			return TCP_RX_NEED_MORE;
	}

	rx->head += whole;
	rx->connected |= rule->data == TCP_DATA_NONE; /* at first that is ICReq and ICResp alone */
	if (rx->data_len > 0) {
		rx->data_done = 0;
		rx->crc = 0;
		rx->digest = tcp_rule_ddgst(rx, rule);
		rx->state = RX_ANSWER;
	}
	return TCP_RX_PDU;
}

/* The payload is complete, its digest may not be. */
static enum tcp_rx_event end_payload(struct tcp_rx *rx)
{
	rx->ddgst_ok = true;
	if (rx->digest) {
		if (staged(rx) < TCP_DIGEST_LEN)
			return TCP_RX_NEED_MORE;
		if (rx->state == RX_LAND)
			rx->ddgst_ok = rx->crc == read_le32(rx->stage + rx->head);
		rx->head += TCP_DIGEST_LEN;
	}
	rx->land = NULL;
	rx->state = RX_HEADER;
	return TCP_RX_DATA;
}

/* All of it was in staging; its digest was verified when it was borrowed. */
static enum tcp_rx_event end_borrow(struct tcp_rx *rx)
{
	rx->data_done = rx->data_len;
	rx->head += rx->data_len + (rx->digest ? TCP_DIGEST_LEN : 0);
	rx->state = RX_HEADER;
	return TCP_RX_DATA;
}

enum tcp_rx_event tcp_rx_next(struct tcp_rx *rx)
{
	switch ((enum rx_state)rx->state) {
	case RX_HEADER:
		return next_header(rx);
	case RX_LAND:
	case RX_DISCARD:
		return take_staged(rx) ? end_payload(rx) : TCP_RX_NEED_MORE;
	case RX_BORROWED:
		return end_borrow(rx);
	case RX_FAILED:
		return TCP_RX_ERROR;
	case RX_ANSWER:
		break;
	}
	INVARIANT(rx->state != RX_ANSWER); /* the owner owes land, borrow or discard */
	return TCP_RX_ERROR;
}

const union tcp_pdu *tcp_rx_pdu(const struct tcp_rx *rx)
{
	return &rx->pdu;
}

uint32_t tcp_rx_data_len(const struct tcp_rx *rx)
{
	return rx->data_len;
}

/* ---- answers ------------------------------------------------------------------------------- */

void tcp_rx_land(struct tcp_rx *rx, const struct iovec *iov, int niov)
{
	size_t sum = 0;

	INVARIANT(rx->state == RX_ANSWER);
	for (int i = 0; i < niov; i++)
		sum += iov[i].iov_len;
	INVARIANT(sum == rx->data_len);
	rx->land = iov;
	rx->land_n = niov;
	rx->land_i = 0;
	rx->land_off = 0;
	rx->state = RX_LAND;
}

const void *tcp_rx_borrow(struct tcp_rx *rx)
{
	size_t digest = rx->digest ? TCP_DIGEST_LEN : 0;
	const uint8_t *at = rx->stage + rx->head;

	INVARIANT(rx->state == RX_ANSWER);
	if (staged(rx) < digest || staged(rx) - digest < rx->data_len)
		return NULL;
	rx->ddgst_ok = !rx->digest ||
		       crc32c(0, at, rx->data_len) == read_le32(at + rx->data_len);
	rx->state = RX_BORROWED;
	return at;
}

void tcp_rx_discard(struct tcp_rx *rx)
{
	INVARIANT(rx->state == RX_ANSWER);
	rx->state = RX_DISCARD;
}

void tcp_rx_unland(struct tcp_rx *rx)
{
	if (rx->state != RX_LAND)
		return;
	rx->land = NULL;
	rx->state = RX_DISCARD;
}

bool tcp_rx_ddgst_ok(const struct tcp_rx *rx)
{
	return rx->ddgst_ok;
}

const struct tcp_error *tcp_rx_error(const struct tcp_rx *rx)
{
	return &rx->error;
}

void tcp_rx_fail(struct tcp_rx *rx, uint16_t fes, uint32_t fei, const char *reason)
{
	struct tcp_verdict why = { .fes = fes, .fei = fei, .reason = reason };

	if (rx->state != RX_FAILED)
		fail(rx, &why, &rx->pdu, tcp_pdu_hlen(rx->pdu.ch.type));
}

bool tcp_rx_partial(const struct tcp_rx *rx)
{
	return rx->state != RX_FAILED && (rx->state != RX_HEADER || staged(rx) > 0);
}
