/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One NVMe queue, which over TCP is one connection: the stream, the receiver and the sender of
 * src/tcp, and a pool of requests made when it is connected. Private to src/host.
 *
 * A request is one command on its way: taken from the pool, given a command and memory, sent, and
 * finished once, in order by its answer or, when the connection is gone, as lost. It is finished
 * only when neither the stream nor the sender can touch its memory any more; that is the reason why
 * a queue goes down in steps.
 *
 * The queue knows nothing of controllers' states: it reports up, down, and that it failed.
 */
#ifndef PENSTOCK_HOST_QUEUE_H
#define PENSTOCK_HOST_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"
#include "base/list.h"
#include "host/host.h"
#include "io/io.h"
#include "nvme/cmd.h"
#include "nvme/cpl.h"
#include "tcp/rx.h"
#include "tcp/tx.h"

struct host_queue;

enum {
	/* Bytes of data in a capsule of a Fabrics or admin command (NVMe/TCP 1.0, 3.3.1). */
	HOST_ADMIN_ICD = 8192,
};

/* What a finished request has to say besides its completion. */
enum host_req_end {
	HOST_REQ_ANSWERED, /* cpl is the controller's; check the data counters too */
	HOST_REQ_LOST,     /* no answer will come; it may or may not have been carried out */
};

/* A data transfer that the controller asked for. */
struct host_r2t {
	uint16_t ttag;
	uint32_t offset;
	uint32_t length; /* 0: none */
};

struct host_req {
	struct list link; /* free, in flight (oldest first), or unwatched */
	struct host_queue *q;
	uint16_t index;
	uint16_t generation; /* changes with each use: a late answer does not hit the next command */

	/* Set by whoever takes it. */
	void (*finish)(struct host_req *r, enum host_req_end end);
	void *owner;
	struct nvme_cmd sqe; /* but for CID and SGL1 */
	const struct iovec *iov;
	int niov;
	uint32_t bytes;
	enum nvme_direction dir;
	bool timed;     /* sent_ns is when it was given to the stream, to the nanosecond */
	bool unwatched; /* no time limit: Asynchronous Event Request */

	/* Results. */
	struct nvme_cpl cpl;
	uint64_t sent_ns, first_ns, last_ns;
	uint32_t received; /* bytes of data to the host */
	bool ddgst_bad;

	/* Private to the queue. */
	bool used;
	bool in_capsule;
	bool answered;
	bool last_seen;     /* C2HData with LAST came */
	uint64_t queued_ns; /* for the time limit */
	uint32_t solicited; /* bytes that R2Ts asked for so far */
	uint32_t delivered; /* bytes of data that went out, capsule or H2CData */
	struct host_r2t now, next;
	uint64_t h2c_flush; /* the flush in which the last H2CData went to the stream, or later */
	struct tcp_tx_pdu cmd;
	struct tcp_tx_pdu h2c;
	struct iovec slice[HOST_IOV_MAX]; /* what h2c sends */
	struct nvme_dsm_range range;      /* data of a deallocation */
	struct iovec range_iov;
};

enum host_queue_state {
	HOST_QUEUE_DOWN,    /* nothing is open, every request is in the pool */
	HOST_QUEUE_TCP,     /* connecting the stream */
	HOST_QUEUE_IC,      /* ICReq is out */
	HOST_QUEUE_CONNECT, /* the Connect command is out */
	HOST_QUEUE_UP,
	HOST_QUEUE_TERM,    /* an H2CTermReq is going out, nothing is parsed any more */
	HOST_QUEUE_CLOSING, /* the stream is closed, its operations are coming back */
};

const char *host_queue_state_name(enum host_queue_state s);

/* Who owns the queue, and how it is told. All are called from a turn, the queue may not be freed. */
struct host_queue_ops {
	void (*up)(struct host_queue *q);
	/* It cannot go on: @error is -errno, @text a sentence. The owner stops it (now or later). */
	void (*failed)(struct host_queue *q, int error, const char *text);
	/* It is down: every request was finished. */
	void (*down)(struct host_queue *q);
	/* A request came back to the pool. */
	void (*room)(struct host_queue *q);
};

/* What its owner wants of the connection; the same for all queues of a controller. */
struct host_queue_params {
	const struct host_config *config;
	uint16_t qid;
	uint16_t cntlid;         /* NVME_CNTLID_DYNAMIC on the admin queue */
	uint32_t depth;          /* commands in flight */
	uint32_t entries;        /* of the submission queue: more than depth */
	uint32_t max_in_capsule; /* bytes of data of a command that may travel in its capsule */
	size_t stage;
};

/* Counters of a controller that its queues keep. */
struct host_queue_counts {
	uint64_t ddgst_errors, protocol_errors, term_received;
	uint64_t completions; /* of all kinds: signs of life */
};

struct host_queue {
	struct io_loop *loop;
	const struct host_queue_ops *ops;
	void *owner;
	struct host_queue_counts *counts;
	struct host_queue_params p;
	enum host_queue_state state;
	bool failed; /* ops.failed was called since the start */

	struct io_stream *stream;
	struct io_op connect_op, recv_op, send_op;
	struct io_timer timer; /* of the phases of connecting, and of HOST_QUEUE_TERM */
	struct io_defer flush;
	struct io_defer down_defer;
	struct io_addr local;

	struct tcp_rx rx;
	struct tcp_tx tx;
	struct tcp_tx_pdu ic;
	struct tcp_tx_pdu term;
	uint8_t *stage;
	size_t stage_size;
	struct iovec recv_iov[HOST_IOV_MAX + 1];
	struct iovec send_iov[IO_MAX_IOV];
	struct iovec land[HOST_IOV_MAX];
	struct host_req *landing; /* its payload is arriving */
	uint64_t flushes;
	bool flush_timed;    /* something timed goes out with the next flush */
	uint64_t flushed_ns; /* when the last such one began */

	bool hdgst, ddgst; /* negotiated */
	uint32_t maxh2cdata;
	uint16_t connect_cntlid; /* what Connect said */

	struct host_req *reqs; /* depth of them */
	uint32_t req_count;
	unsigned int index_bits;
	struct list free;      /* host_req.link */
	struct list inflight;  /* oldest first */
	struct list unwatched;
	uint32_t free_count;
	uint64_t read_bytes;   /* still to come, of all requests */
	uint32_t reads;        /* requests that wait for data */
	struct nvme_connect_data connect_data;
	struct iovec connect_iov;
};

/* An object in HOST_QUEUE_DOWN without memory of its own. */
void host_queue_init(struct host_queue *q, struct io_loop *loop, const struct host_queue_ops *ops,
		     void *owner, struct host_queue_counts *counts);
/* Must be down. */
void host_queue_deinit(struct host_queue *q);

/* Begins to connect; ops.up or ops.failed follows. -ENOMEM: nothing has begun. Must be down. */
int host_queue_start(struct host_queue *q, const struct host_queue_params *p);
/*
 * Closes at once (@reset: without a farewell); ops.down follows, from a later turn. While an
 * H2CTermReq is on its way that is waited for. Without effect when down or closing.
 */
void host_queue_stop(struct host_queue *q, bool reset);

/* A request from the pool, or NULL: all in flight. Only when up (or for Connect). */
struct host_req *host_queue_get(struct host_queue *q);
/*
 * Sends it. Its vectors sum up to its bytes; the SGL and where the data travels are decided here.
 * Requests of one turn go out together.
 */
void host_queue_send(struct host_queue *q, struct host_req *r);

static inline uint32_t host_queue_inflight(const struct host_queue *q)
{
	return q->req_count - q->free_count;
}

/* When the oldest command with a time limit was sent; UINT64_MAX: there is none. */
uint64_t host_queue_oldest(const struct host_queue *q);

/* ---- between the files of the queue -------------------------------------------------------- */

/* @n bytes from @offset on of the vectors; returns how many vectors. */
int host_iov_slice(const struct iovec *iov, int niov, uint32_t offset, uint32_t n,
		   struct iovec out[HOST_IOV_MAX]);
/* Tells the owner once. */
void host_queue_fail(struct host_queue *q, int error, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A fault of the controller's: an H2CTermReq, then the end. tcp_rx_error() of the queue says what. */
void host_queue_protocol_error(struct host_queue *q);
/* Bytes are to be sent at the end of this turn. */
void host_queue_flush_later(struct host_queue *q);
/* Takes all events off the receiver. */
void host_queue_drain(struct host_queue *q);
/* Posts a receive; none is pending. The second one is of bytes that nobody looks at. */
void host_queue_receive(struct host_queue *q);
void host_queue_receive_junk(struct host_queue *q);
/* An operation came back: whether that is all there is to say, because the queue is closing. */
bool host_queue_op_done(struct host_queue *q);
/* HOST_QUEUE_TERM: the next thing to do, and giving up. */
void host_queue_term_step(struct host_queue *q);
void host_queue_close_term(struct host_queue *q);
/* Begins with the TCP connection. -ENOMEM. */
int host_queue_connect(struct host_queue *q);
void host_queue_connect_init(struct host_queue *q);
void host_queue_tx_init(struct host_queue *q);
void host_queue_rx_init(struct host_queue *q);
/* ICResp came: on to the Connect command. */
void host_queue_on_icresp(struct host_queue *q, const struct tcp_icresp *ic);
/* The request of a CID, or NULL if no command of that CID is in flight. */
struct host_req *host_queue_find(struct host_queue *q, uint16_t cid);
/* Answered, or a part of it went out: finishes it if nothing holds its memory any more. */
void host_req_settle(struct host_req *r);
/* An R2T was accepted into r->now: sends what it asked for. */
void host_req_send_data(struct host_req *r);

#endif
