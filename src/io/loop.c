/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every loop does the same way: the timer heap, deferred functions, the mailbox, the list of
 * finished operations and the order of a turn.
 *
 * The trade-off: finished operations wait on a list and are called from one place, which costs a
 * list insertion each, and buys a fixed order (poll, messages, timers, done, deferred), a budget,
 * and callers that never see a function called from inside their own submit. Implementations only
 * collect completions; they never call anybody.
 */
#include "io/io.h"

#include <errno.h>
#include <sched.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/util.h"
#include "io/ops.h"

/* The heap starts with room for a connection's few timers times a handful of connections. */
#define HEAP_FIRST_CAP 64

/* ---- operations -------------------------------------------------------------------------- */

void io_op_begin(struct io_loop *loop, struct io_op *op, enum io_op_kind kind, void *obj)
{
	INVARIANT(!op->pending && op->done != NULL);
	op->pending = true;
	op->kind = kind;
	op->flags = 0;
	op->loop = loop;
	op->obj = obj;
	op->result = 0;
	op->sock = NULL;
}

void io_op_finish(struct io_op *op, int64_t result)
{
	INVARIANT(op->pending && !(op->flags & IO_OP_FINISHED));
	op->flags |= IO_OP_FINISHED;
	op->result = result;
	list_add_tail(&op->loop->finished, &op->link);
}

void io_complete(struct io_loop *loop, struct io_op *op, int64_t result)
{
	io_op_begin(loop, op, IO_OP_NOP, NULL);
	io_op_finish(op, result);
}

void io_cancel(struct io_op *op)
{
	if (!op->pending || (op->flags & IO_OP_FINISHED))
		return;
	switch (op->kind) {
	case IO_OP_RECV:
	case IO_OP_SEND:
	case IO_OP_ROOM:
		return; /* they end with their stream: io_stream_close() */
	default:
		op->loop->ops->cancel(op->loop, op);
	}
}

/* ---- timers: a binary heap by (deadline, order of arming) ---------------------------------- */

static bool timer_before(const struct io_timer *a, const struct io_timer *b)
{
	return a->deadline != b->deadline ? a->deadline < b->deadline : a->seq < b->seq;
}

static void heap_set(struct io_loop *loop, uint32_t i, struct io_timer *t)
{
	loop->heap[i] = t;
	t->heap_index = i;
}

static void heap_up(struct io_loop *loop, uint32_t i, struct io_timer *t)
{
	for (; i > 1 && timer_before(t, loop->heap[i / 2]); i /= 2)
		heap_set(loop, i, loop->heap[i / 2]);
	heap_set(loop, i, t);
}

static void heap_down(struct io_loop *loop, uint32_t i, struct io_timer *t)
{
	uint32_t child;

	for (; (child = i * 2) <= loop->heap_len; i = child) {
		if (child < loop->heap_len &&
		    timer_before(loop->heap[child + 1], loop->heap[child]))
			child++;
		if (!timer_before(loop->heap[child], t))
			break;
		heap_set(loop, i, loop->heap[child]);
	}
	heap_set(loop, i, t);
}

static void heap_place(struct io_loop *loop, uint32_t i, struct io_timer *t)
{
	if (i > 1 && timer_before(t, loop->heap[i / 2]))
		heap_up(loop, i, t);
	else
		heap_down(loop, i, t);
}

static int heap_reserve(struct io_loop *loop)
{
	uint32_t cap = loop->heap_cap ? loop->heap_cap * 2 : HEAP_FIRST_CAP;
	struct io_timer **heap;
	size_t bytes;

	if (loop->heap_len + 1 < loop->heap_cap)
		return 0;
	if (cap < loop->heap_cap)
		return -ENOMEM;
	if (!size_mul(cap, sizeof(*heap), &bytes))
		return -ENOMEM;
	heap = mem_realloc(loop->heap, bytes);
	if (!heap)
		return -ENOMEM;
	loop->heap = heap;
	loop->heap_cap = cap;
	return 0;
}

int io_timer_start(struct io_loop *loop, struct io_timer *t, uint64_t delay_ns)
{
	uint64_t now = io_now(loop);
	int r;

	if (!io_timer_armed(t)) {
		r = heap_reserve(loop);
		if (r < 0)
			return r;
		loop->heap_len++;
		t->heap_index = loop->heap_len;
		loop->heap[t->heap_index] = t;
	}
	t->deadline = u64_add_saturated(now, delay_ns);
	t->seq = loop->timer_seq++;
	heap_place(loop, t->heap_index, t);
	return 0;
}

void io_timer_stop(struct io_loop *loop, struct io_timer *t)
{
	uint32_t i = t->heap_index;
	struct io_timer *last;

	if (i == 0)
		return;
	INVARIANT(i <= loop->heap_len && loop->heap[i] == t);
	t->heap_index = 0;
	last = loop->heap[loop->heap_len--];
	if (last != t)
		heap_place(loop, i, last);
}

uint64_t io_loop_until_timer(struct io_loop *loop, uint64_t limit_ns)
{
	uint64_t now, wait;

	if (loop->heap_len == 0 || limit_ns == 0)
		return limit_ns;
	now = loop->ops->now(loop);
	if (loop->heap[1]->deadline <= now)
		return 0;
	wait = loop->heap[1]->deadline - now;
	return MIN(wait, limit_ns);
}

/* ---- deferred functions and messages --------------------------------------------------------- */

void io_defer(struct io_loop *loop, struct io_defer *d)
{
	if (d->armed)
		return;
	d->armed = true;
	list_add_tail(&loop->deferred, &d->link);
}

void io_defer_cancel(struct io_defer *d)
{
	if (!d->armed)
		return;
	d->armed = false;
	list_del(&d->link);
}

void io_post(struct io_loop *loop, struct io_msg *m)
{
	struct io_msg *head;

	atomic_fetch_add(&loop->callers, 1);
	head = atomic_load_explicit(&loop->mailbox, memory_order_relaxed);
	do {
		m->next = head;
	} while (!atomic_compare_exchange_weak_explicit(
		&loop->mailbox, &head, m, memory_order_seq_cst, memory_order_relaxed));
	/* Only the message that found the box empty wakes: the others ride with it. */
	if (!head)
		loop->ops->wake(loop);
	atomic_fetch_sub(&loop->callers, 1);
}

/* ---- a turn ---------------------------------------------------------------------------------- */

static int run_messages(struct io_loop *loop)
{
	struct io_msg *m, *next, *fifo = NULL;
	int calls = 0;

	if (!atomic_load_explicit(&loop->mailbox, memory_order_relaxed))
		return 0;
	for (m = atomic_exchange(&loop->mailbox, NULL); m; m = next) {
		next = m->next;
		m->next = fifo;
		fifo = m;
	}
	for (m = fifo; m; m = next, calls++) {
		next = m->next; /* fn may free it */
		m->fn(m);
	}
	return calls;
}

/* Timers armed by a timer's function wait for the next turn, also those with delay 0. */
static int run_timers(struct io_loop *loop)
{
	uint64_t seq = loop->timer_seq;
	struct io_timer *t;
	int calls = 0;

	while (loop->heap_len > 0 && calls < IO_TURN_BUDGET) {
		t = loop->heap[1];
		if (t->deadline > loop->now || t->seq >= seq)
			break;
		io_timer_stop(loop, t);
		t->fn(t);
		calls++;
	}
	return calls;
}

/* The object that @op acted on may take the next one, or is gone. */
static void leave_object(struct io_op *op)
{
	struct io_stream *s = op->obj;
	struct io_listener *l = op->obj;

	if (op->flags & IO_OP_DETACHED) {
		if (op->sock)
			io_sock_close(op->sock);
		op->sock = NULL;
		op->result = -ECANCELED;
	} else if (op->kind == IO_OP_RECV) {
		s->recv = NULL;
	} else if (op->kind == IO_OP_SEND || op->kind == IO_OP_ROOM) {
		s->send = NULL;
	} else if (op->kind == IO_OP_ACCEPT) {
		l->accept = NULL;
	}
}

static int run_finished(struct io_loop *loop)
{
	struct io_op *op;
	int calls = 0;

	while (calls < IO_TURN_BUDGET) {
		op = list_pop_entry(&loop->finished, struct io_op, link);
		if (!op)
			break;
		leave_object(op);
		op->flags = 0;
		op->pending = false;
		op->done(op);
		calls++;
	}
	return calls;
}

/* What a deferred function defers runs in the next turn: a turn always ends. */
static int run_deferred(struct io_loop *loop)
{
	struct list batch;
	struct io_defer *d;
	int calls = 0;

	list_init(&batch);
	list_splice_tail(&batch, &loop->deferred);
	while ((d = list_pop_entry(&batch, struct io_defer, link))) {
		d->armed = false;
		d->fn(d);
		calls++;
	}
	return calls;
}

static bool has_work(struct io_loop *loop)
{
	return !list_empty(&loop->finished) || !list_empty(&loop->deferred) ||
	       atomic_load_explicit(&loop->mailbox, memory_order_relaxed);
}

int io_loop_turn(struct io_loop *loop, uint64_t timeout_ns)
{
	int calls, r;

	INVARIANT(!loop->in_turn);
	loop->in_turn = true;
	timeout_ns = has_work(loop) ? 0 : io_loop_until_timer(loop, timeout_ns);
	loop->now = 0;
	r = loop->ops->poll(loop, timeout_ns);
	if (loop->now == 0)
		loop->now = loop->ops->now(loop);
	if (r < 0) {
		loop->in_turn = false;
		return r;
	}
	calls = run_messages(loop);
	calls += run_timers(loop);
	calls += run_finished(loop);
	calls += run_deferred(loop);
	loop->in_turn = false;
	return calls;
}

int io_loop_run(struct io_loop *loop)
{
	int r;

	while (!atomic_load_explicit(&loop->stopping, memory_order_acquire)) {
		r = io_loop_turn(loop, UINT64_MAX);
		if (r < 0)
			return r;
	}
	atomic_store_explicit(&loop->stopping, false, memory_order_relaxed);
	return 0;
}

void io_loop_stop(struct io_loop *loop)
{
	atomic_fetch_add(&loop->callers, 1);
	atomic_store(&loop->stopping, true);
	loop->ops->wake(loop);
	atomic_fetch_sub(&loop->callers, 1);
}

void io_loop_set_spin(struct io_loop *loop, uint64_t spin_ns)
{
	loop->spin_ns = spin_ns;
}

/* ---- life ------------------------------------------------------------------------------------ */

void io_loop_base_init(struct io_loop *loop, const struct io_ops *ops)
{
	*loop = (struct io_loop){ .ops = ops };
	list_init(&loop->finished);
	list_init(&loop->deferred);
	atomic_init(&loop->mailbox, NULL);
	atomic_init(&loop->stopping, false);
	atomic_init(&loop->callers, 0);
}

void io_loop_base_deinit(struct io_loop *loop)
{
	INVARIANT(!loop->in_turn);
	INVARIANT(list_empty(&loop->finished));
	loop->heap = mem_free(loop->heap);
	loop->heap_len = loop->heap_cap = 0;
}

struct io_loop *io_loop_free(struct io_loop *loop)
{
	if (!loop)
		return NULL;
	/*
	 * The message or the stop that led here may have come from a thread that has yet to return
	 * from its call: it is between publishing it and the last look at the loop.
	 */
	while (atomic_load(&loop->callers) > 0)
		sched_yield();
	loop->ops->free(loop);
	return NULL;
}

const char *io_loop_name(const struct io_loop *loop)
{
	return loop->ops->name;
}

/* ---- time, randomness -------------------------------------------------------------------------- */

uint64_t io_now(struct io_loop *loop)
{
	/* Outside a turn the last turn's time may be long past; a timer armed then must not be early. */
	if (!loop->in_turn)
		loop->now = loop->ops->now(loop);
	return loop->now;
}

uint64_t io_now_precise(struct io_loop *loop)
{
	return loop->ops->now(loop);
}

uint64_t io_wall(struct io_loop *loop)
{
	return loop->ops->wall(loop);
}

void io_random(struct io_loop *loop, void *buf, size_t n)
{
	loop->ops->random(loop, buf, n);
}
