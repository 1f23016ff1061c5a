/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which version of each block was acknowledged last, and which blocks have I/O in flight: two
 * bytes per block, memory that is touched only where blocks are. A version counts from 1 and goes
 * round after 32767; a lost write would have to be that many writes old to be taken for the
 * present one. 0 says that the contents are not known: not written in this run, or a write failed.
 *
 * One owner, no lock: threads have parts of the volume of their own.
 */
#ifndef BENCH_VERSIONS_H
#define BENCH_VERSIONS_H

#include <stdbool.h>
#include <stdint.h>

struct versions {
	uint16_t *of;
	uint64_t count;
};

/* -ENOMEM */
int versions_init(struct versions *v, uint64_t blocks);
void versions_deinit(struct versions *v);

bool versions_busy(const struct versions *v, uint64_t block);
/* The version that a read of it must find; 0: anything. */
uint16_t versions_now(const struct versions *v, uint64_t block);

/* I/O on it begins. It must not be busy. */
void versions_begin(struct versions *v, uint64_t block);
/* The version that a write of it carries. */
uint16_t versions_next(const struct versions *v, uint64_t block);
/* I/O on it is over: a read, a write of @version, or a write that failed (@version 0). */
void versions_end_read(struct versions *v, uint64_t block);
void versions_end_write(struct versions *v, uint64_t block, uint16_t version);

#endif
