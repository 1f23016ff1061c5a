/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a generated dataset says about itself, in the member INDEX_MANIFEST: enough to know the
 * size and each byte of every sample without a second copy. A sample's number is in its name, so
 * that the contents can be told even after somebody has unpacked the archive and packed it again
 * in another order. JSON, since people will look at it.
 */
#ifndef BENCH_MANIFEST_H
#define BENCH_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bench/sizes.h"
#include "penstock.h"

enum {
	MANIFEST_MAX = 4096,	  /* bytes of its text */
	MANIFEST_NAME_MAX = 96, /* bytes of a sample's name, with the NUL */
};

struct manifest {
	char workload[32];  /* letters, digits, '-', '_'; the samples' directory */
	char extension[16]; /* the same */
	uint64_t samples;
	uint64_t scale_ppm; /* sample sizes as a fraction of the workload's, for people */
	struct sizes sizes; /* as generated, scale applied; its seed is that of the contents too */
};

/* -EINVAL with what is wrong and what was expected. */
int manifest_check(const struct manifest *m, struct err *err);

/* Writes its text, at most MANIFEST_MAX bytes. Returns its length or -ENOMEM. @m passed the check. */
int manifest_format(const struct manifest *m, char *buf);
/* -EBADMSG: no such description; -EOPNOTSUPP: made by a later version with other rules. */
int manifest_parse(const char *text, size_t n, struct manifest *ret_manifest, struct err *err);

/* Reads that of @ds, which lies on @vol. Blocks. -ENOENT: it has none. */
int manifest_load(struct pst_context *ctx, struct pst_volume *vol, const struct pst_dataset *ds,
		  struct manifest *ret_manifest, struct err *err);

/* "unet3d/000123.npz" */
void manifest_name(const struct manifest *m, uint64_t number, char buf[MANIFEST_NAME_MAX]);
/* The number in a sample's name. -ENOENT: it is no name of this dataset's. */
int manifest_number(const struct manifest *m, const char *name, uint64_t *ret_number);

#endif
