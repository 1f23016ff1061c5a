/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the index: header by header, in windows. A window that held more than one header makes
 * the next one larger, one that held a single header smaller, so an archive of many small samples
 * is read in large pieces and one of few large samples does not drag their contents along.
 */
#include "feed/dataset.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "volume/options.h"
#include "volume/request.h"

enum {
	WINDOW_MIN = 4096,
	WINDOW_MAX = 4 << 20, /* larger than the largest extended header, so that any fits */
};

struct scan {
	struct pst_dataset *ds;
	struct pst_memory *mem;
	struct tar_reader reader;
	uint64_t window;
	uint64_t size; /* of the volume */
};

static int read_window(struct scan *s, uint64_t offset, uint64_t n, struct err *err)
{
	struct pst_completion c;

	if (pst_read_sync(s->ds->vol, s->mem, 0, offset, n, &c) == 0)
		return 0;
	if (c.nvme_status)
		return err_set(err, -c.error, "reading the index at byte %llu: %s", (unsigned long long)offset,
			       pst_nvme_status_name(c.nvme_status));
	return err_set(err, -c.error, "reading the index at byte %llu: %s", (unsigned long long)offset,
		       strerror(-c.error));
}

/* Takes the members of one window. Returns how many, or -errno. */
static int64_t take_window(struct scan *s, uint64_t offset, uint64_t n, struct err *err)
{
	const void *bytes = pst_memory_ptr(s->mem);
	struct tar_member m;
	int64_t members = 0;
	int rc;

	while ((rc = tar_reader_next(&s->reader, bytes, offset, n, &m, err)) == 1) {
		rc = index_add(&s->ds->index, &m, err);
		if (rc < 0)
			return rc;
		members++;
	}
	return rc < 0 ? rc : members;
}

static int scan(struct scan *s, struct err *err)
{
	uint64_t offset, want;

	tar_reader_init(&s->reader, s->size);
	s->window = WINDOW_MIN;
	while (tar_reader_want(&s->reader, &offset, &want)) {
		uint64_t left = offset < s->size ? s->size - offset : 0, n;
		int64_t members;
		int rc = 0;

		n = MIN(MAX(want, s->window), left);
		if (n > 0)
			rc = read_window(s, offset, n, err);
		if (rc < 0)
			return rc;
		members = take_window(s, offset, n, err);
		if (members < 0)
			return (int)members;
		s->window = members > 1 ? MIN(s->window * 2, (uint64_t)WINDOW_MAX)
					: MAX(s->window / 2, (uint64_t)WINDOW_MIN);
	}
	return 0;
}

int pst_dataset_open(struct pst_volume *vol, struct pst_dataset **ret_dataset, struct pst_error *error)
{
	struct scan *s = mem_zalloc(sizeof(*s));
	struct pst_dataset *ds = mem_zalloc(sizeof(*ds));
	struct pst_error merr = { 0 };
	struct err err = ERR_NULL;
	int rc = 0;

	if (!s || !ds)
		rc = err_set(&err, ENOMEM, "out of memory");
	else if (pst_memory_alloc(vol->ctx, WINDOW_MAX, &s->mem, &merr) < 0)
		rc = err_set(&err, merr.code, "%s", merr.text);
	if (rc == 0) {
		ds->vol = vol;
		s->ds = ds;
		s->size = vol->info.size_bytes;
		rc = scan(s, &err);
	}
	if (s)
		pst_memory_free(s->mem);
	mem_free(s);
	if (rc < 0) {
		pst_dataset_close(ds);
		return pst_error_from(error, &err);
	}
	*ret_dataset = ds;
	return 0;
}

uint64_t pst_dataset_count(const struct pst_dataset *ds)
{
	return ds->records.group_bytes ? ds->records.count : ds->index.count;
}

int pst_dataset_sample(const struct pst_dataset *ds, uint64_t index, struct pst_sample *ret_sample)
{
	uint64_t file = index, within = 0, size;

	if (index >= pst_dataset_count(ds))
		return -EINVAL;
	if (ds->records.group_bytes)
		records_at(&ds->records, ds->index.count, index, &file, &within, &size);
	else
		size = ds->index.entries[file].size;
	*ret_sample = (struct pst_sample){
		.name = index_name(&ds->index, file),
		.offset = ds->index.entries[file].offset + within,
		.size = size,
		.file_offset = within,
	};
	return 0;
}

int pst_dataset_records(struct pst_dataset *ds, const struct pst_records *layout, struct pst_error *error)
{
	struct pst_records l = PST_OPTIONS(l);
	struct err err = ERR_NULL;
	int rc = options_take(&l, sizeof(l), layout, layout ? layout->struct_size : 0, &err);

	if (rc == 0)
		rc = records_init(&ds->records, &ds->index, &l, &err);
	return rc < 0 ? pst_error_from(error, &err) : 0;
}

int pst_dataset_find(const struct pst_dataset *ds, const char *name, uint64_t *ret_index)
{
	uint64_t file;
	int rc = index_find(&ds->index, name, &file);

	if (rc < 0)
		return rc;
	if (ds->records.group_bytes && ds->records.before[file] == ds->records.before[file + 1])
		return -ENOENT;
	*ret_index = ds->records.group_bytes ? ds->records.before[file] * ds->records.extents : file;
	return 0;
}

void pst_dataset_info(const struct pst_dataset *ds, struct pst_dataset_info *ret_info)
{
	*ret_info = (struct pst_dataset_info){
		.samples = pst_dataset_count(ds),
		.bytes = ds->records.group_bytes ? ds->records.bytes : ds->index.bytes,
		.largest_bytes = ds->records.group_bytes ? ds->records.largest : ds->index.largest,
		.other_members = ds->index.others,
		.manifest_offset = ds->index.manifest_offset,
		.manifest_bytes = ds->index.manifest_size,
	};
}

void pst_dataset_close(struct pst_dataset *ds)
{
	if (!ds)
		return;
	records_deinit(&ds->records);
	index_deinit(&ds->index);
	mem_free(ds);
}
