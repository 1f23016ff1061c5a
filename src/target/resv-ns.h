/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservations of a namespace on many cores: what resv.h says, kept, published and made durable.
 *
 * The state is guarded by the target's lock, which the I/O path never takes. For that each core has
 * a pointer to an immutable view, its own to read and to write: NULL where there is no reservation,
 * which is what every command of everybody pays. A command is checked when it is understood, so
 * that one that cannot succeed moves no data, and again when it goes to the store.
 *
 * A change is a job. The jobs of a namespace are done one after the other, each in these steps:
 * the new state is computed; where it persists through power loss it is written to the namespace's
 * state file; it becomes the state; every core is sent the new view, and says when it has it. Only
 * then is the host answered. So once an Acquire has succeeded no core serves what it forbids, and
 * a state that was acknowledged is never lost. Preempt and Abort waits, on each core, until what
 * the hosts that were preempted had in flight has ended.
 */
#ifndef PENSTOCK_TARGET_RESV_NS_H
#define PENSTOCK_TARGET_RESV_NS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "target/resv.h"

struct err;
struct target;
struct tgt_assoc;
struct tgt_ctrl;
struct tgt_ns;
struct tgt_reactor;
struct tgt_req;
struct tgt_resv_drain;
struct tgt_subsys;
struct tgt_window;

/* Of a namespace, in all its versions (ns.h). Guarded by the target's lock but for @path. */
struct tgt_resv {
	struct tgt_resv_state *state; /* NULL: nobody ever registered */
	char *path;                   /* of the state file, constant; NULL: nothing can persist */
	uint8_t mask;                 /* Reservation Notification Mask */
	struct list jobs;             /* struct tgt_resv_job; the first is being done */
};

void tgt_resv_init(struct tgt_resv *r);
/* No job is left. */
void tgt_resv_deinit(struct tgt_resv *r);

/*
 * Reads what persisted, for a namespace that no core knows yet; needs the target's loops. -EINVAL
 * and others with a sentence that names the file; -ENOMEM.
 */
int tgt_resv_open(struct tgt_subsys *s, struct tgt_ns *ns, struct err *err);
/* The same for all namespaces of a subsystem. */
int tgt_resv_open_all(struct tgt_subsys *s, struct err *err);

/* RESCAP of Identify Namespace. */
uint8_t tgt_resv_caps(const struct tgt_ns *ns);

/* Whether a reservation forbids what the command would do. On its core. */
bool tgt_resv_conflicts(const struct tgt_req *req, enum tgt_access access);
/* Whether one forbids it on any namespace there is. */
bool tgt_resv_conflicts_anywhere(const struct tgt_req *req, enum tgt_access access);

/* The commands: resv-cmd.c. */
struct nvme_status tgt_resv_parse(struct tgt_req *req);
struct nvme_status tgt_resv_report_parse(struct tgt_req *req);
/* Features 82h and 83h. */
struct nvme_status tgt_resv_get_mask(struct tgt_req *req, uint32_t *ret);
struct nvme_status tgt_resv_set_mask(struct tgt_req *req, uint32_t dw11);
struct nvme_status tgt_resv_get_ptpl(struct tgt_req *req, uint32_t *ret);
/* Answers the command, at some time. */
void tgt_resv_set_ptpl(struct tgt_req *req, uint32_t dw11);

/* Jobs: resv-job.c. Changes the state as @cmd says; @req is parked and then given to @done. */
void tgt_resv_change(struct tgt_req *req, const struct tgt_ns *ns, const struct tgt_resv_cmd *cmd,
		     void (*done)(struct tgt_req *req, struct nvme_status st));
/* Answers to changes have come back. On the core of the queue. */
void tgt_resv_take_replies(struct tgt_assoc *a);
/* A command that a Preempt and Abort waits for has ended. */
void tgt_resv_drained(struct tgt_resv_drain *d);

/* ---- the notification log -------------------------------------------------------------------- */

enum {
	TGT_RESV_LOG = 32, /* pages kept; older ones are lost, which the count shows */
};

/* Of one controller; guarded by the target's lock. */
struct tgt_resv_log {
	uint64_t count; /* of pages there ever were */
	uint32_t kept;
	struct tgt_resv_note {
		uint32_t nsid;
		uint8_t type;  /* enum nvme_resv_notification */
	} notes[TGT_RESV_LOG]; /* that of page n at n modulo the size */
};

/* A notification for the host of @c, unless it is masked. The lock is held. */
void tgt_resv_note(struct tgt_ctrl *c, const struct tgt_resv *r, uint32_t nsid, uint8_t type);
struct nvme_status tgt_resv_log_page(struct tgt_req *req, struct tgt_window *w);

#endif
