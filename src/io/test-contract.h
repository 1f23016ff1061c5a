/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What io.h promises whatever is behind it: the same checks for io_uring, for epoll and for the
 * simulator. A header, because TAP's counters belong to one program: the test of an implementation
 * includes it and calls contract_run() with a way to make its loops.
 */
#ifndef PENSTOCK_IO_TEST_CONTRACT_H
#define PENSTOCK_IO_TEST_CONTRACT_H

#include <errno.h>

#include "base/crc32c.h"
#include "base/rng.h"
#include "base/util.h"
#include "io/io.h"
#include "io/test-help.h"
#include "tests/tap.h"

struct contract {
	const char *name;                   /* for the lines of the test */
	struct io_loop *(*make)(void *arg); /* a loop on the machine under test */
	void *arg;
	const char *address;   /* to listen on and connect to, port 0: "127.0.0.1:0" */
	const char *address6;  /* the same for IPv6, or NULL: none here */
	const char *directory; /* where files can be made */
};

/* ---- bytes in random pieces ---------------------------------------------------------------------- */

enum { PIPE_BUF_BYTES = 256 * 1024, PIPE_MAX_IOV = 16 };

/* One end: sends `want_out` bytes in random pieces, or receives `want_in`, or both at once. */
struct pipe_end {
	struct io_stream *s;
	struct rng rng;
	struct io_op tx, rx;
	struct iovec tx_iov[PIPE_MAX_IOV], rx_iov[PIPE_MAX_IOV];
	uint8_t *tx_buf, *rx_buf;
	uint64_t want_out, out, want_in, in;
	size_t tx_len;
	uint32_t crc_out, crc_in;
	int64_t error;
	bool done;
	bool *all_done; /* of both ends */
	struct pipe_end *other;
};

/* Cuts @n bytes of @buf into 1 to PIPE_MAX_IOV vectors, some of them empty. */
static int cut(struct rng *rng, uint8_t *buf, size_t n, struct iovec *iov)
{
	int niov = 0;
	size_t some;

	while (n > 0) {
		some = niov == PIPE_MAX_IOV - 1 ? n : rng_below(rng, n + 1);
		iov[niov++] = (struct iovec){ buf, some };
		buf += some;
		n -= some;
	}
	return niov;
}

static void pipe_check_done(struct pipe_end *e)
{
	e->done = e->error || (e->out == e->want_out && e->in == e->want_in);
	*e->all_done = e->done && e->other->done;
}

static void pipe_send(struct pipe_end *e)
{
	uint64_t left = e->want_out - e->out;
	size_t max = rng_chance_ppm(&e->rng, 500000) ? 100 : PIPE_BUF_BYTES;

	if (left == 0)
		return;
	e->tx_len = 1 + rng_below(&e->rng, MIN(left, (uint64_t)max));
	rng_fill(&e->rng, e->tx_buf, e->tx_len);
	io_stream_send(e->s, &e->tx, e->tx_iov, cut(&e->rng, e->tx_buf, e->tx_len, e->tx_iov),
		       rng_chance_ppm(&e->rng, 200000) && e->tx_len < left);
}

static void pipe_sent(struct io_op *op)
{
	struct pipe_end *e = container_of(op, struct pipe_end, tx);

	if (op->result <= 0 || (uint64_t)op->result > e->tx_len) {
		e->error = op->result ? op->result : -EBADMSG;
	} else {
		/* What did not go out is thrown away: the next bytes are as good. */
		e->crc_out = crc32c(e->crc_out, e->tx_buf, (size_t)op->result);
		e->out += (uint64_t)op->result;
		pipe_send(e);
	}
	pipe_check_done(e);
}

static void pipe_recv(struct pipe_end *e)
{
	uint64_t left = e->want_in - e->in;
	size_t max = rng_chance_ppm(&e->rng, 300000) ? 50 : PIPE_BUF_BYTES;
	size_t n;

	if (left == 0)
		return;
	n = 1 + rng_below(&e->rng, MIN(left, (uint64_t)max));
	memset(e->rx_buf, 0, n);
	io_stream_recv(e->s, &e->rx, e->rx_iov, cut(&e->rng, e->rx_buf, n, e->rx_iov));
}

static void pipe_received(struct io_op *op)
{
	struct pipe_end *e = container_of(op, struct pipe_end, rx);

	if (op->result <= 0) {
		e->error = op->result ? op->result : -EPIPE;
	} else {
		e->crc_in = crc32c(e->crc_in, e->rx_buf, (size_t)op->result);
		e->in += (uint64_t)op->result;
		pipe_recv(e);
	}
	pipe_check_done(e);
}

static void pipe_init(struct pipe_end *e, struct io_stream *s, struct pipe_end *other,
		      bool *all_done, uint64_t out, uint64_t in, uint64_t seed)
{
	*e = (struct pipe_end){ .s = s, .want_out = out, .want_in = in, .other = other };
	e->all_done = all_done;
	rng_init(&e->rng, seed);
	io_op_init(&e->tx, pipe_sent);
	io_op_init(&e->rx, pipe_received);
	e->tx_buf = malloc(PIPE_BUF_BYTES);
	e->rx_buf = malloc(PIPE_BUF_BYTES);
}

static void pipe_deinit(struct pipe_end *e)
{
	free(e->tx_buf);
	free(e->rx_buf);
}

/* Sends @ab bytes from a to b and @ba back, at once and in random pieces. */
static void check_transfer(struct io_loop *loop, struct two *t, uint64_t ab, uint64_t ba,
			   const char *what)
{
	struct pipe_end *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	bool all_done = false;

	pipe_init(a, t->a, b, &all_done, ab, ba, 1);
	pipe_init(b, t->b, a, &all_done, ba, ab, 2);
	pipe_send(a);
	pipe_recv(a);
	pipe_send(b);
	pipe_recv(b);
	await_flag(loop, &all_done);
	ok(a->error == 0 && b->error == 0 && a->out == ab && b->out == ba && a->in == ba &&
		   b->in == ab && a->crc_out == b->crc_in && b->crc_out == a->crc_in,
	   "%s: %" PRIu64 " bytes one way, %" PRIu64 " the other, in random pieces", what, ab, ba);
	if (!all_done)
		diag("a: %" PRIu64 " out, %" PRIu64 " in, error %" PRId64 "; b: %" PRIu64
		     " out, %" PRIu64 " in, error %" PRId64,
		     a->out, a->in, a->error, b->out, b->in, b->error);
	pipe_deinit(a);
	pipe_deinit(b);
	free(a);
	free(b);
}

/* ---- the checks: streams ----------------------------------------------------------------------- */

static void contract_transfer(const struct contract *c)
{
	struct io_loop *loop = c->make(c->arg);
	struct io_sock *sa, *sb;
	struct two t;

	if (ok(two_over(loop, c->address, &t), "%s: connected by %s", c->name, c->address)) {
		ok(io_addr_equal(io_stream_local(t.a), io_stream_peer(t.b)) &&
			   io_addr_equal(io_stream_peer(t.a), io_stream_local(t.b)),
		   "%s: both ends agree on their addresses", c->name);
		check_transfer(loop, &t, 3000000, 0, c->name);
		check_transfer(loop, &t, 0, 1, c->name);
		check_transfer(loop, &t, 2000000, 4000000, c->name);
	}
	two_close(&t);
	if (!c->address6)
		tap_skip("no IPv6 here");
	else if (ok(two_over(loop, c->address6, &t), "%s: connected by %s", c->name, c->address6))
		check_transfer(loop, &t, 100000, 100000, c->address6);
	two_close(&t);
	t = (struct two){ NULL, NULL };
	if (ok(io_sock_pair(loop, &sa, &sb) == 0 && io_stream_new(loop, sa, NULL, &t.a) == 0 &&
		       io_stream_new(loop, sb, NULL, &t.b) == 0,
	       "%s: a pair without a network", c->name))
		check_transfer(loop, &t, 1000000, 1000000, "pair");
	two_close(&t);
	io_loop_free(loop);
}

/* Both ends send and nobody reads, until both are stuck. Then both read. */
static void contract_full(const struct contract *c)
{
	struct io_loop *loop = c->make(c->arg);
	struct io_stream_options opts = { .send_buffer = 16384, .recv_buffer = 16384 };
	uint8_t *big = calloc(1, 1 << 20);
	struct iovec iov = { big, 1 << 20 };
	uint64_t sent[2] = { 0, 0 }, got[2] = { 0, 0 };
	struct io_stream *s[2] = { NULL, NULL };
	struct io_sock *sock[2];
	struct waiter tx[2];
	int64_t r;

	ok(io_sock_pair(loop, &sock[0], &sock[1]) == 0, "%s: a pair", c->name);
	for (int i = 0; i < 2; i++) {
		io_stream_new(loop, sock[i], &opts, &s[i]);
		io_stream_send(s[i], waiter_op(&tx[i]), &iov, 1, false);
	}
	for (int quiet = 0; quiet < 5; quiet++) {
		io_loop_turn(loop, 1000000);
		for (int i = 0; i < 2; i++) {
			if (!tx[i].done)
				continue;
			quiet = 0;
			sent[i] += (uint64_t)tx[i].op.result;
			io_stream_send(s[i], waiter_op(&tx[i]), &iov, 1, false);
		}
	}
	ok(!tx[0].done && !tx[1].done && sent[0] > 0 && sent[1] > 0,
	   "%s: both directions fill up and wait", c->name);
	for (int i = 0; i < 2; i++) {
		while (!tx[!i].done || got[i] < sent[!i] + (uint64_t)tx[!i].op.result) {
			r = recv_some(loop, s[i], big, 1 << 20);
			if (r <= 0)
				break;
			got[i] += (uint64_t)r;
		}
	}
	ok(tx[0].done && tx[1].done && got[0] == sent[1] + (uint64_t)tx[1].op.result &&
		   got[1] == sent[0] + (uint64_t)tx[0].op.result,
	   "%s: and go on when both are read", c->name);
	for (int i = 0; i < 2; i++)
		io_stream_close(s[i], false);
	free(big);
	io_loop_free(loop);
}

/* Sends now until there is no room; returns the bytes. */
static uint64_t fill_now(struct io_loop *loop, struct io_stream *s, const struct iovec *iov, int64_t *ret_last)
{
	uint64_t sent = 0;

	for (int quiet = 0; quiet < 5; quiet++) {
		while ((*ret_last = io_stream_send_now(s, iov, 1, false)) > 0) {
			sent += (uint64_t)*ret_last;
			quiet = 0;
		}
		io_loop_turn(loop, 1000000);
	}
	return sent;
}

/* What is sent now is taken now, or not at all; and who waits for room hears of it. */
static void contract_now(const struct contract *c)
{
	struct io_loop *loop = c->make(c->arg);
	uint8_t *big = calloc(1, 1 << 20);
	struct iovec iov = { big, 1 << 20 };
	uint64_t sent, got = 0;
	struct waiter room;
	int64_t r = 0;
	struct two t;

	if (!ok(two_over(loop, c->address, &t), "%s: connected", c->name))
		return;
	memset(big, 0x5a, 1 << 20);
	sent = fill_now(loop, t.a, &iov, &r);
	ok(sent > 0 && r == -EAGAIN, "%s: what is sent now is taken until there is no room", c->name);
	memset(big, 0, 1 << 20);
	io_stream_wait_room(t.a, waiter_op(&room));
	for (int i = 0; i < 5; i++)
		io_loop_turn(loop, 1000000);
	ok(!room.done, "%s: nobody reads, so there stays none", c->name);
	for (; got < sent && (r = recv_some(loop, t.b, big, 1 << 20)) > 0; got += (uint64_t)r)
		for (int64_t i = 0; i < r; i++)
			if (big[i] != 0x5a)
				sent = 0;
	ok(got > 0 && got == sent, "%s: it arrives as it was when it was taken", c->name);
	is_i64(await(loop, &room), 0, "%s: now there is room", c->name);
	ok(io_stream_send_now(t.a, &iov, 1, false) > 0, "%s: and so it goes on", c->name);

	fill_now(loop, t.a, &iov, &r);
	io_stream_wait_room(t.a, waiter_op(&room));
	io_stream_close(t.a, false);
	t.a = NULL;
	is_i64(await(loop, &room), -ECANCELED, "%s: closing ends a wait for room", c->name);
	two_close(&t);

	two_over(loop, c->address, &t);
	fill_now(loop, t.a, &iov, &r);
	io_stream_wait_room(t.a, waiter_op(&room));
	io_stream_close(t.b, true);
	t.b = NULL;
	r = await(loop, &room);
	if (r == 0)
		r = io_stream_send_now(t.a, &iov, 1, false);
	ok(r == -ECONNRESET || r == -EPIPE,
	   "%s: and so does a reset, or the next attempt says so (%d)", c->name, (int)r);
	two_close(&t);
	free(big);
	io_loop_free(loop);
}

static void contract_end(const struct contract *c)
{
	struct io_loop *loop = c->make(c->arg);
	struct waiter w;
	struct iovec iov;
	char buf[64];
	struct two t;

	if (!ok(two_over(loop, c->address, &t), "%s: connected", c->name))
		return;
	is_i64(send_some(loop, t.a, "last words", 10), 10, "%s: data, then end of stream", c->name);
	io_stream_shutdown(t.a);
	is_u64(recv_all(loop, t.b, buf, 10), 10, "%s: the data comes first", c->name);
	is_i64(recv_some(loop, t.b, buf, 10), 0, "%s: then the end", c->name);
	is_i64(recv_some(loop, t.b, buf, 10), 0, "%s: and it stays the end", c->name);
	is_i64(send_some(loop, t.b, "answer", 6), 6, "%s: the other direction lives", c->name);
	is_u64(recv_all(loop, t.a, buf, 6), 6, "%s: and is received", c->name);
	is_mem(buf, "answer", 6, "%s: as it was sent", c->name);
	iov = (struct iovec){ buf, sizeof(buf) };
	io_stream_recv(t.a, waiter_op(&w), &iov, 1);
	io_stream_close(t.b, false);
	t.b = NULL;
	is_i64(await(loop, &w), 0, "%s: a waiting receive hears of the close", c->name);
	two_close(&t);
	io_loop_free(loop);
}

/* End of stream is said while a send still waits for room: what was sent comes first, all of it. */
static void contract_shutdown(const struct contract *c)
{
	struct io_loop *loop = c->make(c->arg);
	uint8_t *big = calloc(1, 1 << 20);
	struct iovec iov = { big, 1 << 20 };
	uint64_t sent = 0, got = 0;
	struct waiter tx;
	int64_t r;
	struct two t;

	if (!ok(two_over(loop, c->address, &t), "%s: connected", c->name))
		return;
	for (int i = 0; i < 1000; i++) {
		io_stream_send(t.a, waiter_op(&tx), &iov, 1, false);
		for (int turn = 0; turn < 5 && !tx.done; turn++)
			io_loop_turn(loop, 1000000);
		if (!tx.done)
			break;
		sent += (uint64_t)tx.op.result;
	}
	ok(!tx.done, "%s: a send waits for room", c->name);
	io_stream_shutdown(t.a);
	while ((r = recv_some(loop, t.b, big, 1 << 20)) > 0)
		got += (uint64_t)r;
	is_i64(r, 0, "%s: then end of stream", c->name);
	r = await(loop, &tx);
	ok(r > 0 && got == sent + (uint64_t)r, "%s: after all that was sent", c->name);
	two_close(&t);
	free(big);
	io_loop_free(loop);
}

/* Fault X003: the peer is gone while data lies unread. */
static void contract_reset(const struct contract *c)
{
	struct io_loop *loop = c->make(c->arg);
	struct waiter w;
	struct iovec iov;
	char buf[64];
	int64_t r = 0;
	struct two t;
	int reads;

	if (!ok(two_over(loop, c->address, &t), "%s: connected", c->name))
		return;
	iov = (struct iovec){ buf, sizeof(buf) };
	io_stream_recv(t.b, waiter_op(&w), &iov, 1);
	io_loop_turn(loop, 0);
	io_stream_close(t.a, true);
	t.a = NULL;
	is_i64(await(loop, &w), -ECONNRESET, "%s: a waiting receive hears of a reset", c->name);
	two_close(&t);

	two_over(loop, c->address, &t);
	send_some(loop, t.a, "unread", 6);
	io_stream_close(t.a, true);
	t.a = NULL;
	for (reads = 0; reads < 8; reads++) {
		r = recv_some(loop, t.b, buf, 3);
		if (r <= 0)
			break;
	}
	ok(r == -ECONNRESET,
	   "X003: %s: a reset behind unread data is found (after %d reads, %" PRId64 ")", c->name, reads,
	   r);
	for (reads = 0; reads < 8 && r != 0 && r != -EPIPE; reads++)
		r = send_some(loop, t.b, "x", 1) > 0 ? 1 : -EPIPE;
	is_i64(r, -EPIPE, "%s: sending into it fails, without a signal", c->name);
	two_close(&t);
	io_loop_free(loop);
}

static void contract_close(const struct contract *c)
{
	struct io_loop *loop = c->make(c->arg);
	uint8_t *big = calloc(1, 1 << 20);
	struct iovec big_iov = { big, 1 << 20 }, iov[2];
	struct waiter rx, tx;
	char buf[2][32];
	struct two t;

	if (!ok(two_over(loop, c->address, &t), "%s: connected", c->name))
		return;
	memset(buf, 'p', sizeof(buf));
	iov[0] = (struct iovec){ buf[0], 32 };
	iov[1] = (struct iovec){ buf[1], 32 };
	io_stream_recv(t.a, waiter_op(&rx), iov, 2);
	for (int i = 0; i < 100; i++) {
		io_stream_send(t.a, waiter_op(&tx), &big_iov, 1, false);
		for (int turn = 0; turn < 3 && !tx.done; turn++)
			io_loop_turn(loop, 1000000);
		if (!tx.done)
			break;
	}
	ok(!rx.done && !tx.done, "%s: a receive and a send are waiting", c->name);
	io_stream_close(t.a, false);
	t.a = NULL;
	ok(!rx.done && !tx.done && rx.op.pending && tx.op.pending, "%s: close itself calls nobody",
	   c->name);
	is_i64(await(loop, &rx), -ECANCELED, "%s: then the receive ends", c->name);
	is_i64(await(loop, &tx), -ECANCELED, "%s: and the send", c->name);
	send_some(loop, t.b, "too late", 8);
	for (int i = 0; i < 3; i++)
		io_loop_turn(loop, 1000000);
	ok(buf[0][0] == 'p' && buf[1][31] == 'p', "%s: the buffer is not touched after that",
	   c->name);
	two_close(&t);

	/* Data is there, nobody has called done yet. */
	two_over(loop, c->address, &t);
	send_some(loop, t.b, "hello", 5);
	io_stream_recv(t.a, waiter_op(&rx), iov, 2);
	io_stream_send(t.a, waiter_op(&tx), iov, 1, false);
	two_close(&t);
	is_i64(await(loop, &rx), -ECANCELED, "%s: a receive that had data ends so too", c->name);
	is_i64(await(loop, &tx), -ECANCELED, "%s: and a send that was through", c->name);
	free(big);
	io_loop_free(loop);
}

static void contract_connect(const struct contract *c)
{
	struct io_loop *loop = c->make(c->arg);
	struct io_listener *l = listen_at(loop, c->address), *second = NULL;
	struct err err = ERR_NULL;
	struct waiter w;
	struct io_addr addr;

	if (!ok(l, "%s: listening", c->name))
		return;
	addr = *io_listener_addr(l);
	ok(io_addr_port(&addr) != 0, "%s: port 0 became a port", c->name);
	is_i64(io_listen(loop, &addr, NULL, &second, &err), -EADDRINUSE, "%s: a second listener",
	       c->name);
	ok(err.code == EADDRINUSE && strlen(err.text) > 20, "%s: is told: %s", c->name, err.text);
	io_accept(l, waiter_op(&w));
	io_loop_turn(loop, 1000000);
	io_cancel(&w.op);
	ok(!w.done, "%s: cancel itself calls nobody", c->name);
	is_i64(await(loop, &w), -ECANCELED, "%s: an accept can be cancelled", c->name);
	io_accept(l, waiter_op(&w));
	io_loop_turn(loop, 1000000);
	io_listener_close(l);
	is_i64(await(loop, &w), -ECANCELED, "%s: and ends with its listener", c->name);
	io_connect(loop, waiter_op(&w), &addr, NULL);
	is_i64(await(loop, &w), -ECONNREFUSED, "%s: nobody listens there any more", c->name);

	l = listen_at(loop, c->address);
	io_accept(l, waiter_op(&w));
	io_listener_close(l);
	is_i64(await(loop, &w), -ECANCELED, "%s: closed before the first turn", c->name);
	io_loop_free(loop);
}

/* ---- the checks: many ------------------------------------------------------------------------------ */

enum { MANY = 100, MANY_ROUNDS = 20 };

struct player {
	struct io_stream *s;
	struct io_op rx, tx;
	struct iovec rx_iov, tx_iov;
	uint64_t ball;
	unsigned int hits;
	unsigned int *total;
	bool *all_done;
};

static void player_received(struct io_op *op)
{
	struct player *p = container_of(op, struct player, rx);

	if (op->result != sizeof(p->ball))
		return;
	*p->all_done = ++*p->total == 2 * MANY * MANY_ROUNDS;
	if (++p->hits < MANY_ROUNDS)
		io_stream_recv(p->s, &p->rx, &p->rx_iov, 1);
	io_stream_send(p->s, &p->tx, &p->tx_iov, 1, false);
}

static void player_sent(struct io_op *op)
{
}

static void player_init(struct player *p, struct io_stream *s, unsigned int *total, bool *all_done)
{
	*p = (struct player){ .s = s, .total = total, .all_done = all_done };
	p->rx_iov = p->tx_iov = (struct iovec){ &p->ball, sizeof(p->ball) };
	io_op_init(&p->rx, player_received);
	io_op_init(&p->tx, player_sent);
	io_stream_recv(s, &p->rx, &p->rx_iov, 1);
}

/* Fault X006: with many streams, each is served. */
static void contract_many(const struct contract *c)
{
	struct io_loop *loop = c->make(c->arg);
	struct player *p = calloc(2 * MANY, sizeof(*p));
	struct io_sock *a, *b;
	struct io_stream *s;
	unsigned int total = 0, made = 0, served = 0;
	bool all_done = false;

	for (int i = 0; i < MANY; i++) {
		if (io_sock_pair(loop, &a, &b) < 0)
			break;
		io_stream_new(loop, a, NULL, &s);
		player_init(&p[made++], s, &total, &all_done);
		io_stream_new(loop, b, NULL, &s);
		player_init(&p[made++], s, &total, &all_done);
	}
	for (unsigned int i = 0; i < made; i += 2)
		io_stream_send(p[i].s, &p[i].tx, &p[i].tx_iov, 1, false);
	await_flag(loop, &all_done);
	for (unsigned int i = 0; i < made; i++)
		served += p[i].hits == MANY_ROUNDS;
	is_u64(served, 2 * MANY, "%s: %d streams play %d rounds each", c->name, 2 * MANY,
	       MANY_ROUNDS);
	for (unsigned int i = 0; i < made; i++)
		io_stream_close(p[i].s, false);
	for (int i = 0; i < 3; i++)
		io_loop_turn(loop, 1000000);
	free(p);
	io_loop_free(loop);
}

struct alarm {
	struct io_timer timer;
	bool rung;
};

static void timer_flags(struct io_timer *t)
{
	container_of(t, struct alarm, timer)->rung = true;
}

static void contract_time(const struct contract *c)
{
	struct io_loop *loop = c->make(c->arg);
	uint8_t a[32] = { 0 }, b[32] = { 0 };
	struct alarm alarm = { .rung = false };
	uint64_t start, took;

	io_timer_init(&alarm.timer, timer_flags);
	start = io_now_precise(loop);
	io_timer_start(loop, &alarm.timer, 20000000);
	io_loop_turn(loop, 1000000);
	ok(!alarm.rung || io_now_precise(loop) - start >= 20000000,
	   "%s: a turn of 1 ms does not wait for it", c->name);
	await_flag(loop, &alarm.rung);
	took = io_now_precise(loop) - start;
	ok(took >= 20000000 && took < 2000000000, "%s: a timer of 20 ms took %" PRIu64 " us",
	   c->name, took / 1000);
	ok(io_wall(loop) > 0, "%s: there is a wall clock", c->name);
	io_random(loop, a, sizeof(a));
	io_random(loop, b, sizeof(b));
	ok(memcmp(a, b, sizeof(a)) != 0, "%s: random bytes differ", c->name);
	io_loop_free(loop);
}

/* ---- the checks: files ----------------------------------------------------------------------------- */

enum { FILE_BYTES = 1 << 20 };

static void check_file_data(const struct contract *c, struct io_loop *loop, struct io_file *f)
{
	uint8_t *out = aligned_alloc(4096, FILE_BYTES), *in = aligned_alloc(4096, FILE_BYTES);
	struct waiter w;
	struct rng rng;
	int64_t r;

	rng_init(&rng, 3);
	rng_fill(&rng, out, FILE_BYTES);
	is_i64(file_do(loop, f, false, in, 8192, 4096, 0), 8192, "%s: a new file can be read",
	       c->name);
	ok(all_zero(in, 8192), "%s: and is zero", c->name);
	is_i64(file_do(loop, f, true, out, FILE_BYTES, 0, 0), FILE_BYTES, "%s: write", c->name);
	is_i64(file_do(loop, f, true, out + 65536, 4096, 65536, IO_FILE_DSYNC), 4096,
	       "%s: write, durable when done", c->name);
	io_file_sync(loop, f, waiter_op(&w));
	is_i64(await(loop, &w), 0, "%s: sync", c->name);
	is_i64(file_do(loop, f, false, in, FILE_BYTES, 0, 0), FILE_BYTES, "%s: read", c->name);
	is_mem(in, out, FILE_BYTES, "%s: what was written", c->name);
	is_i64(file_do(loop, f, false, in, 16384, FILE_BYTES - 8192, 0), 8192,
	       "%s: short at the end", c->name);
	is_i64(file_do(loop, f, false, in, 8192, FILE_BYTES + 8192, 0), 0, "%s: nothing behind it",
	       c->name);

	io_file_zero(loop, f, waiter_op(&w), 8192, 16384, true);
	is_i64(await(loop, &w), 0, "%s: zero, keeping the space", c->name);
	io_file_zero(loop, f, waiter_op(&w), 65536, 65536, false);
	is_i64(await(loop, &w), 0, "%s: zero, space may go", c->name);
	io_file_discard(loop, f, waiter_op(&w), 524288, 131072);
	r = await(loop, &w);
	ok(io_file_info(f)->can_discard ? r == 0 : r == -EOPNOTSUPP, "%s: discard, as promised",
	   c->name);
	memset(out + 8192, 0, 16384);
	memset(out + 65536, 0, 65536);
	if (r == 0)
		memset(out + 524288, 0, 131072);
	is_i64(file_do(loop, f, false, in, FILE_BYTES, 0, 0), FILE_BYTES, "%s: read again",
	       c->name);
	is_mem(in, out, FILE_BYTES, "%s: zeroes there and nowhere else", c->name);
	is_i64(io_file_refresh(f), 0, "%s: refresh", c->name);
	is_u64(io_file_info(f)->size, FILE_BYTES, "%s: the size has not changed", c->name);
	free(out);
	free(in);
}

static void contract_file(const struct contract *c, bool direct)
{
	struct io_loop *loop = c->make(c->arg);
	struct io_file_options opts = { .create = true, .size = FILE_BYTES, .exclusive = true };
	struct io_file *f = NULL, *second = NULL;
	struct err err = ERR_NULL;
	char path[256];
	uint8_t byte = 1;

	opts.direct = direct;
	snprintf(path, sizeof(path), "%s/contract-%s-%d", c->directory, io_loop_name(loop), direct);
	if (!ok(io_file_open(loop, path, &opts, &f, &err) == 0, "%s: created %s", c->name, path)) {
		diag("%s", err.text);
		io_loop_free(loop);
		return;
	}
	is_u64(io_file_info(f)->size, FILE_BYTES, "%s: with its size", c->name);
	ok(!io_file_info(f)->block_device && io_file_info(f)->volatile_cache, "%s: what it is",
	   c->name);
	is_i64(io_file_open(loop, path, &opts, &second, &err), -EBUSY, "%s: a second opening",
	       c->name);
	ok(strstr(err.text, path), "%s: is refused: %s", c->name, err.text);
	check_file_data(c, loop, f);
	if (io_file_info(f)->direct)
		check_file_alignment(c->name, loop, f);
	else if (direct)
		tap_skip("no direct I/O here");
	io_file_close(f);

	opts = (struct io_file_options){ .read_only = true };
	if (ok(io_file_open(loop, path, &opts, &f, &err) == 0, "%s: opened again, read-only",
	       c->name)) {
		is_i64(file_do(loop, f, false, &byte, 1, 8192, 0), 1, "%s: read one byte", c->name);
		is_u64(byte, 0, "%s: it is there", c->name);
		ok(file_do(loop, f, true, &byte, 1, 0, 0) < 0, "%s: but not written", c->name);
		io_file_close(f);
	}
	is_i64(io_file_open(loop, "/no/such/file", &opts, &f, &err), -ENOENT, "%s: no file: %s",
	       c->name, err.text);
	io_loop_free(loop);
}

/* More at once than any queue was made for. */
static void contract_flood(const struct contract *c)
{
	enum { N = 5000 };
	struct io_loop *loop = c->make(c->arg);
	struct io_file_options opts = { .create = true, .size = (uint64_t)N * 64 };
	struct waiter *w = calloc(N, sizeof(*w));
	struct iovec *iov = calloc(N, sizeof(*iov));
	uint8_t *buf = calloc(N, 64);
	struct io_file *f = NULL;
	struct err err = ERR_NULL;
	char path[256];
	int good = 0;

	snprintf(path, sizeof(path), "%s/flood-%s", c->directory, io_loop_name(loop));
	if (io_file_open(loop, path, &opts, &f, &err) < 0)
		diag("%s", err.text);
	for (int pass = 0; f && pass < 2; pass++) {
		for (int i = 0; i < N; i++) {
			iov[i] = (struct iovec){ buf + i * 64, 64 };
			memset(iov[i].iov_base, pass == 0 ? i % 251 : 0, 64);
			if (pass == 0)
				io_file_write(loop, f, waiter_op(&w[i]), &iov[i], 1,
					      (uint64_t)i * 64, 0);
			else
				io_file_read(loop, f, waiter_op(&w[i]), &iov[i], 1,
					     (uint64_t)i * 64);
		}
		for (int i = 0; i < N; i++)
			await(loop, &w[i]);
	}
	for (int i = 0; i < N; i++)
		good += w[i].op.result == 64 && buf[i * 64] == i % 251 &&
			buf[i * 64 + 63] == i % 251;
	is_u64(good, N, "%s: %d writes, then reads, all at once", c->name, N);
	io_file_close(f);
	free(w);
	free(iov);
	free(buf);
	io_loop_free(loop);
}

static void contract_run(const struct contract *c)
{
	contract_time(c);
	contract_transfer(c);
	contract_full(c);
	contract_now(c);
	contract_end(c);
	contract_shutdown(c);
	contract_reset(c);
	contract_close(c);
	contract_connect(c);
	contract_many(c);
	contract_file(c, false);
	contract_file(c, true);
	contract_flood(c);
}

#endif
