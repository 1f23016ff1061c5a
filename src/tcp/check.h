/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is this header one that the peer may send, here and now? (NVMe/TCP 1.0, 3.3 to 3.6.) A table says
 * what each PDU type is like, two functions hold a received header against it. The first sees only
 * the common header and bounds what the receiver needs to find the header digest; the second runs
 * after the digest was verified and checks all the rest. Where several fields are wrong, the one
 * with the lowest offset is named, as 3.6.2.4 asks.
 *
 * Reserved fields and reserved flag bits are not looked at; flags that the standard defines for some
 * other type are refused. Private to src/tcp.
 */
#ifndef PENSTOCK_TCP_CHECK_H
#define PENSTOCK_TCP_CHECK_H

#include "tcp/pdu.h"
#include "tcp/rx.h"

#define TCP_PDU_TYPES (TCP_PDU_R2T + 1)

/* What a PDU type has behind its header. */
enum tcp_data_rule {
	TCP_DATA_NONE,
	TCP_DATA_CAPSULE, /* maybe in-capsule data; PLEN tells */
	TCP_DATA_COMMAND, /* DATAL bytes, at least one */
	TCP_DATA_TERM,    /* the offending header: no padding, never digests */
};

struct tcp_pdu_rule {
	const char *name;
	uint8_t hlen;  /* 0: reserved type */
	uint8_t flags; /* enum tcp_pdu_flags that have a meaning in it */
	uint8_t to;    /* enum tcp_role of the receiver */
	uint8_t data;  /* enum tcp_data_rule */
};

extern const struct tcp_pdu_rule tcp_pdu_rules[TCP_PDU_TYPES];

/* Why a header is refused, in the terms of a TermReq. */
struct tcp_verdict {
	uint16_t fes; /* TCP_FES_NONE: nothing may be sent in return */
	uint32_t fei;
	const char *reason; /* static; NULL: the header is right */
};

/*
 * @ch: eight bytes. Afterwards the type is known and allowed, HLEN is the type's, HDGSTF is as
 * negotiated and PLEN covers at least the header and its digest. Returns whether that is so.
 */
bool tcp_check_ch(const struct tcp_rx *rx, const struct tcp_ch *ch, struct tcp_verdict *ret_why);

/*
 * @pdu: a whole header that passed tcp_check_ch() and whose digest is right. @ret_data_len: bytes of
 * payload; if there are any, PDO is where they start and they are within the limits of @rx.
 */
bool tcp_check_header(const struct tcp_rx *rx, const union tcp_pdu *pdu, uint32_t *ret_data_len,
		      struct tcp_verdict *ret_why);

/* Whether a header digest follows headers of this rule on @rx. */
static inline bool tcp_rule_hdgst(const struct tcp_rx *rx, const struct tcp_pdu_rule *rule)
{
	return rx->hdgst && (rule->flags & TCP_PDU_HDGST);
}

/* Whether a data digest follows payload of this rule on @rx. */
static inline bool tcp_rule_ddgst(const struct tcp_rx *rx, const struct tcp_pdu_rule *rule)
{
	return rx->ddgst && (rule->flags & TCP_PDU_DDGST);
}

#endif
