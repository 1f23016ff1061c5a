/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time, as whoever measures hands it in: this room reads no clock of its own, so a test can be a
 * clock. What is measured is what the caller of the library sees, from outside of it.
 */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdint.h>

struct bench_clock {
	uint64_t (*now)(void);		   /* monotonic nanoseconds */
	void (*sleep_until)(uint64_t ns); /* of that clock; may return early, never by more than a turn */
};

#endif
