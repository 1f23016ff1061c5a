/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes on their way. A connection is two pipes; a pipe is a ring of bytes and a queue of segments
 * with the times at which they arrive, and one event for the first of them, so that nothing within
 * a connection overtakes anything while connections overtake each other as they like.
 *
 * Each end knows by itself whether the connection still exists. A reset reaches the two at
 * different times or one of them never: the time in which a host has given up a connection that
 * the target still believes in is where protocols lose data.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/util.h"
#include "io/sim-impl.h"

#define RING_FIRST    4096
#define KERNEL_MIN_NS 200 /* an operation that can go ahead at once takes this long ... */
#define KERNEL_MAX_NS 3000
#define LOCAL_MAX_NS  2000      /* ... and so do the bytes of a pair */
#define SEGMENT_MIN   1460      /* `more` holds back less than a full packet, ... */
#define CORK_NS       200000000 /* ... but not for longer than TCP_CORK does */

static void recv_fire(struct sim *sim, void *obj, uint64_t arg);
static void send_fire(struct sim *sim, void *obj, uint64_t arg);
static void pipe_arrive(struct sim *sim, void *obj, uint64_t arg);

static struct sim_pipe *pipe_out(struct sim_end *end)
{
	return &sim_end_conn(end)->pipe[end->side];
}

static struct sim_pipe *pipe_in(struct sim_end *end)
{
	return &sim_end_conn(end)->pipe[!end->side];
}

static struct sim_end *other_end(struct sim_end *end)
{
	return &sim_end_conn(end)->end[!end->side];
}

static uint64_t kernel_delay(struct sim *sim)
{
	return rng_between(&sim->rng, KERNEL_MIN_NS, KERNEL_MAX_NS);
}

static uint64_t wire_delay(struct sim_conn *conn)
{
	return conn->local ? rng_below(&conn->sim->rng, LOCAL_MAX_NS) : sim_net_delay(conn->sim);
}

static size_t iov_bytes(const struct io_op *op)
{
	size_t n = 0;

	for (int i = 0; i < op->niov; i++)
		n += op->iov[i].iov_len;
	return n;
}

/* ---- the ring -------------------------------------------------------------------------------- */

static void ring_copy_in(struct sim_pipe *p, uint64_t pos, const uint8_t *from, size_t n)
{
	size_t at = pos & (p->ring_size - 1);
	size_t first = MIN(n, p->ring_size - at);

	memcpy(p->ring + at, from, first);
	memcpy(p->ring, from + first, n - first);
}

static void ring_reserve(struct sim_pipe *p, size_t need)
{
	struct sim_pipe old = *p;
	size_t at, first, n = (size_t)(p->sent - p->taken);

	if (need <= p->ring_size)
		return;
	p->ring_size = MAX(p->ring_size, (size_t)RING_FIRST);
	while (p->ring_size < need)
		p->ring_size *= 2;
	p->ring = sim_xalloc(p->ring_size);
	if (n > 0) {
		at = old.taken & (old.ring_size - 1);
		first = MIN(n, old.ring_size - at);
		ring_copy_in(p, old.taken, old.ring + at, first);
		ring_copy_in(p, old.taken + first, old.ring, n - first);
	}
	free(old.ring);
}

/* Appends the first @n bytes of the vectors; returns their checksum. */
static uint32_t ring_put(struct sim_pipe *p, const struct io_op *op, size_t n)
{
	uint32_t crc = 0;

	ring_reserve(p, (size_t)(p->sent - p->taken) + n);
	for (int i = 0; n > 0; i++) {
		size_t some = MIN(n, op->iov[i].iov_len);

		if (some == 0)
			continue;
		crc = crc32c(crc, op->iov[i].iov_base, some);
		ring_copy_in(p, p->sent, op->iov[i].iov_base, some);
		p->sent += some;
		n -= some;
	}
	return crc;
}

static void ring_get(struct sim_pipe *p, const struct io_op *op, size_t n)
{
	for (int i = 0; n > 0; i++) {
		size_t some = MIN(n, op->iov[i].iov_len);
		size_t at = p->taken & (p->ring_size - 1);
		size_t first = MIN(some, p->ring_size - at);

		if (some == 0)
			continue;
		memcpy(op->iov[i].iov_base, p->ring + at, first);
		memcpy((uint8_t *)op->iov[i].iov_base + first, p->ring, some - first);
		p->taken += some;
		n -= some;
	}
}

/* Room for more bytes: what both ends' buffers hold, less what was not read yet. */
static size_t pipe_space(struct sim_end *from)
{
	struct sim_pipe *p = pipe_out(from);
	size_t half = MAX(sim_end_conn(from)->sim->config.stream_buffer / 2, (size_t)1);
	size_t receiver = other_end(from)->recv_buffer;
	size_t cap = (from->send_buffer ? from->send_buffer : half) + (receiver ? receiver : half);
	size_t used = (size_t)(p->sent - p->taken);

	return used < cap ? cap - used : 0;
}

/* ---- segments -------------------------------------------------------------------------------- */

static struct sim_segment *last_segment(struct sim_pipe *p)
{
	return &p->seg[(p->seg_first + p->seg_count - 1) % SIM_SEGMENTS];
}

static void arrival_schedule(struct sim_conn *conn, unsigned int side, uint64_t not_before)
{
	struct sim_pipe *p = &conn->pipe[side];
	uint64_t at = MAX(p->seg[p->seg_first].at, not_before);
	uint64_t now = conn->sim->now;

	sim_event_cancel(p->arrival);
	p->arrival = sim_at(conn->sim, at > now ? at - now : 0, pipe_arrive, conn, side);
}

static void timeout_fire(struct sim *sim, void *obj, uint64_t arg);

/* What was sent will not be acknowledged: the sender's stack gives up at some time. */
static void timeout_arm(struct sim_end *end)
{
	struct sim *sim = sim_end_conn(end)->sim;
	uint64_t ns = end->user_timeout ? end->user_timeout : sim->config.dead_peer_ns;

	if (end->live && !end->error && !end->timeout_ev)
		end->timeout_ev = sim_at(sim, ns, timeout_fire, end, pipe_out(end)->sent);
}

static void segment_queue(struct sim_end *from, size_t bytes, bool fin, uint64_t delay)
{
	struct sim_conn *conn = sim_end_conn(from);
	struct sim_pipe *p = pipe_out(from);
	uint64_t at = MAX(conn->sim->now + delay, p->last_at);

	p->last_at = at;
	if (p->seg_count == SIM_SEGMENTS) {
		last_segment(p)->bytes += (uint32_t)bytes;
		last_segment(p)->fin |= fin;
		last_segment(p)->at = at;
	} else {
		p->seg_count++;
		*last_segment(p) = (struct sim_segment){ at, (uint32_t)bytes, fin };
		if (p->seg_count == 1)
			arrival_schedule(conn, from->side, 0);
	}
	if (at - conn->sim->now >
	    (from->user_timeout ? from->user_timeout : conn->sim->config.dead_peer_ns))
		timeout_arm(from);
}

/* More follows a segment that was held back for it: it goes now. */
static void uncork(struct sim_end *from)
{
	struct sim_conn *conn = sim_end_conn(from);
	struct sim_pipe *p = pipe_out(from);
	struct sim_segment *seg = last_segment(p);

	if (!p->corked || p->seg_count == 0 || seg->at != p->last_at)
		return;
	p->corked = false;
	p->last_at = seg->at = MAX(p->cork_after, conn->sim->now);
	if (p->seg_count == 1 && !sim_link_blocked(conn->sim, conn->end[0].node, conn->end[1].node))
		arrival_schedule(conn, from->side, 0);
}

static void fin_queue(struct sim_end *end)
{
	struct sim_pipe *p = pipe_out(end);

	if (p->fin_sent)
		return;
	p->fin_sent = true;
	uncork(end);
	segment_queue(end, 0, true, wire_delay(sim_end_conn(end)));
}

/* Nobody is there to take it. What was not acknowledged stays in the sender's buffer. */
static void segment_drop(struct sim_end *tx, struct sim_end *rx, const struct sim_segment *seg)
{
	struct sim *sim = sim_end_conn(tx)->sim;
	struct sim_pipe *p = pipe_out(tx);

	p->dead = true;
	sim_did(sim, SIM_DID_DROP, rx->node, sim_end_id(rx), seg->bytes, seg->fin);
	if (p->hole || !rx->node->power)
		timeout_arm(tx);
	else if (!rx->live || rx->error)
		sim_end_break_later(tx, ECONNRESET);
}

static void pipe_arrive(struct sim *sim, void *obj, uint64_t arg)
{
	struct sim_conn *conn = obj;
	struct sim_pipe *p = &conn->pipe[arg];
	struct sim_end *tx = &conn->end[arg], *rx = &conn->end[!arg];
	uint64_t blocked = conn->local ? 0 : sim_link_blocked(sim, tx->node, rx->node);
	struct sim_segment seg;

	p->arrival = NULL;
	if (blocked) {
		arrival_schedule(conn, (unsigned int)arg, blocked + sim_net_delay(sim));
		return;
	}
	seg = p->seg[p->seg_first];
	p->seg_first = (p->seg_first + 1) % SIM_SEGMENTS;
	if (--p->seg_count > 0)
		arrival_schedule(conn, (unsigned int)arg, 0);
	if (p->hole || p->dead || !rx->live || rx->error) {
		segment_drop(tx, rx, &seg);
		return;
	}
	p->arrived += seg.bytes;
	p->fin_arrived |= seg.fin;
	sim_did(sim, seg.fin ? SIM_DID_FIN : SIM_DID_ARRIVE, rx->node, sim_end_id(rx), seg.bytes,
		0);
	if (rx->recv_op && !rx->recv_op->impl[SIM_OP_EVENT])
		recv_fire(sim, rx->recv_op, 0);
}

/* ---- how a connection ends ------------------------------------------------------------------- */

static void end_break(struct sim_end *end, int error)
{
	struct sim *sim = sim_end_conn(end)->sim;
	struct sim_pipe *in = pipe_in(end);

	if (!end->live || end->error)
		return;
	end->error = error;
	sim_did(sim, SIM_DID_BREAK, end->node, sim_end_id(end), (uint64_t)error, 0);
	sim_event_cancel(end->timeout_ev);
	end->timeout_ev = NULL;
	in->dead = true;
	/* Stacks differ in whether what had arrived can still be read. */
	if (sim_coin(sim))
		in->taken = in->arrived;
	if (sim_coin(sim))
		pipe_out(end)->dead = true;
	if (end->recv_op && !end->recv_op->impl[SIM_OP_EVENT])
		recv_fire(sim, end->recv_op, 0);
	if (end->send_op && !end->send_op->impl[SIM_OP_EVENT])
		send_fire(sim, end->send_op, 0);
}

static void break_fire(struct sim *sim, void *obj, uint64_t arg)
{
	struct sim_end *end = obj;

	end->break_ev = NULL;
	end_break(end, (int)arg);
}

static void timeout_fire(struct sim *sim, void *obj, uint64_t arg)
{
	struct sim_end *end = obj;
	struct sim_pipe *p = pipe_out(end);

	end->timeout_ev = NULL;
	if (p->dead || p->arrived < arg)
		end_break(end, ETIMEDOUT);
}

/* @in_order: behind what the other end has sent before. */
static void break_schedule(struct sim_end *end, int error, bool in_order)
{
	struct sim_conn *conn = sim_end_conn(end);
	uint64_t blocked =
		conn->local ? 0 : sim_link_blocked(conn->sim, end->node, other_end(end)->node);
	uint64_t delay = wire_delay(conn) + (blocked ? blocked - conn->sim->now : 0);

	if (in_order && pipe_in(end)->last_at > conn->sim->now + delay)
		delay = pipe_in(end)->last_at - conn->sim->now;
	if (end->live && !end->error && !end->break_ev)
		end->break_ev = sim_at(conn->sim, delay, break_fire, end, (uint64_t)error);
}

void sim_end_break_later(struct sim_end *end, int error)
{
	if (!pipe_in(end)->hole)
		break_schedule(end, error, sim_coin(sim_end_conn(end)->sim));
}

void sim_conn_reset(struct sim_conn *conn)
{
	uint64_t who = rng_below(&conn->sim->rng, 4);

	/* Half of the time only one end notices; the other will when it sends. */
	if (who != 1)
		break_schedule(&conn->end[0], ECONNRESET, false);
	if (who != 0)
		break_schedule(&conn->end[1], ECONNRESET, false);
}

void sim_conn_hole(struct sim_conn *conn)
{
	uint64_t which = rng_below(&conn->sim->rng, 3);

	conn->pipe[0].hole |= which != 0;
	conn->pipe[1].hole |= which != 1;
}

static void end_forget_events(struct sim_end *end)
{
	sim_event_cancel(end->break_ev);
	sim_event_cancel(end->timeout_ev);
	end->break_ev = end->timeout_ev = NULL;
}

void sim_end_crash(struct sim_end *end, enum sim_goodbye bye)
{
	struct sim_end *peer = other_end(end);
	struct sim_pipe *in = pipe_in(end);

	if (!end->live)
		return;
	end_forget_events(end);
	end->recv_op = end->send_op = NULL;
	if (bye == SIM_BYE_FIN && !end->error && in->arrived == in->taken)
		fin_queue(end);
	else if (bye != SIM_BYE_SILENT)
		sim_end_break_later(peer, ECONNRESET);
	end->live = false;
	if (bye != SIM_BYE_SILENT)
		return;
	/* Of what was sent, some may not have left the machine; what comes is not acknowledged. */
	if (sim_coin(sim_end_conn(end)->sim))
		pipe_out(end)->dead = true;
	in->dead = true;
	if (in->sent > in->taken)
		timeout_arm(peer);
}

static void conn_free(struct sim_conn *conn)
{
	for (int i = 0; i < 2; i++) {
		end_forget_events(&conn->end[i]);
		sim_event_cancel(conn->pipe[i].arrival);
		free(conn->pipe[i].ring);
	}
	list_del(&conn->link);
	free(conn);
}

void sim_end_drop(struct sim_end *end, bool reset)
{
	struct sim_conn *conn = sim_end_conn(end);

	INVARIANT(end->held && !end->recv_op && !end->send_op);
	sim_did(conn->sim, SIM_DID_CLOSE, end->node, sim_end_id(end), reset, end->live);
	if (end->live && !end->error) {
		/* As stacks do: closing with unread data is an error of its own, and resets. */
		if (reset || pipe_in(end)->arrived > pipe_in(end)->taken)
			sim_end_break_later(other_end(end), ECONNRESET);
		else
			fin_queue(end);
	}
	end_forget_events(end);
	end->live = end->held = false;
	if (!other_end(end)->held)
		conn_free(conn);
}

/* ---- transfers ------------------------------------------------------------------------------- */

static size_t shorten(struct sim_end *end, size_t n)
{
	struct sim *sim = sim_end_conn(end)->sim;

	if (n > 1 && sim_fault(sim, SIM_NET_BYTE, end->node))
		return 1;
	if (n > 1 && sim_fault(sim, SIM_NET_SHORT, end->node))
		return 1 + (size_t)rng_below(&sim->rng, n - 1);
	return n;
}

/* Faults of the network for which a transfer is the occasion. */
static void transfer_faults(struct sim_end *end)
{
	struct sim_conn *conn = sim_end_conn(end);

	if (conn->local)
		return;
	if (sim_fault(conn->sim, SIM_NET_RESET, end->node))
		sim_conn_reset(conn);
	if (sim_fault(conn->sim, SIM_NET_HOLE, end->node))
		sim_conn_hole(conn);
}

static uint64_t send_delay(struct sim_end *end)
{
	struct sim_conn *conn = sim_end_conn(end);
	uint64_t delay = wire_delay(conn);

	if (!conn->local && sim_fault(conn->sim, SIM_NET_STALL, end->node))
		delay += rng_below(&conn->sim->rng, conn->sim->config.stall_max_ns + 1);
	return delay;
}

/* Takes what there is room for. Bytes taken. */
static size_t send_effect(struct sim_end *end, struct io_op *op)
{
	struct sim_conn *conn = sim_end_conn(end);
	struct sim_pipe *p = pipe_out(end);
	size_t n = MIN(pipe_space(end), iov_bytes(op));
	bool cork = op->flags & SIM_SEND_MORE;
	uint64_t delay;
	uint32_t crc;

	if (n == 0)
		return 0;
	n = shorten(end, n);
	uncork(end);
	crc = ring_put(p, op, n);
	if (!conn->local && sim_fault(conn->sim, SIM_NET_CORRUPT, end->node)) {
		uint64_t at = p->sent - 1 - rng_below(&conn->sim->rng, n);

		p->ring[at & (p->ring_size - 1)] ^= (uint8_t)(1U << rng_below(&conn->sim->rng, 8));
	}
	delay = send_delay(end);
	p->corked = cork && n < SEGMENT_MIN;
	p->cork_after = MAX(p->last_at, conn->sim->now + delay);
	segment_queue(end, n, false, delay + (p->corked ? CORK_NS : 0));
	sim_did(conn->sim, SIM_DID_SEND, end->node, sim_end_id(end), n, crc);
	transfer_faults(end);
	return n;
}

static int64_t send_error(struct sim_end *end)
{
	int error = end->told ? EPIPE : end->error;

	end->told = true;
	return -error;
}

static void send_fire(struct sim *sim, void *obj, uint64_t arg)
{
	struct io_op *op = obj;
	struct sim_end *end = ((struct sim_stream *)op->obj)->end;
	size_t n;

	op->impl[SIM_OP_EVENT] = 0;
	if (end->error) {
		end->send_op = NULL;
		sim_op_end(op, send_error(end));
		return;
	}
	if (op->kind == IO_OP_ROOM) {
		if (pipe_space(end) == 0)
			return;
		end->send_op = NULL;
		sim_op_end(op, 0);
		if (end->fin_wanted)
			fin_queue(end);
		return;
	}
	n = send_effect(end, op);
	if (n == 0)
		return; /* until the other end reads */
	end->send_op = NULL;
	sim_op_end(op, (int64_t)n);
	if (end->fin_wanted)
		fin_queue(end);
}

static int64_t recv_error(struct sim_end *end)
{
	/* Once told, a stack may call the rest a plain end of stream. */
	if (end->told && sim_coin(sim_end_conn(end)->sim))
		return 0;
	end->told = true;
	return -end->error;
}

static void recv_fire(struct sim *sim, void *obj, uint64_t arg)
{
	struct io_op *op = obj;
	struct sim_end *end = ((struct sim_stream *)op->obj)->end;
	struct sim_end *tx = other_end(end);
	struct sim_pipe *p = pipe_in(end);
	size_t n = MIN((size_t)(p->arrived - p->taken), iov_bytes(op));
	int64_t result = 0;

	op->impl[SIM_OP_EVENT] = 0;
	if (n == 0 && !end->error && !p->fin_arrived)
		return;
	if (n > 0) {
		n = shorten(end, n);
		ring_get(p, op, n);
		result = (int64_t)n;
	} else if (end->error) {
		result = recv_error(end);
	}
	sim_did(sim, SIM_DID_RECV, end->node, sim_end_id(end), (uint64_t)result, 0);
	end->recv_op = NULL;
	sim_op_end(op, result);
	if (n == 0)
		return;
	if (tx->send_op && !tx->send_op->impl[SIM_OP_EVENT])
		sim_op_schedule(tx->send_op, wire_delay(sim_end_conn(end)), send_fire);
	transfer_faults(end);
}

/* ---- the ops --------------------------------------------------------------------------------- */

static struct sim_stream *stream_of(struct io_stream *s)
{
	return container_of(s, struct sim_stream, base);
}

static bool goes_inline(struct sim *sim)
{
	return sim->config.inline_ppm && rng_chance_ppm(&sim->rng, sim->config.inline_ppm);
}

void sim_stream_recv(struct io_stream *s, struct io_op *op)
{
	struct sim_end *end = stream_of(s)->end;
	struct sim *sim = sim_end_conn(end)->sim;
	struct sim_pipe *p = pipe_in(end);

	INVARIANT(!end->recv_op);
	sim_op_begin(op);
	if (!end->live) {
		sim_op_end(op, -ECANCELED);
		return;
	}
	end->recv_op = op;
	if (p->arrived == p->taken && !p->fin_arrived && !end->error)
		return;
	if (goes_inline(sim))
		recv_fire(sim, op, 0);
	else
		sim_op_schedule(op, kernel_delay(sim), recv_fire);
}

void sim_stream_send(struct io_stream *s, struct io_op *op, bool more)
{
	struct sim_end *end = stream_of(s)->end;
	struct sim *sim = sim_end_conn(end)->sim;

	INVARIANT(!end->send_op);
	sim_op_begin(op);
	if (more)
		op->flags |= SIM_SEND_MORE;
	if (!end->live) {
		sim_op_end(op, -ECANCELED);
		return;
	}
	if (pipe_out(end)->fin_sent || end->fin_wanted) {
		sim_op_end(op, -EPIPE);
		return;
	}
	end->send_op = op;
	if (goes_inline(sim))
		send_fire(sim, op, 0);
	else
		sim_op_schedule(op, kernel_delay(sim), send_fire);
}

int64_t sim_stream_send_now(struct io_stream *s, const struct iovec *iov, int niov, bool more)
{
	struct sim_end *end = stream_of(s)->end;
	struct io_op op = { .iov = iov, .niov = niov, .flags = more ? SIM_SEND_MORE : 0 };
	size_t n;

	INVARIANT(!end->send_op);
	if (!end->live)
		return -ECANCELED;
	if (pipe_out(end)->fin_sent || end->fin_wanted)
		return -EPIPE;
	if (end->error)
		return send_error(end);
	n = send_effect(end, &op);
	return n > 0 ? (int64_t)n : -EAGAIN;
}

void sim_stream_wait_room(struct io_stream *s, struct io_op *op)
{
	struct sim_end *end = stream_of(s)->end;

	INVARIANT(!end->send_op);
	sim_op_begin(op);
	if (!end->live) {
		sim_op_end(op, -ECANCELED);
		return;
	}
	end->send_op = op;
	if (pipe_space(end) > 0 || end->error)
		sim_op_schedule(op, kernel_delay(sim_end_conn(end)->sim), send_fire);
}

void sim_stream_shutdown(struct io_stream *s)
{
	struct sim_end *end = stream_of(s)->end;

	if (!end->live || end->error)
		return;
	if (end->send_op)
		end->fin_wanted = true;
	else
		fin_queue(end);
}

void sim_stream_close(struct io_stream *s, bool reset)
{
	struct sim_stream *stream = stream_of(s);
	struct sim_end *end = stream->end;
	struct sim *sim = sim_end_conn(end)->sim;

	/* A send that is cancelled may have gone out, in part or whole. */
	if (end->send_op && end->send_op->kind == IO_OP_SEND && end->live && !end->error &&
	    sim_coin(sim))
		send_effect(end, end->send_op);
	if (end->recv_op)
		sim_op_end_cancelled(end->recv_op);
	if (end->send_op)
		sim_op_end_cancelled(end->send_op);
	end->recv_op = end->send_op = NULL;
	sim_end_drop(end, reset);
	sim_loop_of(s->loop)->streams--;
	free(stream);
}

static void sock_close(struct io_sock *s)
{
	struct sim_sock *sock = container_of(s, struct sim_sock, base);

	sim_end_drop(sock->end, false);
	free(sock);
}

static const struct io_sock_ops sock_ops = { .close = sock_close };

struct io_sock *sim_sock_new(struct sim_end *end)
{
	struct sim_sock *sock = sim_xalloc(sizeof(*sock));

	sock->base.ops = &sock_ops;
	sock->base.peer = end->peer;
	sock->base.local = end->local;
	sock->end = end;
	return &sock->base;
}

int sim_stream_new(struct io_loop *loop, struct io_sock *s, const struct io_stream_options *opts,
		   struct io_stream **ret_stream)
{
	struct sim_sock *sock = container_of(s, struct sim_sock, base);
	struct sim_loop *sl = sim_loop_of(loop);
	struct sim_end *end = sock->end;
	struct sim_stream *stream;

	INVARIANT(end->node == sl->node);
	if (sim_fault(sl->node->sim, SIM_NET_NOMEM, sl->node)) {
		sock_close(s);
		return -ENOMEM;
	}
	stream = sim_xalloc(sizeof(*stream));
	stream->base.loop = loop;
	stream->base.peer = s->peer;
	stream->base.local = s->local;
	stream->end = end;
	if (opts) {
		end->user_timeout = opts->user_timeout_ns;
		end->send_buffer = opts->send_buffer;
		end->recv_buffer = opts->recv_buffer;
	}
	sl->streams++;
	free(sock);
	*ret_stream = &stream->base;
	return 0;
}

struct sim_conn *sim_conn_new(struct sim *sim, struct sim_node *a, struct sim_node *b)
{
	struct sim_conn *conn = sim_xalloc(sizeof(*conn));

	conn->sim = sim;
	conn->id = ++sim->ids;
	for (unsigned int i = 0; i < 2; i++) {
		conn->end[i].node = i ? b : a;
		conn->end[i].side = (uint8_t)i;
		conn->end[i].live = conn->end[i].held = true;
		list_init(&conn->end[i].queued);
	}
	list_add_tail(&sim->conns, &conn->link);
	return conn;
}
