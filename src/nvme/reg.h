/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Controller properties (registers, on PCIe): offsets, and the fields inside them (NVMe Base 2.0,
 * 3.1.3).
 *
 * Over fabrics they are reached with Property Get and Set; only the four that are mandatory there
 * and a few around them are here. CAP is 8 bytes, all others 4, and a Property command of the wrong
 * size is refused.
 */
#ifndef PENSTOCK_NVME_REG_H
#define PENSTOCK_NVME_REG_H

#include <stdbool.h>
#include <stdint.h>

#include "nvme/bits.h"

enum nvme_reg {
	NVME_REG_CAP = 0x00,
	NVME_REG_VS = 0x08,
	NVME_REG_CC = 0x14,
	NVME_REG_CSTS = 0x1c,
	NVME_REG_NSSR = 0x20,
	NVME_REG_NSSD = 0x64,
	NVME_REG_CRTO = 0x68,
};

/* Bytes of property @ofst, 0 when it is none of the above. */
static inline unsigned int nvme_reg_size(uint32_t ofst)
{
	switch (ofst) {
	case NVME_REG_CAP:
		return 8;
	case NVME_REG_VS:
	case NVME_REG_CC:
	case NVME_REG_CSTS:
	case NVME_REG_NSSR:
	case NVME_REG_NSSD:
	case NVME_REG_CRTO:
		return 4;
	default:
		return 0;
	}
}

/* --- CAP, 3.1.3.1 --- */

enum {
	NVME_CAP_CSS_NVM = 1 << 0,
	NVME_CAP_CSS_IO_COMMAND_SETS = 1 << 6,
	NVME_CAP_CSS_ADMIN_ONLY = 1 << 7,

	NVME_CAP_CRMS_WITH_MEDIA = 1 << 0,  /* CRWMS */
	NVME_CAP_CRMS_INDEPENDENT = 1 << 1, /* CRIMS */

	NVME_CAP_TO_UNIT_MS = 500,
};

struct nvme_cap {
	uint32_t max_entries; /* MQES, counted from one on this side: 2 to 65536 */
	bool cqr;             /* queues are contiguous; always set over fabrics */
	uint8_t ams; /* arbitration beyond round robin: bit 0 weighted, bit 1 vendor specific */
	uint8_t to;  /* units of NVME_CAP_TO_UNIT_MS until CSTS.RDY follows CC.EN */
	bool nssrs;
	uint8_t css;    /* bits of NVME_CAP_CSS_* */
	uint8_t mpsmin; /* page size is 4096 << this; the unit of MDTS */
	uint8_t mpsmax;
	bool nsss;
	uint8_t crms; /* bits of NVME_CAP_CRMS_* */
};

static inline struct nvme_cap nvme_cap_decode(uint64_t v)
{
	return (struct nvme_cap){
		.max_entries = (uint32_t)nvme_bits64(v, 15, 0) + 1,
		.cqr = nvme_bit(v, 16),
		.ams = (uint8_t)nvme_bits64(v, 18, 17),
		.to = (uint8_t)nvme_bits64(v, 31, 24),
		.nssrs = nvme_bit(v, 36),
		.css = (uint8_t)nvme_bits64(v, 44, 37),
		.mpsmin = (uint8_t)nvme_bits64(v, 51, 48),
		.mpsmax = (uint8_t)nvme_bits64(v, 55, 52),
		.nsss = nvme_bit(v, 58),
		.crms = (uint8_t)nvme_bits64(v, 60, 59),
	};
}

static inline uint64_t nvme_cap_encode(struct nvme_cap c)
{
	return ((c.max_entries - 1) & 0xffff) | (uint64_t)c.cqr << 16 |
	       (uint64_t)(c.ams & 3) << 17 | (uint64_t)c.to << 24 | (uint64_t)c.nssrs << 36 |
	       (uint64_t)c.css << 37 | (uint64_t)(c.mpsmin & 0xf) << 48 |
	       (uint64_t)(c.mpsmax & 0xf) << 52 | (uint64_t)c.nsss << 58 |
	       (uint64_t)(c.crms & 3) << 59;
}

/* --- VS, 3.1.3.2 --- */

static inline uint32_t nvme_vs(uint16_t major, uint8_t minor, uint8_t tertiary)
{
	return (uint32_t)major << 16 | (uint32_t)minor << 8 | tertiary;
}

#define NVME_VS_2_0 UINT32_C(0x00020000)

/* --- CC, 3.1.3.5 --- */

enum {
	NVME_CC_EN = 1 << 0,

	NVME_CC_CSS_NVM = 0,
	NVME_CC_CSS_ALL = 6, /* every I/O command set the controller has */
	NVME_CC_CSS_ADMIN = 7,

	NVME_CC_SHN_NONE = 0,
	NVME_CC_SHN_NORMAL = 1,
	NVME_CC_SHN_ABRUPT = 2,
};

struct nvme_cc {
	bool en;
	uint8_t css;
	uint8_t mps; /* page size is 4096 << this */
	uint8_t ams;
	uint8_t shn;
	uint8_t iosqes; /* log2: 6 */
	uint8_t iocqes; /* log2: 4 */
	bool crime;
};

static inline struct nvme_cc nvme_cc_decode(uint32_t v)
{
	return (struct nvme_cc){
		.en = nvme_bit(v, 0),
		.css = (uint8_t)nvme_bits32(v, 6, 4),
		.mps = (uint8_t)nvme_bits32(v, 10, 7),
		.ams = (uint8_t)nvme_bits32(v, 13, 11),
		.shn = (uint8_t)nvme_bits32(v, 15, 14),
		.iosqes = (uint8_t)nvme_bits32(v, 19, 16),
		.iocqes = (uint8_t)nvme_bits32(v, 23, 20),
		.crime = nvme_bit(v, 24),
	};
}

static inline uint32_t nvme_cc_encode(struct nvme_cc c)
{
	return (uint32_t)c.en | (c.css & 7u) << 4 | (c.mps & 0xfu) << 7 | (c.ams & 7u) << 11 |
	       (c.shn & 3u) << 14 | (c.iosqes & 0xfu) << 16 | (c.iocqes & 0xfu) << 20 |
	       (uint32_t)c.crime << 24;
}

/* --- CSTS, 3.1.3.6 --- */

enum {
	NVME_CSTS_RDY = 1 << 0,
	NVME_CSTS_CFS = 1 << 1, /* controller fatal status */
	NVME_CSTS_SHST_MASK = 3 << 2,
	NVME_CSTS_SHST_NORMAL = 0 << 2,
	NVME_CSTS_SHST_OCCURRING = 1 << 2,
	NVME_CSTS_SHST_COMPLETE = 2 << 2,
	NVME_CSTS_NSSRO = 1 << 4,
	NVME_CSTS_PP = 1 << 5,
	NVME_CSTS_ST = 1 << 6,
};

/* --- CRTO, 3.1.3.24: units of NVME_CAP_TO_UNIT_MS --- */

static inline uint32_t nvme_crto(uint16_t with_media, uint16_t independent)
{
	return (uint32_t)independent << 16 | with_media;
}

#endif
