/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files on io_uring. The ring does what it has an operation for; the threads of pool.c do again, from
 * the start, the rare rest: a transfer that stopped half-way before the end of the file, and zeroing
 * where the file system cannot. All of these may be repeated, as their buffers are still ours.
 *
 * Files are not registered with the ring. It would save a look-up and a reference count for each
 * operation, of no weight beside a device's microseconds, while a file that is closed on one loop
 * would have to be taken back from the rings of all others before its lock and space are free.
 *
 * A turn may start many operations. Handing all of them to the kernel at its end is one entry, but
 * the disk would have nothing to do until then: a burst of 32 takes 100 us to become 32 requests, as
 * long as ten of them take on the disk. Handing over each by itself is an entry for each. So a batch
 * goes as soon as it is as large as what the kernel has already: one, one, two, four, ... An idle disk
 * begins at once, a busy one gets few large batches, and a burst of n costs log2(n) entries.
 */
#include <errno.h>

#include "io/fileop.h"
#include "io/uring.h"

void uring_file_prepare(struct uring *u, struct io_op *op, struct io_uring_sqe *sqe)
{
	struct io_file *f = op->obj;
	int fd = io_fd_file_of(f)->fd;

	/* One vector by itself spares the kernel reading the array. */
	bool one = op->niov == 1 && op->length <= INT32_MAX;
	unsigned int niov = (unsigned int)op->niov, length = (unsigned int)op->length;

	u->files++;
	switch ((enum io_op_kind)op->kind) {
	case IO_OP_READ:
		if (one)
			io_uring_prep_read(sqe, fd, op->iov->iov_base, length, op->offset);
		else
			io_uring_prep_readv(sqe, fd, op->iov, niov, op->offset);
		break;
	case IO_OP_WRITE:
		if (one)
			io_uring_prep_write(sqe, fd, op->iov->iov_base, length, op->offset);
		else
			io_uring_prep_writev(sqe, fd, op->iov, niov, op->offset);
		if (op->flags & IO_FILE_DSYNC)
			sqe->rw_flags = RWF_DSYNC;
		break;
	case IO_OP_SYNC:
		io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
		break;
	default: /* DISCARD, ZERO */
		io_uring_prep_fallocate(sqe, fd, io_fileop_falloc_mode(op), (off_t)op->offset,
					(off_t)op->length);
	}
}

static void to_pool(struct uring *u, struct io_op *op)
{
	op->impl[2] = URING_POOL;
	io_pool_submit(&u->pool, op);
}

/* Whether blocking calls could do better than the @res that the ring came to. */
static bool unfinished(const struct io_op *op, int res)
{
	const struct io_file *f = op->obj;

	switch ((enum io_op_kind)op->kind) {
	case IO_OP_READ:
		return (res > 0 && (uint64_t)res < op->length &&
			op->offset + (uint64_t)res < f->info.size) ||
		       res == -EAGAIN || res == -EINTR;
	case IO_OP_WRITE:
		return (res >= 0 && (uint64_t)res < op->length) || res == -EAGAIN ||
		       res == -EINTR || (res == -EOPNOTSUPP && (op->flags & IO_FILE_DSYNC));
	case IO_OP_ZERO:
		return res == -EOPNOTSUPP || res == -EINTR;
	case IO_OP_DISCARD:
	case IO_OP_SYNC:
		return res == -EINTR;
	default:
		return false;
	}
}

void uring_file_complete(struct uring *u, struct io_op *op, int res)
{
	if (!unfinished(op, res))
		io_op_finish(op, res);
	else if (op->impl[3]) /* a cancel interrupted a thread of the kernel's */
		io_op_finish(op, -ECANCELED);
	else
		to_pool(u, op);
}

void uring_file_cancelling(struct io_op *op)
{
	op->impl[3] = true;
}

void uring_state_save(struct io_loop *loop, struct io_op *op)
{
	op->impl[3] = false;
	to_pool(uring_of(loop), op);
}

/* Enters the kernel with what has gathered, if it is as much as is there already. */
static void hand_over(struct uring *u)
{
	unsigned int waiting = io_uring_sq_ready(&u->ring);

	/* What this cannot do now is still in the queue when the turn ends. */
	if (waiting > 0 && 2 * waiting >= u->files)
		io_uring_submit(&u->ring);
}

void uring_file_submit(struct io_loop *loop, struct io_file *f, struct io_op *op)
{
	int64_t r = io_fileop_check(io_fd_file_of(f), op);

	op->impl[2] = URING_NOWHERE;
	op->impl[3] = false; /* was asked to be cancelled */
	if (r < 0 || (op->length == 0 && op->kind != IO_OP_SYNC) || io_fileop_try(op, &r)) {
		io_op_finish(op, r);
	} else {
		uring_start(uring_of(loop), op);
		hand_over(uring_of(loop));
	}
}
