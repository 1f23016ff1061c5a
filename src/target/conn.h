/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection: an association and the byte stream it lives on. This is the only place of the
 * target where stream operations are.
 *
 * In a turn of the loop a connection takes what was received, at most a budget of it, and all
 * answers of the turn go out in one send at its end. The order of an end is: association dead,
 * stream closed, operations of the stream ended, requests released, store drained, messages of
 * other cores in, freed; each step waits for the one before.
 */
#ifndef PENSTOCK_TARGET_CONN_H
#define PENSTOCK_TARGET_CONN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "io/io.h"
#include "target/assoc.h"

enum {
	TGT_CONN_RECV_IOV = TGT_BUF_IOV + 1,
	/* Sends in one go at most; the kernel takes no more than this many vectors anyway. */
	TGT_CONN_SEND_IOV = IO_MAX_IOV,
	/* Sends in one turn before the others have theirs. */
	TGT_CONN_SENDS = 8,
};

/* What another core wants; bits of tgt_conn.notices. */
enum tgt_notice {
	TGT_NOTICE_GONE = 1 << 0,    /* the controller is gone or was reset: end */
	TGT_NOTICE_FENCE = 1 << 1,   /* the fence was lifted */
	TGT_NOTICE_EVENTS = 1 << 2,  /* events are pending */
	TGT_NOTICE_ABORT = 1 << 3,   /* look into the abort inbox */
	TGT_NOTICE_REPLY = 1 << 4,   /* answers to our own aborts and changes of reservations */
	TGT_NOTICE_BARRIER = 1 << 5, /* a new association of the same host wants us to catch up */
	TGT_NOTICE_WITHDRAW = 1 << 6, /* as tgt_conn_withdraw() */
};

struct tgt_conn {
	struct tgt_assoc assoc; /* first: see tgt_conn_of() */
	struct list link;       /* in its reactor */
	struct io_stream *stream;
	struct io_op recv_op;
	struct io_op room_op; /* the socket is full */
	struct io_timer timer;
	struct io_timer barrier_timer;
	struct io_defer flush;
	struct iovec recv_iov[TGT_CONN_RECV_IOV];
	struct iovec send_iov[TGT_CONN_SEND_IOV];
	bool closing;      /* the association is dead and the end is under way */
	bool shut;         /* end of stream was said to the host */
	bool released;     /* requests are released */
	bool farewell;     /* was told of the end, if it wanted to know */
	bool withdrawn;    /* has lost its right: ends when it is quiet */
	uint64_t receives; /* completed: for barriers */
	atomic_uint notices;
	struct io_msg notice_msg;
	char peer[IO_ADDR_TEXT];
};

static inline struct tgt_conn *tgt_conn_of(struct tgt_assoc *a)
{
	return container_of(a, struct tgt_conn, assoc);
}

/* Takes @sock, also on error. -errno. */
int tgt_conn_new(struct tgt_reactor *r, struct io_sock *sock, struct tgt_listener *l);

/* Output was queued or input may go on: a flush at the end of this turn. */
void tgt_conn_kick(struct tgt_conn *c);
/*
 * Tells the core of @c. Any thread, with the target's lock held and @c known to a controller or an
 * inbox, so that it cannot be freed meanwhile.
 */
void tgt_conn_notify(struct tgt_conn *c, unsigned int notices);
/* The target drains: ends as soon as it is quiet. @now: at once. */
void tgt_conn_drain(struct tgt_conn *c, bool now);
/*
 * It has lost its right to be here: commands in flight are answered, for limits.drain_ns at most.
 * An admin queue takes its controller's I/O queues along.
 */
void tgt_conn_withdraw(struct tgt_conn *c);

#endif
