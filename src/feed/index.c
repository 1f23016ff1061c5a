/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three growing arrays: entries, names end to end, hash buckets. A chain begins with the entry
 * added last, so looking a name up finds the one that extraction would leave behind.
 */
#include "feed/index.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"

#define INDEX_MAX (UINT32_MAX - 1) /* entries: their numbers are 32 bits wide */

/* Doubles an array until it holds @want objects of @size bytes. */
static int grow(void **array, uint64_t *cap, uint64_t want, size_t size)
{
	uint64_t n = *cap ? *cap : 64;
	size_t bytes;
	void *p;

	if (want <= *cap)
		return 0;
	while (n < want)
		n *= 2;
	if (!size_mul(n, size, &bytes))
		return -ENOMEM;
	p = mem_realloc(*array, bytes);
	if (!p)
		return -ENOMEM;
	*array = p;
	*cap = n;
	return 0;
}

static uint32_t *bucket(const struct index *ix, const char *name)
{
	uint64_t h = hash_bytes(HASH_INIT, name, strlen(name));

	return &ix->buckets[(h ^ h >> 29) % ix->bucket_count];
}

static void chain(struct index *ix, uint64_t i)
{
	uint32_t *b = bucket(ix, index_name(ix, i));

	ix->entries[i].next = *b;
	*b = (uint32_t)i + 1;
}

static int rehash(struct index *ix)
{
	uint64_t n = ix->capacity;
	uint32_t *b;

	if (n == ix->bucket_count)
		return 0;
	b = mem_calloc(n, sizeof(*b));
	if (!b)
		return -ENOMEM;
	mem_free(ix->buckets);
	ix->buckets = b;
	ix->bucket_count = n;
	for (uint64_t i = 0; i < ix->count; i++)
		chain(ix, i);
	return 0;
}

/* "./" in front is how `tar -c .` names the top of an archive. */
static bool is_manifest(const struct tar_member *m)
{
	const char *name = m->name;

	while (name[0] == '.' && name[1] == '/')
		name += 2;
	return m->kind == TAR_FILE && strcmp(name, INDEX_MANIFEST) == 0;
}

int index_add(struct index *ix, const struct tar_member *m, struct err *err)
{
	size_t len = strlen(m->name) + 1;
	struct index_entry e = { .offset = m->offset, .size = m->size, .mtime = m->mtime, .mode = m->mode };
	uint64_t other;

	if (m->kind == TAR_OTHER) {
		ix->others++;
		return 0;
	}
	if (is_manifest(m)) {
		ix->others++;
		ix->manifest_offset = m->offset;
		ix->manifest_size = m->size;
		return 0;
	}
	if (m->kind == TAR_HARD_LINK) {
		if (index_find(ix, m->link, &other) != 0)
			return err_set(err, EBADMSG, "tar: '%s' is a hard link to '%s', which is not in the archive",
				       m->name, m->link);
		e.offset = ix->entries[other].offset;
		e.size = ix->entries[other].size;
	}
	if (ix->count >= INDEX_MAX)
		return err_set(err, EFBIG, "tar: more than %llu samples", (unsigned long long)INDEX_MAX);
	e.name = ix->names_len;
	if (grow((void **)&ix->entries, &ix->capacity, ix->count + 1, sizeof(e)) < 0 ||
	    grow((void **)&ix->names, &ix->names_cap, ix->names_len + len, 1) < 0 || rehash(ix) < 0)
		return err_set(err, ENOMEM, "no memory for the index of %llu samples",
			       (unsigned long long)ix->count + 1);
	memcpy(ix->names + ix->names_len, m->name, len);
	ix->names_len += len;
	ix->entries[ix->count] = e;
	chain(ix, ix->count);
	ix->count++;
	ix->bytes = u64_add_saturated(ix->bytes, e.size);
	if (e.size > ix->largest)
		ix->largest = e.size;
	return 0;
}

int index_find(const struct index *ix, const char *name, uint64_t *ret_entry)
{
	if (ix->bucket_count == 0)
		return -ENOENT;
	for (uint32_t i = *bucket(ix, name); i != 0; i = ix->entries[i - 1].next) {
		if (strcmp(index_name(ix, i - 1), name) == 0) {
			*ret_entry = i - 1;
			return 0;
		}
	}
	return -ENOENT;
}

void index_deinit(struct index *ix)
{
	mem_free(ix->entries);
	mem_free(ix->names);
	mem_free(ix->buckets);
	*ix = (struct index)INDEX_NULL;
}
