/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a generated dataset says about itself, in the member INDEX_MANIFEST: enough to know the
 * size and each byte of every file without a second copy. A file's number is in its name, so that
 * the contents can be told even after somebody has unpacked the archive and packed it again in
 * another order. JSON, since people will look at it: schema 1 where a file is a sample, which is all
 * that the first version knew, else schema 2.
 */
#ifndef BENCH_MANIFEST_H
#define BENCH_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bench/format.h"
#include "bench/sizes.h"
#include "penstock.h"

enum {
	MANIFEST_MAX = 4096,	  /* bytes of its text */
	MANIFEST_NAME_MAX = 96, /* bytes of a file's name, with the NUL */
	MANIFEST_ROWS_MAX = 1 << 20,
};

/* Of files there may be no more than an index holds. */
#define MANIFEST_SAMPLES_MAX (UINT64_C(1) << 40)
#define MANIFEST_FILES_MAX   UINT64_C(0xfffffffe)

struct manifest {
	char workload[32];  /* letters, digits, '-', '_'; the samples' directory */
	char extension[16]; /* the same */
	uint64_t samples;
	uint64_t scale_ppm; /* sample sizes as a fraction of the workload's, for people */
	enum format format;
	uint64_t per_file; /* samples in a file, but the last; 1 if plain */
	uint64_t rows;	   /* of columns: samples in a group; else 0 */
	/* Of samples as generated, scale applied; its seed is that of the contents too. */
	struct sizes sizes;
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

/* The name of a file: "unet3d/000123.npz" */
void manifest_name(const struct manifest *m, uint64_t number, char buf[MANIFEST_NAME_MAX]);
/* The number in a file's name. -ENOENT: it is no name of this dataset's. */
int manifest_number(const struct manifest *m, const char *name, uint64_t *ret_number);

#endif
