/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/agent-child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/util.h"

#define BARRIER "PENSTOCK_BARRIER"

enum { READY_FD = 3, GO_FD = 4 };

/* ---- starting ------------------------------------------------------------------------------ */

struct pipes {
	int out[2], err[2], ready[2], go[2];
};

static int make_pipes(struct pipes *p)
{
	int *all[] = { p->out, p->err, p->ready, p->go };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (pipe2(all[i], O_CLOEXEC) == 0)
			continue;
		while (i-- > 0) {
			close(all[i][0]);
			close(all[i][1]);
		}
		return -errno;
	}
	return 0;
}

/* Between fork and exec: nothing but system calls. The descriptors are moved up first, out of the way. */
NORETURN static void become(const struct pipes *p, char *const *argv, pid_t parent)
{
	int out = fcntl(p->out[1], F_DUPFD_CLOEXEC, 16), err = fcntl(p->err[1], F_DUPFD_CLOEXEC, 16);
	int ready = fcntl(p->ready[1], F_DUPFD_CLOEXEC, 16), go = fcntl(p->go[0], F_DUPFD_CLOEXEC, 16);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	/* If the agent dies, so does what it started. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL);
	if (getppid() != parent)
		_exit(127);
	if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 || dup2(ready, READY_FD) < 0 ||
	    dup2(go, GO_FD) < 0)
		_exit(127);
	execv("/proc/self/exe", argv);
	_exit(127);
}

int child_start(struct child *c, char *const *argv, struct err *err)
{
	pid_t parent = getpid();
	struct pipes p;
	char barrier[16];
	int rc = make_pipes(&p);

	*c = (struct child){ .out = -1, .err = -1, .ready = -1, .go = -1 };
	if (rc < 0)
		return err_set(err, -rc, "cannot make a pipe: %s", strerror(-rc));
	snprintf(barrier, sizeof(barrier), "%d:%d", READY_FD, GO_FD);
	setenv(BARRIER, barrier, 1);
	c->pid = fork();
	if (c->pid == 0)
		become(&p, argv, parent);
	rc = c->pid < 0 ? -errno : 0;
	unsetenv(BARRIER);
	close(p.out[1]);
	close(p.err[1]);
	close(p.ready[1]);
	close(p.go[0]);
	c->out = p.out[0];
	c->err = p.err[0];
	c->ready = p.ready[0];
	c->go = p.go[1];
	fcntl(c->out, F_SETFL, O_NONBLOCK);
	fcntl(c->err, F_SETFL, O_NONBLOCK);
	fcntl(c->ready, F_SETFL, O_NONBLOCK);
	if (rc < 0) {
		c->pid = 0;
		child_end(c);
		return err_set(err, -rc, "cannot start a process: %s", strerror(-rc));
	}
	return 0;
}

/* ---- looking ------------------------------------------------------------------------------- */

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* -1: nothing now; 0: the end, and it is closed. */
static ssize_t take(int *fd, char *buf, size_t n)
{
	ssize_t got = *fd >= 0 ? read(*fd, buf, n) : 0;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return -1;
	if (got <= 0)
		shut(fd);
	return got > 0 ? got : 0;
}

static void take_text(struct child *c)
{
	char piece[65536];
	ssize_t n;

	while ((n = take(&c->out, piece, sizeof(piece))) > 0) {
		char *p = c->text;

		if (c->len + (size_t)n > CHILD_TEXT_MAX) {
			shut(&c->out);
			break;
		}
		if (c->len + (size_t)n > c->cap) {
			c->cap = MAX(c->cap * 2, c->len + (size_t)n);
			p = mem_realloc(c->text, c->cap);
		}
		if (!p)
			break;
		c->text = p;
		memcpy(c->text + c->len, piece, (size_t)n);
		c->len += (size_t)n;
	}
}

/* The end of what it said is what matters. */
static void take_said(struct child *c)
{
	char piece[1024];
	ssize_t n;

	while ((n = take(&c->err, piece, sizeof(piece))) > 0) {
		size_t room = sizeof(c->said) - 1, all = c->said_len + (size_t)n;
		size_t drop = all > room ? all - room : 0;

		memmove(c->said, c->said + drop, c->said_len - drop);
		c->said_len -= drop;
		memcpy(c->said + c->said_len, piece, (size_t)n);
		c->said_len += (size_t)n;
		c->said[c->said_len] = 0;
	}
}

void child_look(struct child *c)
{
	int status;
	char byte;

	if (take(&c->ready, &byte, 1) > 0)
		c->is_ready = true;
	take_text(c);
	take_said(c);
	/* Its end counts once all that it said has been taken. */
	if (c->pid == 0 || c->ended || c->out >= 0 || waitpid(c->pid, &status, WNOHANG) != c->pid)
		return;
	take_said(c);
	c->ended = true;
	c->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void child_go(struct child *c)
{
	ssize_t n = c->go >= 0 ? write(c->go, "g", 1) : 0;

	(void)n; /* it has ended: child_look() will tell */
}

void child_signal(struct child *c, int sig)
{
	if (c->pid > 0 && !c->ended)
		kill(c->pid, sig);
}

void child_end(struct child *c)
{
	int status;

	if (c->pid > 0 && !c->ended) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, &status, 0);
	}
	shut(&c->out);
	shut(&c->err);
	shut(&c->ready);
	shut(&c->go);
	mem_free(c->text);
	*c = (struct child){ .out = -1, .err = -1, .ready = -1, .go = -1 };
}

/* ---- in the child -------------------------------------------------------------------------- */

static int hold(void *arg)
{
	char byte;
	ssize_t n;

	if (write(READY_FD, "r", 1) != 1)
		return -EPIPE;
	do
		n = read(GO_FD, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : -ECANCELED;
}

child_ready_fn child_barrier(void)
{
	const char *text = getenv(BARRIER);

	return text && strcmp(text, "3:4") == 0 ? hold : NULL;
}
