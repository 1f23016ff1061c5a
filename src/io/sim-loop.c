/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop of the simulated world, and the life of an operation in it. Most of a loop is loop.c; what
 * is here is when it turns and which of its operations are in flight.
 *
 * A loop whose node crashed goes on turning, cut off: whatever it asks of the world finishes with
 * -ECANCELED. So objects of a dead process are torn down by the code that tears them down in life,
 * and leaks of that code show.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "io/sim-impl.h"

/* Cancelled operations finish within this time if not at once. */
#define CANCEL_MAX_NS 50000
#define SCRIBBLE      64

/* ---- operations ------------------------------------------------------------------------------ */

void sim_op_begin(struct io_op *op)
{
	memset(op->impl, 0, sizeof(op->impl));
	list_add_tail(&sim_loop_of(op->loop)->pending, &op->link);
}

void sim_op_schedule(struct io_op *op, uint64_t delay, sim_event_fn fn)
{
	struct sim_event *ev = sim_at(sim_loop_of(op->loop)->node->sim, delay, fn, op, 0);

	op->impl[SIM_OP_EVENT] = (uintptr_t)ev;
}

static void op_unschedule(struct io_op *op)
{
	sim_event_cancel((struct sim_event *)(uintptr_t)op->impl[SIM_OP_EVENT]);
	op->impl[SIM_OP_EVENT] = 0;
}

void sim_op_end(struct io_op *op, int64_t result)
{
	op_unschedule(op);
	list_del(&op->link);
	io_op_finish(op, result);
}

/*
 * Buffers belong to the loop until done: an owner that let go of them when it asked for the end is
 * found here, by what it reads back or by the address sanitizer.
 */
static void scribble(struct io_op *op)
{
	bool fill = op->kind == IO_OP_RECV || op->kind == IO_OP_READ;

	for (int i = 0; i < op->niov; i++) {
		uint8_t *at = op->iov[i].iov_base;
		size_t n = op->iov[i].iov_len;

		if (n == 0)
			continue;
		if (fill) {
			memset(at, 0xdb, MIN(n, (size_t)SCRIBBLE));
			at[n - 1] = 0xdb;
		} else {
			(void)*(volatile uint8_t *)at;
			(void)*(volatile uint8_t *)(at + n - 1);
		}
	}
}

static void cancelled_fire(struct sim *sim, void *obj, uint64_t arg)
{
	struct io_op *op = obj;

	op->impl[SIM_OP_EVENT] = 0;
	if (sim->config.scribble && (op->kind == IO_OP_RECV || op->kind == IO_OP_SEND ||
				     op->kind == IO_OP_READ || op->kind == IO_OP_WRITE))
		scribble(op);
	sim_did(sim, SIM_DID_CANCEL, sim_loop_of(op->loop)->node, op->kind, 0, 0);
	sim_op_end(op, -ECANCELED);
}

void sim_op_end_cancelled(struct io_op *op)
{
	struct sim *sim = sim_loop_of(op->loop)->node->sim;

	op_unschedule(op);
	op->impl[SIM_OP_CANCELLED] = 1;
	sim_op_schedule(op, sim_coin(sim) ? 0 : rng_below(&sim->rng, CANCEL_MAX_NS),
			cancelled_fire);
}

/* ---- when it turns --------------------------------------------------------------------------- */

uint64_t sim_loop_due(struct sim *sim, struct sim_loop *sl)
{
	struct io_loop *loop = &sl->base;
	uint64_t due = loop->heap_len ? loop->heap[1]->deadline : SIM_NEVER;

	if (!list_empty(&loop->finished) || !list_empty(&loop->deferred) || loop->mailbox ||
	    loop->stopping) {
		if (sl->turn_at == 0) {
			sl->turn_at = sim->now;
			if (sim->config.turn_late_ppm &&
			    rng_chance_ppm(&sim->rng, sim->config.turn_late_ppm))
				sl->turn_at += rng_below(&sim->rng, sim->config.turn_max_ns + 1);
		}
		due = MIN(due, sl->turn_at);
	}
	if (due == SIM_NEVER)
		return due;
	return MAX(due, MAX(sl->node->paused_until, sim->now));
}

int sim_loop_turn(struct sim *sim, struct sim_loop *sl)
{
	uint32_t ppm = sl->node->fail_alloc && !sim_loop_dead(sl) ? sim->config.ppm[SIM_ALLOC] : 0;
	uint64_t failed = mem_fail_count();
	int r;

	sl->turn_at = 0;
	sl->driven = true;
	if (ppm)
		mem_fail_chance(&sim->alloc_rng, ppm);
	r = io_loop_turn(&sl->base, 0);
	if (ppm) {
		mem_fail_chance(NULL, 0);
		sim->hits[SIM_ALLOC] += mem_fail_count() - failed;
	}
	sl->driven = false;
	if (r < 0)
		return r;
	sim_did(sim, SIM_DID_TURN, sl->node, sl->id, (uint64_t)r, mem_fail_count() - failed);
	/* Nothing but sim_run_until() looks at this flag here, and that does not care. */
	atomic_store_explicit(&sl->base.stopping, false, memory_order_relaxed);
	return 1;
}

static int loop_poll(struct io_loop *loop, uint64_t timeout_ns)
{
	struct sim_loop *sl = sim_loop_of(loop);
	int r;

	if (sl->driven)
		return 0;
	r = sim_world_poll(sl->node->sim, sl, timeout_ns);
	sl->turn_at = 0;
	return r;
}

static void loop_wake(struct io_loop *loop)
{
	/* sim_loop_due() sees the message. */
}

static uint64_t loop_now(struct io_loop *loop)
{
	return sim_loop_of(loop)->node->sim->now;
}

static uint64_t loop_wall(struct io_loop *loop)
{
	return sim_node_wall(sim_loop_of(loop)->node);
}

static void loop_random(struct io_loop *loop, void *buf, size_t n)
{
	rng_fill(&sim_loop_of(loop)->node->sim->rng, buf, n);
}

static void loop_cancel(struct io_loop *loop, struct io_op *op)
{
	switch (op->kind) {
	case IO_OP_ACCEPT:
	case IO_OP_CONNECT:
		sim_net_cancel(op);
		break;
	default:
		sim_file_cancel(op);
	}
}

/* ---- life ------------------------------------------------------------------------------------ */

struct io_loop *sim_loop_new(struct sim_node *node)
{
	struct sim_loop *sl = sim_xalloc(sizeof(*sl));

	INVARIANT(node->up);
	io_loop_base_init(&sl->base, &sim_ops);
	sl->node = node;
	sl->epoch = node->epoch;
	sl->id = ++node->sim->ids;
	list_init(&sl->pending);
	list_add_tail(&node->sim->loops, &sl->link);
	return &sl->base;
}

static void loop_free(struct io_loop *loop)
{
	struct sim_loop *sl = sim_loop_of(loop);

	INVARIANT(list_empty(&sl->pending) && sl->streams == 0);
	io_loop_base_deinit(loop);
	list_del(&sl->link);
	free(sl);
}

const struct io_ops sim_ops = {
	.name = "sim",
	.free = loop_free,
	.poll = loop_poll,
	.wake = loop_wake,
	.now = loop_now,
	.wall = loop_wall,
	.random = loop_random,
	.listen = sim_net_listen,
	.listener_addr = sim_net_listener_addr,
	.accept = sim_net_accept,
	.listener_close = sim_net_listener_close,
	.connect = sim_net_connect,
	.cancel = loop_cancel,
	.sock_pair = sim_net_sock_pair,
	.stream_new = sim_stream_new,
	.recv = sim_stream_recv,
	.send = sim_stream_send,
	.send_now = sim_stream_send_now,
	.wait_room = sim_stream_wait_room,
	.shutdown = sim_stream_shutdown,
	.close = sim_stream_close,
	.file_open = sim_file_open,
	.file_submit = sim_file_submit,
	.state_load = sim_state_load,
	.state_save = sim_state_save,
};
