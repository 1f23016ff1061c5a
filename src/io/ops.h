/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ops table behind io.h, for implementations only (uring.c, epoll.c, sim.c): all callbacks
 * are mandatory. What is the same everywhere (timers, deferred functions, messages, the list of
 * finished operations, the order of a turn) is in loop.c and not in the table.
 *
 * Order of a turn, in every implementation: poll, messages, timers, done functions, deferred
 * functions. A done function may submit; what finishes at once is then called in the same turn,
 * up to IO_TURN_BUDGET calls, so that one busy stream cannot starve timers and messages.
 */
#ifndef PENSTOCK_IO_OPS_H
#define PENSTOCK_IO_OPS_H

#include <pthread.h>
#include <stdatomic.h>

#include "io/io.h"

#define IO_TURN_BUDGET 4096 /* calls a turn before timers and messages get their chance again */

enum io_op_kind {
	IO_OP_NONE,
	IO_OP_NOP,
	IO_OP_ACCEPT,
	IO_OP_CONNECT,
	IO_OP_RECV,
	IO_OP_SEND,
	IO_OP_ROOM, /* a stream's send that has no data yet */
	IO_OP_READ,
	IO_OP_WRITE,
	IO_OP_SYNC,
	IO_OP_DISCARD,
	IO_OP_ZERO,
	IO_OP_SAVE, /* io_state_save(): obj is the path */
};

/*
 * io_op.flags: what the kind of operation needs (IO_FILE_DSYNC of a write, IO_ZERO_KEEP of a zero)
 * and two bits of loop.c's and front.c's. FINISHED: it is on the finished list, result set, done not
 * yet called; it must not be finished again. DETACHED: its stream or listener was closed
 * meanwhile; whatever result it is finished with, done sees -ECANCELED (and what was accepted is
 * closed), and the object is not touched again for it.
 */
#define IO_ZERO_KEEP   (1U << 0)
#define IO_OP_DETACHED (1U << 6)
#define IO_OP_FINISHED (1U << 7)

struct io_ops {
	const char *name;
	void (*free)(struct io_loop *loop);

	/*
	 * Wait up to @timeout_ns (0: just look) and move what finished to loop->finished. loop.c
	 * has already capped @timeout_ns by the next timer, and passes 0 when work is waiting. A
	 * message that comes after that must end the wait: see wake. May set loop->now, the time of
	 * this turn, if it has just read the clock; else loop.c reads it.
	 */
	int (*poll)(struct io_loop *loop, uint64_t timeout_ns);
	/* Wake a poll in progress; any thread, async-signal-safe. */
	void (*wake)(struct io_loop *loop);

	uint64_t (*now)(struct io_loop *loop);
	uint64_t (*wall)(struct io_loop *loop);
	void (*random)(struct io_loop *loop, void *buf, size_t n);

	int (*listen)(struct io_loop *loop, const struct io_addr *addr,
		      const struct io_listen_options *opts, struct io_listener **ret_l,
		      struct err *err);
	const struct io_addr *(*listener_addr)(const struct io_listener *l);
	void (*accept)(struct io_listener *l, struct io_op *op);
	void (*listener_close)(struct io_listener *l);
	void (*connect)(struct io_loop *loop, struct io_op *op, const struct io_addr *addr,
			const struct io_addr *local);
	void (*cancel)(struct io_loop *loop, struct io_op *op);

	int (*sock_pair)(struct io_loop *loop, struct io_sock **ret_a, struct io_sock **ret_b);
	int (*stream_new)(struct io_loop *loop, struct io_sock *s,
			  const struct io_stream_options *opts, struct io_stream **ret_stream);
	void (*recv)(struct io_stream *s, struct io_op *op);
	void (*send)(struct io_stream *s, struct io_op *op, bool more);
	int64_t (*send_now)(struct io_stream *s, const struct iovec *iov, int niov, bool more);
	void (*wait_room)(struct io_stream *s, struct io_op *op);
	void (*shutdown)(struct io_stream *s);
	void (*close)(struct io_stream *s, bool reset);

	int (*file_open)(struct io_loop *loop, const char *path, const struct io_file_options *opts,
			 struct io_file **ret_file, struct err *err);
	/* READ, WRITE (IO_FILE_DSYNC), SYNC, DISCARD, ZERO (IO_ZERO_KEEP): op is filled in. */
	void (*file_submit)(struct io_loop *loop, struct io_file *f, struct io_op *op);

	int64_t (*state_load)(struct io_loop *loop, const char *path, void *buf, size_t max,
			      struct err *err);
	void (*state_save)(struct io_loop *loop, struct io_op *op);
};

/* Common heads: each implementation's own struct starts with one of these. */
struct io_sock {
	const struct io_sock_ops *ops; /* close */
	struct io_addr peer;
	struct io_addr local;
};

struct io_sock_ops {
	void (*close)(struct io_sock *s);
};

struct io_stream {
	struct io_loop *loop;
	struct io_addr peer;
	struct io_addr local;
	/* Pending operations, from submit until just before done; kept by front.c and loop.c. */
	struct io_op *recv;
	struct io_op *send;
};

struct io_listener {
	struct io_loop *loop;
	struct io_op *accept; /* pending, as in a stream */
};

struct io_file {
	const struct io_file_ops *ops;
	struct io_file_info info;
};

struct io_file_ops {
	int (*refresh)(struct io_file *f);
	void (*close)(struct io_file *f);
};

struct io_loop {
	const struct io_ops *ops;
	struct list finished;   /* io_op.link: result is set, done not yet called */
	struct list deferred;   /* io_defer.link */
	struct io_timer **heap; /* 1-based binary heap by (deadline, seq) */
	uint32_t heap_len;
	uint32_t heap_cap;
	uint64_t timer_seq;
	uint64_t now; /* of this turn */
	uint64_t spin_ns;
	_Atomic(struct io_msg *) mailbox; /* pushed by any thread, LIFO; reversed when taken */
	atomic_bool stopping;
	atomic_uint callers; /* inside io_post() or io_loop_stop(): not to be freed under them */
	bool in_turn;
};

/* Marks @op pending with everything of an earlier use cleared; the fronts in front.c call it. */
void io_op_begin(struct io_loop *loop, struct io_op *op, enum io_op_kind kind, void *obj);
/* For implementations: put @op on the finished list. */
void io_op_finish(struct io_op *op, int64_t result);
void io_loop_base_init(struct io_loop *loop, const struct io_ops *ops);
void io_loop_base_deinit(struct io_loop *loop);
/* Nanoseconds from now (read anew) until the next timer, capped by @limit_ns. */
uint64_t io_loop_until_timer(struct io_loop *loop, uint64_t limit_ns);

int io_uring_loop_new(const struct io_loop_options *opts, struct io_loop **ret_loop,
		      struct err *err);
int io_epoll_loop_new(const struct io_loop_options *opts, struct io_loop **ret_loop,
		      struct err *err);

#endif
