/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads of bench other than training: their options, which only they take, and what they get of
 * the options that all share. Each has a file of its own that parses, runs and reports.
 */
#ifndef CLI_BENCH_MORE_H
#define CLI_BENCH_MORE_H

#include "bench/calibrate.h"
#include "bench/checkpoint.h"
#include "bench/kv.h"
#include "cli/bench.h"

#define BENCH_NOT_GIVEN UINT64_MAX

/* What the command line said of what several workloads take; BENCH_NOT_GIVEN where it did not. */
struct bench_common {
	const char *workload;
	const char *accelerator;
	uint64_t depth, queues, threads, block, time, warmup, offset, size, rate;
	uint64_t accelerators, batch, prefetch, compute;
	uint64_t seed;
	bool verify, overwrite;
	bench_live_fn live;
};

struct bench_more {
	const char *model, *class_mix, *user_kinds, *streams, *training;
	uint64_t ranks, scale_ppm, checkpoints, pause;
	uint64_t users, turns, shared_prompts, last_turns, decode_reads, think_ppm;
	/* of all kinds of run */
	const char *clients, *token_file;
	/* of training */
	uint64_t prepare, cache;
	bool calibrate;
	unsigned int part, parts; /* 0: not given */
};

extern struct bench_more bench_more;

int bench_take_scale(const char *arg);
int bench_take_think(const char *arg);
int bench_take_part(const char *arg);

#define BENCH_OPTIONS_MORE                                                                                        \
	{ "prepare-time", 0, CLI_DURATION, &bench_more.prepare, "TIME",                                           \
	  "preparing a batch before its step, beside the steps before (default 0s)", NULL },                      \
	{ "calibrate", 0, CLI_FLAG, &bench_more.calibrate, NULL,                                                  \
	  "three runs, cold, cached and without a store: fetching, preparing and overhead apart", NULL },         \
	{ "cache-size", 0, CLI_SIZE, &bench_more.cache, "SIZE",                                                   \
	  "calibrate: memory for the dataset's copy (default: a quarter of this machine's)", NULL },              \
	{ "model", 'm', CLI_TEXT, &bench_more.model, "NAME",                                                      \
	  "of checkpoints and KV cache: llama3-8b, llama3-70b, llama3-405b, llama3-1t (default llama3-8b)",       \
	  NULL },                                                                                                 \
	{ "scale", 0, CLI_CALL, NULL, "NUMBER", "its sizes times this, 0.001 for a thousandth (default 1)",       \
	  bench_take_scale },                                                                                     \
	{ "ranks", 0, CLI_COUNT, &bench_more.ranks, "N", "ranks that save (default: the first 8)", NULL },        \
	{ "checkpoints", 0, CLI_COUNT, &bench_more.checkpoints, "N", "how many (default 10, without --time)",     \
	  NULL },                                                                                                 \
	{ "pause", 0, CLI_DURATION, &bench_more.pause, "TIME", "between checkpoints (default 0s)", NULL },        \
	{ "users", 'u', CLI_COUNT, &bench_more.users, "N", "of the KV cache, at a time (default 16)", NULL },     \
	{ "user-kinds", 0, CLI_TEXT, &bench_more.user_kinds, "LIST",                                              \
	  "chatbot,coding,document: which there are, in equal numbers (default all)", NULL },                     \
	{ "class-mix", 0, CLI_TEXT, &bench_more.class_mix, "I:R:B",                                               \
	  "percent of turns that are interactive, responsive, batch (default 15:35:50)", NULL },                  \
	{ "shared-prompts", 0, CLI_COUNT, &bench_more.shared_prompts, "PERCENT",                                  \
	  "conversations that begin with a prompt whose cache is there (default 20)", NULL },                     \
	{ "last-turns", 0, CLI_COUNT, &bench_more.last_turns, "PERCENT",                                          \
	  "turns that end their conversation (default 20)", NULL },                                               \
	{ "decode-reads", 0, CLI_COUNT, &bench_more.decode_reads, "N",                                            \
	  "how often a turn reads all of its cache again (default 0)", NULL },                                    \
	{ "think", 0, CLI_CALL, NULL, "NUMBER", "users' thinking times this (default 1)", bench_take_think },     \
	{ "turns", 0, CLI_COUNT, &bench_more.turns, "N", "end after so many turns (default: by --time)", NULL },   \
	{ "streams", 0, CLI_TEXT, &bench_more.streams, "LIST",                                                    \
	  "training,checkpoint,inference: which are mixed (default all)", NULL },                                 \
	{ "training", 0, CLI_TEXT, &bench_more.training, "NAME",                                                  \
	  "workload of the training that is mixed (default: the dataset's)", NULL },                              \
	{ "clients", 'C', CLI_TEXT, &bench_more.clients, "HOST[:PORT],...",                                       \
	  "measure from these machines at once, where 'penstock agent' runs (port 4430)", NULL },                 \
	{ "token-file", 0, CLI_TEXT, &bench_more.token_file, "FILE", "secret that the agents know", NULL },       \
	{ "part", 0, CLI_CALL, NULL, "I/N",                                                                       \
	  "this is one of N alike: take the I-th part of the ranges, or of the accelerators", bench_take_part },  \
	{ "histograms", 0, CLI_FLAG, &bench_histograms, NULL, "JSON has all latencies, to be merged", NULL }

/* Is that workload one of these? */
bool bench_is_more(const char *workload);
/* Does it take the options of training (accelerators, batch, ...) too? */
bool bench_is_mixed(const char *workload);
/* Parses, runs, reports. Returns enum cli_status. */
int bench_more_run(struct bench_request *q, const struct bench_common *c);
/* The first option given that only one of these workloads takes; NULL: none. @workload: but not this one. */
const char *bench_more_misplaced(const char *workload);

/* A count that has to fit, and be at least @least. */
int bench_count(const char *name, uint64_t value, uint64_t otherwise, unsigned int least, unsigned int most,
		unsigned int *ret);

/* Three runs and their report. Returns enum cli_status. */
int bench_calibrate(struct bench_request *q);
/* What does not go with --calibrate, or without it. */
int bench_calibrate_check(unsigned int repeat);

/* ---- bench-checkpoint.c, bench-kv.c ---------------------------------------------------------- */

int bench_checkpoint(const struct bench_request *q, const struct bench_common *c);
int bench_kv(const struct bench_request *q, const struct bench_common *c);
int bench_mixed(const struct bench_request *q, const struct bench_common *c);

/* Its options, as for --workload checkpoint-save or checkpoint-restore. */
int bench_checkpoint_parse(struct checkpoint_options *o, const struct bench_request *q,
			   const struct bench_common *c);

#endif
