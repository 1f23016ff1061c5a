/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door to the heap. The hook is one word per thread that is zero in ordinary life, so that the
 * question "may this fail?" costs a load; who sets it pays for the rest.
 */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/check.h"
#include "base/rng.h"

#define HUGE_PAGE ((size_t)2 << 20)

struct mem_hook {
	bool armed;
	uint32_t ppm;
	uint64_t countdown;
	uint64_t failed;
	struct rng *rng;
};

static _Thread_local struct mem_hook hook;

static void hook_rearm(void)
{
	hook.armed = hook.countdown || hook.rng;
}

static bool hook_fails(void)
{
	bool fails = hook.rng && rng_chance_ppm(hook.rng, hook.ppm);

	if (hook.countdown && --hook.countdown == 0) {
		fails = true;
		hook_rearm();
	}
	hook.failed += fails;
	return fails;
}

static inline bool fails(void)
{
	return __builtin_expect(hook.armed, 0) && hook_fails();
}

void *mem_alloc(size_t n)
{
	return fails() ? NULL : malloc(n ? n : 1);
}

void *mem_aligned(size_t align, size_t n)
{
	void *p;

	if (fails() || posix_memalign(&p, align, n ? n : 1) != 0)
		return NULL;
	return p;
}

void *mem_huge(size_t n)
{
	void *p = mem_aligned(HUGE_PAGE, n);

	/* Advice: where it is not taken there are small pages. The last one is huge only if it is whole. */
	if (p && n >= HUGE_PAGE)
		madvise(p, ALIGN_DOWN(n, HUGE_PAGE), MADV_HUGEPAGE);
	return p;
}

void *mem_zalloc(size_t n)
{
	return fails() ? NULL : calloc(1, n ? n : 1);
}

void *mem_calloc(size_t count, size_t n)
{
	size_t bytes;

	return size_mul(count, n, &bytes) ? mem_zalloc(bytes) : NULL;
}

void *mem_realloc(void *p, size_t n)
{
	return fails() ? NULL : realloc(p, n ? n : 1);
}

char *mem_strdup(const char *s)
{
	size_t n = strlen(s) + 1;
	char *copy = mem_alloc(n);

	return copy ? memcpy(copy, s, n) : NULL;
}

void *mem_free(void *p)
{
	free(p);
	return NULL;
}

void mem_fail_after(uint64_t n)
{
	hook.countdown = n;
	hook_rearm();
}

void mem_fail_chance(struct rng *rng, uint32_t ppm)
{
	hook.rng = ppm ? rng : NULL;
	hook.ppm = ppm;
	hook_rearm();
}

uint64_t mem_fail_count(void)
{
	return hook.failed;
}
