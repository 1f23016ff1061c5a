/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the simulator know of each other: sim.c (world, events, trace), sim-loop.c (a
 * loop in it), sim-net.c (addresses, listeners, connecting), sim-stream.c (bytes on their way),
 * sim-file.c (operations on files), sim-disk.c (what survives), sim-fault.c (chances, crashes).
 *
 * Memory of the simulator itself comes from sim_xalloc(), which aborts rather than fails and is not
 * subject to injected failure: it is the laboratory, not the experiment.
 */
#ifndef PENSTOCK_IO_SIM_IMPL_H
#define PENSTOCK_IO_SIM_IMPL_H

#include "base/hash.h"
#include "base/list.h"
#include "io/ops.h"
#include "io/sim.h"

#define SIM_NEVER UINT64_MAX
/* 2026-01-01 00:00:00 UTC: when every world begins. */
#define SIM_WALL_BEGIN_NS (UINT64_C(1767225600) * 1000000000)

typedef void (*sim_event_fn)(struct sim *sim, void *obj, uint64_t arg);

/* Something that will happen. Cancelled by clearing @obj; from a pool of the world. */
struct sim_event {
	sim_event_fn fn;
	void *obj;
	uint64_t arg;
	struct sim_event *next_free;
};

/* Heap entry: the keys beside the pointer, so that sifting touches one array only. */
struct sim_slot {
	uint64_t at;
	uint64_t seq;
	struct sim_event *ev;
};

/* What goes into the trace. Names in sim.c. */
enum sim_what {
	SIM_DID_TURN,
	SIM_DID_SEND,
	SIM_DID_RECV,
	SIM_DID_ARRIVE,
	SIM_DID_DROP,
	SIM_DID_FIN,
	SIM_DID_BREAK,
	SIM_DID_SYN,
	SIM_DID_CONNECT,
	SIM_DID_ACCEPT,
	SIM_DID_CLOSE,
	SIM_DID_CANCEL,
	SIM_DID_READ,
	SIM_DID_WRITE,
	SIM_DID_SYNC,
	SIM_DID_DISCARD,
	SIM_DID_ZERO,
	SIM_DID_OPEN,
	SIM_DID_FAULT,
	SIM_DID_CRASH,
	SIM_DID_RESTART,
	SIM_DID_PAUSE,
	SIM_DID_CLOCK,
	SIM_DID_LINK,
	SIM_DID_HEAL,
	SIM_DID_NOTE,
	SIM_DID_COUNT
};

/* Nothing passes between two nodes until then. */
struct sim_cut {
	const struct sim_node *a, *b;
	uint64_t until;
};

struct sim {
	struct sim_config config;
	struct rng rng;
	struct rng alloc_rng; /* of injected allocation failures, drawn between events */
	uint64_t now;
	uint64_t seq;
	uint64_t hash;
	uint64_t events;
	uint64_t same_time; /* steps since time last moved */
	uint64_t ids;       /* connections, files: what a trace calls them */
	uint64_t hits[SIM_FAULT_COUNT];
	bool weather; /* some fault with the occasion "any event" is on */
	FILE *trace;

	struct sim_slot *heap; /* 0-based, four children each */
	size_t heap_len, heap_cap;
	struct sim_event *free_events;
	struct list slabs; /* of events */

	struct list loops;     /* sim_loop.link */
	struct list conns;     /* sim_conn.link */
	struct list listeners; /* sim_listener.link, those that listen */
	struct sim_node **nodes;
	unsigned int node_count;
	struct sim_cut *cuts; /* pairs of nodes that were ever cut off from each other */
	size_t cut_count;
};

/* In io_op.flags of a send, beside loop.c's bit. */
#define SIM_SEND_MORE (1U << 0)

#define SIM_NODE_MAX 200 /* 10.0.0.1 to 10.0.0.200 */

struct sim_node {
	struct sim *sim;
	unsigned int id; /* from 1: the last byte of its addresses */
	char name[32];
	uint32_t epoch; /* a crash begins another; what is of an older one is cut off */
	bool up;        /* processes run */
	bool power;     /* its kernel answers, if only with resets */
	bool fail_alloc;
	bool disk_full;
	uint16_t next_port;
	uint64_t paused_until;
	int64_t clock;     /* of io_wall() against the world's time */
	struct list files; /* sim_file.link */
	struct list states; /* see sim-state.c */
};

struct sim_loop {
	struct io_loop base;
	struct list link;
	struct sim_node *node;
	uint32_t epoch;
	bool driven; /* sim_run_until() turns it, so its poll need not move the world */
	uint64_t id;
	uint64_t turn_at;     /* 0: nothing is waiting for a turn */
	struct list pending;  /* io_op.link: submitted and not finished */
	unsigned int streams; /* and listeners: must be 0 when it is freed */
};

/* Private words of an operation, in io_op.impl. */
enum {
	SIM_OP_EVENT, /* its event, or 0: it waits for something else */
	SIM_OP_AUX,   /* connect: the dial; read, write: bytes moved by the first step of a split */
	SIM_OP_MARK,  /* sync: the file's sequence number when it was submitted */
	SIM_OP_CANCELLED, /* it will end with -ECANCELED and has left its object */
};

/* ---- sim.c --------------------------------------------------------------------------------- */

void *sim_xalloc(size_t n); /* zeroed */
struct sim_event *sim_at(struct sim *sim, uint64_t delay, sim_event_fn fn, void *obj, uint64_t arg);
/* NULL is ignored. */
void sim_event_cancel(struct sim_event *ev);
void sim_did(struct sim *sim, enum sim_what what, const struct sim_node *node, uint64_t id,
	     uint64_t n, uint64_t extra);
bool sim_fault(struct sim *sim, enum sim_fault f, const struct sim_node *node);
/* True half of the time. */
bool sim_coin(struct sim *sim);
uint64_t sim_net_delay(struct sim *sim);
/* Lets the world run until @self has something to do or @limit (absolute). */
int sim_world_poll(struct sim *sim, struct sim_loop *self, uint64_t limit);

/* ---- sim-loop.c ---------------------------------------------------------------------------- */

extern const struct io_ops sim_ops;

static inline struct sim_loop *sim_loop_of(struct io_loop *loop)
{
	return container_of(loop, struct sim_loop, base);
}

static inline bool sim_loop_dead(const struct sim_loop *sl)
{
	return sl->epoch != sl->node->epoch;
}

static inline uint64_t sim_node_wall(const struct sim_node *node)
{
	return SIM_WALL_BEGIN_NS + node->sim->now + (uint64_t)node->clock;
}

/* When the loop next wants a turn; SIM_NEVER. */
uint64_t sim_loop_due(struct sim *sim, struct sim_loop *sl);
int sim_loop_turn(struct sim *sim, struct sim_loop *sl);

/* An operation between submit and finish. */
void sim_op_begin(struct io_op *op);
void sim_op_schedule(struct io_op *op, uint64_t delay, sim_event_fn fn);
void sim_op_end(struct io_op *op, int64_t result);
/* Ends with -ECANCELED, now or a little later; until then its buffers are fair game. */
void sim_op_end_cancelled(struct io_op *op);

/* ---- sim-net.c ------------------------------------------------------------------------------- */

struct sim_end;

int sim_net_listen(struct io_loop *loop, const struct io_addr *addr,
		   const struct io_listen_options *opts, struct io_listener **ret_l,
		   struct err *err);
const struct io_addr *sim_net_listener_addr(const struct io_listener *l);
void sim_net_accept(struct io_listener *l, struct io_op *op);
void sim_net_listener_close(struct io_listener *l);
void sim_net_connect(struct io_loop *loop, struct io_op *op, const struct io_addr *addr,
		     const struct io_addr *local);
int sim_net_sock_pair(struct io_loop *loop, struct io_sock **ret_a, struct io_sock **ret_b);
void sim_net_cancel(struct io_op *op);
/* The node stops listening and dialling. Its operations are still pending. */
void sim_net_crash(struct sim_node *node);
/* Until when nothing passes between the two; 0: it does. */
uint64_t sim_link_blocked(const struct sim *sim, const struct sim_node *a,
			  const struct sim_node *b);

/* ---- sim-stream.c ---------------------------------------------------------------------------- */

/* A run of bytes on its way, or the end of the stream. */
struct sim_segment {
	uint64_t at;
	uint32_t bytes;
	bool fin;
};

#define SIM_SEGMENTS 32 /* in flight in one direction; more join the last one */

/* One direction: what was sent by conn->end[from] and not yet read by the other end. */
struct sim_pipe {
	uint8_t *ring; /* grows to hold what is in it */
	size_t ring_size;
	uint64_t sent;    /* bytes since the beginning, put in by the sender */
	uint64_t arrived; /* ... of these, readable by the receiver */
	uint64_t taken;   /* ... of these, read */
	struct sim_segment seg[SIM_SEGMENTS];
	uint32_t seg_first, seg_count;
	uint64_t last_at; /* when the last segment arrives: none overtakes it */
	struct sim_event *arrival;
	bool fin_sent, fin_arrived;
	bool hole;   /* what is sent is lost and nobody is told */
	bool dead;   /* something was dropped: nothing after it may arrive */
	bool corked; /* the last segment waits for more until cork_after + 200 ms */
	uint64_t cork_after;
};

struct sim_end {
	struct sim_node *node;
	uint8_t side;
	bool live;       /* the network knows it: not closed, not of a node that crashed */
	bool held;       /* somebody has a handle, or it waits to be accepted */
	bool told;       /* the error was reported once */
	bool fin_wanted; /* shutdown came while a send was pending */
	int error;       /* positive errno once the connection is broken, as this end knows it */
	struct io_addr local, peer;
	struct io_op *recv_op, *send_op;
	struct sim_event *break_ev, *timeout_ev;
	uint64_t user_timeout;
	size_t send_buffer, recv_buffer;
	struct list queued; /* in a listener's queue */
};

struct sim_conn {
	struct sim *sim;
	struct list link;
	uint64_t id;
	bool local; /* a sock_pair: no network, so no faults of one */
	struct sim_end end[2];
	struct sim_pipe pipe[2]; /* pipe[i] is what end[i] sends */
};

struct sim_sock {
	struct io_sock base;
	struct sim_end *end;
};

struct sim_stream {
	struct io_stream base;
	struct sim_end *end;
};

static inline struct sim_conn *sim_end_conn(struct sim_end *end)
{
	return container_of(end - end->side, struct sim_conn, end[0]);
}

/* What a trace calls an end. */
static inline uint64_t sim_end_id(struct sim_end *end)
{
	return sim_end_conn(end)->id * 2 + end->side;
}

struct sim_conn *sim_conn_new(struct sim *sim, struct sim_node *a, struct sim_node *b);
/* A handle for an end that is already held. */
struct io_sock *sim_sock_new(struct sim_end *end);
/*
 * The handle is gone: end of stream to the peer, or a reset. Frees the connection with the other
 * end.
 */
void sim_end_drop(struct sim_end *end, bool reset);
/* The other end will learn that this one is gone, if a packet can still reach it. */
void sim_end_break_later(struct sim_end *end, int error);
/* As SIM_NET_RESET and SIM_NET_HOLE. */
void sim_conn_reset(struct sim_conn *conn);
void sim_conn_hole(struct sim_conn *conn);
/* What the other end hears when this one's process dies. */
enum sim_goodbye { SIM_BYE_SILENT, SIM_BYE_RESET, SIM_BYE_FIN };
void sim_end_crash(struct sim_end *end, enum sim_goodbye bye);

int sim_stream_new(struct io_loop *loop, struct io_sock *s, const struct io_stream_options *opts,
		   struct io_stream **ret_stream);
void sim_stream_recv(struct io_stream *s, struct io_op *op);
void sim_stream_send(struct io_stream *s, struct io_op *op, bool more);
int64_t sim_stream_send_now(struct io_stream *s, const struct iovec *iov, int niov, bool more);
void sim_stream_wait_room(struct io_stream *s, struct io_op *op);
void sim_stream_shutdown(struct io_stream *s);
void sim_stream_close(struct io_stream *s, bool reset);

/* ---- sim-state.c ----------------------------------------------------------------------------- */

int64_t sim_state_load(struct io_loop *loop, const char *path, void *buf, size_t max,
		       struct err *err);
void sim_state_save(struct io_loop *loop, struct io_op *op);
void sim_state_crash(struct io_op *op);
void sim_state_free(struct sim_node *node);

/* ---- sim-disk.c ------------------------------------------------------------------------------ */

struct sim_file;

struct sim_file *sim_disk_find(struct sim_node *node, const char *path);
struct sim_file *sim_disk_create(struct sim_node *node, const char *path, uint64_t size);
void sim_disk_free(struct sim_node *node);

struct sim_bad {
	uint64_t offset;
	uint64_t length;
};

struct sim_dirty {
	struct sim_chunk *chunk;
	uint32_t index;
	uint64_t seq;
};

/* In order of becoming dirty; entries may be out of date. */
struct sim_dirty_list {
	struct sim_dirty *at;
	size_t first, len, cap;
};

/*
 * A file's contents in chunks that exist once written: as programs see them, and as they would be
 * after a power cut. A sector is dirty from its first write after the last sync of it.
 */
struct sim_file {
	struct sim_node *node;
	struct list link;
	uint64_t id;
	uint64_t birth_ns; /* by the node's wall clock */
	uint64_t size;
	uint32_t sector;
	bool locked;
	uint32_t lock_epoch;
	struct sim_chunk ***top; /* a directory of leaves of chunks */
	size_t top_len;
	uint64_t seq; /* counts writes */
	struct sim_dirty_list dirty;
	struct sim_dirty_list forgotten;
	struct sim_bad *bad;
	size_t bad_len, bad_cap;
	char name[];
};

/* Where bytes go to or come from; a cursor over an iovec array. @iov NULL: zeroes. */
struct sim_cursor {
	const struct iovec *iov;
	int niov;
	size_t at; /* within iov[0] */
};

void sim_cursor_init(struct sim_cursor *c, const struct iovec *iov, int niov, uint64_t skip);
void sim_cursor_out(struct sim_cursor *c, const void *from, size_t n); /* into the iovecs */
void sim_cursor_in(struct sim_cursor *c, void *to, size_t n);          /* out of them */

/* Both stay within the file's size for reads; writes extend it. Return a checksum of the bytes. */
uint32_t sim_disk_read(struct sim_file *f, struct sim_cursor *c, uint64_t offset, uint64_t n);
uint32_t sim_disk_write(struct sim_file *f, struct sim_cursor *c, uint64_t offset, uint64_t n,
			bool durable);
/* Every sector that became dirty up to @seq is durable. */
void sim_disk_sync(struct sim_file *f, uint64_t seq);
/* What became dirty up to @seq is not written, and no later sync will. */
void sim_disk_forget(struct sim_file *f, uint64_t seq);
/* Each dirty sector is kept or lost. */
void sim_disk_power_cut(struct sim_file *f);
bool sim_disk_is_bad(const struct sim_file *f, uint64_t offset, uint64_t n);
void sim_disk_set_bad(struct sim_file *f, uint64_t offset, uint64_t n);
void sim_disk_clear_bad(struct sim_file *f, uint64_t offset, uint64_t n);
void sim_disk_heal(struct sim_node *node);
bool sim_disk_allocated(const struct sim_file *f, uint64_t offset, uint64_t n);

/* ---- sim-file.c ------------------------------------------------------------------------------ */

int sim_file_open(struct io_loop *loop, const char *path, const struct io_file_options *opts,
		  struct io_file **ret_file, struct err *err);
void sim_file_submit(struct io_loop *loop, struct io_file *f, struct io_op *op);
void sim_file_cancel(struct io_op *op);
/* At a crash: what of an operation in flight has landed. Does not finish it. */
void sim_file_crash(struct io_op *op, enum sim_crash how);

/* ---- sim-fault.c ----------------------------------------------------------------------------- */

/* Faults that can come at any time; called once an event. */
void sim_weather(struct sim *sim);

#endif
