/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVMe/TCP PDU layouts, as the NVMe/TCP Transport Specification 1.0 section 3.6 lays them out. All
 * multi-byte fields are little-endian byte-array types.
 */
#ifndef PENSTOCK_TCP_PDU_H
#define PENSTOCK_TCP_PDU_H

#include <assert.h>
#include <stdint.h>

#include "base/le.h"
#include "nvme/cmd.h"
#include "nvme/cpl.h"

enum tcp_pdu_type {
	TCP_PDU_ICREQ = 0x00,
	TCP_PDU_ICRESP = 0x01,
	TCP_PDU_H2C_TERM = 0x02,
	TCP_PDU_C2H_TERM = 0x03,
	TCP_PDU_CMD = 0x04,
	TCP_PDU_RSP = 0x05,
	TCP_PDU_H2C_DATA = 0x06,
	TCP_PDU_C2H_DATA = 0x07,
	TCP_PDU_R2T = 0x09,
};

enum tcp_pdu_flags {
	TCP_PDU_HDGST = 1 << 0,
	TCP_PDU_DDGST = 1 << 1,
	TCP_PDU_LAST = 1 << 2,
	TCP_PDU_SUCCESS = 1 << 3,
};

/* Fatal Error Status of a TermReq PDU (section 3.6.2.6). */
enum tcp_fes {
	TCP_FES_NONE = 0,
	TCP_FES_HDR_FIELD = 1,
	TCP_FES_SEQUENCE = 2,
	TCP_FES_HDGST = 3,
	TCP_FES_RANGE = 4,
	TCP_FES_LIMIT = 5, /* data transfer limit exceeded / R2T limit exceeded */
	TCP_FES_UNSUPPORTED = 6,
};

#define TCP_DIGEST_LEN 4
#define TCP_PDA_UNIT 4     /* PDA fields count dwords, 0-based */
#define TCP_PDA_MAX 31     /* largest HPDA/CPDA: 128 bytes */
#define TCP_TERM_DATA_MAX 128 /* bytes of the offending header that a TermReq carries at most */
#define TCP_MAXH2CDATA_MIN 4096

struct tcp_ch { /* common header */
	uint8_t type;
	uint8_t flags;
	uint8_t hlen;
	uint8_t pdo;
	le32 plen;
};

struct tcp_icreq {
	struct tcp_ch ch;
	le16 pfv;
	uint8_t hpda;
	uint8_t dgst; /* bit 0 header digest, bit 1 data digest */
	le32 maxr2t;  /* 0-based */
	uint8_t rsvd[112];
};

struct tcp_icresp {
	struct tcp_ch ch;
	le16 pfv;
	uint8_t cpda;
	uint8_t dgst;
	le32 maxh2cdata; /* bytes, not 0-based */
	uint8_t rsvd[112];
};

struct tcp_term {
	struct tcp_ch ch;
	le16 fes;
	uint8_t fei[4]; /* le32, unaligned */
	uint8_t rsvd[10];
};

struct tcp_cmd {
	struct tcp_ch ch;
	struct nvme_cmd sqe;
};

struct tcp_rsp {
	struct tcp_ch ch;
	struct nvme_cpl cqe;
};

struct tcp_data { /* H2CData, C2HData (ttag reserved there) */
	struct tcp_ch ch;
	le16 cccid;
	le16 ttag;
	le32 datao;
	le32 datal;
	uint8_t rsvd[4];
};

struct tcp_r2t {
	struct tcp_ch ch;
	le16 cccid;
	le16 ttag;
	le32 r2to;
	le32 r2tl;
	uint8_t rsvd[4];
};

union tcp_pdu {
	struct tcp_ch ch;
	struct tcp_icreq icreq;
	struct tcp_icresp icresp;
	struct tcp_term term;
	struct tcp_cmd cmd;
	struct tcp_rsp rsp;
	struct tcp_data data;
	struct tcp_r2t r2t;
	uint8_t bytes[128];
};

static_assert(sizeof(struct tcp_ch) == 8, "common header");
static_assert(sizeof(struct tcp_icreq) == 128, "ICReq");
static_assert(sizeof(struct tcp_icresp) == 128, "ICResp");
static_assert(sizeof(struct tcp_term) == 24, "TermReq");
static_assert(sizeof(struct tcp_cmd) == 72, "CapsuleCmd");
static_assert(sizeof(struct tcp_rsp) == 24, "CapsuleResp");
static_assert(sizeof(struct tcp_data) == 24, "H2CData, C2HData");
static_assert(sizeof(struct tcp_r2t) == 24, "R2T");

/* "CapsuleCmd" and so on; "unknown" for a reserved type. */
const char *tcp_pdu_name(uint8_t type);
const char *tcp_fes_name(uint16_t fes);
/* HLEN that the type must have; 0 for a reserved type. */
uint8_t tcp_pdu_hlen(uint8_t type);

#endif
