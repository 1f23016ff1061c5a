/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets as both real implementations use them: descriptors that are set up, tried without waiting
 * and closed. Nothing here waits or knows of a loop; who waits for readiness, and how, is the
 * implementation's business. Never raises SIGPIPE.
 *
 * Data sockets are left in blocking mode and every attempt carries MSG_DONTWAIT: io_uring gives an
 * operation on a non-blocking socket back with -EAGAIN instead of waiting for it.
 */
#ifndef PENSTOCK_IO_SOCK_H
#define PENSTOCK_IO_SOCK_H

#include "io/io.h"
#include "io/ops.h"

/* A connected descriptor that belongs to no loop; any real implementation takes it. */
struct io_fd_sock {
	struct io_sock base;
	int fd;
};

/* Binds and listens; non-blocking. 0 or -errno with a sentence. */
int io_fd_listen(const struct io_addr *addr, const struct io_listen_options *opts, int *ret_fd,
		 struct io_addr *ret_bound, struct err *err);
/* -EAGAIN: nobody is waiting. -EMFILE, -ENFILE, -ENOBUFS, -ENOMEM: somebody is, and cannot be had. */
int io_fd_accept(int listen_fd, struct io_sock **ret_sock);

/* 0: connected. -EINPROGRESS: wait until *ret_fd is writable. Else -errno and no descriptor. */
int io_fd_connect(const struct io_addr *addr, const struct io_addr *local, int *ret_fd);
/* Once writable. Takes @fd over: a sock of it, or -errno and it is closed. */
int io_fd_connected(int fd, struct io_sock **ret_sock);

/* The ops table's sock_pair. */
int io_fd_sock_pair(struct io_loop *loop, struct io_sock **ret_a, struct io_sock **ret_b);
/* Frees @s, which must be an io_fd_sock; its descriptor and addresses go to @stream. */
int io_fd_sock_take(struct io_sock *s, struct io_stream *stream);
/* Sets what every stream gets and what @opts asks for. */
int io_fd_tune(int fd, bool tcp, const struct io_stream_options *opts);

/* One attempt. Bytes, 0 at end of stream (receive), -EAGAIN or another -errno. */
int64_t io_fd_recv(int fd, const struct iovec *iov, int niov);
int64_t io_fd_send(int fd, const struct iovec *iov, int niov, bool more);

void io_fd_shutdown(int fd);
/* @reset: RST instead of FIN. */
void io_fd_close(int fd, bool reset);

#endif
