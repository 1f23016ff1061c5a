/* SPDX-License-Identifier: Apache-2.0 */
/* What we write we read, however the bytes are cut; what others write, by hand-made headers; damage. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/util.h"
#include "feed/index.h"
#include "feed/tar-format.h"
#include "feed/tar.h"
#include "tests/tap.h"

enum { ARCHIVE_MAX = 1 << 20 };
static uint8_t archive[ARCHIVE_MAX];
static uint64_t length;

static void begin(void)
{
	memset(archive, 0, sizeof(archive));
	length = 0;
}

static void put(const void *p, uint64_t n)
{
	memcpy(archive + length, p, n);
	length += n;
}

static void add(const char *name, uint64_t size)
{
	static uint8_t head[TAR_HEADER_MAX];
	int n = tar_header(name, size, 1700000000, 0640, head);

	if (n <= 0 || n % TAR_BLOCK != 0)
		ok(false, "a header for a name of %zu bytes", strlen(name));
	put(head, (uint64_t)MAX(n, 0));
	memset(archive + length, 'x', size);
	length += size + tar_padding(size);
}

static void end(void)
{
	length += tar_trailer(length);
}

static struct tar_block block(char type, const char *name, const char *size)
{
	struct tar_block b = { .typeflag = type };

	snprintf(b.name, sizeof(b.name), "%s", name);
	memcpy(b.size, size, strnlen(size, sizeof(b.size)));
	memcpy(b.magic, "ustar", 6);
	return b;
}

static void put_block(struct tar_block b)
{
	snprintf(b.chksum, sizeof(b.chksum), "%06o", (unsigned int)tar_checksum(&b) & 0777777);
	put(&b, sizeof(b));
}

static void put_padded(const char *text, uint64_t n)
{
	put(text, n);
	length += tar_padding(n);
}

/* Reads all of it, giving the reader windows of @window bytes or what it asks for. */
static int read_all(uint64_t limit, uint64_t window, struct index *ix, struct err *err)
{
	static struct tar_reader r;
	struct tar_member m;
	uint64_t off, want;

	*ix = (struct index)INDEX_NULL;
	tar_reader_init(&r, limit);
	while (tar_reader_want(&r, &off, &want)) {
		uint64_t n = MIN(MAX(want, window), limit > off ? limit - off : 0);
		uint8_t *copy = malloc(n + 1); /* exactly the window, so that a sanitizer sees its end */
		int rc;

		memcpy(copy, archive + off, n);
		while ((rc = tar_reader_next(&r, copy, off, n, &m, err)) == 1) {
			rc = index_add(ix, &m, err);
			if (rc < 0)
				break;
		}
		free(copy);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void round_trip(void)
{
	static const uint64_t windows[] = { 0, 512, 4096, 65536, ARCHIVE_MAX };
	char names[5][1200];
	struct err err = ERR_NULL;
	struct index ix;

	snprintf(names[0], sizeof(names[0]), "short");
	memset(names[1], 'a', 100), names[1][100] = 0;
	snprintf(names[2], sizeof(names[2]), "%0150d/%090d", 1, 2);
	memset(names[3], 'n', 101), names[3][101] = 0;
	snprintf(names[4], sizeof(names[4]), "%01000d/\xc3\xa4\xf0\x9f\x98\x80", 7);
	begin();
	for (int i = 0; i < 5; i++)
		add(names[i], (uint64_t)i * 700);
	end();
	is_u64(length % TAR_RECORD, 0, "an archive is whole records");
	for (size_t w = 0; w < ARRAY_SIZE(windows); w++) {
		bool same = true;

		is_u64((uint64_t)read_all(length, windows[w], &ix, &err), 0, "read by windows of %llu: %s",
		       (unsigned long long)windows[w], err_text(&err));
		is_u64(ix.count, 5, "five members");
		for (uint64_t i = 0; i < ix.count; i++)
			same &= strcmp(index_name(&ix, i), names[i]) == 0 && ix.entries[i].size == i * 700 &&
				(i == 0 || archive[ix.entries[i].offset] == 'x') &&
				ix.entries[i].mode == 0640 && ix.entries[i].mtime == 1700000000;
		ok(same, "with their names, sizes, modes and places");
		index_deinit(&ix);
	}
	ok(tar_header("", 1, 0, 0, archive) < 0, "an empty name is refused");
}

static void other_writers(void)
{
	struct err err = ERR_NULL;
	struct index ix;
	char long_name[300];
	struct tar_block b;

	begin();
	memset(long_name, 'L', 250), long_name[250] = 0;
	put_block(block('L', "././@LongLink", "00000000373"));
	put_padded(long_name, 251);
	put_block(block('0', "cut off", "00000000003"));
	put_padded("abc", 3);
	put_block(block('g', "pax_global_header", "00000000020"));
	put_padded("16 comment=abcd\n", 16);
	put_block(block('x', "x", "00000000031"));
	put_padded("16 path=dir/pax\n9 size=5\n", 25);
	put_block(block('0', "y", "00000000000"));
	put_padded("12345", 5);
	put_block(block('5', "dir/", "00000000000"));
	put_block(block(0, "old/", "00000000000"));
	b = block('1', "linked", "00000000000");
	memcpy(b.linkname, "dir/pax", 8);
	put_block(b);
	put_block(block('2', "symlink", "00000000000"));
	b = block('0', "base256", "");
	memcpy(b.size, "\x80\0\0\0\0\0\0\0\0\0\0\2", 12);
	put_block(b);
	put_padded("zz", 2);
	b = block('0', "name", "       2\0");
	memcpy(b.magic, "ustar ", 6);
	memcpy(b.prefix, "12345", 5); /* GNU's atime */
	put_block(b);
	put_padded("zz", 2);
	is_u64((uint64_t)read_all(length, 0, &ix, &err), 0, "forms of other writers: %s", err_text(&err));
	is_u64(ix.count, 5, "five samples");
	is_u64(ix.others, 3, "and three members that are none");
	is_str(index_name(&ix, 0), long_name, "GNU long name");
	is_str(index_name(&ix, 1), "dir/pax", "pax path");
	is_u64(ix.entries[1].size, 5, "pax size");
	is_u64(ix.entries[2].offset, ix.entries[1].offset, "a hard link is what it links to");
	is_u64(ix.entries[3].size, 2, "base-256 size");
	is_str(index_name(&ix, 4), "name", "the old GNU form has no prefix");
	is_u64(ix.entries[4].size, 2, "a size with leading spaces");
	index_deinit(&ix);
}

static void end_of_archive(void)
{
	struct err err = ERR_NULL;
	struct index ix;

	begin();
	add("a", 10);
	length += TAR_BLOCK;
	add("behind", 10);
	is_u64((uint64_t)read_all(ARCHIVE_MAX, 4096, &ix, &err), 0, "one block of zeroes ends it too");
	is_u64(ix.count, 1, "what lies behind does not count");
	index_deinit(&ix);
	begin();
	add("a", 10);
	is_u64((uint64_t)read_all(length, 4096, &ix, &err), 0, "a volume that ends with the last member");
	is_u64(ix.count, 1, "has that member");
	index_deinit(&ix);
}

static void refused(const char *what, int code, uint64_t limit)
{
	struct err err = ERR_NULL;
	struct index ix;
	int rc = read_all(limit, 0, &ix, &err);

	ok(rc == -code && err.text[0], "%s is refused: %s", what, err_text(&err));
	index_deinit(&ix);
}

static void damage(void)
{
	struct tar_block b;

	begin();
	refused("an empty volume", EBADMSG, 1 << 16);
	refused("a volume of no bytes", EBADMSG, 0);
	begin();
	add("a", 600);
	archive[3] ^= 1;
	refused("a wrong checksum", EBADMSG, 1 << 16);
	begin();
	add("a", 600);
	refused("a member beyond the end", EBADMSG, 1000);
	begin();
	b = block('0', "huge", "");
	memset(b.size, 0xff, sizeof(b.size));
	b.size[0] = (char)0x80;
	put_block(b);
	refused("a size of more than 64 bits", EBADMSG, 1 << 16);
	begin();
	b = block('0', "huge", "");
	memcpy(b.size, "\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 12);
	put_block(b);
	refused("a size of 2^64 - 1", EBADMSG, UINT64_C(1) << 19);
	begin();
	put_block(block('x', "x", "00000000012"));
	put_padded("99 path=a\n", 10);
	refused("a pax record longer than its header", EBADMSG, 1 << 16);
	begin();
	add("a", 10);
	put_block(block('x', "x", "00000000012"));
	put_padded("10 path=a\n", 10);
	refused("an extended header with nothing behind it", EBADMSG, length);
	begin();
	put_block(block('x', "x", "77777777777"));
	refused("a pax header of 8 GiB", EBADMSG, 1 << 16);
	begin();
	put_block(block('S', "sparse", "00000000012"));
	refused("a sparse file", EOPNOTSUPP, 1 << 16);
	begin();
	b = block('1', "link", "00000000000");
	memcpy(b.linkname, "nowhere", 8);
	put_block(b);
	refused("a hard link to nothing", EBADMSG, 1 << 16);
}

/* Whatever the bytes: no crash, and each step moves on or ends. */
static void junk(void)
{
	struct rng rng;
	struct index ix;
	int failed = 0;

	rng_init(&rng, 11);
	for (int i = 0; i < 3000; i++) {
		begin();
		add("first", 100);
		add("second/with/a/path", 1000);
		for (uint64_t k = rng_below(&rng, 6) + 1; k > 0; k--)
			archive[rng_below(&rng, length)] = (uint8_t)rng_u64(&rng);
		if (rng_chance_ppm(&rng, 500000)) { /* get past the checksum */
			struct tar_block *b = (struct tar_block *)archive;

			snprintf(b->chksum, 8, "%06o", (unsigned int)tar_checksum(b) & 0777777);
		}
		failed += read_all(length, 512, &ix, NULL) < 0;
		index_deinit(&ix);
	}
	ok(failed > 100 && failed < 3000, "3000 damaged archives, %d refused, none followed", failed);
}

int main(void)
{
	round_trip();
	other_writers();
	end_of_archive();
	damage();
	junk();
	return tap_done();
}
