/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unlike things at once: training that reads, a checkpoint that is written, small reads as of
 * inference. Each stream runs alone first, for the same time and on the same volumes, then all run
 * together, begun at one moment; what they do to one another is the difference.
 */
#ifndef BENCH_MIXED_H
#define BENCH_MIXED_H

#include "bench/checkpoint.h"
#include "bench/micro.h"
#include "bench/train.h"

enum mixed_stream { MIXED_TRAINING, MIXED_CHECKPOINT, MIXED_INFERENCE, MIXED_STREAMS };

/* "training", "checkpoint", "inference" */
const char *mixed_name(enum mixed_stream s);

struct mixed_options {
	bool on[MIXED_STREAMS];
	uint64_t time_ns; /* of each of them alone, and of all together */
	/* As for a run of that kind; times, epochs, count and ready are ours. */
	struct train_options train;
	struct checkpoint_options checkpoint;
	struct micro_options micro;
};

/* One time: of each stream that is on what a run of its kind results in. */
struct mixed_phase {
	struct train_result train;
	struct checkpoint_result checkpoint;
	struct micro_result micro;
};

struct mixed_result {
	struct mixed_phase alone;
	struct mixed_phase together;
	bool interrupted; /* then together may be empty */
};

/* The part that all kinds have. */
const struct bench_result *mixed_of(const struct mixed_phase *p, enum mixed_stream s);

/* Adds a further run with the same options. */
void mixed_merge(struct mixed_result *r, const struct mixed_result *run);

/* As micro_run(). */
int mixed_run(const struct mixed_options *opts, struct mixed_result *ret_result, struct err *err);

/* Which workload the dataset on the first volume of @t was made for, by name. -ENOENT: none is known. */
int mixed_dataset(const struct bench_target *t, char name[32], struct err *err);

#endif
