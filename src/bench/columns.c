/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/columns.h"

#include "base/util.h"
#include "feed/shuffle.h"

/* How many columns of each width. The ones that are read: 4 + 8 + 108 + 40 = 160 bytes. */
static const struct {
	unsigned int width, read, other;
} widths[] = { { 1, 4, 39 }, { 2, 4, 41 }, { 4, 27, 40 }, { 8, 5, 40 } };

enum { WHICH_SEED = 1, WIDTH_SEED = 2 };

static unsigned int width_of(uint64_t k, bool read)
{
	size_t i = 0;

	while (k >= (read ? widths[i].read : widths[i].other))
		k -= read ? widths[i].read : widths[i].other, i++;
	return widths[i].width;
}

unsigned int columns_width(unsigned int c, bool *ret_read)
{
	struct shuffle which, width;
	uint64_t place;
	bool read;

	INVARIANT(c < COLUMNS);
	shuffle_init(&which, COLUMNS, WHICH_SEED, 0);
	place = shuffle_at(&which, c);
	read = place < COLUMNS_READ;
	shuffle_init(&width, read ? COLUMNS_READ : COLUMNS - COLUMNS_READ, WIDTH_SEED, 0);
	if (ret_read)
		*ret_read = read;
	return width_of(shuffle_at(&width, read ? place : place - COLUMNS_READ), read);
}

unsigned int columns_extents(uint64_t rows, struct pst_extent ret_extents[COLUMNS_READ])
{
	unsigned int n = 0;
	uint64_t at = 0;
	bool before = false;

	for (unsigned int c = 0; c < COLUMNS; c++) {
		bool read;
		uint64_t length = columns_width(c, &read) * rows;

		if (read && before)
			ret_extents[n - 1].length += length;
		else if (read)
			ret_extents[n++] = (struct pst_extent){ .offset = at, .length = length };
		before = read;
		at += length;
	}
	return n;
}
