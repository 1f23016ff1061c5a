/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generating a dataset: its description, then samples whose every byte follows from seed and
 * number (base/content.h). The same description gives the same archive, byte for byte.
 */
#ifndef BENCH_GENERATE_H
#define BENCH_GENERATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bench/manifest.h"
#include "penstock.h"

/* Bytes that its volume must have at least. */
uint64_t generate_size(const struct manifest *m);

/*
 * Told now and then how far it is; returns false to give up, which leaves an incomplete archive
 * and is -ECANCELED.
 */
typedef bool (*generate_progress)(void *arg, uint64_t bytes);

/*
 * Writes it onto @vol, from the volume's start. Blocks. -EINVAL: the description does not pass its
 * check; -ENOSPC: it does not fit, and nothing was written.
 */
int generate_dataset(struct pst_volume *vol, const struct manifest *m, generate_progress progress, void *arg,
		     uint64_t *ret_bytes, struct err *err);

#endif
