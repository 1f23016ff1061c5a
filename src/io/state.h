/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files that are replaced as a whole (io_state_save() of io.h), with blocking calls: what
 * both real implementations have in common.
 */
#ifndef PENSTOCK_IO_STATE_H
#define PENSTOCK_IO_STATE_H

#include "io/io.h"

/* The ops table's state_load. */
int64_t io_fd_state_load(struct io_loop *loop, const char *path, void *buf, size_t max,
			 struct err *err);
/* Does @op, an IO_OP_SAVE, on any thread. 0 or -errno. */
int io_state_execute(const struct io_op *op);

#endif
