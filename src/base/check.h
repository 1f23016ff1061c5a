/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic on lengths and offsets that a peer or a file had a say in. Each function returns
 * true and writes its result if that result fits, and otherwise returns false and writes nothing.
 * Ignoring the answer does not compile.
 */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

#define CHECK_DEFINE_(name, type, builtin)                                                         \
	MUST_CHECK static inline bool name(type a, type b, type *ret)                              \
	{                                                                                          \
		type r;                                                                            \
                                                                                                   \
		if (builtin(a, b, &r))                                                             \
			return false;                                                              \
		*ret = r;                                                                          \
		return true;                                                                       \
	}

CHECK_DEFINE_(u32_add, uint32_t, __builtin_add_overflow)
CHECK_DEFINE_(u32_sub, uint32_t, __builtin_sub_overflow)
CHECK_DEFINE_(u32_mul, uint32_t, __builtin_mul_overflow)
CHECK_DEFINE_(u64_add, uint64_t, __builtin_add_overflow)
CHECK_DEFINE_(u64_sub, uint64_t, __builtin_sub_overflow)
CHECK_DEFINE_(u64_mul, uint64_t, __builtin_mul_overflow)
CHECK_DEFINE_(size_add, size_t, __builtin_add_overflow)
CHECK_DEFINE_(size_sub, size_t, __builtin_sub_overflow)
CHECK_DEFINE_(size_mul, size_t, __builtin_mul_overflow)

#undef CHECK_DEFINE_

/* Whether [offset, offset + length) lies within [0, limit). An empty range may start at `limit`. */
MUST_CHECK static inline bool range_within(uint64_t offset, uint64_t length, uint64_t limit)
{
	return offset <= limit && length <= limit - offset;
}

/* Sum that stops at the top instead of wrapping: for counters and deadlines. */
static inline uint64_t u64_add_saturated(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return u64_add(a, b, &sum) ? sum : UINT64_MAX;
}

#endif
