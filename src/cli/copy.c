/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/copy.h"

#include <errno.h>
#include <string.h>

int copy_init(struct copy *c, struct cli_volume *v)
{
	struct pst_error err;

	memset(c, 0, sizeof(*c));
	c->v = v;
	c->chunk = v->info.max_transfer_bytes ? MIN(v->info.max_transfer_bytes, (uint32_t)COPY_CHUNK_MAX)
					      : (uint32_t)COPY_CHUNK_MAX;
	if (pst_memory_alloc(v->ctx, COPY_SLOTS * c->chunk, &c->mem, &err) < 0)
		return cli_error("%s", err.text);
	c->base = pst_memory_ptr(c->mem);
	return CLI_DONE;
}

void copy_deinit(struct copy *c)
{
	copy_drain(c);
	pst_memory_free(c->mem);
}

static size_t place(const struct copy *c, uint64_t n)
{
	return n % COPY_SLOTS * c->chunk;
}

void *copy_next(struct copy *c)
{
	return c->base + place(c, c->head);
}

int copy_submit(struct copy *c, bool write, uint64_t offset, uint64_t length)
{
	struct copy_slot *s = &c->slots[c->head % COPY_SLOTS];
	int rc;

	*s = (struct copy_slot){ .offset = offset, .length = length };
	if (write)
		rc = pst_write(c->v->vol, c->mem, place(c, c->head), offset, length, NULL, s);
	else
		rc = pst_read(c->v->vol, c->mem, place(c, c->head), offset, length, NULL, s);
	if (rc < 0)
		return rc;
	c->head++;
	return 0;
}

static int reap(struct copy *c)
{
	struct pst_completion done[COPY_SLOTS];
	int n = pst_wait(c->v->ctx, done, COPY_SLOTS, UINT64_MAX);

	for (int i = 0; i < n; i++) {
		struct copy_slot *s = done[i].user;

		s->completion = done[i];
		s->done = true;
	}
	return n < 0 ? n : 0;
}

int copy_oldest(struct copy *c, struct copy_slot **ret_slot, void **ret_data)
{
	struct copy_slot *s = &c->slots[c->tail % COPY_SLOTS];

	while (!s->done) {
		int rc = reap(c);

		if (rc < 0)
			return rc;
	}
	*ret_slot = s;
	*ret_data = c->base + place(c, c->tail);
	return 0;
}

void copy_pop(struct copy *c)
{
	c->tail++;
}

void copy_drain(struct copy *c)
{
	struct copy_slot *s;
	void *data;

	while (!copy_empty(c) && copy_oldest(c, &s, &data) == 0)
		copy_pop(c);
}
