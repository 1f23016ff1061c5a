/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text that grows: pages and scripts are put together in memory, so that what could not be
 * finished is never written. Running out of memory is remembered and found once, at the end.
 */
#ifndef BENCH_TEXT_H
#define BENCH_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"

/* All zeroes: empty. */
struct text {
	char *s; /* ends in NUL; NULL while empty */
	size_t len;
	size_t size;
	bool failed; /* no memory: what is here is not all */
};

/* Markup, or a script: as it is. */
void text_add(struct text *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
void text_put(struct text *t, const char *s, size_t n);
/*
 * Somebody's words inside of markup: & < > and quotes as entities; control characters, and bytes
 * that are no UTF-8, as U+FFFD.
 */
void text_escape(struct text *t, const char *s);
void text_deinit(struct text *t);

#endif
