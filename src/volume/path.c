/* SPDX-License-Identifier: Apache-2.0 */
/* Which path data takes between a volume and a memory, and why it is not another. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "volume/request.h"

const char *pst_path_name(enum pst_path path)
{
	static const char *const names[] = {
		[PST_PATH_NONE] = "none", [PST_PATH_HOST] = "host", [PST_PATH_STAGED] = "staged",
		[PST_PATH_GDR] = "gdr",	  [PST_PATH_GDS] = "gds",   [PST_PATH_EMULATED] = "emulated",
	};

	return (unsigned int)path < ARRAY_SIZE(names) ? names[path] : "unknown";
}

enum pst_path path_through_staging(const struct pst_memory *mem)
{
	switch (mem_region_path(&mem->region)) {
	case MEM_PATH_HOST:
		return PST_PATH_HOST;
	case MEM_PATH_STAGED:
		return PST_PATH_STAGED;
	case MEM_PATH_GDR:
		return PST_PATH_GDR;
	case MEM_PATH_GDS:
		return PST_PATH_GDS;
	case MEM_PATH_EMULATED:
		return PST_PATH_EMULATED;
	}
	return PST_PATH_NONE;
}

enum pst_path pst_path(const struct pst_volume *vol, const struct pst_memory *mem)
{
	/* Only what cuFile keeps for this memory changes, behind a lock. */
	struct pst_memory *m = (struct pst_memory *)(uintptr_t)mem;

	if (mem->kind == PST_MEMORY_CUDA && vol->direct && direct_file(vol, m, NULL))
		return PST_PATH_GDS;
	return path_through_staging(mem);
}

/* The sentence for somebody who wanted @want and gets @got. */
static int why_not(const struct pst_volume *vol, const struct pst_memory *mem, enum pst_path want,
		   enum pst_path got, struct err *err)
{
	const char *way = pst_path_name(got);
	bool file = strcmp(vol->info.transport, "file") == 0;
	struct err why = ERR_NULL;
	char of[128] = "host memory";

	if (mem->dock)
		snprintf(of, sizeof(of), "the memory of %s", mem->dock->dev->name);
	switch (want) {
	case PST_PATH_HOST:
		return err_set(err, EOPNOTSUPP, "data takes the path '%s', into %s; host memory as "
						"the destination would bring 'host'",
			       way, of);
	case PST_PATH_EMULATED:
		return err_set(err, EOPNOTSUPP, "data takes the path '%s', into %s; an emulated "
						"accelerator's memory as the destination would bring 'emulated'",
			       way, of);
	case PST_PATH_STAGED:
		if (got == PST_PATH_GDS)
			return err_set(err, EOPNOTSUPP, "data takes the path 'gds': cuFile moves it; ?gds=0 behind the "
							"volume's name would bring 'staged'");
		return err_set(err, EOPNOTSUPP, "data takes the path '%s', into %s; a GPU's memory as "
						"the destination (cuda:N) would bring 'staged'",
			       way, of);
	case PST_PATH_GDR:
		return err_set(err, EOPNOTSUPP, "data takes the path '%s': GPUDirect RDMA needs a volume over an RDMA "
						"transport, which this version does not have, and %s",
			       way, file ? "this one is a file" : "over NVMe/TCP no network card can place data");
	case PST_PATH_GDS:
		if (!file)
			return err_set(err, EOPNOTSUPP, "data takes the path '%s': GPUDirect Storage is for files, and "
							"this volume is remote; a file that cuFile can reach, "
							"into a GPU's memory, would bring 'gds'",
				       way);
		if (mem->kind != PST_MEMORY_CUDA)
			return err_set(err, EOPNOTSUPP, "data takes the path '%s', into %s; a GPU's memory as the "
							"destination (cuda:N) would bring 'gds' where cuFile can",
				       way, of);
		direct_file(vol, (struct pst_memory *)(uintptr_t)mem, &why);
		return err_set(err, EOPNOTSUPP, "data takes the path '%s': %s", way, err_text(&why));
	default:
		return err_set(err, EINVAL, "there is no such path");
	}
}

int pst_path_require(const struct pst_volume *vol, const struct pst_memory *mem, enum pst_path want,
		     struct pst_error *error)
{
	enum pst_path got = pst_path(vol, mem);
	struct err err = ERR_NULL;

	if (got == want)
		return 0;
	why_not(vol, mem, want, got, &err);
	return pst_error_from(error, &err);
}
