/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Connect command (NVMe Base 2.0, 6.3): from an association to a queue of a controller.
 */
#ifndef PENSTOCK_TARGET_CONNECT_H
#define PENSTOCK_TARGET_CONNECT_H

#include "nvme/status.h"

struct tgt_assoc;
struct tgt_req;

struct nvme_status tgt_connect_parse(struct tgt_req *req);

/* Its time has come to try once more: tgt_assoc.connecting waits for its queue ID. */
void tgt_connect_again(struct tgt_assoc *a);

#endif
