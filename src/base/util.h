/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few macros that C lacks. They evaluate each argument once. Anything that needs more than a
 * line of explanation has a header of its own.
 */
#ifndef BASE_UTIL_H
#define BASE_UTIL_H

#include <stddef.h>
#include <stdint.h>

#define UNUSED	   __attribute__((unused))
#define NORETURN   __attribute__((noreturn))
#define MUST_CHECK __attribute__((warn_unused_result))
/* For functions that take a format at argument `f` (from 1) and its values from argument `a`. */
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

#define UTIL_PASTE_(a, b) a##b
#define UTIL_PASTE(a, b)  UTIL_PASTE_(a, b)

/* The object that holds `ptr` as its member `member`. */
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/* Elements of an array; a pointer in its place does not compile. */
#define ARRAY_SIZE(a)                                                                              \
	(sizeof(a) / sizeof((a)[0]) +                                                              \
	 0 * sizeof(struct {                                                                       \
		 int not_an_array : __builtin_types_compatible_p(__typeof__(a), __typeof__(&(a)[0])) \
					    ? -1                                                   \
					    : 1;                                                   \
	 }))

#define UTIL_PICK_(op, a, b, x, y)                                                                 \
	__extension__({                                                                            \
		__auto_type x = (a);                                                               \
		__auto_type y = (b);                                                               \
		x op y ? x : y;                                                                    \
	})
#define UTIL_PICK(op, a, b, id) UTIL_PICK_(op, a, b, UTIL_PASTE(ux_, id), UTIL_PASTE(uy_, id))

/* Smaller and larger of two values of the same signedness. Not for constant expressions. */
#define MIN(a, b) UTIL_PICK(<, a, b, __COUNTER__)
#define MAX(a, b) UTIL_PICK(>, a, b, __COUNTER__)

/*
 * Round to a multiple of `to`, a power of two, in the type of `v`. Usable in constant expressions,
 * so `to` appears twice. ALIGN_UP wraps at the top of the type: check lengths from a peer first.
 */
#define ALIGN_DOWN(v, to) ((v) & ~((__typeof__(v))(to)-1))
#define ALIGN_UP(v, to)	  (((v) + ((__typeof__(v))(to)-1)) & ~((__typeof__(v))(to)-1))

/* Quotient rounded up; cannot overflow. `d` > 0. Usable in constant expressions. */
#define DIV_ROUND_UP(n, d) ((n) / (d) + ((n) % (d) != 0))

static inline int is_power_of_two(uint64_t v)
{
	return v != 0 && (v & (v - 1)) == 0;
}

/*
 * What must hold whatever a peer sends. Stays on in every build: a process that has lost track of
 * itself stops before it damages data. Never for anything a peer, a user or a disk can cause.
 */
#define INVARIANT(cond)                                                                            \
	(__builtin_expect(!!(cond), 1) ? (void)0                                                   \
				       : invariant_failed(#cond, __FILE__, __LINE__, __func__))

/* Says on stderr which invariant broke and where, then aborts. */
NORETURN void invariant_failed(const char *cond, const char *file, int line, const char *func);

#endif
