/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a small language: which one was meant, and a sentence when it was none of them. */
#ifndef PENSTOCK_STORE_WORDS_H
#define PENSTOCK_STORE_WORDS_H

#include <stddef.h>

#include "base/err.h"

/* Length of the longest word worth a suggestion. */
#define WORD_MAX 32

/* Index of @word in the NULL-terminated @list, or -1. */
int word_find(const char *word, const char *const *list);
/*
 * Returns -EINVAL and says that @word is no @what, which of @list it may have been meant to be (the
 * nearest, if it is near), and which there are.
 */
int word_unknown(struct err *err, const char *what, const char *word, const char *const *list);

#endif
