/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system's clocks and random numbers, as the ops table wants them, and the rule by which a loop
 * decides to poll instead of sleeping. For implementations that run on a real kernel.
 */
#ifndef PENSTOCK_IO_CLOCK_H
#define PENSTOCK_IO_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/io.h"

uint64_t io_clock_now(struct io_loop *loop);  /* CLOCK_MONOTONIC, ns */
uint64_t io_clock_wall(struct io_loop *loop); /* CLOCK_REALTIME, ns */
void io_clock_random(struct io_loop *loop, void *buf, size_t n);

/*
 * When to spin. A wait that spun and ended within the window is what spinning is for; one that spun
 * and did not has burnt the window for nothing. The score goes up by SPIN_GAIN for the one and down
 * by one for the other, so a loop spins while at least one wait in about SPIN_GAIN + 1 pays. Once it
 * has stopped, a wait now and then spins to see whether it would pay again, ever more rarely.
 *
 * Only waits that spun are judged. How long a wait took that slept says nothing: its wake-up may be
 * longer than the window though spinning would pay, and shorter though spinning would not, when it is
 * our own spinning that keeps the peer off the processor it needs to answer.
 *
 * The window is measured from the last activity (something finished), not from the start of the
 * wait: timers and messages that come to nothing do not buy another window. So an idle loop never
 * spins, whatever the score.
 */
struct io_spin {
	uint64_t last_activity; /* ns; 0 never */
	unsigned int score;     /* 0 to SPIN_SCORE_MAX */
	unsigned int waits;     /* since the last wait that spun */
	unsigned int interval;  /* waits from one probe to the next */
	bool spun;              /* the present wait */
};

/* Until when this wait may poll, ns of io_clock_now(); 0: sleep at once. @now: the clock. */
uint64_t io_spin_until(struct io_spin *s, uint64_t now, uint64_t window_ns);
/* Something finished. @now: the clock, or the turn's time. */
void io_spin_activity(struct io_spin *s, uint64_t now, uint64_t window_ns);

#endif
