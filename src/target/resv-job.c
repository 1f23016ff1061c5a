/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of reservations, from a command to every core; the idea is in resv-ns.h.
 *
 * A job goes from thread to thread: the queue's core begins it, or the core that finished the one
 * before it; the loop that saved the state goes on; the core that is the last to have the new view
 * ends it. One at a time has it. The request behind it stays parked, and with it its association,
 * its hold on the namespace and the target's life.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "nvme/log.h"
#include "target/assoc.h"
#include "target/conn.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/fused.h"
#include "target/io_cmd.h"
#include "target/ns.h"
#include "target/resv-ns.h"
#include "target/resv-text.h"

struct tgt_resv_job;

/* A job on one core. */
struct tgt_resv_drain {
	struct io_msg msg;
	struct tgt_resv_job *job;
	struct tgt_reactor *reactor;
	uint32_t waits; /* commands of preempted hosts that must end */
};

struct tgt_resv_job {
	struct list link; /* in tgt_resv.jobs, then in tgt_assoc.resv_replies */
	struct tgt_req *req;
	const struct tgt_ns *ns;
	struct tgt_resv_cmd cmd;
	void (*done)(struct tgt_req *req, struct nvme_status st);
	struct nvme_status status;
	struct tgt_resv_state *old, *next;
	struct tgt_resv_told told;
	struct tgt_resv_view *view;
	struct tgt_reactor *reactor; /* has it while the state is saved */
	struct io_op op;
	struct iovec text;
	atomic_uint cores_left;
	struct tgt_resv_drain cores[];
};

static void start(struct tgt_resv_job *job, struct tgt_reactor *r);

static struct tgt_resv *resv_of(const struct tgt_resv_job *job)
{
	return &job->ns->backing->resv;
}

static struct target *target_of(const struct tgt_resv_job *job)
{
	return job->req->assoc->target;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void free_job(struct tgt_resv_job *job)
{
	tgt_resv_view_put(job->view);
	mem_free(job->text.iov_base);
	mem_free(job->next);
	mem_free(job->old);
	mem_free(job);
}

/* The lock is held. */
static void tell(const struct tgt_resv_job *job)
{
	struct tgt_ctrl *c;

	if (!job->old)
		return;
	list_for_each_entry(c, &job->req->assoc->ctrl->subsys->ctrls, link) {
		int i = tgt_resv_find(job->old, c->host.id);

		if (i >= 0 && job->told.what[i] != NVME_RESV_LOG_EMPTY)
			tgt_resv_note(c, resv_of(job), job->ns->nsid, job->told.what[i]);
	}
}

static void finish(struct tgt_resv_job *job, struct tgt_reactor *r)
{
	struct tgt_assoc *a = job->req->assoc;
	struct tgt_resv *resv = resv_of(job);
	struct target *t = a->target;
	struct tgt_resv_job *next = NULL;

	target_lock(t);
	INVARIANT(list_first_entry(&resv->jobs, struct tgt_resv_job, link) == job);
	if (nvme_status_ok(job->status))
		tell(job);
	list_del(&job->link);
	if (!list_empty(&resv->jobs))
		next = list_first_entry(&resv->jobs, struct tgt_resv_job, link);
	list_add_tail(&a->resv_replies, &job->link);
	tgt_conn_notify(tgt_conn_of(a), TGT_NOTICE_REPLY);
	target_unlock(t);
	/* That one keeps the namespace; this one may be gone with its connection. */
	if (next)
		start(next, r);
}

void tgt_resv_take_replies(struct tgt_assoc *a)
{
	struct list replies = LIST_INIT(replies);
	struct tgt_resv_job *job;

	target_lock(a->target);
	list_splice_tail(&replies, &a->resv_replies);
	target_unlock(a->target);
	while ((job = list_pop_entry(&replies, struct tgt_resv_job, link))) {
		struct nvme_status st = job->status;
		struct tgt_req *req = job->req;
		void (*done)(struct tgt_req *, struct nvme_status) = job->done;

		free_job(job);
		a->away--;
		done(req, st); /* of a dead association: only released */
	}
}

/* ---- on every core --------------------------------------------------------------------------- */

static void core_done(struct tgt_resv_drain *d)
{
	struct tgt_resv_job *job = d->job;
	struct tgt_reactor *r = d->reactor;

	if (atomic_fetch_sub(&job->cores_left, 1) == 1)
		finish(job, r);
}

void tgt_resv_drained(struct tgt_resv_drain *d)
{
	INVARIANT(d->waits > 0);
	if (--d->waits == 0)
		core_done(d);
}

static bool was_preempted(const struct tgt_resv_job *job, const struct tgt_ctrl *c)
{
	int i = tgt_resv_find(job->old, c->host.id);

	return i >= 0 && job->told.what[i] == NVME_RESV_REGISTRATION_PREEMPTED;
}

static bool concerns(const struct tgt_resv_job *job, const struct tgt_req *req)
{
	return req->ns && req->ns->backing == job->ns->backing;
}

static struct tgt_req *next_of(const struct tgt_resv_job *job, struct list *l)
{
	struct tgt_req *req;

	list_for_each_entry(req, l, link)
		if (concerns(job, req) && !req->abort)
			return req;
	return NULL;
}

static void abort_list(const struct tgt_resv_job *job, struct list *l)
{
	struct tgt_req *req;

	/* From the start again: one that ends may take the other of its pair with it. */
	while ((req = next_of(job, l)))
		tgt_req_complete(req, nvme_status(NVME_SC_ABORTED_PREEMPT));
}

/* Commands that have not begun end at once; those that wait for their data when it has come. */
static void abort_waiting(const struct tgt_resv_job *job, struct tgt_assoc *a)
{
	struct tgt_req *req;

	abort_list(job, &a->waiting_buffer);
	abort_list(job, &a->waiting_fence);
	while ((req = next_of(job, &a->fused)))
		tgt_fused_abort(req);
	while ((req = next_of(job, &a->waiting_data)))
		req->abort = true;
	if (a->landing && concerns(job, a->landing))
		a->landing->abort = true;
}

static void abort_here(struct tgt_resv_drain *d, struct tgt_assoc *a)
{
	struct tgt_req *req;

	if (a->state != TGT_ASSOC_DEAD)
		abort_waiting(d->job, a);
	/* Of a dead one too: what it had written to the store is not to land later. */
	list_for_each_entry(req, &a->in_store, link)
		if (concerns(d->job, req) && !req->drain) {
			req->drain = d;
			d->waits++;
		}
}

static void on_core(struct io_msg *m)
{
	struct tgt_resv_drain *d = container_of(m, struct tgt_resv_drain, msg);
	struct tgt_resv_job *job = d->job;
	struct tgt_core_io *core = &job->ns->backing->cores[d->reactor->index];
	struct tgt_conn *c;

	tgt_resv_view_put(core->view);
	core->view = tgt_resv_view_get(job->view);
	d->waits = 1; /* until all were looked at */
	if (job->cmd.opc == NVME_NVM_RESV_ACQUIRE &&
	    job->cmd.action == NVME_RACQA_PREEMPT_AND_ABORT)
		list_for_each_entry(c, &d->reactor->conns, link)
			if (c->assoc.ctrl && c->assoc.qid > 0 && was_preempted(job, c->assoc.ctrl))
				abort_here(d, &c->assoc);
	tgt_resv_drained(d);
}

/* ---- doing it -------------------------------------------------------------------------------- */

static void fail(struct tgt_resv_job *job, struct tgt_reactor *r, enum nvme_sc code)
{
	job->status = nvme_status(code);
	finish(job, r);
}

/* Preempt and Abort goes by every core, also where nothing is forbidden to anybody. */
static bool needs_cores(const struct tgt_resv_job *job)
{
	return job->view || (job->old && job->old->type != NVME_RTYPE_NONE) ||
	       (job->cmd.opc == NVME_NVM_RESV_ACQUIRE &&
		job->cmd.action == NVME_RACQA_PREEMPT_AND_ABORT);
}

static void publish(struct tgt_resv_job *job, struct tgt_reactor *r)
{
	struct tgt_resv *resv = resv_of(job);
	struct target *t = target_of(job);

	target_lock(t);
	job->old = resv->state;
	resv->state = job->next;
	job->next = NULL;
	target_unlock(t);
	if (!needs_cores(job)) {
		finish(job, r);
		return;
	}
	if (!job->old) /* whom to look for in, on the cores */
		job->old = mem_zalloc(sizeof(*job->old));
	atomic_init(&job->cores_left, t->reactor_count);
	for (unsigned int i = 0; i < t->reactor_count; i++) {
		struct tgt_resv_drain *d = &job->cores[i];

		d->msg.fn = on_core;
		d->job = job;
		d->reactor = &t->reactors[i];
	}
	/* The last one may be done, and the job freed, before this loop has seen it. */
	for (unsigned int i = 0, n = t->reactor_count; i < n; i++)
		io_post(t->reactors[i].loop, &job->cores[i].msg);
}

static void saved(struct io_op *op)
{
	struct tgt_resv_job *job = container_of(op, struct tgt_resv_job, op);

	if (op->result == 0) {
		publish(job, job->reactor);
		return;
	}
	log_event(target_of(job)->log, LOG_LEVEL_ERROR, "reservations_not_saved",
		  LOG_STR("file", resv_of(job)->path), LOG_U64("nsid", job->ns->nsid),
		  LOG_STR("why", strerror((int)-op->result)));
	fail(job, job->reactor, NVME_SC_INTERNAL_ERROR);
}

static void save(struct tgt_resv_job *job, struct tgt_reactor *r)
{
	struct tgt_resv_owner owner = { .nqn = job->req->assoc->ctrl->subsys->nqn,
					.nsid = job->ns->nsid,
					.uuid = job->ns->uuid };

	job->text.iov_base = mem_alloc(TGT_RESV_TEXT_MAX);
	if (!job->text.iov_base) {
		fail(job, r, NVME_SC_INTERNAL_ERROR);
		return;
	}
	/* What does not persist any more leaves no file. */
	job->text.iov_len =
		job->next->ptpl ? tgt_resv_encode(job->next, &owner, job->text.iov_base) : 0;
	job->reactor = r;
	io_op_init(&job->op, saved);
	io_state_save(r->loop, &job->op, resv_of(job)->path, &job->text);
}

/* This job is the only one that may change the state now, so the copy stays true. */
static void start(struct tgt_resv_job *job, struct tgt_reactor *r)
{
	struct tgt_resv *resv = resv_of(job);
	struct target *t = target_of(job);
	bool changed, persists;

	target_lock(t);
	if (resv->state)
		*job->next = *resv->state;
	target_unlock(t);
	persists = job->next->ptpl;
	job->status = tgt_resv_apply(job->next, &job->cmd, &job->told);
	changed = resv->state ? memcmp(resv->state, job->next, sizeof(*job->next)) != 0 : true;
	persists |= job->next->ptpl;
	if (!nvme_status_ok(job->status) || !changed)
		finish(job, r);
	else if (tgt_resv_view_new(job->next, &job->view) < 0)
		fail(job, r, NVME_SC_INTERNAL_ERROR);
	else if (persists)
		save(job, r);
	else
		publish(job, r);
}

static struct tgt_resv_job *new_job(const struct target *t)
{
	struct tgt_resv_job *job =
		mem_zalloc(sizeof(*job) + t->reactor_count * sizeof(job->cores[0]));

	if (!job)
		return NULL;
	job->next = mem_zalloc(sizeof(*job->next));
	if (!job->next)
		return mem_free(job);
	list_init(&job->link);
	return job;
}

void tgt_resv_change(struct tgt_req *req, const struct tgt_ns *ns, const struct tgt_resv_cmd *cmd,
		     void (*done)(struct tgt_req *req, struct nvme_status st))
{
	struct tgt_assoc *a = req->assoc;
	struct tgt_resv *resv = &ns->backing->resv;
	struct tgt_resv_job *job = new_job(a->target);
	bool first;

	if (!job) {
		done(req, nvme_status(NVME_SC_INTERNAL_ERROR));
		return;
	}
	job->req = req;
	job->ns = ns;
	job->cmd = *cmd;
	job->done = done;
	if (req->state != TGT_REQ_PARKED)
		tgt_req_set_state(req, TGT_REQ_PARKED);
	a->away++;
	target_lock(a->target);
	first = list_empty(&resv->jobs);
	list_add_tail(&resv->jobs, &job->link);
	target_unlock(a->target);
	if (first)
		start(job, a->reactor);
}
