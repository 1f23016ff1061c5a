/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/guard.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "bench/probe.h"
#include "feed/tar.h"

/* Two empty blocks end an archive; what pads it to ten kilobytes is nobody's data. */
static uint64_t archive_end(const struct pst_dataset *ds)
{
	struct pst_dataset_info info;
	struct pst_sample s;
	uint64_t end;

	pst_dataset_info(ds, &info);
	end = info.manifest_offset + info.manifest_bytes;
	for (uint64_t i = 0; pst_dataset_sample(ds, i, &s) == 0; i++)
		end = MAX(end, s.offset + s.size);
	return ALIGN_UP(end + 3 * (uint64_t)TAR_BLOCK, (uint64_t)GUARD_ALIGN);
}

static int end_of(struct pst_context *ctx, const char *uri, uint64_t *ret_end, struct err *err)
{
	struct pst_volume_options o = PST_OPTIONS(o);
	struct pst_volume *vol;
	struct pst_dataset *ds;
	struct pst_error perr;
	int rc = 0;

	o.read_only = true;
	if (pst_volume_open(ctx, uri, &o, &vol, &perr) < 0) {
		bench_err(err, &perr);
		return err_prefix(err, "%s", uri);
	}
	*ret_end = 0;
	if (pst_dataset_open(vol, &ds, &perr) == 0) {
		*ret_end = pst_dataset_count(ds) > 0 ? archive_end(ds) : 0;
		pst_dataset_close(ds);
	} else if (perr.code != EBADMSG) {
		rc = bench_err(err, &perr);
		err_prefix(err, "%s", uri);
	}
	pst_volume_close(vol);
	return rc;
}

int guard_datasets_end(const struct bench_target *t, uint64_t *ret_end, struct err *err)
{
	struct pst_context *ctx;
	int rc = bench_context(t, PST_MODE_POLLED, 0, 0, &ctx, err);
	uint64_t end = 0, one;

	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < t->uri_count; i++) {
		rc = end_of(ctx, t->uris[i], &one, err);
		end = rc == 0 ? MAX(end, one) : 0;
	}
	pst_context_free(ctx);
	if (rc == 0)
		*ret_end = end;
	return rc;
}

int guard_write(const struct bench_target *t, uint64_t offset, bool overwrite, struct err *err)
{
	uint64_t end;
	int rc = overwrite ? 0 : guard_datasets_end(t, &end, err);

	if (rc < 0 || overwrite || offset >= end)
		return rc;
	return err_set(err, EEXIST,
		       "a volume holds a dataset, which writing would destroy: --overwrite if that is meant, or "
		       "--offset %lluM to write behind it",
		       (unsigned long long)(end / GUARD_ALIGN));
}

int guard_same(const struct bench_target *t, const struct pst_volume_info *info, struct err *err)
{
	for (size_t i = 0; i < t->uri_count; i++) {
		for (size_t k = 0; k < i; k++) {
			if (probe_same(&info[i], &info[k]))
				return err_set(err, EINVAL, "%s and %s are the same volume: their writes would overlap",
					       t->uris[k], t->uris[i]);
		}
	}
	return 0;
}
