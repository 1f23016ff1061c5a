/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/format.h"

#include <errno.h>
#include <string.h>

#include "base/content.h"
#include "base/crc32c.h"
#include "base/le.h"
#include "base/util.h"
#include "bench/columns.h"
#include "bench/manifest.h"

static_assert((int)FORMAT_EXTENTS_MAX >= (int)COLUMNS_READ, "room for every column");

static const char *const names[] = {
	[FORMAT_PLAIN] = "plain",
	[FORMAT_PACKED] = "packed",
	[FORMAT_TFRECORD] = "tfrecord",
	[FORMAT_COLUMNS] = "columns",
};

const char *format_name(enum format f)
{
	return names[f];
}

int format_find(const char *name, enum format *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]) == 0) {
			*ret = (enum format)i;
			return 0;
		}
	}
	return -ENOENT;
}

/* ---- files --------------------------------------------------------------------------------- */

uint64_t format_files(const struct manifest *m)
{
	return DIV_ROUND_UP(m->samples, m->per_file);
}

/* The last file may have fewer. */
static uint64_t records_in(const struct manifest *m, uint64_t file)
{
	return MIN(m->per_file, m->samples - file * m->per_file);
}

/* From one record to the next. */
static uint64_t stride(const struct manifest *m)
{
	return m->sizes.mean + (m->format == FORMAT_TFRECORD ? FORMAT_FRAME_HEAD + FORMAT_FRAME_TAIL : 0);
}

uint64_t format_file_bytes(const struct manifest *m, uint64_t file)
{
	if (m->format == FORMAT_PLAIN)
		return sizes_at(&m->sizes, file);
	return records_in(m, file) * stride(m);
}

/* ---- TFRecord's framing ---------------------------------------------------------------------- */

/* "Masked", as TensorFlow's record format has it, so that a CRC of what holds CRCs stays one. */
static le32 masked(uint32_t crc)
{
	return cpu_to_le32((crc >> 15 | crc << 17) + 0xa282ead8u);
}

static void frame_head(const struct manifest *m, uint8_t out[FORMAT_FRAME_HEAD])
{
	le64 length = cpu_to_le64(m->sizes.mean);
	le32 crc = masked(crc32c(0, &length, sizeof(length)));

	memcpy(out, &length, sizeof(length));
	memcpy(out + sizeof(length), &crc, sizeof(crc));
}

static void frame_tail(const struct manifest *m, uint64_t file, uint64_t record_at, uint8_t out[FORMAT_FRAME_TAIL])
{
	uint8_t piece[4096];
	uint32_t crc = 0;
	le32 wire;

	for (uint64_t at = 0; at < m->sizes.mean; at += sizeof(piece)) {
		size_t n = MIN(m->sizes.mean - at, sizeof(piece));

		content_fill(m->sizes.seed, file, record_at + at, piece, n);
		crc = crc32c(crc, piece, n);
	}
	wire = masked(crc);
	memcpy(out, &wire, sizeof(wire));
}

/*
 * The part of a frame at @offset of @file, if one is there: writes it to @out, and where it begins
 * within it to @ret_skip. Returns the length of the part, or 0; then @ret_left is how far the next
 * part is.
 */
static size_t frame_at(const struct manifest *m, uint64_t file, uint64_t offset, uint8_t out[FORMAT_FRAME_HEAD],
		       size_t *ret_skip, uint64_t *ret_left)
{
	uint64_t begin = offset - offset % stride(m), at = offset - begin;

	if (at < FORMAT_FRAME_HEAD) {
		frame_head(m, out);
		*ret_skip = at;
		return FORMAT_FRAME_HEAD;
	}
	if (at >= FORMAT_FRAME_HEAD + m->sizes.mean) {
		frame_tail(m, file, begin + FORMAT_FRAME_HEAD, out);
		*ret_skip = at - FORMAT_FRAME_HEAD - m->sizes.mean;
		return FORMAT_FRAME_TAIL;
	}
	*ret_left = FORMAT_FRAME_HEAD + m->sizes.mean - at;
	return 0;
}

/* ---- contents ------------------------------------------------------------------------------ */

/* One run of bytes that are all of a frame, or all contents. */
struct run {
	uint8_t frame[FORMAT_FRAME_HEAD];
	size_t skip;
	size_t n;
	bool framing;
};

static void run_at(const struct manifest *m, uint64_t file, uint64_t offset, size_t n, struct run *ret)
{
	uint64_t left = n;
	size_t frame = 0;

	if (m->format == FORMAT_TFRECORD)
		frame = frame_at(m, file, offset, ret->frame, &ret->skip, &left);
	ret->framing = frame > 0;
	ret->n = frame > 0 ? MIN(frame - ret->skip, n) : (size_t)MIN(left, (uint64_t)n);
}

void format_fill(const struct manifest *m, uint64_t file, uint64_t offset, void *buf, size_t n)
{
	uint8_t *at = buf;
	struct run run;

	for (; n > 0; n -= run.n, at += run.n, offset += run.n) {
		run_at(m, file, offset, n, &run);
		if (run.framing)
			memcpy(at, run.frame + run.skip, run.n);
		else
			content_fill(m->sizes.seed, file, offset, at, run.n);
	}
}

static size_t check_run(const struct manifest *m, uint64_t file, uint64_t offset, const uint8_t *at,
			const struct run *run)
{
	size_t i = 0;

	if (!run->framing)
		return content_check(m->sizes.seed, file, offset, at, run->n);
	while (i < run->n && at[i] == run->frame[run->skip + i])
		i++;
	return i;
}

size_t format_check(const struct manifest *m, uint64_t file, uint64_t offset, const void *buf, size_t n)
{
	const uint8_t *at = buf;
	size_t done = 0;
	struct run run;

	for (; done < n; done += run.n) {
		size_t good;

		run_at(m, file, offset + done, n - done, &run);
		good = check_run(m, file, offset + done, at + done, &run);
		if (good < run.n)
			return done + good;
	}
	return n;
}

/* ---- what is read -------------------------------------------------------------------------- */

uint64_t format_records(const struct manifest *m, struct pst_extent extents[FORMAT_EXTENTS_MAX],
			struct pst_records *ret)
{
	uint64_t records = 1;

	if (m->format == FORMAT_PLAIN)
		return 0;
	*ret = (struct pst_records)PST_OPTIONS(*ret);
	ret->group_bytes = stride(m);
	ret->extent_count = 1;
	ret->extents = extents;
	extents[0] = (struct pst_extent){
		.offset = m->format == FORMAT_TFRECORD ? FORMAT_FRAME_HEAD : 0,
		.length = m->sizes.mean,
	};
	if (m->format == FORMAT_COLUMNS) {
		records = m->rows;
		ret->group_bytes = stride(m) * records;
		ret->extent_count = columns_extents(records, extents);
	}
	return records;
}
