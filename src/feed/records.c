/* SPDX-License-Identifier: Apache-2.0 */
#include "feed/records.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"

enum { EXTENTS_MAX = 4096 };

static int check_layout(const struct pst_records *l, struct err *err)
{
	uint64_t end = 0;

	if (l->extent_count < 1 || l->extent_count > EXTENTS_MAX || !l->extents)
		return err_set(err, EINVAL, "records: %u extents in a group: expected 1 to %d", l->extent_count,
			       EXTENTS_MAX);
	for (uint32_t i = 0; i < l->extent_count; i++) {
		const struct pst_extent *e = &l->extents[i];

		if (e->length == 0 || e->offset < end || !range_within(e->offset, e->length, l->group_bytes))
			return err_set(err, EINVAL,
				       "records: extent %u, %llu bytes at %llu: expected one behind the other within "
				       "a group of %llu bytes",
				       i, (unsigned long long)e->length, (unsigned long long)e->offset,
				       (unsigned long long)l->group_bytes);
		end = e->offset + e->length;
	}
	return 0;
}

/* How many groups each file has. */
static int count_groups(struct records *r, const struct index *ix, struct err *err)
{
	uint64_t groups = 0;

	for (uint64_t f = 0; f < ix->count; f++) {
		uint64_t size = ix->entries[f].size;

		r->before[f] = groups;
		if (size % r->group_bytes != 0)
			return err_set(err, EBADMSG,
				       "'%s' has %llu bytes: expected a multiple of %llu, the length of a group of "
				       "records",
				       index_name(ix, f), (unsigned long long)size,
				       (unsigned long long)r->group_bytes);
		groups += size / r->group_bytes;
	}
	r->before[ix->count] = groups;
	/* No overflow: extents are a part of what the volume holds, and none is empty. */
	r->count = groups * r->extents;
	return 0;
}

int records_init(struct records *r, const struct index *ix, const struct pst_records *layout, struct err *err)
{
	struct records n = { .group_bytes = layout->group_bytes, .extents = layout->extent_count };
	uint64_t each = 0;
	int rc = check_layout(layout, err);

	if (rc < 0)
		return rc;
	n.extent = mem_calloc(n.extents, sizeof(*n.extent));
	n.before = mem_calloc(ix->count + 1, sizeof(*n.before));
	if (!n.extent || !n.before) {
		records_deinit(&n);
		return err_set(err, ENOMEM, "no memory for the records of %llu files", (unsigned long long)ix->count);
	}
	memcpy(n.extent, layout->extents, n.extents * sizeof(*n.extent));
	for (uint32_t i = 0; i < n.extents; i++) {
		each += n.extent[i].length;
		n.largest = n.largest > n.extent[i].length ? n.largest : n.extent[i].length;
	}
	rc = count_groups(&n, ix, err);
	if (rc < 0) {
		records_deinit(&n);
		return rc;
	}
	n.bytes = n.before[ix->count] * each;
	records_deinit(r);
	*r = n;
	return 0;
}

void records_deinit(struct records *r)
{
	mem_free(r->extent);
	mem_free(r->before);
	*r = (struct records)RECORDS_NULL;
}

/* The file that holds group @g: the last one with no more groups before it. */
static uint64_t file_of(const struct records *r, uint64_t files, uint64_t g)
{
	uint64_t low = 0, high = files - 1;

	while (low < high) {
		uint64_t middle = low + (high - low + 1) / 2;

		if (r->before[middle] <= g)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

void records_at(const struct records *r, uint64_t files, uint64_t i, uint64_t *ret_file, uint64_t *ret_offset,
		uint64_t *ret_size)
{
	uint64_t g = i / r->extents, file = file_of(r, files, g);
	const struct pst_extent *e = &r->extent[i % r->extents];

	*ret_file = file;
	*ret_offset = (g - r->before[file]) * r->group_bytes + e->offset;
	*ret_size = e->length;
}
