/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One seed of the library into a simulated GPU: a volume over the simulated network, memory of the device,
 * reads and writes with and without a stream, and a feed, under faults of both. What is held to: what a
 * read has completed is there, or, on a stream, is there for whatever the stream is given next; nothing is
 * moved before the stream has come to it; nothing lands after a request has ended, nor beside it; and at
 * the end nothing is left, on the device or anywhere.
 */
#ifndef TESTS_SIM_GPU_RUN_H
#define TESTS_SIM_GPU_RUN_H

#include <stdio.h>

#include "gpu.h"

struct gpu_run_result {
	char wrong[256]; /* empty: nothing was */
	bool content;	 /* and that was in the data */
	uint64_t hash, events, virtual_ns;
	uint64_t done[4]; /* reads, writes, the same on a stream */
	uint64_t failed, samples;
	struct gpu_stats gpu;
};

/* @trace: NULL for none. A seed that failed leaves its world behind. */
void gpu_run_seed(uint64_t seed, enum gpu_plant plant, FILE *trace, struct gpu_run_result *ret);

#endif
