/* SPDX-License-Identifier: Apache-2.0 */
#include "feed/records.h"

#include <errno.h>

#include "base/util.h"
#include "tests/tap.h"

static void put(struct index *ix, const char *name, uint64_t offset, uint64_t size)
{
	struct tar_member m = { .kind = TAR_FILE, .name = name, .link = "", .offset = offset, .size = size };
	struct err err = ERR_NULL;

	if (index_add(ix, &m, &err) < 0)
		diag("%s", err.text);
}

static void is_at(const struct records *r, uint64_t i, uint64_t file, uint64_t offset, uint64_t size)
{
	uint64_t f, o, s;

	records_at(r, 4, i, &f, &o, &s);
	ok(f == file && o == offset && s == size, "sample %llu: %llu bytes at %llu of file %llu",
	   (unsigned long long)i, (unsigned long long)s, (unsigned long long)o, (unsigned long long)f);
}

/* Groups of 100 bytes, two extents each; files of 3, 0, 1 and 2 groups. */
static void places(const struct index *ix)
{
	static const struct pst_extent extents[] = { { 12, 40 }, { 60, 30 } };
	struct pst_records layout = { .group_bytes = 100, .extent_count = 2, .extents = extents };
	struct records r = RECORDS_NULL;
	struct err err = ERR_NULL;

	ok(records_init(&r, ix, &layout, &err) == 0, "a layout is taken %s", err.text);
	is_u64(r.count, 12, "two samples for each of six groups");
	is_u64(r.bytes, 6 * 70, "of so many bytes together");
	is_u64(r.largest, 40, "the largest extent");
	is_at(&r, 0, 0, 12, 40);
	is_at(&r, 1, 0, 60, 30);
	is_at(&r, 2, 0, 112, 40);
	is_at(&r, 5, 0, 260, 30);
	is_at(&r, 6, 2, 12, 40);
	is_at(&r, 7, 2, 60, 30);
	is_at(&r, 8, 3, 12, 40);
	is_at(&r, 11, 3, 160, 30);
	layout.extent_count = 1;
	ok(records_init(&r, ix, &layout, &err) == 0 && r.count == 6, "another layout takes its place");
	is_at(&r, 3, 2, 12, 40);
	records_deinit(&r);
}

static void refused(struct index *ix)
{
	static const struct pst_extent twice[] = { { 0, 50 }, { 49, 10 } }, long_one[] = { { 60, 41 } };
	static const struct pst_extent empty[] = { { 0, 0 } }, wraps[] = { { UINT64_MAX, 2 } }, good[] = { { 0, 100 } };
	const struct {
		struct pst_records layout;
		const char *what;
	} bad[] = {
		{ { .group_bytes = 100, .extent_count = 2, .extents = twice }, "extents that overlap" },
		{ { .group_bytes = 100, .extent_count = 1, .extents = long_one }, "one that ends behind its group" },
		{ { .group_bytes = 100, .extent_count = 1, .extents = empty }, "an empty one" },
		{ { .group_bytes = 100, .extent_count = 1, .extents = wraps }, "one that wraps" },
		{ { .group_bytes = 100, .extent_count = 0, .extents = good }, "none" },
		{ { .group_bytes = 0, .extent_count = 1, .extents = good }, "groups of no bytes" },
		{ { .group_bytes = 100, .extent_count = 5000, .extents = good }, "too many" },
	};
	struct records r = RECORDS_NULL;
	struct pst_records layout = { .group_bytes = 100, .extent_count = 1, .extents = good };
	struct err odd = ERR_NULL;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = ERR_NULL;

		ok(records_init(&r, ix, &bad[i].layout, &err) == -EINVAL, "%s: %s", bad[i].what, err.text);
	}
	put(ix, "odd", 9000, 150);
	ok(records_init(&r, ix, &layout, &odd) == -EBADMSG && strstr(odd.text, "'odd' has 150 bytes"),
	   "a file of one and a half groups: %s", odd.text);
	is_u64(r.group_bytes, 0, "what was refused changed nothing");
	records_deinit(&r);
}

int main(void)
{
	struct index ix = INDEX_NULL;

	put(&ix, "a", 1000, 300);
	put(&ix, "none", 2000, 0);
	put(&ix, "b", 3000, 100);
	put(&ix, "c", 4000, 200);
	places(&ix);
	refused(&ix);
	index_deinit(&ix);
	return tap_done();
}
