/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admin commands: one table says which there are, on which controllers, and what they may affect.
 * The Commands Supported and Effects log is made from it.
 */
#ifndef PENSTOCK_TARGET_ADMIN_H
#define PENSTOCK_TARGET_ADMIN_H

#include <stdbool.h>
#include <stdint.h>

#include "nvme/status.h"

struct tgt_req;

/* Sets dir, data_len and exec of @req, which is on an admin queue, or says what is wrong. */
struct nvme_status tgt_admin_parse(struct tgt_req *req);

/* Entry of the effects log for an admin opcode; 0: not supported. */
uint32_t tgt_admin_effects(uint8_t opc, bool discovery);

/*
 * For parsers: @req moves @bytes to the host, at least; what the SGL has beyond that is filled with
 * zeroes. Or: it brings @bytes, at least. An SGL that is shorter, or longer than MDTS, is refused.
 */
struct nvme_status tgt_needs_output(struct tgt_req *req, uint64_t bytes);
struct nvme_status tgt_needs_input(struct tgt_req *req, uint64_t bytes);

#endif
