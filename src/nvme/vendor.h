/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Penstock's own extension of NVMe: a controller says, of the commands it is asked to, how long they
 * spent where within it. docs/vendor-extension.md has the byte layouts and the rules; in short:
 *
 * - Identify Controller has 16 bytes at its vendor specific part that say so;
 * - Set Features with a vendor specific identifier turns it on for a queue;
 * - on such a queue a bit of dword 13 of Read and Write, reserved otherwise, asks for it;
 * - dwords 1:0 of the completion of such a command, reserved otherwise, have the three figures.
 *
 * A peer that knows nothing of it sees a few vendor specific bytes in Identify and otherwise nothing.
 */
#ifndef PENSTOCK_NVME_VENDOR_H
#define PENSTOCK_NVME_VENDOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/le.h"
#include "nvme/bits.h"
#include "nvme/identify.h"
#include "nvme/sqe.h"

/* ---- Identify Controller, byte 3072 ---------------------------------------------------------- */

struct nvme_vendor_id {
	uint8_t magic[8]; /* "PENSTOCK" */
	le16 version;
	le16 rsvd10;
	le32 caps;
};

static_assert(sizeof(struct nvme_vendor_id) == 16, "the vendor's part of Identify Controller");
NVME_AT(nvme_vendor_id, version, 8);
NVME_AT(nvme_vendor_id, caps, 12);

enum {
	/* Later versions add fields; what would change the meaning of one gets a bit of its own. */
	NVME_VENDOR_VERSION = 1,
	NVME_VENDOR_CAP_TIMES = 1 << 0, /* the feature below */
};

static inline void nvme_vendor_put(struct nvme_id_ctrl *id, uint32_t caps)
{
	struct nvme_vendor_id v = { .magic = "PENSTOCK", .version = cpu_to_le16(NVME_VENDOR_VERSION) };

	v.caps = cpu_to_le32(caps);
	memcpy(id->vs, &v, sizeof(v));
}

/* What the controller can do beyond the standard; 0 if it is none of ours. */
static inline uint32_t nvme_vendor_caps(const struct nvme_id_ctrl *id)
{
	struct nvme_vendor_id v;

	memcpy(&v, id->vs, sizeof(v));
	if (memcmp(v.magic, "PENSTOCK", sizeof(v.magic)) != 0 || le16_to_cpu(v.version) == 0)
		return 0;
	return le32_to_cpu(v.caps);
}

/* ---- feature C0h: Command Times ---------------------------------------------------------------- */

enum {
	NVME_FID_VENDOR_TIMES = 0xc0,
	NVME_TIMES_ALL_QUEUES = 0xffff, /* in place of a queue: every I/O queue of the controller */
};

#define NVME_TIMES_ENABLE (UINT32_C(1) << 16)

static inline uint16_t nvme_times_qid(uint32_t dw11)
{
	return (uint16_t)nvme_bits32(dw11, 15, 0);
}

/* ---- the command --------------------------------------------------------------------------------- */

/* Dword 13 of Read and Write; bits 15:8 are reserved there (NVM Command Set 1.0, 3.2.4, 3.2.6). */
#define NVME_RW_TIMED (UINT32_C(1) << 15)

static inline bool nvme_cmd_timed(const struct nvme_cmd *cmd)
{
	return le32_to_cpu(cmd->cdw13) & NVME_RW_TIMED;
}

static inline void nvme_cmd_set_timed(struct nvme_cmd *cmd)
{
	cmd->cdw13 = cpu_to_le32(le32_to_cpu(cmd->cdw13) | NVME_RW_TIMED);
}

/* ---- the completion ------------------------------------------------------------------------------ */

/* Nanoseconds that a command spent in the controller. */
struct nvme_times {
	uint64_t queue; /* waiting for memory, the fence, its turn */
	uint64_t qos;	/* held back on purpose */
	uint64_t media;
};

/*
 * Bit 63 is one; each figure has 21 bits, media lowest: 16 of value and, above them, 5 by which that is
 * shifted left. So it is exact up to 65 us, from there on low by less than 1 in 32768, and up to 39 hours.
 */
uint64_t nvme_times_encode(const struct nvme_times *t);
/* False: there are none in it. */
bool nvme_times_decode(uint64_t dw, struct nvme_times *ret_times);

#endif
