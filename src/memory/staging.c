/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The staging pool of staging.h: one block of memory cut into pieces, a stack of free ones (the
 * last used is warm in the cache), and a line of those who wait. A byte per piece says whether it
 * is out, so that giving one back twice is found where it happens.
 */
#include "memory/staging.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/util.h"

#define PIECE_ALIGN 4096u

struct mem_staging {
	struct mem_device *dev;
	uint8_t *memory;
	size_t piece;
	size_t bytes;
	unsigned int count;
	unsigned int free;
	unsigned int *stack; /* indices of the free pieces */
	bool *out;
	struct list line;
	bool handing; /* in the loop of mem_staging_put() */
};

static int staging_alloc(struct mem_staging *s)
{
	void *p = NULL;
	int r = 0;

	if (s->dev) {
		r = s->dev->ops->host_alloc(s->dev, s->bytes, &p);
	} else {
		p = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		r = p == MAP_FAILED ? -ENOMEM : 0;
	}
	if (r < 0)
		return r;
	s->memory = p;
	return 0;
}

int mem_staging_new(struct mem_device *dev, size_t piece_bytes, unsigned int count,
		    struct mem_staging **ret_staging, struct err *err)
{
	size_t piece = piece_bytes ? piece_bytes : MEM_STAGING_PIECE_DEFAULT;
	struct mem_staging *s;
	size_t bytes;

	if (piece < MEM_STAGING_PIECE_MIN || piece > MEM_STAGING_PIECE_MAX || piece % PIECE_ALIGN)
		return err_set(err, EINVAL,
			       "staging pieces of %zu bytes; expected a multiple of %u from %u to %u", piece,
			       PIECE_ALIGN, MEM_STAGING_PIECE_MIN, MEM_STAGING_PIECE_MAX);
	if (count == 0)
		return err_set(err, EINVAL, "a staging pool of no pieces");
	s = mem_zalloc(sizeof(*s));
	if (!s || !size_mul(piece, count, &bytes))
		goto fail;
	s->dev = dev;
	s->piece = piece;
	s->bytes = bytes;
	s->count = s->free = count;
	s->stack = mem_calloc(count, sizeof(*s->stack));
	s->out = mem_calloc(count, sizeof(*s->out));
	list_init(&s->line);
	if (!s->stack || !s->out || staging_alloc(s) < 0)
		goto fail;
	for (unsigned int i = 0; i < count; i++)
		s->stack[i] = count - 1 - i;
	*ret_staging = s;
	return 0;

fail:
	if (s) {
		mem_free(s->out);
		mem_free(s->stack);
	}
	mem_free(s);
	return err_set(err, ENOMEM, "no memory for %u staging pieces of %zu bytes", count, piece);
}

struct mem_staging *mem_staging_free(struct mem_staging *s)
{
	if (!s)
		return NULL;
	INVARIANT(s->free == s->count && list_empty(&s->line));
	if (s->dev)
		s->dev->ops->host_free(s->dev, s->memory, s->bytes);
	else
		munmap(s->memory, s->bytes);
	mem_free(s->out);
	mem_free(s->stack);
	mem_free(s);
	return NULL;
}

size_t mem_staging_piece(const struct mem_staging *s)
{
	return s->piece;
}

unsigned int mem_staging_count(const struct mem_staging *s)
{
	return s->count;
}

unsigned int mem_staging_available(const struct mem_staging *s)
{
	return s->free;
}

static void *take(struct mem_staging *s)
{
	unsigned int i = s->stack[--s->free];

	INVARIANT(!s->out[i]);
	s->out[i] = true;
	return s->memory + i * s->piece;
}

void *mem_staging_get(struct mem_staging *s)
{
	/* A piece may lie free with a line standing: while mem_staging_put() hands out. */
	return s->free > 0 && list_empty(&s->line) ? take(s) : NULL;
}

void mem_staging_wait(struct mem_staging *s, struct mem_staging_wait *w)
{
	INVARIANT(!w->waiting && (s->free == 0 || s->handing));
	w->waiting = true;
	list_add_tail(&s->line, &w->link);
}

void mem_staging_cancel(struct mem_staging *s, struct mem_staging_wait *w)
{
	if (!w->waiting)
		return;
	w->waiting = false;
	list_del(&w->link);
}

void mem_staging_put(struct mem_staging *s, void *piece)
{
	size_t at = (size_t)((uint8_t *)piece - s->memory);
	struct mem_staging_wait *w;

	INVARIANT((uint8_t *)piece >= s->memory && at < s->bytes && at % s->piece == 0);
	INVARIANT(s->out[at / s->piece]);
	s->out[at / s->piece] = false;
	s->stack[s->free++] = (unsigned int)(at / s->piece);

	/* A waiter may put its piece back at once: the outer loop hands it on, not a deeper one. */
	if (s->handing)
		return;
	s->handing = true;
	while (s->free > 0 && (w = list_pop_entry(&s->line, struct mem_staging_wait, link))) {
		w->waiting = false;
		w->fn(w, take(s));
	}
	s->handing = false;
}
