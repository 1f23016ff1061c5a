/* SPDX-License-Identifier: Apache-2.0 */
/* The other end of the control socket, and where it is; the idea is in control.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/util.h"
#include "ops/control.h"

/* Statistics of many namespaces and hosts are long; this much is a mistake. */
enum { ANSWER_MAX = 256 << 20, ANSWER_STEP = 64 * 1024 };

int control_default_path(char ret_path[CONTROL_PATH_MAX])
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	int n = snprintf(ret_path, CONTROL_PATH_MAX, "%s/penstock/control.sock", dir && dir[0] == '/' ? dir : "/run");

	return n >= CONTROL_PATH_MAX ? -ENAMETOOLONG : 0;
}

static int connect_to(const char *path, struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		return err_set(err, ENAMETOOLONG, "%s: longer than %zu bytes", path, sizeof(addr.sun_path) - 1);
	memcpy(addr.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set(err, errno, "cannot make a socket: %s", strerror(errno));
	if (connect(fd, (const struct sockaddr *)(const void *)&addr, sizeof(addr)) == 0)
		return fd;
	err_set(err, errno, "%s: %s%s", path, strerror(errno),
		errno == ENOENT || errno == ECONNREFUSED ? ": is a target running? (--socket says where it listens)" :
		errno == EACCES			       ? ": it belongs to the user that the target runs as" :
							 "");
	close(fd);
	return -err->code;
}

static int put(int fd, const char *text, size_t n)
{
	while (n > 0) {
		ssize_t did = send(fd, text, n, MSG_NOSIGNAL);

		if (did < 0 && errno == EINTR)
			continue;
		if (did < 0)
			return -errno;
		text += did;
		n -= (size_t)did;
	}
	return 0;
}

/* Up to the newline, which becomes the end of the text. */
static int get_line(int fd, char **ret_line)
{
	size_t size = 0, n = 0;
	char *line = NULL;

	for (;;) {
		ssize_t did;

		if (size - n < 2) {
			char *grown = size < ANSWER_MAX ? mem_realloc(line, size + ANSWER_STEP) : NULL;

			if (!grown) {
				mem_free(line);
				return -ENOMEM;
			}
			line = grown;
			size += ANSWER_STEP;
		}
		did = recv(fd, line + n, size - n - 1, 0);
		if (did < 0 && errno == EINTR)
			continue;
		if (did <= 0) {
			mem_free(line);
			return did < 0 ? -errno : -EPIPE;
		}
		n += (size_t)did;
		if (line[n - 1] == '\n') {
			line[n - 1] = '\0';
			*ret_line = line;
			return 0;
		}
	}
}

int control_ask(const char *path, const char *request, char **ret_answer, struct err *err)
{
	int fd = connect_to(path, err), r;

	if (fd < 0)
		return fd;
	r = put(fd, request, strlen(request));
	if (r == 0)
		r = put(fd, "\n", 1);
	/* A target that refuses us says so and closes, perhaps before it has read what we sent. */
	if (r == 0 || r == -EPIPE)
		r = get_line(fd, ret_answer);
	close(fd);
	if (r == -EPIPE || r == -ECONNRESET)
		return err_set(err, EPIPE, "%s: the target ended without an answer", path);
	return r < 0 ? err_set(err, -r, "%s: %s", path, strerror(-r)) : 0;
}
