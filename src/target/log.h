/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Get Log Page (NVMe Base 2.0, 5.16): a table of logs by identifier. Each produces its whole log
 * through a window, so offset and length are treated alike in all of them.
 */
#ifndef PENSTOCK_TARGET_LOG_H
#define PENSTOCK_TARGET_LOG_H

#include "nvme/status.h"

struct tgt_req;

struct nvme_status tgt_log_parse(struct tgt_req *req);

#endif
