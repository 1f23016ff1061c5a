/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The initiator: one controller of an NVM subsystem over NVMe/TCP, with its admin queue and its I/O
 * queues, kept connected.
 *
 *	host_config_init(&c); c.addr = ...; c.subnqn = ...; c.event = on_event;
 *	host_ctrl_new(loop, &c, &ctrl, &err);      connecting begins; HOST_EVENT_LIVE or _FAILED comes
 *	host_submit(ctrl, &io);                    any time; io.done comes exactly once
 *	host_ctrl_close(ctrl, closed, arg);        orderly; closed() is the last call
 *
 * When a connection is lost, all queues of the controller are torn down and it is connected anew,
 * with growing pauses, until config.loss_timeout_ns has passed. I/O that was in flight waits and is
 * sent again on the new association, and only there: what its target has to do with the old one's
 * writes is the target's business (the fence; where it reports a Command Quiesce Time, that is
 * waited for as well). So an I/O may be carried out more than once, but none is reported done
 * before it was done in full, and a read that succeeded has delivered every byte.
 *
 * Functions never call back from inside: done and event functions are called from a turn of the
 * loop. Thread: everything belongs to the loop's thread. Memory is taken when connecting, none per
 * I/O.
 */
#ifndef PENSTOCK_HOST_HOST_H
#define PENSTOCK_HOST_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"
#include "base/list.h"
#include "base/log.h"
#include "base/uuid.h"
#include "io/addr.h"
#include "io/io.h"
#include "nvme/cpl.h"
#include "nvme/identify.h"
#include "nvme/nqn.h"
#include "nvme/sqe.h"
#include "nvme/status.h"
#include "nvme/vendor.h"

struct host_ctrl;
struct host_req;

/* ---- settings ------------------------------------------------------------------------------ */

enum {
	HOST_QUEUES_MAX = 128,      /* I/O queues of one controller */
	HOST_DEPTH_MAX = 1024,      /* commands in flight on one queue */
	HOST_IOV_MAX = 16,          /* vectors of one I/O or admin command */
	HOST_NAMESPACES_MAX = 1024, /* remembered of one controller: one page of Identify */
};

enum host_event {
	HOST_EVENT_LIVE,   /* connected, for the first time or again; limits may have changed */
	HOST_EVENT_LOST,   /* not connected any more; it is tried again */
	HOST_EVENT_FAILED, /* given up for good: host_ctrl_info().error says why. Close it. */
	HOST_EVENT_NAMESPACES, /* namespaces came, went or changed; host_ns_get() has the new state */
	HOST_EVENT_DISCOVERY,  /* discovery controller: its log changed */
};

typedef void (*host_event_fn)(struct host_ctrl *c, enum host_event event, void *arg);

/* All of it is copied. Times in nanoseconds. */
struct host_config {
	struct io_addr addr;
	struct io_addr local; /* source address; len 0: any */
	const char *subnqn;   /* NVME_DISCOVERY_NQN makes a discovery controller: no I/O queues */
	const char *hostnqn;  /* host/identity.h */
	uint8_t hostid[16];

	unsigned int queues; /* I/O queues wanted; the controller may grant fewer. 0: admin queue only */
	unsigned int depth;  /* commands in flight on each, 1 .. HOST_DEPTH_MAX; likewise */
	uint32_t nsid;       /* identify this namespace only, which must exist; 0: all active ones */
	bool hdgst;          /* ask for digests; refuse a controller that does without */
	bool ddgst;
	uint8_t hpda;        /* alignment of received data, (hpda + 1) * 4 bytes; 0 .. 31 */
	bool sqflow;         /* ask for SQ flow control; off lets reads end with C2HData alone */
	bool times;          /* ask a controller of ours where timed commands were: nvme/vendor.h */
	bool in_capsule;     /* send small writes within the capsule where the controller allows it */
	size_t stage;        /* bytes of receive buffer of one I/O queue */

	uint64_t kato_ns;            /* keep alive timeout; 0: none */
	uint64_t connect_timeout_ns; /* each of: TCP connect, ICResp, Connect command */
	uint64_t admin_timeout_ns;   /* an admin command */
	uint64_t io_timeout_ns;      /* an I/O command, once sent; older ones cost the association */
	uint64_t reconnect_min_ns;   /* first pause, doubled each time, 25 % jitter */
	uint64_t reconnect_max_ns;
	uint64_t loss_timeout_ns; /* since the loss; then HOST_EVENT_FAILED. UINT64_MAX: never */
	uint64_t shutdown_timeout_ns; /* for an orderly end */
	unsigned int retries; /* an I/O is sent again this often when its status says that it may be */
	bool retry_first;     /* also the first connection is tried until loss_timeout_ns */

	host_event_fn event; /* NULL: nobody listens */
	void *arg;
	const struct log *log; /* NULL: silent; must outlive the controller */
};

/* Defaults for everything but addr, subnqn, hostnqn, hostid, event, arg. */
void host_config_init(struct host_config *c);

/* ---- a controller -------------------------------------------------------------------------- */

/* -EINVAL with a sentence naming the setting; -ENOMEM. Connecting begins in the next turn. */
int host_ctrl_new(struct io_loop *loop, const struct host_config *config,
		  struct host_ctrl **ret_ctrl, struct err *err);
/*
 * Ends it, in any state: I/O not finished fails with -ECANCELED, the controller is told (shutdown
 * notification) if it is there, connections are closed. @closed is called from a later turn, once,
 * after every done function; then the memory is gone. No event comes after this call.
 */
void host_ctrl_close(struct host_ctrl *c, void (*closed)(void *arg), void *arg);
/* Loses the association on purpose and connects anew; I/O waits meanwhile. Without effect unless live. */
void host_ctrl_reset(struct host_ctrl *c);

/* What is known of a controller; valid in every state (I020), as of the last connection. */
struct host_ctrl_info {
	const char *state;        /* "live", "connecting io queues", ...: stable, for humans and logs */
	bool live;
	bool discovery;
	const char *subnqn;
	const char *hostnqn;
	struct io_addr addr;
	struct io_addr local;     /* of the admin connection; len 0 before the first */
	int error;                /* of the last failure, -errno; 0: none yet */
	const char *error_text;   /* valid until the next turn */
	uint16_t cntlid;
	uint32_t version;         /* property VS */
	bool identified;          /* @id is there */
	const struct nvme_id_ctrl *id; /* the controller's, until it is closed */

	unsigned int queues; /* I/O queues connected */
	unsigned int depth;  /* commands in flight on each */
	uint32_t max_transfer; /* bytes of one command (MDTS); a power of two */
	uint32_t max_in_capsule; /* bytes of a write that travel in the capsule */
	uint32_t maxh2cdata;
	bool hdgst;
	bool ddgst;
	bool times; /* it tells where commands were that ask */
	bool volatile_cache;
	bool can_deallocate, can_write_zeroes, can_compare;
	uint32_t max_write_zeroes; /* blocks of one command */
	uint32_t kato_ms;
};

void host_ctrl_info(const struct host_ctrl *c, struct host_ctrl_info *ret_info);

struct host_ctrl_stats {
	uint64_t reads, writes, others; /* completed, failed ones included */
	uint64_t read_bytes, write_bytes; /* of those that succeeded */
	uint64_t errors;    /* I/O that ended with an error */
	uint64_t retries;   /* sent again because of a status */
	uint64_t requeued;  /* sent again because the association was lost */
	uint64_t losses;    /* associations lost */
	uint64_t connects;  /* associations that became live */
	uint64_t attempts;  /* to connect */
	uint64_t timeouts;  /* commands that cost their association */
	uint64_t ddgst_errors;
	uint64_t protocol_errors; /* of the controller: an H2CTermReq was sent */
	uint64_t term_received;   /* C2HTermReq */
	uint64_t keep_alives;
	uint64_t events;    /* asynchronous events */
	unsigned int inflight; /* on queues now */
	unsigned int waiting;  /* for a free place, or for a connection */
};

void host_ctrl_stats(const struct host_ctrl *c, struct host_ctrl_stats *ret_stats);

/* ---- namespaces ---------------------------------------------------------------------------- */

struct host_ns {
	uint32_t nsid;
	uint32_t block;    /* bytes */
	uint32_t metadata; /* bytes per block; such a namespace cannot be used */
	uint64_t blocks;
	uint64_t capacity; /* blocks */
	uint32_t optimal;  /* bytes: preferred write granularity, or a block */
	uint32_t boundary; /* blocks (NOIOB); 0 none */
	bool read_only;    /* write protected */
	bool shared;
	bool zeroes_after_deallocate;
	uint32_t ana_group;
	struct uuid uuid;  /* nil: none */
	uint8_t nguid[16];
	uint8_t eui64[8];
};

/* Its size; as many whole blocks as 64 bits can say, where the controller claims more. */
static inline uint64_t host_ns_bytes(const struct host_ns *ns)
{
	uint64_t most = UINT64_MAX / ns->block;

	return (ns->blocks < most ? ns->blocks : most) * ns->block;
}

/* The active namespace of that NSID; -ENOENT. Kept from the last connection while there is none. */
int host_ns_get(const struct host_ctrl *c, uint32_t nsid, struct host_ns *ret_ns);
/* The @i-th active namespace by NSID, NULL behind the last. Valid until the next turn. */
const struct host_ns *host_ns_at(const struct host_ctrl *c, size_t i);

/* ---- I/O ----------------------------------------------------------------------------------- */

enum host_io_kind {
	HOST_IO_READ,
	HOST_IO_WRITE,
	HOST_IO_FLUSH,
	HOST_IO_DEALLOCATE,   /* one range */
	HOST_IO_WRITE_ZEROES,
	HOST_IO_COMPARE,      /* -EILSEQ when different */
};

/*
 * One I/O, embedded in its owner, who keeps it, the vectors and the memory untouched until done.
 * The memory is the CPU's. Zero it once; the results and all that is private is set by submit.
 */
struct host_io {
	void (*done)(struct host_io *io);
	enum host_io_kind kind;
	bool fua;         /* write, write zeroes: durable when done */
	bool timed;       /* read, write: sent_ns is exact, and the controller is asked for @times */
	uint32_t nsid;
	uint64_t slba;
	uint32_t nlb;     /* blocks: 1 .. 65536; deallocate: any. Flush: unused */
	uint32_t bytes;   /* read, write, compare: nlb blocks, a multiple of 4; otherwise 0 */
	const struct iovec *iov; /* sums up to bytes */
	int niov;         /* 1 .. HOST_IOV_MAX */

	/* Results. */
	int error; /* 0 or -errno; on error the memory of a read holds anything */
	struct nvme_status status; /* what the controller said last; success if it said nothing */
	/* Loop times, of the last try: 0 = it did not come to that. */
	uint64_t submitted_ns; /* host_submit(), the first time */
	uint64_t queued_ns;    /* has a place on a queue: before that it waited in the client */
	uint64_t sent_ns;      /* the last byte of the capsule was taken by the stream */
	uint64_t first_ns;     /* first sign of an answer: data, R2T or completion */
	uint64_t last_ns;      /* the answer is complete */
	bool has_times;        /* the controller has said: */
	struct nvme_times times;
	unsigned int tries;    /* times it was sent */

	/* private */
	struct list link;
	struct host_req *req;
	uint64_t not_before_ns;
	unsigned int faults; /* tries that ended with a status, or took too long */
};

/*
 * Starts @io. It waits when every queue is full or there is no connection, without limit but
 * loss_timeout_ns. done never comes from inside this call. After HOST_EVENT_FAILED: -ENOTCONN.
 * -EINVAL in done: larger than max_transfer, or no I/O queues.
 */
void host_submit(struct host_ctrl *c, struct host_io *io);

/* ---- admin commands ------------------------------------------------------------------------ */

/*
 * One admin command, raw: @cmd but for CID and SGL1. Which way data goes is in its opcode. Same
 * rules as for struct host_io; sent once, on the present association: -ENOTCONN when there is none
 * or it is lost. Not for Fabrics commands, Asynchronous Event Request, Keep Alive and the deletion
 * of queues, which are the controller's own: -EINVAL.
 */
struct host_admin {
	void (*done)(struct host_admin *a);
	struct nvme_cmd cmd;
	const struct iovec *iov;
	int niov; /* 0 .. HOST_IOV_MAX */
	uint32_t bytes;

	/* Results. */
	int error;           /* 0 when a completion came, whatever it says; or -errno */
	struct nvme_cpl cpl; /* nvme_cpl_status() is the status */
	uint32_t received;   /* bytes of data that came; may be fewer than asked for */

	/* private */
	struct list link;
	struct host_req *req;
};

void host_admin_submit(struct host_ctrl *c, struct host_admin *a);

#endif
