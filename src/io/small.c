/* SPDX-License-Identifier: Apache-2.0 */
#include "io/small.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_all(int fd, char *buf, size_t cap)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = read(fd, buf + len, cap - len);
		if (n < 0 && errno != EINTR)
			return -errno;
		len += n > 0 ? (size_t)n : 0;
	} while (n != 0 && len < cap);
	if (len == cap)
		return -EFBIG;
	buf[len] = 0;
	return strlen(buf) == len ? 0 : -EINVAL;
}

int io_read_small_file(const char *path, char *buf, size_t cap)
{
	struct stat st;
	int fd, rc;

	/* Not to be stopped by a FIFO that nobody writes to. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		rc = -errno;
	else if (!S_ISREG(st.st_mode))
		rc = -EINVAL;
	else
		rc = read_all(fd, buf, cap);
	close(fd);
	return rc;
}
