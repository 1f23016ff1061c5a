/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locals that release themselves when they go out of scope, whichever way the function is left.
 *
 *	DEFINE_CLEANUP(struct queue *, queue_free)
 *	...
 *	_cleanup_(queue_freep) struct queue *q = NULL;
 *	...
 *	*ret_queue = steal_ptr(&q);
 *	return 0;
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdlib.h>

#include "base/util.h"

/*
 * Calls fn(&variable) at the end of the variable's scope. The variable must have been
 * initialised.
 */
#define _cleanup_(fn) __attribute__((cleanup(fn)))

/* Defines `fn`p, which calls `fn` on a variable of `type` (a pointer) unless it is NULL. */
#define DEFINE_CLEANUP(type, fn)                                                                   \
	UNUSED static inline void fn##p(type *p)                                                   \
	{                                                                                          \
		if (*p)                                                                            \
			fn(*p);                                                                    \
	}

/* For memory from malloc() and its kin. */
UNUSED static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}
#define _cleanup_free_ _cleanup_(cleanup_free)

#define STEAL_PTR_(p, s, v)                                                                        \
	__extension__({                                                                            \
		__auto_type s = (p);                                                               \
		__auto_type v = *s;                                                                \
		*s = NULL;                                                                         \
		v;                                                                                 \
	})
#define STEAL_PTR(p, id) STEAL_PTR_(p, UTIL_PASTE(sp_, id), UTIL_PASTE(sv_, id))

/* Value of the pointer at `p`, which becomes NULL: hands ownership to whoever takes the value. */
#define steal_ptr(p) STEAL_PTR(p, __COUNTER__)

#endif
