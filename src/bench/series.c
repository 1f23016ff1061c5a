/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/series.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"

int series_init(struct series *s)
{
	*s = (struct series){ .slice_ns = SERIES_SLICE_NS };
	s->slices = mem_calloc(SERIES_SLICES, sizeof(*s->slices));
	pthread_mutex_init(&s->lock, NULL);
	return s->slices ? 0 : -ENOMEM;
}

void series_deinit(struct series *s)
{
	s->slices = mem_free(s->slices);
	pthread_mutex_destroy(&s->lock);
}

void series_begin(struct series *s, uint64_t now)
{
	s->begin_ns = now;
	s->slice_ns = SERIES_SLICE_NS;
	s->used = 0;
}

static void clear(struct series_slice *slice)
{
	slice->bytes = 0;
	hist_init(&slice->latency);
}

static void merge(struct series_slice *to, const struct series_slice *from)
{
	to->bytes += from->bytes;
	hist_merge(&to->latency, &from->latency);
}

/* Each two slices become one. */
static void halve(struct series *s)
{
	for (size_t i = 0; i < s->used; i += 2) {
		if (i > 0)
			s->slices[i / 2] = s->slices[i];
		if (i + 1 < s->used)
			merge(&s->slices[i / 2], &s->slices[i + 1]);
	}
	s->used = (s->used + 1) / 2;
	s->slice_ns *= 2;
}

/* Locked. NULL: before the beginning. */
static struct series_slice *slice_at(struct series *s, uint64_t ns)
{
	if (ns < s->begin_ns)
		return NULL;
	while ((ns - s->begin_ns) / s->slice_ns >= SERIES_SLICES)
		halve(s);
	while (s->used <= (ns - s->begin_ns) / s->slice_ns)
		clear(&s->slices[s->used++]);
	return &s->slices[(ns - s->begin_ns) / s->slice_ns];
}

void series_add(struct series *s, uint64_t now, uint64_t latency, uint64_t bytes)
{
	struct series_slice *slice;

	pthread_mutex_lock(&s->lock);
	slice = slice_at(s, now);
	if (slice) {
		slice->bytes += bytes;
		hist_add(&slice->latency, latency);
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---- parts --------------------------------------------------------------------------------- */

void series_part_init(struct series_part *p, struct series *to)
{
	p->to = to;
	p->from_ns = 0;
	p->until_ns = 0;
	p->bytes = 0;
	hist_init(&p->latency);
}

/* Slices may have grown meanwhile: a part belongs where it began. */
void series_part_end(struct series_part *p)
{
	struct series_slice *slice;

	if (!p->to || p->latency.count == 0)
		return;
	pthread_mutex_lock(&p->to->lock);
	slice = slice_at(p->to, p->from_ns);
	if (slice) {
		slice->bytes += p->bytes;
		hist_merge(&slice->latency, &p->latency);
	}
	pthread_mutex_unlock(&p->to->lock);
	p->bytes = 0;
	hist_init(&p->latency);
}

static void next_slice(struct series_part *p, uint64_t now)
{
	struct series *s = p->to;

	series_part_end(p);
	pthread_mutex_lock(&s->lock);
	p->from_ns = now;
	p->until_ns = now < s->begin_ns ? s->begin_ns
					: now + s->slice_ns - (now - s->begin_ns) % s->slice_ns;
	pthread_mutex_unlock(&s->lock);
}

void series_part_add(struct series_part *p, uint64_t now, uint64_t latency, uint64_t bytes)
{
	if (!p->to)
		return;
	if (now >= p->until_ns)
		next_slice(p, now);
	p->bytes += bytes;
	hist_add(&p->latency, latency);
}

/* ---- afterwards ---------------------------------------------------------------------------- */

size_t series_points(const struct series *s, uint64_t end_ns, struct series_point *ret)
{
	uint64_t length = end_ns > s->begin_ns ? end_ns - s->begin_ns : 0, at = 0;
	size_t n = 0;

	/* Slices in which nothing completed are part of the picture, to the end. */
	while (n < SERIES_SLICES && at < length) {
		const struct series_slice *slice = n < s->used ? &s->slices[n] : NULL;
		uint64_t until = MIN(at + s->slice_ns, length);

		ret[n] = (struct series_point){
			.seconds = (double)until / 1e9,
			.length_seconds = (double)(until - at) / 1e9,
		};
		if (slice) {
			ret[n].ops = slice->latency.count;
			ret[n].bytes = slice->bytes;
			ret[n].p50_ns = hist_percentile(&slice->latency, 50);
			ret[n].p95_ns = hist_percentile(&slice->latency, 95);
			ret[n].p99_ns = hist_percentile(&slice->latency, 99);
			ret[n].sum_ns = slice->latency.sum;
		}
		at = until;
		n++;
	}
	return n;
}
