/* SPDX-License-Identifier: Apache-2.0 */
/* The header block of tar, as POSIX lays it out ("ustar Interchange Format"); private to src/feed. */
#ifndef FEED_TAR_FORMAT_H
#define FEED_TAR_FORMAT_H

#include <assert.h>
#include <stdint.h>

struct tar_block {
	char name[100];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char chksum[8];
	char typeflag;
	char linkname[100];
	char magic[6]; /* "ustar\0"; GNU's old form: "ustar " */
	char version[2]; /* "00"; GNU's old form: " \0" */
	char uname[32];
	char gname[32];
	char devmajor[8];
	char devminor[8];
	char prefix[155];
	char pad[12];
};
static_assert(sizeof(struct tar_block) == 512, "tar header block");

/* Sum of all bytes, the checksum's own taken as spaces. */
uint32_t tar_checksum(const struct tar_block *b);

#endif
