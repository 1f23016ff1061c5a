/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Get Features and Set Features (NVMe Base 2.0, 5.15 and 5.27): one table says which features there
 * are, on which controllers, and what their defaults are. None is saveable, none is namespace
 * specific. What a feature promises is kept: those that would change nothing here are only those
 * the standard makes mandatory.
 */
#ifndef PENSTOCK_TARGET_FEATURE_H
#define PENSTOCK_TARGET_FEATURE_H

#include <stdbool.h>
#include <stdint.h>

#include "nvme/status.h"

struct tgt_ctrl;
struct tgt_req;

/* Values of one controller, as dword 11 of Set Features has them. The admin queue's core. */
struct tgt_features {
	uint32_t arbitration;
	uint32_t power;
	uint32_t temperature[2]; /* by THSEL: the composite threshold, kelvin */
	uint32_t error_recovery;
	uint32_t atomicity;
	uint32_t aec;
	uint32_t queues; /* what Number of Queues granted, as its completion has it */
};

void tgt_features_init(struct tgt_ctrl *c);

struct nvme_status tgt_get_features_parse(struct tgt_req *req);
struct nvme_status tgt_set_features_parse(struct tgt_req *req);

/* Entry of the Feature Identifiers Supported and Effects log; 0: not supported. */
uint32_t tgt_feature_effects(uint8_t fid, bool discovery);

/* OAES of Identify Controller, and with SMART's warnings all that AEC may enable. */
uint32_t tgt_feature_oaes(bool discovery);

#endif
