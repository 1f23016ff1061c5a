/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of a controller and what setting CC does: enable, reset, shutdown (NVMe Base 2.0,
 * 3.1.3, 3.5, 3.6). On the admin queue's core.
 */
#ifndef PENSTOCK_TARGET_PROPERTY_H
#define PENSTOCK_TARGET_PROPERTY_H

#include <stdint.h>

#include "nvme/status.h"

struct tgt_ctrl;
struct tgt_req;

struct nvme_status tgt_property_get_parse(struct tgt_req *req);
struct nvme_status tgt_property_set_parse(struct tgt_req *req);

uint64_t tgt_ctrl_cap(const struct tgt_ctrl *c);
uint32_t tgt_ctrl_csts(struct tgt_ctrl *c);

#endif
