/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a command was within this controller, for hosts that ask (nvme/vendor.h): its own queue, QoS,
 * the media. A host turns it on for a queue, and then asks for it command by command; a command that
 * does not ask costs the test of one bit.
 *
 * The queue's time begins with the turn in which the command was received and ends where the store's
 * begins; what a Write waits for its data is the network's, and so is everything from the answer on.
 */
#ifndef PENSTOCK_TARGET_TIMING_H
#define PENSTOCK_TARGET_TIMING_H

#include <stdbool.h>
#include <stdint.h>

struct tgt_ctrl;
struct tgt_req;

/* For I/O queue @qid, or all of them (NVME_TIMES_ALL_QUEUES). False: there cannot be such a queue. */
bool tgt_timing_set(struct tgt_ctrl *c, uint16_t qid, bool on);
/* Whether it is on, for all of them if all are asked for. False: there cannot be such a queue. */
bool tgt_timing_get(const struct tgt_ctrl *c, uint16_t qid, bool *ret_on);

/* A Read or Write was understood: is it one to be timed? */
void tgt_timing_begin(struct tgt_req *req);
/* A timed one is about to leave its state. */
void tgt_timing_leave(struct tgt_req *req);
/* It goes to the store. Before its state changes. */
void tgt_timing_store(struct tgt_req *req);
/* It has come back: dwords 1:0 of its completion. */
uint64_t tgt_timing_result(const struct tgt_req *req);

#endif
