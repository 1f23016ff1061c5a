/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: return values, text, prefixes, and what happens when the text is too long. */
#include "base/err.h"

#include <errno.h>

#include "tests/tap.h"

static void test_set(void)
{
	struct err e = ERR_NULL;

	is_i64(err_set(&e, ENOENT, "open %s", "/x"), -ENOENT, "returns -code");
	is_i64(e.code, ENOENT, "keeps the code");
	is_str(err_text(&e), "open /x", "formats the text");
	is_i64(err_set(NULL, EIO, "nobody asks"), -EIO, "nobody has to want the text");
	err_set(&e, EINVAL, "again: %s", e.text);
	is_str(err_text(&e), "again: open /x", "the old text may be part of the new one");
	err_clear(&e);
	is_i64(e.code, 0, "cleared");
}

static void test_prefix(void)
{
	struct err e = ERR_NULL;

	is_i64(err_prefix(&e, "connect"), 0, "no error, no prefix");
	is_str(e.text, "", "and no text");
	is_i64(err_prefix(NULL, "connect"), 0, "nobody has to want the prefix");
	err_set(&e, ECONNREFUSED, "refused");
	is_i64(err_prefix(&e, "connect %s:%d", "::1", 4420), -ECONNREFUSED, "returns -code");
	is_str(err_text(&e), "connect ::1:4420: refused", "what was being done comes first");
}

static void test_without_text(void)
{
	struct err e = { .code = EACCES };

	is_str(err_text(&e), "Permission denied", "an errno has a text of its own");
	err_prefix(&e, "open");
	is_str(err_text(&e), "open: Permission denied", "which a prefix keeps");
	e = (struct err){ .code = 99999 };
	is_str(err_text(&e), "unknown error", "even a code that does not exist has one");
}

static void test_long_text(void)
{
	char text[2000];
	struct err e = ERR_NULL;

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&e, EIO, "%s", text);
	is_u64(strlen(e.text), sizeof(e.text) - 1, "fills the buffer");
	is_str(e.text + strlen(e.text) - 4, "a...", "and says that it was cut");
	err_prefix(&e, "%s", text);
	is_str(e.text + strlen(e.text) - 4, "a...", "so does a prefix");
	err_set(&e, EIO, "%.*s", (int)sizeof(e.text) - 1, text);
	is_str(e.text + strlen(e.text) - 4, "aaaa", "text that just fits is not cut");
}

static void set_without_code(void *arg)
{
	err_set(arg, 0, "no code");
}

int main(void)
{
	struct err e = ERR_NULL;

	test_set();
	test_prefix();
	test_without_text();
	test_long_text();
	is_abort(set_without_code, &e, "an error without a code is a mistake of ours");
	return tap_done();
}
