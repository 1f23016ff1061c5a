/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks in a file or on a block device: "file:/srv/a.img". Everything is asynchronous through the
 * seam (io.h), by direct I/O where that works.
 */
#ifndef PENSTOCK_STORE_FILE_H
#define PENSTOCK_STORE_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/bounce.h"
#include "store/spec.h"
#include "store/store.h"

struct file_store {
	struct store store;
	struct io_file *io;
	bool direct;
	uint32_t align; /* direct: of memory, offsets and lengths; else 1 */
	struct range_lock lock;
	struct bounce bounce;
	struct range_lock syncs; /* one at a time, see file-sync.c */
	atomic_int sync_error; /* errno of a sync that may have lost data, see file.c; 0 none */
};

/*
 * Opens, and creates if the specification says so. Blocking. Errors: those of opening, -EINVAL for
 * a file that does not fit the specification, -EBUSY when another process serves it.
 */
int store_file_new(struct io_loop *loop, const struct store_spec *spec, struct store **ret_store,
		   struct err *err);

/* file-op.c: everything but flush; op->length > 0. Result as store_ops.submit, always later. */
void file_op_start(struct file_store *f, struct store_op *op);
/* The seam's result as a store's: 0 or one of the errors that store.h promises. */
int file_error(int64_t result);

/* file-sync.c: makes every write finished before durable. Result always later. */
void file_sync_start(struct file_store *f, struct store_op *op);
/* 0, or the error of an earlier sync, which is that of all later ones. */
int file_sync_error(struct file_store *f);

#endif
