/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Controllers: what a host's admin Connect makes, dynamic model (NVMe Base 2.0, 2.2.1, 3.1.2). One
 * belongs to one host and one subsystem and ends with its admin connection.
 *
 * A controller's connections may be on different cores. What their I/O paths read is atomic; lists,
 * queues and counts are guarded by the target's lock; registers, features and events belong to the
 * core of the admin queue alone.
 */
#ifndef PENSTOCK_TARGET_CTRL_H
#define PENSTOCK_TARGET_CTRL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "io/io.h"
#include "nvme/fabrics.h"
#include "nvme/log.h"
#include "nvme/status.h"
#include "target/aen.h"
#include "target/feature.h"
#include "target/resv-ns.h"
#include "target/stats.h"
#include "target/subsys.h"

struct tgt_conn;
struct tgt_req;

enum {
	TGT_KAS_MS = 100,    /* granularity of KATO that Identify reports (KAS, units of 100 ms) */
	TGT_ABORT_LIMIT = 4, /* ACL + 1 */
	TGT_ERROR_LOG = 16,  /* ELPE + 1 */
	TGT_TIMED_WORDS = 1024 / 64 + 1, /* QIDs from 1 to the largest limits.io_queues */
	TGT_READY_TIMEOUT_MS = 15000, /* CAP.TO: how long a reset may wait for the store */
};

struct tgt_host_id {
	uint8_t id[NVME_HOSTID_SIZE];
	char nqn[NVME_NQN_FIELD_SIZE];
};

/* The same host: the same identifier, unless it is zero, or the same NQN. */
bool tgt_host_same(const struct tgt_host_id *a, const struct tgt_host_id *b);

/* A normal shutdown in progress: every namespace is flushed, one after the other. */
struct tgt_shutdown {
	bool running;
	bool again;              /* another was asked for meanwhile, behind a reset */
	uint32_t nsid;           /* being flushed */
	struct tgt_assoc *admin; /* waits for it when it dies */
	struct tgt_ns_pin *pin;
	struct store_op op;
};

struct tgt_ctrl {
	struct list link; /* in its subsystem, until the admin queue is gone */
	struct target *target;
	struct tgt_subsys *subsys;
	struct tgt_listener *listener; /* where the admin connection came in; NULL: nowhere */
	struct io_addr local;                /* and the address it reached us at */
	uint16_t cntlid;
	struct tgt_host_id host;

	/* Read by I/O paths. */
	atomic_bool ready;      /* CC.EN and CSTS.RDY: I/O commands are served */
	atomic_bool write_back; /* feature Volatile Write Cache */
	_Atomic uint64_t timed_queues[TGT_TIMED_WORDS]; /* a bit per QID: timing.h */
	atomic_uint fenced;     /* how many things I/O waits for: fence.h */

	/* Guarded by the target's lock. */
	uint32_t refs;      /* connections that hold it, and barriers that wait for it */
	uint32_t io_refs;   /* of those, I/O connections that are not yet freed */
	uint32_t io_queues; /* connected now */
	bool gone;          /* the admin queue has ended */
	struct tgt_conn *admin;
	struct tgt_conn **queues;                    /* by qid, [0] the admin queue; NULL: none */
	struct target_io_stats io;                   /* of queues that are gone */
	struct nvme_log_error errors[TGT_ERROR_LOG]; /* a ring */
	uint64_t error_count;
	struct tgt_events events;
	struct tgt_resv_log resv_log;
	uint64_t log_hash; /* of a discovery log as its host last saw it */

	/* The admin queue's core. */
	uint32_t cc;
	uint32_t csts;            /* CFS and SHST; RDY is made when asked for */
	bool resetting;           /* CC.EN went to 0: RDY follows when the I/O queues are drained */
	_Atomic uint32_t kato_ms; /* read for statistics elsewhere */
	struct io_timer keep_alive;
	bool keep_alive_late; /* expired once: the next look decides */
	struct tgt_features features;
	uint32_t aborts; /* Abort commands outstanding */
	struct tgt_shutdown shutdown;
};

/*
 * A controller for @conn, whose host and subsystem were checked. SUCCESS, or why not (Controller
 * Busy, Internal Error). Its keep alive timer is not running. The target's lock is held.
 */
struct nvme_status tgt_ctrl_new(struct tgt_conn *conn, struct tgt_subsys *s,
				const struct tgt_host_id *host, struct tgt_ctrl **ret_ctrl);
/* By identifier; NULL if there is none or its admin queue has ended. The lock is held. */
struct tgt_ctrl *tgt_ctrl_find(struct tgt_subsys *s, uint16_t cntlid);

/* @conn becomes queue @qid, which must be free. The lock is held. */
void tgt_ctrl_attach(struct tgt_ctrl *c, struct tgt_conn *conn, uint16_t qid);
/*
 * The queue is dead: it is no longer the controller's. With the admin queue all others end too. The
 * lock is held.
 */
void tgt_ctrl_detach(struct tgt_conn *conn);
/* All I/O queues shall end, and the host is fenced until they have. The lock is held. */
void tgt_ctrl_end_io_queues(struct tgt_ctrl *c);
/* The lock is held; the last reference frees. @io: one that io_refs counts too. */
void tgt_ctrl_get(struct tgt_ctrl *c, bool io);
void tgt_ctrl_put(struct tgt_ctrl *c, bool io);

/* A command failed: for the error log. Any core. */
void tgt_ctrl_log_error(struct tgt_ctrl *c, const struct tgt_req *req, uint16_t qid);
/* I/O counters of all its queues, past and present. */
void tgt_ctrl_io_stats(struct tgt_ctrl *c, struct target_io_stats *ret_stats);

#endif
