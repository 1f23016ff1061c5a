/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated network: connecting, streams and every way in which they can go wrong. */
#include <stdlib.h>

#include "tests/tap.h"
#include "wait.h"

/* Two machines, a listener on one, and a connection between them. */
struct net {
	struct sim *sim;
	struct sim_node *a, *b; /* a connects to b */
	struct io_loop *loop_a, *loop_b;
	struct io_addr addr;
	struct io_listener *listener;
	struct io_stream *sa, *sb;
};

static void net_up(struct net *n, const struct sim_config *c)
{
	struct sim_config calm;
	struct io_listen_options lo = { .backlog = 2 };
	struct err err = ERR_NULL;

	memset(n, 0, sizeof(*n));
	sim_config_calm(&calm);
	n->sim = sim_new(7, c ? c : &calm);
	n->a = sim_node_new(n->sim, "a");
	n->b = sim_node_new(n->sim, "b");
	n->loop_a = sim_loop_new(n->a);
	n->loop_b = sim_loop_new(n->b);
	sim_node_addr(n->b, 4420, &n->addr);
	if (io_listen(n->loop_b, &n->addr, &lo, &n->listener, &err) != 0)
		diag("%s", err_text(&err));
}

static int64_t net_dial(struct net *n, struct io_sock **ret_sock)
{
	struct waiter w;
	int64_t r;

	io_connect(n->loop_a, waiter_arm(&w, n->sim), &n->addr, NULL);
	r = waiter_wait(&w, 100 * S);
	*ret_sock = w.op.sock;
	return r;
}

static int64_t net_take(struct net *n, struct io_sock **ret_sock)
{
	struct waiter w;
	int64_t r;

	io_accept(n->listener, waiter_arm(&w, n->sim));
	r = waiter_wait(&w, 100 * S);
	*ret_sock = w.op.sock;
	return r;
}

static void net_connect(struct net *n, const struct io_stream_options *so)
{
	struct io_sock *a = NULL, *b = NULL;

	if (net_dial(n, &a) == 0 && net_take(n, &b) == 0) {
		io_stream_new(n->loop_a, a, so, &n->sa);
		io_stream_new(n->loop_b, b, so, &n->sb);
	}
	ok(n->sa && n->sb, "connected");
}

static void net_down(struct net *n)
{
	if (n->sa)
		io_stream_close(n->sa, false);
	if (n->sb)
		io_stream_close(n->sb, false);
	if (n->listener)
		io_listener_close(n->listener);
	sim_run_for(n->sim, 200 * S);
	is_u64(sim_node_streams(n->a) + sim_node_streams(n->b), 0, "no connection is left");
	io_loop_free(n->loop_a);
	io_loop_free(n->loop_b);
	sim_free(n->sim);
}

static void test_connect(void)
{
	struct net n;
	struct io_sock *s, *t;
	struct waiter w;
	struct io_addr away;
	uint64_t begin;
	char text[IO_ADDR_TEXT];

	net_up(&n, NULL);
	net_connect(&n, NULL);
	io_addr_format(io_stream_peer(n.sb), text);
	ok(strncmp(text, "10.0.0.1:", 9) == 0, "the target sees the host's address (%s)", text);
	io_addr_format(io_stream_peer(n.sa), text);
	is_str(text, "10.0.0.2:4420", "the host sees the target's");
	ok(io_listen(n.loop_b, &n.addr, NULL, &n.listener, NULL) == -EADDRINUSE,
	   "one listener a port");
	ok(io_listen(n.loop_a, &n.addr, NULL, &n.listener, NULL) == -EADDRNOTAVAIL,
	   "and only on an address of one's own");

	away = n.addr;
	io_addr_set_port(&away, 4421);
	io_connect(n.loop_a, waiter_arm(&w, n.sim), &away, NULL);
	is_i64(waiter_wait(&w, S), -ECONNREFUSED, "nobody listens there");
	io_addr_parse("10.0.0.77", 4420, false, &away, NULL);
	io_connect(n.loop_a, waiter_arm(&w, n.sim), &away, NULL);
	is_i64(waiter_wait(&w, S), -EHOSTUNREACH, "nobody is there");
	io_connect(n.loop_a, waiter_arm(&w, n.sim), &n.addr, NULL);
	io_cancel(&w.op);
	is_i64(waiter_wait(&w, S), -ECANCELED, "a connect can be cancelled");

	is_i64(net_dial(&n, &s), 0, "the queue takes one");
	is_i64(net_dial(&n, &t), 0, "and two");
	begin = sim_now(n.sim);
	io_connect(n.loop_a, waiter_arm(&w, n.sim), &n.addr, NULL);
	is_i64(waiter_wait(&w, 100 * S), -ETIMEDOUT, "but no more than its backlog");
	ok(sim_now(n.sim) - begin >= 19 * S, "which takes the time of a connect");
	io_sock_close(s);
	io_sock_close(t);
	net_down(&n);
}

/*
 * Sends @total patterned bytes in pieces and receives them at the same time; true if all are
 * right.
 */
static bool pump(struct net *n, size_t total, uint64_t limit)
{
	static uint8_t out[3000], in[5000];
	size_t sent = 0, got = 0;
	struct waiter ws = { .done = true }, wr = { .done = true };
	bool right = true;
	uint64_t end = sim_now(n->sim) + limit;

	while (got < total && sim_now(n->sim) < end) {
		if (ws.done && sent < total) {
			size_t some = MIN(sizeof(out), total - sent);

			for (size_t i = 0; i < some; i++)
				out[i] = (uint8_t)((sent + i) * 7 + (sent + i) / 256);
			waiter_send(&ws, n->sim, n->sa, out, some);
		}
		if (wr.done)
			waiter_recv(&wr, n->sim, n->sb, in, MIN(sizeof(in), total - got));
		while (!ws.done && !wr.done && sim_now(n->sim) < end)
			sim_run_until(n->sim, waiter_is_done, &wr, MS);
		if (ws.done && ws.sim && ws.op.result > 0) {
			sent += (size_t)ws.op.result;
			ws.op.result = 0;
		}
		if (wr.done && wr.op.result <= 0)
			return false;
		if (wr.done) {
			for (size_t i = 0; i < (size_t)wr.op.result; i++)
				right &= in[i] == (uint8_t)((got + i) * 7 + (got + i) / 256);
			got += (size_t)wr.op.result;
		}
	}
	return right && got == total;
}

static void test_bytes(void)
{
	struct sim_config c;
	struct net n;

	sim_config_calm(&c);
	c.ppm[SIM_NET_SHORT] = 200000;
	c.ppm[SIM_NET_BYTE] = 100000;
	c.ppm[SIM_NET_STALL] = 20000;
	c.stall_max_ns = 10 * MS;
	c.stream_buffer = 5000;
	net_up(&n, &c);
	net_connect(&n, NULL);
	ok(pump(&n, 200000, 600 * S), "bytes arrive in order, whole, however they are cut");
	ok(sim_fault_count(n.sim, SIM_NET_SHORT) > 10 &&
		   sim_fault_count(n.sim, SIM_NET_BYTE) > 10 &&
		   sim_fault_count(n.sim, SIM_NET_STALL) > 0,
	   "and they were cut, and stalled");
	net_down(&n);
}

static void test_back_pressure(void)
{
	static uint8_t out[100000], in[100000];
	struct io_stream_options so = { .send_buffer = 3000, .recv_buffer = 5000 };
	struct net n;
	struct waiter w;
	size_t sent = 0;

	net_up(&n, NULL);
	net_connect(&n, &so);
	for (;;) {
		waiter_send(&w, n.sim, n.sa, out, sizeof(out));
		if (waiter_wait(&w, S) < 0)
			break;
		sent += (size_t)w.op.result;
	}
	is_u64(sent, 8000, "a stream nobody reads holds what its buffers hold");
	is_i64(recv_some(n.sim, n.sb, in, sizeof(in)), 8000, "and gives it when asked");
	is_i64(waiter_wait(&w, S), 8000, "then the waiting send goes on");
	net_down(&n);
}

static void test_endings(void)
{
	struct net n;
	char buf[16];
	struct waiter w;

	net_up(&n, NULL);
	net_connect(&n, NULL);
	send_some(n.sim, n.sa, "last", 4);
	io_stream_shutdown(n.sa);
	is_i64(recv_some(n.sim, n.sb, buf, sizeof(buf)), 4,
	       "what was sent before the shutdown comes");
	is_i64(recv_some(n.sim, n.sb, buf, sizeof(buf)), 0, "then the end of the stream");
	is_i64(send_some(n.sim, n.sa, "x", 1), -EPIPE, "one cannot send after it");
	is_i64(send_some(n.sim, n.sb, "back", 4), 4, "the other direction is open");
	is_i64(recv_some(n.sim, n.sa, buf, sizeof(buf)), 4, "and delivers");
	net_down(&n);

	net_up(&n, NULL);
	net_connect(&n, NULL);
	waiter_recv(&w, n.sim, n.sa, buf, sizeof(buf));
	io_stream_close(n.sb, true);
	n.sb = NULL;
	is_i64(waiter_wait(&w, S), -ECONNRESET, "a reset is an error at the other end");
	is_i64(send_some(n.sim, n.sa, "x", 1), -EPIPE, "and stays one");
	net_down(&n);

	net_up(&n, NULL);
	net_connect(&n, NULL);
	send_some(n.sim, n.sb, "unread", 6);
	sim_run_for(n.sim, S);
	io_stream_close(n.sa, false);
	n.sa = NULL;
	is_i64(recv_some(n.sim, n.sb, buf, sizeof(buf)), -ECONNRESET,
	       "closing with unread data resets");
	net_down(&n);

	net_up(&n, NULL);
	net_connect(&n, NULL);
	waiter_recv(&w, n.sim, n.sa, buf, sizeof(buf));
	io_stream_close(n.sa, false);
	n.sa = NULL;
	ok(!w.done, "a close does not call from inside");
	is_i64(waiter_wait(&w, S), -ECANCELED, "it cancels what is pending");
	is_u64(w.calls, 1, "once");
	net_down(&n);
}

static void test_reset_fault(void)
{
	unsigned int both = 0, one = 0;

	for (int i = 0; i < 20; i++) {
		struct net n;
		struct waiter wa, wb;
		char x, y;

		net_up(&n, NULL);
		for (int j = 0; j < i; j++)
			rng_u64(sim_rng(n.sim));
		net_connect(&n, NULL);
		sim_node_reset(n.a);
		waiter_recv(&wa, n.sim, n.sa, &x, 1);
		waiter_recv(&wb, n.sim, n.sb, &y, 1);
		sim_run_for(n.sim, S);
		both += wa.done && wb.done;
		if (wa.done != wb.done) {
			one++;
			send_some(n.sim, wa.done ? n.sb : n.sa, "?", 1);
			ok(waiter_wait(wa.done ? &wb : &wa, S) < 0,
			   "who has not noticed the reset does when it sends");
		}
		net_down(&n);
	}
	ok(both > 0 && one > 0, "a reset reaches both ends (%u) or one of them (%u)", both, one);
}

static void test_hole(void)
{
	struct io_stream_options so = { .user_timeout_ns = 3 * S };
	struct net n;
	struct waiter w;
	uint64_t begin;
	char buf[8];
	int64_t ra = 0, rb = 0;

	net_up(&n, NULL);
	net_connect(&n, &so);
	sim_node_hole(n.a);
	begin = sim_now(n.sim);
	waiter_recv(&w, n.sim, n.sa, buf, 1);
	sim_run_for(n.sim, 1000 * S);
	ok(!w.done, "in a black hole who waits is told nothing");
	begin = sim_now(n.sim);
	/* The hole may be in either direction or both. */
	send_some(n.sim, n.sa, "x", 1);
	send_some(n.sim, n.sb, "x", 1);
	for (int i = 0; i < 10 && ra >= 0 && rb >= 0; i++) {
		sim_run_for(n.sim, S);
		ra = send_some(n.sim, n.sa, "x", 1);
		rb = send_some(n.sim, n.sb, "x", 1);
	}
	ok(ra == -ETIMEDOUT || rb == -ETIMEDOUT || w.op.result == -ETIMEDOUT,
	   "who sends is told after the user timeout");
	ok(sim_now(n.sim) - begin >= 3 * S && sim_now(n.sim) - begin < 5 * S, "and not before");
	net_down(&n);
}

static void test_dial_faults(void)
{
	static const struct {
		enum sim_fault fault;
		int want;
	} cases[] = { { SIM_NET_REFUSE, -ECONNREFUSED },
		      { SIM_NET_NOMEM, -ENOMEM },
		      { SIM_NET_SYN, -ETIMEDOUT } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sim_config c;
		struct net n;
		struct io_sock *s = NULL;

		sim_config_calm(&c);
		c.ppm[cases[i].fault] = 1000000;
		net_up(&n, &c);
		is_i64(net_dial(&n, &s), cases[i].want, "a connect fails by %s",
		       sim_fault_name(cases[i].fault));
		sim_heal(n.sim);
		net_connect(&n, NULL);
		net_down(&n);
	}
}

static void test_accept_fault(void)
{
	struct sim_config c;
	struct net n;
	struct io_sock *a = NULL, *b = NULL;

	sim_config_calm(&c);
	c.ppm[SIM_NET_EMFILE] = 1000000;
	net_up(&n, &c);
	is_i64(net_dial(&n, &a), 0, "a host connects");
	is_i64(net_take(&n, &b), -EMFILE, "the target has no file descriptor for it");
	sim_heal(n.sim);
	is_i64(net_take(&n, &b), 0, "it is still there when it has");
	io_sock_close(a);
	io_sock_close(b);
	net_down(&n);
}

static void test_corrupt(void)
{
	static uint8_t out[4096], in[4096];
	struct sim_config c;
	struct net n;
	unsigned int bits = 0;

	sim_config_calm(&c);
	c.ppm[SIM_NET_CORRUPT] = 1000000;
	net_up(&n, &c);
	net_connect(&n, NULL);
	send_some(n.sim, n.sa, out, sizeof(out));
	recv_some(n.sim, n.sb, in, sizeof(in));
	for (size_t i = 0; i < sizeof(in); i++)
		bits += (unsigned int)__builtin_popcount(in[i]);
	is_u64(bits, 1, "one bit flips in a corrupted transfer");
	net_down(&n);
}

static void test_link(void)
{
	struct net n;
	char buf[8];
	struct io_sock *s = NULL;
	uint64_t begin;

	net_up(&n, NULL);
	net_connect(&n, NULL);
	begin = sim_now(n.sim);
	sim_link_down(n.a, n.b, 5 * S);
	is_i64(send_some(n.sim, n.sa, "x", 1), 1, "a send does not know that the link is down");
	is_i64(recv_some(n.sim, n.sb, buf, 1), 1, "what was sent arrives");
	ok(sim_now(n.sim) - begin >= 5 * S, "when the link is up again");
	begin = sim_now(n.sim);
	sim_link_down(n.a, n.b, 5 * S);
	is_i64(net_dial(&n, &s), 0, "and so does a connect");
	ok(sim_now(n.sim) - begin >= 4 * S, "with retries");
	io_sock_close(s);
	net_down(&n);
}

/* Messages of one connection stay in order; those of two overtake each other. */
static void test_order(void)
{
	struct sim_config c;
	unsigned int overtaken = 0;

	sim_config_calm(&c);
	c.net_max_ns = 10 * MS;
	for (int i = 0; i < 20; i++) {
		struct net n;
		struct io_stream *first_a, *first_b;
		struct waiter w1, w2;
		char x, y;

		net_up(&n, &c);
		for (int j = 0; j < i; j++)
			rng_u64(sim_rng(n.sim));
		net_connect(&n, NULL);
		first_a = n.sa;
		first_b = n.sb;
		net_connect(&n, NULL);
		waiter_recv(&w1, n.sim, first_b, &x, 1);
		waiter_recv(&w2, n.sim, n.sb, &y, 1);
		send_some(n.sim, first_a, "1", 1);
		send_some(n.sim, n.sa, "2", 1);
		waiter_wait(&w1, S);
		waiter_wait(&w2, S);
		overtaken += w2.at < w1.at;
		io_stream_close(first_a, false);
		io_stream_close(first_b, false);
		net_down(&n);
	}
	ok(overtaken > 0 && overtaken < 20, "connections overtake each other (%u of 20)",
	   overtaken);
}

static void test_pair(void)
{
	struct net n;
	struct io_sock *a, *b;

	net_up(&n, NULL);
	is_i64(io_sock_pair(n.loop_a, &a, &b), 0, "a pair");
	io_stream_new(n.loop_a, a, NULL, &n.sa);
	io_stream_new(n.loop_a, b, NULL, &n.sb);
	ok(pump(&n, 50000, S), "is a stream within a machine");
	sim_node_hole(n.a);
	sim_node_reset(n.a);
	sim_link_down(n.a, n.b, S);
	net_down(&n);
}

static void test_addresses(void)
{
	static const struct {
		const char *listen, *connect;
		bool v6only;
		int want;
	} cases[] = {
		{ "0.0.0.0:5000", "127.0.0.1:5000", false, 0 },
		{ "127.0.0.1:5000", "10.0.0.1:5000", false, -ECONNREFUSED },
		{ "[::]:5000", "127.0.0.1:5000", false, 0 },
		{ "[::]:5000", "127.0.0.1:5000", true, -ECONNREFUSED },
		{ "[::1]:5000", "[::1]:5000", false, 0 },
		{ "[fd00::1]:5000", "[fd00::1]:5000", false, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct io_listen_options lo = { .v6only = cases[i].v6only };
		struct net n;
		struct waiter w;

		net_up(&n, NULL);
		io_listener_close(n.listener);
		io_addr_parse(cases[i].listen, 0, false, &n.addr, NULL);
		is_i64(io_listen(n.loop_a, &n.addr, &lo, &n.listener, NULL), 0, "listen on %s",
		       cases[i].listen);
		io_addr_parse(cases[i].connect, 0, false, &n.addr, NULL);
		io_connect(n.loop_a, waiter_arm(&w, n.sim), &n.addr, NULL);
		is_i64(waiter_wait(&w, S), cases[i].want, "connect to %s", cases[i].connect);
		if (w.op.sock)
			io_sock_close(w.op.sock);
		net_down(&n);
	}
}

int main(void)
{
	test_connect();
	test_bytes();
	test_back_pressure();
	test_endings();
	test_reset_fault();
	test_hole();
	test_dial_faults();
	test_accept_fault();
	test_corrupt();
	test_link();
	test_order();
	test_pair();
	test_addresses();
	return tap_done();
}
