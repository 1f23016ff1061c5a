/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last words of a process whose invariant broke. Formatted on the stack and written with one
 * call: the heap and stdio may be what is broken.
 */
#include "base/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void invariant_failed(const char *cond, const char *file, int line, const char *func)
{
	char text[512];
	int n = snprintf(text, sizeof(text), "penstock: invariant broken: %s (%s:%d, %s)\n", cond,
			 file, line, func);

	if (n > (int)sizeof(text) - 1)
		n = sizeof(text) - 1;
	if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0) {
		/* Nothing is left to tell anybody with. */
	}
	abort();
}
