/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks of check.h. The table comes first; after it, each function goes through the fields in
 * the order of their offsets and returns at the first that is wrong. What differs between types is
 * data in the table and in the switch on the kind of payload, so a new PDU type is a new line.
 */
#include "tcp/check.h"

#include <stddef.h>

#include "base/check.h"

#define DIGESTS (TCP_PDU_HDGST | TCP_PDU_DDGST)
/* All flags that any type defines; the other bits are reserved and not looked at. */
#define FLAGS_DEFINED (DIGESTS | TCP_PDU_LAST | TCP_PDU_SUCCESS)

#define OFFSET_TYPE  offsetof(struct tcp_ch, type)
#define OFFSET_FLAGS offsetof(struct tcp_ch, flags)
#define OFFSET_HLEN  offsetof(struct tcp_ch, hlen)
#define OFFSET_PDO   offsetof(struct tcp_ch, pdo)
#define OFFSET_PLEN  offsetof(struct tcp_ch, plen)

/* Figure 10 and the figures of 3.6.2.2 to 3.6.2.10. */
const struct tcp_pdu_rule tcp_pdu_rules[TCP_PDU_TYPES] = {
	[TCP_PDU_ICREQ] = { "ICReq", sizeof(struct tcp_icreq), 0, TCP_ROLE_CONTROLLER,
			    TCP_DATA_NONE },
	[TCP_PDU_ICRESP] = { "ICResp", sizeof(struct tcp_icresp), 0, TCP_ROLE_HOST,
			     TCP_DATA_NONE },
	[TCP_PDU_H2C_TERM] = { "H2CTermReq", sizeof(struct tcp_term), 0, TCP_ROLE_CONTROLLER,
			       TCP_DATA_TERM },
	[TCP_PDU_C2H_TERM] = { "C2HTermReq", sizeof(struct tcp_term), 0, TCP_ROLE_HOST,
			       TCP_DATA_TERM },
	[TCP_PDU_CMD] = { "CapsuleCmd", sizeof(struct tcp_cmd), DIGESTS, TCP_ROLE_CONTROLLER,
			  TCP_DATA_CAPSULE },
	[TCP_PDU_RSP] = { "CapsuleResp", sizeof(struct tcp_rsp), TCP_PDU_HDGST, TCP_ROLE_HOST,
			  TCP_DATA_NONE },
	[TCP_PDU_H2C_DATA] = { "H2CData", sizeof(struct tcp_data), DIGESTS | TCP_PDU_LAST,
			       TCP_ROLE_CONTROLLER, TCP_DATA_COMMAND },
	[TCP_PDU_C2H_DATA] = { "C2HData", sizeof(struct tcp_data),
			       DIGESTS | TCP_PDU_LAST | TCP_PDU_SUCCESS, TCP_ROLE_HOST,
			       TCP_DATA_COMMAND },
	[TCP_PDU_R2T] = { "R2T", sizeof(struct tcp_r2t), TCP_PDU_HDGST, TCP_ROLE_HOST,
			  TCP_DATA_NONE },
};

static bool refuse(struct tcp_verdict *why, enum tcp_fes fes, size_t fei, const char *reason)
{
	*why = (struct tcp_verdict){ .fes = fes, .fei = (uint32_t)fei, .reason = reason };
	return false;
}

static bool refuse_field(struct tcp_verdict *why, size_t offset, const char *reason)
{
	return refuse(why, TCP_FES_HDR_FIELD, offset, reason);
}

/*
 * Connections start with ICReq and ICResp, which come once (3.1). A C2HTermReq in the place of the
 * ICResp is how a controller refuses an ICReq.
 */
static bool check_type(const struct tcp_rx *rx, uint8_t type, struct tcp_verdict *why)
{
	const struct tcp_pdu_rule *rule;
	bool ic;

	rule = type < TCP_PDU_TYPES ? &tcp_pdu_rules[type] : NULL;
	if (!rx->connected) {
		ic = rule && rule->to == rx->opts.role &&
		     (type == TCP_PDU_ICREQ || type == TCP_PDU_ICRESP || type == TCP_PDU_C2H_TERM);
		return ic || refuse(why, TCP_FES_SEQUENCE, 0, "pdu_before_ic");
	}
	if (!rule || rule->hlen == 0)
		return refuse_field(why, OFFSET_TYPE, "pdu_type_reserved");
	if (rule->to != rx->opts.role)
		return refuse_field(why, OFFSET_TYPE, "pdu_type_direction");
	if (type == TCP_PDU_ICREQ || type == TCP_PDU_ICRESP)
		return refuse(why, TCP_FES_SEQUENCE, 0, "second_ic");
	return true;
}

/* A malformed TermReq is ignored and the connection ended (3.5): no TermReq answers a TermReq. */
static bool check_term_ch(const struct tcp_ch *ch, struct tcp_verdict *why)
{
	uint32_t plen = le32_to_cpu(ch->plen);

	if (ch->hlen != sizeof(struct tcp_term))
		return refuse(why, TCP_FES_NONE, OFFSET_HLEN, "term_hlen");
	if (plen < sizeof(struct tcp_term) || plen > sizeof(struct tcp_term) + TCP_TERM_DATA_MAX)
		return refuse(why, TCP_FES_NONE, OFFSET_PLEN, "term_plen");
	return true;
}

/* Flags that the type does not have, and HDGSTF, which must be as negotiated (3.3.1.1). */
static bool check_flags_ch(const struct tcp_rx *rx, const struct tcp_pdu_rule *rule, uint8_t flags,
			   struct tcp_verdict *why)
{
	uint8_t digest = tcp_rule_hdgst(rx, rule) ? TCP_PDU_HDGST : 0;
	/* Before the digest is verified no more is believed than what finds it. */
	uint8_t look = digest ? TCP_PDU_HDGST : FLAGS_DEFINED;

	if (flags & look & ~rule->flags)
		return refuse_field(why, OFFSET_FLAGS, "flags_type");
	if ((rule->flags & TCP_PDU_HDGST) && (flags & TCP_PDU_HDGST) != digest)
		return refuse_field(why, OFFSET_FLAGS, "flags_hdgst");
	return true;
}

bool tcp_check_ch(const struct tcp_rx *rx, const struct tcp_ch *ch, struct tcp_verdict *ret_why)
{
	const struct tcp_pdu_rule *rule;
	uint32_t least;

	if (!check_type(rx, ch->type, ret_why))
		return false;
	rule = &tcp_pdu_rules[ch->type];
	if (rule->data == TCP_DATA_TERM)
		return check_term_ch(ch, ret_why);
	/* The flags of ICReq and ICResp are reserved as a whole. */
	if (rule->flags && !check_flags_ch(rx, rule, ch->flags, ret_why))
		return false;
	if (ch->hlen != rule->hlen)
		return refuse_field(ret_why, OFFSET_HLEN, "hlen");
	least = rule->hlen + (tcp_rule_hdgst(rx, rule) ? TCP_DIGEST_LEN : 0u);
	if (le32_to_cpu(ch->plen) < least)
		return refuse_field(ret_why, OFFSET_PLEN, "plen_short");
	return true;
}

/* ICReq and ICResp have the same layout up to the last field (3.6.2.2, 3.6.2.3). */
static bool check_ic(const union tcp_pdu *pdu, struct tcp_verdict *why)
{
	uint32_t maxh2cdata = le32_to_cpu(pdu->icresp.maxh2cdata);

	if (le16_to_cpu(pdu->icreq.pfv) != 0)
		return refuse_field(why, offsetof(struct tcp_icreq, pfv), "ic_pfv");
	if (pdu->icreq.hpda > TCP_PDA_MAX)
		return refuse_field(why, offsetof(struct tcp_icreq, hpda), "ic_pda");
	/* Unlike other reserved bits: an option unknown here could change every PDU that follows. */
	if (pdu->icreq.dgst & ~DIGESTS)
		return refuse_field(why, offsetof(struct tcp_icreq, dgst), "ic_dgst");
	if (pdu->ch.type == TCP_PDU_ICRESP && (maxh2cdata < TCP_MAXH2CDATA_MIN || maxh2cdata % 4))
		return refuse_field(why, offsetof(struct tcp_icresp, maxh2cdata), "ic_maxh2cdata");
	return true;
}

/* Payload starts behind header and digest, at a multiple of what this end asked for (3.3). */
static bool pdo_right(const struct tcp_rx *rx, uint8_t pdo, uint32_t least)
{
	/* Nearly always no more than dword alignment was asked for: spare the division. */
	if (rx->pda == 0)
		return pdo >= least && pdo % TCP_PDA_UNIT == 0;
	return pdo >= least && pdo % ((rx->pda + 1u) * TCP_PDA_UNIT) == 0;
}

static bool check_capsule(const struct tcp_rx *rx, const union tcp_pdu *pdu, uint32_t least,
			  uint32_t *ret_len, struct tcp_verdict *why)
{
	uint32_t plen = le32_to_cpu(pdu->ch.plen);
	uint32_t around = pdu->ch.pdo + (rx->ddgst ? TCP_DIGEST_LEN : 0u);

	/* Without data PDO says nothing: Linux leaves 0 there. DDGSTF may then be set or not. */
	if (plen == least) {
		*ret_len = 0;
		return true;
	}
	if (rx->ddgst && !(pdu->ch.flags & TCP_PDU_DDGST))
		return refuse_field(why, OFFSET_FLAGS, "flags_ddgst");
	if (!pdo_right(rx, pdu->ch.pdo, least))
		return refuse_field(why, OFFSET_PDO, "pdo");
	if (plen <= around)
		return refuse_field(why, OFFSET_PLEN, "plen");
	if (plen - around > rx->opts.max_icd)
		return refuse(why, TCP_FES_LIMIT, 0, "in_capsule_data_limit");
	*ret_len = plen - around;
	return true;
}

static bool check_data(const struct tcp_rx *rx, const union tcp_pdu *pdu, uint32_t least,
		       uint32_t *ret_len, struct tcp_verdict *why)
{
	uint32_t datal = le32_to_cpu(pdu->data.datal);
	uint64_t whole;

	if (rx->ddgst && !(pdu->ch.flags & TCP_PDU_DDGST))
		return refuse_field(why, OFFSET_FLAGS, "flags_ddgst");
	if ((pdu->ch.flags & (TCP_PDU_LAST | TCP_PDU_SUCCESS)) == TCP_PDU_SUCCESS)
		return refuse_field(why, OFFSET_FLAGS, "flags_success_not_last");
	if (!pdo_right(rx, pdu->ch.pdo, least))
		return refuse_field(why, OFFSET_PDO, "pdo");
	if (!u64_add(datal, pdu->ch.pdo + (rx->ddgst ? TCP_DIGEST_LEN : 0u), &whole) ||
	    whole != le32_to_cpu(pdu->ch.plen))
		return refuse_field(why, OFFSET_PLEN, "plen");
	if (datal == 0)
		return refuse_field(why, offsetof(struct tcp_data, datal), "datal_zero");
	if (datal > rx->opts.max_data) {
		/* Limit Exceeded means MAXH2CDATA to a host and MAXR2T to a controller. */
		return refuse(why,
			      rx->opts.role == TCP_ROLE_CONTROLLER ? TCP_FES_LIMIT : TCP_FES_RANGE,
			      0, "data_limit");
	}
	*ret_len = datal;
	return true;
}

bool tcp_check_header(const struct tcp_rx *rx, const union tcp_pdu *pdu, uint32_t *ret_data_len,
		      struct tcp_verdict *ret_why)
{
	const struct tcp_pdu_rule *rule = &tcp_pdu_rules[pdu->ch.type];
	uint32_t least = rule->hlen + (tcp_rule_hdgst(rx, rule) ? TCP_DIGEST_LEN : 0u);
	uint8_t flags = pdu->ch.flags & FLAGS_DEFINED;

	if (rule->flags && (flags & ~rule->flags))
		return refuse_field(ret_why, OFFSET_FLAGS, "flags_type");
	if ((flags & rule->flags & TCP_PDU_DDGST) && !rx->ddgst)
		return refuse_field(ret_why, OFFSET_FLAGS, "flags_ddgst");

	switch ((enum tcp_data_rule)rule->data) {
	case TCP_DATA_CAPSULE:
		return check_capsule(rx, pdu, least, ret_data_len, ret_why);
	case TCP_DATA_COMMAND:
		return check_data(rx, pdu, least, ret_data_len, ret_why);
	case TCP_DATA_TERM:
		*ret_data_len = le32_to_cpu(pdu->ch.plen) - least;
		return true;
	case TCP_DATA_NONE:
		break;
	}
	if (le32_to_cpu(pdu->ch.plen) != least)
		return refuse_field(ret_why, OFFSET_PLEN, "plen");
	*ret_data_len = 0;
	return rule->flags != 0 || check_ic(pdu, ret_why);
}
