/* SPDX-License-Identifier: Apache-2.0 */
/* When to spin (clock.h): while it pays, for no longer than the window, and never when idle. */
#include "io/clock.h"
#include "tests/tap.h"

#define WINDOW 50000

/* @waits waits, each ending @gap after the last activity. How many of them polled at all. */
static unsigned int waits(struct io_spin *s, unsigned int n, uint64_t gap)
{
	unsigned int spun = 0;
	uint64_t now = s->last_activity + 1000;

	for (unsigned int i = 0; i < n; i++) {
		spun += io_spin_until(s, now, WINDOW) != 0;
		io_spin_activity(s, s->last_activity + gap, WINDOW);
		now = s->last_activity + 1000;
	}
	return spun;
}

int main(void)
{
	struct io_spin s = { .score = 0 };
	unsigned int n;

	is_u64(io_spin_until(&s, 1000000, WINDOW), 0, "before any activity: sleep");
	io_spin_activity(&s, 1000000, WINDOW);
	is_u64(io_spin_until(&s, 1000000 + WINDOW, WINDOW), 0, "the window has passed: sleep");
	is_u64(io_spin_until(&s, 1001000, 0), 0, "no window: sleep");

	n = waits(&s, 100, 10000);
	ok(n >= 80, "short gaps: spins (%u of 100)", n);
	is_u64(io_spin_until(&s, s.last_activity + 1000, WINDOW), s.last_activity + WINDOW,
	       "to the end of the window, counted from the activity and not from now");
	io_spin_activity(&s, s.last_activity + 1000, WINDOW);

	n = waits(&s, 1000, 1000000);
	ok(n < 30, "long gaps: gives up (%u of 1000)", n);
	n = waits(&s, 1000, 10000);
	ok(n > 700, "and comes back, since now and then it tries (%u of 1000)", n);

	n = waits(&s, 1000, 1000000);
	for (int i = 0; i < 2000; i++) {
		waits(&s, 1, 10000);
		waits(&s, 3, 1000000);
	}
	ok(s.score > 0, "one wait in four pays: spins");
	for (int i = 0; i < 200; i++) {
		waits(&s, 1, 10000);
		waits(&s, 9, 1000000);
	}
	n = 0;
	for (int i = 0; i < 100; i++) {
		n += waits(&s, 1, 10000);
		n += waits(&s, 9, 1000000);
	}
	ok(n < 600, "one in ten does not (%u of 1000)", n);

	/* Two processes share a processor: the answer comes as soon as we sleep, and not before. */
	n = 0;
	for (int i = 0; i < 1000; i++) {
		bool spun = io_spin_until(&s, s.last_activity + 1000, WINDOW) != 0;

		n += spun;
		io_spin_activity(&s, s.last_activity + (spun ? 2 * WINDOW : 5000), WINDOW);
	}
	ok(n < 60,
	   "spinning that delays what it waits for ends, though sleeping waits are short (%u)", n);
	return tap_done();
}
