/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes seeds for fuzz-tar into a directory: archives as several writers make them, one form each,
 * so that the fuzzer need not find a header by chance.
 */
#include "feed/tar-format.h"
#include "feed/tar.h"
#include "tests/fuzz/seed.h"

enum { CAP = 65536 };

static uint8_t seed[CAP];
static size_t len;

static void begin(unsigned int flags)
{
	memset(seed, 0, sizeof(seed));
	seed[0] = (uint8_t)flags;
	len = 2;
}

static void save(const char *dir, const char *name)
{
	seed_save(dir, name, seed, len);
}

/* Contents, or the text of an extended header; up to the next block. */
static void put(const void *p, size_t n)
{
	memcpy(seed + len, p, n);
	len += n + tar_padding(n);
}

static void header(char type, const char *name, const char *size, const char *link)
{
	struct tar_block b = { .typeflag = type };

	memcpy(b.name, name, MIN(strlen(name), sizeof(b.name)));
	memcpy(b.size, size, MIN(strlen(size), sizeof(b.size)));
	memcpy(b.linkname, link, MIN(strlen(link), sizeof(b.linkname)));
	memcpy(b.mode, "0000644", 7);
	memcpy(b.mtime, "14524560000", 11);
	memcpy(b.magic, "ustar", 6);
	memcpy(b.version, "00", 2);
	snprintf(b.chksum, sizeof(b.chksum), "%06o", (unsigned int)tar_checksum(&b) & 0777777);
	put(&b, sizeof(b));
}

static void ours(const char *name, size_t size)
{
	uint8_t head[TAR_HEADER_MAX], contents[2048];
	int n = tar_header(name, size, 1700000000, 0640, head);

	memcpy(seed + len, head, (size_t)n);
	len += (size_t)n;
	memset(contents, 'x', sizeof(contents));
	put(contents, size);
}

static void forms(const char *dir)
{
	char name[300];

	begin(1);
	ours("a", 100);
	ours("dir/b", 513);
	ours("a", 1);
	len += tar_trailer(len - 2);
	save(dir, "plain");
	begin(1 | 12 << 2);
	ours("records", 16 * 22);
	save(dir, "records");
	begin(1 | 32 << 2);
	ours("rows", 42 * 3);
	save(dir, "two-extents");
	memset(name, 'n', 299), name[299] = 0;
	begin(3);
	ours(name, 10);
	memset(name + 90, '/', 1);
	ours(name, 10);
	save(dir, "pax-name");
	begin(1);
	header('x', "x", "00000000063", "");
	put("16 path=dir/pax\n9 size=5\n26 mtime=1350244992.02396\n", 51);
	header('0', "y", "00000000000", "");
	put("12345", 5);
	header('g', "g", "00000000020", "");
	put("16 comment=abcd\n", 16);
	header('x', "x", "00000000022", "");
	put("18 linkpath=dir/pax\n", 18);
	header('1', "hard", "00000000000", "short");
	save(dir, "pax");
	begin(1);
	header('L', "././@LongLink", "00000000013", "");
	put("long/name\0x", 11);
	header('0', "cut", "00000000003", "");
	put("abc", 3);
	header('K', "././@LongLink", "00000000012", "");
	put("long/name", 10);
	header('1', "link", "0", "cut");
	save(dir, "gnu");
}

static void others(const char *dir)
{
	begin(1);
	header('5', "dir/", "00000000000", "");
	header(0, "old/", "00000000000", "");
	header('2', "symlink", "00000000000", "dir/a");
	header('7', "contiguous", "00000000001", "");
	put("z", 1);
	header('0', "penstock-dataset.json", "00000000002", "");
	put("{}", 2);
	header('0', "./penstock-dataset.json", "00000000002", "");
	put("{}", 2);
	save(dir, "kinds");
	begin(1);
	header('0', "base256", "\x80\0\0\0\0\0\0\0\0\0\0\2", "");
	memcpy(seed + 2 + 124, "\x80\0\0\0\0\0\0\0\0\0\0\2", 12);
	put("zz", 2);
	header('0', "", "  2 ", "");
	put("zz", 2);
	save(dir, "numbers");
	begin(1);
	header('S', "sparse", "00000000000", "");
	save(dir, "sparse");
	begin(1);
	header('x', "x", "00000000032", "");
	put("26 GNU.sparse.major=1abcd\n", 26);
	header('0', "y", "00000000000", "");
	save(dir, "pax-sparse");
	begin(1);
	header('0', "prefix", "00000000000", "");
	memcpy(seed + 2 + 345, "some/prefix", 11);
	header('0', "end", "00000000000", "");
	len += TAR_BLOCK;
	header('0', "behind", "00000000000", "");
	save(dir, "prefix-and-end");
	begin(1);
	header('0', "beyond", "00000777777", "");
	save(dir, "beyond");
}

int main(int argc, char **argv)
{
	const char *dir = seed_directory(argc, argv);

	forms(dir);
	others(dir);
	return 0;
}
