/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets on epoll. A stream is registered once, edge-triggered, for both directions: no second
 * epoll_ctl() in its life, and no event for a socket that nobody waits for (level-triggered, a peer's
 * bytes that nobody reads would keep the loop awake for ever).
 *
 * Edges are remembered. `readable` means that a receive may find something, and is taken back by one
 * that found nothing or less than it asked for: whatever arrives after that is a new edge. The end of
 * stream may have arrived together with the bytes before it, in one edge, so once it was seen the
 * socket stays readable.
 */
#include <errno.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "io/epoll.h"
#include "io/sock.h"

/* As in uring-net.c: receives of a stream in one turn before the others get theirs. */
#define TRIES_PER_TURN 4

struct epoll_listener {
	struct io_listener base;
	int fd;
	struct io_addr addr;
	bool ready; /* an accept may find somebody */
};

struct epoll_stream {
	struct io_stream base;
	int fd;
	bool local;         /* not TCP */
	bool readable;      /* a receive may find something */
	bool ended;         /* end of stream or an error was seen coming */
	bool more;          /* of the pending send */
	bool shutdown;      /* once the pending send is done */
	unsigned int tries; /* in turn `turn` */
	uint64_t turn;
	struct list link; /* epoll.ready or epoll.empty, while a receive is pending */
	bool counted;     /* in epoll.empty_count */
};

static struct epoll_listener *listener_of(struct io_listener *l)
{
	return container_of(l, struct epoll_listener, base);
}

static struct epoll_stream *stream_of(struct io_stream *s)
{
	return container_of(s, struct epoll_stream, base);
}

static bool waiting(const struct io_op *op)
{
	return op && !(op->flags & IO_OP_FINISHED);
}

static int watch(struct epoll *e, int fd, uint32_t events, const void *obj, enum epoll_tag tag)
{
	struct epoll_event ev = { .events = events, .data.u64 = (uintptr_t)obj | tag };

	return epoll_ctl(e->fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* ---- listeners ------------------------------------------------------------------------------- */

int epoll_listen(struct io_loop *loop, const struct io_addr *addr,
		 const struct io_listen_options *opts, struct io_listener **ret_l, struct err *err)
{
	struct epoll_listener *l = mem_zalloc(sizeof(*l));
	struct epoll *e = epoll_of(loop);
	int r;

	if (!l)
		return err_set(err, ENOMEM, "cannot listen: no memory");
	r = io_fd_listen(addr, opts, &l->fd, &l->addr, err);
	if (r < 0)
		goto free_listener;
	r = watch(e, l->fd, EPOLLIN | EPOLLET, l, EPOLL_TAG_LISTENER);
	if (r < 0) {
		err_set(err, -r, "cannot listen: the system's limit of watched sockets is reached");
		goto close_fd;
	}
	l->base.loop = loop;
	e->attached++;
	*ret_l = &l->base;
	return 0;

close_fd:
	io_fd_close(l->fd, false);
free_listener:
	mem_free(l);
	return r;
}

const struct io_addr *epoll_listener_addr(const struct io_listener *l)
{
	const struct epoll_listener *own = (const void *)l; /* base is its first member */

	return &own->addr;
}

/* A connection that could not be had (-EMFILE) is still there: only -EAGAIN waits for an edge. */
static void accept_try(struct epoll_listener *l, struct io_op *op)
{
	int r = io_fd_accept(l->fd, &op->sock);

	l->ready = r != -EAGAIN;
	if (r != -EAGAIN)
		io_op_finish(op, r);
}

void epoll_accept(struct io_listener *base, struct io_op *op)
{
	struct epoll_listener *l = listener_of(base);

	if (l->ready)
		accept_try(l, op);
}

void epoll_listener_close(struct io_listener *base)
{
	struct epoll_listener *l = listener_of(base);

	if (waiting(base->accept))
		io_op_finish(base->accept, -ECANCELED);
	epoll_of(base->loop)->attached--;
	io_fd_close(l->fd, false);
	mem_free(l);
}

/* ---- connecting -------------------------------------------------------------------------------- */

/* io_op.impl[3] of a connect: its descriptor. */

void epoll_connect(struct io_loop *loop, struct io_op *op, const struct io_addr *addr,
		   const struct io_addr *local)
{
	int fd, r = io_fd_connect(addr, local, &fd);

	if (r == -EINPROGRESS) {
		r = watch(epoll_of(loop), fd, EPOLLOUT | EPOLLONESHOT, op, EPOLL_TAG_CONNECT);
		op->impl[3] = (uint64_t)fd;
		if (r == 0)
			return;
		io_fd_close(fd, false);
	} else if (r == 0) {
		r = io_fd_connected(fd, &op->sock);
	}
	io_op_finish(op, r);
}

static void connect_event(struct epoll *e, struct io_op *op)
{
	int fd = (int)op->impl[3];

	/* It may live on in another loop, and must not tell this one of it. */
	epoll_ctl(e->fd, EPOLL_CTL_DEL, fd, NULL);
	io_op_finish(op, io_fd_connected(fd, &op->sock));
}

void epoll_net_cancel(struct epoll *e, struct io_op *op)
{
	if (op->kind == IO_OP_CONNECT)
		io_fd_close((int)op->impl[3], false);
	io_op_finish(op, -ECANCELED);
}

/* ---- streams ----------------------------------------------------------------------------------- */

int epoll_stream_new(struct io_loop *loop, struct io_sock *sock,
		     const struct io_stream_options *opts, struct io_stream **ret_stream)
{
	struct epoll_stream *s = mem_zalloc(sizeof(*s));
	int r;

	if (!s) {
		io_sock_close(sock);
		return -ENOMEM;
	}
	s->base.loop = loop;
	list_init(&s->link);
	s->fd = io_fd_sock_take(sock, &s->base);
	s->local = s->base.local.ss.ss_family == AF_UNIX;
	r = io_fd_tune(s->fd, !s->local, opts);
	if (r == 0)
		r = watch(epoll_of(loop), s->fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, s,
			  EPOLL_TAG_STREAM);
	if (r < 0) {
		io_fd_close(s->fd, false);
		mem_free(s);
		return r;
	}
	epoll_of(loop)->attached++;
	*ret_stream = &s->base;
	return 0;
}

static void unlist(struct epoll *e, struct epoll_stream *s)
{
	list_del(&s->link);
	if (s->counted)
		e->empty_count--;
	s->counted = false;
}

static void enlist(struct epoll *e, struct epoll_stream *s)
{
	unlist(e, s);
	if (s->readable) {
		list_add_tail(&e->ready, &s->link);
	} else {
		list_add_tail(&e->empty, &s->link);
		s->counted = true;
		e->empty_count++;
	}
}

/* One attempt; false: nothing there. */
static bool recv_try(struct epoll_stream *s, struct io_op *op)
{
	int64_t n = io_fd_recv(s->fd, op->iov, op->niov);

	/* Sockets of the local family may end a receive early for reasons of their own. */
	s->readable = s->ended || (n != -EAGAIN && (s->local || (uint64_t)n >= op->length));
	if (n == -EAGAIN) {
		s->readable = false;
		return false;
	}
	io_op_finish(op, n);
	return true;
}

void epoll_recv(struct io_stream *base, struct io_op *op)
{
	struct epoll_stream *s = stream_of(base);
	struct epoll *e = epoll_of(base->loop);

	op->length = 0;
	for (int i = 0; i < op->niov; i++)
		op->length += op->iov[i].iov_len;
	if (s->turn != e->turn) {
		s->turn = e->turn;
		s->tries = 0;
	}
	if (!s->readable || s->tries++ >= TRIES_PER_TURN || !recv_try(s, op))
		enlist(e, s);
}

static void try_list(struct epoll *e, struct list *list)
{
	struct epoll_stream *s, *tmp;

	list_for_each_entry_safe(s, tmp, list, link) {
		if (recv_try(s, s->base.recv))
			unlist(e, s);
		else if (!s->counted)
			enlist(e, s); /* among the empty ones */
	}
}

void epoll_net_try_ready(struct epoll *e)
{
	try_list(e, &e->ready);
}

void epoll_net_try_empty(struct epoll *e)
{
	try_list(e, &e->empty);
}

static bool send_try(struct epoll_stream *s, struct io_op *op)
{
	/* A wait for room: whoever waits finds out whether there is, or what is wrong. */
	int64_t n = op->kind == IO_OP_ROOM ? 0 : io_fd_send(s->fd, op->iov, op->niov, s->more);

	if (n == -EAGAIN)
		return false;
	io_op_finish(op, n);
	if (s->shutdown)
		io_fd_shutdown(s->fd);
	return true;
}

void epoll_send(struct io_stream *base, struct io_op *op, bool more)
{
	struct epoll_stream *s = stream_of(base);

	s->more = more;
	send_try(s, op);
}

int64_t epoll_send_now(struct io_stream *base, const struct iovec *iov, int niov, bool more)
{
	return io_fd_send(stream_of(base)->fd, iov, niov, more);
}

/* The attempt that failed has asked the kernel for the event. */
void epoll_wait_room(struct io_stream *base, struct io_op *op)
{
}

static void stream_event(struct epoll *e, struct epoll_stream *s, uint32_t events)
{
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		s->ended = true;
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
		s->readable = true;
		if (waiting(s->base.recv) && recv_try(s, s->base.recv))
			unlist(e, s);
	}
	if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) && waiting(s->base.send))
		send_try(s, s->base.send);
}

void epoll_shutdown(struct io_stream *base)
{
	struct epoll_stream *s = stream_of(base);

	if (waiting(base->send))
		s->shutdown = true;
	else
		io_fd_shutdown(s->fd);
}

void epoll_stream_close(struct io_stream *base, bool reset)
{
	struct epoll_stream *s = stream_of(base);
	struct epoll *e = epoll_of(base->loop);

	unlist(e, s);
	if (waiting(base->recv))
		io_op_finish(base->recv, -ECANCELED);
	if (waiting(base->send))
		io_op_finish(base->send, -ECANCELED);
	e->attached--;
	io_fd_close(s->fd, reset);
	mem_free(s);
}

/* ---- events -------------------------------------------------------------------------------------- */

void epoll_net_event(struct epoll *e, enum epoll_tag tag, void *obj, uint32_t events)
{
	struct epoll_listener *l = obj;

	switch (tag) {
	case EPOLL_TAG_LISTENER:
		l->ready = true;
		if (waiting(l->base.accept))
			accept_try(l, l->base.accept);
		break;
	case EPOLL_TAG_STREAM:
		stream_event(e, obj, events);
		break;
	case EPOLL_TAG_CONNECT:
		connect_event(e, obj);
		break;
	case EPOLL_TAG_WAKE:
		break;
	}
}
