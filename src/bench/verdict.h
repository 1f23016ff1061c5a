/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a result means, in one or two plain sentences: did the accelerators wait, and on what; what
 * an I/O spends its time on, and whether this machine's CPU is what limits. Only what the figures
 * of one run can show is said; whether more in flight would help is a question for a sweep.
 */
#ifndef BENCH_VERDICT_H
#define BENCH_VERDICT_H

#include "bench/calibrate.h"
#include "bench/micro.h"
#include "bench/train.h"

enum { BENCH_PARTS = 8, VERDICT_MAX = 512 };

/* The parts that a time is split into: as scripts know them, as people say it, and their time. */
const char *bench_part_name(int part);
const char *bench_part_words(int part);
uint64_t bench_part(const struct pst_timing *t, int part);

/* "remote 81 %, staging 17 %": parts of at least one percent, the largest first. Returns @buf. */
const char *verdict_split(const struct pst_timing *t, char *buf, size_t n);

/* " @what spends most of its time (89 %) on the network."; "" where no part is half of it. Returns @buf. */
const char *verdict_most(const char *what, const struct pst_timing *t, char *buf, size_t n);

/* All return @buf. */
const char *verdict_micro(const struct micro_options *o, const struct micro_result *r, char *buf, size_t n);
const char *verdict_train(const struct train_options *o, const struct train_result *r, char *buf, size_t n);
const char *verdict_calibration(const struct calibration *c, char *buf, size_t n);

#endif
