/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training run as storage sees it: accelerators (ranks) take batch after batch from a feed of the
 * dataset, compute on each for a stated time, and meet at a barrier after every step, as in
 * data-parallel training. What is measured is how long they waited, and for what.
 *
 * Each rank is a thread with a context, a feed and a memory of its own, and its part of every
 * epoch's samples. Several volumes are copies of one dataset; ranks are dealt to them in turn. To
 * compute is to sleep until the step's end, so the CPU is there for what a real one would leave it
 * to. The first step of an epoch is not judged; see au.h.
 *
 * With verify each batch is checked after its step, behind the barrier, with the clock stopped;
 * but reading ahead goes on meanwhile, so waits are shorter than without.
 */
#ifndef BENCH_TRAIN_H
#define BENCH_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/au.h"
#include "bench/bench.h"
#include "bench/workload.h"

enum { TRAIN_ACCELERATORS_MAX = 256 };

struct train_options {
	struct bench_target target;
	struct workload workload; /* batch, compute and epochs as they are to be used */
	unsigned int accelerators;
	unsigned int threads;	/* that do I/O, per accelerator */
	unsigned int queues;	/* per accelerator */
	unsigned int depth;	/* 0: the library's choice */
	unsigned int prefetch;	/* batches */
	uint64_t prepare_ns;	/* preparing one batch, beside the steps; see prepare.h */
	bool synthetic;		/* nothing is read: see pst_feed_options */
	uint64_t steps;		/* most per accelerator; 0: all epochs */
	uint64_t time_ns;	/* end after the step in which it is over; 0: no limit */
	uint64_t seed;
	bool verify;
	const char *phase;	/* for the live line; NULL: "training" */
	bench_live_fn live;
	void *live_arg;
};

struct train_result {
	/*
	 * Its time is that of epochs, pauses left out, the longest rank's. Ops are samples, of all
	 * accelerators together; a latency is the wait for the batch of a judged step, to be prepared
	 * included, and the split
	 * that of stall_ns by cause, .total being the sum of the others.
	 */
	struct bench_result all;
	unsigned int merged; /* runs that it is made from */
	uint64_t steps; /* per accelerator */
	uint64_t epochs; /* begun */
	bool has_au; /* some epoch had two steps */
	double au_mlperf;
	double au_storage;
	uint64_t compute_ns; /* of judged steps */
	uint64_t stall_ns;	   /* waiting for batches to come, */
	uint64_t prepare_ns;	   /* and to be prepared */
	double step_seconds;	   /* of a judged step, everything included; mean */
	uint64_t job_stall_ns;	   /* sum over steps of the wait of whoever waited longest */
	double first_batch_seconds; /* mean wait for the first batch of an epoch */
	double compute_overrun;	   /* by which fraction computing took longer than it should */
	uint64_t dataset_samples;
	uint64_t dataset_bytes;
};

/* As micro_run(). */
int train_run(const struct train_options *opts, struct train_result *ret_result, struct err *err);

/* Adds a further run with the same options: utilisations are means over runs, as over epochs. */
void train_merge(struct train_result *r, const struct train_result *run);

#endif
