/* SPDX-License-Identifier: Apache-2.0 */
/* The window over a modelled path: a pipe of some rate and a delay, requests of 1 MiB. */
#include "feed/window.h"
#include "base/util.h"
#include "tests/tap.h"

#define MB UINT64_C(1048576)
#define MS UINT64_C(1000000)

enum { SLOTS = 1024 };

/* Runs @count requests over a path of @rate bytes/s, with @delay each way and back and @media in parallel. */
static uint64_t run(struct window *w, uint64_t rate, uint64_t delay, uint64_t media, bool told, unsigned int count)
{
	static struct {
		uint64_t issued, arrives, mark;
	} slot[SLOTS];
	uint64_t now = 0, free_at = 0, begun = 0;
	unsigned int head = 0, tail = 0;

	while (tail < count) {
		while (window_room(w, MB) && head - tail < SLOTS) {
			free_at = MAX(free_at, now + delay + media) + MB * 1000000000 / rate;
			slot[head % SLOTS].issued = now;
			slot[head % SLOTS].arrives = free_at;
			slot[head++ % SLOTS].mark = window_issued(w, MB);
		}
		now = slot[tail % SLOTS].arrives;
		window_arrived(w, MB, now - slot[tail % SLOTS].issued, told ? media : 0, slot[tail % SLOTS].mark);
		if (++tail == count / 2)
			begun = now;
	}
	/* Of the second half, in MB/s. */
	return (count - count / 2) * MB / ((now - begun) / 1000);
}

static void paths(void)
{
	static const struct {
		const char *name;
		uint64_t rate, delay, media, least, most;
	} path[] = {
		{ "a local network", 2500000000, 100000, 0, 8, 8 },
		{ "a fast one", 12500000000, 100000, 0, 8, 8 },
		{ "a store of 5 ms", 2500000000, 100000, 5 * MS, 20, 40 },
		{ "a far one", 1250000000, 30 * MS, 0, 60, 90 },
		{ "a slow link", 100000000, 1 * MS, 0, 8, 8 },
		{ "one beyond all bounds", 12500000000, 30 * MS, 0, 128, 128 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(path); i++) {
		for (int told = 0; told < 2; told++) {
			struct window w;
			uint64_t rate;

			window_init(&w, UINT64_MAX);
			rate = run(&w, path[i].rate, path[i].delay, path[i].media, told, 4000);
			ok(w.bytes / MB >= path[i].least && w.bytes / MB <= path[i].most, "%s: %llu MiB in flight",
			   path[i].name, (unsigned long long)(w.bytes / MB));
			if (path[i].most < 128)
				ok(rate * 1000000 > path[i].rate / 100 * 97, "%s: %llu MB/s", path[i].name,
				   (unsigned long long)rate);
		}
	}
}

static void limits(void)
{
	struct window w;
	uint64_t mark;

	window_init(&w, 2 * MB);
	is_u64(w.bytes, 2 * MB, "no more than there is staging for");
	ok(window_room(&w, 5 * MB), "something may always be in flight, whatever its size");
	mark = window_issued(&w, 5 * MB);
	ok(!window_room(&w, 1), "but then nothing more");
	window_arrived(&w, 5 * MB, 0, 0, mark);
	ok(w.bytes == 2 * MB && w.in_flight == 0, "what failed teaches nothing");
	window_init(&w, UINT64_MAX);
	ok(window_room(&w, 8 * MB) && window_room(&w, 80 * MB), "an empty path takes any request");
	mark = window_issued(&w, MB);
	ok(window_room(&w, 7 * MB) && !window_room(&w, 7 * MB + 1), "to the byte");
	window_arrived(&w, MB, 1, UINT64_MAX, mark);
	ok(w.bytes >= 8 * MB && w.bytes <= WINDOW_MOST, "figures of no sense do no harm");
}

int main(void)
{
	paths();
	limits();
	return tap_done();
}
