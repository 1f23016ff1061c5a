/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that the environment may set for a suite of seeds. */
#ifndef TESTS_SIM_ENV_H
#define TESTS_SIM_ENV_H

#include <stdlib.h>

#include "base/parse.h"

/* The number that @name says, or @otherwise where it says none. */
static inline uint64_t from_environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	uint64_t v;

	return text && parse_u64(text, &v) == 0 ? v : otherwise;
}

#endif
