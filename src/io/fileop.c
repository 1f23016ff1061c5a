/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One operation on a file with blocking calls; see fileop.h.
 *
 * Deallocation is fallocate(2) on block devices too: BLKDISCARD may leave the old data readable,
 * which the contract of io_file_discard() excludes, while punching a hole in a block device uses
 * only commands that leave zeroes and fails where the device has none.
 */
#include "io/fileop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/check.h"
#include "io/state.h"

/* Zeroes are written from one buffer, given many times over in one call: a megabyte. */
#define ZERO_BUFFER  65536
#define ZERO_VECTORS 16

static uint8_t zero_buffer[ZERO_BUFFER] __attribute__((aligned(ZERO_BUFFER)));

int io_iov_after(const struct iovec *iov, int niov, uint64_t skip, struct iovec out[IO_MAX_IOV])
{
	int n = 0;

	for (int i = 0; i < niov; i++) {
		if (skip >= iov[i].iov_len) {
			skip -= iov[i].iov_len;
			continue;
		}
		out[n].iov_base = (uint8_t *)iov[i].iov_base + skip;
		out[n].iov_len = iov[i].iov_len - skip;
		skip = 0;
		n++;
	}
	return n;
}

static bool aligned(const struct io_op *op, uint32_t to)
{
	uintptr_t all = op->offset;

	for (int i = 0; i < op->niov; i++)
		all |= (uintptr_t)op->iov[i].iov_base | op->iov[i].iov_len;
	return (all & (to - 1)) == 0;
}

int io_fileop_check(const struct io_fd_file *f, const struct io_op *op)
{
	if (f->read_only && op->kind != IO_OP_READ && op->kind != IO_OP_SYNC)
		return -EROFS;
	if (!range_within(op->offset, op->length, INT64_MAX))
		return -EINVAL;
	if (op->kind != IO_OP_READ && op->kind != IO_OP_WRITE)
		return 0;
	return aligned(op, f->base.info.dio_align) ? 0 : -EINVAL;
}

int io_fileop_falloc_mode(const struct io_op *op)
{
	bool keep = op->kind == IO_OP_ZERO && (op->flags & IO_ZERO_KEEP);

	return FALLOC_FL_KEEP_SIZE | (keep ? FALLOC_FL_ZERO_RANGE : FALLOC_FL_PUNCH_HOLE);
}

static ssize_t write_some(int fd, const struct iovec *iov, int niov, off_t offset, bool dsync)
{
	ssize_t n = pwritev2(fd, iov, niov, offset, dsync ? RWF_DSYNC : 0);

	if (n >= 0 || errno != EOPNOTSUPP || !dsync)
		return n;
	/* A file system that does not know the flag: the same in two steps. */
	n = pwritev(fd, iov, niov, offset);
	return n >= 0 && fdatasync(fd) < 0 ? -1 : n;
}

/*
 * All of it, or to the end of the file. An error after a part counts as the error: whoever gets a
 * short count from a write could only try the rest again to learn what this already knows.
 */
static int64_t transfer(int fd, const struct io_op *op)
{
	struct iovec rest[IO_MAX_IOV];
	uint64_t done = 0;
	ssize_t n;
	int niov;

	while (done < op->length) {
		niov = io_iov_after(op->iov, op->niov, done, rest);
		if (op->kind == IO_OP_READ)
			n = preadv(fd, rest, niov, (off_t)(op->offset + done));
		else
			n = write_some(fd, rest, niov, (off_t)(op->offset + done),
				       op->flags & IO_FILE_DSYNC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (uint64_t)n;
	}
	return (int64_t)done;
}

bool io_fileop_try(const struct io_op *op, int64_t *ret_result)
{
	struct io_fd_file *f = io_fd_file_of(op->obj);
	ssize_t n;

	if (op->kind != IO_OP_READ && op->kind != IO_OP_WRITE)
		return false;
	if (f->in_memory) {
		*ret_result = transfer(f->fd, op);
		return true;
	}
	if (op->kind != IO_OP_READ || !atomic_load_explicit(&f->nowait, memory_order_relaxed))
		return false;
	n = preadv2(f->fd, op->iov, op->niov, (off_t)op->offset, RWF_NOWAIT);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		atomic_store_explicit(&f->nowait, false, memory_order_relaxed);
	if (n < 0 || (uint64_t)n < op->length)
		return false;
	*ret_result = n;
	return true;
}

static int try_fallocate(int fd, int mode, const struct io_op *op)
{
	int r;

	do {
		r = fallocate(fd, mode, (off_t)op->offset, (off_t)op->length);
	} while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

static int write_zeroes(int fd, const struct io_op *op)
{
	struct iovec iov[ZERO_VECTORS];
	uint64_t done = 0, left;
	ssize_t n;
	int niov;

	while (done < op->length) {
		left = op->length - done;
		for (niov = 0; niov < ZERO_VECTORS && left > 0; niov++) {
			iov[niov].iov_base = zero_buffer;
			iov[niov].iov_len = MIN(left, (uint64_t)ZERO_BUFFER);
			left -= iov[niov].iov_len;
		}
		n = pwritev(fd, iov, niov, (off_t)(op->offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		done += (uint64_t)n;
	}
	return 0;
}

static int zero(int fd, const struct io_op *op)
{
	int r = try_fallocate(fd, io_fileop_falloc_mode(op), op);

	if (r == -EOPNOTSUPP && !(op->flags & IO_ZERO_KEEP))
		r = try_fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, op);
	if (r == -EOPNOTSUPP)
		r = write_zeroes(fd, op);
	return r;
}

int64_t io_fileop_execute(const struct io_op *op)
{
	struct io_file *f = op->obj;
	int fd;

	if (op->kind == IO_OP_SAVE)
		return io_state_execute(op);
	fd = io_fd_file_of(f)->fd;
	switch ((enum io_op_kind)op->kind) {
	case IO_OP_READ:
	case IO_OP_WRITE:
		return transfer(fd, op);
	case IO_OP_SYNC:
		return fdatasync(fd) < 0 ? -errno : 0;
	case IO_OP_DISCARD:
		return try_fallocate(fd, io_fileop_falloc_mode(op), op);
	case IO_OP_ZERO:
		return zero(fd, op);
	default:
		return -EINVAL;
	}
}
