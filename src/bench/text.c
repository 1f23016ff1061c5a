/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { FIRST_SIZE = 4096 };

/* Room for @n more and the NUL. */
static bool reserve(struct text *t, size_t n)
{
	size_t size = t->size ? t->size : FIRST_SIZE;
	char *s;

	while (size - t->len <= n)
		size *= 2;
	if (size == t->size || t->failed)
		return !t->failed;
	s = mem_realloc(t->s, size);
	t->failed = !s;
	if (s) {
		t->s = s;
		t->size = size;
	}
	return s != NULL;
}

void text_put(struct text *t, const char *s, size_t n)
{
	if (!reserve(t, n))
		return;
	memcpy(t->s + t->len, s, n);
	t->len += n;
	t->s[t->len] = 0;
}

void text_add(struct text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n < 0 || !reserve(t, (size_t)n))
		return;
	va_start(args, fmt);
	vsnprintf(t->s + t->len, (size_t)n + 1, fmt, args);
	va_end(args);
	t->len += (size_t)n;
}

/* Bytes of the character at @s if it is UTF-8 (RFC 3629, 4), else 0. */
static size_t character(const unsigned char *s)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : 4;

	if (s[0] >= 0x80 && (s[0] < 0xc2 || s[0] > 0xf4))
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static const char *entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void text_escape(struct text *t, const char *s)
{
	while (*s) {
		size_t n = character((const unsigned char *)s);
		const char *named = entity(*s);

		if (named)
			text_put(t, named, strlen(named));
		else if (n == 0 || ((unsigned char)*s < 0x20 && *s != '\n' && *s != '\t') || *s == 0x7f)
			text_add(t, "\xef\xbf\xbd");
		else
			text_put(t, s, n);
		s += n ? n : 1;
	}
}

void text_deinit(struct text *t)
{
	mem_free(t->s);
	*t = (struct text){ .s = NULL };
}
