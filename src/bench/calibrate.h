/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a training step is whose: the same steps three times, as DS-Analyzer takes a pipeline apart
 * (Mohan et al., "Analyzing and Mitigating Data Stalls in DNN Training", VLDB 2021). Cold, from the volumes;
 * cached, from a copy of the dataset in this machine's memory; and without any store, where a batch is there
 * as soon as it is wanted, and prepared. What a step takes longer cold than cached is fetching; cached than
 * without a store preparing, of which copying into the accelerator's memory is a part; without a store than it
 * computes overhead: of the loop, of meeting the others, of this machine.
 *
 * So these are differences of whole runs and rest on no account of single waits: what train.h says of stalls
 * can be held against them. They take three runs, and as much memory as is cached.
 *
 * Cold runs first, so that copying has not warmed anything. What the target has cached is the target's.
 */
#ifndef BENCH_CALIBRATE_H
#define BENCH_CALIBRATE_H

#include "bench/train.h"

enum calibrate_run { CALIBRATE_NULL, CALIBRATE_CACHED, CALIBRATE_COLD, CALIBRATE_RUNS };

/* "null", "cached", "cold" */
const char *calibrate_name(enum calibrate_run run);

/* Seconds of a step; the first four sum to the fifth. */
struct calibration {
	double compute;
	double overhead;
	double preparation;
	double fetch;
	double step;
	/*
	 * Runs vary, and one that should be faster may have been slower: then it counts as fast as that one.
	 * By how much of a step, at most.
	 */
	double chance;
	double au_storage; /* computing, over that and fetching */
};

/* @compute: what a step is to compute. @step: what one took in each run. */
void calibration_split(double compute, const double step[CALIBRATE_RUNS], struct calibration *ret);

struct calibrate_options {
	struct train_options train; /* of the cold run; the others are as many steps of the same, not verified */
	uint64_t cache_bytes;	    /* most that is copied; 0: a quarter of this machine's memory */
};

struct calibrate_result {
	struct train_result runs[CALIBRATE_RUNS];
	struct calibration split;
	uint64_t cached_files; /* the first of the dataset, */
	uint64_t cached_bytes;
	uint64_t files; /* of so many */
	/*
	 * All runs ended as they should. If not, the last that ran says why: it was interrupted, had errors, or
	 * took another path, or too few steps were judged. Later ones did not run.
	 */
	bool complete;
	enum calibrate_run last;
};

/* As train_run(). Large: not for the stack. */
int calibrate_run(const struct calibrate_options *opts, struct calibrate_result *ret_result, struct err *err);

#endif
