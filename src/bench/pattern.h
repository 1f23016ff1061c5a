/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which block comes next, and whether it is read or written. Random means a new permutation of the
 * blocks for each pass (as fio does it with its map of blocks, here without the memory): every
 * block once before any comes twice, so one pass of random writes covers the range. A block with
 * I/O in flight is not handed out; the pattern waits for it rather than take another one, so the
 * order is that of the seed whatever the speed.
 */
#ifndef BENCH_PATTERN_H
#define BENCH_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "bench/versions.h"
#include "feed/shuffle.h"

enum pattern_kind {
	PATTERN_READ,
	PATTERN_WRITE,
	PATTERN_RANDREAD,
	PATTERN_RANDWRITE,
	PATTERN_MIXED, /* random reads and writes */
};

/* "read", "write", "randread", "randwrite", "mixed" */
const char *pattern_name(enum pattern_kind kind);
static inline bool pattern_reads(enum pattern_kind kind)
{
	return kind == PATTERN_READ || kind == PATTERN_RANDREAD || kind == PATTERN_MIXED;
}
static inline bool pattern_writes(enum pattern_kind kind)
{
	return kind == PATTERN_WRITE || kind == PATTERN_RANDWRITE || kind == PATTERN_MIXED;
}

struct pattern {
	enum pattern_kind kind;
	unsigned int read_percent;
	uint64_t blocks;
	uint64_t passes; /* in all; 0: without end */
	uint64_t pass;	 /* that are done */
	uint64_t next; /* position within the pass */
	uint64_t seed;
	struct shuffle order;
	struct rng rng;
	bool decided; /* the block at next was drawn before, and was busy */
	bool write;
};

/* @blocks > 0. @passes 0: without end. */
void pattern_init(struct pattern *p, enum pattern_kind kind, uint64_t blocks, uint64_t passes,
		  unsigned int read_percent, uint64_t seed);
/* False: it is at its end, or (see pattern_ended()) the next block is busy. @v may be NULL. */
bool pattern_next(struct pattern *p, const struct versions *v, uint64_t *ret_block, bool *ret_write);
bool pattern_ended(const struct pattern *p);

#endif
