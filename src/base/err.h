/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An errno with the sentence that goes with it. Set where the cause is known, given to a human by
 * whoever talks to humans; nothing in between prints. Lives on the caller's stack: no allocation,
 * so that running out of memory can be reported too. Text that does not fit ends in "...".
 *
 * Convention: `int f(..., struct err *e)` returns 0 or -errno and sets `e` only when it fails.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>

#include "base/util.h"

struct err {
	int code; /* errno value, positive; 0: no error */
	char text[512];
};

/* `struct err e = ERR_NULL;` */
#define ERR_NULL { 0, "" }

/* Sets code and text, replacing what was there, and returns -code. `e` may be NULL. code > 0. */
int err_set(struct err *e, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
int err_setv(struct err *e, int code, const char *fmt, va_list args) PRINTF_LIKE(3, 0);

/*
 * Puts "<fmt>: " before the text, as a caller adds what it was doing, and returns -code. Without
 * effect on an `e` that holds no error, and with `e` NULL; it then returns 0.
 */
int err_prefix(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The text, or the errno's own text where nobody gave one. Valid while `e` is. */
const char *err_text(const struct err *e);

/* Makes it hold no error. */
void err_clear(struct err *e);

#endif
