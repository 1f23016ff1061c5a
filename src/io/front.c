/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front of io.h for streams and files: each function checks what only a mistake of ours can
 * break, fills in the operation and passes it to the ops table. Nothing here knows which
 * implementation is behind it.
 */
#include "base/util.h"
#include <string.h>

#include "io/io.h"
#include "io/ops.h"

/* ---- byte streams -------------------------------------------------------------------------------- */

int io_listen(struct io_loop *loop, const struct io_addr *addr,
	      const struct io_listen_options *opts, struct io_listener **ret_listener,
	      struct err *err)
{
	return loop->ops->listen(loop, addr, opts, ret_listener, err);
}

const struct io_addr *io_listener_addr(const struct io_listener *l)
{
	return l->loop->ops->listener_addr(l);
}

void io_accept(struct io_listener *l, struct io_op *op)
{
	INVARIANT(!l->accept);
	io_op_begin(l->loop, op, IO_OP_ACCEPT, l);
	l->accept = op;
	l->loop->ops->accept(l, op);
}

void io_listener_close(struct io_listener *l)
{
	if (l->accept)
		l->accept->flags |= IO_OP_DETACHED;
	l->loop->ops->listener_close(l);
}

void io_connect(struct io_loop *loop, struct io_op *op, const struct io_addr *addr,
		const struct io_addr *local)
{
	io_op_begin(loop, op, IO_OP_CONNECT, NULL);
	loop->ops->connect(loop, op, addr, local);
}

const struct io_addr *io_sock_peer(const struct io_sock *s)
{
	return &s->peer;
}

const struct io_addr *io_sock_local(const struct io_sock *s)
{
	return &s->local;
}

void io_sock_close(struct io_sock *s)
{
	s->ops->close(s);
}

int io_sock_pair(struct io_loop *loop, struct io_sock **ret_a, struct io_sock **ret_b)
{
	return loop->ops->sock_pair(loop, ret_a, ret_b);
}

int io_stream_new(struct io_loop *loop, struct io_sock *s, const struct io_stream_options *opts,
		  struct io_stream **ret_stream)
{
	return loop->ops->stream_new(loop, s, opts, ret_stream);
}

const struct io_addr *io_stream_peer(const struct io_stream *s)
{
	return &s->peer;
}

const struct io_addr *io_stream_local(const struct io_stream *s)
{
	return &s->local;
}

/* A transfer of nothing would read as end of stream, so it is a mistake of the caller's. */
static bool iov_sane(const struct iovec *iov, int niov)
{
	if (niov < 1 || niov > IO_MAX_IOV)
		return false;
	for (int i = 0; i < niov; i++)
		if (iov[i].iov_len > 0)
			return true;
	return false;
}

void io_stream_recv(struct io_stream *s, struct io_op *op, const struct iovec *iov, int niov)
{
	INVARIANT(iov_sane(iov, niov) && !s->recv);
	io_op_begin(s->loop, op, IO_OP_RECV, s);
	s->recv = op;
	op->iov = iov;
	op->niov = niov;
	s->loop->ops->recv(s, op);
}

void io_stream_send(struct io_stream *s, struct io_op *op, const struct iovec *iov, int niov,
		    bool more)
{
	INVARIANT(iov_sane(iov, niov) && !s->send);
	io_op_begin(s->loop, op, IO_OP_SEND, s);
	s->send = op;
	op->iov = iov;
	op->niov = niov;
	s->loop->ops->send(s, op, more);
}

int64_t io_stream_send_now(struct io_stream *s, const struct iovec *iov, int niov, bool more)
{
	INVARIANT(iov_sane(iov, niov) && !s->send);
	return s->loop->ops->send_now(s, iov, niov, more);
}

void io_stream_wait_room(struct io_stream *s, struct io_op *op)
{
	INVARIANT(!s->send);
	io_op_begin(s->loop, op, IO_OP_ROOM, s);
	s->send = op;
	s->loop->ops->wait_room(s, op);
}

void io_stream_shutdown(struct io_stream *s)
{
	s->loop->ops->shutdown(s);
}

void io_stream_close(struct io_stream *s, bool reset)
{
	if (s->recv)
		s->recv->flags |= IO_OP_DETACHED;
	if (s->send)
		s->send->flags |= IO_OP_DETACHED;
	s->loop->ops->close(s, reset);
}

/* ---- files ------------------------------------------------------------------------------------- */

int io_file_open(struct io_loop *loop, const char *path, const struct io_file_options *opts,
		 struct io_file **ret_file, struct err *err)
{
	return loop->ops->file_open(loop, path, opts, ret_file, err);
}

const struct io_file_info *io_file_info(const struct io_file *f)
{
	return &f->info;
}

int io_file_refresh(struct io_file *f)
{
	return f->ops->refresh(f);
}

struct io_file *io_file_close(struct io_file *f)
{
	if (f)
		f->ops->close(f);
	return NULL;
}

static void file_submit(struct io_loop *loop, struct io_file *f, struct io_op *op,
			enum io_op_kind kind, unsigned int flags)
{
	io_op_begin(loop, op, kind, f);
	op->flags = (uint8_t)flags;
	loop->ops->file_submit(loop, f, op);
}

static void file_rw(struct io_loop *loop, struct io_file *f, struct io_op *op, enum io_op_kind kind,
		    const struct iovec *iov, int niov, uint64_t offset, unsigned int flags)
{
	uint64_t length = 0;

	INVARIANT(niov >= 1 && niov <= IO_MAX_IOV);
	for (int i = 0; i < niov; i++)
		length += iov[i].iov_len;
	op->iov = iov;
	op->niov = niov;
	op->offset = offset;
	op->length = length;
	file_submit(loop, f, op, kind, flags);
}

void io_file_read(struct io_loop *loop, struct io_file *f, struct io_op *op,
		  const struct iovec *iov, int niov, uint64_t offset)
{
	file_rw(loop, f, op, IO_OP_READ, iov, niov, offset, 0);
}

void io_file_write(struct io_loop *loop, struct io_file *f, struct io_op *op,
		   const struct iovec *iov, int niov, uint64_t offset, unsigned int flags)
{
	INVARIANT((flags & ~(unsigned int)IO_FILE_DSYNC) == 0);
	file_rw(loop, f, op, IO_OP_WRITE, iov, niov, offset, flags);
}

void io_file_sync(struct io_loop *loop, struct io_file *f, struct io_op *op)
{
	op->iov = NULL;
	op->niov = 0;
	op->offset = 0;
	op->length = 0;
	file_submit(loop, f, op, IO_OP_SYNC, 0);
}

void io_file_discard(struct io_loop *loop, struct io_file *f, struct io_op *op, uint64_t offset,
		     uint64_t length)
{
	op->offset = offset;
	op->length = length;
	file_submit(loop, f, op, IO_OP_DISCARD, 0);
}

void io_file_zero(struct io_loop *loop, struct io_file *f, struct io_op *op, uint64_t offset,
		  uint64_t length, bool keep)
{
	op->offset = offset;
	op->length = length;
	file_submit(loop, f, op, IO_OP_ZERO, keep ? IO_ZERO_KEEP : 0);
}

int64_t io_state_load(struct io_loop *loop, const char *path, void *buf, size_t max,
		      struct err *err)
{
	return loop->ops->state_load(loop, path, buf, max, err);
}

void io_state_save(struct io_loop *loop, struct io_op *op, const char *path,
		   const struct iovec *contents)
{
	void *obj;

	memcpy(&obj, &path, sizeof(obj)); /* nobody writes to it */
	io_op_begin(loop, op, IO_OP_SAVE, obj);
	op->iov = contents;
	op->niov = 1;
	op->offset = 0;
	op->length = contents->iov_len;
	loop->ops->state_save(loop, op);
}
