/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The submission queue entry: 64 bytes common to every command (NVMe Base 2.0, 3.3.3.1 "Submission
 * Queue Entry").
 *
 * One plain struct overlays the bytes; what a given command keeps in dwords 10 to 15 is read by the
 * helpers of cmd-admin.h and cmd-nvm.h, and Fabrics commands, whose layout differs from byte 4 on,
 * have structs of their own in fabrics.h. Every member is made of bytes, so the struct may lie at
 * any address and may alias a receive buffer.
 */
#ifndef PENSTOCK_NVME_SQE_H
#define PENSTOCK_NVME_SQE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/le.h"
#include "nvme/opcode.h"
#include "nvme/sgl.h"

struct nvme_cmd {
	uint8_t opc;   /* nvme/opcode.h; its meaning depends on the queue */
	uint8_t flags; /* FUSE in bits 1:0, PSDT in bits 7:6 */
	le16 cid;      /* command identifier, unique among those outstanding on the queue */
	le32 nsid;     /* FCTYPE is the first byte of this in a Fabrics command */
	le32 cdw2;
	le32 cdw3;
	le64 mptr;
	struct nvme_sgl_desc sgl; /* SGL1; fabrics never uses PRPs */
	le32 cdw10;
	le32 cdw11;
	le32 cdw12;
	le32 cdw13;
	le32 cdw14;
	le32 cdw15;
};

static_assert(sizeof(struct nvme_cmd) == 64, "an SQE is 64 bytes");
static_assert(_Alignof(struct nvme_cmd) == 1, "an SQE may lie anywhere in a receive buffer");
static_assert(offsetof(struct nvme_cmd, nsid) == 4, "NSID is bytes 7:4");
static_assert(offsetof(struct nvme_cmd, mptr) == 16, "MPTR is bytes 23:16");
static_assert(offsetof(struct nvme_cmd, sgl) == 24, "SGL1 is bytes 39:24");
static_assert(offsetof(struct nvme_cmd, cdw10) == 40, "CDW10 is bytes 43:40");
static_assert(offsetof(struct nvme_cmd, cdw15) == 60, "CDW15 is bytes 63:60");

/* FUSE, bits 1:0 of the flags byte. The fourth value is reserved: Invalid Field in Command. */
enum nvme_fuse {
	NVME_FUSE_NONE = 0,
	NVME_FUSE_FIRST = 1,
	NVME_FUSE_SECOND = 2,
	NVME_FUSE_RESERVED = 3,
};

/*
 * PSDT, bits 7:6 of the flags byte. A command over fabrics uses 01b (SGL1 in the entry, MPTR a
 * contiguous buffer if used at all), also when it moves no data: Linux refuses every capsule,
 * Fabrics commands included, that does not.
 */
enum nvme_psdt {
	NVME_PSDT_PRP = 0,
	NVME_PSDT_SGL = 1,
	NVME_PSDT_SGL_METADATA_SGL = 2,
	NVME_PSDT_RESERVED = 3,
};

enum {
	NVME_FLAGS_SGL = NVME_PSDT_SGL << 6,
	NVME_NSID_NONE = 0,
};

/* "All namespaces". 32 bits, hence not an enumerator. */
#define NVME_NSID_ALL UINT32_C(0xffffffff)

static inline enum nvme_fuse nvme_cmd_fuse(const struct nvme_cmd *cmd)
{
	return (enum nvme_fuse)(cmd->flags & 3);
}

static inline enum nvme_psdt nvme_cmd_psdt(const struct nvme_cmd *cmd)
{
	return (enum nvme_psdt)(cmd->flags >> 6);
}

static inline uint16_t nvme_cmd_cid(const struct nvme_cmd *cmd)
{
	return le16_to_cpu(cmd->cid);
}

static inline uint32_t nvme_cmd_nsid(const struct nvme_cmd *cmd)
{
	return le32_to_cpu(cmd->nsid);
}

/* FCTYPE of a Fabrics command: byte 4, where other commands keep the first byte of NSID. */
static inline uint8_t nvme_cmd_fctype(const struct nvme_cmd *cmd)
{
	return cmd->nsid.b[0];
}

/* Which way this command's data travels, from the two low bits of its opcode or FCTYPE. */
static inline enum nvme_direction nvme_cmd_direction(const struct nvme_cmd *cmd)
{
	return nvme_opcode_direction(cmd->opc, nvme_cmd_fctype(cmd));
}

/* Bytes of data that SGL1 describes. */
static inline uint32_t nvme_cmd_sgl_len(const struct nvme_cmd *cmd)
{
	return nvme_sgl_len(&cmd->sgl);
}

/*
 * An entry with every field zero but the opcode and PSDT. CID and SGL1 belong to whoever owns the
 * queue.
 */
static inline void nvme_cmd_init(struct nvme_cmd *cmd, uint8_t opc, uint32_t nsid)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->opc = opc;
	cmd->flags = NVME_FLAGS_SGL;
	cmd->nsid = cpu_to_le32(nsid);
}

#endif
