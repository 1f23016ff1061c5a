/* SPDX-License-Identifier: Apache-2.0 */
/*
 * I/O commands: what dwords 2, 3 and 10 to 15 of an SQE hold (NVM Command Set 1.0, 3 "I/O
 * Commands"; reservations: NVMe Base 2.0, 7).
 *
 * Read, Write, Compare, Verify and Write Zeroes share one layout, hence one group of readers. Block
 * counts and range counts, which the standard counts from zero, are counted from one on this side.
 */
#ifndef PENSTOCK_NVME_CMD_NVM_H
#define PENSTOCK_NVME_CMD_NVM_H

#include <stdbool.h>
#include <stdint.h>

#include "nvme/bits.h"
#include "nvme/sqe.h"

/* --- Read 3.2.4, Write 3.2.6, Compare 3.2.1, Verify 3.2.5, Write Zeroes 3.2.8 --- */

/* Dword 12. */
enum {
	NVME_RW_STC = 1u << 24,  /* storage tag check */
	NVME_RW_DEAC = 1u << 25, /* Write Zeroes: the blocks may be deallocated */
	NVME_RW_PRCHK_REF = 1u << 26,
	NVME_RW_PRCHK_APP = 1u << 27,
	NVME_RW_PRCHK_GUARD = 1u << 28,
	NVME_RW_PRACT = 1u << 29,
	NVME_RW_FUA = 1u << 30, /* done means: on non-volatile media */
};

/* Limited Retry. Bit 31, hence not an enumerator. */
#define NVME_RW_LR (UINT32_C(1) << 31)

/* Blocks in one command at most: NLB has 16 bits and counts from zero. */
#define NVME_RW_MAX_BLOCKS UINT32_C(65536)

static inline uint64_t nvme_cmd_slba(const struct nvme_cmd *cmd)
{
	return (uint64_t)le32_to_cpu(cmd->cdw11) << 32 | le32_to_cpu(cmd->cdw10);
}

/* Number of logical blocks, 1 to 65536. */
static inline uint32_t nvme_cmd_nlb(const struct nvme_cmd *cmd)
{
	return nvme_bits32(le32_to_cpu(cmd->cdw12), 15, 0) + 1;
}

static inline bool nvme_cmd_fua(const struct nvme_cmd *cmd)
{
	return le32_to_cpu(cmd->cdw12) & NVME_RW_FUA;
}

static inline bool nvme_cmd_lr(const struct nvme_cmd *cmd)
{
	return le32_to_cpu(cmd->cdw12) & NVME_RW_LR;
}

/* Write Zeroes: deallocation is welcome. */
static inline bool nvme_cmd_deac(const struct nvme_cmd *cmd)
{
	return le32_to_cpu(cmd->cdw12) & NVME_RW_DEAC;
}

/* PRINFO: PRACT in bit 3, then the checks of guard, application tag, reference tag. */
static inline uint8_t nvme_cmd_prinfo(const struct nvme_cmd *cmd)
{
	return (uint8_t)nvme_bits32(le32_to_cpu(cmd->cdw12), 29, 26);
}

/* Write: directive type (0 none, 1 streams). */
static inline uint8_t nvme_cmd_dtype(const struct nvme_cmd *cmd)
{
	return (uint8_t)nvme_bits32(le32_to_cpu(cmd->cdw12), 23, 20);
}

/* Write: directive specific, for instance the stream. */
static inline uint16_t nvme_cmd_dspec(const struct nvme_cmd *cmd)
{
	return (uint16_t)nvme_bits32(le32_to_cpu(cmd->cdw13), 31, 16);
}

/* Any command of this layout. @nlb is 1 to 65536, @dw12_flags an or of NVME_RW_*. */
static inline void nvme_cmd_init_rw(struct nvme_cmd *cmd, uint8_t opc, uint32_t nsid, uint64_t slba,
				    uint32_t nlb, uint32_t dw12_flags)
{
	nvme_cmd_init(cmd, opc, nsid);
	cmd->cdw10 = cpu_to_le32((uint32_t)slba);
	cmd->cdw11 = cpu_to_le32((uint32_t)(slba >> 32));
	cmd->cdw12 = cpu_to_le32(dw12_flags | ((nlb - 1) & 0xffff));
}

/* --- Flush, Base 2.0 7.1 --- */

static inline void nvme_cmd_init_flush(struct nvme_cmd *cmd, uint32_t nsid)
{
	nvme_cmd_init(cmd, NVME_NVM_FLUSH, nsid);
}

/* --- Dataset Management, 3.2.3 --- */

/* Dword 11. */
enum {
	NVME_DSM_IDR = 1u << 0, /* integral dataset for read */
	NVME_DSM_IDW = 1u << 1,
	NVME_DSM_DEALLOCATE = 1u << 2, /* AD */
};

enum {
	NVME_DSM_MAX_RANGES = 256,
};

/* One range; the command's data is an array of these. Here the length is not counted from zero. */
struct nvme_dsm_range {
	le32 cattr; /* context attributes: hints */
	le32 nlb;   /* blocks; zero means an empty range */
	le64 slba;
};

static_assert(sizeof(struct nvme_dsm_range) == 16, "a range is 16 bytes");

/* Number of ranges, 1 to 256. */
static inline uint32_t nvme_dsm_nr(const struct nvme_cmd *cmd)
{
	return nvme_bits32(le32_to_cpu(cmd->cdw10), 7, 0) + 1;
}

static inline uint32_t nvme_dsm_attr(const struct nvme_cmd *cmd)
{
	return nvme_bits32(le32_to_cpu(cmd->cdw11), 2, 0);
}

/* @nr is 1 to 256, @attr an or of NVME_DSM_*. */
static inline void nvme_cmd_init_dsm(struct nvme_cmd *cmd, uint32_t nsid, uint32_t nr,
				     uint32_t attr)
{
	nvme_cmd_init(cmd, NVME_NVM_DATASET_MGMT, nsid);
	cmd->cdw10 = cpu_to_le32((nr - 1) & 0xff);
	cmd->cdw11 = cpu_to_le32(attr);
}

static inline struct nvme_dsm_range nvme_dsm_range(uint64_t slba, uint32_t nlb)
{
	return (struct nvme_dsm_range){ .nlb = cpu_to_le32(nlb), .slba = cpu_to_le64(slba) };
}

/* --- Reservations: Register 7.3, Acquire 7.2, Release 7.4, Report 7.5 (Base 2.0) --- */

enum nvme_resv_register_action {
	NVME_RREGA_REGISTER = 0,
	NVME_RREGA_UNREGISTER = 1,
	NVME_RREGA_REPLACE = 2,
};

enum nvme_resv_acquire_action {
	NVME_RACQA_ACQUIRE = 0,
	NVME_RACQA_PREEMPT = 1,
	NVME_RACQA_PREEMPT_AND_ABORT = 2,
};

enum nvme_resv_release_action {
	NVME_RRELA_RELEASE = 0,
	NVME_RRELA_CLEAR = 1,
};

/* Change Persist Through Power Loss state: bits 31:30 of Register's dword 10. */
enum nvme_resv_cptpl {
	NVME_CPTPL_KEEP = 0,
	NVME_CPTPL_CLEAR = 2,
	NVME_CPTPL_SET = 3,
};

enum nvme_resv_type {
	NVME_RTYPE_NONE = 0,
	NVME_RTYPE_WRITE_EXCLUSIVE = 1,
	NVME_RTYPE_EXCLUSIVE_ACCESS = 2,
	NVME_RTYPE_WRITE_EXCLUSIVE_REGISTRANTS = 3,
	NVME_RTYPE_EXCLUSIVE_ACCESS_REGISTRANTS = 4,
	NVME_RTYPE_WRITE_EXCLUSIVE_ALL = 5,
	NVME_RTYPE_EXCLUSIVE_ACCESS_ALL = 6,
};

/* Data of Register: current key, new key. Data of Acquire: current key, key to preempt. */
struct nvme_resv_keys {
	le64 crkey;
	le64 key; /* NRKEY or PRKEY */
};

static_assert(sizeof(struct nvme_resv_keys) == 16, "two keys");

/* RREGA, RACQA or RRELA: the three share bits 2:0 of dword 10. */
static inline uint8_t nvme_resv_action(const struct nvme_cmd *cmd)
{
	return (uint8_t)nvme_bits32(le32_to_cpu(cmd->cdw10), 2, 0);
}

/* IEKEY: the current key is not checked. */
static inline bool nvme_resv_ignore_key(const struct nvme_cmd *cmd)
{
	return nvme_bit(le32_to_cpu(cmd->cdw10), 3);
}

/* Acquire and Release. */
static inline uint8_t nvme_resv_rtype(const struct nvme_cmd *cmd)
{
	return (uint8_t)nvme_bits32(le32_to_cpu(cmd->cdw10), 15, 8);
}

/* Register. */
static inline uint8_t nvme_resv_cptpl(const struct nvme_cmd *cmd)
{
	return (uint8_t)nvme_bits32(le32_to_cpu(cmd->cdw10), 31, 30);
}

/* Report: bytes asked for, 4 to 16 GiB. */
static inline uint64_t nvme_resv_report_bytes(const struct nvme_cmd *cmd)
{
	return ((uint64_t)le32_to_cpu(cmd->cdw10) + 1) * 4;
}

/* Report: the extended data structure, for hosts with 128-bit identifiers. */
static inline bool nvme_resv_report_extended(const struct nvme_cmd *cmd)
{
	return nvme_bit(le32_to_cpu(cmd->cdw11), 0);
}

/* Register, Acquire or Release; @rtype and @cptpl are zero where the command has no such field. */
static inline void nvme_cmd_init_resv(struct nvme_cmd *cmd, uint8_t opc, uint32_t nsid,
				      uint8_t action, bool ignore_key, uint8_t rtype, uint8_t cptpl)
{
	nvme_cmd_init(cmd, opc, nsid);
	cmd->cdw10 = cpu_to_le32((uint32_t)(cptpl & 3) << 30 | (uint32_t)rtype << 8 |
				 (uint32_t)ignore_key << 3 | (action & 7));
}

/* @bytes is a multiple of 4, 4 to 16 GiB. */
static inline void nvme_cmd_init_resv_report(struct nvme_cmd *cmd, uint32_t nsid, uint64_t bytes,
					     bool extended)
{
	nvme_cmd_init(cmd, NVME_NVM_RESV_REPORT, nsid);
	cmd->cdw10 = cpu_to_le32((uint32_t)(bytes / 4 - 1));
	cmd->cdw11 = cpu_to_le32(extended);
}

/* Reservation Status: header of Report's data, followed by one entry per registered controller. */
struct nvme_resv_status {
	le32 gen;
	uint8_t rtype; /* enum nvme_resv_type */
	le16 regctl;   /* number of entries */
	uint8_t rsvd7[2];
	uint8_t ptpls;
	uint8_t rsvd10[14];
};

static_assert(sizeof(struct nvme_resv_status) == 24, "entries begin at byte 24");
static_assert(offsetof(struct nvme_resv_status, regctl) == 5, "REGCTL is bytes 6:5");

enum {
	NVME_RESV_STATUS_EXTENDED_HEADER = 64, /* the header, padded, before extended ones */
	NVME_RCSTS_HOLDER = 1 << 0,
};

struct nvme_resv_controller {
	le16 cntlid;
	uint8_t rcsts;
	uint8_t rsvd3[5];
	uint8_t hostid[8];
	le64 rkey;
};

struct nvme_resv_controller_ext {
	le16 cntlid;
	uint8_t rcsts;
	uint8_t rsvd3[5];
	le64 rkey;
	uint8_t hostid[16];
	uint8_t rsvd32[32];
};

static_assert(sizeof(struct nvme_resv_controller) == 24, "registered controller");
static_assert(sizeof(struct nvme_resv_controller_ext) == 64, "registered controller, extended");

#endif
