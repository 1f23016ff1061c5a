/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of 64 bytes by four stores of SSE2, which every 64-bit CPU of this kind has. */
#include "memory/stream.h"

#include <emmintrin.h>
#include <stdint.h>
#include <string.h>

#include "base/util.h"

enum {
	LINE = 64,
	/* Below, what is copied is small enough to stay in a cache and be of use there. */
	LEAST = 8192,
};

static void copy_line(uint8_t *dst, const uint8_t *src)
{
	__m128i *d = (__m128i *)(void *)dst;
	const __m128i *s = (const __m128i *)(const void *)src;
	__m128i a = _mm_loadu_si128(s), b = _mm_loadu_si128(s + 1);
	__m128i c = _mm_loadu_si128(s + 2), e = _mm_loadu_si128(s + 3);

	_mm_stream_si128(d, a);
	_mm_stream_si128(d + 1, b);
	_mm_stream_si128(d + 2, c);
	_mm_stream_si128(d + 3, e);
}

void mem_stream_copy(void *dst, const void *src, size_t n)
{
	const uint8_t *from = src;
	uint8_t *to = dst;
	size_t head;

	if (n < LEAST) {
		memcpy(dst, src, n);
		return;
	}
	head = (size_t)(-(uintptr_t)dst % LINE);
	memcpy(to, from, head);
	for (to += head, from += head, n -= head; n >= LINE; n -= LINE, to += LINE, from += LINE)
		copy_line(to, from);
	memcpy(to, from, n);
	/* These stores are not ordered with later ones, and somebody is told next that the data is there. */
	_mm_sfence();
}
