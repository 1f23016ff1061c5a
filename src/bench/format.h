/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the samples of a generated dataset lie in its files, and every byte of those files:
 *
 * plain     a file is a sample
 * packed    records of one length, one behind the other
 * tfrecord  the same in TFRecord's framing: length (8 bytes), masked CRC-32C of that, the record,
 *           masked CRC-32C of the record; so that TensorFlow's reader takes the files, though the
 *           records are no tf.Example
 * columns   rows in groups, each group column by column (columns.h): as a Parquet file without its
 *           pages' headers, compression and footer, which no reader of Parquet takes
 *
 * Whatever is not framing is content_fill(seed, number of the file, place in the file).
 */
#ifndef BENCH_FORMAT_H
#define BENCH_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "penstock.h"

struct manifest;

enum format {
	FORMAT_PLAIN,
	FORMAT_PACKED,
	FORMAT_TFRECORD,
	FORMAT_COLUMNS,
};

enum {
	FORMAT_EXTENTS_MAX = 40,
	FORMAT_FRAME_HEAD = 12, /* of TFRecord */
	FORMAT_FRAME_TAIL = 4,
	FORMAT_ROWS = 16384, /* of a group, unless told otherwise: a step of dlrm */
};

const char *format_name(enum format f);
/* -ENOENT */
int format_find(const char *name, enum format *ret);

/* All of these take a manifest that has passed its check. */
uint64_t format_files(const struct manifest *m);
uint64_t format_file_bytes(const struct manifest *m, uint64_t file);
/* Bytes [offset, offset + n) of a file. */
void format_fill(const struct manifest *m, uint64_t file, uint64_t offset, void *buf, size_t n);
/* Returns @n if all bytes are right, else the index within @buf of the first wrong one. */
size_t format_check(const struct manifest *m, uint64_t file, uint64_t offset, const void *buf, size_t n);

/*
 * What a step reads of the files, for pst_dataset_records(); @extents is the caller's and must live
 * as long as @ret. Returns how many records one of its groups holds; 0: files are samples.
 */
uint64_t format_records(const struct manifest *m, struct pst_extent extents[FORMAT_EXTENTS_MAX],
			struct pst_records *ret);

#endif
