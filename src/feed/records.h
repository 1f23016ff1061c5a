/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that are parts of files: every file of the dataset is a row of groups of one length, and
 * of each group the same extents are read. One extent that leaves out a header is a record format
 * such as TFRecord; several are the columns that a reader of row groups wants. Arithmetic over the
 * index of files; costs 8 bytes per file, whatever the number of records.
 */
#ifndef FEED_RECORDS_H
#define FEED_RECORDS_H

#include "base/err.h"
#include "feed/index.h"
#include "penstock.h"

struct records {
	uint64_t group_bytes; /* 0: samples are files */
	uint32_t extents;     /* of a group, each a sample */
	struct pst_extent *extent;
	uint64_t *before; /* groups before each file; one more than there are files */
	uint64_t count;
	uint64_t bytes;
	uint64_t largest;
};

#define RECORDS_NULL { .group_bytes = 0 }

/* -EINVAL: no such layout; -EBADMSG: a file is not made of whole groups; -ENOMEM. */
int records_init(struct records *r, const struct index *ix, const struct pst_records *layout, struct err *err);
void records_deinit(struct records *r);

/* Sample @i < count: which file it is in, and where in it. */
void records_at(const struct records *r, uint64_t files, uint64_t i, uint64_t *ret_file, uint64_t *ret_offset,
		uint64_t *ret_size);

#endif
