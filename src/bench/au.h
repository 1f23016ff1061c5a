/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accelerator utilisation: arithmetic only, fed with what one accelerator (rank) did step by step.
 *
 * Two figures, both fractions from 0 to 1. au_mlperf is that of DLIO, the engine of MLPerf Storage
 * (dlio_benchmark, utils/statscounter.py), for a block of steps, which is an epoch here:
 *
 *	sum of compute[1:] / (t_end - t_start - (load[0] + compute[0]))
 *
 * The first step is left out, every later wait, barrier and turn of the loop stays in. au_storage
 * charges only what storage caused: sum of compute[1:] / (sum of compute[1:] + sum of stall[1:]),
 * so an infinitely fast store scores 1 whatever the loop costs. Over several epochs, au_mlperf is
 * the mean of the epochs', as there; au_storage is made from the sums, as stalls add up.
 *
 * A block of less than two steps has no utilisation and is not counted.
 */
#ifndef BENCH_AU_H
#define BENCH_AU_H

#include <stdbool.h>
#include <stdint.h>

struct au {
	/* this block */
	uint64_t begun_ns;
	uint64_t paused_ns;
	uint64_t first_ns; /* load and compute of the first step */
	uint64_t block_compute_ns;
	uint64_t block_steps;

	/* all blocks */
	uint64_t steps;	      /* the first of each included */
	uint64_t compute_ns;  /* the first of each block left out, here and below */
	uint64_t stall_ns;
	uint64_t elapsed_ns;  /* of blocks, pauses left out, first steps not */
	uint64_t judged_ns;   /* of blocks with two steps and more, pauses and first steps left out, */
	uint64_t judged_steps; /* and the steps that took it */
	uint64_t first_wait_ns; /* sum of what the first steps waited */
	uint64_t blocks;
	double mlperf_sum;
	uint64_t mlperf_blocks;
};

/* All zeroes is a good start. Times are of one clock, ns. */
void au_begin(struct au *a, uint64_t now);
/* One step: it waited @load_ns for its batch, of which @stall_ns the feed was to blame for. */
void au_step(struct au *a, uint64_t load_ns, uint64_t stall_ns, uint64_t compute_ns);
/* The clock stood still for @ns: time that belongs to no step, such as checking contents. */
void au_pause(struct au *a, uint64_t ns);
void au_end(struct au *a, uint64_t now);

/* False: no block had two steps. */
bool au_mlperf(const struct au *a, double *ret);
bool au_storage(const struct au *a, double *ret);

/* Over ranks: the mean of those that have one. */
bool au_mean(const struct au *ranks, unsigned int n, bool (*figure)(const struct au *a, double *ret),
	     double *ret);

#endif
