/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fixed number of objects of one size, allocated together when the pool is made and never after:
 * running out is an ordinary answer that the caller has to have a plan for. Last put is first got,
 * so the object is warm. A bit per object says who has it, so an object that is put back twice, or
 * into the wrong pool, is found at once; under AddressSanitizer a touch of an object that is in the
 * pool is reported.
 *
 * Thread: no locks, one owner.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool {
	void *memory;	 /* `count` slots of `slot` bytes */
	uint32_t *free;	 /* stack of the indices of free slots */
	uint8_t *in_use; /* one bit per slot */
	size_t slot;
	uint32_t count;
	uint32_t free_count;
};

/* A pool of no objects; pool_deinit() takes it. */
#define POOL_NULL { 0 }

/* No pool object is ever near this; keeps index arithmetic in 32 bits. */
enum { POOL_COUNT_MAX = 1 << 24 };

/*
 * `count` objects of `size` bytes, aligned to a cache line (64) if they are that long, and
 * otherwise for any type; zeroed. -ENOMEM; -EINVAL if size is 0 or count above POOL_COUNT_MAX.
 */
int pool_init(struct pool *p, size_t size, size_t count);

/* Every object must have been put back: what is missing here is a leak or still in use. */
void pool_deinit(struct pool *p);

/*
 * An object, owned by the caller until pool_put(), or NULL if none is free. It holds what its last
 * user left: set every field.
 */
void *pool_get(struct pool *p);

/* Gives back an object of this pool. NULL is ignored. */
void pool_put(struct pool *p, void *object);

/* Objects that are out. 0 at the end of every connection's life. */
static inline size_t pool_used(const struct pool *p)
{
	return p->count - p->free_count;
}

static inline bool pool_is_full(const struct pool *p)
{
	return p->free_count == p->count;
}

#endif
