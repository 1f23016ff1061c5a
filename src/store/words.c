/* SPDX-License-Identifier: Apache-2.0 */
/* Suggestions by edit distance, see words.h: for words of a dozen letters no more is needed. */
#include "store/words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int word_find(const char *word, const char *const *list)
{
	for (int i = 0; list[i]; i++)
		if (strcmp(word, list[i]) == 0)
			return i;
	return -1;
}

/* Insertions, deletions and replacements between two words of at most WORD_MAX letters. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[WORD_MAX + 1];
	size_t na = strlen(a), nb = strlen(b);

	for (size_t j = 0; j <= nb; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned int replace = diagonal + (a[i - 1] != b[j - 1]);
			unsigned int other = MIN(row[j], row[j - 1]) + 1;

			diagonal = row[j];
			row[j] = MIN(replace, other);
		}
	}
	return row[nb];
}

static const char *nearest(const char *word, const char *const *list)
{
	const char *best = NULL;
	unsigned int best_distance = 3; /* nearer than this, or it is no suggestion */

	if (strlen(word) > WORD_MAX || strlen(word) < 2)
		return NULL;
	for (int i = 0; list[i]; i++) {
		unsigned int d = strlen(list[i]) <= WORD_MAX ? distance(word, list[i]) : 99;

		if (d < best_distance) {
			best_distance = d;
			best = list[i];
		}
	}
	return best;
}

int word_unknown(struct err *err, const char *what, const char *word, const char *const *list)
{
	const char *meant = nearest(word, list);
	char all[256] = "";
	size_t at = 0;

	for (int i = 0; list[i] && at < sizeof(all); i++)
		at += (size_t)snprintf(all + at, sizeof(all) - at, "%s%s", i ? ", " : "", list[i]);
	if (meant)
		return err_set(err, EINVAL, "'%s' is no %s; did you mean '%s'? There are: %s", word, what,
			       meant, all);
	return err_set(err, EINVAL, "'%s' is no %s; expected one of: %s", word, what, all);
}
