/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram as a line of text, so that one process can hand its samples to another and
 * percentiles can be taken over all of them, which no one can do from two percentiles:
 *
 *	hist/1 7 41 COUNT SUM MIN MAX INDEX:COUNT INDEX:COUNT ...
 *
 * 7 and 41 are HIST_PART_BITS and HIST_MAX_BITS; then every bucket that is not empty, in order,
 * with decimal numbers and single spaces. What comes back is the same histogram, bit for bit. An
 * empty one has MIN 0 in the text.
 */
#ifndef BASE_HIST_TEXT_H
#define BASE_HIST_TEXT_H

#include <stddef.h>

#include "base/err.h"
#include "base/hist.h"

/* Room that hist_format() needs at most, with the NUL: head, then "INDEX:COUNT " of 4 and 20 digits. */
enum { HIST_TEXT_MAX = 128 + HIST_BUCKETS * 26 };

/* Returns the length; text that does not fit ends early, as snprintf(3) has it. */
size_t hist_format(const struct hist *h, char *buf, size_t n);

/* -EBADMSG: no histogram, or one whose numbers contradict each other; -EOPNOTSUPP: of other buckets. */
int hist_parse(const char *text, struct hist *ret, struct err *err);

#endif
