/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket: who may ask, how much, how long; and what is left of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/util.h"
#include "ops/control.h"
#include "tests/tap.h"

#define STATUS "{\"schema\":\"" CONTROL_SCHEMA "\",\"method\":\"status\"}"

static char dir[] = "/tmp/penstock-control-XXXXXX";
static char path[64];
static struct methods m;

static int dial(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = 20 };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(addr.sun_path, path, strlen(path));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (connect(fd, (const struct sockaddr *)(const void *)&addr, sizeof(addr)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void answers(const char *what)
{
	struct err err = ERR_NULL;
	char *text = NULL;

	ok(control_ask(path, STATUS, &text, &err) == 0 && text && strstr(text, "\"ok\":true"), "%s %s", what,
	   err.text);
	mem_free(text);
}

/* One byte a time, and several requests in one piece. */
static void pieces(void)
{
	static const char two[] = STATUS "\n" STATUS "\n";
	static char buf[1 << 16];
	size_t lines = 0;
	int fd = dial();

	for (size_t i = 0; i < strlen(STATUS); i++)
		(void)!write(fd, &STATUS[i], 1);
	(void)!write(fd, "\n", 1);
	(void)!write(fd, two, strlen(two));
	while (lines < 3) {
		ssize_t r = read(fd, buf, sizeof(buf));

		if (r <= 0)
			break;
		for (ssize_t i = 0; i < r; i++)
			lines += buf[i] == '\n';
	}
	is_u64(lines, 3, "a request in single bytes, and two in one piece: three answers");
	close(fd);
}

static void too_long(void)
{
	static char junk[CONTROL_REQUEST_MAX + 1000];
	char buf[512] = "";
	int fd = dial();

	memset(junk, 'x', sizeof(junk));
	(void)!send(fd, junk, sizeof(junk), MSG_NOSIGNAL);
	(void)!read(fd, buf, sizeof(buf) - 1);
	ok(strstr(buf, "E2BIG"), "a request without an end is refused: %.80s", buf);
	close(fd);
	answers("others are served");
}

/* As many as there is room for, who say nothing; then they are gone, and there is room. */
static void crowd(void)
{
	int fds[CONTROL_CLIENTS];
	char byte;

	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		fds[i] = dial();
	ok(fds[CONTROL_CLIENTS - 1] >= 0, "a crowd that says nothing");
	close(fds[0]);
	answers("who comes when one has left is served");
	is_i64(read(fds[1], &byte, 1), 0, "who says nothing for ten seconds is closed");
	for (size_t i = 1; i < CONTROL_CLIENTS; i++)
		close(fds[i]);
}

/* Only root can pretend to be somebody else. */
static void stranger(void)
{
	char buf[512] = "";
	pid_t pid;
	int status;

	if (geteuid() != 0) {
		tap_skip("it takes root to be another user");
		return;
	}
	chmod(dir, 0755);
	chmod(path, 0666); /* what somebody might do; the kernel is asked all the same */
	pid = fork();
	if (pid == 0) {
		int fd;

		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(1);
		fd = dial();
		(void)!send(fd, STATUS "\n", strlen(STATUS) + 1, MSG_NOSIGNAL);
		(void)!read(fd, buf, sizeof(buf) - 1);
		_exit(strstr(buf, "EPERM") ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	ok(status == 0, "another user is refused, by the kernel's word");
	chmod(path, 0600);
	pid = fork();
	if (pid == 0) {
		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(1);
		_exit(dial() < 0 && errno == EACCES ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	ok(status == 0, "and does not even get that far by the file's mode");
}

static uint64_t cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

/* A client takes the last descriptor that may be had, so it cannot be accepted. */
static void few_descriptors(void)
{
	char buf[64] = "";
	struct rlimit was, few;
	uint64_t before;
	int lowest = dup(0), fd;

	close(lowest);
	getrlimit(RLIMIT_NOFILE, &was);
	few = was;
	few.rlim_cur = (rlim_t)lowest + 1;
	setrlimit(RLIMIT_NOFILE, &few);
	fd = dial();
	ok(fd == lowest && dup(0) < 0, "no descriptor is left");
	(void)!write(fd, STATUS "\n", strlen(STATUS) + 1);
	before = cpu_ms();
	usleep(500000);
	ok(cpu_ms() - before < 100, "without descriptors the thread waits, and does not spin: %llu ms of 500",
	   (unsigned long long)(cpu_ms() - before));
	setrlimit(RLIMIT_NOFILE, &was);
	(void)!read(fd, buf, sizeof(buf) - 1);
	ok(strstr(buf, "\"ok\":true"), "and answers when there is one: %.20s", buf);
	close(fd);
}

static void paths(const struct log *log)
{
	struct control *again = NULL, *none = NULL;
	struct err err = ERR_NULL;
	char name[CONTROL_PATH_MAX], longer[200];
	struct stat st;
	int fd;

	ok(control_new(&m, log, path, true, &again, &err) == -EADDRINUSE && strstr(err.text, "another target"),
	   "a socket that is answered is not taken: %s", err.text);
	answers("and still is");
	ok(control_new(&m, log, "/no/such/directory/x", true, &again, &err) == -ENOENT, "nowhere: %s", err.text);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	ok(control_new(&m, log, longer, true, &again, &err) == -ENAMETOOLONG, "too long: %s", err.text);
	ok(control_new(&m, log, "/no/such/directory/x", false, &none, &err) == 0, "the default one may be missing");
	control_free(none);
	snprintf(name, sizeof(name), "%s/file", dir);
	fd = creat(name, 0600);
	close(fd);
	ok(control_new(&m, log, name, true, &again, &err) < 0 && stat(name, &st) == 0 && S_ISREG(st.st_mode),
	   "a file that is no socket is left alone: %s", err.text);
	unlink(name);
	setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	ok(control_default_path(name) == 0 && strcmp(name, "/run/user/7/penstock/control.sock") == 0, "the default: %s",
	   name);
	unsetenv("XDG_RUNTIME_DIR");
	ok(control_default_path(name) == 0 && strcmp(name, "/run/penstock/control.sock") == 0, "without it: %s", name);
}

int main(void)
{
	static char store[] = "memory:1M";
	char *namespaces[] = { store };
	static const char *const listen[] = { "tcp://127.0.0.1:0" };
	struct config_words w = { .listen = listen, .listen_count = 1, .namespaces = namespaces,
				  .namespace_count = 1 };
	struct control *c = NULL;
	struct err err = ERR_NULL;
	struct config *config;
	struct stat st;
	char *text;
	int fd;

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/socket", dir);
	ok(config_from_words(&w, &config, &err) == 0 && site_new(config, NULL, &m.site, &err) == 0 &&
		   site_start(m.site, &err) == 0,
	   "a site %s", err.text);
	ok(control_ask(path, STATUS, &text, &err) == -ENOENT && strstr(err.text, "is a target running?"),
	   "nobody is there: %s", err.text);
	/* What a process that was killed leaves. */
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	{
		struct sockaddr_un addr = { .sun_family = AF_UNIX };

		memcpy(addr.sun_path, path, strlen(path));
		bind(fd, (const struct sockaddr *)(const void *)&addr, sizeof(addr));
		close(fd);
	}
	ok(control_new(&m, NULL, path, true, &c, &err) == 0, "in the place of a dead one %s", err.text);
	ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600, "mode 0600");
	answers("it answers");
	pieces();
	too_long();
	stranger();
	paths(NULL);
	few_descriptors();
	crowd();
	control_reload(c);
	answers("after a reload that had nothing to read");
	control_free(c);
	ok(stat(path, &st) < 0, "at the end the socket is gone");
	site_free(m.site);
	rmdir(dir);
	return tap_done();
}
