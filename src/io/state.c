/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacing a file: the new contents go to a file beside it, are made durable there, and then take
 * its name; the directory is synced last. So at every moment, power loss included, the name stands
 * for the old contents or for the new ones, whole. What a crash leaves behind is the file beside
 * it, which the next save overwrites and nobody reads.
 */
#include "io/state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int64_t read_all(int fd, void *buf, size_t max)
{
	size_t done = 0;
	char more;

	for (;;) {
		void *to = done < max ? (char *)buf + done : &more;
		ssize_t n = read(fd, to, done < max ? max - done : 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return (int64_t)done;
		if (done == max)
			return -EFBIG;
		done += (size_t)n;
	}
}

int64_t io_fd_state_load(struct io_loop *loop, const char *path, void *buf, size_t max,
			 struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int64_t n;

	if (fd < 0)
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	n = read_all(fd, buf, max);
	close(fd);
	if (n == -EFBIG)
		return err_set(err, EFBIG, "%s: more than the %zu bytes that were expected at most",
			       path, max);
	if (n < 0)
		return err_set(err, (int)-n, "%s: %s", path, strerror((int)-n));
	return n;
}

static int write_all(int fd, const void *from, size_t n)
{
	const char *at = from;

	while (n > 0) {
		ssize_t some = write(fd, at, n);

		if (some < 0 && errno == EINTR)
			continue;
		if (some < 0)
			return -errno;
		at += some;
		n -= (size_t)some;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

static int write_beside(const char *path, const struct iovec *contents)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, contents->iov_base, contents->iov_len);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r;
}

static int sync_directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	int fd, r;

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return r;
}

int io_state_execute(const struct io_op *op)
{
	const char *path = op->obj;
	char beside[PATH_MAX];
	int r;

	if ((size_t)snprintf(beside, sizeof(beside), "%s.new", path) >= sizeof(beside))
		return -ENAMETOOLONG;
	if (op->length == 0) {
		r = unlink(path) < 0 && errno != ENOENT ? -errno : 0;
		return r < 0 ? r : sync_directory_of(path);
	}
	r = write_beside(beside, op->iov);
	if (r == 0 && rename(beside, path) < 0)
		r = -errno;
	if (r < 0) {
		unlink(beside);
		return r;
	}
	return sync_directory_of(path);
}
