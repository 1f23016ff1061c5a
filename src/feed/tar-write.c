/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of regular files. Everything that could differ from run to run (owner, group, names of
 * them) is left at zero, so the same files give the same archive.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "feed/tar-format.h"
#include "feed/tar.h"

#define OCTAL_SIZE_MAX UINT64_C(077777777777) /* 8 GiB - 1 */

static void octal(char *field, size_t width, uint64_t value)
{
	for (size_t i = width - 1; i-- > 0; value >>= 3)
		field[i] = (char)('0' + (value & 7));
	field[width - 1] = 0;
}

/* Splits at a slash so that the parts fit the two fields; false if they cannot. */
static bool split_name(struct tar_block *b, const char *name)
{
	size_t n = strlen(name);
	const char *slash;

	if (n <= sizeof(b->name)) {
		memcpy(b->name, name, n);
		return true;
	}
	for (slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t before = (size_t)(slash - name), after = n - before - 1;

		if (before > sizeof(b->prefix))
			return false;
		if (before > 0 && after > 0 && after <= sizeof(b->name)) {
			memcpy(b->prefix, name, before);
			memcpy(b->name, slash + 1, after);
			return true;
		}
	}
	return false;
}

uint32_t tar_checksum(const struct tar_block *b)
{
	const uint8_t *p = (const uint8_t *)b;
	const size_t at = offsetof(struct tar_block, chksum);
	uint32_t sum = 0;

	for (size_t i = 0; i < sizeof(*b); i++)
		sum += i >= at && i < at + sizeof(b->chksum) ? ' ' : p[i];
	return sum;
}

static void block_finish(struct tar_block *b, char type, uint64_t size, uint64_t mtime, uint32_t mode)
{
	octal(b->mode, sizeof(b->mode), mode & 07777);
	octal(b->uid, sizeof(b->uid), 0);
	octal(b->gid, sizeof(b->gid), 0);
	octal(b->size, sizeof(b->size), size);
	octal(b->mtime, sizeof(b->mtime), MIN(mtime, OCTAL_SIZE_MAX));
	b->typeflag = type;
	memcpy(b->magic, "ustar", 6);
	memcpy(b->version, "00", 2);
	octal(b->devmajor, sizeof(b->devmajor), 0);
	octal(b->devminor, sizeof(b->devminor), 0);
	octal(b->chksum, 7, tar_checksum(b));
	b->chksum[7] = ' ';
}

/* "LEN key=value\n", where LEN counts itself. Returns its length. */
static size_t pax_record(char *out, const char *key, const char *value)
{
	size_t body = strlen(key) + strlen(value) + 3, len = body + 1; /* space, '=', newline */
	char digits[24];

	while (len != body + (size_t)snprintf(digits, sizeof(digits), "%zu", len))
		len = body + strlen(digits);
	return (size_t)snprintf(out, len + 1, "%zu %s=%s\n", len, key, value);
}

int tar_header(const char *name, uint64_t size, uint64_t mtime, uint32_t mode, uint8_t *out)
{
	static const char truncated[] = "long-name";
	struct tar_block b = { 0 };
	bool big = size > OCTAL_SIZE_MAX, fits = split_name(&b, name);
	size_t at = 0, text = 0;

	if (strlen(name) >= TAR_NAME_MAX || name[0] == 0)
		return -ENAMETOOLONG;
	if (!fits) {
		memset(&b, 0, sizeof(b));
		memcpy(b.name, truncated, sizeof(truncated));
	}
	if (!fits || big) {
		struct tar_block x = { .name = "PaxHeaders/member" };
		char *body = (char *)out + TAR_BLOCK;

		if (!fits)
			text += pax_record(body, "path", name);
		if (big) {
			char digits[24];

			snprintf(digits, sizeof(digits), "%llu", (unsigned long long)size);
			text += pax_record(body + text, "size", digits);
		}
		memset(body + text, 0, tar_padding(text));
		block_finish(&x, 'x', text, 0, 0644);
		memcpy(out, &x, sizeof(x));
		at = TAR_BLOCK + text + tar_padding(text);
	}
	block_finish(&b, '0', big ? 0 : size, mtime, mode);
	memcpy(out + at, &b, sizeof(b));
	return (int)(at + TAR_BLOCK);
}

uint64_t tar_trailer(uint64_t offset)
{
	uint64_t end = DIV_ROUND_UP(offset + 2 * (uint64_t)TAR_BLOCK, (uint64_t)TAR_RECORD) * TAR_RECORD;

	return end - offset;
}
