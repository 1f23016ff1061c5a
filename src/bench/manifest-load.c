/* SPDX-License-Identifier: Apache-2.0 */
/* A dataset's description, from the volume it lies on. */
#include <errno.h>
#include <string.h>

#include "bench/manifest.h"

static int load(struct pst_volume *vol, struct pst_memory *mem, const struct pst_dataset_info *info,
		struct manifest *m, struct err *err)
{
	struct pst_completion c;

	if (pst_read_sync(vol, mem, 0, info->manifest_offset, info->manifest_bytes, &c) < 0)
		return err_set(err, -c.error, "reading the dataset's description at byte %llu: %s",
			       (unsigned long long)info->manifest_offset,
			       c.nvme_status ? pst_nvme_status_name(c.nvme_status) : strerror(-c.error));
	return manifest_parse(pst_memory_ptr(mem), info->manifest_bytes, m, err);
}

int manifest_load(struct pst_context *ctx, struct pst_volume *vol, const struct pst_dataset *ds,
		  struct manifest *ret_manifest, struct err *err)
{
	struct pst_dataset_info info;
	struct pst_memory *mem;
	struct pst_error perr;
	int rc;

	pst_dataset_info(ds, &info);
	if (info.manifest_bytes == 0)
		return err_set(err, ENOENT, "the dataset was not made by 'penstock dataset create'");
	if (info.manifest_bytes > MANIFEST_MAX)
		return err_set(err, EBADMSG, "the dataset's description is too long");
	if (pst_memory_alloc(ctx, MANIFEST_MAX, &mem, &perr) < 0)
		return err_set(err, perr.code, "%s", perr.text);
	rc = load(vol, mem, &info, ret_manifest, err);
	pst_memory_free(mem);
	return rc;
}
