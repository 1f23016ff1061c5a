/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sending half of NVMe/TCP framing, for both ends, without I/O: PDUs are built into a struct
 * tcp_tx_pdu embedded in its owner (no allocation), queued in order, gathered into one scatter
 * list for one send call, and given back to their owners once their last byte was taken by the
 * stream. Header and data digests and padding are added here. Payload is never copied: it must
 * stay unchanged until the PDU's sent function is called. A struct tcp_tx_pdu is zeroed before first use.
 */
#ifndef PENSTOCK_TCP_TX_H
#define PENSTOCK_TCP_TX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/list.h"
#include "tcp/pdu.h"
#include "tcp/rx.h"

struct tcp_tx_pdu {
	struct list link;
	void (*sent)(struct tcp_tx_pdu *pdu); /* or NULL: the owner does not care */
	const struct iovec *data;             /* payload, or NULL */
	int ndata;
	uint32_t data_len;
	/*
	 * For payload that lies still only for the length of a send; NULL after each build. Called
	 * when it is about to be gathered: puts what is left of it into place (tcp_tx_place()), in
	 * at most TCP_TX_HELD vectors, or says false: not now, and gathering ends before this PDU.
	 * @first: it would be the first of the list. Built without vectors; its data digest is computed
	 * when it is placed for the last time before a byte of it goes.
	 */
	bool (*hold)(struct tcp_tx_pdu *pdu, bool first);
	/* The rest is private. */
	uint32_t data_sent;
	int data_i;      /* the vector that is being sent, */
	size_t data_off; /* and how much of it is */
	uint16_t head_len; /* header + header digest + padding up to PDO */
	uint16_t head_sent;
	uint8_t tail_len; /* data digest */
	uint8_t tail_sent;
	bool queued;
	uint8_t tail[TCP_DIGEST_LEN];
	uint8_t head[128 + TCP_DIGEST_LEN + 4 * (TCP_PDA_MAX + 1)];
};

enum { TCP_TX_HELD = 2 };

struct tcp_tx {
	struct list queue;
	bool hdgst;
	bool ddgst;
	uint8_t pda; /* alignment that the peer asked for: data starts at a multiple of (pda + 1) * 4 */
	size_t bytes; /* queued and not yet sent */
};

void tcp_tx_init(struct tcp_tx *tx);
void tcp_tx_negotiated(struct tcp_tx *tx, bool hdgst, bool ddgst, uint8_t pda);

/*
 * Builders: fill @pdu (header, digests, padding), all but its sent function, which is the owner's
 * to set. @data vectors sum to @data_len and, with the memory behind them, stay the caller's and
 * unchanged from here until sent: the data digest is computed at build time. What is built before
 * tcp_tx_negotiated() has no digests. A PDU may be built again once it was sent or dropped.
 */
void tcp_build_icreq(struct tcp_tx_pdu *pdu, uint8_t hpda, bool hdgst, bool ddgst, uint32_t maxr2t);
void tcp_build_icresp(struct tcp_tx_pdu *pdu, uint8_t cpda, bool hdgst, bool ddgst, uint32_t maxh2cdata);
void tcp_build_cmd(const struct tcp_tx *tx, struct tcp_tx_pdu *pdu, const struct nvme_cmd *sqe,
		   const struct iovec *data, int ndata, uint32_t data_len);
void tcp_build_rsp(const struct tcp_tx *tx, struct tcp_tx_pdu *pdu, const struct nvme_cpl *cqe);
void tcp_build_h2c_data(const struct tcp_tx *tx, struct tcp_tx_pdu *pdu, uint16_t cccid, uint16_t ttag,
			uint32_t datao, const struct iovec *data, int ndata, uint32_t data_len, bool last);
void tcp_build_c2h_data(const struct tcp_tx *tx, struct tcp_tx_pdu *pdu, uint16_t cccid, uint32_t datao,
			const struct iovec *data, int ndata, uint32_t data_len, bool last, bool success);
void tcp_build_r2t(const struct tcp_tx *tx, struct tcp_tx_pdu *pdu, uint16_t cccid, uint16_t ttag,
		   uint32_t r2to, uint32_t r2tl);
/* H2CTermReq or C2HTermReq by @role (of the sender), with the offending header of @e. Never digests. */
void tcp_build_term(struct tcp_tx_pdu *pdu, enum tcp_role role, const struct tcp_error *e);

/* @pdu: built, not queued. */
void tcp_tx_push(struct tcp_tx *tx, struct tcp_tx_pdu *pdu);
/* Next bytes to send, at most @max vectors; returns how many, 0 when nothing is queued. */
int tcp_tx_gather(struct tcp_tx *tx, struct iovec *iov, int max);
/* For hold(): the vectors of what is left to send of the payload of @pdu. */
void tcp_tx_place(struct tcp_tx_pdu *pdu, const struct iovec *data, int ndata);
/*
 * @n bytes of the gathered list were taken; calls sent() of each PDU that is now out, in order.
 * PDUs queued after the gather are fine: they are behind it.
 */
void tcp_tx_sent(struct tcp_tx *tx, size_t n);
/* Bytes of one PDU on the wire. */
static inline size_t tcp_tx_pdu_bytes(const struct tcp_tx_pdu *pdu)
{
	return (size_t)pdu->head_len + pdu->data_len + pdu->tail_len;
}
/* Takes every PDU off the queue without sending and calls sent() of each: the stream is gone. */
void tcp_tx_drop(struct tcp_tx *tx);
/*
 * The same for those of which no byte has gone yet: a PDU that has begun must end, also before a
 * TermReq. Not while a gathered list is being sent.
 */
void tcp_tx_cut(struct tcp_tx *tx);
static inline bool tcp_tx_empty(const struct tcp_tx *tx)
{
	return list_empty(&tx->queue);
}

#endif
