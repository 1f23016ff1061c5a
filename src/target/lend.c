/* SPDX-License-Identifier: Apache-2.0 */
/* Loans of a store's memory for the length of a send; the idea is in lend.h. */
#include "target/lend.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "target/assoc.h"
#include "target/core.h"

int tgt_split_init(struct tgt_split *s, bool ddgst)
{
	s->from = s->to = 0;
	s->bytes = mem_alloc(ddgst ? TGT_SPLIT_DIGEST_BYTES : TGT_SPLIT_BYTES);
	return s->bytes ? 0 : -ENOMEM;
}

void tgt_split_deinit(struct tgt_split *s)
{
	s->bytes = mem_free(s->bytes);
}

bool tgt_lend_possible(const struct tgt_req *req)
{
	return store_info(req->ns->store)->in_memory;
}

uint32_t tgt_lend_chunk(const struct tgt_req *req, uint32_t left)
{
	uint32_t most = MIN(req->assoc->target->limits.c2h_chunk, STORE_LOAN_MAX);

	if (req->assoc->tx.ddgst)
		most = MIN(most, (uint32_t)TGT_SPLIT_DIGEST_BYTES);
	/* A PDU begins with a block. */
	return MIN(left, ALIGN_DOWN(most, (uint32_t)TGT_SPLIT_BYTES));
}

/* Where in the namespace the payload of the present C2HData begins, bytes. */
static uint64_t pdu_offset(const struct tgt_req *req)
{
	return (nvme_cmd_slba(&req->cmd) << req->ns->block_shift) + req->xfer - req->data_pdu.data_len;
}

static bool hold(struct tcp_tx_pdu *pdu, bool first)
{
	struct tgt_req *req = container_of(pdu, struct tgt_req, data_pdu);
	struct tgt_assoc *a = req->assoc;
	struct tgt_split *s = &a->split;
	uint32_t at = pdu->data_sent;
	const uint8_t *p;
	int n = 0;

	if (first && at < s->to) {
		req->part[n++] = (struct iovec){ .iov_base = s->bytes + (at - s->from), .iov_len = s->to - at };
		at = s->to;
	}
	if (at < pdu->data_len) {
		if (!first && a->lent_bytes + pdu->data_len > TGT_LEND_MAX)
			return false;
		p = store_lend(req->ns->store, &req->loan, pdu_offset(req) + at, pdu->data_len - at, first);
		if (!p)
			return false;
		a->lent_bytes += pdu->data_len - at;
		req->lent_at = p - at;
		list_add_tail(&a->lent, &req->link);
		/* Vectors do not say that nobody writes through them. */
		req->part[n++] = (struct iovec){ .iov_base = (void *)(uintptr_t)p, .iov_len = pdu->data_len - at };
	}
	tcp_tx_place(pdu, req->part, n);
	return true;
}

void tgt_lend_begin(struct tgt_req *req)
{
	req->data_pdu.hold = hold;
}

static void take_back(struct tgt_req *req)
{
	list_del(&req->link);
	store_take_back(req->ns->store, &req->loan);
}

void tgt_lend_done(struct tgt_req *req)
{
	struct tgt_split *s = &req->assoc->split;

	if (list_is_linked(&req->link))
		take_back(req);
	/* If something was kept it was of this PDU: one is sent after the other. */
	if (req->data_pdu.data_sent > 0)
		s->from = s->to = 0;
}

/* Keeps the rest of what was sent in part. */
static void split(struct tgt_split *s, const struct tgt_req *req)
{
	uint32_t sent = req->data_pdu.data_sent, block = 1u << req->ns->block_shift;
	uint32_t rest = (block - sent % block) % block;

	if (sent < s->to)
		return; /* still within the last one */
	if (req->assoc->tx.ddgst)
		rest = req->data_pdu.data_len - sent;
	s->from = sent;
	s->to = sent + rest;
	memcpy(s->bytes, req->lent_at + sent, rest);
}

void tgt_lend_take_back(struct tgt_assoc *a)
{
	struct tgt_req *req, *tmp;

	list_for_each_entry_safe (req, tmp, &a->lent, link) {
		if (req->data_pdu.data_sent > 0)
			split(&a->split, req);
		take_back(req);
	}
	a->lent_bytes = 0;
}
