/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pattern of I/O against one or more volumes: rate, latencies, CPU, contents.
 *
 * Each thread has a polled context of its own, its share of every volume's queues, and a part of
 * every volume's range that no other thread touches; nothing is shared while it runs and nothing
 * allocated. A latency is from just before the call that submits to the beginning of its callback.
 * With a rate, it counts from when the I/O was due, so that a stall is charged to everything that
 * had to wait behind it.
 *
 * Counted is what completes within the measured time, after the warm-up. Checking of contents is
 * done by the same threads, so figures taken with it are lower.
 */
#ifndef BENCH_MICRO_H
#define BENCH_MICRO_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/bench.h"
#include "bench/pattern.h"

struct micro_options {
	struct bench_target target;
	enum pattern_kind kind;
	unsigned int read_percent; /* of PATTERN_MIXED */
	uint64_t block_bytes;
	unsigned int depth;   /* in flight per queue and volume */
	unsigned int queues;  /* per volume */
	unsigned int threads; /* at most queues; 0: as many as CPUs, at most queues */
	uint64_t time_ns;     /* 0: until the passes are done */
	uint64_t warmup_ns;
	uint64_t passes;      /* over the range; 0: until the time is over */
	uint64_t offset;      /* the range of each volume, bytes */
	uint64_t size;	      /* 0: to its end */
	uint64_t rate;	      /* I/Os a second in all; 0: as fast as they go */
	uint64_t seed;
	bool verify;
	bool overwrite; /* writing may destroy a dataset */
	bool go_on;	/* after an error */
	bench_live_fn live; /* NULL: nobody looks */
	void *live_arg;
};

struct micro_side {
	uint64_t ops;
	uint64_t bytes;
	struct hist latency; /* ns */
};

struct micro_result {
	struct bench_result all;   /* ops are I/Os, its split is that of all latencies */
	struct micro_side side[2]; /* reads, writes */
	unsigned int threads;
	uint64_t inflight; /* most at a time, in all */
};

/*
 * Runs it. 0: it ran, and @ret_result says what came of it, errors and failed checks included.
 * -errno: it could not begin; -EEXIST: a dataset is in the way. @ret_result is large: not for the
 * stack. Blocks; calls live from the calling thread.
 */
int micro_run(const struct micro_options *opts, struct micro_result *ret_result, struct err *err);

/* Adds a further run with the same options. */
void micro_merge(struct micro_result *r, const struct micro_result *run);

#endif
