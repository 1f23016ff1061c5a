/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What loop.c promises, against an ops table that does nothing but keep a clock: the order of a
 * turn, timers, deferred functions, messages, budgets.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/util.h"
#include "io/io.h"
#include "io/ops.h"
#include "tests/tap.h"

/* ---- a loop without a kernel: a wait moves its clock ------------------------------------------ */

struct fake {
	struct io_loop base;
	uint64_t clock;
	uint64_t waited; /* of the last poll */
	unsigned int wakes;
	int poll_error;
};

static struct fake *fake_of(struct io_loop *loop)
{
	return container_of(loop, struct fake, base);
}

static int fake_poll(struct io_loop *loop, uint64_t timeout_ns)
{
	struct fake *f = fake_of(loop);

	f->waited = timeout_ns;
	if (timeout_ns != UINT64_MAX)
		f->clock += timeout_ns;
	return f->poll_error;
}

static void fake_wake(struct io_loop *loop)
{
	fake_of(loop)->wakes++;
}

static uint64_t fake_now(struct io_loop *loop)
{
	return fake_of(loop)->clock;
}

static void fake_free(struct io_loop *loop)
{
	io_loop_base_deinit(loop);
}

static const struct io_ops fake_ops = {
	.name = "fake",
	.free = fake_free,
	.poll = fake_poll,
	.wake = fake_wake,
	.now = fake_now,
};

static void fake_init(struct fake *f)
{
	*f = (struct fake){ .clock = 1000 };
	io_loop_base_init(&f->base, &fake_ops);
}

/* ---- what was called, in order ----------------------------------------------------------------- */

static char trace[256];

static void note(char c)
{
	size_t n = strlen(trace);

	INVARIANT(n + 1 < sizeof(trace));
	trace[n] = c;
	trace[n + 1] = '\0';
}

static const char *take_trace(void)
{
	static char out[sizeof(trace)];

	memcpy(out, trace, sizeof(trace));
	trace[0] = '\0';
	return out;
}

static struct fake *the_loop;

struct named_timer {
	struct io_timer timer;
	char name;
};

static void timer_notes(struct io_timer *t)
{
	note(container_of(t, struct named_timer, timer)->name);
}

static struct named_timer named(char name)
{
	struct named_timer t = { .name = name };

	io_timer_init(&t.timer, timer_notes);
	return t;
}

/* ---- timers ---------------------------------------------------------------------------------- */

static void test_timer_order(struct fake *f)
{
	struct io_loop *loop = &f->base;
	struct named_timer t[5];

	for (int i = 0; i < 5; i++)
		t[i] = named((char)('a' + i));
	io_timer_start(loop, &t[0].timer, 30);
	io_timer_start(loop, &t[1].timer, 10);
	io_timer_start(loop, &t[2].timer, 20);
	io_timer_start(loop, &t[3].timer, 10); /* same time as b, armed later */
	io_timer_start(loop, &t[4].timer, 5);
	io_timer_stop(loop, &t[2].timer);
	ok(!io_timer_armed(&t[2].timer) && io_timer_armed(&t[0].timer), "stop disarms one");
	io_timer_stop(loop, &t[2].timer);
	io_timer_start(loop, &t[4].timer, 25); /* moved back */

	is_u64(io_loop_turn(loop, UINT64_MAX), 2, "two at the first deadline");
	is_u64(f->waited, 10, "and the wait was for that deadline");
	is_str(take_trace(), "bd", "ties fire in order of arming");
	io_loop_turn(loop, 3);
	is_u64(f->waited, 3, "a shorter timeout is kept");
	is_str(take_trace(), "", "and nothing is early");
	io_loop_turn(loop, UINT64_MAX);
	io_loop_turn(loop, UINT64_MAX);
	is_str(take_trace(), "ea", "re-arming moves, stopping removes");
	is_u64(loop->heap_len, 0, "the heap is empty");
	io_timer_start(loop, &t[0].timer, UINT64_MAX);
	is_u64(t[0].timer.deadline, UINT64_MAX, "a deadline beyond all time does not wrap");
	io_timer_stop(loop, &t[0].timer);
}

static void test_timer_random(struct fake *f)
{
	enum { N = 1000 };
	struct io_loop *loop = &f->base;
	struct named_timer *t = calloc(N, sizeof(*t));
	uint64_t last = 0;
	bool ordered = true;
	int live = 0;
	struct rng r;

	rng_init(&r, 1);
	for (int i = 0; i < N; i++) {
		t[i] = named('.');
		io_timer_start(loop, &t[i].timer, rng_below(&r, 500));
	}
	for (int i = 0; i < N; i += 3)
		io_timer_stop(loop, &t[i].timer);
	for (int i = 1; i < N; i += 3)
		io_timer_start(loop, &t[i].timer, rng_below(&r, 500));
	for (uint32_t i = 2; i <= loop->heap_len; i++)
		ordered = ordered && loop->heap[i / 2]->deadline <= loop->heap[i]->deadline &&
			  loop->heap[i]->heap_index == i;
	ok(ordered, "the heap is a heap after arming, stopping and moving");
	while (loop->heap_len > 0) {
		struct io_timer *top = loop->heap[1];

		ordered = ordered && top->deadline >= last;
		last = top->deadline;
		io_timer_stop(loop, top);
		live++;
	}
	ok(ordered && live == N - (N + 2) / 3, "and empties in order (%d)", live);
	free(t);
}

static void timer_rearms(struct io_timer *t)
{
	note('r');
	io_timer_start(&the_loop->base, t, 0);
}

static void test_timer_rearm(struct fake *f)
{
	struct io_timer t;

	io_timer_init(&t, timer_rearms);
	io_timer_start(&f->base, &t, 0);
	io_loop_turn(&f->base, 0);
	is_str(take_trace(), "r", "a timer that re-arms itself with delay 0 runs once a turn");
	io_loop_turn(&f->base, UINT64_MAX);
	is_u64(f->waited, 0, "and a due timer means no wait");
	take_trace();
	io_timer_stop(&f->base, &t);
}

static void test_timer_nomem(void)
{
	struct named_timer t = named('x');
	struct fake f;

	fake_init(&f);
	mem_fail_after(1);
	is_i64(io_timer_start(&f.base, &t.timer, 1), -ENOMEM, "no room in the heap is said");
	ok(!io_timer_armed(&t.timer), "and the timer is not armed");
	is_i64(io_timer_start(&f.base, &t.timer, 1), 0, "it can be tried again");
	io_timer_stop(&f.base, &t.timer);
	io_loop_free(&f.base);
}

/* ---- the order of a turn --------------------------------------------------------------------- */

static struct io_defer defer_a, defer_b;
static struct io_op op_a, op_b;
static struct io_msg msg;

static void defer_b_notes(struct io_defer *d)
{
	note('B');
}

static void defer_a_notes(struct io_defer *d)
{
	note('A');
	io_defer(&the_loop->base, &defer_b);
}

static void op_b_notes(struct io_op *op)
{
	note('2');
}

static void op_a_notes(struct io_op *op)
{
	note('1');
	ok(!op->pending && op->result == 77, "done sees its result, and the op is free again");
	io_defer(&the_loop->base, &defer_a);
	io_defer(&the_loop->base, &defer_a);
	io_complete(&the_loop->base, &op_b, 0);
	note('|');
}

static void msg_notes(struct io_msg *m)
{
	note('m');
}

static void test_order(struct fake *f)
{
	struct named_timer t = named('t');
	struct io_loop *loop = &f->base;

	io_defer_init(&defer_a, defer_a_notes);
	io_defer_init(&defer_b, defer_b_notes);
	io_op_init(&op_a, op_a_notes);
	io_op_init(&op_b, op_b_notes);
	msg.fn = msg_notes;
	io_complete(loop, &op_a, 77);
	ok(op_a.pending, "an op is pending until done");
	io_timer_start(loop, &t.timer, 0);
	io_post(loop, &msg);
	is_u64(f->wakes, 1, "a message wakes");
	is_u64(io_loop_turn(loop, UINT64_MAX), 5, "five calls");
	is_u64(f->waited, 0, "no wait with work at hand");
	is_str(take_trace(), "mt1|2A",
	       "messages, timers, done (never inside submit), deferred (once); next defer next "
	       "turn");
	io_loop_turn(loop, UINT64_MAX);
	is_u64(f->waited, 0, "no wait for what was deferred");
	is_str(take_trace(), "B", "what a deferred function defers");
	io_loop_turn(loop, UINT64_MAX);
	is_u64(f->waited, UINT64_MAX, "then it may sleep");
	is_str(take_trace(), "", "and all is quiet");
}

static void defer_cancels_b(struct io_defer *d)
{
	note('c');
	io_defer_cancel(&defer_b);
}

static void test_defer_cancel(struct fake *f)
{
	struct io_defer c;

	io_defer_init(&c, defer_cancels_b);
	io_defer(&f->base, &c);
	io_defer(&f->base, &defer_b);
	io_loop_turn(&f->base, 0);
	is_str(take_trace(), "c", "a deferred function cancels the one behind it");
	io_defer(&f->base, &c);
	io_defer_cancel(&c);
	io_defer_cancel(&c);
	io_loop_turn(&f->base, 0);
	is_str(take_trace(), "", "cancel outside a turn, twice");
}

/* ---- budgets and errors -------------------------------------------------------------------------- */

static unsigned int endless_calls;

static void endless_done(struct io_op *op)
{
	endless_calls++;
	io_complete(&the_loop->base, op, 0);
}

static void last_done(struct io_op *op)
{
}

static void test_budget(struct fake *f)
{
	struct named_timer t = named('t');
	struct io_op op;

	io_op_init(&op, endless_done);
	io_complete(&f->base, &op, 0);
	io_loop_turn(&f->base, UINT64_MAX);
	is_u64(endless_calls, IO_TURN_BUDGET,
	       "an op that finishes at once for ever ends at the budget");
	io_timer_start(&f->base, &t.timer, 0);
	io_loop_turn(&f->base, UINT64_MAX);
	is_str(take_trace(), "t", "so timers get their turn");
	op.done = last_done;
	io_loop_turn(&f->base, 0);
	f->poll_error = -EBADF;
	is_i64(io_loop_turn(&f->base, 0), -EBADF, "a loop that fails says so");
	is_i64(io_loop_run(&f->base), -EBADF, "and run ends");
	f->poll_error = 0;
	is_i64(io_loop_turn(&f->base, 0), 0, "and may be turned again");
}

static void timer_stops(struct io_timer *t)
{
	note('s');
	io_loop_stop(&the_loop->base);
}

static void test_stop(struct fake *f)
{
	struct io_timer t;

	io_timer_init(&t, timer_stops);
	io_timer_start(&f->base, &t, 5);
	is_i64(io_loop_run(&f->base), 0, "run ends when told");
	io_loop_stop(&f->base);
	is_i64(io_loop_run(&f->base), 0, "also when told before it began");
	is_str(take_trace(), "s", "and only then");
}

/* ---- messages from other threads ------------------------------------------------------------------ */

enum { POSTERS = 4, POSTS = 20000 };

struct post {
	struct io_msg msg;
	int thread;
	int nr;
};

static int last_nr[POSTERS];
static unsigned int posts_seen;
static bool posts_ordered = true;

static void post_arrives(struct io_msg *m)
{
	struct post *p = container_of(m, struct post, msg);

	posts_ordered = posts_ordered && p->nr == last_nr[p->thread] + 1;
	last_nr[p->thread] = p->nr;
	posts_seen++;
	free(p);
}

static void *poster(void *arg)
{
	int *thread = arg;

	for (int i = 1; i <= POSTS; i++) {
		struct post *p = calloc(1, sizeof(*p));

		p->msg.fn = post_arrives;
		p->thread = *thread;
		p->nr = i;
		io_post(&the_loop->base, &p->msg);
	}
	return NULL;
}

static void quiet_wake(struct io_loop *loop)
{
}

static void test_messages(struct fake *f)
{
	static struct io_ops quiet;
	pthread_t threads[POSTERS];
	int ids[POSTERS];

	quiet = fake_ops;
	quiet.wake = quiet_wake; /* the counting one is not for other threads */
	f->base.ops = &quiet;
	for (int i = 0; i < POSTERS; i++) {
		ids[i] = i;
		pthread_create(&threads[i], NULL, poster, &ids[i]);
	}
	while (posts_seen < POSTERS * POSTS)
		io_loop_turn(&f->base, 0);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(threads[i], NULL);
	ok(posts_ordered, "%d messages of %d threads arrive once, in each thread's order",
	   POSTERS * POSTS, POSTERS);
	f->base.ops = &fake_ops;
}

int main(void)
{
	struct fake f;

	fake_init(&f);
	the_loop = &f;
	is_str(io_loop_name(&f.base), "fake", "a loop has a name");
	test_timer_order(&f);
	test_timer_random(&f);
	test_timer_rearm(&f);
	test_timer_nomem();
	test_order(&f);
	test_defer_cancel(&f);
	test_budget(&f);
	test_stop(&f);
	test_messages(&f);
	ok(io_loop_free(&f.base) == NULL && io_loop_free(NULL) == NULL,
	   "free takes NULL, returns NULL");
	return tap_done();
}
