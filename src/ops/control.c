/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket; the idea is in control.h. Sockets of its own and not those of src/io: what is
 * asked here may wait for every core of the target, so it must not run on one of them.
 */
#include "ops/control.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/util.h"

/* A request is a line that a program writes at once; an answer one that it waits for. */
#define PATIENCE_MS 10000
/* Clients beyond CONTROL_CLIENTS wait for their turn here. */
#define BACKLOG 128
/* Without descriptors or memory a client stays in the backlog, and is looked at again after this. */
#define DEAF_MS 100

struct client {
	int fd; /* -1: free */
	uid_t uid;
	pid_t pid;
	char *in; /* CONTROL_REQUEST_MAX bytes */
	size_t in_len;
	char *out; /* an answer on its way, or NULL */
	size_t out_len, out_at;
	bool refused; /* ends after the answer */
	uint64_t since;
};

struct control {
	const struct methods *m;
	const struct log *log;
	pthread_t thread;
	int wake[2]; /* a pipe: something is to be done. What, the flags say: a pipe may be full */
	atomic_bool stop, again;
	int listen_fd; /* -1: none */
	uint64_t deaf_until; /* ms: nobody is accepted before; poll(2) would say again and again that one waits */
	char path[CONTROL_PATH_MAX];
	struct client clients[CONTROL_CLIENTS];
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* ---- clients --------------------------------------------------------------------------------- */

static void drop(struct client *x)
{
	close(x->fd);
	x->in = mem_free(x->in);
	x->out = mem_free(x->out);
	x->fd = -1;
}

static void answer(struct client *x, char *text)
{
	x->out = text;
	x->out_len = text ? strlen(text) : 0;
	x->out_at = 0;
	x->since = now_ms();
	if (!text)
		drop(x);
}

static void refuse(struct control *c, struct client *x, const char *code, const char *why)
{
	char line[512];

	snprintf(line, sizeof(line),
		 "{\"schema\":\"" CONTROL_SCHEMA "\",\"ok\":false,\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}\n",
		 code, why);
	log_event(c->log, LOG_LEVEL_WARN, "control_refused", LOG_STR("why", why), LOG_U64("uid", x->uid),
		  LOG_I64("pid", x->pid));
	x->refused = true;
	answer(x, mem_strdup(line));
}

/* The user that the target runs as, or root. */
static bool may_ask(struct client *x)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);

	x->uid = (uid_t)-1;
	if (getsockopt(x->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return false;
	x->uid = cred.uid;
	x->pid = cred.pid;
	return cred.uid == 0 || cred.uid == geteuid();
}

static void welcome(struct control *c)
{
	struct client *x = NULL;
	int fd = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			c->deaf_until = now_ms() + DEAF_MS;
		return;
	}
	for (size_t i = 0; i < CONTROL_CLIENTS && !x; i++)
		if (c->clients[i].fd < 0)
			x = &c->clients[i];
	INVARIANT(x); /* or the socket would not have been looked at */
	*x = (struct client){ .fd = fd, .since = now_ms(), .in = mem_alloc(CONTROL_REQUEST_MAX) };
	if (!x->in)
		drop(x);
	else if (!may_ask(x))
		refuse(c, x, "EPERM", "only the user that the target runs as, and root, may ask");
}

/* A whole line is a request; what is behind it comes after its answer. */
static void next_request(struct control *c, struct client *x)
{
	char *end = memchr(x->in, '\n', x->in_len);
	size_t n;

	if (!end && x->in_len == CONTROL_REQUEST_MAX)
		refuse(c, x, "E2BIG", "a request is one line of at most 64 KiB");
	if (!end)
		return;
	n = (size_t)(end - x->in);
	answer(x, methods_answer(c->m, x->in, n));
	if (x->fd < 0)
		return;
	x->in_len -= n + 1;
	memmove(x->in, end + 1, x->in_len);
}

static void receive(struct control *c, struct client *x)
{
	ssize_t n = recv(x->fd, x->in + x->in_len, CONTROL_REQUEST_MAX - x->in_len, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(x);
		return;
	}
	x->in_len += (size_t)n;
	next_request(c, x);
}

static void transmit(struct control *c, struct client *x)
{
	ssize_t n = send(x->fd, x->out + x->out_at, x->out_len - x->out_at, MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		drop(x);
		return;
	}
	x->out_at += (size_t)n;
	if (x->out_at < x->out_len)
		return;
	x->out = mem_free(x->out);
	x->since = now_ms();
	if (x->refused)
		drop(x);
	else
		next_request(c, x);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void reload(struct control *c)
{
	struct site_changes changes = { 0 };
	struct err err = ERR_NULL;
	size_t other = 0;

	if (methods_reload(c->m, &changes, &err) < 0) {
		log_event(c->log, LOG_LEVEL_ERROR, "reload_failed", LOG_STR("error", err_text(&err)),
			  LOG_STR("hint", "the configuration of before stays in force, all of it"));
		return;
	}
	for (size_t i = 0; i < changes.count; i++)
		other += !changes.items[i].live;
	log_event(c->log, LOG_LEVEL_INFO, "reloaded", LOG_U64("changes", changes.count - other),
		  LOG_U64("not_changed", other));
	site_changes_deinit(&changes);
}

/* False: it is over. */
static bool on_wake(struct control *c)
{
	char letters[64];

	(void)!read(c->wake[0], letters, sizeof(letters));
	if (atomic_load(&c->stop))
		return false;
	/* However often it was asked for meanwhile, once is enough. */
	if (atomic_exchange(&c->again, false))
		reload(c);
	site_settle(c->m->site, 0);
	return true;
}

/*
 * What poll(2) is to look at: the pipe, the socket while there is room, the clients. No more than there
 * are: it refuses more entries than the process may have descriptors.
 */
struct interests {
	struct pollfd fds[2 + CONTROL_CLIENTS];
	struct client *whose[2 + CONTROL_CLIENTS]; /* NULL: the pipe's, the socket's */
	nfds_t count;
};

static void interest(struct interests *p, int fd, short events, struct client *whose)
{
	p->fds[p->count] = (struct pollfd){ .fd = fd, .events = events };
	p->whose[p->count++] = whose;
}

static void interests(struct control *c, struct interests *p)
{
	bool room = false;

	p->count = 0;
	interest(p, c->wake[0], POLLIN, NULL);
	for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
		struct client *x = &c->clients[i];

		if (x->fd >= 0)
			interest(p, x->fd, x->out ? POLLOUT : POLLIN, x);
		room |= x->fd < 0;
	}
	if (room && c->listen_fd >= 0 && now_ms() >= c->deaf_until)
		interest(p, c->listen_fd, POLLIN, NULL);
}

/* Closes who is too slow; ms until that may matter, -1: never. */
static int overdue(struct control *c)
{
	uint64_t now = now_ms();
	int wait = now < c->deaf_until ? DEAF_MS : -1;

	for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
		struct client *x = &c->clients[i];
		uint64_t left;

		if (x->fd < 0)
			continue;
		if (now >= x->since + PATIENCE_MS) {
			drop(x);
			continue;
		}
		left = x->since + PATIENCE_MS - now;
		wait = wait < 0 ? (int)left : MIN(wait, (int)left);
	}
	return wait;
}

static void serve(struct control *c, const struct interests *p)
{
	for (nfds_t i = 1; i < p->count; i++) {
		if (!p->fds[i].revents)
			continue;
		if (!p->whose[i])
			welcome(c);
		else if (p->whose[i]->out)
			transmit(c, p->whose[i]);
		else
			receive(c, p->whose[i]);
	}
}

static void *control_main(void *arg)
{
	struct control *c = arg;
	struct interests p;

	for (;;) {
		int wait = overdue(c);

		interests(c, &p);
		if (poll(p.fds, p.count, wait) < 0) {
			/* The kernel has no memory, or the limit of descriptors was lowered below what we have. */
			if (errno != EINTR)
				nanosleep(&(struct timespec){ .tv_nsec = DEAF_MS * 1000000L }, NULL);
			p.fds[0].revents = POLLIN;
			p.count = 1;
		}
		if (p.fds[0].revents && !on_wake(c))
			break;
		serve(c, &p);
	}
	return NULL;
}

/* ---- making one ------------------------------------------------------------------------------ */

static bool answered(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool yes = fd >= 0 && connect(fd, (const struct sockaddr *)(const void *)addr, sizeof(*addr)) == 0;

	if (fd >= 0)
		close(fd);
	return yes;
}

/* The directory of the default path is ours to make; any other is the user's. */
static void make_directory(const char *path)
{
	char copy[CONTROL_PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	mkdir(dirname(copy), 0755);
}

static int bind_to(struct control *c, const struct sockaddr_un *addr, struct err *err)
{
	const struct sockaddr *sa = (const struct sockaddr *)(const void *)addr;
	struct stat st;
	int r;

	/* Of a socket that is not bound yet: the file will be made with it, never open to others. */
	if (fchmod(c->listen_fd, 0600) < 0)
		return err_set(err, errno, "%s: %s", c->path, strerror(errno));
	r = bind(c->listen_fd, sa, sizeof(*addr));
	if (r < 0 && errno == EADDRINUSE) {
		if (lstat(c->path, &st) < 0 || !S_ISSOCK(st.st_mode))
			return err_set(err, EEXIST, "%s: there is a file, and it is no socket", c->path);
		if (answered(addr))
			return err_set(err, EADDRINUSE,
				       "%s: another target answers there; give this one a path of its own "
				       "(--control)",
				       c->path);
		unlink(c->path);
		r = bind(c->listen_fd, sa, sizeof(*addr));
	}
	if (r < 0)
		return err_set(err, errno, "%s: %s", c->path, strerror(errno));
	if (chmod(c->path, 0600) < 0 || listen(c->listen_fd, BACKLOG) < 0) {
		r = err_set(err, errno, "%s: %s", c->path, strerror(errno));
		unlink(c->path);
		return r;
	}
	return 0;
}

static int open_socket(struct control *c, const char *path, struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int r;

	if (strlen(path) >= sizeof(addr.sun_path))
		return err_set(err, ENAMETOOLONG, "%s: longer than %zu bytes", path, sizeof(addr.sun_path) - 1);
	memcpy(addr.sun_path, path, strlen(path));
	snprintf(c->path, sizeof(c->path), "%s", path);
	c->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listen_fd < 0)
		return err_set(err, errno, "cannot make a socket: %s", strerror(errno));
	r = bind_to(c, &addr, err);
	if (r < 0) {
		close(c->listen_fd);
		c->listen_fd = -1;
	}
	return r;
}

static void wake(void *arg)
{
	struct control *c = arg;

	(void)!write(c->wake[1], "", 1);
}

static int start(struct control *c, const char *path, bool must, struct err *err)
{
	sigset_t all, old;
	int r = 0;

	if (pipe2(c->wake, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(err, errno, "cannot make a pipe: %s", strerror(errno));
	if (path && !must)
		make_directory(path);
	if (path)
		r = open_socket(c, path, err);
	if (r < 0 && must)
		return err_prefix(err, "control socket");
	if (r < 0)
		log_event(c->log, LOG_LEVEL_INFO, "no_control_socket", LOG_STR("why", err_text(err)));
	/* Signals are the main thread's: their handlers must not find this one in a lock. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&c->thread, NULL, control_main, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r != 0)
		return err_set(err, r, "cannot start a thread: %s", strerror(r));
	site_set_wake(c->m->site, wake, c);
	return 0;
}

static struct control *dispose(struct control *c)
{
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		if (c->clients[i].fd >= 0)
			drop(&c->clients[i]);
	if (c->listen_fd >= 0) {
		close(c->listen_fd);
		unlink(c->path);
	}
	if (c->wake[0] >= 0) {
		close(c->wake[0]);
		close(c->wake[1]);
	}
	return mem_free(c);
}

int control_new(const struct methods *m, const struct log *log, const char *path, bool must,
		struct control **ret_control, struct err *err)
{
	struct control *c = mem_zalloc(sizeof(*c));
	int r;

	if (!c)
		return err_set(err, ENOMEM, "out of memory");
	c->m = m;
	c->log = log;
	c->listen_fd = c->wake[0] = c->wake[1] = -1;
	for (size_t i = 0; i < CONTROL_CLIENTS; i++)
		c->clients[i].fd = -1;
	r = start(c, path, must, err);
	if (r < 0) {
		dispose(c);
		return r;
	}
	*ret_control = c;
	return 0;
}

void control_reload(struct control *c)
{
	int was = errno;

	atomic_store(&c->again, true);
	wake(c);
	errno = was;
}

struct control *control_free(struct control *c)
{
	if (!c)
		return NULL;
	site_set_wake(c->m->site, NULL, NULL);
	atomic_store(&c->stop, true);
	wake(c);
	pthread_join(c->thread, NULL);
	return dispose(c);
}
