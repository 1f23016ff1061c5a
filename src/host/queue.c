/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a queue and of its requests. A queue goes down in three steps, because each of them
 * may still be using the memory of requests: the stream is closed, its operations come back, and
 * only then is every request that was not answered finished as lost. A request that was answered
 * early, while its capsule or data is still being sent, waits for the sender in the same way.
 */
#include "host/queue.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"

/* For an H2CTermReq to get out and be read; it is a courtesy, so this is short. */
#define TERM_NS UINT64_C(500000000)

const char *host_queue_state_name(enum host_queue_state s)
{
	static const char *const names[] = {
		[HOST_QUEUE_DOWN] = "down",	  [HOST_QUEUE_TCP] = "tcp",
		[HOST_QUEUE_IC] = "ic",		  [HOST_QUEUE_CONNECT] = "connect",
		[HOST_QUEUE_UP] = "up",		  [HOST_QUEUE_TERM] = "term",
		[HOST_QUEUE_CLOSING] = "closing",
	};

	return names[s];
}

/* ---- requests ------------------------------------------------------------------------------ */

static uint16_t req_cid(const struct host_req *r)
{
	return (uint16_t)(r->generation << r->q->index_bits | r->index);
}

struct host_req *host_queue_get(struct host_queue *q)
{
	struct host_req *r;

	if (q->state != HOST_QUEUE_UP && q->state != HOST_QUEUE_CONNECT)
		return NULL;
	r = list_pop_entry(&q->free, struct host_req, link);
	if (!r)
		return NULL;
	q->free_count--;
	r->used = true;
	r->generation++;
	r->timed = false;
	r->unwatched = false;
	r->in_capsule = false;
	r->answered = false;
	r->last_seen = false;
	r->ddgst_bad = false;
	r->sent_ns = 0;
	r->first_ns = 0;
	r->last_ns = 0;
	r->received = 0;
	r->solicited = 0;
	r->delivered = 0;
	r->now.length = 0;
	r->next.length = 0;
	return r;
}

struct host_req *host_queue_find(struct host_queue *q, uint16_t cid)
{
	uint32_t index = cid & ((1u << q->index_bits) - 1);
	struct host_req *r;

	if (index >= q->req_count)
		return NULL;
	r = &q->reqs[index];
	return r->used && !r->answered && req_cid(r) == cid ? r : NULL;
}

/* Back to the pool first: finish() may take it again for the next command. */
static void req_finish(struct host_req *r, enum host_req_end end)
{
	struct host_queue *q = r->q;

	list_del(&r->link);
	if (r->dir == NVME_DIR_TO_HOST && r->bytes > 0) {
		q->reads--;
		q->read_bytes -= r->bytes - r->received;
	}
	r->used = false;
	list_add_head(&q->free, &r->link);
	q->free_count++;
	r->finish(r, end);
}

void host_req_settle(struct host_req *r)
{
	struct host_queue *q = r->q;

	if (!r->used || !r->answered || r->cmd.queued || r->h2c.queued)
		return;
	req_finish(r, HOST_REQ_ANSWERED);
	if (q->state == HOST_QUEUE_UP)
		q->ops->room(q);
}

uint64_t host_queue_oldest(const struct host_queue *q)
{
	const struct host_req *r = list_first_entry(&q->inflight, struct host_req, link);

	return r ? r->queued_ns : UINT64_MAX;
}

int host_iov_slice(const struct iovec *iov, int niov, uint32_t offset, uint32_t n,
		   struct iovec out[HOST_IOV_MAX])
{
	int count = 0;

	for (int i = 0; i < niov && n > 0; i++) {
		size_t some;

		if (offset >= iov[i].iov_len) {
			offset -= (uint32_t)iov[i].iov_len;
			continue;
		}
		some = MIN(iov[i].iov_len - offset, (size_t)n);
		out[count].iov_base = (uint8_t *)iov[i].iov_base + offset;
		out[count].iov_len = some;
		count++;
		n -= (uint32_t)some;
		offset = 0;
	}
	INVARIANT(n == 0);
	return count;
}

/* The pool, for a depth that may differ from the last connection's. */
static int make_pool(struct host_queue *q, uint32_t depth)
{
	if (q->req_count != depth) {
		struct host_req *reqs = mem_calloc(depth, sizeof(*reqs));

		if (!reqs)
			return -ENOMEM;
		mem_free(q->reqs);
		q->reqs = reqs;
		q->req_count = depth;
		q->index_bits = depth > 1 ? 32 - (unsigned int)__builtin_clz(depth - 1) : 0;
	}
	list_init(&q->free);
	for (uint32_t i = 0; i < depth; i++) {
		q->reqs[i].q = q;
		q->reqs[i].index = (uint16_t)i;
		list_add_tail(&q->free, &q->reqs[i].link);
	}
	q->free_count = depth;
	return 0;
}

static int make_stage(struct host_queue *q, size_t size)
{
	if (q->stage_size < size) {
		uint8_t *stage = mem_aligned(64, size);

		if (!stage)
			return -ENOMEM;
		mem_free(q->stage);
		q->stage = stage;
		q->stage_size = size;
	}
	return 0;
}

/* ---- ends ---------------------------------------------------------------------------------- */

void host_queue_fail(struct host_queue *q, int error, const char *fmt, ...)
{
	char text[256];
	va_list args;

	if (q->failed)
		return;
	q->failed = true;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	q->ops->failed(q, error, text);
}

static bool ops_pending(const struct host_queue *q)
{
	return q->connect_op.pending || q->recv_op.pending || q->send_op.pending;
}

/* Nothing but this queue touches its requests' memory any more. */
static void go_down(struct host_queue *q)
{
	struct host_req *r;

	tcp_tx_drop(&q->tx);
	while ((r = list_first_entry(&q->inflight, struct host_req, link)) ||
	       (r = list_first_entry(&q->unwatched, struct host_req, link)))
		req_finish(r, HOST_REQ_LOST);
	INVARIANT(q->free_count == q->req_count && q->reads == 0 && q->read_bytes == 0);
	q->state = HOST_QUEUE_DOWN;
	q->ops->down(q);
}

static void on_down(struct io_defer *d)
{
	struct host_queue *q = container_of(d, struct host_queue, down_defer);

	if (q->state == HOST_QUEUE_CLOSING && !ops_pending(q))
		go_down(q);
}

static void close_stream(struct host_queue *q, bool reset)
{
	io_timer_stop(q->loop, &q->timer);
	io_defer_cancel(&q->flush);
	if (q->state == HOST_QUEUE_TCP)
		io_cancel(&q->connect_op);
	if (q->stream)
		io_stream_close(q->stream, reset);
	q->stream = NULL;
	q->state = HOST_QUEUE_CLOSING;
	/* What is pending says so itself when it comes back. */
	io_defer(q->loop, &q->down_defer);
}

void host_queue_stop(struct host_queue *q, bool reset)
{
	if (q->state == HOST_QUEUE_DOWN || q->state == HOST_QUEUE_TERM ||
	    q->state == HOST_QUEUE_CLOSING)
		return;
	q->failed = true; /* whatever happens from here on is no news */
	close_stream(q, reset);
}

bool host_queue_op_done(struct host_queue *q)
{
	if (q->state != HOST_QUEUE_CLOSING)
		return false;
	if (!ops_pending(q))
		io_defer(q->loop, &q->down_defer);
	return true;
}

/* ---- H2CTermReq ---------------------------------------------------------------------------- */

void host_queue_term_step(struct host_queue *q)
{
	if (q->send_op.pending)
		return;
	if (q->term.head_len == 0) {
		tcp_tx_cut(&q->tx);
		tcp_build_term(&q->term, TCP_ROLE_HOST, tcp_rx_error(&q->rx));
		tcp_tx_push(&q->tx, &q->term);
	}
	if (!tcp_tx_empty(&q->tx)) {
		host_queue_flush_later(q);
	} else if (!q->recv_op.pending) {
		/*
		 * Closing with bytes unread would reset the connection, and that could overtake the
		 * H2CTermReq: what still comes is read, until the controller closes in answer.
		 */
		io_stream_shutdown(q->stream);
		host_queue_receive_junk(q);
	}
}

void host_queue_close_term(struct host_queue *q)
{
	close_stream(q, true);
}

/*
 * Nothing is parsed any more. Requests keep their memory until the queue is down, so a PDU that
 * has begun to go out can end; the rest is taken back, and then the H2CTermReq goes (3.5).
 */
void host_queue_protocol_error(struct host_queue *q)
{
	const struct tcp_error *e = tcp_rx_error(&q->rx);
	bool stranger = q->state == HOST_QUEUE_IC;

	q->counts->protocol_errors++;
	q->state = HOST_QUEUE_TERM;
	q->term.head_len = 0;
	io_defer_cancel(&q->flush);
	/* First of all: what is taken back below may end I/O, and its owner may start more. */
	if (stranger)
		host_queue_fail(q, EPROTO, "what answers there does not speak NVMe/TCP: %s in place of an ICResp",
				e->reason);
	else
		host_queue_fail(q, EPROTO, "the controller broke the protocol: %s (PDU type %s, %s)", e->reason,
				tcp_pdu_name(e->header[0]), tcp_fes_name(e->fes));
	if (e->fes == TCP_FES_NONE || io_timer_start(q->loop, &q->timer, TERM_NS) < 0)
		close_stream(q, true);
	else
		host_queue_term_step(q);
}

/* ---- begin --------------------------------------------------------------------------------- */

void host_queue_init(struct host_queue *q, struct io_loop *loop, const struct host_queue_ops *ops,
		     void *owner, struct host_queue_counts *counts)
{
	memset(q, 0, sizeof(*q));
	q->loop = loop;
	q->ops = ops;
	q->owner = owner;
	q->counts = counts;
	q->state = HOST_QUEUE_DOWN;
	list_init(&q->free);
	list_init(&q->inflight);
	list_init(&q->unwatched);
	tcp_tx_init(&q->tx);
	io_defer_init(&q->down_defer, on_down);
	host_queue_connect_init(q);
	host_queue_tx_init(q);
	host_queue_rx_init(q);
}

void host_queue_deinit(struct host_queue *q)
{
	INVARIANT(q->state == HOST_QUEUE_DOWN && !ops_pending(q));
	io_timer_stop(q->loop, &q->timer);
	io_defer_cancel(&q->flush);
	io_defer_cancel(&q->down_defer);
	q->reqs = mem_free(q->reqs);
	q->stage = mem_free(q->stage);
	q->req_count = 0;
	q->stage_size = 0;
}

int host_queue_start(struct host_queue *q, const struct host_queue_params *p)
{
	int rc;

	INVARIANT(q->state == HOST_QUEUE_DOWN && p->depth < p->entries);
	rc = make_pool(q, p->depth);
	if (rc == 0)
		rc = make_stage(q, p->stage);
	if (rc < 0)
		return rc;
	q->p = *p;
	q->failed = false;
	q->landing = NULL;
	tcp_tx_init(&q->tx);
	return host_queue_connect(q);
}
