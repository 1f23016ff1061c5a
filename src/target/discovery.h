/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The discovery log (NVMe Base 2.0, 5.16.1.23): what the asking host may connect to, and where.
 *
 * The log is made anew for each request, for the host that asks and the address it reached us at;
 * nothing is cached, so nothing is shared between hosts. An entry for the discovery subsystem
 * itself comes first, then one for each subsystem that admits the host and each listener it is
 * reached at.
 */
#ifndef PENSTOCK_TARGET_DISCOVERY_H
#define PENSTOCK_TARGET_DISCOVERY_H

#include "nvme/status.h"

struct target;
struct tgt_ctrl;
struct tgt_req;
struct tgt_window;

/* The producer for log.c. */
struct nvme_status tgt_discovery_produce(struct tgt_req *req, struct tgt_window *w);

/*
 * What the log is made from has changed: hosts that would see a difference are told. Takes the
 * lock.
 */
void tgt_discovery_changed(struct target *t);

/* The host of @c, a new discovery controller, knows of no change so far. The lock is held. */
void tgt_discovery_begin(struct tgt_ctrl *c);

#endif
