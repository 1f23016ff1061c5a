/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader: one header block at a time, extended headers remembered until the member they
 * belong to. An archive is taken to be hostile: every length is bounded, every number checked,
 * and nothing is believed before the block's checksum is right.
 */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/util.h"
#include "feed/tar-format.h"
#include "feed/tar.h"

void tar_reader_init(struct tar_reader *r, uint64_t limit)
{
	memset(r, 0, offsetof(struct tar_reader, path));
	r->limit = limit;
}

/* Octal, space-padded on either side; or GNU's base-256 with the top bit set. */
static bool number(const char *field, size_t width, uint64_t *ret)
{
	const uint8_t *p = (const uint8_t *)field;
	uint64_t v = 0;
	size_t i = 0;

	if (p[0] & 0x80) {
		if (p[0] != 0x80) /* negative, or more than 64 bits */
			return false;
		for (i = 1; i < width; i++) {
			if (v >> 56)
				return false;
			v = v << 8 | p[i];
		}
		*ret = v;
		return true;
	}
	while (i < width && p[i] == ' ')
		i++;
	for (; i < width && p[i] >= '0' && p[i] <= '7'; i++) {
		if (v >> 61)
			return false;
		v = v << 3 | (uint64_t)(p[i] - '0');
	}
	for (; i < width; i++) {
		if (p[i] != ' ' && p[i] != 0)
			return false;
	}
	*ret = v;
	return true;
}

static bool is_zero(const void *block)
{
	static const uint8_t zero[TAR_BLOCK];

	return memcmp(block, zero, TAR_BLOCK) == 0;
}

static void copy_field(char *out, const char *field, size_t width)
{
	size_t n = strnlen(field, width);

	memcpy(out, field, n);
	out[n] = 0;
}

/* One "LEN key=value\n" at *at; moves on. False: damaged. */
static bool pax_next(const char **at, const char *end, const char **key, size_t *key_len,
		     const char **value, size_t *value_len)
{
	const char *p = *at, *record_end, *eq;
	uint64_t len = 0;

	while (p < end && *p >= '0' && *p <= '9' && len < TAR_EXTENDED_MAX)
		len = len * 10 + (uint64_t)(*p++ - '0');
	if (p == *at || p == end || *p != ' ' || len > (uint64_t)(end - *at) ||
	    len < (uint64_t)(p - *at) + 3)
		return false;
	record_end = *at + len;
	if (record_end[-1] != '\n')
		return false;
	p++;
	eq = memchr(p, '=', (size_t)(record_end - 1 - p));
	if (!eq)
		return false;
	*key = p;
	*key_len = (size_t)(eq - p);
	*value = eq + 1;
	*value_len = (size_t)(record_end - 1 - *value);
	*at = record_end;
	return true;
}

static bool key_is(const char *key, size_t n, const char *want)
{
	return n == strlen(want) && memcmp(key, want, n) == 0;
}

static bool take_text(char *out, const char *value, size_t n)
{
	if (n == 0 || n >= TAR_NAME_MAX || memchr(value, 0, n))
		return false;
	memcpy(out, value, n);
	out[n] = 0;
	return true;
}

static bool take_decimal(const char *value, size_t n, uint64_t *ret)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++) {
		if (value[i] < '0' || value[i] > '9' || !u64_mul(v, 10, &v) ||
		    !u64_add(v, (uint64_t)(value[i] - '0'), &v))
			return false;
	}
	*ret = v;
	return n > 0;
}

/* The records that matter here; all others are for other programs. */
static int pax_apply(struct tar_reader *r, const char *body, size_t n, struct err *err)
{
	const char *at = body, *end = body + n, *key, *value;
	size_t kn, vn;
	bool fine = true;

	while (at < end && fine) {
		fine = pax_next(&at, end, &key, &kn, &value, &vn);
		if (!fine)
			break;
		if (key_is(key, kn, "path")) {
			fine = r->has_path = take_text(r->path, value, vn);
		} else if (key_is(key, kn, "linkpath")) {
			fine = r->has_link = take_text(r->link, value, vn);
		} else if (key_is(key, kn, "size")) {
			fine = r->has_size = take_decimal(value, vn, &r->size);
		} else if (kn >= 11 && memcmp(key, "GNU.sparse.", 11) == 0) {
			return err_set(err, EOPNOTSUPP,
				       "tar: the member at offset %llu is a sparse file, which is not supported "
				       "(pack again without --sparse)",
				       (unsigned long long)r->header);
		}
	}
	if (!fine)
		return err_set(err, EBADMSG, "tar: damaged pax header at offset %llu",
			       (unsigned long long)r->offset);
	return 0;
}

/* 'x', 'g', 'L' or 'K': its text applies to the member that follows. */
static int extended(struct tar_reader *r, char type, const char *body, size_t n, struct err *err)
{
	bool fine = true;

	if (type == 'x')
		return pax_apply(r, body, n, err);
	if (type == 'g')
		return 0; /* of the whole archive: comments, charset; no path makes sense there */
	n = strnlen(body, n);
	if (type == 'L')
		fine = r->has_path = take_text(r->path, body, n);
	else
		fine = r->has_link = take_text(r->link, body, n);
	if (!fine)
		return err_set(err, EBADMSG, "tar: damaged long name at offset %llu",
			       (unsigned long long)r->offset);
	return 0;
}

static void member_names(struct tar_reader *r, const struct tar_block *b, struct tar_member *m)
{
	size_t n = 0;

	if (r->has_path) {
		m->name = r->path;
	} else {
		/* GNU's old form has other things where ustar has the prefix. */
		if (b->prefix[0] && memcmp(b->magic, "ustar", 6) == 0) {
			copy_field(r->text, b->prefix, sizeof(b->prefix));
			n = strlen(r->text);
			r->text[n++] = '/';
		}
		copy_field(r->text + n, b->name, sizeof(b->name));
		m->name = r->text;
	}
	if (!r->has_link)
		copy_field(r->link_text, b->linkname, sizeof(b->linkname));
	m->link = r->has_link ? r->link : r->link_text;
}

static enum tar_kind kind_of(char type, const char *name)
{
	size_t n = strlen(name);

	if (type == '1')
		return TAR_HARD_LINK;
	if (type != '0' && type != 0 && type != '7')
		return TAR_OTHER;
	/* Before POSIX, a directory was a file whose name ends in a slash. */
	return n > 0 && name[n - 1] == '/' ? TAR_OTHER : TAR_FILE;
}

/* Whether what follows the header of that type is data of @size bytes. */
static bool has_data(char type)
{
	return type < '1' || type > '6';
}

static int member(struct tar_reader *r, const struct tar_block *b, uint64_t size,
		  struct tar_member *ret, struct err *err)
{
	struct tar_member m = { .mode = 0 };
	uint64_t end, mode;

	member_names(r, b, &m);
	if (b->typeflag == 'S' || b->typeflag == 'M')
		return err_set(err, EOPNOTSUPP,
			       "tar: member '%s' is a %s, which is not supported", m.name,
			       b->typeflag == 'S' ? "sparse file" : "continuation of another volume");
	if (r->has_size)
		size = r->size;
	if (!has_data(b->typeflag))
		size = 0;
	m.kind = kind_of(b->typeflag, m.name);
	m.offset = r->offset + TAR_BLOCK;
	m.size = size;
	if (!range_within(m.offset, size, r->limit) || !u64_add(m.offset + size, tar_padding(size), &end))
		return err_set(err, EBADMSG,
			       "tar: member '%s' at offset %llu is %llu bytes long, beyond the end of the volume",
			       m.name, (unsigned long long)r->header, (unsigned long long)size);
	if (number(b->mode, sizeof(b->mode), &mode))
		m.mode = (uint32_t)(mode & 07777);
	if (!number(b->mtime, sizeof(b->mtime), &m.mtime))
		m.mtime = 0;
	r->offset = end;
	r->header = end;
	r->has_path = r->has_link = r->has_size = false;
	*ret = m;
	return 1;
}

static int damaged(const struct tar_reader *r, struct err *err)
{
	if (r->offset == 0)
		return err_set(err, EBADMSG,
			       "no tar archive at the start of the volume (make one with 'penstock dataset')");
	return err_set(err, EBADMSG, "tar: damaged header at offset %llu", (unsigned long long)r->offset);
}

bool tar_reader_want(const struct tar_reader *r, uint64_t *ret_offset, uint64_t *ret_length)
{
	if (r->ended)
		return false;
	*ret_offset = r->offset;
	*ret_length = MAX(r->need, (uint64_t)TAR_BLOCK);
	return true;
}

static bool is_extended(char type)
{
	return type == 'x' || type == 'g' || type == 'L' || type == 'K';
}

int tar_reader_next(struct tar_reader *r, const void *buf, uint64_t base, uint64_t n,
		    struct tar_member *ret_member, struct err *err)
{
	while (!r->ended) {
		const struct tar_block *b;
		uint64_t sum, size, at;
		int rc;

		/* The volume may end with the archive's last member and nothing behind it. */
		if (!range_within(r->offset, TAR_BLOCK, r->limit)) {
			r->ended = true;
			if (r->header != r->offset)
				return err_set(err, EBADMSG,
					       "tar: the member at offset %llu is cut off by the end of the volume",
					       (unsigned long long)r->header);
			return r->offset == 0 ? damaged(r, err) : 0;
		}
		if (r->offset < base || !range_within(r->offset - base, TAR_BLOCK, n))
			return 0;
		at = r->offset - base;
		b = (const struct tar_block *)((const uint8_t *)buf + at);
		if (is_zero(b)) {
			if (r->offset == 0)
				return damaged(r, err);
			r->ended = r->zero_seen;
			r->zero_seen = true;
			r->offset += TAR_BLOCK;
			r->header = r->offset;
			continue;
		}
		/* Behind one block of zeroes there is nothing of this archive. */
		if (r->zero_seen) {
			r->ended = true;
			return 0;
		}
		if (!number(b->chksum, sizeof(b->chksum), &sum) || sum != tar_checksum(b) ||
		    !number(b->size, sizeof(b->size), &size))
			return damaged(r, err);
		if (!is_extended(b->typeflag))
			return member(r, b, size, ret_member, err);
		if (size > TAR_EXTENDED_MAX || !range_within(r->offset + TAR_BLOCK, size, r->limit))
			return damaged(r, err);
		r->need = TAR_BLOCK + size;
		if (!range_within(at, r->need, n))
			return 0;
		rc = extended(r, b->typeflag, (const char *)(b + 1), size, err);
		if (rc < 0)
			return rc;
		r->need = 0;
		r->offset += TAR_BLOCK + size + tar_padding(size);
	}
	return 0;
}
