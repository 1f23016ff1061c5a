/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identify (NVMe Base 2.0, 5.17): a table of data structures by CNS.
 */
#ifndef PENSTOCK_TARGET_IDENTIFY_H
#define PENSTOCK_TARGET_IDENTIFY_H

#include <stdint.h>

#include "nvme/identify.h"
#include "nvme/status.h"

struct tgt_ctrl;
struct tgt_ns;
struct tgt_req;

struct nvme_status tgt_identify_parse(struct tgt_req *req);

/* VWC: whether any namespace has a volatile cache, and what Flush of all namespaces does. */
uint8_t tgt_identify_vwc(struct tgt_ctrl *c);

/* Firmware revision, as Identify and the Firmware Slot log have it. */
void tgt_identify_firmware(uint8_t field[NVME_FIRMWARE_SIZE]);

/* The structures themselves: for identify.c and tests. */
void tgt_identify_ctrl(struct tgt_ctrl *c, struct nvme_id_ctrl *id);
void tgt_identify_ns(const struct tgt_ns *ns, struct nvme_id_ns *id);

enum {
	TGT_ANA_GROUP = 1, /* the only one */
};

#endif
