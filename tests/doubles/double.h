/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the test doubles share: they are controlled through the environment, they fail the n-th call
 * of any function when told to, and they end the program where a real library would be undefined.
 * None is ever installed: a test finds them through LD_LIBRARY_PATH alone.
 *
 *	PENSTOCK_DOUBLE_FAIL=cuMemcpyHtoDAsync_v2:3,cuEventQuery:10+	fail the third call of the one, and
 *									from the tenth on every call of the other
 *	PENSTOCK_DOUBLE_FAIL=copy:2		the second copy fails on its way: the device is then lost, as a
 *						GPU is after an illegal access
 */
#ifndef TESTS_DOUBLES_DOUBLE_H
#define TESTS_DOUBLES_DOUBLE_H

#include <stdbool.h>
#include <stdint.h>

#define DOUBLE_API __attribute__((visibility("default")))

/* Shall this call fail? Counts it. Any thread. */
bool double_fails(const char *function);
/* The number in an environment variable, or @otherwise. */
uint64_t double_number(const char *variable, uint64_t otherwise);
/* Misuse: says what, ends the program. */
__attribute__((format(printf, 1, 2), noreturn)) void double_misuse(const char *fmt, ...);

#endif
