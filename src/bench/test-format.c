/* SPDX-License-Identifier: Apache-2.0 */
/* Files of every format: cut anywhere they are the same, one wrong bit is found, and what is read of them. */
#include "bench/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/content.h"
#include "base/crc32c.h"
#include "base/le.h"
#include "base/rng.h"
#include "base/util.h"
#include "bench/columns.h"
#include "bench/manifest.h"
#include "tests/tap.h"

static const struct manifest plain = {
	.workload = "w", .extension = "e", .samples = 3, .per_file = 1,
	.sizes = { .seed = 5, .mean = 5000, .stddev = 1000 },
};
static const struct manifest packed = {
	.workload = "w", .extension = "e", .samples = 8, .per_file = 5, .format = FORMAT_PACKED,
	.sizes = { .seed = 5, .mean = 1000 },
};
static const struct manifest tfrecord = {
	.workload = "w", .extension = "e", .samples = 8, .per_file = 5, .format = FORMAT_TFRECORD,
	.sizes = { .seed = 5, .mean = 5001 },
};
static const struct manifest columns = {
	.workload = "w", .extension = "e", .samples = 96, .per_file = 64, .rows = 16, .format = FORMAT_COLUMNS,
	.sizes = { .seed = 5, .mean = COLUMNS_BYTES },
};

static void columns_table(void)
{
	unsigned int read = 0, all_bytes = 0, read_bytes = 0, ones = 0, runs;
	struct pst_extent e[COLUMNS_READ];
	uint64_t sum = 0;
	bool apart = true;

	for (unsigned int c = 0; c < COLUMNS; c++) {
		bool is_read;
		unsigned int w = columns_width(c, &is_read);

		ones += w == 1;
		read += is_read;
		all_bytes += w;
		read_bytes += is_read ? w : 0;
	}
	is_u64(all_bytes, 761, "a row has 761 bytes");
	is_u64(read, 40, "40 of its columns are read");
	is_u64(read_bytes, 160, "which are 160 bytes");
	is_u64(ones, 43, "columns of one byte");
	runs = columns_extents(100, e);
	for (unsigned int i = 0; i < runs; i++) {
		sum += e[i].length;
		apart &= i == 0 || e[i].offset > e[i - 1].offset + e[i - 1].length;
	}
	is_u64(sum, 16000, "a hundred rows: 16000 bytes are read");
	ok(apart && runs > 25 && runs < 40 && e[runs - 1].offset + e[runs - 1].length <= 76100,
	   "in %u pieces that do not touch, within the group", runs);
}

static void any_cut(const struct manifest *m, const char *what)
{
	struct err err = ERR_NULL;
	struct rng r;

	ok(manifest_check(m, &err) == 0, "%s: a valid description %s", what, err.text);
	rng_init(&r, 3);
	for (uint64_t f = 0; f < format_files(m); f++) {
		uint64_t size = format_file_bytes(m, f);
		uint8_t *whole = malloc(size), *cut = malloc(size);
		bool same = true, found = true;

		format_fill(m, f, 0, whole, size);
		for (int i = 0; i < 200; i++) {
			uint64_t at = rng_below(&r, size), n = rng_between(&r, 1, size - at);
			uint64_t bit = rng_below(&r, n * 8);

			format_fill(m, f, at, cut, n);
			same &= memcmp(whole + at, cut, n) == 0 && format_check(m, f, at, cut, n) == n;
			cut[bit / 8] ^= (uint8_t)(1u << bit % 8);
			found &= format_check(m, f, at, cut, n) == bit / 8;
		}
		ok(same, "%s, file %llu of %llu bytes: cut anywhere it is the same", what, (unsigned long long)f,
		   (unsigned long long)size);
		ok(found, "%s: a wrong bit is found where it is", what);
		free(whole);
		free(cut);
	}
}

/* Against what the format's description says, computed in another way. */
static void framing(void)
{
	uint8_t file[5 * (5001 + 16)], data[5001];
	le64 length;
	le32 crc;
	uint32_t c;

	is_u64(format_file_bytes(&tfrecord, 0), sizeof(file), "five records and their frames");
	is_u64(format_file_bytes(&tfrecord, 1), 3 * (5001 + 16), "the last file has the three that are left");
	format_fill(&tfrecord, 0, 0, file, sizeof(file));
	memcpy(&length, file + 5017, 8);
	is_u64(le64_to_cpu(length), 5001, "the second record begins with its length");
	c = crc32c(0, file + 5017, 8);
	memcpy(&crc, file + 5017 + 8, 4);
	is_u64(le32_to_cpu(crc), (uint32_t)(((c >> 15) | (c << 17)) + 0xa282ead8u), "the masked CRC of that");
	content_fill(5, 0, 5017 + 12, data, sizeof(data));
	ok(memcmp(data, file + 5017 + 12, sizeof(data)) == 0, "its contents");
	c = crc32c(0, data, sizeof(data));
	memcpy(&crc, file + 5017 + 12 + 5001, 4);
	is_u64(le32_to_cpu(crc), (uint32_t)(((c >> 15) | (c << 17)) + 0xa282ead8u), "and the masked CRC of those");
}

static void what_is_read(void)
{
	struct pst_extent e[FORMAT_EXTENTS_MAX];
	struct pst_records r;

	is_u64(format_records(&plain, e, &r), 0, "plain: files are samples");
	ok(format_records(&packed, e, &r) == 1 && r.group_bytes == 1000 && r.extent_count == 1 && e[0].offset == 0 &&
		   e[0].length == 1000,
	   "packed: each record");
	ok(format_records(&tfrecord, e, &r) == 1 && r.group_bytes == 5017 && e[0].offset == 12 && e[0].length == 5001,
	   "tfrecord: without their frames");
	ok(format_records(&columns, e, &r) == 16 && r.group_bytes == 16 * 761 && r.extent_count > 25,
	   "columns: pieces of groups of rows");
}

static void refused(void)
{
	struct manifest m = plain;
	struct err err = ERR_NULL;

	m.per_file = 2;
	ok(manifest_check(&m, &err) == -EINVAL, "many samples in a plain file: %s", err.text);
	m = packed;
	m.per_file = 0;
	ok(manifest_check(&m, &err) == -EINVAL, "none: %s", err.text);
	m = packed;
	m.sizes.stddev = 1;
	ok(manifest_check(&m, &err) == -EINVAL, "records of several sizes: %s", err.text);
	m = columns;
	m.rows = 0;
	ok(manifest_check(&m, &err) == -EINVAL, "groups of no rows: %s", err.text);
	m.rows = 15;
	ok(manifest_check(&m, &err) == -EINVAL && strstr(err.text, "whole groups"), "half a group: %s", err.text);
	m = columns;
	m.sizes.mean = 760;
	ok(manifest_check(&m, &err) == -EINVAL, "rows of another length: %s", err.text);
	m = packed;
	m.per_file = UINT64_C(1) << 45;
	ok(manifest_check(&m, &err) == -EINVAL, "a file too large: %s", err.text);
}

static void described(const struct manifest *m, const char *what)
{
	struct manifest back;
	struct err err = ERR_NULL;
	char text[MANIFEST_MAX];
	int n = manifest_format(m, text);

	memset(&back, 0, sizeof(back));
	ok(n > 0 && manifest_parse(text, (size_t)n, &back, &err) == 0 && back.format == m->format &&
		   back.per_file == m->per_file && back.rows == m->rows && back.samples == m->samples,
	   "%s: its description is read back %s", what, err.text);
	ok(strstr(text, m->format == FORMAT_PLAIN ? "manifest/1" : "manifest/2") != NULL,
	   "%s: an earlier version takes what it can and nothing else", what);
}

int main(void)
{
	columns_table();
	any_cut(&plain, "plain");
	any_cut(&packed, "packed");
	any_cut(&tfrecord, "tfrecord");
	any_cut(&columns, "columns");
	framing();
	what_is_read();
	refused();
	described(&plain, "plain");
	described(&packed, "packed");
	described(&tfrecord, "tfrecord");
	described(&columns, "columns");
	return tap_done();
}
