/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of a dataset: the samples (regular files) of a tar archive, in the archive's order,
 * with where their contents lie. Built from a tar reader, then constant; a hard link is a sample
 * with the contents of the member it names. 40 bytes and the name per sample.
 *
 * One name is reserved: INDEX_MANIFEST, at the top of the archive, is the dataset's description of
 * itself and no sample, wherever among the members it lies.
 */
#ifndef FEED_INDEX_H
#define FEED_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "feed/tar.h"

#define INDEX_MANIFEST "penstock-dataset.json"

struct index_entry {
	uint64_t offset;
	uint64_t size;
	uint64_t mtime;
	uint64_t name; /* in names */
	uint32_t mode;
	uint32_t next; /* in the hash chain; 0 = end, else 1 + entry */
};

struct index {
	struct index_entry *entries;
	uint64_t count;
	uint64_t capacity;
	char *names;
	uint64_t names_len;
	uint64_t names_cap;
	uint32_t *buckets; /* 1 + entry */
	uint64_t bucket_count;
	uint64_t bytes;	  /* sum of sizes */
	uint64_t largest; /* size of the largest sample */
	uint64_t others;  /* members that are no samples */
	/* Contents of the last INDEX_MANIFEST; both 0 if there is none. */
	uint64_t manifest_offset;
	uint64_t manifest_size;
};

#define INDEX_NULL { .entries = NULL }

/* Adds what is a sample and counts what is not. -ENOMEM; -EBADMSG: a hard link to nothing. */
int index_add(struct index *ix, const struct tar_member *m, struct err *err);
/* -ENOENT. The last of several members of that name, as tar extracts it. */
int index_find(const struct index *ix, const char *name, uint64_t *ret_entry);
static inline const char *index_name(const struct index *ix, uint64_t entry)
{
	return ix->names + ix->entries[entry].name;
}
void index_deinit(struct index *ix);

#endif
