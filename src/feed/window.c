/* SPDX-License-Identifier: Apache-2.0 */
#include "feed/window.h"

#include "base/util.h"

enum {
	GAIN = 2,	/* of what the path holds */
	MEDIA_MEAN = 32, /* requests */
};

__extension__ typedef unsigned __int128 wide;

void window_init(struct window *w, uint64_t most)
{
	*w = (struct window){ .most = MIN(most, (uint64_t)WINDOW_MOST), .alone_ns = UINT64_MAX };
	w->bytes = MIN(w->most, (uint64_t)WINDOW_LEAST);
}

bool window_room(const struct window *w, uint64_t n)
{
	return w->in_flight == 0 || (w->in_flight < w->bytes && n <= w->bytes - w->in_flight);
}

uint64_t window_issued(struct window *w, uint64_t n)
{
	w->in_flight += n;
	return w->arrived;
}

static void average(uint64_t *mean, uint64_t value)
{
	*mean = *mean + value / MEDIA_MEAN - *mean / MEDIA_MEAN;
}

void window_arrived(struct window *w, uint64_t n, uint64_t life_ns, uint64_t media_ns, uint64_t mark)
{
	uint64_t moved, held;

	w->in_flight -= n;
	w->arrived += n;
	if (life_ns == 0)
		return;
	media_ns = MIN(media_ns, life_ns);
	if (w->alone_ns == UINT64_MAX)
		w->media_ns = media_ns;
	average(&w->media_ns, media_ns);
	w->alone_ns = MIN(w->alone_ns, life_ns - media_ns);
	/* Bytes that arrived in its life, by how much of that it would have taken alone. */
	moved = w->arrived - mark;
	held = (uint64_t)MIN((wide)moved * (w->alone_ns + w->media_ns) / life_ns, (wide)UINT64_MAX / GAIN);
	w->bytes = MIN(MAX(w->bytes, GAIN * held), w->most);
}
