/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the index of a dataset, from the bytes of a volume that anybody may have written. The
 * archive is read several times, by windows of several sizes, with the buffer exactly as long as the
 * window. Whatever the bytes: every way of reading finds the same members or the same fault; members
 * follow one another, none reaches over another or beyond the volume; a fault is told in words; a
 * name is found again; what was found can be written, and reads the same; records of it lie within
 * their files.
 *
 * Input: byte 0 bit 0 checksums are made right first, bit 1 the volume goes on with zeroes, bits 7:2
 * records; byte 1 the seed of windows; the rest is the volume.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/util.h"
#include "feed/index.h"
#include "feed/records.h"
#include "feed/tar-format.h"
#include "feed/tar.h"
#include "tests/fuzz/fuzz.h"

enum { PREFIX = 2, VOLUME_MAX = 1 << 17, BEHIND = 1 << 16, MEMBERS_MAX = VOLUME_MAX / TAR_BLOCK };

/* What a way of reading found. */
struct found {
	struct index ix;
	struct {
		enum tar_kind kind;
		uint64_t offset, size;
	} members[MEMBERS_MAX];
	size_t count;
	int rc;
	struct err err;
};

static uint8_t volume[VOLUME_MAX + BEHIND];
static uint64_t limit;
static struct found first, other;

/* So that a changed header is still one. */
static void make_right(void)
{
	for (uint64_t at = 0; at + TAR_BLOCK <= limit; at += TAR_BLOCK) {
		struct tar_block b;
		uint32_t sum;

		memcpy(&b, volume + at, sizeof(b));
		if (memcmp(b.magic, "ustar", 5) != 0)
			continue;
		sum = tar_checksum(&b);
		for (size_t i = 0; i < 6; i++, sum >>= 3)
			b.chksum[5 - i] = (char)('0' + (sum & 7));
		b.chksum[6] = 0;
		b.chksum[7] = ' ';
		memcpy(volume + at, &b, sizeof(b));
	}
}

/* ---- reading ------------------------------------------------------------------------------- */

static void take(struct found *f, const struct tar_member *m, uint64_t *end)
{
	INVARIANT(f->count < MEMBERS_MAX);
	INVARIANT(m->offset % TAR_BLOCK == 0 && m->offset >= *end + TAR_BLOCK);
	INVARIANT(m->offset <= limit && m->size <= limit - m->offset);
	INVARIANT(strlen(m->name) < TAR_NAME_MAX && strlen(m->link) < TAR_NAME_MAX);
	INVARIANT(m->kind != TAR_HARD_LINK || m->size == 0);
	*end = m->offset + m->size + tar_padding(m->size);
	f->members[f->count].kind = m->kind;
	f->members[f->count].offset = m->offset;
	f->members[f->count++].size = m->size;
	f->rc = index_add(&f->ix, m, &f->err);
}

/* Windows of @window bytes, what is wanted if that is more, or, with @rng, of any length. */
static void read_all(struct found *f, uint64_t window, struct rng *rng)
{
	static struct tar_reader r;
	uint64_t offset, want, last = 0, end = 0, idle = 0;
	struct tar_member m;

	f->ix = (struct index)INDEX_NULL;
	f->count = 0;
	f->rc = 0;
	err_clear(&f->err);
	tar_reader_init(&r, limit);
	while (f->rc == 0 && tar_reader_want(&r, &offset, &want)) {
		uint64_t left = offset < limit ? limit - offset : 0, n = MAX(want, window);
		uint8_t *copy;

		n = MIN(rng ? want + rng_below(rng, 2048) : n, left);
		copy = malloc(n);
		memcpy(copy, volume + offset, n);
		/* It may ask for more of the same once, never for the same twice. */
		idle = offset == last ? idle + 1 : 0;
		INVARIANT(offset >= last && want <= TAR_BLOCK + TAR_EXTENDED_MAX && idle <= 2);
		last = offset;
		while (f->rc == 0 && (f->rc = tar_reader_next(&r, copy, offset, n, &m, &f->err)) == 1)
			take(f, &m, &end);
		free(copy);
	}
	INVARIANT(f->rc <= 0 && f->err.code == -f->rc && (f->rc == 0 || f->err.text[0]));
	INVARIANT(f->rc == 0 || f->rc == -EBADMSG || f->rc == -EOPNOTSUPP);
}

static void same(const struct found *a, const struct found *b)
{
	INVARIANT(a->rc == b->rc && strcmp(a->err.text, b->err.text) == 0);
	INVARIANT(a->count == b->count && memcmp(a->members, b->members, a->count * sizeof(a->members[0])) == 0);
	INVARIANT(a->ix.count == b->ix.count && a->ix.others == b->ix.others && a->ix.bytes == b->ix.bytes &&
		  a->ix.largest == b->ix.largest && a->ix.manifest_offset == b->ix.manifest_offset &&
		  a->ix.manifest_size == b->ix.manifest_size);
	for (uint64_t i = 0; i < a->ix.count; i++) {
		const struct index_entry *x = &a->ix.entries[i], *y = &b->ix.entries[i];

		INVARIANT(x->offset == y->offset && x->size == y->size && x->mtime == y->mtime &&
			  x->mode == y->mode && strcmp(index_name(&a->ix, i), index_name(&b->ix, i)) == 0);
	}
}

/* ---- what was found ------------------------------------------------------------------------ */

/* Contents of an entry are those of one file in the archive; its name leads to the last one of it. */
static void check_index(const struct found *f)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < f->ix.count; i++) {
		const struct index_entry *e = &f->ix.entries[i];
		uint64_t last = i, at;
		size_t k = 0;

		while (k < f->count && (f->members[k].kind != TAR_FILE || f->members[k].offset != e->offset ||
					f->members[k].size != e->size))
			k++;
		INVARIANT(k < f->count);
		for (uint64_t j = i + 1; j < f->ix.count; j++)
			last = strcmp(index_name(&f->ix, i), index_name(&f->ix, j)) == 0 ? j : last;
		INVARIANT(index_find(&f->ix, index_name(&f->ix, i), &at) == 0 && at == last);
		INVARIANT(e->size <= f->ix.largest);
		bytes += e->size;
	}
	INVARIANT(bytes == f->ix.bytes);
	INVARIANT(f->ix.manifest_size <= limit - f->ix.manifest_offset);
}

/* What we read we can write, and read again. */
static void write_again(const struct index *ix, uint64_t i)
{
	static uint8_t head[TAR_HEADER_MAX];
	static struct tar_reader r;
	const struct index_entry *e = &ix->entries[i];
	const char *name = index_name(ix, i);
	int n = tar_header(name, e->size, e->mtime, e->mode, head);
	bool directory = name[0] && name[strlen(name) - 1] == '/';
	struct err err = ERR_NULL;
	struct tar_member m;

	if (name[0] == 0) {
		INVARIANT(n == -ENAMETOOLONG);
		return;
	}
	INVARIANT(n > 0 && n % TAR_BLOCK == 0 && n <= TAR_HEADER_MAX);
	tar_reader_init(&r, UINT64_MAX);
	INVARIANT(tar_reader_next(&r, head, 0, (uint64_t)n, &m, &err) == 1);
	INVARIANT(strcmp(m.name, name) == 0 && m.size == e->size && m.mode == e->mode && m.offset == (uint64_t)n);
	INVARIANT(m.mtime == MIN(e->mtime, UINT64_C(077777777777)));
	INVARIANT(m.kind == (directory ? TAR_OTHER : TAR_FILE));
}

static void check_records(const struct index *ix, uint8_t how)
{
	const struct pst_extent extents[] = { { how & 3, 1 + (how >> 2 & 7) }, { 13, 1 } };
	struct pst_records layout = { .group_bytes = 10 + (how >> 2), .extents = extents,
				      .extent_count = 1 + (how >> 5 & 1) };
	struct records r = RECORDS_NULL;
	struct err err = ERR_NULL;

	if (records_init(&r, ix, &layout, &err) < 0) {
		INVARIANT(err.text[0] && r.group_bytes == 0);
		return;
	}
	for (uint64_t i = 0; i < r.count; i += 1 + r.count / 64) {
		uint64_t file, offset, size;

		records_at(&r, ix->count, i, &file, &offset, &size);
		INVARIANT(file < ix->count && size > 0 && size <= r.largest);
		INVARIANT(offset <= ix->entries[file].size && size <= ix->entries[file].size - offset);
	}
	records_deinit(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t windows[] = { 512, 4096, VOLUME_MAX + BEHIND };
	struct rng rng;

	if (size < PREFIX || size - PREFIX > VOLUME_MAX)
		return 0;
	limit = size - PREFIX;
	memset(volume, 0, sizeof(volume));
	memcpy(volume, data + PREFIX, limit);
	if (data[0] & 1)
		make_right();
	if (data[0] & 2)
		limit += BEHIND;
	read_all(&first, 0, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
		read_all(&other, windows[i], NULL);
		same(&first, &other);
		index_deinit(&other.ix);
	}
	rng_init(&rng, data[1]);
	read_all(&other, 0, &rng);
	same(&first, &other);
	index_deinit(&other.ix);
	check_index(&first);
	for (uint64_t i = 0; i < first.ix.count; i++)
		write_again(&first.ix, i);
	check_records(&first.ix, data[0]);
	index_deinit(&first.ix);
	return 0;
}
