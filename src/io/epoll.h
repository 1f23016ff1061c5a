/* SPDX-License-Identifier: Apache-2.0 */
/* What the two parts of the epoll implementation share: epoll.c (turn, sleep) and epoll-net.c. */
#ifndef PENSTOCK_IO_EPOLL_H
#define PENSTOCK_IO_EPOLL_H

#include <sys/epoll.h>

#include "base/util.h"
#include "io/clock.h"
#include "io/ops.h"
#include "io/pool.h"
#include "io/wake.h"

struct epoll {
	struct io_loop base;
	int fd;
	struct io_wake wake;
	struct io_spin spin;
	struct io_pool pool;
	struct list ready; /* epoll_stream.link: a receive is pending and there may be data */
	struct list empty; /* epoll_stream.link: a receive is pending and there was none */
	unsigned int empty_count;
	unsigned int attached; /* streams and listeners */
	uint64_t turn;
	bool skipped;   /* the last poll did not ask the kernel */
	bool no_pwait2; /* epoll_pwait2(2) is Linux 5.11, and some containers refuse it */
};

static inline struct epoll *epoll_of(struct io_loop *loop)
{
	return container_of(loop, struct epoll, base);
}

/* Low bits of epoll_event.data: what the pointer above them is. */
enum epoll_tag { EPOLL_TAG_WAKE, EPOLL_TAG_LISTENER, EPOLL_TAG_STREAM, EPOLL_TAG_CONNECT };
#define EPOLL_TAG_MASK 3

/* ---- epoll-net.c ------------------------------------------------------------------------- */

/* Receives that spinning tries by itself; for more, one epoll_wait() is cheaper. */
#define EPOLL_HOT 4

/* The kernel says that @events happened to the object behind @tag. */
void epoll_net_event(struct epoll *e, enum epoll_tag tag, void *obj, uint32_t events);
/* One attempt for each receive that may find data. */
void epoll_net_try_ready(struct epoll *e);
/* One attempt for each that found none: while spinning. */
void epoll_net_try_empty(struct epoll *e);
/* Accept or connect. */
void epoll_net_cancel(struct epoll *e, struct io_op *op);

int epoll_listen(struct io_loop *loop, const struct io_addr *addr,
		 const struct io_listen_options *opts, struct io_listener **ret_l, struct err *err);
const struct io_addr *epoll_listener_addr(const struct io_listener *l);
void epoll_accept(struct io_listener *l, struct io_op *op);
void epoll_listener_close(struct io_listener *l);
void epoll_connect(struct io_loop *loop, struct io_op *op, const struct io_addr *addr,
		   const struct io_addr *local);
int epoll_stream_new(struct io_loop *loop, struct io_sock *s, const struct io_stream_options *opts,
		     struct io_stream **ret_stream);
void epoll_recv(struct io_stream *s, struct io_op *op);
void epoll_send(struct io_stream *s, struct io_op *op, bool more);
int64_t epoll_send_now(struct io_stream *s, const struct iovec *iov, int niov, bool more);
void epoll_wait_room(struct io_stream *s, struct io_op *op);
void epoll_shutdown(struct io_stream *s);
void epoll_stream_close(struct io_stream *s, bool reset);

#endif
