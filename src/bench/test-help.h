/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of whole runs share: the real clock, and a look for a note. */
#ifndef BENCH_TEST_HELP_H
#define BENCH_TEST_HELP_H

#include <string.h>
#include <time.h>

#include "base/util.h"
#include "bench/bench.h"

static inline uint64_t test_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline void test_sleep_until(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static const struct bench_clock clock_test = { .now = test_now, .sleep_until = test_sleep_until };

/* Is there a note with these words? */
static inline bool test_noted(const struct bench_notes *notes, const char *words)
{
	for (unsigned int i = 0; i < notes->count; i++) {
		if (strstr(notes->text[i], words))
			return true;
	}
	return false;
}

#endif
