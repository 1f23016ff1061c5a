/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POSIX tar, without I/O. Reading: ustar, pax (path, linkpath, size; global headers) and the GNU
 * forms (long names, base-256 numbers), as GNU tar, Python's tarfile, libarchive and WebDataset
 * write them. The reader says which bytes of the archive it wants next and is given any buffer
 * that begins there; from one buffer it takes as many headers as lie in it. Writing: headers
 * only, ustar where name and size fit and pax where not, which every tar of today reads.
 *
 * Sources: IEEE Std 1003.1-2017, pax, "ustar Interchange Format" and "pax Interchange Format";
 * the GNU tar manual, "Basic Tar Format".
 */
#ifndef FEED_TAR_H
#define FEED_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	TAR_BLOCK = 512,
	TAR_RECORD = 10240,	    /* what an archive's length is a multiple of */
	TAR_NAME_MAX = 4096,	    /* PATH_MAX; longer ones are refused */
	TAR_EXTENDED_MAX = 1 << 20, /* most bytes of one pax or long-name header */
	TAR_HEADER_MAX = 16384,	    /* most bytes that tar_header() writes */
};

enum tar_kind {
	TAR_FILE,
	TAR_HARD_LINK, /* contents are those of the member called link */
	TAR_OTHER,     /* directory, symbolic link, device: no sample */
};

struct tar_member {
	enum tar_kind kind;
	const char *name; /* until the next call of the reader */
	const char *link;
	uint64_t offset; /* of the contents, bytes from the archive's start */
	uint64_t size;
	uint64_t mtime; /* seconds since 1970; 0 if before or unknown */
	uint32_t mode;
};

struct tar_reader {
	uint64_t limit;	 /* bytes that the archive may reach at most: the volume's size */
	uint64_t offset; /* of the next header */
	uint64_t header; /* of the member's first header, for messages */
	uint64_t need;	 /* bytes from offset that the next step takes; 0: one block */
	bool zero_seen;	 /* one block of zeroes so far */
	bool ended;
	bool has_path;
	bool has_link;
	bool has_size;
	uint64_t size;
	char path[TAR_NAME_MAX];
	char link[TAR_NAME_MAX];
	char text[TAR_NAME_MAX]; /* name assembled from a ustar header */
	char link_text[TAR_NAME_MAX];
};

void tar_reader_init(struct tar_reader *r, uint64_t limit);

/*
 * Which bytes must be at hand for tar_reader_next() to move on: at least @ret_length from
 * @ret_offset. False: the archive is at its end.
 */
bool tar_reader_want(const struct tar_reader *r, uint64_t *ret_offset, uint64_t *ret_length);

/*
 * Reads on in @buf, which holds the archive's bytes [base, base + n). 1: @ret_member is the next
 * member; 0: more bytes are wanted, or the archive is at its end (tar_reader_want() tells);
 * -EBADMSG: not a tar archive, or damaged, with a sentence that has the offset; -EOPNOTSUPP: a
 * form that is not supported (sparse files).
 */
int tar_reader_next(struct tar_reader *r, const void *buf, uint64_t base, uint64_t n,
		    struct tar_member *ret_member, struct err *err);

/*
 * Writes the header blocks of a regular file into @out (TAR_HEADER_MAX bytes) and returns their
 * length, a multiple of TAR_BLOCK. -ENAMETOOLONG. The contents follow, padded by tar_padding().
 */
int tar_header(const char *name, uint64_t size, uint64_t mtime, uint32_t mode, uint8_t *out);

/* Zero bytes after contents of @size, up to the next block. */
static inline uint64_t tar_padding(uint64_t size)
{
	return (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
}

/* Zero bytes that end an archive of @offset bytes: two blocks, filled up to a record. */
uint64_t tar_trailer(uint64_t offset);

#endif
