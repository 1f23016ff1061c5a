/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SGL descriptor: where a command's data is (NVMe Base 2.0, 4.1.2 "Scatter Gather List").
 *
 * Over fabrics a command carries exactly one descriptor in SGL1. NVMe/TCP allows two forms (TCP
 * Transport 1.0, figure "SGL Descriptor Usage"): a Data Block with an Offset, for data inside the
 * capsule, and a Transport Data Block, for data that travels in PDUs of its own. Both are built
 * here; the rest have names so that a refusal can say what it refused.
 */
#ifndef PENSTOCK_NVME_SGL_H
#define PENSTOCK_NVME_SGL_H

#include <stdint.h>

#include "base/le.h"

/* Bits 7:4 of the identifier byte. */
enum nvme_sgl_type {
	NVME_SGL_DATA_BLOCK = 0x0,
	NVME_SGL_BIT_BUCKET = 0x1,
	NVME_SGL_SEGMENT = 0x2,
	NVME_SGL_LAST_SEGMENT = 0x3,
	NVME_SGL_KEYED_DATA_BLOCK = 0x4,
	NVME_SGL_TRANSPORT_DATA_BLOCK = 0x5,
	NVME_SGL_VENDOR = 0xf,
};

/* Bits 3:0 of the identifier byte. */
enum nvme_sgl_subtype {
	NVME_SGL_ADDRESS = 0x0,
	NVME_SGL_OFFSET = 0x1,
	NVME_SGL_TRANSPORT = 0xa,
};

/* The two whole identifier bytes that NVMe/TCP knows. */
enum {
	NVME_SGL_ID_IN_CAPSULE = (NVME_SGL_DATA_BLOCK << 4) | NVME_SGL_OFFSET,
	NVME_SGL_ID_TRANSPORT = (NVME_SGL_TRANSPORT_DATA_BLOCK << 4) | NVME_SGL_TRANSPORT,
};

struct nvme_sgl_desc {
	le64 addr; /* for subtype Offset: from the start of in-capsule data */
	le32 len;  /* bytes */
	uint8_t rsvd12[3];
	uint8_t id; /* type in bits 7:4, subtype in bits 3:0 */
};

static_assert(sizeof(struct nvme_sgl_desc) == 16, "an SGL descriptor is 16 bytes");

static inline enum nvme_sgl_type nvme_sgl_type(const struct nvme_sgl_desc *d)
{
	return (enum nvme_sgl_type)(d->id >> 4);
}

static inline enum nvme_sgl_subtype nvme_sgl_subtype(const struct nvme_sgl_desc *d)
{
	return (enum nvme_sgl_subtype)(d->id & 0xf);
}

static inline uint32_t nvme_sgl_len(const struct nvme_sgl_desc *d)
{
	return le32_to_cpu(d->len);
}

/* @len bytes that travel in data PDUs. */
static inline struct nvme_sgl_desc nvme_sgl_transport(uint32_t len)
{
	return (struct nvme_sgl_desc){ .len = cpu_to_le32(len), .id = NVME_SGL_ID_TRANSPORT };
}

/* @len bytes that follow the SQE in its capsule, @offset bytes after the place ICDOFF names. */
static inline struct nvme_sgl_desc nvme_sgl_in_capsule(uint64_t offset, uint32_t len)
{
	return (struct nvme_sgl_desc){
		.addr = cpu_to_le64(offset),
		.len = cpu_to_le32(len),
		.id = NVME_SGL_ID_IN_CAPSULE,
	};
}

#endif
