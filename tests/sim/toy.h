/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A storage service as small as one can be, to try the simulator on: a client puts numbers into
 * slots of a file on a server, one at a time, each acknowledged once durable, and does not give
 * up: it connects again, asks again, until all slots are done. A slot is written with one value
 * only, so asking twice is harmless.
 */
#ifndef TESTS_SIM_TOY_H
#define TESTS_SIM_TOY_H

#include "io/sim.h"

#define TOY_CONNS 16
#define TOY_PORT  700
#define TOY_PATH  "/srv/toy"

struct toy_message {
	uint64_t slot;
	uint64_t value;
};

/* What a slot takes in the file: its message, and padding so that a write has many sectors. */
#define TOY_RECORD 12288

static inline uint64_t toy_offset(uint64_t slot)
{
	return slot * TOY_RECORD;
}

struct toy_server;

struct toy_conn {
	struct toy_server *server;
	struct io_stream *stream; /* NULL: free */
	struct io_op op;          /* receive, write, sync or send: one at a time */
	struct iovec iov, record[2];
	struct toy_message message;
	size_t have;               /* bytes of the message received or sent */
	unsigned int failed_syncs; /* of the server, when the write began */
};

struct toy_server {
	struct io_loop *loop;
	struct io_listener *listener;
	struct io_file *file;
	struct io_op accept;
	struct io_timer again;
	struct toy_conn conn[TOY_CONNS];
	unsigned int busy; /* operations not finished, of connections and of accept */
	bool stopping;
	bool use_sync;             /* write and then sync, instead of a durable write */
	unsigned int failed_syncs; /* each may have lost what others wrote */
};

/* -errno if it could not start. */
int toy_server_start(struct toy_server *s, struct io_loop *loop, bool use_sync);
/* Closes everything; toy_server_stopped() some time later. Takes one that never started. */
void toy_server_stop(struct toy_server *s);
bool toy_server_stopped(const struct toy_server *s);

struct toy_client {
	struct io_loop *loop;
	struct io_addr server;
	struct io_stream *stream;
	struct io_op connect, send, recv;
	struct iovec send_iov, recv_iov;
	struct io_timer again, patience;
	struct toy_message request, reply;
	size_t sent, received;
	uint64_t slot; /* the one asked for now; those below are acknowledged */
	uint64_t slots;
	unsigned int connects;
	bool stopping;
};

void toy_client_start(struct toy_client *c, struct io_loop *loop, const struct io_addr *server,
		      uint64_t slots);
void toy_client_stop(struct toy_client *c);
bool toy_client_stopped(const struct toy_client *c);

/* What slot holds. */
static inline uint64_t toy_value(uint64_t slot)
{
	return slot * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

#endif
