/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many bytes a feed keeps under way: as many as the path holds twice over, so that it never runs dry,
 * and no more, since what waits in line costs memory, and cache, and gains nothing. What the path holds is
 * the rate at which bytes arrive times the time that a request takes when it has the path to itself; both
 * are measured on every request. (The idea is that of BBR: Cardwell et al., ACM Queue 14(5), 2016.)
 *
 * The time a request would take alone is the shortest seen, but for the media's part, where the target
 * tells it: that varies by nature, and its mean counts. The window begins with what is right for any local
 * network, and only grows: where the rate falls there is nothing to be gained by sending less.
 *
 * Pure: times come from the caller.
 */
#ifndef FEED_WINDOW_H
#define FEED_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct window {
	uint64_t bytes; /* that may be in flight */
	uint64_t most;	/* and never more */
	uint64_t in_flight;
	uint64_t arrived; /* bytes, ever */
	uint64_t alone_ns; /* shortest life of a request, media left out; UINT64_MAX: none yet */
	uint64_t media_ns; /* mean of the last dozens */
};

enum {
	WINDOW_LEAST = 8 << 20,
	WINDOW_MOST = 128 << 20,
};

void window_init(struct window *w, uint64_t most);
/* Whether @n more bytes may be asked for. Something always may when nothing is in flight. */
bool window_room(const struct window *w, uint64_t n);
/* They are; returns what window_arrived() wants to have back. */
uint64_t window_issued(struct window *w, uint64_t n);
/* They have arrived, or failed: after @life_ns, of which the media took @media_ns; @mark from above. */
void window_arrived(struct window *w, uint64_t n, uint64_t life_ns, uint64_t media_ns, uint64_t mark);

#endif
