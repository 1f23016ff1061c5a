/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a seed says: weather and faults, the shape of the system, its limits, the workload and what
 * is done to it. All of it is drawn before anything runs, so a plan can be printed, and what one
 * part draws does not move another.
 */
#ifndef TESTS_SIM_PLAN_H
#define TESTS_SIM_PLAN_H

#include "base/rng.h"
#include "host/host.h"
#include "io/sim.h"
#include "target/target.h"

enum plan_blow {
	BLOW_POWER,      /* the target's machine loses power, and comes back */
	BLOW_KILL,       /* its process is killed, and started again */
	BLOW_RESTART,    /* it is stopped in order, and started again */
	BLOW_HOST_CRASH, /* a host's machine loses power, and comes back */
	BLOW_HOST_KILL,  /* its process is killed, and started again */
	BLOW_HOST_RESET, /* a host gives up its association on purpose */
	BLOW_RESET,      /* every connection of a host is reset */
	BLOW_HOLE,       /* or falls into a black hole */
	BLOW_LINK,       /* a host cannot reach the target for a while */
	BLOW_COUNT
};

const char *plan_blow_name(enum plan_blow b);

struct plan {
	uint64_t seed;
	struct sim_config sim;
	bool alloc_target, alloc_host; /* where SIM_ALLOC applies */

	unsigned int hosts;
	unsigned int target_loops;
	bool memory; /* the store is memory: it dies with the target, so that does not */
	bool direct;
	uint64_t delay_ns; /* of writes, before the store, at most; 0: none */
	uint32_t block;
	uint64_t blocks;
	struct target_limits limits;
	struct host_config host; /* less names and addresses */

	/* of each host */
	unsigned int ops;
	unsigned int slots; /* in flight at once */
	uint32_t max_nlb;
	unsigned int weight_read, weight_write, weight_zero, weight_trim, weight_flush;
	uint32_t fua_ppm;
	uint64_t think_max_ns; /* between operations */

	unsigned int rival_ops; /* of each host, beside those; 0: none */
	uint64_t rival_think_ns;

	bool blow[BLOW_COUNT]; /* which exist in this run */
	unsigned int blows;
	uint64_t blow_max_ns; /* between them */
	uint64_t down_max_ns; /* how long what went down stays down */
	bool final_power_cut;
};

void plan_draw(struct plan *p, uint64_t seed);
void plan_print(const struct plan *p, FILE *to);

#endif
