/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of dlrm: 200 columns of 1, 2, 4 or 8 bytes, 761 together, of which a training step reads
 * 40 (a label, 13 numbers and 26 categories), 160 bytes. The published configuration draws which
 * ones and how wide they are at random, once and for all; so does this table, by a draw of its own.
 * As in Parquet the rows come in groups, within a group column by column, without compression.
 */
#ifndef BENCH_COLUMNS_H
#define BENCH_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "penstock.h"

enum {
	COLUMNS = 200,
	COLUMNS_READ = 40,
	COLUMNS_BYTES = 761,	 /* of a row */
	COLUMNS_READ_BYTES = 160,
};

/* Bytes of column @c < COLUMNS. @ret_read: whether it is read; may be NULL. */
unsigned int columns_width(unsigned int c, bool *ret_read);

/*
 * What is read of a group of @rows, columns that lie side by side in one piece. Returns how many
 * pieces, at most COLUMNS_READ.
 */
unsigned int columns_extents(uint64_t rows, struct pst_extent ret_extents[COLUMNS_READ]);

#endif
