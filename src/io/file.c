/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a file or block device and finding out what it can do; see file.h. Everything is asked of
 * the kernel and nothing (but one thing, below) assumed from a file system's name; where the kernel is
 * too old to say, the answer is the one that is right for every disk, if not the fastest.
 */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/parse.h"

/* Where neither the kernel nor the device says: right for every disk in use. */
#define DIO_ALIGN_FALLBACK 4096

/* Two seconds in all: the kernel was seen to take a few hundred milliseconds on a busy machine. */
#define LOCK_TRIES    100
#define LOCK_PAUSE_NS 20000000

/* ---- what it is and can do ------------------------------------------------------------------- */

/* A file of /sys/dev/block/M:m/queue, of the whole disk if the device is a partition. */
static bool queue_attribute(dev_t dev, const char *name, char *out, size_t size)
{
	char path[128];
	ssize_t n = -1;
	int fd;

	for (int part = 0; part < 2 && n < 0; part++) {
		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%squeue/%s", major(dev),
			 minor(dev), part ? "../" : "", name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n = read(fd, out, size - 1);
		close(fd);
	}
	if (n < 0)
		return false;
	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return true;
}

static int block_info(int fd, const struct stat *st, struct io_file_info *info)
{
	unsigned int physical = 0;
	uint64_t zeroes = 0;
	char text[64];

	if (ioctl(fd, BLKGETSIZE64, &info->size) < 0)
		return -errno;
	if (ioctl(fd, BLKPBSZGET, &physical) == 0)
		info->physical_block = physical;
	info->block_device = true;
	info->device = st->st_rdev;
	/* Deallocation that leaves zeroes is Write Zeroes with unmap: see fileop.c. */
	info->can_discard =
		queue_attribute(st->st_rdev, "write_zeroes_max_bytes", text, sizeof(text)) &&
		parse_u64(text, &zeroes) == 0 && zeroes > 0;
	/* A device that will not say is taken to have a cache: a flush too many loses nothing. */
	info->volatile_cache = !queue_attribute(st->st_rdev, "write_cache", text, sizeof(text)) ||
			       strcmp(text, "write through") != 0;
	return 0;
}

static void regular_info(int fd, bool read_only, const struct stat *st, struct io_file_info *info)
{
	off_t beyond = ALIGN_UP(st->st_size, (off_t)1 << 20);
	struct statx stx;

	info->size = (uint64_t)st->st_size;
	info->physical_block =
		is_power_of_two((uint64_t)st->st_blksize) ? (uint32_t)st->st_blksize : 0;
	info->device = st->st_dev;
	info->inode = st->st_ino;
	info->volatile_cache = true;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &stx) == 0 && (stx.stx_mask & STATX_BTIME))
		info->birth_ns =
			(uint64_t)stx.stx_btime.tv_sec * 1000000000 + stx.stx_btime.tv_nsec;
	/* A hole beyond the end changes nothing, and asks the file system whether it has holes. */
	info->can_discard = !read_only && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
						    beyond, 1 << 20) == 0;
}

/* What direct I/O on @fd must be aligned to, or 0: it does not exist there. */
static uint32_t dio_alignment(int fd, bool block_device)
{
	int logical = 0;
#ifdef STATX_DIOALIGN
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &stx) == 0 &&
	    (stx.stx_mask & STATX_DIOALIGN)) {
		if (stx.stx_dio_offset_align == 0)
			return 0;
		return MAX(stx.stx_dio_offset_align, stx.stx_dio_mem_align);
	}
#endif
	if (block_device && ioctl(fd, BLKSSZGET, &logical) == 0 &&
	    is_power_of_two((uint64_t)logical))
		return (uint32_t)logical;
	return DIO_ALIGN_FALLBACK;
}

/*
 * Sets the flags that I/O wants: neither O_NONBLOCK, with which the file was opened, nor, unless it
 * works, O_DIRECT. It is set here and not by open(2), which fails after having created the file.
 */
static int set_flags(int fd, bool want_direct, struct io_file_info *info)
{
	uint32_t align = want_direct ? dio_alignment(fd, info->block_device) : 0;

	info->dio_align = 1;
	if (align > 0 && fcntl(fd, F_SETFL, O_DIRECT) == 0) {
		info->direct = true;
		info->dio_align = align;
		return 0;
	}
	return fcntl(fd, F_SETFL, 0) < 0 ? -errno : 0;
}

static int refresh(struct io_file *f)
{
	struct io_fd_file *ff = io_fd_file_of(f);
	struct stat st;

	if (f->info.block_device)
		return ioctl(ff->fd, BLKGETSIZE64, &f->info.size) < 0 ? -errno : 0;
	if (fstat(ff->fd, &st) < 0)
		return -errno;
	f->info.size = (uint64_t)st.st_size;
	return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_error(int code, const char *path, struct err *err)
{
	const char *why = strerror(code);

	switch (code) {
	case EBUSY:
		why = "it is in use, by another server or a mounted file system";
		break;
	case EWOULDBLOCK:
		why = "another process serves it (it is locked)";
		code = EBUSY;
		break;
	case ENOTSUP:
		why = "it is neither a regular file nor a block device";
		code = EINVAL;
		break;
	}
	return err_set(err, code, "cannot open %s: %s", path, why);
}

static int create_file(const char *path, uint64_t size, bool exclusive, int *ret_fd)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	int r = 0;

	if (fd < 0)
		return -errno;
	/* Before it has a size, so that nobody else takes it as it is. */
	if (exclusive && flock(fd, LOCK_EX | LOCK_NB) < 0)
		r = -errno;
	else if (size > INT64_MAX || ftruncate(fd, (off_t)size) < 0)
		r = size > INT64_MAX ? -EFBIG : -errno;
	if (r < 0) {
		unlink(path);
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

/*
 * The lock of a process that was killed is let go only when the kernel has taken its io_uring apart,
 * which it does after the process is gone to all appearances. So a lock that is held is waited for,
 * a little: a restarted server must not find its own file taken.
 */
static int take_lock(int fd)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };

	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; i++) {
		if (errno != EWOULDBLOCK || i == LOCK_TRIES)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int open_existing(const char *path, const struct io_file_options *opts, int *ret_fd)
{
	int flags = (opts->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	struct stat st;
	int fd, r = 0;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return -ENOTSUP;
	/* The kernel's own exclusion: no mounted file system, no RAID or mapper on it. */
	if (S_ISBLK(st.st_mode) && opts->exclusive && !opts->read_only)
		flags |= O_EXCL;
	fd = open(path, flags);
	if (fd < 0)
		return -errno;
	r = opts->exclusive ? take_lock(fd) : 0;
	if (r < 0) {
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static int open_path(const char *path, const struct io_file_options *opts, int *ret_fd)
{
	int r;

	if (opts->create && !opts->read_only) {
		r = create_file(path, opts->size, opts->exclusive, ret_fd);
		if (r != -EEXIST)
			return r;
	}
	return open_existing(path, opts, ret_fd);
}

static void close_file(struct io_file *f)
{
	struct io_fd_file *ff = io_fd_file_of(f);

	close(ff->fd);
	mem_free(ff);
}

static const struct io_file_ops fd_file_ops = {
	.refresh = refresh,
	.close = close_file,
};

/*
 * The one thing asked of a name, as the kernel has no better answer: tmpfs takes no non-blocking
 * reads, but never blocks either.
 */
static bool is_in_memory(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

static int inspect(struct io_fd_file *ff, bool want_direct)
{
	struct stat st;
	int r = 0;

	if (fstat(ff->fd, &st) < 0)
		return -errno;
	if (S_ISBLK(st.st_mode))
		r = block_info(ff->fd, &st, &ff->base.info);
	else if (S_ISREG(st.st_mode))
		regular_info(ff->fd, ff->read_only, &st, &ff->base.info);
	else
		r = -ENOTSUP;
	if (r == 0)
		r = set_flags(ff->fd, want_direct, &ff->base.info);
	if (r < 0)
		return r;
	ff->in_memory = is_in_memory(ff->fd);
	atomic_init(&ff->nowait, !ff->base.info.direct);
	return 0;
}

int io_fd_file_open(struct io_loop *loop, const char *path, const struct io_file_options *opts,
		    struct io_file **ret_file, struct err *err)
{
	static const struct io_file_options defaults;
	struct io_fd_file *ff;
	int r;

	if (!opts)
		opts = &defaults;
	ff = mem_zalloc(sizeof(*ff));
	if (!ff)
		return open_error(ENOMEM, path, err);
	ff->base.ops = &fd_file_ops;
	ff->read_only = opts->read_only;
	r = open_path(path, opts, &ff->fd);
	if (r < 0) {
		mem_free(ff);
		return open_error(-r, path, err);
	}
	r = inspect(ff, opts->direct);
	if (r < 0) {
		close_file(&ff->base);
		return open_error(-r, path, err);
	}
	*ret_file = &ff->base;
	return 0;
}
