/* SPDX-License-Identifier: Apache-2.0 */
/* Text fields of the standard, and bytes of a peer made safe to print; see text.h. */
#include "nvme/text.h"

#include <stdbool.h>
#include <string.h>

#include "base/util.h"

/* Not isprint(): that depends on the locale. */
static bool is_printable(uint8_t c)
{
	return c >= 0x20 && c <= 0x7e;
}

void nvme_text_encode(uint8_t *field, size_t size, const char *s)
{
	size_t i;

	for (i = 0; i < size && s[i]; i++)
		field[i] = is_printable((uint8_t)s[i]) ? (uint8_t)s[i] : '?';
	memset(field + i, ' ', size - i);
}

char *nvme_text_decode(const uint8_t *field, size_t size, char *out, size_t out_size)
{
	size_t n = 0;

	while (n < size && field[n])
		n++;
	while (n > 0 && field[n - 1] == ' ')
		n--;
	return nvme_text_escape(field, n, out, out_size);
}

/* The printable form of @c: 1, 2 or 4 characters. */
static size_t escape_byte(uint8_t c, char piece[4])
{
	static const char hex[] = "0123456789abcdef";

	if (c == '\\') {
		memcpy(piece, "\\\\", 2);
		return 2;
	}
	if (is_printable(c)) {
		piece[0] = (char)c;
		return 1;
	}
	piece[0] = '\\';
	piece[1] = 'x';
	piece[2] = hex[c >> 4];
	piece[3] = hex[c & 0xf];
	return 4;
}

char *nvme_text_escape(const void *bytes, size_t n, char *out, size_t out_size)
{
	const uint8_t *in = bytes;
	size_t at = 0;

	INVARIANT(out_size > 0);
	for (size_t i = 0; i < n; i++) {
		char piece[4];
		size_t len = escape_byte(in[i], piece);

		if (len >= out_size - at)
			break;
		memcpy(out + at, piece, len);
		at += len;
	}
	out[at] = '\0';
	return out;
}
