/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/kv-pages.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/util.h"

int kv_pages_init(struct kv_pages *p, uint32_t count)
{
	*p = (struct kv_pages){ .count = count, .free_count = count };
	p->of = mem_calloc(count, sizeof(*p->of));
	p->free = mem_calloc(count, sizeof(*p->free));
	if (!p->of || !p->free)
		return -ENOMEM;
	/* The first page is taken first. */
	for (uint32_t i = 0; i < count; i++)
		p->free[i] = count - 1 - i;
	return 0;
}

void kv_pages_deinit(struct kv_pages *p)
{
	mem_free(p->of);
	mem_free(p->free);
	*p = (struct kv_pages){ .count = 0 };
}

uint32_t kv_pages_take(struct kv_pages *p, uint32_t tokens)
{
	uint32_t page;

	INVARIANT(p->free_count > 0 && tokens > 0);
	page = p->free[--p->free_count];
	p->of[page].version++;
	p->of[page].tokens = tokens;
	return page;
}

void kv_pages_give(struct kv_pages *p, uint32_t page)
{
	INVARIANT(page < p->count && p->of[page].tokens > 0);
	p->of[page].tokens = 0;
	p->free[p->free_count++] = page;
}
