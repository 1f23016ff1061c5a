/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous events (NVMe Base 2.0, 5.2): notices that wait for an Asynchronous Event Request.
 *
 * An event is one bit, so however often a thing happens nothing piles up. Once told it stays masked
 * until the host has read the log page that goes with it. What happened since then is told
 * afterwards. Events that the host did not enable are dropped.
 */
#ifndef PENSTOCK_TARGET_AEN_H
#define PENSTOCK_TARGET_AEN_H

#include <stdbool.h>
#include <stdint.h>

#include "nvme/log.h"
#include "nvme/status.h"

struct tgt_assoc;
struct tgt_ctrl;
struct tgt_req;

enum {
	TGT_EVENT_LIMIT = 4, /* Asynchronous Event Requests outstanding: AERL + 1 */
};

enum tgt_event {
	TGT_EVENT_NS,        /* Namespace Attribute Changed */
	TGT_EVENT_ANA,       /* Asymmetric Namespace Access Change */
	TGT_EVENT_DISCOVERY, /* Discovery Log Page Change */
	TGT_EVENT_SHUTDOWN,  /* Normal NVM Subsystem Shutdown: no log goes with it */
	TGT_EVENT_RESERVATION, /* Reservation Log Page Available */
	TGT_EVENT_COUNT
};

/* Of one controller; guarded by the target's lock. */
struct tgt_events {
	uint32_t pending; /* bits by enum tgt_event */
	uint32_t masked;
	uint32_t changed[NVME_CHANGED_NS_MAX]; /* NSIDs, ascending: the Changed Namespace List */
	uint32_t changed_count;
	bool changed_overflow;
};

struct nvme_status tgt_event_parse(struct tgt_req *req);

/* It happened. The lock is held. */
void tgt_event_raise(struct tgt_ctrl *c, enum tgt_event e);
/* The same for a namespace, which goes into the Changed Namespace List. The lock is held. */
void tgt_event_ns_changed(struct tgt_ctrl *c, uint32_t nsid);
/* The log that goes with it was read without RAE. On the admin queue's core; takes the lock. */
void tgt_event_read(struct tgt_assoc *admin, enum tgt_event e);
/* Completes requests for events that are pending, as many as there are. On that core. */
void tgt_events_deliver(struct tgt_assoc *admin);

/* A controller reset: requests that wait are not answered by events of before. On that core. */
void tgt_events_abort(struct tgt_assoc *admin);

#endif
