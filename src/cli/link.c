/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/link.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"

#define TURN_NS UINT64_C(50000000)

static void set_dead(struct link *l, int code, const char *why)
{
	if (l->dead.code == 0)
		err_set(&l->dead, code, "%s", why);
}

/* ---- receiving ----------------------------------------------------------------------------- */

static void receive(struct link *l)
{
	l->rx_iov = (struct iovec){ l->piece, sizeof(l->piece) };
	io_stream_recv(l->stream, &l->rx, &l->rx_iov, 1);
}

static bool keep(struct link *l, size_t n)
{
	if (l->in_len + n > LINK_LINE_MAX)
		return false;
	if (l->in_len + n > l->in_cap) {
		size_t cap = MAX(l->in_cap * 2, l->in_len + n);
		char *p = mem_realloc(l->in, cap);

		if (!p)
			return false;
		l->in = p;
		l->in_cap = cap;
	}
	memcpy(l->in + l->in_len, l->piece, n);
	l->in_len += n;
	return true;
}

static void received(struct io_op *op)
{
	struct link *l = container_of(op, struct link, rx);

	if (op->result == 0)
		set_dead(l, EPIPE, "it has closed the connection");
	else if (op->result < 0)
		set_dead(l, (int)-op->result, strerror((int)-op->result));
	else if (!keep(l, (size_t)op->result))
		set_dead(l, EBADMSG, "it sends more than a document can have");
	else
		receive(l);
}

struct json_object *link_take(struct link *l)
{
	char *end = l->in_len > 0 ? memchr(l->in, '\n', l->in_len) : NULL;
	struct json_object *doc;
	struct json_tokener *tok;
	size_t n;

	if (!end)
		return NULL;
	n = (size_t)(end - l->in);
	tok = json_tokener_new();
	doc = tok ? json_tokener_parse_ex(tok, l->in, (int)n) : NULL;
	json_tokener_free(tok);
	l->in_len -= n + 1;
	memmove(l->in, end + 1, l->in_len);
	if (json_object_is_type(doc, json_type_object))
		return doc;
	json_object_put(doc);
	set_dead(l, EBADMSG, "it sends what is no JSON document");
	return NULL;
}

struct json_object *link_wait(struct link *l, uint64_t timeout_ns, struct err *err)
{
	uint64_t end = io_now_precise(l->loop) + timeout_ns;
	struct json_object *doc;

	while ((doc = link_take(l)) == NULL && l->dead.code == 0) {
		uint64_t now = io_now_precise(l->loop);

		if (now >= end) {
			err_set(err, ETIMEDOUT, "it does not answer");
			return NULL;
		}
		io_loop_turn(l->loop, MIN(end - now, TURN_NS));
	}
	if (!doc)
		*err = l->dead;
	return doc;
}

const char *link_text(struct json_object *doc, const char *key)
{
	struct json_object *v;

	if (!json_object_object_get_ex(doc, key, &v) || !json_object_is_type(v, json_type_string))
		return "";
	return json_object_get_string(v);
}

/* ---- sending ------------------------------------------------------------------------------- */

static void done(struct io_op *op)
{
}

static int cannot_send(struct err *err, int code)
{
	return err_set(err, code, "it cannot be sent anything: %s", strerror(code));
}

static int send_all(struct link *l, const char *text, size_t n, uint64_t timeout_ns, struct err *err)
{
	uint64_t end = io_now_precise(l->loop) + timeout_ns;

	while (n > 0) {
		l->tx_iov.iov_base = (void *)(uintptr_t)text;
		l->tx_iov.iov_len = n;
		io_stream_send(l->stream, &l->tx, &l->tx_iov, 1, false);
		while (l->tx.pending && io_now_precise(l->loop) < end)
			io_loop_turn(l->loop, TURN_NS);
		if (l->tx.pending) {
			/* The text must outlive the operation: closing gives it back. */
			link_close(l);
			set_dead(l, ETIMEDOUT, "it does not take what it is sent");
			*err = l->dead;
			return -ETIMEDOUT;
		}
		if (l->tx.result <= 0)
			return cannot_send(err, l->tx.result < 0 ? (int)-l->tx.result : EPIPE);
		text += l->tx.result;
		n -= (size_t)l->tx.result;
	}
	return 0;
}

int link_send(struct link *l, struct json_object *doc, uint64_t timeout_ns, struct err *err)
{
	const char *text = json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN);
	int rc = 0;

	if (l->dead.code) {
		*err = l->dead;
		rc = -err->code;
	} else if (!text) {
		rc = err_set(err, ENOMEM, "out of memory");
	}
	if (rc == 0)
		rc = send_all(l, text, strlen(text), timeout_ns, err);
	if (rc == 0)
		rc = send_all(l, "\n", 1, timeout_ns, err);
	json_object_put(doc);
	return rc;
}

/* ---- life ---------------------------------------------------------------------------------- */

int link_attach(struct link *l, struct io_loop *loop, struct io_sock *sock, struct err *err)
{
	int rc;

	memset(l, 0, sizeof(*l));
	l->loop = loop;
	io_op_init(&l->rx, received);
	io_op_init(&l->tx, done);
	rc = io_stream_new(loop, sock, NULL, &l->stream);
	if (rc < 0)
		return err_set(err, -rc, "%s", strerror(-rc));
	receive(l);
	return 0;
}

int link_connect(struct link *l, struct io_loop *loop, const struct io_addr *addr, uint64_t timeout_ns,
		 struct err *err)
{
	uint64_t end = io_now_precise(loop) + timeout_ns;
	struct io_op op;

	memset(l, 0, sizeof(*l));
	io_op_init(&op, done);
	io_connect(loop, &op, addr, NULL);
	while (op.pending && io_now_precise(loop) < end)
		io_loop_turn(loop, TURN_NS);
	if (op.pending) {
		io_cancel(&op);
		while (op.pending)
			io_loop_turn(loop, TURN_NS);
		if (op.result == 0)
			io_sock_close(op.sock);
		return err_set(err, ETIMEDOUT, "cannot be reached: %s", strerror(ETIMEDOUT));
	}
	if (op.result < 0)
		return err_set(err, (int)-op.result, "cannot be reached: %s", strerror((int)-op.result));
	return link_attach(l, loop, op.sock, err);
}

void link_close(struct link *l)
{
	if (l->stream) {
		set_dead(l, ECANCELED, "closed");
		io_stream_close(l->stream, false);
		while (l->rx.pending || l->tx.pending)
			io_loop_turn(l->loop, TURN_NS);
	}
	l->stream = NULL;
	mem_free(l->in);
	l->in = NULL;
	l->in_len = l->in_cap = 0;
}
