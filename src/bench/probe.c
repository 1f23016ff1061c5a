/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "feed/tar.h"

enum { MAGIC_AT = 257, MAGIC_LEN = 5 }; /* "ustar", see IEEE Std 1003.1 "ustar Interchange Format" */

static int look_for_dataset(struct pst_context *ctx, struct pst_volume *vol, bool *ret_found, struct err *err)
{
	struct pst_completion c;
	struct pst_memory *mem;
	struct pst_error perr;
	int rc;

	if (pst_memory_alloc(ctx, TAR_BLOCK, &mem, &perr) < 0)
		return bench_err(err, &perr);
	rc = pst_read_sync(vol, mem, 0, 0, TAR_BLOCK, &c);
	if (rc < 0)
		err_set(err, -rc, "read at byte 0: %s",
			c.nvme_status ? pst_nvme_status_name(c.nvme_status) : strerror(-rc));
	else
		*ret_found = memcmp((const char *)pst_memory_ptr(mem) + MAGIC_AT, "ustar", MAGIC_LEN) == 0;
	pst_memory_free(mem);
	return rc;
}

static int probe_one(struct pst_context *ctx, const char *uri, bool write, bool overwrite,
		     struct pst_volume_info *info, struct err *err)
{
	struct pst_volume_options o = PST_OPTIONS(o);
	struct pst_volume *vol;
	struct pst_error perr;
	bool found = false;
	int rc = 0;

	o.read_only = !write;
	if (pst_volume_open(ctx, uri, &o, &vol, &perr) < 0)
		return bench_err(err, &perr);
	pst_volume_info(vol, info);
	if (write && info->read_only)
		rc = err_set(err, EROFS, "the volume is read-only");
	else if (write && !overwrite && info->size_bytes >= TAR_BLOCK)
		rc = look_for_dataset(ctx, vol, &found, err);
	if (found)
		rc = err_set(err, EEXIST, "the volume holds a dataset, which writing would destroy: --overwrite "
					  "if that is meant");
	pst_volume_close(vol);
	return rc;
}

int probe_volumes(const struct bench_target *t, bool write, bool overwrite, struct pst_volume_info *ret_info,
		  char *ret_io, size_t io_len, struct err *err)
{
	struct pst_context *ctx;
	int rc = bench_context(t, PST_MODE_POLLED, 0, 0, &ctx, err);

	if (rc < 0)
		return rc;
	snprintf(ret_io, io_len, "%s", pst_context_io(ctx));
	for (size_t i = 0; rc == 0 && i < t->uri_count; i++) {
		rc = probe_one(ctx, t->uris[i], write, overwrite, &ret_info[i], err);
		if (rc < 0)
			err_prefix(err, "%s", t->uris[i]);
	}
	pst_context_free(ctx);
	return rc;
}

bool probe_same(const struct pst_volume_info *a, const struct pst_volume_info *b)
{
	static const uint8_t unknown[sizeof(a->uuid)];

	return memcmp(a->uuid, unknown, sizeof(unknown)) != 0 && memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0;
}
