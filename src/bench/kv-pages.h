/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pages of a part of a volume are free, and what is in those that are not: numbers only. A page
 * that is written gets a new version, from which its contents follow, so that a read can tell the
 * tokens that were written last from those of whoever had the page before.
 */
#ifndef BENCH_KV_PAGES_H
#define BENCH_KV_PAGES_H

#include <stdbool.h>
#include <stdint.h>

struct kv_page {
	uint32_t version;
	uint32_t tokens; /* 0: free */
};

struct kv_pages {
	struct kv_page *of;
	uint32_t *free; /* a stack */
	uint32_t count;
	uint32_t free_count;
};

/* -ENOMEM */
int kv_pages_init(struct kv_pages *p, uint32_t count);
void kv_pages_deinit(struct kv_pages *p);

/* Takes a page for so many tokens (at least 1). There must be a free one. */
uint32_t kv_pages_take(struct kv_pages *p, uint32_t tokens);
void kv_pages_give(struct kv_pages *p, uint32_t page);

#endif
