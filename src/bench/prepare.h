/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preparing: what lies between a sample's arrival and the step that uses it, decoding and augmenting. A
 * thread takes batches from the feed, holds each for as long as preparing it is said to take and hands it
 * on, so it goes on beside computing and beside reading. It is a timed wait, as computing is: the CPU is
 * there for what reads.
 *
 * One batch is being prepared and one more lies ready; with the one that is computed on, the feed needs
 * PREPARE_HELD batches more than it reads ahead.
 */
#ifndef BENCH_PREPARE_H
#define BENCH_PREPARE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "bench/clock.h"
#include "penstock.h"

enum { PREPARE_HELD = 2 }; /* besides the one that is computed on */

struct prepare;

/*
 * @ns: of one batch. The feed is this thread's from prepare_start() until as many batches were handed on.
 * When @stop is set, prepare_next() says so soon. -ENOMEM, -EAGAIN: no thread.
 */
int prepare_new(struct pst_feed *feed, uint64_t ns, const struct bench_clock *clock, const atomic_bool *stop,
		struct prepare **ret_prepare, struct err *err);
/* Before the feed goes. Takes NULL, returns NULL. */
struct prepare *prepare_free(struct prepare *p);

/* The feed has begun an epoch, of which @batches are wanted. Those of the one before were all taken. */
void prepare_start(struct prepare *p, uint64_t batches);
/* 1: @ret_batch, which was there, not yet prepared, at @ret_arrived_ns; 0: told to stop; -errno. */
int prepare_next(struct prepare *p, struct pst_batch *ret_batch, uint64_t *ret_arrived_ns);

/*
 * Of a wait from @begin to @end for a batch that was there at @arrived: how long it was for the batch to
 * come, and how long for it to be prepared. @b->wait_ns, what its thread waited for the feed, and @b->stall
 * become those of this wait, its parts in proportion. Returns what was preparing.
 */
uint64_t prepare_split(struct pst_batch *b, uint64_t arrived, uint64_t begin, uint64_t end);

#endif
