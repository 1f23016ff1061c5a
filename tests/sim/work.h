/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load of one host: operations of all kinds over overlapping ranges, several in flight, all of
 * them told to the oracle. It outlives the controller it runs on: what was not answered is counted
 * as unknown, and the rest is done on the next.
 */
#ifndef TESTS_SIM_WORK_H
#define TESTS_SIM_WORK_H

#include "oracle.h"
#include "plan.h"
#include "shared.h"

struct work;

struct work_slot {
	struct work *work;
	struct host_io io;
	struct oracle_op op;
	struct iovec iov[4];
	struct io_timer think;
	uint8_t *data; /* unaligned on purpose */
	uint8_t *memory;
	bool busy;
	bool redo;         /* of a sweep: its controller gave up before it was answered */
	uint64_t unknowns; /* of the host, when it began */
	uint64_t shared_start;
};

struct work {
	const struct plan *plan;
	struct sim *sim;
	struct oracle *oracle;
	struct shared *shared;
	unsigned int host;
	struct rng rng;
	struct io_loop *loop;
	struct host_ctrl *ctrl; /* NULL: none now */
	struct work_slot *slot;
	unsigned int busy;   /* slots with an operation in flight */
	unsigned int issued; /* of plan.ops */
	uint64_t succeeded, failed, unknowns;
	/* Reading all blocks in order, where nothing may fail. */
	bool sweeping;
	uint64_t sweep_at;
	bool sweep_flush; /* a flush first */
	int unfit;        /* an error of a sweep, or of what cannot be */
	char wrong[160];
};

void work_init(struct work *w, const struct plan *plan, struct sim *sim, struct oracle *oracle,
	       struct shared *shared, unsigned int host);
/* Nothing may be in flight. */
void work_deinit(struct work *w);

/* Goes on with what is left, on that controller. */
void work_attach(struct work *w, struct io_loop *loop, struct host_ctrl *ctrl);
/* The controller is about to be closed: nothing new. What is in flight will be told. */
void work_detach(struct work *w);

/* All of plan.ops was issued and nothing is in flight; or, sweeping, all is read. */
bool work_over(const struct work *w);
/* From now on: flush, then read everything once. Only when work_over(), while attached. */
void work_sweep(struct work *w, bool flush);

#endif
