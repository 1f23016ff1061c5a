/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Free slots are a stack of indices beside the objects rather than links inside them: a stray write
 * into a free object cannot then corrupt the pool, and the sanitizer can guard all of it.
 */
#include "base/pool.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/util.h"

#if defined(__SANITIZE_ADDRESS__)
#define POOL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOL_ASAN 1
#endif
#endif

#ifdef POOL_ASAN
#include <sanitizer/asan_interface.h>
#define pool_guard(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#define pool_unguard(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define pool_guard(p, n)   ((void)(p), (void)(n))
#define pool_unguard(p, n) ((void)(p), (void)(n))
#endif

enum { POOL_CACHE_LINE = 64 };

static void *pool_slot(const struct pool *p, uint32_t index)
{
	return (char *)p->memory + (size_t)index * p->slot;
}

int pool_init(struct pool *p, size_t size, size_t count)
{
	size_t align = size >= POOL_CACHE_LINE ? POOL_CACHE_LINE : _Alignof(max_align_t);
	size_t slot, bytes;

	*p = (struct pool)POOL_NULL;
	if (size == 0 || count > POOL_COUNT_MAX)
		return -EINVAL;
	if (count == 0)
		return 0;
	if (!size_add(size, align - 1, &slot))
		return -ENOMEM;
	slot = ALIGN_DOWN(slot, align);
	/* Whole cache lines, so that no other object shares the last one. */
	if (!size_mul(slot, count, &bytes) || !size_add(bytes, POOL_CACHE_LINE - 1, &bytes))
		return -ENOMEM;
	bytes = ALIGN_DOWN(bytes, POOL_CACHE_LINE);

	p->memory = mem_aligned(POOL_CACHE_LINE, bytes);
	p->free = mem_calloc(count, sizeof(*p->free));
	p->in_use = mem_zalloc(DIV_ROUND_UP(count, 8));
	if (!p->memory || !p->free || !p->in_use) {
		pool_deinit(p);
		return -ENOMEM;
	}
	memset(p->memory, 0, bytes);
	pool_guard(p->memory, bytes);
	p->slot = slot;
	p->count = (uint32_t)count;
	/* Highest index at the bottom, so that objects go out in address order. */
	for (uint32_t i = 0; i < count; i++)
		p->free[i] = (uint32_t)count - 1 - i;
	p->free_count = p->count;
	return 0;
}

void pool_deinit(struct pool *p)
{
	INVARIANT(pool_is_full(p));
	if (p->memory)
		pool_unguard(p->memory, p->slot * p->count);
	mem_free(p->memory);
	mem_free(p->free);
	mem_free(p->in_use);
	*p = (struct pool)POOL_NULL;
}

void *pool_get(struct pool *p)
{
	if (p->free_count == 0)
		return NULL;

	uint32_t index = p->free[--p->free_count];
	void *object = pool_slot(p, index);

	p->in_use[index / 8] |= (uint8_t)(1u << index % 8);
	pool_unguard(object, p->slot);
	return object;
}

void pool_put(struct pool *p, void *object)
{
	if (!object)
		return;

	/* In the pool's memory, at the start of a slot, and out. */
	uintptr_t offset = (uintptr_t)object - (uintptr_t)p->memory;

	INVARIANT(p->count > 0 && offset / p->slot < p->count && offset % p->slot == 0);
	uint32_t index = (uint32_t)(offset / p->slot);
	uint8_t bit = (uint8_t)(1u << index % 8);

	INVARIANT(p->in_use[index / 8] & bit);
	p->in_use[index / 8] &= (uint8_t)~bit;
	pool_guard(object, p->slot);
	p->free[p->free_count++] = index;
}
