/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's clocks and generator, and when to spin; clock.h says how. */
#include "io/clock.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

#include "base/util.h"

#define SPIN_SCORE_MAX 16
#define SPIN_GAIN      4
/*
 * Of waits, when the score is 0: one in so many spins, and one in twice as many after each that was in
 * vain. Odd numbers, so that traffic with a rhythm does not always meet the same beat.
 */
#define SPIN_PROBE_FIRST 17
#define SPIN_PROBE_LAST  271

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	INVARIANT(clock_gettime(id, &ts) == 0);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t io_clock_now(struct io_loop *loop)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t io_clock_wall(struct io_loop *loop)
{
	return clock_ns(CLOCK_REALTIME);
}

void io_clock_random(struct io_loop *loop, void *buf, size_t n)
{
	uint8_t *p = buf;
	ssize_t got;

	while (n > 0) {
		got = getrandom(p, n, 0);
		if (got < 0) {
			/* Since Linux 3.17 it exists, and with these flags there is no other error. */
			INVARIANT(errno == EINTR);
			continue;
		}
		p += got;
		n -= (size_t)got;
	}
}

uint64_t io_spin_until(struct io_spin *s, uint64_t now, uint64_t window_ns)
{
	if (window_ns == 0 || s->last_activity == 0 || now - s->last_activity >= window_ns)
		return 0;
	if (s->score == 0 && ++s->waits < s->interval)
		return 0;
	s->waits = 0;
	s->spun = true;
	return s->last_activity + window_ns;
}

void io_spin_activity(struct io_spin *s, uint64_t now, uint64_t window_ns)
{
	if (!s->spun) {
		s->last_activity = now;
		return;
	}
	if (now - s->last_activity < window_ns) {
		s->score = MIN(s->score + SPIN_GAIN, (unsigned int)SPIN_SCORE_MAX);
		s->interval = SPIN_PROBE_FIRST;
	} else if (s->score > 0) {
		s->score--;
	} else {
		s->interval = MIN(s->interval * 2 + 1, (unsigned int)SPIN_PROBE_LAST);
	}
	s->spun = false;
	s->last_activity = now;
}
