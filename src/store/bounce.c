/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool of bounce.h: one anonymous mapping, a stack of free pieces (the last used is warm) and
 * a line. A mutex is enough: each piece stands for a transfer of up to 128 KiB from a disk.
 */
#include "store/bounce.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/util.h"

int bounce_init(struct bounce *b)
{
	void *p = mmap(NULL, (size_t)BOUNCE_PIECE * BOUNCE_PIECES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*b = (struct bounce){ .memory = NULL };
	if (p == MAP_FAILED)
		return -ENOMEM;
	b->memory = p;
	pthread_mutex_init(&b->mutex, NULL);
	list_init(&b->line);
	for (unsigned int i = 0; i < BOUNCE_PIECES; i++)
		b->stack[i] = (uint8_t)(BOUNCE_PIECES - 1 - i);
	b->free = BOUNCE_PIECES;
	return 0;
}

void bounce_deinit(struct bounce *b)
{
	if (!b->memory)
		return;
	INVARIANT(b->free == BOUNCE_PIECES && list_empty(&b->line));
	munmap(b->memory, (size_t)BOUNCE_PIECE * BOUNCE_PIECES);
	pthread_mutex_destroy(&b->mutex);
	b->memory = NULL;
}

bool bounce_get(struct bounce *b, struct store_op *op)
{
	bool got = false;

	pthread_mutex_lock(&b->mutex);
	if (b->free > 0) {
		op->bounce = b->memory + (size_t)b->stack[--b->free] * BOUNCE_PIECE;
		got = true;
	} else {
		list_add_tail(&b->line, &op->link);
	}
	pthread_mutex_unlock(&b->mutex);
	return got;
}

void bounce_put(struct bounce *b, struct store_op *op)
{
	struct store_op *next;
	uint8_t *piece = op->bounce;
	size_t index;

	if (!piece)
		return;
	index = (size_t)(piece - b->memory) / BOUNCE_PIECE;
	INVARIANT(index < BOUNCE_PIECES);
	op->bounce = NULL;

	pthread_mutex_lock(&b->mutex);
	next = list_pop_entry(&b->line, struct store_op, link);
	if (!next)
		b->stack[b->free++] = (uint8_t)index;
	pthread_mutex_unlock(&b->mutex);
	if (!next)
		return;
	next->bounce = piece;
	io_post(next->loop, &next->msg);
}
