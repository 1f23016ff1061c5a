/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only a real kernel can show of its two implementations: threads, sleeping and waking, limits
 * of the system, and processor time of a loop that has nothing to do.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/sock.h"
#include "io/test-help.h"

static const struct io_loop_options *the_opts;
static const char *the_name;
static char directory[] = "/var/tmp/penstock-test-XXXXXX";

static struct io_loop *new_loop(void)
{
	struct io_loop *loop = NULL;
	struct err err = ERR_NULL;

	if (io_loop_new(the_opts, &loop, &err) < 0)
		diag("%s", err.text);
	return loop;
}

static unsigned int open_fds(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Two loops in two threads throw a message to and fro, each asleep while the other has it. */
struct court {
	struct io_loop *loop[2];
	struct io_msg msg;
	unsigned int left;
	unsigned int at;
};

static void ball_arrives(struct io_msg *m)
{
	struct court *c = container_of(m, struct court, msg);

	if (c->left-- == 0) {
		io_loop_stop(c->loop[0]);
		io_loop_stop(c->loop[1]);
		return;
	}
	c->at = !c->at;
	io_post(c->loop[c->at], m);
}

struct made_loop {
	struct io_loop *loop;
	_Atomic(struct io_loop *) ready;
};

static void *loop_thread(void *arg)
{
	struct made_loop *m = arg;

	m->loop = new_loop();
	atomic_store(&m->ready, m->loop);
	io_loop_run(m->loop);
	io_loop_free(m->loop);
	return NULL;
}

static pthread_t start_loop(struct made_loop *m)
{
	pthread_t thread;

	*m = (struct made_loop){ .loop = NULL };
	pthread_create(&thread, NULL, loop_thread, m);
	while (!atomic_load(&m->ready))
		usleep(100);
	return thread;
}

static void check_messages(void)
{
	enum { THROWS = 5000 };
	struct court c = { .left = THROWS, .msg.fn = ball_arrives };
	struct made_loop other;
	pthread_t thread = start_loop(&other);

	c.loop[0] = new_loop();
	c.loop[1] = other.loop;
	alarm(60); /* a wake-up that gets lost is a loop that sleeps for ever */
	io_post(c.loop[0], &c.msg);
	is_i64(io_loop_run(c.loop[0]), 0, "%s: %d messages between sleeping loops", the_name,
	       THROWS);
	pthread_join(thread, NULL);
	alarm(0);
	io_loop_free(c.loop[0]);
}

static struct io_loop *signalled;

static void on_signal(int nr)
{
	io_loop_stop(signalled);
}

static void check_signal(void)
{
	struct sigaction action = { .sa_handler = on_signal }, old;
	int r;

#ifdef __SANITIZE_THREAD__
	tap_skip("the thread sanitizer delays signal handlers until after system calls");
	return;
#endif
	signalled = new_loop();
	sigaction(SIGUSR1, &action, &old);
	if (fork() == 0) {
		usleep(50000);
		kill(getppid(), SIGUSR1);
		_exit(0);
	}
	r = io_loop_run(signalled);
	wait(NULL);
	sigaction(SIGUSR1, &old, NULL);
	is_i64(r, 0, "%s: a signal handler stops a sleeping loop", the_name);
	io_loop_free(signalled);
}

/* A connection accepted here, served by a loop in another thread. */
struct visitor {
	struct io_msg arrive;
	struct io_loop *loop; /* its own */
	struct io_sock *sock;
	struct io_stream *s;
	struct io_op rx, tx;
	struct iovec iov;
	char buf[64];
	int64_t last;
};

static void visitor_sent(struct io_op *op)
{
	struct visitor *v = container_of(op, struct visitor, tx);

	v->iov = (struct iovec){ v->buf, sizeof(v->buf) };
	io_stream_recv(v->s, &v->rx, &v->iov, 1);
}

static void visitor_received(struct io_op *op)
{
	struct visitor *v = container_of(op, struct visitor, rx);

	v->last = op->result;
	if (op->result <= 0) {
		io_stream_close(v->s, false);
		io_loop_stop(v->loop);
		return;
	}
	v->iov = (struct iovec){ v->buf, (size_t)op->result };
	io_stream_send(v->s, &v->tx, &v->iov, 1, false);
}

static void visitor_arrives(struct io_msg *m)
{
	struct visitor *v = container_of(m, struct visitor, arrive);

	io_op_init(&v->rx, visitor_received);
	io_op_init(&v->tx, visitor_sent);
	if (io_stream_new(v->loop, v->sock, NULL, &v->s) < 0)
		abort();
	visitor_sent(&v->tx);
}

static void check_hand_over(void)
{
	struct visitor v = { .arrive.fn = visitor_arrives };
	struct io_loop *loop = new_loop();
	struct io_listener *l = listen_at(loop, "127.0.0.1:0");
	struct waiter accepting, connecting;
	struct io_stream *s = NULL;
	struct made_loop other;
	pthread_t thread = start_loop(&other);
	char buf[5], back[5] = "";
	int good = 0;

	io_accept(l, waiter_op(&accepting));
	io_connect(loop, waiter_op(&connecting), io_listener_addr(l), NULL);
	await(loop, &connecting);
	await(loop, &accepting);
	io_stream_new(loop, connecting.op.sock, NULL, &s);
	v.loop = other.loop;
	v.sock = accepting.op.sock;
	io_post(v.loop, &v.arrive);
	for (int i = 0; i < 100; i++) {
		snprintf(buf, sizeof(buf), "%04d", i);
		send_some(loop, s, buf, 4);
		good += recv_all(loop, s, back, 4) == 4 && memcmp(back, buf, 4) == 0;
	}
	is_i64(good, 100, "%s: a connection handed over to a loop in another thread", the_name);
	io_stream_close(s, false);
	pthread_join(thread, NULL);
	is_i64(v.last, 0, "%s: which sees its end", the_name);
	io_listener_close(l);
	io_loop_free(loop);
}

/* ---- limits ------------------------------------------------------------------------------------ */

/* No descriptor more than are open now. */
static void limit_fds(const struct rlimit *old)
{
	int fd = dup(0);
	struct rlimit low = { (rlim_t)fd, old->rlim_max };

	close(fd);
	setrlimit(RLIMIT_NOFILE, &low);
}

/* Fault X008. */
static void check_emfile(void)
{
	struct io_loop *loop = new_loop();
	struct io_listener *l = listen_at(loop, "127.0.0.1:0");
	struct waiter w, connecting;
	struct rlimit old;

	io_accept(l, waiter_op(&w));
	io_loop_turn(loop, 0);
	io_connect(loop, waiter_op(&connecting), io_listener_addr(l), NULL);
	getrlimit(RLIMIT_NOFILE, &old);
	limit_fds(&old);
	is_i64(await(loop, &w), -EMFILE, "X008: %s: no descriptor left for who connects", the_name);
	io_accept(l, waiter_op(&w));
	is_i64(await(loop, &w), -EMFILE, "X008: %s: and still none", the_name);
	setrlimit(RLIMIT_NOFILE, &old);
	io_accept(l, waiter_op(&w));
	is_i64(await(loop, &w), 0, "X008: %s: until there is", the_name);
	await(loop, &connecting);
	io_sock_close(w.op.sock);
	io_sock_close(connecting.op.sock);

	limit_fds(&old);
	io_accept(l, waiter_op(&w));
	for (int i = 0; i < 3; i++)
		io_loop_turn(loop, 1000000);
	ok(!w.done, "X008: %s: with nobody waiting, no descriptor is no news", the_name);
	io_connect(loop, waiter_op(&connecting), io_listener_addr(l), NULL);
	is_i64(await(loop, &connecting), -EMFILE, "X008: %s: connect says it too", the_name);
	setrlimit(RLIMIT_NOFILE, &old);
	io_listener_close(l);
	is_i64(await(loop, &w), -ECANCELED, "%s: closed", the_name);
	io_loop_free(loop);
}

static int int_option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	getsockopt(fd, level, name, &value, &len);
	return value;
}

static void check_options(void)
{
	struct io_stream_options opts = {
		.user_timeout_ns = 1500001,
		.keepalive_ns = UINT64_C(59900000000),
		.send_buffer = 65536,
		.recv_buffer = 131072,
	};
	struct io_loop *loop = new_loop();
	struct io_listener *l = NULL;
	struct err err = ERR_NULL;
	struct io_addr addr;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	is_i64(io_fd_tune(fd, true, &opts), 0, "a stream's options");
	ok(int_option(fd, IPPROTO_TCP, TCP_NODELAY) > 0, "no delay");
	is_i64(int_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 2, "user timeout, ms, rounded up");
	ok(int_option(fd, SOL_SOCKET, SO_KEEPALIVE) > 0, "K002: a silent peer is probed");
	is_i64(int_option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 60, "... after so many seconds");
	is_i64(int_option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 10, "... again after fewer");
	is_i64(int_option(fd, IPPROTO_TCP, TCP_KEEPCNT), 3, "... three times");
	ok(int_option(fd, SOL_SOCKET, SO_SNDBUF) >= 65536, "send buffer");
	ok(int_option(fd, SOL_SOCKET, SO_RCVBUF) >= 131072, "receive buffer");
	close(fd);
	io_addr_parse("192.0.2.1:0", 0, true, &addr, NULL);
	is_i64(io_listen(loop, &addr, NULL, &l, &err), -EADDRNOTAVAIL, "listening elsewhere: %s",
	       err.text);
	io_loop_free(loop);
}

/* Peers that connect and then say nothing cost memory only, and little; the next one is served. */
static void check_crowd(void)
{
	enum { N = 1500 };
	struct io_loop *loop = new_loop();
	struct io_listener *l = listen_at(loop, "127.0.0.1:0");
	struct io_stream **s = calloc(2 * N, sizeof(*s));
	struct waiter *w = calloc(N, sizeof(*w)), accepting, connecting;
	struct iovec *iov = calloc(N, sizeof(*iov));
	struct rlimit old, high;
	char byte;
	int n;

	getrlimit(RLIMIT_NOFILE, &old);
	high = (struct rlimit){ old.rlim_max, old.rlim_max };
	setrlimit(RLIMIT_NOFILE, &high);
	for (n = 0; n < N; n++) {
		iov[n] = (struct iovec){ &byte, 1 };
		io_accept(l, waiter_op(&accepting));
		io_connect(loop, waiter_op(&connecting), io_listener_addr(l), NULL);
		if (await(loop, &connecting) < 0 || await(loop, &accepting) < 0)
			break;
		io_stream_new(loop, connecting.op.sock, NULL, &s[2 * n]);
		io_stream_new(loop, accepting.op.sock, NULL, &s[2 * n + 1]);
		io_stream_recv(s[2 * n + 1], waiter_op(&w[n]), &iov[n], 1);
	}
	if (n < N && old.rlim_max < 2 * N + 100)
		tap_skip("too few descriptors");
	else
		is_i64(n, N, "X006: %s: %d silent connections", the_name, N);
	if (n > 0) {
		send_some(loop, s[n], "x", 1); /* of one in the middle */
		is_i64(await(loop, &w[n / 2]), 1, "X006: %s: and one that speaks is heard", the_name);
	}
	for (int i = 0; i < n; i++) {
		io_stream_close(s[2 * i], false);
		io_stream_close(s[2 * i + 1], false);
	}
	for (int i = 0; i < n; i++)
		await(loop, &w[i]);
	setrlimit(RLIMIT_NOFILE, &old);
	io_listener_close(l);
	free(s);
	free(w);
	free(iov);
	io_loop_free(loop);
}

/* A listener whose queue is full answers nobody: a connect that can only be cancelled. */
static void check_connect_cancel(void)
{
	enum { N = 8 };
	struct io_loop *loop = new_loop();
	struct io_listen_options opts = { .backlog = 1 };
	struct io_listener *l = NULL;
	struct waiter w[N];
	struct io_addr addr;
	int stuck = 0, cancelled = 0;

	io_addr_parse("127.0.0.1:0", 0, true, &addr, NULL);
	io_listen(loop, &addr, &opts, &l, NULL);
	for (int i = 0; i < N; i++)
		io_connect(loop, waiter_op(&w[i]), io_listener_addr(l), NULL);
	for (int i = 0; i < 5; i++)
		io_loop_turn(loop, 10000000);
	for (int i = 0; i < N; i++) {
		stuck += !w[i].done;
		io_cancel(&w[i].op);
		cancelled += await(loop, &w[i]) == -ECANCELED;
		if (w[i].op.sock)
			io_sock_close(w[i].op.sock);
	}
	ok(stuck > 0 && cancelled == stuck, "%s: %d connects that nobody answers are cancelled",
	   the_name, stuck);
	io_listener_close(l);
	io_loop_free(loop);
}

/* ---- nothing to do ------------------------------------------------------------------------------- */

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * Fault X007. A hundred connections, each with a receive pending, some with bytes that nobody reads;
 * all of it just after traffic, when a loop that spins is at its keenest. A loop that spins all the
 * time uses the whole of IDLE_NS, one that is woken for what nobody reads turns without end: the bound
 * is a tenth of the one, and turns that a timer of 10 ms explains of the other, so that a machine on
 * which a wake-up is dear does not fail it. What idleness costs to the per cent is tests/perf's.
 */
static void check_idle(void)
{
	enum { N = 100, IDLE_NS = 300000000 };
	struct io_loop *loop = new_loop();
	struct two t[N];
	struct waiter w[N];
	struct iovec iov[N];
	char buf[N];
	uint64_t start, end, used;
	unsigned int turns = 0;

	for (int i = 0; i < N; i++) {
		if (!two_over(loop, "127.0.0.1:0", &t[i]))
			return;
		iov[i] = (struct iovec){ &buf[i], 1 };
		io_stream_recv(t[i].b, waiter_op(&w[i]), &iov[i], 1);
		if (i % 3 == 0)
			send_some(loop, t[i].b, "unread", 6);
	}
	for (int i = 0; i < 2000; i++) {
		send_some(loop, t[1].a, "x", 1);
		await(loop, &w[1]);
		io_stream_recv(t[1].b, waiter_op(&w[1]), &iov[1], 1);
	}
	used = cpu_ns();
	start = io_now_precise(loop);
	do {
		io_loop_turn(loop, 10000000); /* as with a timer of 10 ms */
		turns++;
		end = io_now_precise(loop);
	} while (end - start < IDLE_NS);
	used = cpu_ns() - used;
	ok(used < IDLE_NS / 10 && turns < 2 * IDLE_NS / 10000000,
	   "X007: %s: %d idle connections cost %" PRIu64 " us of processor in %" PRIu64 " ms, %u turns",
	   the_name, N, used / 1000, (end - start) / 1000000, turns);
	for (int i = 0; i < N; i++)
		two_close(&t[i]);
	for (int i = 0; i < N; i++)
		await(loop, &w[i]);
	io_loop_free(loop);
}

/* ---- no memory --------------------------------------------------------------------------------- */

/* The n-th allocation fails, for each n: an error, and nothing is lost (a leak is the sanitizer's). */
static void check_no_memory(void)
{
	struct io_file_options opts = { .create = true, .size = 4096 };
	struct io_loop *loop, *main_loop = new_loop();
	struct io_addr addr;
	struct io_listener *l;
	struct io_sock *a, *b;
	struct io_stream *s;
	struct io_file *f;
	unsigned int before = open_fds();
	char path[256];
	int failed = 0, r;

	io_addr_parse("127.0.0.1:0", 0, true, &addr, NULL);
	snprintf(path, sizeof(path), "%s/limit", directory);
	for (unsigned int n = 1; n < 50; n++) {
		uint64_t hits = mem_fail_count();

		mem_fail_after(n);
		r = io_loop_new(the_opts, &loop, NULL);
		if (r == 0)
			io_loop_free(loop);
		failed += r == -ENOMEM;
		r = io_listen(main_loop, &addr, NULL, &l, NULL);
		if (r == 0)
			io_listener_close(l);
		failed += r == -ENOMEM;
		r = io_file_open(main_loop, path, &opts, &f, NULL);
		if (r == 0)
			io_file_close(f);
		failed += r == -ENOMEM;
		r = io_sock_pair(main_loop, &a, &b);
		failed += r == -ENOMEM;
		if (r == 0) {
			io_sock_close(b);
			r = io_stream_new(main_loop, a, NULL, &s);
			failed += r == -ENOMEM;
			if (r == 0)
				io_stream_close(s, false);
		}
		mem_fail_after(0);
		if (mem_fail_count() == hits)
			break;
	}
	ok(failed > 4, "%s: %d failed allocations are %d errors", the_name, failed, failed);
	is_u64(open_fds(), before, "%s: and no descriptor is lost", the_name);
	io_loop_free(main_loop);
}

int main(void)
{
	static const struct io_loop_options all[] = {
		{ .kind = IO_KIND_URING },
		{ .kind = IO_KIND_URING, .spin_ns = 100000 },
		{ .kind = IO_KIND_EPOLL },
		{ .kind = IO_KIND_EPOLL, .spin_ns = 100000, .file_threads = 1 },
	};
	static const char *const names[] = { "uring", "uring, spinning", "epoll",
					     "epoll, spinning" };
	unsigned int before;
	struct io_loop *loop;

	if (!mkdtemp(directory))
		tap_skip_all("no directory for files");
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		the_opts = &all[i];
		the_name = names[i];
		loop = new_loop();
		if (!loop) {
			tap_skip("this kernel does not let us");
			continue;
		}
		io_loop_free(loop);
		before = open_fds();
		check_messages();
		check_signal();
		check_hand_over();
		check_emfile();
		check_options();
		check_crowd();
		check_connect_cancel();
		check_idle();
		check_no_memory();
		is_u64(open_fds(), before, "%s: no descriptor is left", the_name);
	}
	empty_directory(directory);
	rmdir(directory);
	return tap_done();
}
