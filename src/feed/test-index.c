/* SPDX-License-Identifier: Apache-2.0 */
#include "feed/index.h"

#include <errno.h>
#include <stdio.h>

#include "tests/tap.h"

static struct tar_member member(enum tar_kind kind, const char *name, uint64_t offset, uint64_t size)
{
	return (struct tar_member){ .kind = kind, .name = name, .link = "", .offset = offset, .size = size };
}

static int put(struct index *ix, enum tar_kind kind, const char *name, uint64_t offset, uint64_t size)
{
	struct tar_member m = member(kind, name, offset, size);
	struct err err = ERR_NULL;

	return index_add(ix, &m, &err);
}

static void samples(void)
{
	struct index ix = INDEX_NULL;
	struct tar_member link = member(TAR_HARD_LINK, "again", 0, 0);
	struct err err = ERR_NULL;
	uint64_t at = 99;

	put(&ix, TAR_FILE, "a", 512, 100);
	put(&ix, TAR_OTHER, "dir/", 1024, 0);
	put(&ix, TAR_FILE, "dir/b", 2048, 300);
	is_u64(ix.count, 2, "files are samples, a directory is none");
	is_u64(ix.others, 1, "and is counted");
	is_u64(ix.bytes, 400, "the bytes are those of the samples");
	is_u64(ix.largest, 300, "and so is the largest");
	ok(index_find(&ix, "dir/b", &at) == 0 && at == 1, "a sample is found by name");
	ok(index_find(&ix, "dir/", &at) == -ENOENT, "what is no sample is not");
	link.link = "a";
	ok(index_add(&ix, &link, &err) == 0 && ix.entries[2].offset == 512 && ix.entries[2].size == 100,
	   "a hard link has the contents of the file it names");
	link.link = "gone";
	ok(index_add(&ix, &link, &err) == -EBADMSG, "a hard link to nothing is damage");
	put(&ix, TAR_FILE, "a", 4096, 7);
	ok(index_find(&ix, "a", &at) == 0 && ix.entries[at].offset == 4096,
	   "of two members of one name the last counts");
	index_deinit(&ix);
}

static void many(void)
{
	struct index ix = INDEX_NULL;
	uint64_t at, wrong = 0;
	char name[32];

	for (uint64_t i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "s/%06llu", (unsigned long long)i);
		put(&ix, TAR_FILE, name, i * 1024, i);
	}
	for (uint64_t i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "s/%06llu", (unsigned long long)i);
		wrong += index_find(&ix, name, &at) != 0 || at != i;
	}
	is_u64(wrong, 0, "3000 samples are found after the tables have grown");
	index_deinit(&ix);
}

static void manifest(void)
{
	struct index ix = INDEX_NULL;

	put(&ix, TAR_FILE, INDEX_MANIFEST, 512, 200);
	put(&ix, TAR_FILE, "a", 1536, 10);
	is_u64(ix.count, 1, "the dataset's description is no sample");
	is_u64(ix.manifest_offset, 512, "its place is known");
	is_u64(ix.manifest_size, 200, "and its size");
	is_str(index_name(&ix, 0), "a", "the first sample is the one behind it");
	put(&ix, TAR_FILE, "./" INDEX_MANIFEST, 4096, 300);
	is_u64(ix.count, 1, "it may lie anywhere and be called ./");
	is_u64(ix.manifest_offset, 4096, "of two the last counts");
	put(&ix, TAR_FILE, "x/" INDEX_MANIFEST, 8192, 300);
	is_u64(ix.count, 2, "a file of that name in a directory is a sample");
	put(&ix, TAR_OTHER, INDEX_MANIFEST, 9216, 0);
	is_u64(ix.manifest_offset, 4096, "a symbolic link of that name describes nothing");
	index_deinit(&ix);
}

int main(void)
{
	samples();
	many();
	manifest();
	return tap_done();
}
