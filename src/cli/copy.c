/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/copy.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"

int copy_init(struct copy *c, struct cli_volume *v, const char *command, const struct cli_into *into)
{
	int rc;

	memset(c, 0, sizeof(*c));
	c->v = v;
	c->chunk = v->info.max_transfer_bytes ? MIN(v->info.max_transfer_bytes, (uint32_t)COPY_CHUNK_MAX)
					      : (uint32_t)COPY_CHUNK_MAX;
	rc = cli_into_memory(into, v->ctx, COPY_SLOTS * c->chunk, &c->mem);
	if (rc != CLI_DONE)
		return rc;
	rc = cli_path_check(command, into, v->vol, c->mem);
	c->base = pst_memory_ptr(c->mem);
	c->copied = !c->base;
	if (rc == CLI_DONE && c->copied) {
		c->base = mem_aligned(4096, COPY_SLOTS * c->chunk);
		rc = c->base ? CLI_DONE : cli_error("out of memory");
	}
	if (rc != CLI_DONE)
		pst_memory_free(c->mem);
	return rc;
}

enum pst_path copy_path(const struct copy *c)
{
	int most = PST_PATH_NONE;

	for (int i = 0; i < (int)ARRAY_SIZE(c->path_bytes); i++)
		most = c->path_bytes[i] > c->path_bytes[most] ? i : most;
	return (enum pst_path)most;
}

void copy_deinit(struct copy *c)
{
	copy_drain(c);
	pst_memory_free(c->mem);
	if (c->copied)
		mem_free(c->base);
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
	if (write && c->copied) {
		rc = pst_memory_copy_in(c->mem, place(c, c->head), copy_next(c), length);
		if (rc < 0)
			return rc;
	}
	s->read = !write;
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
	if (s->read && c->copied && !s->completion.error) {
		int rc = pst_memory_copy_out(c->mem, place(c, c->tail), c->base + place(c, c->tail), s->length);

		if (rc < 0)
			s->completion.error = rc;
	}
	if (!s->completion.error)
		c->path_bytes[s->completion.path % ARRAY_SIZE(c->path_bytes)] += s->length;
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
