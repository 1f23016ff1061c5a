/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of PDUs on their way out. A PDU is three runs of bytes: head (in the PDU itself),
 * payload (the owner's vectors), tail (the digest, in the PDU). Gathering walks the queue from the
 * first unsent byte and changes nothing, so it may be repeated (where nothing is held); only
 * tcp_tx_sent() moves on. It first does all its accounting and then calls the owners, who are free
 * to queue, drop or rebuild.
 */
#include "tcp/tx.h"

#include <string.h>

#include "base/util.h"

void tcp_tx_init(struct tcp_tx *tx)
{
	memset(tx, 0, sizeof(*tx));
	list_init(&tx->queue);
}

void tcp_tx_negotiated(struct tcp_tx *tx, bool hdgst, bool ddgst, uint8_t pda)
{
	INVARIANT(pda <= TCP_PDA_MAX);
	tx->hdgst = hdgst;
	tx->ddgst = ddgst;
	tx->pda = pda;
}

void tcp_tx_push(struct tcp_tx *tx, struct tcp_tx_pdu *pdu)
{
	INVARIANT(!pdu->queued && pdu->head_sent == 0);
	pdu->queued = true;
	tx->bytes += tcp_tx_pdu_bytes(pdu);
	list_add_tail(&tx->queue, &pdu->link);
}

static struct iovec part(uint8_t *bytes, size_t from, size_t to)
{
	return (struct iovec){ .iov_base = bytes + from, .iov_len = to - from };
}

static int gather_data(const struct tcp_tx_pdu *pdu, struct iovec *iov, int max)
{
	size_t off = pdu->data_off;
	int n = 0;

	for (int i = pdu->data_i; i < pdu->ndata && n < max; i++) {
		const struct iovec *v = &pdu->data[i];

		if (v->iov_len > off)
			iov[n++] = part(v->iov_base, off, v->iov_len);
		off = 0;
	}
	return n;
}

/* Whether the vectors that gather_data() gave reach the end of the payload. */
static bool gathered_all(const struct tcp_tx_pdu *pdu, const struct iovec *iov, int n)
{
	size_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += iov[i].iov_len;
	return bytes == pdu->data_len - pdu->data_sent;
}

/* Whether @pdu can be gathered now, as number @n of at most @max vectors. */
static bool in_place(struct tcp_tx_pdu *pdu, int n, int max)
{
	if (!pdu->hold || pdu->data_sent == pdu->data_len)
		return true;
	return max - n > TCP_TX_HELD && pdu->hold(pdu, n == 0);
}

int tcp_tx_gather(struct tcp_tx *tx, struct iovec *iov, int max)
{
	struct tcp_tx_pdu *pdu;
	int n = 0;

	list_for_each_entry (pdu, &tx->queue, link) {
		int first;

		if (n == max || !in_place(pdu, n, max))
			break;
		if (pdu->head_sent < pdu->head_len)
			iov[n++] = part(pdu->head, pdu->head_sent, pdu->head_len);
		if (pdu->data_sent < pdu->data_len) {
			first = n;
			n += gather_data(pdu, iov + first, max - first);
			if (!gathered_all(pdu, iov + first, n - first))
				break;
		}
		if (pdu->tail_sent < pdu->tail_len) {
			if (n == max)
				break;
			iov[n++] = part(pdu->tail, pdu->tail_sent, pdu->tail_len);
		}
	}
	return n;
}

static void advance_data(struct tcp_tx_pdu *pdu, size_t n)
{
	pdu->data_sent += (uint32_t)n;
	while (n > 0) {
		size_t some = MIN(n, pdu->data[pdu->data_i].iov_len - pdu->data_off);

		pdu->data_off += some;
		n -= some;
		if (pdu->data_off == pdu->data[pdu->data_i].iov_len) {
			pdu->data_i++;
			pdu->data_off = 0;
		}
	}
}

/* Takes up to @n bytes off @pdu; returns how many. */
static size_t advance(struct tcp_tx_pdu *pdu, size_t n)
{
	size_t head = MIN(n, (size_t)pdu->head_len - pdu->head_sent);
	size_t data = MIN(n - head, (size_t)pdu->data_len - pdu->data_sent);
	size_t tail = MIN(n - head - data, (size_t)pdu->tail_len - pdu->tail_sent);

	pdu->head_sent += (uint16_t)head;
	if (data > 0)
		advance_data(pdu, data);
	pdu->tail_sent += (uint8_t)tail;
	return head + data + tail;
}

static bool is_out(const struct tcp_tx_pdu *pdu)
{
	return pdu->head_sent == pdu->head_len && pdu->data_sent == pdu->data_len &&
	       pdu->tail_sent == pdu->tail_len;
}

/* Gives every PDU of @list back to its owner, who may destroy it or build and queue it again. */
static void give_back(struct list *list)
{
	struct tcp_tx_pdu *pdu;

	while ((pdu = list_pop_entry(list, struct tcp_tx_pdu, link))) {
		pdu->queued = false;
		if (pdu->sent)
			pdu->sent(pdu);
	}
}

void tcp_tx_sent(struct tcp_tx *tx, size_t n)
{
	struct list out = LIST_INIT(out);
	struct tcp_tx_pdu *pdu;

	INVARIANT(n <= tx->bytes);
	tx->bytes -= n;
	while (n > 0) {
		pdu = list_first_entry(&tx->queue, struct tcp_tx_pdu, link);
		n -= advance(pdu, n);
		if (is_out(pdu)) {
			list_del(&pdu->link);
			list_add_tail(&out, &pdu->link);
		}
	}
	give_back(&out);
}

void tcp_tx_drop(struct tcp_tx *tx)
{
	struct list out = LIST_INIT(out);

	tx->bytes = 0;
	list_splice_tail(&out, &tx->queue);
	give_back(&out);
}

void tcp_tx_cut(struct tcp_tx *tx)
{
	struct list out = LIST_INIT(out);
	struct tcp_tx_pdu *pdu, *next;

	list_for_each_entry_safe (pdu, next, &tx->queue, link) {
		if (pdu->head_sent > 0)
			continue;
		tx->bytes -= tcp_tx_pdu_bytes(pdu);
		list_del(&pdu->link);
		list_add_tail(&out, &pdu->link);
	}
	give_back(&out);
}
