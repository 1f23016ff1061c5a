/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row for each way in which a header can be wrong: what is changed in a right one, and the FES
 * and FEI that must come of it (3.3, 3.5, 3.6.2). Every row runs with the PDU in one piece and byte
 * by byte.
 */
#include <string.h>

#include "base/crc32c.h"
#include "base/util.h"
#include "tcp/test-feed.h"
#include "tcp/tx.h"
#include "tests/tap.h"

#define C TCP_ROLE_CONTROLLER
#define H TCP_ROLE_HOST

enum {
	MAX_DATA = 8192,
	MAX_ICD = 4096,
	DATA = 1024,

	PLAIN = 0,
	HD = 1,	   /* header digest negotiated */
	DD = 2,	   /* data digest negotiated */
	FRESH = 4, /* nothing came before */
	BADCRC = 8, /* leave the header digest as it was before the change */
	NODATA = 16, /* a capsule without data */
	PDA3 = 32, /* PDA 3: 16 bytes */
};

static const char *const pass = "";

struct row {
	enum tcp_role role; /* of the receiver */
	uint8_t type;
	unsigned int how;
	uint8_t offset; /* of the change, */
	uint8_t width;	/* 0: none, 1, 2 or 4 bytes */
	uint32_t value;
	uint16_t fes;
	uint32_t fei;
	const char *reason; /* pass: nothing is wrong with it */
};

static const struct row rows[] = {
	/* type and sequence (3.1, 3.3; T002, T023, T035) */
	{ C, 0x04, FRESH, 0, 0, 0, TCP_FES_SEQUENCE, 0, "pdu_before_ic" },
	{ C, 0x06, FRESH, 0, 0, 0, TCP_FES_SEQUENCE, 0, "pdu_before_ic" },
	{ C, 0x02, FRESH, 0, 0, 0, TCP_FES_SEQUENCE, 0, "pdu_before_ic" },
	{ C, 0x00, FRESH, 0, 1, 0xac, TCP_FES_SEQUENCE, 0, "pdu_before_ic" },
	{ C, 0x00, FRESH, 0, 0, 0, 0, 0, pass },
	{ C, 0x00, PLAIN, 0, 0, 0, TCP_FES_SEQUENCE, 0, "second_ic" },
	{ H, 0x05, FRESH, 0, 0, 0, TCP_FES_SEQUENCE, 0, "pdu_before_ic" },
	{ H, 0x00, FRESH, 0, 0, 0, TCP_FES_SEQUENCE, 0, "pdu_before_ic" },
	{ H, 0x01, FRESH, 0, 0, 0, 0, 0, pass },
	{ H, 0x01, PLAIN, 0, 0, 0, TCP_FES_SEQUENCE, 0, "second_ic" },
	{ H, 0x03, FRESH, 0, 0, 0, 0, 0, pass }, /* how an ICReq is refused */
	{ C, 0x04, PLAIN, 0, 1, 0x08, TCP_FES_HDR_FIELD, 0, "pdu_type_reserved" },
	{ C, 0x04, PLAIN, 0, 1, 0x0a, TCP_FES_HDR_FIELD, 0, "pdu_type_reserved" },
	{ C, 0x04, PLAIN, 0, 1, 0xac, TCP_FES_HDR_FIELD, 0, "pdu_type_reserved" },
	{ C, 0x04, PLAIN, 0, 1, 0xff, TCP_FES_HDR_FIELD, 0, "pdu_type_reserved" },
	{ C, 0x05, PLAIN, 0, 0, 0, TCP_FES_HDR_FIELD, 0, "pdu_type_direction" },
	{ C, 0x07, PLAIN, 0, 0, 0, TCP_FES_HDR_FIELD, 0, "pdu_type_direction" },
	{ C, 0x09, PLAIN, 0, 0, 0, TCP_FES_HDR_FIELD, 0, "pdu_type_direction" },
	{ C, 0x01, PLAIN, 0, 0, 0, TCP_FES_HDR_FIELD, 0, "pdu_type_direction" },
	{ C, 0x03, PLAIN, 0, 0, 0, TCP_FES_HDR_FIELD, 0, "pdu_type_direction" },
	{ H, 0x04, PLAIN, 0, 0, 0, TCP_FES_HDR_FIELD, 0, "pdu_type_direction" },
	{ H, 0x06, PLAIN, 0, 0, 0, TCP_FES_HDR_FIELD, 0, "pdu_type_direction" },
	{ H, 0x00, PLAIN, 0, 0, 0, TCP_FES_HDR_FIELD, 0, "pdu_type_direction" },

	/* flags (3.3.1.1, 3.3.2.1) */
	{ C, 0x04, PLAIN, 1, 1, 0x01, TCP_FES_HDR_FIELD, 1, "flags_hdgst" },
	{ C, 0x04, HD, 1, 1, 0x00, TCP_FES_HDR_FIELD, 1, "flags_hdgst" },
	{ H, 0x05, HD, 1, 1, 0x00, TCP_FES_HDR_FIELD, 1, "flags_hdgst" },
	{ H, 0x05, PLAIN, 1, 1, 0x01, TCP_FES_HDR_FIELD, 1, "flags_hdgst" },
	{ H, 0x05, PLAIN, 1, 1, 0x02, TCP_FES_HDR_FIELD, 1, "flags_type" },
	{ H, 0x05, DD, 1, 1, 0x02, TCP_FES_HDR_FIELD, 1, "flags_type" },
	{ H, 0x05, HD, 1, 1, 0x05, TCP_FES_HDR_FIELD, 1, "flags_type" },
	{ H, 0x09, PLAIN, 1, 1, 0x04, TCP_FES_HDR_FIELD, 1, "flags_type" },
	{ C, 0x04, PLAIN, 1, 1, 0x04, TCP_FES_HDR_FIELD, 1, "flags_type" },
	{ C, 0x06, PLAIN, 1, 1, 0x08, TCP_FES_HDR_FIELD, 1, "flags_type" },
	{ C, 0x04, PLAIN, 1, 1, 0x02, TCP_FES_HDR_FIELD, 1, "flags_ddgst" },
	{ C, 0x04, DD, 1, 1, 0x00, TCP_FES_HDR_FIELD, 1, "flags_ddgst" },
	{ C, 0x04, DD | NODATA, 1, 1, 0x02, 0, 0, pass }, /* 3.6.2.6: no data, no digest */
	{ C, 0x04, NODATA, 1, 1, 0x02, TCP_FES_HDR_FIELD, 1, "flags_ddgst" },
	{ C, 0x06, DD, 1, 1, 0x04, TCP_FES_HDR_FIELD, 1, "flags_ddgst" },
	{ H, 0x07, DD, 1, 1, 0x04, TCP_FES_HDR_FIELD, 1, "flags_ddgst" },
	{ H, 0x07, PLAIN, 1, 1, 0x02, TCP_FES_HDR_FIELD, 1, "flags_ddgst" },
	{ H, 0x07, PLAIN, 1, 1, 0x08, TCP_FES_HDR_FIELD, 1, "flags_success_not_last" },
	{ H, 0x07, PLAIN, 1, 1, 0x0c, 0, 0, pass },
	{ H, 0x07, PLAIN, 1, 1, 0x00, 0, 0, pass },
	{ H, 0x07, PLAIN, 1, 1, 0xf4, 0, 0, pass }, /* reserved bits */
	{ C, 0x00, FRESH, 1, 1, 0x0f, 0, 0, pass }, /* all reserved */

	/* HLEN (I005) */
	{ H, 0x07, HD, 2, 1, 255, TCP_FES_HDR_FIELD, 2, "hlen" },
	{ H, 0x07, PLAIN, 2, 1, 8, TCP_FES_HDR_FIELD, 2, "hlen" },
	{ H, 0x05, HD, 2, 1, 255, TCP_FES_HDR_FIELD, 2, "hlen" },
	{ H, 0x05, PLAIN, 2, 1, 0, TCP_FES_HDR_FIELD, 2, "hlen" },
	{ H, 0x09, HD, 2, 1, 255, TCP_FES_HDR_FIELD, 2, "hlen" },
	{ C, 0x04, PLAIN, 2, 1, 73, TCP_FES_HDR_FIELD, 2, "hlen" },
	{ C, 0x06, HD, 2, 1, 28, TCP_FES_HDR_FIELD, 2, "hlen" },
	{ C, 0x00, FRESH, 2, 1, 24, TCP_FES_HDR_FIELD, 2, "hlen" },
	{ H, 0x01, FRESH, 2, 1, 127, TCP_FES_HDR_FIELD, 2, "hlen" },

	/* PDO (3.3, 3.6.2.6, 3.6.2.8; I018) */
	{ C, 0x04, PLAIN, 3, 1, 0, TCP_FES_HDR_FIELD, 3, "pdo" },
	{ C, 0x04, PLAIN, 3, 1, 68, TCP_FES_HDR_FIELD, 3, "pdo" },
	{ C, 0x04, PLAIN, 3, 1, 73, TCP_FES_HDR_FIELD, 3, "pdo" },
	{ C, 0x04, HD, 3, 1, 72, TCP_FES_HDR_FIELD, 3, "pdo" },
	{ C, 0x04, PDA3, 3, 1, 76, TCP_FES_HDR_FIELD, 3, "pdo" },
	{ C, 0x04, NODATA, 3, 1, 72, 0, 0, pass },
	{ C, 0x04, NODATA, 3, 1, 255, 0, 0, pass }, /* nothing is where it says */
	{ C, 0x04, PLAIN, 3, 1, 76, 0, 0, pass }, /* more padding than needed, 4 bytes less data */
	{ C, 0x06, PLAIN, 3, 1, 20, TCP_FES_HDR_FIELD, 3, "pdo" },
	{ C, 0x06, HD, 3, 1, 24, TCP_FES_HDR_FIELD, 3, "pdo" },
	{ C, 0x06, PDA3, 3, 1, 28, TCP_FES_HDR_FIELD, 3, "pdo" },
	{ C, 0x06, PLAIN, 3, 1, 28, TCP_FES_HDR_FIELD, 4, "plen" },
	{ H, 0x07, PLAIN, 3, 1, 255, TCP_FES_HDR_FIELD, 3, "pdo" },
	{ H, 0x07, PLAIN, 3, 1, 252, TCP_FES_HDR_FIELD, 4, "plen" },
	{ H, 0x05, PLAIN, 3, 1, 99, 0, 0, pass }, /* reserved */
	{ H, 0x09, PLAIN, 3, 1, 99, 0, 0, pass },
	{ C, 0x00, FRESH, 3, 1, 99, 0, 0, pass },

	/* PLEN (T001) */
	{ C, 0x06, PLAIN, 4, 4, 0, TCP_FES_HDR_FIELD, 4, "plen_short" },
	{ C, 0x06, PLAIN, 4, 4, 8, TCP_FES_HDR_FIELD, 4, "plen_short" },
	{ C, 0x06, PLAIN, 4, 4, 23, TCP_FES_HDR_FIELD, 4, "plen_short" },
	{ C, 0x06, PLAIN, 4, 4, 24, TCP_FES_HDR_FIELD, 4, "plen" },
	{ C, 0x06, PLAIN, 4, 4, 25, TCP_FES_HDR_FIELD, 4, "plen" },
	{ C, 0x06, PLAIN, 4, 4, 24 + DATA - 1, TCP_FES_HDR_FIELD, 4, "plen" },
	{ C, 0x06, PLAIN, 4, 4, 24 + DATA + 1, TCP_FES_HDR_FIELD, 4, "plen" },
	{ C, 0x06, PLAIN, 4, 4, 0x80000000, TCP_FES_HDR_FIELD, 4, "plen" },
	{ C, 0x06, PLAIN, 4, 4, 0xffffffff, TCP_FES_HDR_FIELD, 4, "plen" },
	{ C, 0x06, HD, 4, 4, 27, TCP_FES_HDR_FIELD, 4, "plen_short" },
	{ C, 0x06, DD, 4, 4, 24 + DATA, TCP_FES_HDR_FIELD, 4, "plen" },
	{ C, 0x04, PLAIN, 4, 4, 0, TCP_FES_HDR_FIELD, 4, "plen_short" },
	{ C, 0x04, PLAIN, 4, 4, 71, TCP_FES_HDR_FIELD, 4, "plen_short" },
	{ C, 0x04, PLAIN, 4, 4, 0x80000000, TCP_FES_LIMIT, 0, "in_capsule_data_limit" },
	{ C, 0x04, PLAIN, 4, 4, 0xffffffff, TCP_FES_LIMIT, 0, "in_capsule_data_limit" },
	{ C, 0x04, PLAIN, 4, 4, 72 + MAX_ICD + 1, TCP_FES_LIMIT, 0, "in_capsule_data_limit" },
	{ C, 0x04, DD, 4, 4, 76, TCP_FES_HDR_FIELD, 4, "plen" }, /* a digest of no data */
	{ C, 0x04, PDA3, 4, 4, 80, TCP_FES_HDR_FIELD, 4, "plen" }, /* padding and no data */
	{ C, 0x04, PDA3, 4, 4, 76, TCP_FES_HDR_FIELD, 4, "plen" },
	{ H, 0x07, PLAIN, 4, 4, 0, TCP_FES_HDR_FIELD, 4, "plen_short" },
	{ H, 0x07, PLAIN, 4, 4, 0xffffffff, TCP_FES_HDR_FIELD, 4, "plen" },
	{ H, 0x05, PLAIN, 4, 4, 23, TCP_FES_HDR_FIELD, 4, "plen_short" },
	{ H, 0x05, PLAIN, 4, 4, 25, TCP_FES_HDR_FIELD, 4, "plen" },
	{ H, 0x05, HD, 4, 4, 24, TCP_FES_HDR_FIELD, 4, "plen_short" },
	{ H, 0x05, PLAIN, 4, 4, 0xffffffff, TCP_FES_HDR_FIELD, 4, "plen" },
	{ H, 0x09, PLAIN, 4, 4, 28, TCP_FES_HDR_FIELD, 4, "plen" },
	{ C, 0x00, FRESH, 4, 4, 127, TCP_FES_HDR_FIELD, 4, "plen_short" },
	{ C, 0x00, FRESH, 4, 4, 129, TCP_FES_HDR_FIELD, 4, "plen" },
	{ C, 0x00, FRESH, 4, 4, 0xffffffff, TCP_FES_HDR_FIELD, 4, "plen" },

	/* DATAL */
	{ C, 0x06, PLAIN, 16, 4, DATA + 4, TCP_FES_HDR_FIELD, 4, "plen" },
	{ C, 0x06, PLAIN, 16, 4, 0, TCP_FES_HDR_FIELD, 4, "plen" },
	{ C, 0x06, PLAIN, 16, 4, 0xffffffff, TCP_FES_HDR_FIELD, 4, "plen" },
	{ C, 0x06, PLAIN, 16, 4, 0xfffffff0, TCP_FES_HDR_FIELD, 4, "plen" },
	{ H, 0x07, PLAIN, 16, 4, 0xffffffff, TCP_FES_HDR_FIELD, 4, "plen" },

	/* ICReq and ICResp (3.1, 3.6.2.2, 3.6.2.3; T004, T020, I007) */
	{ C, 0x00, FRESH, 8, 2, 1, TCP_FES_HDR_FIELD, 8, "ic_pfv" },
	{ C, 0x00, FRESH, 8, 2, 0xff00, TCP_FES_HDR_FIELD, 8, "ic_pfv" },
	{ C, 0x00, FRESH, 10, 1, 31, 0, 0, pass },
	{ C, 0x00, FRESH, 10, 1, 32, TCP_FES_HDR_FIELD, 10, "ic_pda" },
	{ C, 0x00, FRESH, 10, 1, 255, TCP_FES_HDR_FIELD, 10, "ic_pda" },
	{ C, 0x00, FRESH, 11, 1, 3, 0, 0, pass },
	{ C, 0x00, FRESH, 11, 1, 4, TCP_FES_HDR_FIELD, 11, "ic_dgst" },
	{ C, 0x00, FRESH, 11, 1, 0x83, TCP_FES_HDR_FIELD, 11, "ic_dgst" },
	{ C, 0x00, FRESH, 12, 4, 0xffffffff, 0, 0, pass }, /* any number of R2Ts */
	{ C, 0x00, FRESH, 16, 4, 0xffffffff, 0, 0, pass }, /* reserved */
	{ H, 0x01, FRESH, 8, 2, 1, TCP_FES_HDR_FIELD, 8, "ic_pfv" },
	{ H, 0x01, FRESH, 10, 1, 32, TCP_FES_HDR_FIELD, 10, "ic_pda" },
	{ H, 0x01, FRESH, 11, 1, 0x40, TCP_FES_HDR_FIELD, 11, "ic_dgst" },
	{ H, 0x01, FRESH, 12, 4, 0, TCP_FES_HDR_FIELD, 12, "ic_maxh2cdata" },
	{ H, 0x01, FRESH, 12, 4, 4095, TCP_FES_HDR_FIELD, 12, "ic_maxh2cdata" },
	{ H, 0x01, FRESH, 12, 4, 4096, 0, 0, pass },
	{ H, 0x01, FRESH, 12, 4, 0xffff, TCP_FES_HDR_FIELD, 12, "ic_maxh2cdata" },
	{ H, 0x01, FRESH, 12, 4, 0xfffffffc, 0, 0, pass },

	/* TermReq: a malformed one is not answered (3.5) */
	{ C, 0x02, PLAIN, 0, 0, 0, 0, 0, pass },
	{ C, 0x02, HD | DD | PDA3, 0, 0, 0, 0, 0, pass }, /* never digests, never padding */
	{ C, 0x02, PLAIN, 1, 1, 0xff, 0, 0, pass }, /* reserved */
	{ C, 0x02, PLAIN, 4, 4, 24, 0, 0, pass },
	{ C, 0x02, PLAIN, 4, 4, 152, 0, 0, pass },
	{ C, 0x02, PLAIN, 4, 4, 23, TCP_FES_NONE, 4, "term_plen" },
	{ C, 0x02, PLAIN, 4, 4, 153, TCP_FES_NONE, 4, "term_plen" },
	{ C, 0x02, PLAIN, 4, 4, 0xffffffff, TCP_FES_NONE, 4, "term_plen" },
	{ C, 0x02, PLAIN, 2, 1, 255, TCP_FES_NONE, 2, "term_hlen" },
	{ H, 0x03, PLAIN, 4, 4, 0, TCP_FES_NONE, 4, "term_plen" },
	{ H, 0x03, FRESH, 4, 4, 1000, TCP_FES_NONE, 4, "term_plen" },

	/* The header digest comes before everything else that the header says (3.5) */
	{ C, 0x04, HD | BADCRC, 8, 1, 0xff, TCP_FES_HDGST, 0, "header_digest" },
	{ C, 0x04, HD | BADCRC, 3, 1, 1, TCP_FES_HDGST, 0, "header_digest" },
	{ C, 0x04, HD | BADCRC, 1, 1, 0x0d, TCP_FES_HDGST, 0, "header_digest" },
	{ C, 0x06, HD | BADCRC, 4, 4, 0xffffffff, TCP_FES_HDGST, 0, "header_digest" },
	{ H, 0x05, HD | BADCRC, 23, 1, 0x40, TCP_FES_HDGST, 0, "header_digest" },
	{ H, 0x07, HD | BADCRC, 16, 4, 0, TCP_FES_HDGST, 0, "header_digest" },
	{ H, 0x09, HD | BADCRC, 10, 1, 9, TCP_FES_HDGST, 0, "header_digest" },
	{ C, 0x04, HD, 0, 0, 0, 0, 0, pass },
	{ H, 0x05, HD, 0, 0, 0, 0, 0, pass },
};

/* A right PDU of @type; returns its length. */
static size_t right_pdu(const struct row *row, uint8_t *out)
{
	static uint8_t payload[DATA];
	static const struct iovec iov = { payload, DATA };
	static const struct nvme_cmd sqe;
	static const struct nvme_cpl cqe;
	struct tcp_error e = { .fes = 1, .header_len = 24 };
	struct tcp_tx_pdu pdu = { 0 };
	struct tcp_tx tx;
	struct iovec v[4];
	size_t len = 0;
	int n;

	tcp_tx_init(&tx);
	tcp_tx_negotiated(&tx, row->how & HD, row->how & DD, row->how & PDA3 ? 3 : 0);
	switch (row->type) {
	case TCP_PDU_ICREQ:
		tcp_build_icreq(&pdu, 0, true, true, 0);
		break;
	case TCP_PDU_ICRESP:
		tcp_build_icresp(&pdu, 0, true, true, 65536);
		break;
	case TCP_PDU_H2C_TERM:
		tcp_build_term(&pdu, TCP_ROLE_HOST, &e);
		break;
	case TCP_PDU_C2H_TERM:
		tcp_build_term(&pdu, TCP_ROLE_CONTROLLER, &e);
		break;
	case TCP_PDU_CMD:
		tcp_build_cmd(&tx, &pdu, &sqe, &iov, 1, row->how & NODATA ? 0 : DATA);
		break;
	case TCP_PDU_RSP:
		tcp_build_rsp(&tx, &pdu, &cqe);
		break;
	case TCP_PDU_H2C_DATA:
		tcp_build_h2c_data(&tx, &pdu, 1, 2, 0, &iov, 1, DATA, true);
		break;
	case TCP_PDU_C2H_DATA:
		tcp_build_c2h_data(&tx, &pdu, 1, 0, &iov, 1, DATA, true, false);
		break;
	case TCP_PDU_R2T:
		tcp_build_r2t(&tx, &pdu, 1, 2, 0, DATA);
		break;
	}
	tcp_tx_push(&tx, &pdu);
	n = tcp_tx_gather(&tx, v, ARRAY_SIZE(v));
	for (int i = 0; i < n; i++) {
		memcpy(out + len, v[i].iov_base, v[i].iov_len);
		len += v[i].iov_len;
	}
	tcp_tx_drop(&tx);
	return len;
}

static uint32_t get32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

/* The bytes of @row, followed by zeroes; @ret_hdgst: the header digest that is in them. */
static void change(const struct row *row, uint8_t *bytes, uint32_t *ret_hdgst)
{
	uint8_t hlen = tcp_pdu_hlen(row->type);
	bool ic_or_term = row->type < 4;
	uint32_t crc;

	right_pdu(row, bytes);
	for (uint8_t i = 0; i < row->width; i++)
		bytes[row->offset + i] = (uint8_t)(row->value >> 8 * i);
	*ret_hdgst = 0;
	if (!(row->how & HD) || ic_or_term)
		return;
	if (!(row->how & BADCRC)) {
		crc = crc32c(0, bytes, hlen);
		for (int i = 0; i < 4; i++)
			bytes[hlen + i] = (uint8_t)(crc >> 8 * i);
	}
	*ret_hdgst = get32(bytes + hlen);
}

/* The fault of others that would come of letting it pass; docs/protocol-coverage.md has them. */
static const char *fault_of(const char *reason)
{
	static const struct {
		const char *reason, *fault;
	} known[] = {
		{ "plen", "T001: " },	     { "plen_short", "T001: " },
		{ "ic_pfv", "T004: " },	     { "ic_dgst", "T004: " },
		{ "ic_pda", "T020: " },	     { "pdu_type_reserved", "T023: " },
		{ "second_ic", "T023: " },   { "pdu_type_direction", "T023: " },
		{ "hlen", "I005: " },	     { "ic_maxh2cdata", "I007: " },
		{ "pdo", "I018: " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(known[i].reason, reason))
			return known[i].fault;
	return "";
}

static void run(const struct row *row, size_t piece)
{
	struct feed_params params = {
		.role = row->role,
		.hdgst = row->how & HD,
		.ddgst = row->how & DD,
		.pda = row->how & PDA3 ? 3 : 0,
		.connected = !(row->how & FRESH),
		.max_data = MAX_DATA,
		.max_icd = MAX_ICD,
	};
	struct feed_cuts cuts = { .piece = piece, .stage = 1024, .seed = 1 };
	uint8_t bytes[2048] = { 0 };
	struct feed_result res;
	uint32_t hdgst, fei;
	size_t header;

	change(row, bytes, &hdgst);
	/* One header and nothing behind it: an error must not wait for what may never come. */
	header = tcp_pdu_hlen(row->type) + (hdgst ? 4 : 0);
	feed(&params, &cuts, bytes, header, &res);
	if (row->reason == pass) {
		/* And with its payload and padding, as far as they go. */
		feed(&params, &cuts, bytes, MIN(get32(bytes + 4), sizeof(bytes)), &res);
		ok(!res.failed && res.pdus == 1, "%s to a %s, how %02x, byte %u = %x: taken",
		   tcp_pdu_name(row->type), row->role == C ? "controller" : "host", row->how,
		   row->offset, row->value);
		return;
	}
	fei = row->fes == TCP_FES_HDGST ? hdgst : row->fei;
	ok(res.failed && res.pdus == 0 && res.error.fes == row->fes && res.error.fei == fei &&
		   !strcmp(res.error.reason, row->reason) &&
		   !memcmp(res.error.header, bytes, res.error.header_len) &&
		   (res.error.header_len == 8 || res.error.header_len == tcp_pdu_hlen(row->type)),
	   "%s%s to a %s, how %02x, byte %u = %x: FES %u FEI %x %s", fault_of(row->reason), tcp_pdu_name(row->type),
	   row->role == C ? "controller" : "host", row->how, row->offset, row->value, row->fes,
	   fei, row->reason);
	if (res.failed && res.error.reason)
		return;
	diag("got failed %d fes %u fei %x reason %s", res.failed, res.error.fes, res.error.fei,
	     res.error.reason ? res.error.reason : "-");
}

/* Limits are about the payload alone, and exact. */
static void limits(void)
{
	struct feed_params params = { .connected = true, .max_data = DATA, .max_icd = DATA };
	struct feed_cuts cuts = { .stage = 1024, .seed = 1 };
	static const struct row h2c = { C, TCP_PDU_H2C_DATA };
	static const struct row c2h = { H, TCP_PDU_C2H_DATA };
	static const struct row cmd = { C, TCP_PDU_CMD };
	uint8_t bytes[2048];
	struct feed_result res;
	size_t len;

	len = right_pdu(&h2c, bytes);
	feed(&params, &cuts, bytes, len, &res);
	ok(!res.failed && res.payloads == 1, "H2CData of exactly MAXH2CDATA is taken");
	params.max_data--;
	feed(&params, &cuts, bytes, len, &res);
	is_u64(res.error.fes, TCP_FES_LIMIT, "H2CData of MAXH2CDATA + 1: transfer limit exceeded");
	len = right_pdu(&cmd, bytes);
	feed(&params, &cuts, bytes, len, &res);
	ok(!res.failed && res.payloads == 1, "in-capsule data up to its own limit is taken");
	params.max_icd--;
	feed(&params, &cuts, bytes, len, &res);
	is_u64(res.error.fes, TCP_FES_LIMIT, "in-capsule data over its limit");
	params.role = H;
	len = right_pdu(&c2h, bytes);
	feed(&params, &cuts, bytes, len, &res);
	is_u64(res.error.fes, TCP_FES_RANGE, "C2HData over the largest read: out of range");
	memset(bytes + 16, 0, 4);
	memset(bytes + 4, 0, 4);
	bytes[4] = 24;
	feed(&params, &cuts, bytes, 24, &res);
	ok(res.failed && res.error.fes == TCP_FES_HDR_FIELD && res.error.fei == 16,
	   "C2HData that carries nothing: invalid DATAL");
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		run(&rows[i], 0);
		run(&rows[i], 1);
	}
	limits();
	return tap_done();
}
