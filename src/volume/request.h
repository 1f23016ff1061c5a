/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request is what the user asked for: any bytes. A command is what the backend can do: whole
 * blocks, at most so many. A port is a volume's presence on one worker: it cuts requests into
 * commands, holds those back that must wait, and puts the results together.
 */
#ifndef VOLUME_REQUEST_H
#define VOLUME_REQUEST_H

#include "base/list.h"
#include "memory/region.h"
#include "volume/backend.h"
#include "volume/context.h"
#include "volume/direct.h"
#include "volume/landing.h"

/* To a multiple of any number, not only of a power of two: a file's block may be one byte. */
#define ALIGN_DOWN_ANY(v, to) ((v) - (v) % (to))
#define ALIGN_UP_ANY(v, to)   (DIV_ROUND_UP(v, to) * (to))

/*
 * Which requests are sampled: small ones now and then, since it costs each a completion that would
 * otherwise be a flag, and three looks at the clock; large ones always, since beside their bytes that is
 * nothing, and it is theirs that a batch waits for last.
 */
enum {
	TIMING_ALWAYS_BYTES = 64 << 10,
	TIMING_EVERY = 64, /* unless the volume's options say otherwise */
};
#define TIMING_NEVER UINT32_MAX

struct port;

enum request_kind {
	REQUEST_READ,
	REQUEST_WRITE,
	REQUEST_FLUSH,
	REQUEST_DISCARD,
	REQUEST_ZERO,
};

struct request {
	struct list link; /* pool, completion queue, or port->waiting */
	struct io_msg msg;
	struct pst_volume *vol;
	struct port *port;
	struct pst_memory *mem;
	enum request_kind kind;
	bool waited; /* by pst_wait() */
	bool in_writes;
	bool edged; /* a write of part of a block, among others or not */
	bool queued; /* in port->waiting */
	bool sampled; /* timing is exact, and asked of the target */
	bool on_stream; /* in the order of a stream of the user's */
	struct mem_gds_file *gds; /* the direct way, NULL: there is none */
	bool staged;		  /* some of it did not go that way */
	size_t mem_offset;
	uint64_t offset;
	uint64_t length;
	uint64_t issued; /* bytes given to commands so far */
	unsigned int commands; /* in flight */
	uint64_t stream;
	void *mark; /* in that stream; NULL: it is past it */
	pst_callback cb;
	void *user;

	struct list writes; /* volume->writes, or volume->blocked */

	int error;
	uint16_t nvme_status;
	uint64_t submit_ns;
	uint64_t blocked_ns; /* port_blocked_ns() when it came */
	struct pst_timing timing;
	struct pst_completion completion;
};

enum command_state {
	COMMAND_FREE,
	COMMAND_FETCH,	  /* write: its data is being copied out of a device */
	COMMAND_MERGE,	  /* write of an edge: the block is being read */
	COMMAND_TRANSFER, /* the backend has it */
	COMMAND_LAND,	  /* read: its data is being copied into a device */
};

struct command {
	struct backend_cmd b; /* first: done gets this */
	struct list link;
	struct port *port;
	struct request *req; /* NULL: it is over, and its copy on its way to a stream that waits for it */
	enum command_state state;
	bool edge;	   /* write of part of one block: read, merge, write */
	uint64_t data;	   /* offset of its part within the request */
	uint64_t data_len; /* bytes of the user's data */
	uint32_t skip;	   /* from the first block's start to that data */
	struct iovec iov[3];
	struct iovec copy;
	struct landing *landing;
	void *piece;
	struct mem_job job;
	bool direct; /* past the backend and staging: */
	struct mem_gds_job gds;
	struct io_msg gds_msg;
	void (*gds_done)(struct command *c);
	uint8_t *block; /* memory for one block, for edges */
	int error;
	uint64_t issued_ns;
	uint64_t landed_ns;
	uint64_t blocked_ns; /* of its request's wait, what was the copy engine's */
	uint64_t fetch_ns; /* how long a write's data took to come out of a device */
};

struct port {
	struct worker *worker;
	struct pst_volume *vol;
	struct backend *backend;
	struct command *commands;
	unsigned int command_count;
	unsigned int in_flight; /* commands */
	struct list free;
	struct list waiting; /* requests with parts that are not yet commands */
	struct mem_staging_wait piece_wait; /* the request at the head waits for staging */
	struct landing *piece_from;
	bool piece_waiting;
	bool pumping;
	void *piece; /* came for the request at the head */
	bool blocked_on_copies;	/* the port waits for a piece, and copies hold most of them */
	uint64_t blocked_since;
	uint64_t blocked_ns;	/* how long that was so in all */
	uint32_t until_sample;	/* small requests to come until one is sampled */
	uint8_t *blocks;  /* command_count blocks */
	uint8_t *scratch; /* where bytes go that nobody asked for */
	/* Written by the port's thread alone, read by any. */
	_Atomic uint64_t errors, reads, writes, read_bytes, write_bytes;
	_Atomic uint64_t path_bytes[8];
};

struct pst_volume {
	struct pst_context *ctx;
	struct pst_volume_info info;
	struct direct *direct; /* file volumes; NULL: not wanted */
	unsigned int port_count;
	struct port **ports;
	atomic_uint next_port;
	/* Requests in flight and the volume's own hold; who brings it to 0 signals closing. */
	atomic_uint refs;
	struct worker_event *closing;
	uint32_t sample_every; /* of small requests one in so many; TIMING_NEVER */

	/* Writes in flight and held back, to keep edges apart; see edge.c. */
	bool many; /* several ports: writes_lock is needed */
	pthread_mutex_t writes_lock;
	struct list writes;
	struct list blocked;
	unsigned int edged; /* of both: those that cover a part of a block */
};

/* ---- port.c ------------------------------------------------------------------------------ */

int port_new(struct worker *w, struct pst_volume *vol, struct backend *b, struct port **ret_port);
/* Nothing is in flight; the backend is closed already. */
struct port *port_free(struct port *p);
/* Takes over a request. The port's thread. */
void port_submit(struct port *p, struct request *r);
/* The same, for a request that edge_admit() has let through. */
void port_enqueue(struct port *p, struct request *r);
/* Makes commands of what waits, as far as there are commands and staging. */
void port_pump(struct port *p);

/* ---- timing.c ---------------------------------------------------------------------------- */

/* Whether the next request, of that length, is to be sampled. The port's thread. */
bool port_samples(struct port *p, uint64_t length);
/* The port begins to wait for a staging piece of @l's, and has one. */
void port_blocked(struct port *p, const struct landing *l);
void port_unblocked(struct port *p);
/* How long this port has waited for the copy engine, ever. */
uint64_t port_blocked_ns(const struct port *p);
/* The last command of a request is over: where the request's time went. */
void command_stamp(const struct command *c);
/* ---- path.c ------------------------------------------------------------------------------ */

/* Of data that is received by the CPU, in place or in a staging piece. */
enum pst_path path_through_staging(const struct pst_memory *mem);

/* ---- edge.c ------------------------------------------------------------------------------ */

/* May this write begin? If not it is kept, and port_submit()ted again when it may. */
bool edge_admit(struct request *r);
/* A write is over: what waited for it goes on. */
void edge_release(struct request *r);

/* ---- volume.c ---------------------------------------------------------------------------- */

void volume_unref(struct pst_volume *vol);

static inline bool request_is_write(const struct request *r)
{
	return r->kind == REQUEST_WRITE || r->kind == REQUEST_ZERO;
}

#endif
