/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of an association: stream operations, timers, messages; the idea is in conn.h.
 *
 * Whatever happens, one function looks at what is to be done next: flush(), deferred to the end of
 * the turn. The order of an end is in step_end(), which is called as often as anything changes and
 * goes on as far as it can.
 */
#include "target/conn.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "target/abort.h"
#include "target/aen.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/fence.h"
#include "target/listener.h"
#include "target/reactor.h"

static void flush(struct io_defer *d);
static void on_timer(struct io_timer *t);

void tgt_conn_kick(struct tgt_conn *c)
{
	io_defer(c->assoc.reactor->loop, &c->flush);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void begin_end(struct tgt_conn *c)
{
	if (c->closing)
		return;
	c->closing = true;
	io_timer_stop(c->assoc.reactor->loop, &c->barrier_timer);
}

static void close_stream(struct tgt_conn *c)
{
	if (!c->stream)
		return;
	io_stream_close(c->stream, false);
	c->stream = NULL;
}

static void free_conn(struct tgt_conn *c)
{
	struct tgt_assoc *a = &c->assoc;
	struct tgt_reactor *r = a->reactor;
	struct target *t = a->target;

	io_timer_stop(r->loop, &c->timer);
	io_timer_stop(r->loop, &c->barrier_timer);
	io_defer_cancel(&c->flush);
	list_del(&c->link);
	if (a->ctrl) {
		target_lock(t);
		tgt_ctrl_put(a->ctrl, a->qid > 0);
		target_unlock(t);
	}
	tgt_assoc_deinit(a);
	tgt_listener_put(a->listener);
	mem_free(c);
	tgt_reactor_conn_ended(r);
}

/* Goes on with the end as far as it can now. The connection may be gone afterwards. */
static void step_end(struct tgt_conn *c)
{
	struct tgt_assoc *a = &c->assoc;

	if (a->linger && c->stream) {
		/*
		 * What is queued goes out; then we say that no more comes, and wait for the host.
		 */
		if (!tcp_tx_empty(&a->tx) || c->room_op.pending)
			return;
		if (!c->shut)
			io_stream_shutdown(c->stream);
		c->shut = true;
		return;
	}
	close_stream(c);
	if (c->recv_op.pending || c->room_op.pending)
		return;
	if (!c->released) {
		c->released = true;
		tgt_assoc_release(a);
	}
	if (!tgt_assoc_drained(a))
		return;
	/* A message of another core that is on its way here needs us to receive it. */
	if (atomic_load_explicit(&c->notices, memory_order_acquire) != 0)
		return;
	free_conn(c);
}

/* ---- receiving and sending ------------------------------------------------------------------- */

static void on_received(struct io_op *op)
{
	struct tgt_conn *c = container_of(op, struct tgt_conn, recv_op);
	struct tgt_assoc *a = &c->assoc;

	c->receives++;
	if (op->result > 0) {
		tgt_assoc_received(a, (size_t)op->result);
	} else {
		tgt_assoc_kill(a,
			       op->result == 0 ? TARGET_CLOSE_HOST_CLOSED : TARGET_CLOSE_HOST_RESET,
			       false);
		a->linger = false; /* nobody is there to read what we would still say */
	}
	tgt_conn_kick(c);
}

static void send_failed(struct tgt_conn *c)
{
	tgt_assoc_kill(&c->assoc, TARGET_CLOSE_HOST_RESET, false);
	c->assoc.linger = false;
	tgt_conn_kick(c);
}

static void on_room(struct io_op *op)
{
	struct tgt_conn *c = container_of(op, struct tgt_conn, room_op);

	if (op->result < 0)
		send_failed(c);
	tgt_conn_kick(c);
}

/* Sends what there is, and asks for room where that ends. */
static void send_queued(struct tgt_conn *c)
{
	struct tgt_assoc *a = &c->assoc;
	int64_t sent;
	int n;

	if (c->room_op.pending || !c->stream)
		return;
	if (a->state == TGT_ASSOC_DEAD && !a->linger)
		return;
	for (int i = 0; i < TGT_CONN_SENDS; i++) {
		n = tgt_assoc_send_iov(a, c->send_iov, TGT_CONN_SEND_IOV);
		if (n == 0)
			return;
		sent = io_stream_send_now(c->stream, c->send_iov, n, false);
		tgt_assoc_sent(a, sent > 0 ? (size_t)sent : 0);
		if (sent == -EAGAIN) {
			io_stream_wait_room(c->stream, &c->room_op);
			return;
		}
		if (sent < 0) {
			send_failed(c);
			return;
		}
	}
	tgt_conn_kick(c);
}

static void start_recv(struct tgt_conn *c)
{
	struct tgt_assoc *a = &c->assoc;
	int n;

	if (c->recv_op.pending || !c->stream)
		return;
	if (a->state == TGT_ASSOC_DEAD) {
		/*
		 * Lingering: what the host still sends is thrown away, until it closes. Were it
		 * left in the socket, closing would reset the stream and the host could lose our
		 * last words.
		 */
		c->recv_iov[0] = (struct iovec){ .iov_base = a->stage, .iov_len = TGT_STAGE_BYTES };
		n = a->linger ? 1 : 0;
	} else if (a->reactor->draining || c->withdrawn) {
		return;
	} else {
		n = tgt_assoc_recv_iov(a, c->recv_iov, TGT_CONN_RECV_IOV);
	}
	if (n > 0)
		io_stream_recv(c->stream, &c->recv_op, c->recv_iov, n);
}

/* ---- a turn ---------------------------------------------------------------------------------- */

static void arm_timer(struct tgt_conn *c)
{
	struct io_loop *loop = c->assoc.reactor->loop;
	uint64_t at = tgt_assoc_deadline(&c->assoc);
	uint64_t now;

	/* A timer that is early looks, finds nothing and arms itself again. */
	if (at == UINT64_MAX || (io_timer_armed(&c->timer) && c->timer.deadline <= at))
		return;
	now = io_now(loop);
	if (io_timer_start(loop, &c->timer, at > now ? at - now : 0) < 0) {
		tgt_assoc_kill(&c->assoc, TARGET_CLOSE_NO_MEMORY, false);
		c->assoc.linger = false;
		tgt_conn_kick(c);
	}
}

static void on_timer(struct io_timer *t)
{
	struct tgt_conn *c = container_of(t, struct tgt_conn, timer);

	tgt_assoc_check_time(&c->assoc, io_now(c->assoc.reactor->loop));
	tgt_conn_kick(c);
}

static void on_barrier_timer(struct io_timer *t)
{
	struct tgt_conn *c = container_of(t, struct tgt_conn, barrier_timer);

	if (c->assoc.state != TGT_ASSOC_DEAD)
		tgt_fence_look(c);
}

static void flush(struct io_defer *d)
{
	struct tgt_conn *c = container_of(d, struct tgt_conn, flush);
	struct tgt_assoc *a = &c->assoc;

	if (a->more_input || a->capsule_waits || a->wants_req)
		tgt_assoc_process(a);
	if (a->more_input)
		tgt_conn_kick(c);
	/* First, because what is out is what a drain waits for. */
	send_queued(c);
	if (a->reactor->draining && (a->reactor->drain_now || tgt_assoc_quiet(a)))
		tgt_assoc_kill(a, TARGET_CLOSE_DRAINED, false);
	if (c->withdrawn && tgt_assoc_quiet(a))
		tgt_assoc_kill(a, TARGET_CLOSE_WITHDRAWN, false);
	if (a->state == TGT_ASSOC_DEAD)
		begin_end(c);
	start_recv(c);
	arm_timer(c);
	tgt_reactor_note_arena(a->reactor);
	if (c->closing)
		step_end(c);
}

/* ---- what other cores want ------------------------------------------------------------------- */

void tgt_conn_notify(struct tgt_conn *c, unsigned int notices)
{
	if (atomic_fetch_or_explicit(&c->notices, notices, memory_order_acq_rel) == 0)
		io_post(c->assoc.reactor->loop, &c->notice_msg);
}

static void on_notice(struct io_msg *m)
{
	struct tgt_conn *c = container_of(m, struct tgt_conn, notice_msg);
	struct tgt_assoc *a = &c->assoc;
	unsigned int n = atomic_exchange_explicit(&c->notices, 0, memory_order_acq_rel);

	if (n & TGT_NOTICE_REPLY)
		tgt_abort_take_replies(a);
	if (n & TGT_NOTICE_REPLY)
		tgt_resv_take_replies(a);
	if (n & TGT_NOTICE_ABORT)
		tgt_abort_take_inbox(a);
	if (n & TGT_NOTICE_GONE)
		tgt_assoc_kill(a, TARGET_CLOSE_CONTROLLER_GONE, false);
	if (n & TGT_NOTICE_WITHDRAW)
		tgt_conn_withdraw(c);
	if (a->state != TGT_ASSOC_DEAD) {
		if (n & TGT_NOTICE_FENCE)
			tgt_assoc_fence_lifted(a);
		if (n & TGT_NOTICE_EVENTS)
			tgt_events_deliver(a);
		if (n & TGT_NOTICE_BARRIER)
			tgt_fence_look(c);
	}
	tgt_conn_kick(c);
}

/*
 * What is pending is said while there is somebody to say it to: a discovery log that empties, and,
 * where the whole subsystem ends, that it does.
 */
static void last_events(struct tgt_conn *c)
{
	struct tgt_assoc *a = &c->assoc;
	struct tgt_subsys *s;

	if (c->farewell || a->state != TGT_ASSOC_LIVE || a->qid > 0)
		return;
	c->farewell = true;
	s = a->ctrl->subsys;
	target_lock(a->target);
	if (!s->discovery && (s->leaving || target_draining(a->target)))
		tgt_event_raise(a->ctrl, TGT_EVENT_SHUTDOWN);
	target_unlock(a->target);
	tgt_events_deliver(a);
}

void tgt_conn_withdraw(struct tgt_conn *c)
{
	struct tgt_assoc *a = &c->assoc;
	struct tgt_ctrl *ctrl = a->ctrl;

	if (c->withdrawn || a->state == TGT_ASSOC_DEAD)
		return;
	c->withdrawn = true;
	a->withdrawn_since = io_now(a->reactor->loop);
	last_events(c);
	if (ctrl && a->qid == 0) {
		target_lock(a->target);
		for (uint32_t qid = 1; qid <= a->target->limits.io_queues; qid++)
			if (ctrl->queues[qid])
				tgt_conn_notify(ctrl->queues[qid], TGT_NOTICE_WITHDRAW);
		target_unlock(a->target);
	}
	tgt_conn_kick(c);
}

void tgt_conn_drain(struct tgt_conn *c, bool now)
{
	if (!now)
		last_events(c);
	if (now)
		tgt_assoc_kill(&c->assoc, TARGET_CLOSE_DRAINED, false);
	if (now)
		c->assoc.linger = false;
	tgt_conn_kick(c);
}

/* ---- birth ----------------------------------------------------------------------------------- */

int tgt_conn_new(struct tgt_reactor *r, struct io_sock *sock, struct tgt_listener *l)
{
	/*
	 * A peer that vanished is noticed while data is on its way to it, and by probes while there
	 * is none: a host may have turned NVMe's own keep alive off (KATO 0).
	 */
	struct io_stream_options opts = {
		.user_timeout_ns = r->target->limits.send_ns,
		.keepalive_ns = r->target->limits.tcp_keepalive_ns,
	};
	struct tgt_conn *c = mem_zalloc(sizeof(*c));
	int err = c ? tgt_assoc_init(&c->assoc, r, l) : -ENOMEM;

	if (err < 0) {
		mem_free(c);
		io_sock_close(sock);
		return err;
	}
	err = io_stream_new(r->loop, sock, &opts, &c->stream);
	if (err < 0) {
		tgt_assoc_deinit(&c->assoc);
		mem_free(c);
		return err;
	}
	io_op_init(&c->recv_op, on_received);
	io_op_init(&c->room_op, on_room);
	io_timer_init(&c->timer, on_timer);
	io_timer_init(&c->barrier_timer, on_barrier_timer);
	io_defer_init(&c->flush, flush);
	c->notice_msg.fn = on_notice;
	io_addr_format(io_stream_peer(c->stream), c->peer);
	tgt_listener_get(l);
	list_add_tail(&r->conns, &c->link);
	tgt_conn_kick(c);
	return 0;
}
