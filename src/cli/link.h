/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection between bench --clients and an agent: JSON documents, one a line, over a byte stream
 * of the io room. Blocking as its user sees it: a call turns the loop until there is an answer, the
 * peer is gone, or the time is over. Several links may share a loop; each goes on receiving while
 * another one is waited for. A peer can make it hold no more than LINK_LINE_MAX bytes.
 */
#ifndef CLI_LINK_H
#define CLI_LINK_H

#include <json-c/json.h>
#include <stdbool.h>

#include "base/err.h"
#include "io/io.h"

enum { LINK_LINE_MAX = 32 << 20, LINK_PIECE = 64 << 10 };

struct link {
	struct io_loop *loop;
	struct io_stream *stream;
	struct io_op rx, tx;
	struct iovec rx_iov, tx_iov;
	char *in; /* what was received and not taken */
	size_t in_len, in_cap;
	char piece[LINK_PIECE];
	struct err dead; /* why nothing more will come; code 0: it is alive */
};

/* Not on the stack. link_close() is right whatever they returned. */
int link_connect(struct link *l, struct io_loop *loop, const struct io_addr *addr, uint64_t timeout_ns,
		 struct err *err);
int link_attach(struct link *l, struct io_loop *loop, struct io_sock *sock, struct err *err);
void link_close(struct link *l);

/* Takes @doc. -EPIPE and the like: the peer is gone; -ETIMEDOUT: it does not take it. */
int link_send(struct link *l, struct json_object *doc, uint64_t timeout_ns, struct err *err);

/* The next document, if one has arrived whole; does not wait. NULL: none, or @l->dead says why. */
struct json_object *link_take(struct link *l);
/* Waits for it. NULL with @err: -ETIMEDOUT, -EPIPE, -EBADMSG. */
struct json_object *link_wait(struct link *l, uint64_t timeout_ns, struct err *err);

/* A text of a document, "" if there is none. */
const char *link_text(struct json_object *doc, const char *key);

#endif
