/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets without waiting; see sock.h. What is decided here is decided once for io_uring and epoll:
 * options, which errors of accept(2) are the listener's and which only a lost connection's, and
 * sentences for people.
 */
#include "io/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/util.h"

#define DEFAULT_BACKLOG 1024
/* Connections lost between the peer's SYN and our accept(2) that one attempt skips over. */
#define ACCEPT_SKIPS 64

static const struct sockaddr *sockaddr_of(const struct io_addr *a)
{
	return (const struct sockaddr *)(const void *)&a->ss;
}

/* ---- socks ------------------------------------------------------------------------------------- */

static void fd_sock_close(struct io_sock *s)
{
	struct io_fd_sock *fs = container_of(s, struct io_fd_sock, base);

	close(fs->fd);
	mem_free(fs);
}

static const struct io_sock_ops fd_sock_ops = { .close = fd_sock_close };

/* The names may be gone already (a connection reset while it waited); then they stay empty. */
static void read_names(int fd, struct io_addr *peer, struct io_addr *local)
{
	local->len = peer->len = sizeof(peer->ss);
	if (getsockname(fd, (struct sockaddr *)(void *)&local->ss, &local->len) < 0)
		*local = (struct io_addr){ .len = 0 };
	if (getpeername(fd, (struct sockaddr *)(void *)&peer->ss, &peer->len) < 0)
		*peer = (struct io_addr){ .len = 0 };
}

/* Takes @fd over, also on error. */
static int fd_sock_new(int fd, struct io_sock **ret_sock)
{
	struct io_fd_sock *fs = mem_zalloc(sizeof(*fs));

	if (!fs) {
		close(fd);
		return -ENOMEM;
	}
	fs->base.ops = &fd_sock_ops;
	fs->fd = fd;
	read_names(fd, &fs->base.peer, &fs->base.local);
	*ret_sock = &fs->base;
	return 0;
}

int io_fd_sock_take(struct io_sock *s, struct io_stream *stream)
{
	struct io_fd_sock *fs = container_of(s, struct io_fd_sock, base);
	int fd = fs->fd;

	INVARIANT(s->ops == &fd_sock_ops);
	stream->peer = s->peer;
	stream->local = s->local;
	mem_free(fs);
	return fd;
}

int io_fd_sock_pair(struct io_loop *loop, struct io_sock **ret_a, struct io_sock **ret_b)
{
	struct io_sock *a, *b;
	int fds[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	r = fd_sock_new(fds[0], &a);
	if (r < 0) {
		close(fds[1]);
		return r;
	}
	r = fd_sock_new(fds[1], &b);
	if (r < 0) {
		io_sock_close(a);
		return r;
	}
	*ret_a = a;
	*ret_b = b;
	return 0;
}

/* ---- listening --------------------------------------------------------------------------------- */

static int listen_error(int code, const struct io_addr *addr, struct err *err)
{
	const char *why = strerror(code);
	char text[IO_ADDR_TEXT];

	switch (code) {
	case EADDRINUSE:
		why = "the address is in use, perhaps by another server";
		break;
	case EADDRNOTAVAIL:
		why = "no interface of this machine has that address";
		break;
	case EACCES:
		why = "this port needs a privilege that this process lacks";
		break;
	}
	io_addr_format(addr, text);
	return err_set(err, code, "cannot listen on %s: %s", text, why);
}

static int listen_on(int fd, const struct io_addr *addr, const struct io_listen_options *opts,
		     struct io_addr *ret_bound)
{
	static const int one = 1;
	int v6only = opts && opts->v6only;
	int backlog = opts && opts->backlog > 0 ? opts->backlog : DEFAULT_BACKLOG;

	/* Without it a restarted server would wait for its old connections' TIME_WAIT. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0)
		return -errno;
	/* Always said: the system's default differs. */
	if (io_addr_is_v6(addr) &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only)) < 0)
		return -errno;
	if (bind(fd, sockaddr_of(addr), addr->len) < 0)
		return -errno;
	if (listen(fd, backlog) < 0)
		return -errno;
	ret_bound->len = sizeof(ret_bound->ss);
	if (getsockname(fd, (struct sockaddr *)(void *)&ret_bound->ss, &ret_bound->len) < 0)
		return -errno;
	return 0;
}

int io_fd_listen(const struct io_addr *addr, const struct io_listen_options *opts, int *ret_fd,
		 struct io_addr *ret_bound, struct err *err)
{
	struct io_addr bound;
	int fd, r;

	fd = socket(addr->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return listen_error(errno, addr, err);
	r = listen_on(fd, addr, opts, &bound);
	if (r < 0) {
		close(fd);
		return listen_error(-r, addr, err);
	}
	*ret_fd = fd;
	*ret_bound = bound;
	return 0;
}

static bool readable_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* Errors that accept(2) hands on from a connection that is already dead. */
static bool lost_connection(int code)
{
	switch (code) {
	case ECONNABORTED:
	case EPROTO:
	case ENOPROTOOPT:
	case ENETDOWN:
	case ENETUNREACH:
	case EHOSTDOWN:
	case EHOSTUNREACH:
	case ENONET:
	case EOPNOTSUPP:
	case ETIMEDOUT:
	case EINTR:
		return true;
	default:
		return false;
	}
}

int io_fd_accept(int listen_fd, struct io_sock **ret_sock)
{
	int fd, code;

	for (int i = 0; i < ACCEPT_SKIPS; i++) {
		fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			return fd_sock_new(fd, ret_sock);
		code = errno;
		/* The kernel looks for a descriptor before it looks whether anybody waits. */
		if ((code == EMFILE || code == ENFILE) && !readable_now(listen_fd))
			return -EAGAIN;
		if (!lost_connection(code))
			return -code;
	}
	return -EAGAIN;
}

/* ---- connecting -------------------------------------------------------------------------------- */

int io_fd_connect(const struct io_addr *addr, const struct io_addr *local, int *ret_fd)
{
	static const int one = 1;
	int fd, r = 0;

	fd = socket(addr->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* A local address without a port: let connect(2) choose it, which knows the peer and may share. */
	if (local && io_addr_port(local) == 0)
		setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
	if (local && bind(fd, sockaddr_of(local), local->len) < 0)
		r = -errno;
	else if (connect(fd, sockaddr_of(addr), addr->len) < 0)
		r = errno == EINTR ? -EINPROGRESS : -errno;
	if (r < 0 && r != -EINPROGRESS) {
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return r;
}

int io_fd_connected(int fd, struct io_sock **ret_sock)
{
	socklen_t len = sizeof(int);
	struct io_sock *s;
	int code = 0, r;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0)
		code = errno;
	/* Blocking from now on: see sock.h. */
	if (code == 0 && fcntl(fd, F_SETFL, 0) < 0)
		code = errno;
	if (code != 0) {
		close(fd);
		return -code;
	}
	r = fd_sock_new(fd, &s);
	if (r < 0)
		return r;
	/*
	 * A connect to a port of this machine where nobody listens may be given that very port as
	 * its own, and TCP's simultaneous open then connects it to itself.
	 */
	if (io_addr_equal(&s->peer, &s->local)) {
		io_sock_close(s);
		return -ECONNREFUSED;
	}
	*ret_sock = s;
	return 0;
}

/* ---- streams ----------------------------------------------------------------------------------- */

#define KEEPALIVE_PROBES 3
#define KEEPALIVE_MAX	 32767 /* s: what the kernel takes */

static int keepalive(int fd, uint64_t ns)
{
	static const int one = 1, probes = KEEPALIVE_PROBES;
	uint64_t s = DIV_ROUND_UP(ns, UINT64_C(1000000000));
	int idle = (int)MIN(s, (uint64_t)KEEPALIVE_MAX);
	int interval = MAX(idle / (2 * KEEPALIVE_PROBES), 1);

	if (setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)) < 0)
		return -errno;
	return 0;
}

int io_fd_tune(int fd, bool tcp, const struct io_stream_options *opts)
{
	int r;

	static const int one = 1;
	int size;

	if (tcp && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
		return -errno;
	if (!opts)
		return 0;
	if (tcp && opts->user_timeout_ns > 0) {
		uint64_t ms =
			MIN(DIV_ROUND_UP(opts->user_timeout_ns, 1000000), (uint64_t)INT32_MAX);
		unsigned int timeout = (unsigned int)ms;

		if (setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout)) < 0)
			return -errno;
	}
	if (tcp && opts->keepalive_ns > 0) {
		r = keepalive(fd, opts->keepalive_ns);
		if (r < 0)
			return r;
	}
	/* The kernel doubles the value for its own bookkeeping and caps it by its limits. */
	size = (int)MIN(opts->send_buffer, (size_t)INT32_MAX / 2);
	if (size > 0 && setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) < 0)
		return -errno;
	size = (int)MIN(opts->recv_buffer, (size_t)INT32_MAX / 2);
	if (size > 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) < 0)
		return -errno;
	return 0;
}

int64_t io_fd_recv(int fd, const struct iovec *iov, int niov)
{
	struct msghdr msg;
	ssize_t n;

	do {
		if (niov == 1) {
			/* Spares the kernel the copy of a header. */
			n = recv(fd, iov->iov_base, iov->iov_len, MSG_DONTWAIT);
		} else {
			msg = (struct msghdr){ .msg_iov = (struct iovec *)(uintptr_t)iov,
					       .msg_iovlen = (size_t)niov };
			n = recvmsg(fd, &msg, MSG_DONTWAIT);
		}
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

int64_t io_fd_send(int fd, const struct iovec *iov, int niov, bool more)
{
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0);
	struct msghdr msg;
	ssize_t n;

	do {
		if (niov == 1) {
			n = send(fd, iov->iov_base, iov->iov_len, flags);
		} else {
			msg = (struct msghdr){ .msg_iov = (struct iovec *)(uintptr_t)iov,
					       .msg_iovlen = (size_t)niov };
			n = sendmsg(fd, &msg, flags);
		}
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

void io_fd_shutdown(int fd)
{
	/* -ENOTCONN: the connection is gone, and then the peer knows. */
	shutdown(fd, SHUT_WR);
}

void io_fd_close(int fd, bool reset)
{
	static const struct linger abort_now = { .l_onoff = 1, .l_linger = 0 };

	if (reset)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &abort_now, sizeof(abort_now));
	close(fd);
}
