/* SPDX-License-Identifier: Apache-2.0 */
/* Copying around the cache; see stream-copy.h. */
#include "store/stream-copy.h"

#include <stdint.h>
#include <string.h>

#include "base/util.h"

#if defined(__SSE2__)
#include <emmintrin.h>

enum { LINE = 64 };

/* Whole lines of memory, so that none is ever written in halves. */
static void lines(uint8_t *to, const uint8_t *from, size_t n)
{
	for (size_t at = 0; at < n; at += LINE) {
		const __m128i *in = (const __m128i *)(const void *)(from + at);
		__m128i *out = (__m128i *)(void *)(to + at);
		__m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
		__m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);

		_mm_stream_si128(out, a);
		_mm_stream_si128(out + 1, b);
		_mm_stream_si128(out + 2, c);
		_mm_stream_si128(out + 3, d);
	}
	/* These stores are not in the order of others until here. */
	_mm_sfence();
}

void stream_copy(void *to, const void *from, size_t n)
{
	uint8_t *out = to;
	const uint8_t *in = from;
	size_t head = MIN(n, (size_t)(-(uintptr_t)out % LINE));
	size_t body = ALIGN_DOWN(n - head, (size_t)LINE);

	memcpy(out, in, head);
	lines(out + head, in + head, body);
	memcpy(out + head + body, in + head + body, n - head - body);
}
#else
void stream_copy(void *to, const void *from, size_t n)
{
	memcpy(to, from, n);
}
#endif
