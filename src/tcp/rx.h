/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving half of NVMe/TCP framing, for both ends, without I/O. The owner asks where the
 * next bytes belong, receives into that scatter list in one call, says how many came, and then
 * takes events until there are none:
 *
 *	n = tcp_rx_iov(rx, iov, IOV)        where bytes belong: rest of a payload first, then staging
 *	... receive ...
 *	tcp_rx_received(rx, bytes)
 *	while ((ev = tcp_rx_next(rx)) != TCP_RX_NEED_MORE) switch (ev) {
 *	case TCP_RX_PDU:    a whole, checked header: tcp_rx_pdu(), tcp_rx_data_len().
 *	                    If data_len > 0, answer before the next tcp_rx_next() with one of
 *	                    tcp_rx_land(iov), tcp_rx_borrow() or tcp_rx_discard().
 *	case TCP_RX_DATA:   that payload is complete; tcp_rx_ddgst_ok() tells of its digest.
 *	case TCP_RX_ERROR:  fatal, for good: tcp_rx_error().
 *	}
 *
 * What it checks, before the owner sees a PDU: the type is one that the other end may send, and
 * allowed now (ICReq or ICResp first and only once); HLEN, PDO, PLEN, flags and padding as the
 * type and the negotiated parameters want them (section 3.6); header digest; payload within
 * max_data. What it does not know: commands, tags, offsets. Those are the owner's.
 *
 * Payload bytes that came in together with headers lie in the staging buffer and are copied out
 * (or borrowed in place); all others are received into their final place.
 */
#ifndef PENSTOCK_TCP_RX_H
#define PENSTOCK_TCP_RX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "tcp/pdu.h"

enum tcp_role {
	TCP_ROLE_CONTROLLER, /* receives what hosts send */
	TCP_ROLE_HOST,
};

enum tcp_rx_event {
	TCP_RX_NEED_MORE,
	TCP_RX_PDU,
	TCP_RX_DATA,
	TCP_RX_ERROR,
};

struct tcp_error {
	/* enum tcp_fes. NONE: a malformed TermReq, which is not answered but only closed on (3.5). */
	uint16_t fes;
	uint32_t fei;       /* offset of the field within the header, or what the FES says it holds */
	const char *reason; /* static text, for a log line and a counter */
	/* Of the offending PDU, as received: whole, or its first 8 bytes where already those were wrong. */
	uint8_t header[TCP_TERM_DATA_MAX];
	uint8_t header_len;
};

struct tcp_rx_options {
	enum tcp_role role;
	/*
	 * Longest payload accepted in one PDU. Command capsules have a limit of their own: in-capsule
	 * data (section 3.6.2.3), the admin queue's is 8192 whatever IOCCSZ says.
	 */
	uint32_t max_data;
	uint32_t max_icd;
};

struct tcp_rx; /* layout below, for embedding; fields are private */

/* @stage: staging buffer of @cap bytes (at least 512), the caller's, for the life of @rx. */
void tcp_rx_init(struct tcp_rx *rx, const struct tcp_rx_options *opts, void *stage, size_t cap);

/* After ICReq/ICResp: what both ends agreed on. @pda: padding that the peer's data PDUs must have. */
void tcp_rx_negotiated(struct tcp_rx *rx, bool hdgst, bool ddgst, uint8_t pda);

/*
 * Fills at most @max vectors (2 or more) in order; returns how many. Never 0 while the stream is
 * healthy. @hint: how many bytes of staging are worth asking for (0 = all there is): a smaller
 * hint leaves a large payload in the socket until its final place is known. Call it when
 * tcp_rx_next() has said TCP_RX_NEED_MORE; what it gave stays in use until tcp_rx_received().
 */
int tcp_rx_iov(struct tcp_rx *rx, struct iovec *iov, int max, size_t hint);
void tcp_rx_received(struct tcp_rx *rx, size_t n);
enum tcp_rx_event tcp_rx_next(struct tcp_rx *rx);

/* Valid from TCP_RX_PDU until the tcp_rx_next() after its TCP_RX_DATA (or after it, if no data). */
const union tcp_pdu *tcp_rx_pdu(const struct tcp_rx *rx);
uint32_t tcp_rx_data_len(const struct tcp_rx *rx);

/*
 * Where the payload of the present PDU goes: vectors that sum to its length exactly. The array
 * (not only the memory) stays the caller's and unchanged until TCP_RX_DATA.
 */
void tcp_rx_land(struct tcp_rx *rx, const struct iovec *iov, int niov);
/*
 * The payload where it lies in staging, if all of it (with its digest) is there; NULL otherwise,
 * and then land or discard must follow. The memory is valid until the next tcp_rx_iov(). The
 * digest is checked: TCP_RX_DATA follows from the next tcp_rx_next().
 */
const void *tcp_rx_borrow(struct tcp_rx *rx);
void tcp_rx_discard(struct tcp_rx *rx);
/*
 * The place given by tcp_rx_land() goes away before the payload is complete (its command was
 * aborted or timed out): the rest of it is discarded, TCP_RX_DATA still comes. Without effect when
 * nothing is landing. A receive that is under way into that place must end first.
 */
void tcp_rx_unland(struct tcp_rx *rx);

/*
 * At TCP_RX_DATA: was the data digest right? True without digests, and for discarded payload, whose
 * digest is not looked at. Not fatal by itself (3.5).
 */
bool tcp_rx_ddgst_ok(const struct tcp_rx *rx);
const struct tcp_error *tcp_rx_error(const struct tcp_rx *rx);
/*
 * The owner found an error in the present PDU: from here tcp_rx_next() says TCP_RX_ERROR. @reason
 * is static text. Without effect after an earlier error: the first one is the one that is told.
 */
void tcp_rx_fail(struct tcp_rx *rx, uint16_t fes, uint32_t fei, const char *reason);
/* Bytes received and not yet taken as events: something is half-way (for transfer time limits). */
bool tcp_rx_partial(const struct tcp_rx *rx);

struct tcp_rx {
	struct tcp_rx_options opts;
	uint8_t *stage;
	size_t cap;
	size_t head; /* stage[head, tail): received, not yet taken */
	size_t tail;
	uint8_t state;
	uint8_t pda;
	bool hdgst;
	bool ddgst;
	bool connected; /* ICReq or ICResp was seen */
	bool digest;    /* a data digest follows the present payload */
	bool ddgst_ok;

	uint32_t data_len;  /* of the present payload */
	uint32_t data_done; /* landed or discarded so far */
	uint32_t crc;       /* of what has landed */
	const struct iovec *land;
	int land_n;
	int land_i;      /* the vector that is being filled, */
	size_t land_off; /* and how much of it is */
	size_t direct;   /* bytes of the last tcp_rx_iov() that are payload, ahead of the staging */
	union tcp_pdu pdu;
	struct tcp_error error;
};

#endif
