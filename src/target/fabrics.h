/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fabrics commands: which of them may come on which queue, and Disconnect. Connect is in connect.c,
 * Property Get and Set are in property.c.
 */
#ifndef PENSTOCK_TARGET_FABRICS_H
#define PENSTOCK_TARGET_FABRICS_H

#include "nvme/status.h"

struct tgt_req;

/* The queue is not connected yet: Connect is all there is. */
struct nvme_status tgt_fabrics_parse_first(struct tgt_req *req);
/* A Fabrics command on a connected queue. */
struct nvme_status tgt_fabrics_parse(struct tgt_req *req);

#endif
