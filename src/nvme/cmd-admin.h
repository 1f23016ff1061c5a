/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admin commands: what dwords 10 to 15 of an SQE hold for each (NVMe Base 2.0, 5 "Admin Command
 * Set").
 *
 * For each command a group of readers, which the target uses, and one nvme_cmd_init_*() that fills
 * a whole entry but CID and SGL1, which the host uses. Numbers that the standard counts from zero
 * (NUMD, queue counts) are counted from one on this side, so that the correction is made once,
 * here.
 */
#ifndef PENSTOCK_NVME_CMD_ADMIN_H
#define PENSTOCK_NVME_CMD_ADMIN_H

#include <stdbool.h>
#include <stdint.h>

#include "nvme/bits.h"
#include "nvme/sqe.h"

/* I/O command sets (CSI). */
enum nvme_csi {
	NVME_CSI_NVM = 0x00,
	NVME_CSI_KV = 0x01,
	NVME_CSI_ZNS = 0x02,
};

/* --- Identify, 5.17 --- */

/* Controller or Namespace Structure: which data structure is asked for. */
enum nvme_cns {
	NVME_CNS_NS = 0x00,
	NVME_CNS_CTRL = 0x01,
	NVME_CNS_ACTIVE_NS_LIST = 0x02,
	NVME_CNS_NS_DESC_LIST = 0x03,
	NVME_CNS_NVM_SET_LIST = 0x04,
	NVME_CNS_CSI_NS = 0x05,
	NVME_CNS_CSI_CTRL = 0x06,
	NVME_CNS_CSI_ACTIVE_NS_LIST = 0x07,
	NVME_CNS_INDEPENDENT_NS = 0x08,
	NVME_CNS_NS_FORMAT = 0x09,
	NVME_CNS_CSI_NS_FORMAT = 0x0a,
	NVME_CNS_ALLOCATED_NS_LIST = 0x10,
	NVME_CNS_ALLOCATED_NS = 0x11,
	NVME_CNS_NS_CTRL_LIST = 0x12,
	NVME_CNS_CTRL_LIST = 0x13,
	NVME_CNS_PRIMARY_CTRL_CAPS = 0x14,
	NVME_CNS_SECONDARY_CTRL_LIST = 0x15,
	NVME_CNS_NS_GRANULARITY_LIST = 0x16,
	NVME_CNS_UUID_LIST = 0x17,
	NVME_CNS_DOMAIN_LIST = 0x18,
	NVME_CNS_ENDURANCE_GROUP_LIST = 0x19,
	NVME_CNS_CSI_ALLOCATED_NS_LIST = 0x1a,
	NVME_CNS_CSI_ALLOCATED_NS = 0x1b,
	NVME_CNS_IO_COMMAND_SETS = 0x1c,
};

static inline uint8_t nvme_identify_cns(const struct nvme_cmd *cmd)
{
	return (uint8_t)le32_to_cpu(cmd->cdw10);
}

static inline uint16_t nvme_identify_cntid(const struct nvme_cmd *cmd)
{
	return (uint16_t)(le32_to_cpu(cmd->cdw10) >> 16);
}

/* CNS Specific Identifier: NVM set, domain or endurance group, as CNS says. */
static inline uint16_t nvme_identify_cns_id(const struct nvme_cmd *cmd)
{
	return (uint16_t)le32_to_cpu(cmd->cdw11);
}

static inline uint8_t nvme_identify_csi(const struct nvme_cmd *cmd)
{
	return (uint8_t)(le32_to_cpu(cmd->cdw11) >> 24);
}

static inline void nvme_cmd_init_identify(struct nvme_cmd *cmd, uint8_t cns, uint32_t nsid,
					  uint16_t cntid, uint8_t csi)
{
	nvme_cmd_init(cmd, NVME_ADMIN_IDENTIFY, nsid);
	cmd->cdw10 = cpu_to_le32((uint32_t)cntid << 16 | cns);
	cmd->cdw11 = cpu_to_le32((uint32_t)csi << 24);
}

/* --- Get Log Page, 5.16 --- */

/* The whole request. */
struct nvme_get_log {
	uint8_t lid;  /* enum nvme_lid, nvme/log.h */
	uint8_t lsp;  /* log specific, 7 bits */
	uint16_t lsi; /* log specific identifier */
	bool rae;     /* retain asynchronous event: reading does not re-arm it */
	bool ot;      /* @offset is an index, not bytes */
	uint8_t csi;
	uint64_t bytes;  /* asked for; a multiple of 4, 4 to 16 GiB */
	uint64_t offset; /* bytes unless @ot; as sent, so perhaps no multiple of 4 */
};

static inline struct nvme_get_log nvme_cmd_get_log(const struct nvme_cmd *cmd)
{
	uint32_t dw10 = le32_to_cpu(cmd->cdw10);
	uint32_t dw11 = le32_to_cpu(cmd->cdw11);
	uint32_t dw14 = le32_to_cpu(cmd->cdw14);
	uint64_t numd = (uint64_t)nvme_bits32(dw11, 15, 0) << 16 | nvme_bits32(dw10, 31, 16);

	return (struct nvme_get_log){
		.lid = (uint8_t)dw10,
		.lsp = (uint8_t)nvme_bits32(dw10, 14, 8),
		.rae = nvme_bit(dw10, 15),
		.lsi = (uint16_t)nvme_bits32(dw11, 31, 16),
		.ot = nvme_bit(dw14, 23),
		.csi = (uint8_t)nvme_bits32(dw14, 31, 24),
		.bytes = (numd + 1) * 4,
		.offset = (uint64_t)le32_to_cpu(cmd->cdw13) << 32 | le32_to_cpu(cmd->cdw12),
	};
}

/* @log->bytes is rounded down to dwords and must be 4 to 16 GiB. */
static inline void nvme_cmd_init_get_log(struct nvme_cmd *cmd, uint32_t nsid,
					 const struct nvme_get_log *log)
{
	uint32_t numd = (uint32_t)(log->bytes / 4 - 1);

	nvme_cmd_init(cmd, NVME_ADMIN_GET_LOG_PAGE, nsid);
	cmd->cdw10 = cpu_to_le32(numd << 16 | (uint32_t)log->rae << 15 |
				 (uint32_t)(log->lsp & 0x7f) << 8 | log->lid);
	cmd->cdw11 = cpu_to_le32((uint32_t)log->lsi << 16 | numd >> 16);
	cmd->cdw12 = cpu_to_le32((uint32_t)log->offset);
	cmd->cdw13 = cpu_to_le32((uint32_t)(log->offset >> 32));
	cmd->cdw14 = cpu_to_le32((uint32_t)log->csi << 24 | (uint32_t)log->ot << 23);
}

/* --- Get Features 5.15, Set Features 5.27 --- */

/* What Get Features returns. */
enum nvme_feature_select {
	NVME_FEATURE_CURRENT = 0,
	NVME_FEATURE_DEFAULT = 1,
	NVME_FEATURE_SAVED = 2,
	NVME_FEATURE_CAPABILITIES = 3,
};

static inline uint8_t nvme_feature_fid(const struct nvme_cmd *cmd)
{
	return (uint8_t)le32_to_cpu(cmd->cdw10);
}

/* Get Features: enum nvme_feature_select, or 4 to 7, which are reserved. */
static inline uint8_t nvme_feature_sel(const struct nvme_cmd *cmd)
{
	return (uint8_t)nvme_bits32(le32_to_cpu(cmd->cdw10), 10, 8);
}

/* Set Features: keep the value over power cycles. */
static inline bool nvme_feature_save(const struct nvme_cmd *cmd)
{
	return nvme_bit(le32_to_cpu(cmd->cdw10), 31);
}

/* Feature specific dword; nvme/feature.h takes it apart. */
static inline uint32_t nvme_feature_dw11(const struct nvme_cmd *cmd)
{
	return le32_to_cpu(cmd->cdw11);
}

static inline void nvme_cmd_init_get_features(struct nvme_cmd *cmd, uint8_t fid, uint8_t sel,
					      uint32_t nsid, uint32_t dw11)
{
	nvme_cmd_init(cmd, NVME_ADMIN_GET_FEATURES, nsid);
	cmd->cdw10 = cpu_to_le32((uint32_t)(sel & 7) << 8 | fid);
	cmd->cdw11 = cpu_to_le32(dw11);
}

static inline void nvme_cmd_init_set_features(struct nvme_cmd *cmd, uint8_t fid, bool save,
					      uint32_t nsid, uint32_t dw11)
{
	nvme_cmd_init(cmd, NVME_ADMIN_SET_FEATURES, nsid);
	cmd->cdw10 = cpu_to_le32((uint32_t)save << 31 | fid);
	cmd->cdw11 = cpu_to_le32(dw11);
}

/* --- Abort, 5.1 --- */

static inline uint16_t nvme_abort_sqid(const struct nvme_cmd *cmd)
{
	return (uint16_t)le32_to_cpu(cmd->cdw10);
}

static inline uint16_t nvme_abort_cid(const struct nvme_cmd *cmd)
{
	return (uint16_t)(le32_to_cpu(cmd->cdw10) >> 16);
}

static inline void nvme_cmd_init_abort(struct nvme_cmd *cmd, uint16_t sqid, uint16_t cid)
{
	nvme_cmd_init(cmd, NVME_ADMIN_ABORT, 0);
	cmd->cdw10 = cpu_to_le32((uint32_t)cid << 16 | sqid);
}

/* Dword 0 of Abort's completion: bit 0 set when the command was NOT aborted. */
enum {
	NVME_ABORT_DW0_ABORTED = 0,
	NVME_ABORT_DW0_NOT_ABORTED = 1,
};

/* --- Commands without parameters: Asynchronous Event Request 5.2, Keep Alive 5.18 --- */

static inline void nvme_cmd_init_async_event(struct nvme_cmd *cmd)
{
	nvme_cmd_init(cmd, NVME_ADMIN_ASYNC_EVENT_REQUEST, 0);
}

static inline void nvme_cmd_init_keep_alive(struct nvme_cmd *cmd)
{
	nvme_cmd_init(cmd, NVME_ADMIN_KEEP_ALIVE, 0);
}

#endif
