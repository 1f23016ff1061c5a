/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory from the heap, through one door that a test can shut: the n-th allocation of this thread
 * fails, or some of them by chance. Everything that a peer, a configuration or a command can cause to
 * be allocated comes through here, so that "what if there is no memory" is run and not read. What
 * comes out is ordinary heap memory (free() takes it too); the cost is one thread-local test, which
 * set-up code can afford and the I/O path does not pay, since it does not allocate.
 *
 * Thread: all of it is safe from any thread; the hooks act on the calling thread alone.
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

struct rng;

/* `n` bytes, or NULL. n of 0 gives a pointer that may only be freed. zalloc and calloc give zeroes. */
MUST_CHECK void *mem_alloc(size_t n);
/* `align`: a power of two, at least sizeof(void *). */
MUST_CHECK void *mem_aligned(size_t align, size_t n);
/*
 * Aligned to huge pages, and in such pages where the kernel has them: for buffers that are many. It
 * comes as it is touched, two megabytes at a time.
 */
MUST_CHECK void *mem_huge(size_t n);
MUST_CHECK void *mem_zalloc(size_t n);
/* `count` objects of `n` bytes; NULL also if the product does not fit. */
MUST_CHECK void *mem_calloc(size_t count, size_t n);
/* As realloc(3): on NULL the old memory is untouched. */
MUST_CHECK void *mem_realloc(void *p, size_t n);
MUST_CHECK char *mem_strdup(const char *s);
/* Takes NULL. Returns NULL, so that `x = mem_free(x)` leaves nothing dangling. */
void *mem_free(void *p);

/* ---- for tests ----------------------------------------------------------------------------- */

/* The n-th allocation from now fails (1: the next one), those after it succeed again. 0: off. */
void mem_fail_after(uint64_t n);
/* Each allocation fails `ppm` times in a million as `rng` says, which must stay valid. NULL: off. */
void mem_fail_chance(struct rng *rng, uint32_t ppm);
/* How many allocations the two above have failed on this thread so far. */
uint64_t mem_fail_count(void);

#endif
