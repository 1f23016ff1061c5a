/* SPDX-License-Identifier: Apache-2.0 */
/* Scatter lists; see iov.h. Everything goes through next_part(), the one place that walks. */
#include "store/iov.h"

#include <string.h>

#include "base/util.h"
#include "store/stream-copy.h"

uint64_t iov_length(const struct iovec *iov, int niov)
{
	uint64_t sum = 0;

	for (int i = 0; i < niov; i++)
		sum += iov[i].iov_len;
	return sum;
}

bool iov_aligned(const struct iovec *iov, int niov, uint32_t align)
{
	uintptr_t bits = 0;

	for (int i = 0; i < niov; i++)
		bits |= (uintptr_t)iov[i].iov_base | iov[i].iov_len;
	return (bits & (align - 1)) == 0;
}

/* The next contiguous bytes, at most @n and at least 1, and moves past them. */
static inline uint8_t *next_part(struct iov_cursor *c, uint64_t n, size_t *ret_n)
{
	uint8_t *at;
	size_t left;

	for (;;) {
		INVARIANT(c->niov > 0);
		left = c->iov->iov_len - c->skip;
		if (left > 0)
			break;
		c->iov++;
		c->niov--;
		c->skip = 0;
	}
	at = (uint8_t *)c->iov->iov_base + c->skip;
	*ret_n = left < n ? left : (size_t)n;
	c->skip += *ret_n;
	return at;
}

void iov_skip(struct iov_cursor *c, uint64_t n)
{
	size_t part;

	for (; n > 0; n -= part)
		next_part(c, n, &part);
}

void iov_gather(struct iov_cursor *c, void *to, size_t n)
{
	uint8_t *at = to;
	size_t part;

	for (; n > 0; n -= part, at += part) {
		const uint8_t *from = next_part(c, n, &part);

		memcpy(at, from, part);
	}
}

void iov_gather_away(struct iov_cursor *c, void *to, size_t n)
{
	uint8_t *at = to;
	size_t part;

	for (; n > 0; n -= part, at += part) {
		const uint8_t *from = next_part(c, n, &part);

		stream_copy(at, from, part);
	}
}

void iov_scatter(struct iov_cursor *c, const void *from, size_t n)
{
	const uint8_t *at = from;
	size_t part;

	for (; n > 0; n -= part, at += part) {
		uint8_t *to = next_part(c, n, &part);

		memcpy(to, at, part);
	}
}

void iov_zero(struct iov_cursor *c, size_t n)
{
	size_t part;

	for (; n > 0; n -= part) {
		uint8_t *to = next_part(c, n, &part);

		memset(to, 0, part);
	}
}

static bool all_zero(const uint8_t *p, size_t n)
{
	/* Each byte equals the one before it, and the first is 0. */
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

bool iov_equal(struct iov_cursor *c, const void *with, size_t n)
{
	const uint8_t *at = with;
	bool equal = true;
	size_t part;

	for (; n > 0; n -= part) {
		const uint8_t *got = next_part(c, n, &part);

		equal = equal && (at ? memcmp(got, at, part) == 0 : all_zero(got, part));
		at = at ? at + part : NULL;
	}
	return equal;
}

int iov_window(const struct iov_cursor *c, uint64_t n, struct iovec *to, int max,
	       uint64_t *ret_bytes)
{
	struct iov_cursor at = *c;
	uint64_t bytes = 0;
	int used = 0;

	while (bytes < n && used < max) {
		to[used].iov_base = next_part(&at, n - bytes, &to[used].iov_len);
		bytes += to[used].iov_len;
		used++;
	}
	*ret_bytes = bytes;
	return used;
}
