/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a loop costs beside the same work on bare sockets. Two processes on two cores over loopback: a
 * client that keeps DEPTH requests of 72 bytes in flight, a server that answers each with 24 bytes
 * and a payload, in as few sends as the vectors allow. "bare" is the fastest that plain system calls
 * do: no loop, no bookkeeping, spinning on recv(MSG_DONTWAIT).
 *
 *	bench-stream SERVER CLIENT DEPTH PAYLOAD [SPIN_US [CONNECTIONS]]
 *	SERVER, CLIENT: bare, block (bare, but sleeping in recv), uring, epoll
 *
 * Prints microseconds per request: the best and the median of many short windows, since on a shared
 * machine a long one measures the neighbours.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/util.h"
#include "io/io.h"

enum {
	REQUEST = 72,
	HEADER = 24,
	MAX_DEPTH = 1024,
	MAX_CONNECTIONS = 64,
	BUFFER = 1 << 18,
	WINDOWS = 101,
	WINDOW_NS =
		5000000, /* shorter than a scheduler's slice, longer than hundreds of requests */
};

static size_t payload, reply;
static unsigned int depth;
static uint8_t zeroes[1 << 20];

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static NORETURN void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- the client's account ------------------------------------------------------------------ */

static uint64_t window_start, window_requests;
static double results[WINDOWS];
static unsigned int windows;

static bool account(unsigned int requests)
{
	uint64_t now;

	window_requests += requests;
	if (window_requests < 100)
		return false;
	now = now_ns();
	if (now - window_start < WINDOW_NS)
		return false;
	if (windows < WINDOWS)
		results[windows++] = (double)(now - window_start) / 1e3 / (double)window_requests;
	window_start = now;
	window_requests = 0;
	return windows == WINDOWS;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(char **argv)
{
	qsort(results, WINDOWS, sizeof(results[0]), ascending);
	printf("server %-5s client %-5s depth %4u payload %6zu: best %7.3f us, median %7.3f us, "
	       "%8.0f/s\n",
	       argv[1], argv[2], depth, payload, results[0], results[WINDOWS / 2],
	       1e6 / results[WINDOWS / 2]);
}

/* ---- bare sockets ---------------------------------------------------------------------------- */

static int bare_flags = MSG_DONTWAIT;

static size_t bare_recv(int fd, void *buf, size_t n)
{
	ssize_t got;

	do {
		got = recv(fd, buf, n, bare_flags);
	} while (got < 0 && errno == EAGAIN);
	if (got < 0 && errno != ECONNRESET)
		fail("recv");
	return got < 0 ? 0 : (size_t)got;
}

static void bare_send(int fd, struct iovec *iov, int niov)
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = (size_t)niov };
	ssize_t n;

	while (msg.msg_iovlen > 0) {
		n = sendmsg(fd, &msg, bare_flags | MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			continue;
		if (n < 0)
			_exit(0);
		while (msg.msg_iovlen > 0 && (size_t)n >= msg.msg_iov->iov_len) {
			n -= (ssize_t)msg.msg_iov->iov_len;
			msg.msg_iov++;
			msg.msg_iovlen--;
		}
		if (msg.msg_iovlen > 0) {
			msg.msg_iov->iov_base = (char *)msg.msg_iov->iov_base + n;
			msg.msg_iov->iov_len -= (size_t)n;
		}
	}
}

static void bare_server(int fd)
{
	static uint8_t buf[BUFFER];
	struct iovec iov[IO_MAX_IOV];
	size_t have = 0, n;
	int niov;

	while ((n = bare_recv(fd, buf, sizeof(buf))) > 0) {
		for (have += n; have >= REQUEST;) {
			for (niov = 0; niov < IO_MAX_IOV && have >= REQUEST; have -= REQUEST) {
				iov[niov++] = (struct iovec){ zeroes, HEADER };
				iov[niov++] = (struct iovec){ zeroes, payload };
			}
			bare_send(fd, iov, niov);
		}
	}
}

static void bare_client(int fd)
{
	static uint8_t buf[BUFFER];
	struct iovec iov;
	size_t have = 0;
	unsigned int n = depth;

	do {
		iov = (struct iovec){ zeroes, (size_t)n * REQUEST };
		bare_send(fd, &iov, 1);
		do {
			have += bare_recv(fd, buf, sizeof(buf));
		} while (have < reply);
		n = (unsigned int)(have / reply);
		have %= reply;
	} while (!account(n));
}

/* ---- loops ----------------------------------------------------------------------------------- */

struct end {
	struct io_stream *s;
	struct io_op rx, tx;
	struct iovec rx_iov, tx_iov[IO_MAX_IOV];
	size_t have;
	unsigned int owed; /* answers or requests to be sent */
	int at, niov;
	bool sending;
	bool client;
	uint8_t *buf;
};

static bool finished;
static struct io_loop *loop;

static void end_send(struct end *e)
{
	e->at = e->niov = 0;
	if (e->client && e->owed > 0) {
		e->tx_iov[e->niov++] = (struct iovec){ zeroes, (size_t)e->owed * REQUEST };
		e->owed = 0;
	}
	while (!e->client && e->niov < IO_MAX_IOV && e->owed > 0) {
		e->tx_iov[e->niov++] = (struct iovec){ zeroes, HEADER };
		e->tx_iov[e->niov++] = (struct iovec){ zeroes, payload };
		e->owed--;
	}
	e->sending = e->niov > 0;
	if (e->sending)
		io_stream_send(e->s, &e->tx, e->tx_iov, e->niov, false);
}

static void end_sent(struct io_op *op)
{
	struct end *e = container_of(op, struct end, tx);
	int64_t n = op->result;

	if (n <= 0)
		return;
	while (e->at < e->niov && (size_t)n >= e->tx_iov[e->at].iov_len)
		n -= (int64_t)e->tx_iov[e->at++].iov_len;
	if (e->at == e->niov) {
		end_send(e);
		return;
	}
	e->tx_iov[e->at].iov_base = (uint8_t *)e->tx_iov[e->at].iov_base + n;
	e->tx_iov[e->at].iov_len -= (size_t)n;
	io_stream_send(e->s, &e->tx, e->tx_iov + e->at, e->niov - e->at, false);
}

static void end_received(struct io_op *op)
{
	struct end *e = container_of(op, struct end, rx);
	size_t unit = e->client ? reply : REQUEST;
	unsigned int n;

	if (op->result <= 0) {
		finished = true;
		return;
	}
	e->have += (size_t)op->result;
	n = (unsigned int)(e->have / unit);
	e->have %= unit;
	e->owed += n;
	if (e->client && n > 0 && account(n))
		finished = true;
	io_stream_recv(e->s, &e->rx, &e->rx_iov, 1);
	if (!e->sending)
		end_send(e);
}

static void end_start(struct end *e, const struct io_addr *addr, struct io_listener *l,
		      bool client);

struct pending {
	struct io_op op;
	bool done;
};

static void pending_done(struct io_op *op)
{
	container_of(op, struct pending, op)->done = true;
}

static void end_start(struct end *e, const struct io_addr *addr, struct io_listener *l, bool client)
{
	struct pending p = { .done = false };

	*e = (struct end){ .client = client, .buf = malloc(BUFFER) };
	io_op_init(&p.op, pending_done);
	if (l)
		io_accept(l, &p.op);
	else
		io_connect(loop, &p.op, addr, NULL);
	while (!p.done)
		io_loop_turn(loop, UINT64_MAX);
	if (p.op.result < 0 || io_stream_new(loop, p.op.sock, NULL, &e->s) < 0)
		fail("connection");
	e->rx_iov = (struct iovec){ e->buf, BUFFER };
	io_op_init(&e->rx, end_received);
	io_op_init(&e->tx, end_sent);
}

static void loop_new(const char *kind, uint64_t spin_ns)
{
	struct io_loop_options opts = { .spin_ns = spin_ns };
	struct err err = ERR_NULL;

	opts.kind = strcmp(kind, "epoll") == 0 ? IO_KIND_EPOLL : IO_KIND_URING;
	if (io_loop_new(&opts, &loop, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
}

static void loop_run(struct end *ends, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		io_stream_recv(ends[i].s, &ends[i].rx, &ends[i].rx_iov, 1);
		ends[i].owed = ends[i].client ? depth : 0;
		end_send(&ends[i]);
	}
	while (!finished)
		io_loop_turn(loop, UINT64_MAX);
}

/* ---- both sides -------------------------------------------------------------------------------- */

static int one = 1;
static struct end ends[MAX_CONNECTIONS];

static bool is_bare(const char *kind)
{
	if (strcmp(kind, "block") == 0)
		bare_flags = 0;
	return strcmp(kind, "bare") == 0 || strcmp(kind, "block") == 0;
}

static void server(const char *kind, int port_fd, uint64_t spin_ns, unsigned int connections)
{
	struct io_listener *l = NULL;
	struct io_addr addr;
	struct err err = ERR_NULL;
	uint16_t port;
	int fd;

	pin(1);
	io_addr_parse("127.0.0.1:0", 0, true, &addr, NULL);
	if (is_bare(kind)) {
		int lfd = socket(AF_INET, SOCK_STREAM, 0);

		if (bind(lfd, (struct sockaddr *)(void *)&addr.ss, addr.len) < 0 ||
		    listen(lfd, 64) < 0 ||
		    getsockname(lfd, (struct sockaddr *)(void *)&addr.ss, &addr.len) < 0)
			fail("listen");
		port = io_addr_port(&addr);
		if (write(port_fd, &port, sizeof(port)) < 0)
			fail("write");
		fd = accept(lfd, NULL, NULL);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		bare_server(fd);
		return;
	}
	loop_new(kind, spin_ns);
	if (io_listen(loop, &addr, NULL, &l, &err) < 0)
		fail(err.text);
	port = io_addr_port(io_listener_addr(l));
	if (write(port_fd, &port, sizeof(port)) < 0)
		fail("write");
	for (unsigned int i = 0; i < connections; i++)
		end_start(&ends[i], NULL, l, false);
	loop_run(ends, connections);
}

static void client(const char *kind, uint16_t port, uint64_t spin_ns, unsigned int connections)
{
	struct io_addr addr;
	int fd;

	pin(0);
	io_addr_parse("127.0.0.1:0", 0, true, &addr, NULL);
	io_addr_set_port(&addr, port);
	window_start = now_ns();
	if (is_bare(kind)) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(fd, (struct sockaddr *)(void *)&addr.ss, addr.len) < 0)
			fail("connect");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		bare_client(fd);
		return;
	}
	loop_new(kind, spin_ns);
	for (unsigned int i = 0; i < connections; i++)
		end_start(&ends[i], &addr, NULL, true);
	loop_run(ends, connections);
}

static unsigned int number(const char *text, unsigned int max)
{
	uint64_t n;

	if (parse_u64_between(text, 0, max, &n) < 0) {
		fprintf(stderr, "bench-stream: '%s' is not a number up to %u\n", text, max);
		exit(2);
	}
	return (unsigned int)n;
}

int main(int argc, char **argv)
{
	unsigned int connections = argc > 6 ? number(argv[6], MAX_CONNECTIONS) : 1;
	uint64_t spin_ns = argc > 5 ? (uint64_t)number(argv[5], 1000000) * 1000 : 0;
	uint16_t port = 0;
	int port_pipe[2];
	pid_t pid;

	if (argc < 5 || argc > 7) {
		fprintf(stderr, "usage: bench-stream SERVER CLIENT DEPTH PAYLOAD [SPIN_US "
				"[CONNECTIONS]]\n");
		return 2;
	}
	depth = MAX(number(argv[3], MAX_DEPTH), 1U);
	payload = MAX(number(argv[4], sizeof(zeroes)), 1U);
	reply = HEADER + payload;
	if (pipe(port_pipe) < 0)
		fail("pipe");
	pid = fork();
	if (pid == 0) {
		server(argv[1], port_pipe[1], spin_ns, connections);
		_exit(0);
	}
	if (read(port_pipe[0], &port, sizeof(port)) != sizeof(port))
		fail("no port");
	client(argv[2], port, spin_ns, connections);
	report(argv);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
