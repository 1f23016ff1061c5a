/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The association: one connection's NVMe side, without I/O. It is fed received bytes, hands back
 * PDUs, and says through flags what it wants; conn.c does it. NVMe/TCP has one queue a connection,
 * so this is the queue too.
 *
 * Life: ICREQ -> CONNECT -> LIVE -> (DELETING ->) DEAD. Dead means: no byte more is looked at, no
 * command begins, the controller does not know the queue any more. What is in the store then is
 * waited for; the fence (fence.h) keeps the host's other queues still until that has ended.
 *
 * Thread: the reactor's. What other cores want of it they say with tgt_conn_notify().
 */
#ifndef PENSTOCK_TARGET_ASSOC_H
#define PENSTOCK_TARGET_ASSOC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/pool.h"
#include "target/arena.h"
#include "target/lend.h"
#include "target/req.h"
#include "target/stats.h"
#include "target/target.h"
#include "tcp/rx.h"
#include "tcp/tx.h"

struct tgt_ctrl;
struct tgt_listener;
struct tgt_reactor;
struct tgt_tenant;
struct target;

enum tgt_assoc_state {
	TGT_ASSOC_ICREQ,    /* nothing was received yet */
	TGT_ASSOC_CONNECT,  /* initialised; Connect is the only command */
	TGT_ASSOC_LIVE,     /* a queue of a controller */
	TGT_ASSOC_DELETING, /* Disconnect came: what is in flight ends, nothing new begins */
	TGT_ASSOC_DEAD,
	TGT_ASSOC_STATES
};

enum {
	/* Room for 900 command capsules in one receive, or 15 that bring 4 KiB. */
	TGT_STAGE_BYTES = 64 * 1024,
	/* Fabrics and admin commands may bring this much in their capsule, whatever IOCCSZ says. */
	TGT_CONTROL_CAPSULE_DATA = 8192,
	/* PDUs taken from one connection before the others have their turn. */
	TGT_ASSOC_BUDGET = 128,
	/*
	 * R2T tags: an index in the pool below, a generation above, so that a stale tag is noticed.
	 */
	TGT_TTAG_INDEX_BITS = 10,
	TGT_QUEUE_DEPTH_MAX = 1 << TGT_TTAG_INDEX_BITS,
};

struct tgt_assoc {
	struct target *target;
	struct tgt_reactor *reactor;
	struct tgt_listener *listener; /* where it came in; NULL: within the process */
	uint8_t state;  /* enum tgt_assoc_state */
	uint8_t reason; /* enum target_close, once dead */

	/* Framing. */
	struct tcp_rx rx;
	struct tcp_tx tx;
	uint8_t *stage;
	struct tcp_tx_pdu ic_pdu;   /* ICResp */
	struct tcp_tx_pdu term_pdu; /* C2HTermReq */
	bool more_input;            /* the budget ran out with events left */
	bool linger;                /* dead, but what is queued shall still reach the host */

	/* The queue, from Connect on. */
	struct tgt_ctrl *ctrl;
	struct tgt_core_subsys *core; /* this core's view of the subsystem */
	uint16_t qid;
	uint32_t entries;
	bool sqflow; /* SQ flow control is on: SQHD counts, SUCCESS may not be used */
	uint16_t sqhd;
	struct pool pool;          /* of struct tgt_req, @entries of them */
	struct tgt_req **r2t_slot; /* by index: the request whose R2T is out */
	uint32_t r2t_slots;
	uint16_t r2t_generation;
	bool got_command; /* something came after Connect */

	/* Before there is a pool: Connect, its data, and its slot. */
	struct tgt_req first;
	struct tgt_req *first_slot;
	bool first_used;
	uint8_t connect_data[NVME_CONNECT_DATA_SIZE];

	/* Requests, by what they wait for. */
	struct list waiting_buffer; /* BUFFER, oldest first */
	struct list waiting_data;   /* R2T, oldest first */
	struct list waiting_fence;  /* FENCED, oldest first */
	struct list fused;          /* FUSED */
	struct list in_store;       /* STORE, in order of submission */
	struct list parked;         /* PARKED */
	struct list events;         /* PARKED too: Asynchronous Event Requests */
	uint32_t event_count;
	uint32_t lent_bytes;
	struct list lent;           /* SENDING, while their payload is lent by the store */
	uint32_t sending;           /* requests in SENDING */
	uint32_t in_flight;         /* requests that are not FREE */
	uint32_t mutating;          /* of those in the store, the ones that change it */
	uint64_t store_seq;         /* of the last request that was ready for the store */
	uint32_t away;              /* Abort commands that are on another core */
	struct tgt_req *deleting;   /* the Disconnect that waits for the others */
	struct tgt_req *connecting; /* the Connect that waits for its queue ID to become free, */
	uint64_t connect_again;     /* and when it tries again */
	struct tgt_req *fused_first; /* waits for its second, which must come next: fused.h */
	uint8_t fused_expect;       /* enum tgt_fused_expect */
	bool wants_req;             /* a capsule was received and no request is free for it yet */

	/* Payload in progress. */
	struct tgt_req *landing; /* whose payload the present PDU is; NULL: discarded */
	bool capsule_waits;      /* the present capsule's data has no memory yet */
	struct iovec land[TGT_BUF_IOV];

	struct tgt_split split; /* of a block that was sent in part */

	/* Memory. */
	struct tgt_tenant *tenant; /* from Connect on: its host */
	struct tgt_arena_user arena;
	struct tgt_arena_waiter waiter;
	uint8_t *reserve; /* one in-capsule buffer of its own: see xfer.c */
	uint32_t reserve_bytes;
	bool reserve_used;

	/* Time, in io_now(). 0: not running. */
	uint64_t stage_since; /* since it is in its present state */
	uint64_t rx_since;    /* a PDU is half-way */
	uint64_t tx_since;    /* sending made no progress */
	uint64_t linger_since;
	uint64_t withdrawn_since; /* its right is gone */
	_Atomic uint64_t last_traffic; /* read by the controller's keep alive on another core */

	/* What goes on between cores; guarded by the target's lock. */
	struct list abort_inbox;   /* struct tgt_abort: requests to abort something here */
	struct list abort_replies; /* struct tgt_abort: answers to our own */
	struct list resv_replies;  /* struct tgt_resv_job: changes of reservations that are done */
	struct list barriers;      /* struct tgt_barrier, see fence.h */
	struct list zombie_link;   /* in the subsystem's list: dead, and not yet drained */
	/* What this core knows of those without taking the lock. */
	bool barriers_seen;
	bool zombie;

	struct tgt_io_counters io;
};

const char *tgt_assoc_state_name(enum tgt_assoc_state s);
/* Forwards only. */
void tgt_assoc_set_state(struct tgt_assoc *a, enum tgt_assoc_state s);

/* -ENOMEM; @a can be deinitialised then too. */
int tgt_assoc_init(struct tgt_assoc *a, struct tgt_reactor *r, struct tgt_listener *l);
/* Must be dead and drained: every request is in the pool, every buffer in the arena. */
void tgt_assoc_deinit(struct tgt_assoc *a);

/* Where to receive; 0 vectors when nothing can be taken now. */
int tgt_assoc_recv_iov(struct tgt_assoc *a, struct iovec *iov, int max);
/* @n bytes came into those. */
void tgt_assoc_received(struct tgt_assoc *a, size_t n);
/* Takes events until there are no more, the budget is used up, or something must be waited for. */
void tgt_assoc_process(struct tgt_assoc *a);
/* What to send next, and how much of it was taken (0: nothing): always told before another turn. */
int tgt_assoc_send_iov(struct tgt_assoc *a, struct iovec *iov, int max);
void tgt_assoc_sent(struct tgt_assoc *a, size_t n);

/*
 * Ends the association, once; later reasons are ignored. @linger: what is queued should still go
 * out. The driver sees the state and closes the stream.
 */
void tgt_assoc_kill(struct tgt_assoc *a, enum target_close reason, bool linger);
/* The same for a PDU that is wrong: a C2HTermReq goes out last. */
void tgt_assoc_fail(struct tgt_assoc *a, const struct tcp_error *e);
/*
 * Dead, and the stream's operations have ended: gives back every request that nobody else holds.
 */
void tgt_assoc_release(struct tgt_assoc *a);
/* Nothing of it is in the store or on another core. */
bool tgt_assoc_drained(const struct tgt_assoc *a);
/* In a drain of the target: nothing is left that deserves to be waited for. */
bool tgt_assoc_quiet(const struct tgt_assoc *a);

/*
 * Looks at the clock: lets time-limited waits end, kills the association when its peer took too
 * long. Returns when to look again (io_now() time), UINT64_MAX for never.
 */
uint64_t tgt_assoc_check_time(struct tgt_assoc *a, uint64_t now);
/* The earliest time at which that could matter, without doing anything. */
uint64_t tgt_assoc_deadline(const struct tgt_assoc *a);

/* Pool sized for @entries, with what else a queue of that host needs. -ENOMEM: as if not called. */
int tgt_assoc_make_queue(struct tgt_assoc *a, const char *hostnqn, uint32_t entries, bool io_queue);
/* The reverse, for a Connect that fails after all; nothing of it is in use. */
void tgt_assoc_drop_queue(struct tgt_assoc *a);

/* @req went back to the pool: who waited for that goes on. For req.c. */
void tgt_assoc_freed(struct tgt_assoc *a, struct tgt_req *req);

/* Continues the requests that the fence held, if it is down; see fence.c. */
void tgt_assoc_fence_lifted(struct tgt_assoc *a);
/* Runs @req now that its data is there, or holds it at the fence. */
void tgt_assoc_ready(struct tgt_req *req);

/* Lines about the end of an association, and about a PDU that was wrong. For assoc.c. */
void tgt_assoc_log_end(struct tgt_assoc *a, enum target_close reason);
void tgt_assoc_log_error(struct tgt_assoc *a, const struct tcp_error *e);

#endif
