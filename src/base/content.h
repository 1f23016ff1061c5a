/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Known contents: every byte of every object is a function of (seed, object, offset), so whoever
 * reads any piece can tell whether it is the right piece of the right object, without a second
 * copy. Sensitive to a shift by any number of bytes, to swapped blocks, stale blocks and zeroes.
 * A few instructions per 8 bytes, so that checking does not become the bottleneck it looks for.
 * The bytes are the same on every machine and for ever: data sets depend on it.
 */
#ifndef BASE_CONTENT_H
#define BASE_CONTENT_H

#include <stddef.h>
#include <stdint.h>

/* Fills with bytes [offset, offset + n) of object @object. */
void content_fill(uint64_t seed, uint64_t object, uint64_t offset, void *buf, size_t n);

/* Returns @n if all bytes are right, else the index within @buf of the first wrong one. */
size_t content_check(uint64_t seed, uint64_t object, uint64_t offset, const void *buf, size_t n);

#endif
