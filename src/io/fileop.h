/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One operation on a file. io_uring does most of them itself and comes here for checks and for what
 * has no operation of its own; epoll's threads do all of them here.
 */
#ifndef PENSTOCK_IO_FILEOP_H
#define PENSTOCK_IO_FILEOP_H

#include "io/file.h"

/*
 * Whether @op may be submitted to @f: 0, -EROFS, or -EINVAL where direct I/O would be unaligned or
 * the range is beyond what an off_t holds. The kernel refuses unaligned direct I/O on most file
 * systems, but some do it through the page cache and lose what O_DIRECT was asked for.
 */
int io_fileop_check(const struct io_fd_file *f, const struct io_op *op);

/*
 * Does @op at once if that takes no waiting: what is in the page cache, or in a file system that is
 * only memory. False: nothing has happened. This costs a copy and a system call, which the ring and
 * still more a thread cost on top of the same copy.
 */
bool io_fileop_try(const struct io_op *op, int64_t *ret_result);

/*
 * The fallocate(2) mode that serves a DISCARD or ZERO best. Where it gives -EOPNOTSUPP, a ZERO has
 * other ways, which io_fileop_execute() knows, and a DISCARD has none.
 */
int io_fileop_falloc_mode(const struct io_op *op);

/* Does @op with blocking calls, on any thread. Returns its result; short only at end of file. */
int64_t io_fileop_execute(const struct io_op *op);

/* What is left of @iov after @skip bytes; returns the number of vectors written. */
int io_iov_after(const struct iovec *iov, int niov, uint64_t skip, struct iovec out[IO_MAX_IOV]);

#endif
