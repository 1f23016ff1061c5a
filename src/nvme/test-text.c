/* SPDX-License-Identifier: Apache-2.0 */
/* Text fields of the standard, and bytes of a peer made safe to print. */
#include <stdlib.h>

#include "base/util.h"
#include "nvme/text.h"
#include "tests/tap.h"

static void test_encode(void)
{
	uint8_t field[8];

	nvme_text_encode(field, 8, "1.0");
	is_mem(field, "1.0     ", 8, "padded with spaces");
	nvme_text_encode(field, 8, "12345678");
	is_mem(field, "12345678", 8, "a full field has no terminator");
	nvme_text_encode(field, 8, "123456789");
	is_mem(field, "12345678", 8, "too long is cut");
	nvme_text_encode(field, 8, "");
	is_mem(field, "        ", 8, "nothing is all spaces");
	nvme_text_encode(field, 8, "a\n\x80\x7f~");
	is_mem(field, "a???~   ", 8, "what is not printable ASCII becomes a question mark");
}

static void test_decode(void)
{
	char out[64];

	is_str(nvme_text_decode((const uint8_t *)"1.0     ", 8, out, sizeof(out)), "1.0",
	       "spaces at the end go");
	is_str(nvme_text_decode((const uint8_t *)" a  b   ", 8, out, sizeof(out)), " a  b",
	       "spaces elsewhere stay");
	is_str(nvme_text_decode((const uint8_t *)"4420\0\0\0\0", 8, out, sizeof(out)), "4420",
	       "NULs instead of spaces");
	is_str(nvme_text_decode((const uint8_t *)"4420 \0xx", 8, out, sizeof(out)), "4420",
	       "all from the first NUL on goes");
	is_str(nvme_text_decode((const uint8_t *)"        ", 8, out, sizeof(out)), "",
	       "all padding");
	is_str(nvme_text_decode((const uint8_t *)"12345678", 8, out, sizeof(out)), "12345678",
	       "a field without padding");
	is_str(nvme_text_decode((const uint8_t *)"a\033[2J\\\x90", 7, out, sizeof(out)),
	       "a\\x1b[2J\\\\\\x90", "control bytes and backslashes are escaped");
}

static void test_escape_limits(void)
{
	char out[16];

	is_str(nvme_text_escape("abc", 3, out, 4), "abc", "just fits");
	is_str(nvme_text_escape("abc", 3, out, 3), "ab", "cut");
	is_str(nvme_text_escape("abc", 3, out, 1), "", "a buffer of one byte");
	is_str(nvme_text_escape("a\n", 2, out, 6), "a\\x0a", "an escape just fits");
	is_str(nvme_text_escape("a\n", 2, out, 5), "a", "an escape is not cut in half");
	is_str(nvme_text_escape("", 0, out, sizeof(out)), "", "nothing");
}

/* All bytes, into a heap buffer of exactly the promised size. */
static void test_all_bytes(void)
{
	uint8_t all[256];
	char *out = malloc(NVME_TEXT_ESCAPED_MAX(256));
	unsigned int bad = 0;

	if (!out)
		abort();
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (uint8_t)i;
	nvme_text_escape(all, sizeof(all), out, NVME_TEXT_ESCAPED_MAX(256));
	for (const char *p = out; *p; p++)
		bad += *p < 0x20 || *p > 0x7e;
	is_u64(bad, 0, "nothing but printable ASCII comes out");
	is_u64(strlen(out), 94 + 2 + 161 * 4, "and every byte is there");
	free(out);
}

int main(void)
{
	test_encode();
	test_decode();
	test_escape_limits();
	test_all_bytes();
	return tap_done();
}
