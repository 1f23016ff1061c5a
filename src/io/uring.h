/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the io_uring implementation share: uring.c (ring, turn, sleep), uring-net.c
 * (streams, listeners, connects) and uring-file.c.
 */
#ifndef PENSTOCK_IO_URING_H
#define PENSTOCK_IO_URING_H

#include <liburing.h>

#include "base/util.h"
#include "io/clock.h"
#include "io/ops.h"
#include "io/pool.h"
#include "io/wake.h"

struct uring {
	struct io_loop base;
	struct io_uring ring;
	struct io_wake wake;
	struct io_spin spin;
	struct io_pool pool;
	struct list want;      /* uring_stream.want: receives not yet in the ring */
	unsigned int wanted;   /* how many */
	struct list backlog;   /* io_op.link: operations that found no room in the ring */
	struct list owed;      /* io_op.link: operations in the ring whose cancel found no room */
	unsigned int attached; /* streams and listeners */
	unsigned int files;    /* operations on files that are in the ring, see uring-file.c */
	uint64_t turn;
	bool poll_first; /* the kernel knows IORING_RECVSEND_POLL_FIRST (5.19) */
	bool wake_armed;
	bool skipped; /* the last poll left the wanted receives for this one */
};

static inline struct uring *uring_of(struct io_loop *loop)
{
	return container_of(loop, struct uring, base);
}

/* io_op.impl[2]: where a pending operation is. [0] and [1] are the pool's, [3] is the operation's. */
enum uring_place {
	URING_NOWHERE, /* with its stream, or finished */
	URING_BACKLOG,
	URING_RING,
	URING_OWED, /* in the ring, and to be cancelled */
	URING_POOL,
};

/*
 * As io_uring_loop_new(), but as on a kernel that has none of @denied (IORING_SETUP_ flags): for
 * tests of the older ways.
 */
int uring_loop_new_without(const struct io_loop_options *opts, unsigned int denied,
			   struct io_loop **ret_loop, struct err *err);

/* Puts @op into the ring, or the backlog if there is no room. */
void uring_start(struct uring *u, struct io_op *op);
/* Puts @op, which needs another try, onto the backlog for the next turn. */
void uring_again(struct uring *u, struct io_op *op);
/* Takes @op out of backlog or pool and finishes it with -ECANCELED, or asks the kernel for it. */
void uring_stop(struct uring *u, struct io_op *op);
/* A place in the ring or NULL, after having tried to make room. */
struct io_uring_sqe *uring_sqe(struct uring *u);

/* ---- uring-net.c -------------------------------------------------------------------------- */

/* Receives that spinning tries by itself; more than these are left to the ring. */
#define URING_HOT 16

void uring_net_prepare(struct uring *u, struct io_op *op, struct io_uring_sqe *sqe);
void uring_net_complete(struct uring *u, struct io_op *op, int res);
/* One attempt for each wanted receive, without the ring. */
void uring_net_try_wanted(struct uring *u);
/* All wanted receives into the ring. */
void uring_net_arm_wanted(struct uring *u);

int uring_listen(struct io_loop *loop, const struct io_addr *addr,
		 const struct io_listen_options *opts, struct io_listener **ret_l, struct err *err);
const struct io_addr *uring_listener_addr(const struct io_listener *l);
void uring_accept(struct io_listener *l, struct io_op *op);
void uring_listener_close(struct io_listener *l);
void uring_connect(struct io_loop *loop, struct io_op *op, const struct io_addr *addr,
		   const struct io_addr *local);
int uring_stream_new(struct io_loop *loop, struct io_sock *s, const struct io_stream_options *opts,
		     struct io_stream **ret_stream);
void uring_recv(struct io_stream *s, struct io_op *op);
void uring_send(struct io_stream *s, struct io_op *op, bool more);
int64_t uring_send_now(struct io_stream *s, const struct iovec *iov, int niov, bool more);
void uring_wait_room(struct io_stream *s, struct io_op *op);
void uring_shutdown(struct io_stream *s);
void uring_close(struct io_stream *s, bool reset);

/* ---- uring-file.c ------------------------------------------------------------------------- */

void uring_file_prepare(struct uring *u, struct io_op *op, struct io_uring_sqe *sqe);
void uring_file_complete(struct uring *u, struct io_op *op, int res);
/* A cancel has been asked for: an interruption is then its end. */
void uring_file_cancelling(struct io_op *op);
void uring_file_submit(struct io_loop *loop, struct io_file *f, struct io_op *op);
void uring_state_save(struct io_loop *loop, struct io_op *op);

#endif
