/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PDUs from their fields (NVMe/TCP 1.0, 3.6.2). Every builder writes its header into the PDU and
 * ends in finish(), the one place that knows digests, padding, PDO and PLEN. Padding is zeroed
 * because it goes out on the wire; the rest of the buffer is not touched, so that building a capsule
 * costs what a capsule is long.
 */
#include "tcp/tx.h"

#include <string.h>

#include "base/crc32c.h"
#include "base/util.h"

static void start(struct tcp_tx_pdu *pdu, const struct iovec *data, int ndata, uint32_t data_len)
{
	INVARIANT(!pdu->queued);
	pdu->data = data;
	pdu->ndata = ndata;
	pdu->data_len = data_len;
	pdu->data_sent = 0;
	pdu->data_i = 0;
	pdu->data_off = 0;
	pdu->head_sent = 0;
	pdu->tail_sent = 0;
	pdu->tail_len = 0;
	pdu->hold = NULL;
}

static void put_le32(uint8_t *at, uint32_t v)
{
	le32 le = cpu_to_le32(v);

	memcpy(at, &le, sizeof(le));
}

/* @pdu's payload, all of it, is in place. */
static uint32_t digest_data(const struct tcp_tx_pdu *pdu)
{
	size_t sum = 0;
	uint32_t crc = 0;

	for (int i = 0; i < pdu->ndata; i++) {
		crc = crc32c(crc, pdu->data[i].iov_base, pdu->data[i].iov_len);
		sum += pdu->data[i].iov_len;
	}
	INVARIANT(sum == pdu->data_len);
	return crc;
}

/*
 * The header but for PDO and PLEN is in place: adds these, the padding and the digests. @flags:
 * those of the type itself.
 */
static void finish(const struct tcp_tx *tx, struct tcp_tx_pdu *pdu, uint8_t type, uint8_t hlen,
		   uint8_t flags)
{
	struct tcp_ch *ch = (struct tcp_ch *)(void *)pdu->head;
	uint32_t len = hlen + (tx->hdgst ? TCP_DIGEST_LEN : 0u);
	uint32_t pdo = 0;
	uint32_t unit;

	if (pdu->data_len > 0) {
		unit = (tx->pda + 1u) * TCP_PDA_UNIT;
		pdo = unit == TCP_PDA_UNIT ? len : DIV_ROUND_UP(len, unit) * unit;
		memset(pdu->head + len, 0, pdo - len);
		len = pdo;
		if (tx->ddgst) {
			flags |= TCP_PDU_DDGST;
			pdu->tail_len = TCP_DIGEST_LEN;
			if (pdu->ndata > 0)
				put_le32(pdu->tail, digest_data(pdu));
		}
	}
	pdu->head_len = (uint16_t)len;
	*ch = (struct tcp_ch){
		.type = type,
		.flags = flags | (tx->hdgst ? TCP_PDU_HDGST : 0),
		.hlen = hlen,
		.pdo = (uint8_t)pdo,
		.plen = cpu_to_le32((uint32_t)tcp_tx_pdu_bytes(pdu)),
	};
	if (tx->hdgst)
		put_le32(pdu->head + hlen, crc32c(0, pdu->head, hlen));
}

/* The four PDUs that never have digests. */
static void finish_plain(struct tcp_tx_pdu *pdu, uint8_t type, uint8_t hlen, uint8_t extra)
{
	struct tcp_ch *ch = (struct tcp_ch *)(void *)pdu->head;

	pdu->head_len = (uint16_t)(hlen + extra);
	*ch = (struct tcp_ch){
		.type = type,
		.hlen = hlen,
		.plen = cpu_to_le32(pdu->head_len),
	};
}

static void build_ic(struct tcp_tx_pdu *pdu, uint8_t type, uint8_t pda, bool hdgst, bool ddgst,
		     uint32_t last)
{
	struct tcp_icreq ic = {
		.hpda = pda,
		.dgst = (uint8_t)((hdgst ? TCP_PDU_HDGST : 0) | (ddgst ? TCP_PDU_DDGST : 0)),
		.maxr2t = cpu_to_le32(last),
	};

	INVARIANT(pda <= TCP_PDA_MAX);
	start(pdu, NULL, 0, 0);
	memcpy(pdu->head, &ic, sizeof(ic));
	finish_plain(pdu, type, sizeof(ic), 0);
}

void tcp_build_icreq(struct tcp_tx_pdu *pdu, uint8_t hpda, bool hdgst, bool ddgst, uint32_t maxr2t)
{
	build_ic(pdu, TCP_PDU_ICREQ, hpda, hdgst, ddgst, maxr2t);
}

void tcp_build_icresp(struct tcp_tx_pdu *pdu, uint8_t cpda, bool hdgst, bool ddgst,
		      uint32_t maxh2cdata)
{
	/* The same layout: CPDA in the place of HPDA, MAXH2CDATA in that of MAXR2T (3.6.2.3). */
	build_ic(pdu, TCP_PDU_ICRESP, cpda, hdgst, ddgst, maxh2cdata);
}

void tcp_build_cmd(const struct tcp_tx *tx, struct tcp_tx_pdu *pdu, const struct nvme_cmd *sqe,
		   const struct iovec *data, int ndata, uint32_t data_len)
{
	struct tcp_cmd *cmd = (struct tcp_cmd *)(void *)pdu->head;

	start(pdu, data, ndata, data_len);
	cmd->sqe = *sqe;
	finish(tx, pdu, TCP_PDU_CMD, sizeof(*cmd), 0);
}

void tcp_build_rsp(const struct tcp_tx *tx, struct tcp_tx_pdu *pdu, const struct nvme_cpl *cqe)
{
	struct tcp_rsp *rsp = (struct tcp_rsp *)(void *)pdu->head;

	start(pdu, NULL, 0, 0);
	rsp->cqe = *cqe;
	finish(tx, pdu, TCP_PDU_RSP, sizeof(*rsp), 0);
}

static void build_data(struct tcp_tx_pdu *pdu, uint16_t cccid, uint16_t ttag, uint32_t datao)
{
	struct tcp_data *d = (struct tcp_data *)(void *)pdu->head;

	INVARIANT(pdu->data_len > 0);
	*d = (struct tcp_data){
		.cccid = cpu_to_le16(cccid),
		.ttag = cpu_to_le16(ttag),
		.datao = cpu_to_le32(datao),
		.datal = cpu_to_le32(pdu->data_len),
	};
}

void tcp_build_h2c_data(const struct tcp_tx *tx, struct tcp_tx_pdu *pdu, uint16_t cccid,
			uint16_t ttag, uint32_t datao, const struct iovec *data, int ndata,
			uint32_t data_len, bool last)
{
	start(pdu, data, ndata, data_len);
	build_data(pdu, cccid, ttag, datao);
	finish(tx, pdu, TCP_PDU_H2C_DATA, sizeof(struct tcp_data), last ? TCP_PDU_LAST : 0);
}

void tcp_build_c2h_data(const struct tcp_tx *tx, struct tcp_tx_pdu *pdu, uint16_t cccid,
			uint32_t datao, const struct iovec *data, int ndata, uint32_t data_len,
			bool last, bool success)
{
	INVARIANT(last || !success);
	start(pdu, data, ndata, data_len);
	build_data(pdu, cccid, 0, datao);
	finish(tx, pdu, TCP_PDU_C2H_DATA, sizeof(struct tcp_data),
	       (uint8_t)((last ? TCP_PDU_LAST : 0) | (success ? TCP_PDU_SUCCESS : 0)));
}

void tcp_build_r2t(const struct tcp_tx *tx, struct tcp_tx_pdu *pdu, uint16_t cccid, uint16_t ttag,
		   uint32_t r2to, uint32_t r2tl)
{
	struct tcp_r2t *r2t = (struct tcp_r2t *)(void *)pdu->head;

	start(pdu, NULL, 0, 0);
	*r2t = (struct tcp_r2t){
		.cccid = cpu_to_le16(cccid),
		.ttag = cpu_to_le16(ttag),
		.r2to = cpu_to_le32(r2to),
		.r2tl = cpu_to_le32(r2tl),
	};
	finish(tx, pdu, TCP_PDU_R2T, sizeof(*r2t), 0);
}

void tcp_build_term(struct tcp_tx_pdu *pdu, enum tcp_role role, const struct tcp_error *e)
{
	struct tcp_term *term = (struct tcp_term *)(void *)pdu->head;

	INVARIANT(e->header_len <= TCP_TERM_DATA_MAX);
	start(pdu, NULL, 0, 0);
	*term = (struct tcp_term){ .fes = cpu_to_le16(e->fes) };
	put_le32(term->fei, e->fei);
	memcpy(pdu->head + sizeof(*term), e->header, e->header_len);
	finish_plain(pdu, role == TCP_ROLE_HOST ? TCP_PDU_H2C_TERM : TCP_PDU_C2H_TERM,
		     sizeof(*term), e->header_len);
}

void tcp_tx_place(struct tcp_tx_pdu *pdu, const struct iovec *data, int ndata)
{
	pdu->data = data;
	pdu->ndata = ndata;
	pdu->data_i = 0;
	pdu->data_off = 0;
	/* Once a byte of it has gone, what the digest says of it is settled. */
	if (pdu->tail_len > 0 && pdu->data_sent == 0)
		put_le32(pdu->tail, digest_data(pdu));
}
