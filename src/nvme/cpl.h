/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The completion queue entry: 16 bytes (NVMe Base 2.0, 3.3.3.2 "Common Completion Queue Entry").
 *
 * Over fabrics the SQ Identifier and the phase tag are reserved (the queue is the connection, and
 * nothing polls memory), so both stay zero here and are ignored when read. The status field keeps
 * its wire form; nvme/status.h turns it into a value.
 */
#ifndef PENSTOCK_NVME_CPL_H
#define PENSTOCK_NVME_CPL_H

#include <stddef.h>
#include <stdint.h>

#include "base/le.h"
#include "nvme/status.h"

struct nvme_cpl {
	le32 cdw0; /* command specific result; the low half of a Property Get's value */
	le32 cdw1; /* the high half of it, otherwise mostly reserved */
	le16 sqhd; /* submission queue head; reserved when SQ flow control is off */
	le16 sqid; /* reserved over fabrics */
	le16 cid;
	le16 status; /* phase tag in bit 0, the status field in bits 15:1 */
};

static_assert(sizeof(struct nvme_cpl) == 16, "a CQE is 16 bytes");
static_assert(offsetof(struct nvme_cpl, sqhd) == 8, "SQHD is bytes 9:8");
static_assert(offsetof(struct nvme_cpl, cid) == 12, "CID is bytes 13:12");
static_assert(offsetof(struct nvme_cpl, status) == 14, "the status field is bytes 15:14");

static inline uint16_t nvme_cpl_cid(const struct nvme_cpl *cpl)
{
	return le16_to_cpu(cpl->cid);
}

static inline uint16_t nvme_cpl_sqhd(const struct nvme_cpl *cpl)
{
	return le16_to_cpu(cpl->sqhd);
}

static inline uint32_t nvme_cpl_dw0(const struct nvme_cpl *cpl)
{
	return le32_to_cpu(cpl->cdw0);
}

/* Dwords 1:0 as one value, as Property Get returns it. */
static inline uint64_t nvme_cpl_u64(const struct nvme_cpl *cpl)
{
	return (uint64_t)le32_to_cpu(cpl->cdw1) << 32 | le32_to_cpu(cpl->cdw0);
}

static inline void nvme_cpl_set_u64(struct nvme_cpl *cpl, uint64_t value)
{
	cpl->cdw0 = cpu_to_le32((uint32_t)value);
	cpl->cdw1 = cpu_to_le32((uint32_t)(value >> 32));
}

static inline struct nvme_status nvme_cpl_status(const struct nvme_cpl *cpl)
{
	return nvme_status_decode(le16_to_cpu(cpl->status));
}

/* A whole entry. @dw0 is the command specific result, zero for most commands. */
static inline struct nvme_cpl nvme_cpl(uint16_t cid, uint16_t sqhd, struct nvme_status st,
				       uint32_t dw0)
{
	return (struct nvme_cpl){
		.cdw0 = cpu_to_le32(dw0),
		.sqhd = cpu_to_le16(sqhd),
		.cid = cpu_to_le16(cid),
		.status = cpu_to_le16(nvme_status_encode(st)),
	};
}

#endif
