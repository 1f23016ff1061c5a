/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's clocks and generator, and when to spin; clock.h says how. */
#include "io/clock.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

#include "base/util.h"

#define SPIN_SCORE_MAX 16
#define SPIN_GAIN      4
#define SPIN_PROBE     16

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
	s->waiting = true;
	if (s->score == 0 && ++s->waits < SPIN_PROBE)
		return 0;
	s->waits = 0;
	return s->last_activity + window_ns;
}

void io_spin_activity(struct io_spin *s, uint64_t now, uint64_t window_ns)
{
	if (s->waiting) {
		s->waiting = false;
		if (now - s->last_activity < window_ns)
			s->score = MIN(s->score + SPIN_GAIN, (unsigned int)SPIN_SCORE_MAX);
		else if (s->score > 0)
			s->score--;
	}
	s->last_activity = now;
}
