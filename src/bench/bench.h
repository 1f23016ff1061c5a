/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both kinds of measurement share: which volumes, how they are reached, where data lands,
 * what was found wrong. micro.h drives one pattern of I/O; train.h feeds accelerators.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hist.h"
#include "bench/clock.h"
#include "bench/series.h"
#include "penstock.h"

enum {
	BENCH_URIS_MAX = 32,
	BENCH_PATHS = 8,      /* as many as enum pst_path may get */
	BENCH_FAILURES_MAX = 16, /* described one by one; more are counted */
	BENCH_THREADS_MAX = 256,
	BENCH_NOTES_MAX = 16,
};

struct bench_cpu;

struct bench_target {
	const char *const *uris;
	size_t uri_count; /* 1 to BENCH_URIS_MAX */
	const char *hostnqn; /* NULL: the library's choice */
	const char *hostid;
	bool emulated;	       /* data lands in an emulated accelerator's memory, */
	bool cuda;	       /* or in a GPU's, else in the host's */
	unsigned int device;   /* number of the GPU */
	const char *device_name;
	struct pst_cuda_options cuda_options;
	enum pst_path require; /* PST_PATH_NONE: any will do */
	uint64_t spin_ns;
	const struct bench_clock *clock;
	atomic_bool *stop; /* set from a signal handler: finish early and report */
	/*
	 * A run may be one of several alike that share the volumes: this is part @part (from 0) of
	 * @parts. Of training it has so many of the job's accelerators; of all else an equal part of
	 * the range. 0: it is alone.
	 */
	unsigned int part, parts;
	/*
	 * Called once everything is open and nothing has begun, by the thread that called run; returns
	 * when it may. -errno: give up. NULL: at once. So that several runs begin at one moment.
	 */
	int (*ready)(void *arg);
	void *ready_arg;
	bool (*target_cpu)(struct bench_cpu *ret); /* the target's CPU time so far; NULL: nobody knows */
	struct series *series; /* to be filled; NULL: nobody wants to know how it went over time */
};

/* One thing found wrong, as a sentence without its end. */
struct bench_failure {
	char text[320];
};

/* What --verify found. */
struct bench_verify {
	uint64_t samples; /* blocks or samples that were checked */
	uint64_t failed;
	uint64_t skipped; /* read, but nothing is known of what they should hold */
	struct bench_failure failures[BENCH_FAILURES_MAX]; /* the first of them */
};

/* Counts one failure, and keeps its text while there is room. */
void bench_verify_fail(struct bench_verify *v, const char *fmt, ...) PRINTF_LIKE(2, 3);
void bench_verify_merge(struct bench_verify *v, const struct bench_verify *from);

/* CPU time of this process, ns. */
struct bench_cpu {
	uint64_t user_ns;
	uint64_t system_ns;
};

struct bench_cpu bench_cpu_now(void);

/* CPU time on both ends. */
struct bench_cost {
	struct bench_cpu cpu;
	bool has_target; /* the target's could be found out: */
	struct bench_cpu target;
};

struct bench_cost bench_cost_now(const struct bench_target *t);
struct bench_cost bench_cost_since(const struct bench_target *t, const struct bench_cost *begin);

/* Seconds of CPU per 10^9 bytes; 0 if there were none. */
double bench_per_gigabyte(uint64_t cpu_ns, uint64_t bytes);

/* The path that most bytes took; PST_PATH_NONE if there were none. */
enum pst_path bench_main_path(const uint64_t path_bytes[BENCH_PATHS]);
/* Any byte that took another path than that one? @ret_other: which. */
bool bench_other_path(const uint64_t path_bytes[BENCH_PATHS], enum pst_path want, enum pst_path *ret_other);

/* Adds each part. */
void bench_timing_add(struct pst_timing *sum, const struct pst_timing *t);

/* What the library did about trouble without telling each time. */
struct bench_trouble {
	uint64_t retries; /* of commands */
	uint64_t reconnects;
};

/* Adds those of a volume that is about to be closed. */
void bench_trouble_add(struct bench_trouble *sum, const struct pst_volume *vol);

/* What a reader of the results has to know, one sentence each. */
struct bench_notes {
	unsigned int count;
	char text[BENCH_NOTES_MAX][256];
};

void bench_note(struct bench_notes *notes, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* What has to be known of the memory that data landed in. */
void bench_note_memory(struct bench_notes *notes, const struct bench_target *t);

/*
 * What every measurement comes to, whatever it measures; what one op is, says its kind. Large: not
 * for the stack.
 */
struct bench_result {
	uint64_t ns; /* measured */
	uint64_t ops;
	uint64_t bytes;
	struct hist latency;	 /* ns */
	struct pst_timing split; /* ns, sums: where the time went */
	uint64_t split_ops;	 /* of how many ops that is: of those that were sampled, if any were */
	uint64_t path_bytes[BENCH_PATHS];
	struct bench_cost cost;
	uint64_t errors;
	char first_error[320];
	struct bench_trouble trouble;
	struct bench_verify verify;
	struct bench_notes notes;
	bool interrupted;
	bool path_missed; /* target.require was not met: */
	enum pst_path path_taken;
	char io[16]; /* "uring", "epoll" */
	struct pst_volume_info info[BENCH_URIS_MAX];
	size_t point_count; /* 0 without target.series */
	struct series_point points[SERIES_SLICES];
};

/*
 * Adds a further run of the same measurement: sums, all latencies, notes that are new. Points stay
 * apart, since two runs have no time in common.
 */
void bench_result_merge(struct bench_result *r, const struct bench_result *run);
/* Fills in the points of a run that ended at @end_ns. */
void bench_result_points(struct bench_result *r, const struct bench_target *t, uint64_t end_ns);

/* How far it is, for a live line. */
struct bench_live {
	const char *phase; /* "warm-up", "measuring", "verifying" */
	double done;	   /* fraction; < 0: not known */
	double seconds_left; /* < 0: not known */
	double seconds;	     /* in this phase */
	double iops;	     /* of the last interval, as the rest */
	double bytes_per_second;
	uint64_t p99_ns;
	double stall; /* workload: fraction of the time waited so far; < 0: none to tell */
};

typedef void (*bench_live_fn)(const struct bench_live *live, void *arg);

/* ---- used by both, from outside the files that measure -------------------------------------- */

/* The part of [@offset, @offset + @size) (@size 0: to the end) of a volume that is @t's: whole MiB. */
void bench_range(const struct bench_target *t, uint64_t volume_bytes, uint64_t offset, uint64_t size,
		 uint64_t *ret_offset, uint64_t *ret_size);
/* Calls ready, if there is one. */
int bench_ready(const struct bench_target *t, struct err *err);
/* A context that does I/O as @t says. Blocks. */
int bench_context(const struct bench_target *t, enum pst_mode mode, unsigned int threads, unsigned int inflight,
		  struct pst_context **ret_ctx, struct err *err);
/* Memory of the kind that @t says. */
int bench_memory(const struct bench_target *t, struct pst_context *ctx, size_t size,
		 struct pst_memory **ret_mem, struct err *err);
/* Fills in @err from what the library said. Returns -code. */
int bench_err(struct err *err, const struct pst_error *from);

#endif
