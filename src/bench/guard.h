/* SPDX-License-Identifier: Apache-2.0 */
/* What of a volume must not be overwritten: a dataset at its start. */
#ifndef BENCH_GUARD_H
#define BENCH_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/bench.h"

enum { GUARD_ALIGN = 1 << 20 };

/*
 * Where on each volume of @t, and on all of them, what is to be written may begin: behind the dataset
 * that is there, a multiple of GUARD_ALIGN. 0: no volume has one. Blocks.
 */
int guard_datasets_end(const struct bench_target *t, uint64_t *ret_end, struct err *err);

/* -EEXIST: [offset, ...) would overwrite a dataset, and @overwrite does not say that this is meant. */
int guard_write(const struct bench_target *t, uint64_t offset, bool overwrite, struct err *err);

/* -EINVAL: two of the volumes are certainly the same one. */
int guard_same(const struct bench_target *t, const struct pst_volume_info *info, struct err *err);

#endif
