/* SPDX-License-Identifier: Apache-2.0 */
/* Formatting of errors into a fixed buffer; see err.h. */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

/* A cut text says so, for a cut address or path could be taken for a whole one. */
static void err_mark_cut(char *text, size_t size)
{
	memcpy(text + size - 4, "...", 4);
}

static void err_format(char *text, size_t size, const char *fmt, va_list args) PRINTF_LIKE(3, 0);

static void err_format(char *text, size_t size, const char *fmt, va_list args)
{
	int n = vsnprintf(text, size, fmt, args);

	if (n < 0)
		text[0] = '\0';
	else if ((size_t)n >= size)
		err_mark_cut(text, size);
}

int err_setv(struct err *e, int code, const char *fmt, va_list args)
{
	INVARIANT(code > 0);
	if (!e)
		return -code;
	e->code = code;
	/* By way of a second buffer, as the old text may be among the arguments. */
	char text[sizeof(e->text)];

	err_format(text, sizeof(text), fmt, args);
	memcpy(e->text, text, sizeof(text));
	return -code;
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	int ret = err_setv(e, code, fmt, args);

	va_end(args);
	return ret;
}

int err_prefix(struct err *e, const char *fmt, ...)
{
	if (!e || e->code == 0)
		return 0;

	char prefix[sizeof(e->text)];
	char text[sizeof(e->text)];
	va_list args;

	va_start(args, fmt);
	err_format(prefix, sizeof(prefix), fmt, args);
	va_end(args);
	int n = snprintf(text, sizeof(text), "%s: %s", prefix, err_text(e));

	if (n >= (int)sizeof(text))
		err_mark_cut(text, sizeof(text));
	memcpy(e->text, text, sizeof(text));
	return -e->code;
}

const char *err_text(const struct err *e)
{
	if (e->text[0] != '\0')
		return e->text;
	/* Unlike strerror() this one is safe in any thread, and its text is constant. */
	const char *s = strerrordesc_np(e->code);

	return s ? s : "unknown error";
}

void err_clear(struct err *e)
{
	e->code = 0;
	e->text[0] = '\0';
}
