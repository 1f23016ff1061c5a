/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as people write them, strictly: the whole text must be the number, no sign, no space, no
 * value that was only nearly what was meant. Without locale, floating point or allocation.
 *
 * Errors, everywhere: -EINVAL not such a number, -ERANGE does not fit. Results are written only on
 * success.
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stddef.h>
#include <stdint.h>

/* Decimal digits, or 0x and hexadecimal digits. */
int parse_u64(const char *s, uint64_t *ret);

/* The same, from `min` to `max`; -ERANGE outside. */
int parse_u64_between(const char *s, uint64_t min, uint64_t max, uint64_t *ret);

/*
 * Bytes: a decimal number with at most one of k M G T (either case; powers of 1024; "iB" may
 * follow). A fraction is taken if the result is whole: 1.5k is 1536, 0.3k is -EINVAL.
 */
int parse_size(const char *s, uint64_t *ret_bytes);

/*
 * Nanoseconds: a decimal number with one of ns us ms s. The unit is needed, except after 0. A
 * fraction is taken if the result is whole: 1.5us is 1500, 0.5ns is -EINVAL.
 */
int parse_duration_ns(const char *s, uint64_t *ret_ns);

/* Room that the two below need at most, with the NUL. */
enum { FORMAT_MAX = 24 };

/*
 * For people, three significant digits or a whole number: "512 B", "4 KiB", "1.50 GiB"; and
 * "850 ns", "12.3 us", "1.50 ms", "90.0 s". Return `buf`.
 */
const char *format_size(uint64_t bytes, char *buf, size_t n);
const char *format_duration(uint64_t ns, char *buf, size_t n);

#endif
