/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and block devices as both real implementations open them, and what is to be known about
 * them. Operations on them are in fileop.h.
 */
#ifndef PENSTOCK_IO_FILE_H
#define PENSTOCK_IO_FILE_H

#include <stdatomic.h>

#include "base/util.h"
#include "io/io.h"
#include "io/ops.h"

struct io_fd_file {
	struct io_file base;
	int fd;
	bool read_only;
	bool in_memory;     /* transfers never wait for a device (but for swap) */
	atomic_bool nowait; /* reading what is cached, and only that, has not failed yet */
};

static inline struct io_fd_file *io_fd_file_of(struct io_file *f)
{
	return container_of(f, struct io_fd_file, base);
}

/* The ops table's file_open. */
int io_fd_file_open(struct io_loop *loop, const char *path, const struct io_file_options *opts,
		    struct io_file **ret_file, struct err *err);

#endif
