/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in files, twice: as programs see it and as a power cut would leave it. A sector that was
 * written but not synced since is dirty; at a power cut each dirty sector is kept or lost by
 * itself, so an un-synced write may be torn between sectors, never within one. Nor do writes
 * become durable in order: a disk may also have written an older version of a dirty sector before
 * it was overwritten.
 *
 * A sync that fails may forget what it could not write, as Linux does (fsync(2), NOTES): the
 * sectors count as clean, still read as written, are not in the next sync, and are gone after a
 * power cut. With direct I/O they are in the disk's own cache, which keeps them for the next try.
 *
 * Contents are in chunks that exist from their first write, so a large file costs what is in it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/util.h"
#include "io/sim-impl.h"

#define CHUNK       16384
#define LEAF        1024 /* chunks in one leaf of the directory: 16 MiB */
#define SECTORS_MAX (CHUNK / 512)

#define FORGOTTEN UINT64_MAX /* in dirty[]: not durable, and no sync will change that */

struct sim_chunk {
	uint8_t cached[CHUNK];
	uint8_t durable[CHUNK];
	uint64_t dirty[SECTORS_MAX]; /* number of the write that made it dirty; 0: clean */
};

/* ---- cursors --------------------------------------------------------------------------------- */

void sim_cursor_init(struct sim_cursor *c, const struct iovec *iov, int niov, uint64_t skip)
{
	*c = (struct sim_cursor){ .iov = iov, .niov = niov };
	while (c->niov > 0 && skip >= c->iov->iov_len) {
		skip -= c->iov->iov_len;
		c->iov++;
		c->niov--;
	}
	c->at = (size_t)skip;
}

/* The next piece of at most @n bytes; moves on. */
static uint8_t *cursor_next(struct sim_cursor *c, size_t n, size_t *ret_n)
{
	uint8_t *p;

	while (c->at == c->iov->iov_len) {
		INVARIANT(c->niov > 1);
		c->iov++;
		c->niov--;
		c->at = 0;
	}
	p = (uint8_t *)c->iov->iov_base + c->at;
	*ret_n = MIN(n, c->iov->iov_len - c->at);
	c->at += *ret_n;
	return p;
}

void sim_cursor_out(struct sim_cursor *c, const void *from, size_t n)
{
	const uint8_t *at = from;
	size_t some;

	for (; n > 0; n -= some, at += some) {
		uint8_t *to = cursor_next(c, n, &some);

		memcpy(to, at, some);
	}
}

void sim_cursor_in(struct sim_cursor *c, void *to, size_t n)
{
	uint8_t *at = to;
	size_t some;

	if (!c->iov) {
		memset(to, 0, n);
		return;
	}
	for (; n > 0; n -= some, at += some) {
		const uint8_t *from = cursor_next(c, n, &some);

		memcpy(at, from, some);
	}
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static struct sim_chunk *chunk_find(const struct sim_file *f, uint64_t index)
{
	uint64_t top = index / LEAF;

	return top < f->top_len && f->top[top] ? f->top[top][index % LEAF] : NULL;
}

static struct sim_chunk *chunk_get(struct sim_file *f, uint64_t index)
{
	size_t top = (size_t)(index / LEAF);
	struct sim_chunk **slot;

	if (top >= f->top_len) {
		f->top = reallocarray(f->top, top + 1, sizeof(*f->top));
		INVARIANT(f->top != NULL);
		memset(f->top + f->top_len, 0, (top + 1 - f->top_len) * sizeof(*f->top));
		f->top_len = top + 1;
	}
	if (!f->top[top])
		f->top[top] = sim_xalloc(LEAF * sizeof(*f->top[top]));
	slot = &f->top[top][index % LEAF];
	if (!*slot)
		*slot = sim_xalloc(sizeof(**slot));
	return *slot;
}

static void dirty_push(struct sim_dirty_list *l, struct sim_chunk *chunk, uint32_t index,
		       uint64_t seq)
{
	if (l->len == l->cap) {
		l->cap = MAX(l->cap * 2, (size_t)64);
		l->at = reallocarray(l->at, l->cap, sizeof(*l->at));
		INVARIANT(l->at != NULL);
	}
	l->at[l->len++] = (struct sim_dirty){ chunk, index, seq };
}

/* Takes the first that became dirty up to @seq; false: there is none. */
static bool dirty_pop(struct sim_dirty_list *l, uint64_t seq, struct sim_dirty *ret_dirty)
{
	while (l->first < l->len && l->at[l->first].seq <= seq) {
		*ret_dirty = l->at[l->first++];
		/* Not if it was made durable, and perhaps dirty again, since. */
		if (ret_dirty->chunk->dirty[ret_dirty->index] == ret_dirty->seq)
			return true;
	}
	if (l->first == l->len)
		l->first = l->len = 0;
	return false;
}

static void sector_persist(const struct sim_file *f, struct sim_chunk *chunk, uint32_t index)
{
	size_t at = (size_t)index * f->sector;

	memcpy(chunk->durable + at, chunk->cached + at, f->sector);
}

/* ---- reading and writing --------------------------------------------------------------------- */

uint32_t sim_disk_read(struct sim_file *f, struct sim_cursor *c, uint64_t offset, uint64_t n)
{
	static const uint8_t zero[CHUNK];
	uint32_t crc = 0;
	size_t some;

	for (; n > 0; n -= some, offset += some) {
		struct sim_chunk *chunk = chunk_find(f, offset / CHUNK);
		size_t at = (size_t)(offset % CHUNK);
		const uint8_t *from = chunk ? chunk->cached + at : zero;

		some = (size_t)MIN(n, (uint64_t)(CHUNK - at));
		crc = crc32c(crc, from, some);
		sim_cursor_out(c, from, some);
	}
	return crc;
}

/*
 * One chunk's part of a write. @early: the disk wrote the dirty sectors that are overwritten now.
 */
static uint32_t chunk_write(struct sim_file *f, struct sim_chunk *chunk, struct sim_cursor *c,
			    size_t at, size_t n, bool durable, bool early)
{
	uint32_t first = (uint32_t)(at / f->sector);
	uint32_t end = (uint32_t)DIV_ROUND_UP(at + n, f->sector);

	for (uint32_t i = first; early && i < end; i++)
		if (chunk->dirty[i])
			sector_persist(f, chunk, i);
	sim_cursor_in(c, chunk->cached + at, n);
	for (uint32_t i = first; i < end; i++) {
		if (durable) {
			sector_persist(f, chunk, i);
			chunk->dirty[i] = 0;
		} else if (!chunk->dirty[i] || chunk->dirty[i] == FORGOTTEN) {
			chunk->dirty[i] = f->seq;
			dirty_push(&f->dirty, chunk, i, f->seq);
		}
	}
	return crc32c(0, chunk->cached + at, n);
}

uint32_t sim_disk_write(struct sim_file *f, struct sim_cursor *c, uint64_t offset, uint64_t n,
			bool durable)
{
	const struct sim_config *config = &f->node->sim->config;
	bool early = config->disk_cache && rng_below(&f->node->sim->rng, 4) == 0;
	uint64_t at = offset, left = n;
	uint32_t crc = 0;
	size_t some;

	if (n == 0)
		return 0;
	f->seq++;
	f->size = MAX(f->size, offset + n);
	for (; left > 0; left -= some, at += some) {
		size_t in = (size_t)(at % CHUNK);

		some = (size_t)MIN(left, (uint64_t)(CHUNK - in));
		crc ^= chunk_write(f, chunk_get(f, at / CHUNK), c, in, some,
				   durable || !config->disk_cache, early);
	}
	sim_disk_clear_bad(f, offset, n);
	return crc;
}

void sim_disk_sync(struct sim_file *f, uint64_t seq)
{
	struct sim_dirty d;

	while (dirty_pop(&f->dirty, seq, &d)) {
		sector_persist(f, d.chunk, d.index);
		d.chunk->dirty[d.index] = 0;
	}
}

void sim_disk_forget(struct sim_file *f, uint64_t seq)
{
	struct sim_dirty d;

	while (dirty_pop(&f->dirty, seq, &d)) {
		d.chunk->dirty[d.index] = FORGOTTEN;
		dirty_push(&f->forgotten, d.chunk, d.index, FORGOTTEN);
	}
}

static void power_cut_list(struct sim_file *f, struct sim_dirty_list *l, uint32_t kept_ppm)
{
	struct sim_dirty d;

	while (dirty_pop(l, UINT64_MAX, &d)) {
		size_t at = (size_t)d.index * f->sector;

		if (rng_chance_ppm(&f->node->sim->rng, kept_ppm))
			sector_persist(f, d.chunk, d.index);
		else
			memcpy(d.chunk->cached + at, d.chunk->durable + at, f->sector);
		d.chunk->dirty[d.index] = 0;
	}
}

void sim_disk_power_cut(struct sim_file *f)
{
	/* All is lost, all was written, or anything between. */
	static const uint32_t kept_ppm[] = { 0, 1000000, 500000, 100000, 900000 };
	uint32_t ppm = kept_ppm[rng_below(&f->node->sim->rng, ARRAY_SIZE(kept_ppm))];

	power_cut_list(f, &f->dirty, ppm);
	power_cut_list(f, &f->forgotten, 0);
}

bool sim_disk_allocated(const struct sim_file *f, uint64_t offset, uint64_t n)
{
	for (uint64_t i = offset / CHUNK; n > 0 && i <= (offset + n - 1) / CHUNK; i++)
		if (!chunk_find(f, i))
			return false;
	return true;
}

/* ---- bad sectors ----------------------------------------------------------------------------- */

bool sim_disk_is_bad(const struct sim_file *f, uint64_t offset, uint64_t n)
{
	for (size_t i = 0; i < f->bad_len; i++)
		if (offset < f->bad[i].offset + f->bad[i].length && f->bad[i].offset < offset + n)
			return true;
	return false;
}

void sim_disk_set_bad(struct sim_file *f, uint64_t offset, uint64_t n)
{
	uint64_t begin = ALIGN_DOWN(offset, f->sector);
	uint64_t end = ALIGN_UP(offset + n, f->sector);

	if (f->bad_len == f->bad_cap) {
		f->bad_cap = MAX(f->bad_cap * 2, (size_t)8);
		f->bad = reallocarray(f->bad, f->bad_cap, sizeof(*f->bad));
		INVARIANT(f->bad != NULL);
	}
	f->bad[f->bad_len++] = (struct sim_bad){ begin, end - begin };
}

/* Sectors written as a whole are good again; the rest of a bad range stays bad. */
void sim_disk_clear_bad(struct sim_file *f, uint64_t offset, uint64_t n)
{
	uint64_t begin = ALIGN_UP(offset, f->sector);
	uint64_t end = ALIGN_DOWN(offset + n, f->sector);
	size_t len = f->bad_len;

	if (len == 0 || begin >= end)
		return;
	for (size_t i = 0; i < len; i++) {
		struct sim_bad *b = &f->bad[i];
		uint64_t b_end = b->offset + b->length;

		if (b->offset >= end || b_end <= begin)
			continue;
		if (b_end > end && b->offset < begin) {
			b->length = begin - b->offset;
			sim_disk_set_bad(f, end, b_end - end); /* may move the array */
		} else if (b->offset < begin) {
			b->length = begin - b->offset;
		} else {
			b->length = b_end > end ? b_end - end : 0;
			b->offset = end;
		}
	}
	len = 0;
	for (size_t i = 0; i < f->bad_len; i++)
		if (f->bad[i].length > 0)
			f->bad[len++] = f->bad[i];
	f->bad_len = len;
}

void sim_disk_heal(struct sim_node *node)
{
	struct sim_file *f;

	node->disk_full = false;
	list_for_each_entry(f, &node->files, link)
		f->bad_len = 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

struct sim_file *sim_disk_find(struct sim_node *node, const char *path)
{
	struct sim_file *f;

	list_for_each_entry(f, &node->files, link)
		if (strcmp(f->name, path) == 0)
			return f;
	return NULL;
}

struct sim_file *sim_disk_create(struct sim_node *node, const char *path, uint64_t size)
{
	size_t n = strlen(path) + 1;
	struct sim_file *f = sim_xalloc(sizeof(*f) + n);

	f->node = node;
	f->id = ++node->sim->ids;
	f->birth_ns = sim_node_wall(node);
	f->size = size;
	f->sector = node->sim->config.sector;
	memcpy(f->name, path, n);
	list_add_tail(&node->files, &f->link);
	return f;
}

static void file_free(struct sim_file *f)
{
	for (size_t i = 0; i < f->top_len; i++) {
		for (size_t j = 0; f->top[i] && j < LEAF; j++)
			free(f->top[i][j]);
		free(f->top[i]);
	}
	free(f->top);
	free(f->dirty.at);
	free(f->forgotten.at);
	free(f->bad);
	free(f);
}

void sim_disk_free(struct sim_node *node)
{
	struct sim_file *f;

	while ((f = list_pop_entry(&node->files, struct sim_file, link)))
		file_free(f);
}

int64_t sim_disk_peek(struct sim_node *node, const char *path, enum sim_view view, uint64_t offset,
		      void *buf, size_t n)
{
	struct sim_file *f = sim_disk_find(node, path);
	uint8_t *to = buf;
	size_t some, left;

	if (!f)
		return -ENOENT;
	n = (size_t)MIN((uint64_t)n, offset < f->size ? f->size - offset : 0);
	for (left = n; left > 0; left -= some, offset += some, to += some) {
		struct sim_chunk *chunk = chunk_find(f, offset / CHUNK);
		size_t at = (size_t)(offset % CHUNK);

		some = MIN(left, CHUNK - at);
		if (!chunk)
			memset(to, 0, some);
		else
			memcpy(to, (view == SIM_VIEW_CACHED ? chunk->cached : chunk->durable) + at,
			       some);
	}
	return (int64_t)n;
}

int sim_disk_bad(struct sim_node *node, const char *path, uint64_t offset, uint64_t length)
{
	struct sim_file *f = sim_disk_find(node, path);

	if (!f)
		return -ENOENT;
	sim_disk_set_bad(f, offset, length);
	return 0;
}

void sim_disk_full(struct sim_node *node, bool full)
{
	node->disk_full = full;
}
