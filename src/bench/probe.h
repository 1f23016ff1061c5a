/* SPDX-License-Identifier: Apache-2.0 */
/* A first look at volumes, before anything is measured on them or destroyed. */
#ifndef BENCH_PROBE_H
#define BENCH_PROBE_H

#include "bench/bench.h"

/*
 * Opens each volume of @t once and says what it is. @ret_io: how the library does its I/O. With
 * @write, -EROFS for a read-only volume, and -EEXIST for one that holds a tar archive, unless
 * @overwrite. Blocks.
 */
int probe_volumes(const struct bench_target *t, bool write, bool overwrite, struct pst_volume_info *ret_info,
		  char *ret_io, size_t io_len, struct err *err);

/* Whether two are certainly the same volume. */
bool probe_same(const struct pst_volume_info *a, const struct pst_volume_info *b);

#endif
