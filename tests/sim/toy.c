/* SPDX-License-Identifier: Apache-2.0 */
/* The service of toy.h; nothing in it knows that the world is simulated. */
#include "toy.h"

#include <errno.h>
#include <string.h>

#define AGAIN_NS    10000000
#define PATIENCE_NS UINT64_C(5000000000)

static char padding[TOY_RECORD - sizeof(struct toy_message)];

/* ---- server --------------------------------------------------------------------------------- */

static void conn_recv(struct toy_conn *c);

static void conn_close(struct toy_conn *c)
{
	io_stream_close(c->stream, false);
	c->stream = NULL;
}

static bool conn_over(struct toy_conn *c)
{
	c->server->busy--;
	if (c->stream && (c->server->stopping || c->op.result <= 0))
		conn_close(c);
	return !c->stream;
}

static void conn_sent(struct io_op *op)
{
	struct toy_conn *c = container_of(op, struct toy_conn, op);

	if (conn_over(c))
		return;
	c->have += (size_t)op->result;
	if (c->have == sizeof(c->message)) {
		c->have = 0;
		conn_recv(c);
		return;
	}
	c->iov.iov_base = (char *)&c->message + c->have;
	c->iov.iov_len = sizeof(c->message) - c->have;
	c->server->busy++;
	io_stream_send(c->stream, op, &c->iov, 1, false);
}

static void conn_reply(struct toy_conn *c)
{
	c->have = 0;
	c->iov = (struct iovec){ &c->message, sizeof(c->message) };
	io_op_init(&c->op, conn_sent);
	c->server->busy++;
	io_stream_send(c->stream, &c->op, &c->iov, 1, false);
}

static void conn_synced(struct io_op *op)
{
	struct toy_conn *c = container_of(op, struct toy_conn, op);

	c->server->failed_syncs += op->result < 0;
	if (op->result == 0)
		op->result = c->failed_syncs == c->server->failed_syncs ? 1 : -EIO;
	if (!conn_over(c))
		conn_reply(c);
}

static void conn_written(struct io_op *op)
{
	struct toy_conn *c = container_of(op, struct toy_conn, op);
	struct toy_server *s = c->server;

	if (op->result >= 0 && op->result < TOY_RECORD)
		op->result = -EIO;
	if (conn_over(c))
		return;
	if (!s->use_sync) {
		conn_reply(c);
		return;
	}
	io_op_init(op, conn_synced);
	s->busy++;
	io_file_sync(s->loop, s->file, op);
}

static void conn_received(struct io_op *op)
{
	struct toy_conn *c = container_of(op, struct toy_conn, op);
	struct toy_server *s = c->server;

	if (conn_over(c))
		return;
	c->have += (size_t)op->result;
	if (c->have < sizeof(c->message)) {
		conn_recv(c);
		return;
	}
	c->record[0] = (struct iovec){ &c->message, sizeof(c->message) };
	c->record[1] = (struct iovec){ padding, sizeof(padding) };
	c->failed_syncs = s->failed_syncs;
	io_op_init(op, conn_written);
	s->busy++;
	io_file_write(s->loop, s->file, op, c->record, 2, toy_offset(c->message.slot),
		      s->use_sync ? 0 : IO_FILE_DSYNC);
}

static void conn_recv(struct toy_conn *c)
{
	c->iov.iov_base = (char *)&c->message + c->have;
	c->iov.iov_len = sizeof(c->message) - c->have;
	io_op_init(&c->op, conn_received);
	c->server->busy++;
	io_stream_recv(c->stream, &c->op, &c->iov, 1);
}

static struct toy_conn *conn_free_slot(struct toy_server *s)
{
	for (int i = 0; i < TOY_CONNS; i++)
		if (!s->conn[i].stream && !s->conn[i].op.pending)
			return &s->conn[i];
	return NULL;
}

static void accept_next(struct toy_server *s);

static void accepted(struct io_op *op)
{
	struct toy_server *s = container_of(op, struct toy_server, accept);
	struct toy_conn *c = conn_free_slot(s);

	s->busy--;
	if (op->result == 0 && (s->stopping || !c)) {
		io_sock_close(op->sock);
	} else if (op->result == 0 && io_stream_new(s->loop, op->sock, NULL, &c->stream) == 0) {
		c->have = 0;
		conn_recv(c);
	}
	if (!s->stopping)
		io_timer_start(s->loop, &s->again, op->result ? AGAIN_NS : 0);
}

static void accept_again(struct io_timer *t)
{
	accept_next(container_of(t, struct toy_server, again));
}

static void accept_next(struct toy_server *s)
{
	io_op_init(&s->accept, accepted);
	s->busy++;
	io_accept(s->listener, &s->accept);
}

int toy_server_start(struct toy_server *s, struct io_loop *loop, bool use_sync)
{
	struct io_file_options fo = { .create = true, .size = 0, .exclusive = true };
	struct io_addr addr;
	int r;

	memset(s, 0, sizeof(*s));
	s->loop = loop;
	s->use_sync = use_sync;
	for (int i = 0; i < TOY_CONNS; i++)
		s->conn[i].server = s;
	io_timer_init(&s->again, accept_again);
	r = io_file_open(loop, TOY_PATH, &fo, &s->file, NULL);
	if (r < 0)
		return r;
	r = io_addr_parse("0.0.0.0:700", TOY_PORT, false, &addr, NULL);
	if (r == 0)
		r = io_listen(loop, &addr, NULL, &s->listener, NULL);
	if (r < 0) {
		s->file = io_file_close(s->file);
		return r;
	}
	accept_next(s);
	return 0;
}

void toy_server_stop(struct toy_server *s)
{
	s->stopping = true;
	if (!s->listener)
		return;
	io_timer_stop(s->loop, &s->again);
	io_listener_close(s->listener);
	s->listener = NULL;
	for (int i = 0; i < TOY_CONNS; i++)
		if (s->conn[i].stream)
			conn_close(&s->conn[i]);
}

bool toy_server_stopped(const struct toy_server *s)
{
	return s->stopping && s->busy == 0;
}

/* ---- client --------------------------------------------------------------------------------- */

static void client_hang_up(struct toy_client *c)
{
	if (c->stream)
		io_stream_close(c->stream, false);
	c->stream = NULL;
	io_timer_stop(c->loop, &c->patience);
	if (!c->stopping)
		io_timer_start(c->loop, &c->again, AGAIN_NS);
}

static void client_send(struct toy_client *c)
{
	c->send_iov.iov_base = (char *)&c->request + c->sent;
	c->send_iov.iov_len = sizeof(c->request) - c->sent;
	io_stream_send(c->stream, &c->send, &c->send_iov, 1, false);
}

static void client_recv(struct toy_client *c)
{
	c->recv_iov.iov_base = (char *)&c->reply + c->received;
	c->recv_iov.iov_len = sizeof(c->reply) - c->received;
	io_stream_recv(c->stream, &c->recv, &c->recv_iov, 1);
}

static void client_ask(struct toy_client *c)
{
	if (c->slot == c->slots) {
		io_timer_stop(c->loop, &c->patience);
		return;
	}
	c->request = (struct toy_message){ c->slot, toy_value(c->slot) };
	c->sent = c->received = 0;
	io_timer_start(c->loop, &c->patience, PATIENCE_NS);
	client_send(c);
	client_recv(c);
}

static void client_sent(struct io_op *op)
{
	struct toy_client *c = container_of(op, struct toy_client, send);

	if (op->result == -ECANCELED || !c->stream)
		return;
	if (op->result < 0) {
		client_hang_up(c);
		return;
	}
	c->sent += (size_t)op->result;
	if (c->sent < sizeof(c->request))
		client_send(c);
}

static void client_received(struct io_op *op)
{
	struct toy_client *c = container_of(op, struct toy_client, recv);

	if (op->result == -ECANCELED || !c->stream)
		return;
	if (op->result <= 0) {
		client_hang_up(c);
		return;
	}
	c->received += (size_t)op->result;
	if (c->received < sizeof(c->reply)) {
		client_recv(c);
		return;
	}
	c->slot++;
	client_ask(c);
}

static void client_connected(struct io_op *op)
{
	struct toy_client *c = container_of(op, struct toy_client, connect);

	if (op->result == 0 && c->stopping) {
		io_sock_close(op->sock);
	} else if (op->result == 0 && io_stream_new(c->loop, op->sock, NULL, &c->stream) == 0) {
		c->connects++;
		client_ask(c);
		return;
	}
	client_hang_up(c);
}

static void client_again(struct io_timer *t)
{
	struct toy_client *c = container_of(t, struct toy_client, again);

	/* What the stream was closed with has to finish first. */
	if (c->send.pending || c->recv.pending)
		io_timer_start(c->loop, t, AGAIN_NS);
	else
		io_connect(c->loop, &c->connect, &c->server, NULL);
}

static void client_patience(struct io_timer *t)
{
	client_hang_up(container_of(t, struct toy_client, patience));
}

void toy_client_start(struct toy_client *c, struct io_loop *loop, const struct io_addr *server,
		      uint64_t slots)
{
	memset(c, 0, sizeof(*c));
	c->loop = loop;
	c->server = *server;
	c->slots = slots;
	io_op_init(&c->connect, client_connected);
	io_op_init(&c->send, client_sent);
	io_op_init(&c->recv, client_received);
	io_timer_init(&c->again, client_again);
	io_timer_init(&c->patience, client_patience);
	io_connect(loop, &c->connect, server, NULL);
}

void toy_client_stop(struct toy_client *c)
{
	c->stopping = true;
	io_timer_stop(c->loop, &c->again);
	io_cancel(&c->connect);
	client_hang_up(c);
}

bool toy_client_stopped(const struct toy_client *c)
{
	return c->stopping && !c->connect.pending && !c->send.pending && !c->recv.pending;
}
