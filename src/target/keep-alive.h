/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keep Alive (NVMe Base 2.0, 3.9), traffic based (TBKAS): whatever is received on any queue of the
 * controller shows that the host lives.
 *
 * The timer belongs to the core of the admin queue. Queues note on their own cores when they last
 * received something; the timer only compares, so the I/O path pays one store a receive. When time
 * is up there is a second look after a grace, because it may have been us who did not come to read.
 */
#ifndef PENSTOCK_TARGET_KEEP_ALIVE_H
#define PENSTOCK_TARGET_KEEP_ALIVE_H

#include <stdint.h>

struct tgt_ctrl;

void tgt_keep_alive_init(struct tgt_ctrl *c);
/* Starts, changes or (0) stops. Rounds up to the granularity that KAS reports. */
void tgt_ctrl_set_kato(struct tgt_ctrl *c, uint32_t kato_ms);
void tgt_keep_alive_stop(struct tgt_ctrl *c);

#endif
