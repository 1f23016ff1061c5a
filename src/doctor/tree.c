/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"

/* "ROOT/PATH"; false if it is too long. */
PRINTF_LIKE(3, 0)
static bool join(const struct tree *t, char path[PATH_MAX], const char *fmt, va_list args)
{
	int a = snprintf(path, PATH_MAX, "%s/", t->root), b;

	if (a < 0 || a >= PATH_MAX)
		return false;
	b = vsnprintf(path + a, (size_t)(PATH_MAX - a), fmt, args);
	return b >= 0 && b < PATH_MAX - a;
}

#define JOIN(t, path, fmt, ok)                                                                                   \
	do {                                                                                                     \
		va_list args_;                                                                                   \
		va_start(args_, fmt);                                                                            \
		ok = join(t, path, fmt, args_);                                                                  \
		va_end(args_);                                                                                   \
	} while (0)

doctor_number tree_unseen(int error)
{
	return error == EACCES || error == EPERM ? DOCTOR_DENIED : DOCTOR_UNSEEN;
}

/* Non-blocking, for a copied tree may hold anything, a FIFO too. */
static int64_t read_file(const char *path, void *buf, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	size_t have = 0;
	int error = 0;

	if (fd < 0)
		return -errno;
	while (have < n) {
		ssize_t k = read(fd, (char *)buf + have, n - have);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			error = errno;
		if (k <= 0)
			break;
		have += (size_t)k;
	}
	close(fd);
	return have == 0 && error ? -error : (int64_t)have;
}

int64_t tree_bytes(const struct tree *t, void *buf, size_t n, const char *fmt, ...)
{
	char path[PATH_MAX];
	bool ok;

	JOIN(t, path, fmt, ok);
	return ok ? read_file(path, buf, n) : -ENAMETOOLONG;
}

static int64_t read_text(const char *path, char *buf, size_t n)
{
	int64_t len = read_file(path, buf, n - 1);

	if (len < 0) {
		buf[0] = 0;
		return len;
	}
	while (len > 0 && isspace((unsigned char)buf[len - 1]))
		len--;
	buf[len] = 0;
	return len;
}

int64_t tree_text(const struct tree *t, char *buf, size_t n, const char *fmt, ...)
{
	char path[PATH_MAX];
	bool ok;

	JOIN(t, path, fmt, ok);
	buf[0] = 0;
	return ok ? read_text(path, buf, n) : -ENAMETOOLONG;
}

doctor_number tree_number(const struct tree *t, const char *fmt, ...)
{
	char path[PATH_MAX], text[64];
	uint64_t v;
	int64_t len;
	bool ok;

	JOIN(t, path, fmt, ok);
	if (!ok)
		return DOCTOR_UNSEEN;
	len = read_text(path, text, sizeof(text));
	if (len < 0)
		return tree_unseen((int)-len);
	return parse_u64_between(text, 0, INT64_MAX, &v) == 0 ? (doctor_number)v : DOCTOR_UNSEEN;
}

bool tree_exists(const struct tree *t, const char *fmt, ...)
{
	char path[PATH_MAX];
	bool ok;

	JOIN(t, path, fmt, ok);
	return ok && access(path, F_OK) == 0;
}

void tree_link(const struct tree *t, char *buf, size_t n, const char *fmt, ...)
{
	char path[PATH_MAX], real[PATH_MAX];
	bool ok;

	JOIN(t, path, fmt, ok);
	buf[0] = 0;
	/* Not readlink(2): what a link says may end in "..". */
	if (ok && realpath(path, real))
		snprintf(buf, n, "%s", strrchr(real, '/') + 1);
}

/* DOMAIN:BUS:DEVICE.FUNCTION in hexadecimal, the domain of at least four digits. */
static bool is_bdf(const char *s, size_t len)
{
	static const char tail[] = ":xx:xx.x";
	size_t at = len - (sizeof(tail) - 1);

	if (len < 12 || len >= DOCTOR_BDF_SIZE)
		return false;
	for (size_t i = 0; i < len; i++) {
		char want = i < at ? 'x' : tail[i - at];

		if (want == 'x' ? !isxdigit((unsigned char)s[i]) : s[i] != want)
			return false;
	}
	return true;
}

void tree_bdf(const struct tree *t, char buf[DOCTOR_BDF_SIZE], const char *fmt, ...)
{
	char path[PATH_MAX], real[PATH_MAX];
	size_t end;
	bool ok;

	JOIN(t, path, fmt, ok);
	buf[0] = 0;
	if (!ok || !realpath(path, real))
		return;
	end = strlen(real);
	while (end > 0) {
		size_t begin = end;

		while (begin > 0 && real[begin - 1] != '/')
			begin--;
		if (is_bdf(real + begin, end - begin)) {
			snprintf(buf, DOCTOR_BDF_SIZE, "%.*s", (int)(end - begin), real + begin);
			return;
		}
		end = begin > 0 ? begin - 1 : 0;
	}
}

doctor_number tree_contains(const struct tree *t, const char *needle, const char *fmt, ...)
{
	_cleanup_free_ char *line = NULL;
	char path[PATH_MAX];
	doctor_number found = 0;
	size_t room = 0;
	FILE *f;
	bool ok;

	JOIN(t, path, fmt, ok);
	if (!ok)
		return DOCTOR_UNSEEN;
	f = fopen(path, "re");
	if (!f)
		return tree_unseen(errno);
	while (found == 0 && getline(&line, &room, f) >= 0)
		found = strstr(line, needle) != NULL;
	fclose(f);
	return found;
}

static int visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

int tree_list(const struct tree *t, const char *path, void (*fn)(const char *name, void *arg), void *arg)
{
	char full[PATH_MAX];
	struct dirent **names;
	int n;

	if (snprintf(full, sizeof(full), "%s/%s", t->root, path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	n = scandir(full, &names, visible, versionsort);
	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		fn(names[i]->d_name, arg);
		free(names[i]);
	}
	free(names);
	return n;
}
