/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system under test: a target with its store on one machine, hosts with their load on others.
 * What is here brings them up and down, in order and otherwise, and checks at each end that nothing
 * is left: no connection, no buffer, no operation, no loop with anything in it.
 */
#ifndef TESTS_SIM_SYSTEM_H
#define TESTS_SIM_SYSTEM_H

#include "oracle.h"
#include "plan.h"
#include "rival.h"
#include "shared.h"
#include "work.h"

#define SYSTEM_HOSTS 2
#define SYSTEM_LOOPS 2

struct system_host {
	struct system *sys;
	struct sim_node *node;
	struct io_loop *loop;
	struct host_ctrl *ctrl;
	struct work work;
	struct rival rival;
	char nqn[96];
	bool failed; /* the controller has given up */
	bool closed;
	bool lives; /* it was live at least once */
};

struct system {
	const struct plan *plan;
	struct sim *sim;
	struct oracle *oracle;
	struct shared shared;
	bool no_fence;
	struct log log;        /* into the trace */
	uint64_t syncs_failed; /* when the store was opened */

	struct sim_node *target_node;
	struct io_loop *loop[SYSTEM_LOOPS];
	struct store *store;
	struct target *target;
	struct system_host host[SYSTEM_HOSTS];

	/* What has happened, to know that something has. */
	uint64_t losses, requeued, fence_waits, target_errors;
	char wrong[256]; /* the first thing that was */
};

/* All of it up, and the load running. */
void system_init(struct system *sys, const struct plan *plan, struct sim *sim,
		 struct oracle *oracle, bool no_fence);

bool system_target_is_up(const struct system *sys);
void system_target_up(struct system *sys);
/* In order: what is in flight is answered. */
void system_target_stop(struct system *sys);
/* As sim_node_crash(); stays down. */
void system_target_crash(struct system *sys, enum sim_crash how);

void system_host_up(struct system_host *h);
/* In order. */
void system_host_stop(struct system_host *h);
void system_host_crash(struct system_host *h, enum sim_crash how);
/* A controller that has given up is replaced. */
void system_replace_failed(struct system *sys);
bool system_any_failed(const struct system *sys);

/* Takes everything down in order, and checks that nothing is left. */
void system_deinit(struct system *sys);

/* What is wrong, wherever it was noticed; NULL: nothing. */
const char *system_wrong(const struct system *sys);

#endif
