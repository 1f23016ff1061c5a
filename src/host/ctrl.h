/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a controller, shared by the files of src/host: its state machine (ctrl.c), the steps
 * of setting it up (setup.c), namespaces, events, keep alive, I/O (io.c), admin commands (admin.c)
 * and time limits. Private to src/host.
 */
#ifndef PENSTOCK_HOST_CTRL_H
#define PENSTOCK_HOST_CTRL_H

#include "host/host.h"
#include "host/queue.h"
#include "nvme/reg.h"

/* In the order in which a connection goes through them. The texts are in host_ctrl_info(). */
/* clang-format off */
#define HOST_STATE_LIST(X) \
	X(NEW, "new") \
	X(ADMIN, "connecting admin queue") \
	X(CAP, "reading capabilities") \
	X(VERSION, "reading version") \
	X(ENABLE, "enabling") \
	X(READY, "waiting for ready") \
	X(IDENTIFY, "identifying controller") \
	X(LIMITS, "reading limits") \
	X(BEHAVIOR, "asking for retry delays") \
	X(AEN, "asking for events") \
	X(QUEUES, "asking for io queues") \
	X(TIMES, "asking for command times") \
	X(NAMESPACES, "identifying namespaces") \
	X(IO, "connecting io queues") \
	X(LIVE, "live") \
	X(DISCONNECT, "disconnecting io queues") \
	X(SHUTDOWN, "shutting down") \
	X(TEARDOWN, "closing connections") \
	X(BACKOFF, "waiting to reconnect") \
	X(FAILED, "failed") \
	X(CLOSED, "closed")
/* clang-format on */

enum host_state {
#define HOST_STATE_ENUM(id, text) HOST_STATE_##id,
	HOST_STATE_LIST(HOST_STATE_ENUM)
#undef HOST_STATE_ENUM
	HOST_STATES
};

enum {
	HOST_ADMIN_DEPTH = 31,  /* of 32 entries, the least that a controller has */
	HOST_ADMIN_RESERVED = 5, /* for our own: step, event request, log, keep alive, shutdown */
	HOST_ADMIN_STAGE = 8192,
	HOST_LOSSES_MAX = 64, /* an I/O that was in flight at so many losses is given up */
};

/* Reading the namespaces, when connecting and again after an event. */
struct host_scan {
	bool running;
	bool again;          /* something changed meanwhile */
	size_t count, next;  /* of @nsids */
	uint32_t *nsids;     /* to look at */
	struct host_ns *found;
	size_t found_count;
};

/* An active namespace, or what is remembered of one that was; and whether another came in its place. */
struct host_ns_slot {
	struct host_ns ns;
	bool replaced;
};

struct host_ctrl {
	struct io_loop *loop;
	struct host_config config;
	char subnqn[NVME_NQN_SIZE];
	char hostnqn[NVME_NQN_SIZE];
	bool discovery;

	enum host_state state;
	bool closing;
	void (*closed)(void *arg);
	void *closed_arg;
	bool was_live;   /* at least once */
	bool up;         /* live since the last loss */
	bool abrupt;     /* how to close connections in TEARDOWN */
	struct err err;  /* the last failure */
	uint64_t lost_ns;     /* when it was last live, or began to be tried */
	uint64_t backoff_ns;  /* the next pause, without jitter */
	uint64_t ready_ns;    /* READY: until when */
	struct io_timer timer;  /* BACKOFF; polls in READY and SHUTDOWN */
	struct io_timer limit;  /* of an orderly end */
	struct io_timer tick;   /* time limits of commands; armed while there are any */
	struct io_timer ka_timer;
	struct io_timer retry_timer;
	struct io_defer down_defer;
	struct io_defer event_defer;
	struct io_defer finish_defer;
	struct io_defer free_defer;
	uint32_t events; /* bits of enum host_event, to be told */

	/* The present association. */
	struct host_queue admin;
	struct host_queue *io; /* config.queues of them */
	unsigned int io_wanted; /* granted, hence to be connected */
	unsigned int io_up;
	uint16_t cntlid;
	struct nvme_cap cap;
	uint32_t version;
	struct nvme_id_ctrl id;
	bool identified;
	uint32_t depth;
	uint32_t max_transfer;
	uint32_t max_in_capsule;
	bool times; /* commands may ask where they were */
	uint32_t max_zeroes; /* bytes of one Write Zeroes command; 0: no limit of its own */
	bool shutdown_sent;

	struct host_admin step; /* the command of the present state, or of a scan */
	enum host_state step_state;
	void (*step_done)(struct host_ctrl *c, struct nvme_status st);
	struct iovec step_iov;
	struct host_admin shutdown;
	uint8_t *page;          /* its data: NVME_IDENTIFY_SIZE */
	struct host_admin aer;
	struct host_admin log;  /* Changed Namespace List, read because of an event */
	struct iovec log_iov;
	uint8_t log_page[NVME_IDENTIFY_SIZE];
	bool log_busy, log_again;
	struct host_admin ka;
	bool ka_off;            /* the controller has no Keep Alive */
	uint64_t ka_sent_ns;
	uint64_t ka_seen;       /* counts.completions at the last look */

	struct host_scan scan;
	struct host_ns_slot *ns;
	size_t ns_count; /* those that are active, which come first */
	size_t ns_known; /* and those that were */
	bool ns_replaced; /* some are: only then it is looked for */

	/* I/O that is not on a queue, and admin commands likewise. */
	struct list waiting;   /* for room or a connection */
	struct list requeue;   /* was in flight when the association was lost */
	struct list delayed;   /* until not_before_ns */
	struct list finished;  /* done functions to be called */
	struct list admin_waiting;
	struct list admin_finished;
	unsigned int waiting_count; /* waiting, requeue and delayed */

	struct host_ctrl_stats stats;
	struct host_queue_counts counts;
};

/* ---- ctrl.c: the machine ------------------------------------------------------------------- */

const char *host_state_name(enum host_state s);
/* The only way into a state: INVARIANT that the transition is allowed; runs the state's handler. */
void host_ctrl_set(struct host_ctrl *c, enum host_state state);
/* The one sink of failures: the association is lost, or did not come to be. Any state. */
void host_ctrl_fail(struct host_ctrl *c, int error, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Tells the owner at the end of the turn. */
void host_ctrl_tell(struct host_ctrl *c, enum host_event event);
void host_ctrl_tell_now(struct host_ctrl *c);
/* What life.c passes on: the admin queue is up, a queue is down, the pause is over. */
void host_ctrl_admin_up(struct host_ctrl *c);
void host_ctrl_check_down(struct host_ctrl *c);
void host_ctrl_backoff_over(struct host_ctrl *c);
static inline bool host_ctrl_live(const struct host_ctrl *c)
{
	return c->state == HOST_STATE_LIVE;
}

/* ---- setup.c: handlers of the states from CAP to IO, and SHUTDOWN --------------------------- */

void host_setup_cap(struct host_ctrl *c);
void host_setup_version(struct host_ctrl *c);
void host_setup_enable(struct host_ctrl *c);
void host_setup_ready(struct host_ctrl *c);
void host_setup_identify(struct host_ctrl *c);
void host_setup_limits(struct host_ctrl *c);
void host_setup_behavior(struct host_ctrl *c);
void host_setup_aen(struct host_ctrl *c);
void host_setup_queues(struct host_ctrl *c);
void host_setup_times(struct host_ctrl *c);
void host_setup_io(struct host_ctrl *c);
void host_setup_shutdown(struct host_ctrl *c);
/* c->timer fired in READY or SHUTDOWN: looks at CSTS again. */
void host_setup_poll(struct host_ctrl *c);
/* Issues c->step with @bytes of c->page; @done is called only while that is still wanted. */
void host_setup_step(struct host_ctrl *c, uint32_t bytes,
		     void (*done)(struct host_ctrl *c, struct nvme_status st));

/* ---- namespaces.c -------------------------------------------------------------------------- */

/* Handler of NAMESPACES. */
void host_ns_connecting(struct host_ctrl *c);
/* While live: reads them all again, now or after the scan that is running. */
void host_ns_rescan(struct host_ctrl *c);
/* The scan that was running has lost its association. */
void host_ns_abandon(struct host_ctrl *c);
/* Whether what this NSID meant when the I/O was planned is something else now. */
bool host_ns_is_replaced(const struct host_ctrl *c, uint32_t nsid);
/* The largest block of any namespace; 512 if there is none. */
uint32_t host_ns_largest_block(const struct host_ctrl *c);

/* ---- events.c ------------------------------------------------------------------------------ */

/* Live: posts the Asynchronous Event Request. */
void host_events_start(struct host_ctrl *c);

/* ---- keepalive.c --------------------------------------------------------------------------- */

void host_keepalive_start(struct host_ctrl *c);
void host_keepalive_stop(struct host_ctrl *c);
void host_keepalive_init(struct host_ctrl *c);

/* ---- limits.c: commands that take too long -------------------------------------------------- */

void host_limits_init(struct host_ctrl *c);
/* A command was sent: somebody has to look after it. */
void host_limits_watch(struct host_ctrl *c);

/* ---- io.c ---------------------------------------------------------------------------------- */

void host_io_init(struct host_ctrl *c);
/* Gives waiting I/O to queues with room. */
void host_io_pump(struct host_ctrl *c);
/* The association is gone: what was in flight waits again, ahead of the rest. */
void host_io_requeue(struct host_ctrl *c);
/* Everything that waits fails with @error, from the end of the turn on. */
void host_io_fail_waiting(struct host_ctrl *c, int error);
/* Calls the done functions that are due. */
void host_io_finish_due(struct host_ctrl *c);

/* ---- admin.c ------------------------------------------------------------------------------- */

/*
 * As host_admin_submit(), for our own commands: any of them, in any state in which the admin queue
 * is up, also when only reserved places are left.
 */
void host_admin_issue(struct host_ctrl *c, struct host_admin *a, bool unwatched);
void host_admin_pump(struct host_ctrl *c);
void host_admin_fail_waiting(struct host_ctrl *c, int error);

#endif
