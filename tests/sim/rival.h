/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host does beside its load, on the same controller: fused Compare and Write, reservations,
 * Verify, Abort. The host room has no calls for the first three, so they are put on its queues as
 * single requests, which are not tried again: what became of one that was lost is not known.
 *
 * shared.h is told of all of it. A rival outlives the controller it runs on, as the load does.
 */
#ifndef TESTS_SIM_RIVAL_H
#define TESTS_SIM_RIVAL_H

#include "base/rng.h"
#include "host/host.h"
#include "plan.h"
#include "shared.h"

#define RIVAL_SLOTS 3

struct rival;

enum rival_kind {
	RIVAL_READ_LOCK,
	RIVAL_LOCK, /* Compare, and Write fused with it */
	RIVAL_VERIFY,
	RIVAL_ABORT,
	RIVAL_REGISTER, /* then Acquire */
	RIVAL_ACQUIRE,
	RIVAL_RELEASE,
	RIVAL_CLEAR_REGISTER, /* at the end, then Clear */
	RIVAL_CLEAR,
};

/* One half of what is in flight; the limits of commands look for their host_io in the owner. */
struct rival_part {
	struct host_io io;
	struct rival_slot *slot;
	struct nvme_status status;
	bool answered;
	uint32_t received;
	struct iovec iov;
	uint8_t *data; /* a block */
};

struct rival_slot {
	struct rival *rival;
	struct io_timer think;
	struct host_admin abort;
	struct rival_part part[2];
	enum rival_kind kind;
	unsigned int open; /* parts in flight */
	unsigned int lock;
	uint64_t number; /* of the value to be written */
	uint64_t start, life;
};

struct rival {
	const struct plan *plan;
	struct shared *shared;
	unsigned int host;
	struct rng rng;
	struct io_loop *loop;
	struct host_ctrl *ctrl; /* NULL: none now */
	struct rival_slot slot[RIVAL_SLOTS];
	uint64_t believed[SHARED_LOCKS]; /* values of the locks, as last heard */
	unsigned int issued;
	bool ending; /* the reservation is being given up for good */
	bool ended;
	unsigned int to_read; /* locks, at last */
};

void rival_init(struct rival *r, const struct plan *plan, struct shared *shared, unsigned int host);
/* Nothing may be in flight. */
void rival_deinit(struct rival *r);
void rival_attach(struct rival *r, struct io_loop *loop, struct host_ctrl *ctrl);
void rival_detach(struct rival *r);
/* From now on nothing but what makes an end of reservations. */
void rival_end(struct rival *r);
/* After that: reads every lock once. */
void rival_sweep(struct rival *r);
bool rival_busy(const struct rival *r);
/* All was done that there is to do; after rival_end(), that too. */
bool rival_over(const struct rival *r);

#endif
