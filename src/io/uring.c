/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The io_uring implementation: the ring, a turn's look at it, spinning and sleeping.
 *
 * The ring is used for what it is best at: many operations into the kernel and out of it in one
 * entry, sleeping for all of them at once, and files. A socket that has data or room right now is
 * served by a direct system call instead, which costs about what the ring costs per operation and
 * saves the way through it; see uring-net.c for when.
 *
 * The ring belongs to one thread (SINGLE_ISSUER), and the kernel does its share of the work only when
 * asked (DEFER_TASKRUN), so completions never interrupt. A flag in shared memory (TASKRUN_FLAG) says
 * that there is something to ask for: spinning reads it and enters the kernel only then. Kernels
 * before 6.1 get what they have.
 */
#include "io/uring.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "io/file.h"
#include "io/sock.h"
#include "io/state.h"

#define DEFAULT_DEPTH 1024
#define MAX_DEPTH     4096 /* of the submission queue: it is emptied whenever it is full */
#define CQ_FACTOR     4    /* completions may wait for a turn longer than submissions do */
#define MAX_CQ        65536

/* What every operation here counts on; all are in Linux 5.11. */
#define NEEDED_FEATURES                                                                            \
	(IORING_FEAT_NODROP | IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_FAST_POLL |                  \
	 IORING_FEAT_EXT_ARG)

/* Submissions that have no operation behind them. Operations are aligned, so these cannot be one. */
#define UDATA_CANCEL 1
#define UDATA_WAKE   2

/* ---- into the ring --------------------------------------------------------------------------- */

static void reap(struct uring *u);

struct io_uring_sqe *uring_sqe(struct uring *u)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	if (sqe)
		return sqe;
	/*
	 * Full: hand over what is there. Before Linux 5.19 the kernel refuses (-EBUSY) while
	 * completions wait outside the ring for room; then make that first.
	 */
	if (io_uring_submit(&u->ring) < 0) {
		reap(u);
		io_uring_submit(&u->ring);
	}
	return io_uring_get_sqe(&u->ring);
}

static bool is_net(const struct io_op *op)
{
	switch ((enum io_op_kind)op->kind) {
	case IO_OP_ACCEPT:
	case IO_OP_CONNECT:
	case IO_OP_RECV:
	case IO_OP_SEND:
	case IO_OP_ROOM:
		return true;
	default:
		return false;
	}
}

static void prepare(struct uring *u, struct io_op *op, struct io_uring_sqe *sqe)
{
	if (is_net(op))
		uring_net_prepare(u, op, sqe);
	else
		uring_file_prepare(u, op, sqe);
	io_uring_sqe_set_data(sqe, op);
}

static bool try_start(struct uring *u, struct io_op *op)
{
	struct io_uring_sqe *sqe = uring_sqe(u);

	if (!sqe)
		return false;
	prepare(u, op, sqe);
	op->impl[2] = URING_RING;
	return true;
}

void uring_start(struct uring *u, struct io_op *op)
{
	if (!try_start(u, op))
		uring_again(u, op);
}

static bool try_cancel(struct uring *u, struct io_op *op)
{
	struct io_uring_sqe *sqe = uring_sqe(u);

	if (!sqe)
		return false;
	io_uring_prep_cancel(sqe, op, 0);
	io_uring_sqe_set_data64(sqe, UDATA_CANCEL);
	return true;
}

void uring_again(struct uring *u, struct io_op *op)
{
	op->impl[2] = URING_BACKLOG;
	list_add_tail(&u->backlog, &op->link);
}

static void complete(struct uring *u, struct io_op *op, int res)
{
	if (op->impl[2] == URING_OWED)
		list_del(&op->link);
	op->impl[2] = URING_NOWHERE;
	if (is_net(op))
		uring_net_complete(u, op, res);
	else
		uring_file_complete(u, op, res);
}

void uring_stop(struct uring *u, struct io_op *op)
{
	switch ((enum uring_place)op->impl[2]) {
	case URING_BACKLOG:
		list_del(&op->link);
		complete(u, op, -ECANCELED);
		break;
	case URING_POOL:
		io_pool_cancel(&u->pool, op);
		break;
	case URING_RING:
		/* Trying may have made room by collecting completions, this one among them. */
		if (!try_cancel(u, op) && op->impl[2] == URING_RING) {
			op->impl[2] = URING_OWED;
			list_add_tail(&u->owed, &op->link);
		}
		break;
	case URING_OWED:
	case URING_NOWHERE:
		break;
	}
}

/* What found no room before. */
static void start_waiting(struct uring *u)
{
	struct io_op *op;

	while ((op = list_first_entry(&u->owed, struct io_op, link))) {
		if (!try_cancel(u, op))
			return;
		list_del(&op->link);
		op->impl[2] = URING_RING;
	}
	while ((op = list_first_entry(&u->backlog, struct io_op, link))) {
		list_del(&op->link);
		if (!try_start(u, op)) {
			list_add_head(&u->backlog, &op->link);
			return;
		}
	}
}

static void arm_wake(struct uring *u)
{
	struct io_uring_sqe *sqe;

	if (u->wake_armed)
		return;
	sqe = uring_sqe(u);
	if (!sqe)
		return;
	io_uring_prep_poll_add(sqe, u->wake.fd, POLLIN);
	io_uring_sqe_set_data64(sqe, UDATA_WAKE);
	u->wake_armed = true;
}

/* ---- out of the ring ------------------------------------------------------------------------- */

/* Whether the kernel has something that it shows only to those who enter it. */
static bool kernel_has_work(const struct uring *u)
{
	return IO_URING_READ_ONCE(*u->ring.sq.kflags) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW);
}

static void out_of_ring(struct uring *u, struct io_op *op, int res)
{
	if (!is_net(op))
		u->files--;
	complete(u, op, res);
}

/*
 * Takes what is in the completion queue; enters the kernel for nothing. What a completion leads to
 * goes on lists and not into the ring, so this is never called from inside itself.
 */
static void reap(struct uring *u)
{
	struct io_uring_cqe *cqe;
	unsigned int head, n = 0;

	io_uring_for_each_cqe(&u->ring, head, cqe)
	{
		n++;
		switch (cqe->user_data) {
		case UDATA_CANCEL:
			break;
		case UDATA_WAKE:
			u->wake_armed = false;
			io_wake_drain(&u->wake);
			break;
		default:
			out_of_ring(u, io_uring_cqe_get_data(cqe), cqe->res);
		}
	}
	io_uring_cq_advance(&u->ring, n);
}

/* ---- a turn's look ---------------------------------------------------------------------------- */

static bool found(const struct uring *u)
{
	return !list_empty(&u->base.finished);
}

static bool calls_wait(const struct uring *u)
{
	return found(u) || !list_empty(&u->base.deferred);
}

static void collect(struct uring *u)
{
	reap(u);
	io_pool_collect(&u->pool);
}

/*
 * Errors of an entry that the next one may not have. No memory, or (before 5.19) no room for
 * completions: what is collected now makes room.
 */
static bool passing(int r)
{
	return r == -EBUSY || r == -EAGAIN || r == -EINTR || r == -ETIME;
}

/* Submits, and lets the kernel do what is ready; one entry, and none if there is nothing to do. */
static int enter(struct uring *u)
{
	int r = 0;

	if (io_uring_sq_ready(&u->ring) > 0)
		r = io_uring_submit_and_get_events(&u->ring);
	else if (kernel_has_work(u))
		r = io_uring_get_events(&u->ring);
	collect(u);
	return r < 0 && !passing(r) ? r : 0;
}

/*
 * Polls until something finishes, somebody calls (1), or @until (0). Few receives are tried directly:
 * that finds data sooner than the ring, and spares the sender waking a poller. Many are left to the
 * ring, whose flag answers for all of them at the price of a memory read.
 */
static int spin(struct uring *u, uint64_t now, uint64_t until)
{
	int r;

	if (u->wanted > URING_HOT)
		uring_net_arm_wanted(u);
	do {
		uring_net_try_wanted(u);
		r = found(u) ? 0
			     : enter(u); /* what waits for the ring can wait for the next turn */
		if (r < 0)
			return r;
		if (found(u)) {
			u->base.now = now; /* one attempt old */
			return 0;
		}
		if (io_wake_was_called(&u->wake))
			return 1;
		if (u->wanted == 0)
			__builtin_ia32_pause();
		now = io_clock_now(&u->base);
	} while (now < until);
	return 0;
}

static int sleep_for(struct uring *u, uint64_t timeout_ns)
{
	struct __kernel_timespec ts = {
		.tv_sec = (long long)(timeout_ns / 1000000000),
		.tv_nsec = (long long)(timeout_ns % 1000000000),
	};
	struct io_uring_cqe *cqe;
	int r = 0;

	uring_net_arm_wanted(u);
	if (io_wake_sleep_begin(&u->wake))
		r = io_uring_submit_and_wait_timeout(&u->ring, &cqe, 1,
						     timeout_ns == UINT64_MAX ? NULL : &ts, NULL);
	io_wake_sleep_end(&u->wake);
	collect(u);
	return r < 0 && !passing(r) ? r : 0;
}

/* There are functions to call or no time to wait: pass on what waits, take what is there. */
static int look(struct uring *u)
{
	/*
	 * With functions to call, receives can wait until they are called: often the ring is then
	 * entered once, to sleep, instead of twice; and a request that was submitted between two
	 * turns is sent without looking first for its answer. But only for one turn.
	 */
	if (calls_wait(u) && u->wanted > 0 && !u->skipped && io_uring_sq_ready(&u->ring) == 0) {
		u->skipped = true;
		return enter(u);
	}
	u->skipped = false;
	if (u->base.spin_ns > 0 && u->spin.score > 0 && u->wanted <= URING_HOT)
		uring_net_try_wanted(u);
	else
		uring_net_arm_wanted(u);
	return enter(u);
}

static int wait_for(struct uring *u, uint64_t timeout_ns)
{
	uint64_t now, until, then;
	int r;

	u->skipped = false;
	if (u->base.spin_ns == 0)
		return sleep_for(u, timeout_ns);
	now = io_clock_now(&u->base);
	until = io_spin_until(&u->spin, now, u->base.spin_ns);
	if (until == 0)
		return sleep_for(u, timeout_ns);
	r = spin(u, now, timeout_ns < until - now ? now + timeout_ns : until);
	if (r != 0 || found(u))
		return r < 0 ? r : 0;
	then = io_clock_now(&u->base);
	if (then - now >= timeout_ns)
		return 0;
	return sleep_for(u, timeout_ns == UINT64_MAX ? timeout_ns : timeout_ns - (then - now));
}

static int uring_poll(struct io_loop *loop, uint64_t timeout_ns)
{
	struct uring *u = uring_of(loop);
	int r;

	u->turn++;
	collect(u);
	start_waiting(u);
	arm_wake(u);
	r = found(u) || timeout_ns == 0 ? look(u) : wait_for(u, timeout_ns);
	if (loop->spin_ns > 0 && found(u)) {
		if (loop->now == 0)
			loop->now = io_clock_now(loop);
		io_spin_activity(&u->spin, loop->now, loop->spin_ns);
	}
	return r;
}

static void uring_wake(struct io_loop *loop)
{
	io_wake_call(&uring_of(loop)->wake);
}

static void uring_cancel(struct io_loop *loop, struct io_op *op)
{
	if (op->kind != IO_OP_ACCEPT && op->kind != IO_OP_CONNECT)
		uring_file_cancelling(op);
	uring_stop(uring_of(loop), op);
}

/* ---- life --------------------------------------------------------------------------------------- */

/*
 * A ring's pages may lie where another thread's ring has just been. The kernel orders the two; this
 * says so to who only sees the program, as the thread sanitizer: liburing maps and unmaps by system
 * calls of its own, behind its back.
 */
static _Atomic unsigned int rings_over;

static void exit_ring(struct uring *u)
{
	atomic_fetch_add_explicit(&rings_over, 1, memory_order_release);
	io_uring_queue_exit(&u->ring);
}

static int init_ring(struct uring *u, unsigned int depth, struct io_uring_params *p)
{
	int r = io_uring_queue_init_params(depth, &u->ring, p);

	atomic_load_explicit(&rings_over, memory_order_acquire);
	return r;
}

static void uring_free(struct io_loop *loop)
{
	struct uring *u = uring_of(loop);

	INVARIANT(u->attached == 0 && u->files == 0 && list_empty(&u->backlog));
	io_pool_deinit(&u->pool);
	exit_ring(u);
	io_wake_deinit(&u->wake);
	io_loop_base_deinit(loop);
	mem_free(u);
}

static const struct io_ops uring_ops = {
	.name = "uring",
	.free = uring_free,
	.poll = uring_poll,
	.wake = uring_wake,
	.now = io_clock_now,
	.wall = io_clock_wall,
	.random = io_clock_random,
	.listen = uring_listen,
	.listener_addr = uring_listener_addr,
	.accept = uring_accept,
	.listener_close = uring_listener_close,
	.connect = uring_connect,
	.cancel = uring_cancel,
	.sock_pair = io_fd_sock_pair,
	.stream_new = uring_stream_new,
	.recv = uring_recv,
	.send = uring_send,
	.send_now = uring_send_now,
	.wait_room = uring_wait_room,
	.shutdown = uring_shutdown,
	.close = uring_close,
	.file_open = io_fd_file_open,
	.file_submit = uring_file_submit,
	.state_load = io_fd_state_load,
	.state_save = uring_state_save,
};

/*
 * The best set-up that this kernel takes. SINGLE_ISSUER is Linux 6.0, DEFER_TASKRUN 6.1, the other
 * two 5.19; an unknown flag is -EINVAL, and any other error is not about flags.
 */
static int ring_init(struct uring *u, unsigned int depth, unsigned int denied)
{
	static const unsigned int sets[] = {
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
		IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
		0,
	};
	struct io_uring_params p;
	int r = -EINVAL;

	depth = MIN(depth ? depth : DEFAULT_DEPTH, (unsigned int)MAX_DEPTH);
	for (size_t i = 0; i < ARRAY_SIZE(sets) && r == -EINVAL; i++) {
		if (sets[i] & denied)
			continue;
		p = (struct io_uring_params){
			.flags = sets[i] | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
			.cq_entries = MIN(depth * CQ_FACTOR, (unsigned int)MAX_CQ),
		};
		u->poll_first = sets[i] != 0;
		r = init_ring(u, depth, &p);
	}
	if (r < 0)
		return r;
	if ((p.features & NEEDED_FEATURES) != NEEDED_FEATURES) {
		exit_ring(u);
		return -ENOSYS;
	}
	/* Spares a look-up of the descriptor at each entry. Not had is not missed. */
	io_uring_register_ring_fd(&u->ring);
	return 0;
}

static int uring_error(int code, struct err *err)
{
	const char *why = strerror(code);

	switch (code) {
	case EPERM:
		why = "not permitted here (a container or kernel.io_uring_disabled forbids it)";
		break;
	case ENOSYS:
		why = "this kernel has none, or an older one than Linux 5.11's";
		break;
	case ENOMEM:
		why = "no memory (before Linux 5.12 also: ulimit -l is too small)";
		break;
	}
	return err_set(err, code, "cannot use io_uring: %s", why);
}

int uring_loop_new_without(const struct io_loop_options *opts, unsigned int denied,
			   struct io_loop **ret_loop, struct err *err)
{
	struct uring *u = mem_zalloc(sizeof(*u));
	int r;

	if (!u)
		return uring_error(ENOMEM, err);
	io_loop_base_init(&u->base, &uring_ops);
	u->base.spin_ns = opts->spin_ns;
	list_init(&u->want);
	list_init(&u->backlog);
	list_init(&u->owed);
	r = ring_init(u, opts->depth, denied);
	if (r < 0)
		goto free_loop;
	r = io_wake_init(&u->wake);
	if (r < 0)
		goto deinit_ring;
	r = io_pool_init(&u->pool, &u->base, opts->file_threads);
	if (r < 0)
		goto deinit_wake;
	*ret_loop = &u->base;
	return 0;

deinit_wake:
	io_wake_deinit(&u->wake);
deinit_ring:
	exit_ring(u);
free_loop:
	mem_free(u);
	return uring_error(-r, err);
}

int io_uring_loop_new(const struct io_loop_options *opts, struct io_loop **ret_loop,
		      struct err *err)
{
	return uring_loop_new_without(opts, 0, ret_loop, err);
}
