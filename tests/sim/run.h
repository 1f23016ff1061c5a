/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One seed, from its plan to its verdict: a phase with faults and blows, a heal, after which all
 * work must finish, a sweep that reads everything once more (after a power cut, in some runs), and
 * an end in order at which nothing may be left.
 */
#ifndef TESTS_SIM_RUN_H
#define TESTS_SIM_RUN_H

#include <stdio.h>

#include "plan.h"

struct run_options {
	bool no_fence;                 /* plant the fault that the fence is against */
	FILE *trace;                   /* NULL: none */
	bool without[SIM_FAULT_COUNT]; /* faults to leave out: to find which matter */
	bool without_blow[BLOW_COUNT];
};

struct run_result {
	bool failed;
	bool data; /* ... by what the oracle was shown */
	char wrong[4096];
	uint64_t hash;
	uint64_t events;
	uint64_t virtual_ns;
	uint64_t hits[SIM_FAULT_COUNT];
	uint64_t blows[BLOW_COUNT];
	uint64_t succeeded, failures, unknowns; /* operations */
	uint64_t losses, requeued, fence_waits;
	uint64_t locked, lost_races, reserved, conflicts, aborts, aborted, verified; /* shared.h */
};

/* When it fails, what it had made stays as it is, and is leaked. */
void run_seed(uint64_t seed, const struct run_options *options, struct run_result *ret);

#endif
