/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an accelerator waited for. A wait for a batch is over when its last request arrives, and is split
 * by what that request was doing meanwhile. But that request may have been submitted late in the wait,
 * since as many as may be in flight were: what it waited for then was the one whose arrival made room for
 * it, and before that the one that made room for that one. So each request that is submitted during a wait
 * carries on the sum of its predecessor, back to one that was in flight when the wait began, of which the
 * end of its life counts. The parts sum to the wait to the nanosecond; the arithmetic is constant for each
 * request, and no history is kept.
 *
 * Where a chain does not reach back to the wait's begin nothing of ours was under way: that is client
 * queue. What is left between the last arrival and the return of the call is the wake-up of its thread.
 *
 * Pure: times come from the caller.
 */
#ifndef FEED_STALL_H
#define FEED_STALL_H

#include <stdbool.h>
#include <stdint.h>

#include "penstock.h"

/* The waits of one feed. */
struct stall {
	bool waiting;
	uint64_t number; /* of the present wait, or the last */
	uint64_t begin_ns;
};

/* What a request takes over from the one that made room for it. Zero: nothing. */
struct stall_chain {
	uint64_t number; /* of the wait in which it was submitted; 0: in none, or by nobody's arrival */
	struct pst_timing sum;
};

/* Somebody waits from now on, if nobody did before. */
void stall_begin(struct stall *s, uint64_t now);
static inline void stall_end(struct stall *s)
{
	s->waiting = false;
}

/*
 * A request with @chain arrived at @now, having lived @t: what it and its predecessors did since the
 * wait began, for the request that is submitted next. Without a wait: zero.
 */
struct stall_chain stall_arrived(const struct stall *s, const struct stall_chain *chain,
				 const struct pst_timing *t, uint64_t now);

/* The last @wait ns of a life @t. What lies before it is client queue. */
struct pst_timing stall_tail(const struct pst_timing *t, uint64_t wait);
/* A wait of @wait ns, of which the last @late came after the arrival of a request with @sum. */
struct pst_timing stall_split(const struct pst_timing *sum, uint64_t wait, uint64_t late);

#endif
