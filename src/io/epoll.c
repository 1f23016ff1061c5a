/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The epoll implementation, for where io_uring is forbidden: a turn's look at the kernel, spinning
 * and sleeping. Sockets are in epoll-net.c, files go to threads (pool.c).
 *
 * The price beside io_uring is a system call for each transfer and each sleep, and threads for files.
 * The gain is that every kernel and container has it, and that nothing of ours is ever in the
 * kernel's hands.
 */
#include "io/epoll.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/fileop.h"
#include "io/sock.h"
#include "io/state.h"

#define EVENTS_PER_POLL 256
/* While spinning on few receives, files and all other sockets are looked at this often. */
#define LOOK_EVERY 8

/* ---- a turn's look ----------------------------------------------------------------------------- */

static bool found(const struct epoll *e)
{
	return !list_empty(&e->base.finished);
}

static int wait_ms(struct epoll *e, struct epoll_event *events, uint64_t timeout_ns)
{
	uint64_t ms = timeout_ns / 1000000 + (timeout_ns % 1000000 != 0);

	if (timeout_ns == UINT64_MAX)
		return epoll_wait(e->fd, events, EVENTS_PER_POLL, -1);
	return epoll_wait(e->fd, events, EVENTS_PER_POLL, (int)MIN(ms, (uint64_t)INT32_MAX));
}

static int wait_ns(struct epoll *e, struct epoll_event *events, uint64_t timeout_ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(timeout_ns / 1000000000),
		.tv_nsec = (long)(timeout_ns % 1000000000),
	};
	int n;

	if (timeout_ns == 0 || timeout_ns == UINT64_MAX || e->no_pwait2)
		return wait_ms(e, events, timeout_ns);
	n = epoll_pwait2(e->fd, events, EVENTS_PER_POLL, &ts, NULL);
	if (n < 0 && (errno == ENOSYS || errno == EPERM)) {
		e->no_pwait2 = true;
		return wait_ms(e, events, timeout_ns);
	}
	return n;
}

/* Asks the kernel, waiting for at most @timeout_ns, and tries what it says is ready. */
static int ask(struct epoll *e, uint64_t timeout_ns)
{
	struct epoll_event events[EVENTS_PER_POLL];
	enum epoll_tag tag;
	int n = wait_ns(e, events, timeout_ns);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < n; i++) {
		tag = events[i].data.u64 & EPOLL_TAG_MASK;
		if (tag == EPOLL_TAG_WAKE)
			io_wake_drain(&e->wake);
		else
			epoll_net_event(e, tag, (void *)(uintptr_t)(events[i].data.u64 - tag),
					events[i].events);
	}
	io_pool_collect(&e->pool);
	return 0;
}

/* Polls until something finishes, somebody calls (1), or @until (0). */
static int spin(struct epoll *e, uint64_t now, uint64_t until)
{
	unsigned int i = 1;
	int r = 0;

	do {
		if (e->empty_count > 0 && e->empty_count <= EPOLL_HOT)
			epoll_net_try_empty(e);
		else
			i = 0;
		if (i++ % LOOK_EVERY == 0)
			r = ask(e, 0);
		if (r < 0)
			return r;
		if (found(e)) {
			e->base.now = now; /* one attempt old */
			return 0;
		}
		if (io_wake_was_called(&e->wake)) {
			io_pool_collect(&e->pool);
			return 1;
		}
		now = io_clock_now(&e->base);
	} while (now < until);
	return 0;
}

static int sleep_for(struct epoll *e, uint64_t timeout_ns)
{
	int r;

	r = ask(e, io_wake_sleep_begin(&e->wake) ? timeout_ns : 0);
	io_wake_sleep_end(&e->wake);
	return r;
}

static int wait_for(struct epoll *e, uint64_t timeout_ns)
{
	uint64_t now, until, then;
	int r;

	if (e->base.spin_ns == 0)
		return sleep_for(e, timeout_ns);
	now = io_clock_now(&e->base);
	until = io_spin_until(&e->spin, now, e->base.spin_ns);
	if (until == 0)
		return sleep_for(e, timeout_ns);
	r = spin(e, now, timeout_ns < until - now ? now + timeout_ns : until);
	if (r != 0 || found(e))
		return r < 0 ? r : 0;
	then = io_clock_now(&e->base);
	if (then - now >= timeout_ns)
		return 0;
	return sleep_for(e, timeout_ns == UINT64_MAX ? timeout_ns : timeout_ns - (then - now));
}

static int epoll_poll(struct io_loop *loop, uint64_t timeout_ns)
{
	struct epoll *e = epoll_of(loop);
	bool busy = found(e), calls;
	int r = 0;

	e->turn++;
	io_pool_collect(&e->pool);
	epoll_net_try_ready(e);
	calls = found(e) || !list_empty(&loop->deferred);
	if (!busy && !found(e) && timeout_ns > 0) {
		e->skipped = false;
		r = wait_for(e, timeout_ns);
	} else if (e->skipped || !calls) {
		e->skipped = false;
		r = ask(e, 0);
	} else {
		e->skipped = true; /* call what is there first, but only for one turn */
	}
	if (loop->spin_ns > 0 && found(e)) {
		if (loop->now == 0)
			loop->now = io_clock_now(loop);
		io_spin_activity(&e->spin, loop->now, loop->spin_ns);
	}
	return r;
}

static void epoll_wake(struct io_loop *loop)
{
	io_wake_call(&epoll_of(loop)->wake);
}

static void epoll_file_submit(struct io_loop *loop, struct io_file *f, struct io_op *op)
{
	int64_t r = io_fileop_check(io_fd_file_of(f), op);

	if (r < 0 || (op->length == 0 && op->kind != IO_OP_SYNC) || io_fileop_try(op, &r))
		io_op_finish(op, r);
	else
		io_pool_submit(&epoll_of(loop)->pool, op);
}

static void epoll_state_save(struct io_loop *loop, struct io_op *op)
{
	io_pool_submit(&epoll_of(loop)->pool, op);
}

static void epoll_cancel(struct io_loop *loop, struct io_op *op)
{
	struct epoll *e = epoll_of(loop);

	if (op->kind == IO_OP_ACCEPT || op->kind == IO_OP_CONNECT)
		epoll_net_cancel(e, op);
	else
		io_pool_cancel(&e->pool, op);
}

/* ---- life ----------------------------------------------------------------------------------------- */

static void epoll_free(struct io_loop *loop)
{
	struct epoll *e = epoll_of(loop);

	INVARIANT(e->attached == 0);
	io_pool_deinit(&e->pool);
	close(e->fd);
	io_wake_deinit(&e->wake);
	io_loop_base_deinit(loop);
	mem_free(e);
}

static const struct io_ops epoll_ops = {
	.name = "epoll",
	.free = epoll_free,
	.poll = epoll_poll,
	.wake = epoll_wake,
	.now = io_clock_now,
	.wall = io_clock_wall,
	.random = io_clock_random,
	.listen = epoll_listen,
	.listener_addr = epoll_listener_addr,
	.accept = epoll_accept,
	.listener_close = epoll_listener_close,
	.connect = epoll_connect,
	.cancel = epoll_cancel,
	.sock_pair = io_fd_sock_pair,
	.stream_new = epoll_stream_new,
	.recv = epoll_recv,
	.send = epoll_send,
	.send_now = epoll_send_now,
	.wait_room = epoll_wait_room,
	.shutdown = epoll_shutdown,
	.close = epoll_stream_close,
	.file_open = io_fd_file_open,
	.file_submit = epoll_file_submit,
	.state_load = io_fd_state_load,
	.state_save = epoll_state_save,
};

static int watch_wake(struct epoll *e)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = EPOLL_TAG_WAKE };

	return epoll_ctl(e->fd, EPOLL_CTL_ADD, e->wake.fd, &ev) < 0 ? -errno : 0;
}

int io_epoll_loop_new(const struct io_loop_options *opts, struct io_loop **ret_loop,
		      struct err *err)
{
	struct epoll *e = mem_zalloc(sizeof(*e));
	int r;

	if (!e)
		return err_set(err, ENOMEM, "cannot make an event loop: no memory");
	io_loop_base_init(&e->base, &epoll_ops);
	e->base.spin_ns = opts->spin_ns;
	list_init(&e->ready);
	list_init(&e->empty);
	e->fd = epoll_create1(EPOLL_CLOEXEC);
	if (e->fd < 0) {
		r = -errno;
		goto free_loop;
	}
	r = io_wake_init(&e->wake);
	if (r < 0)
		goto close_epoll;
	r = watch_wake(e);
	if (r < 0)
		goto deinit_wake;
	r = io_pool_init(&e->pool, &e->base, opts->file_threads);
	if (r < 0)
		goto deinit_wake;
	*ret_loop = &e->base;
	return 0;

deinit_wake:
	io_wake_deinit(&e->wake);
close_epoll:
	close(e->fd);
free_loop:
	mem_free(e);
	return err_set(err, -r, "cannot make an event loop: %s", strerror(-r));
}
