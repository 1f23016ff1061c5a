/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Controllers: making and ending them, their queues. Registers are in property.c, the keep alive
 * timer in keep-alive.c.
 */
#include "target/ctrl.h"

#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "nvme/cpl.h"
#include "nvme/log.h"
#include "target/assoc.h"
#include "target/conn.h"
#include "target/core.h"
#include "target/discovery.h"
#include "target/fence.h"
#include "target/keep-alive.h"
#include "target/remove.h"

bool tgt_host_same(const struct tgt_host_id *a, const struct tgt_host_id *b)
{
	static const uint8_t none[NVME_HOSTID_SIZE];

	if (memcmp(a->id, b->id, sizeof(a->id)) == 0 && memcmp(a->id, none, sizeof(none)) != 0)
		return true;
	return strcmp(a->nqn, b->nqn) == 0;
}

/* ---- making one ------------------------------------------------------------------------------ */

static uint32_t count_of_host(struct tgt_subsys *s, const struct tgt_host_id *host)
{
	struct tgt_ctrl *c;
	uint32_t n = 0;

	list_for_each_entry(c, &s->ctrls, link)
		n += tgt_host_same(&c->host, host);
	return n;
}

/*
 * The next identifier that is free, going round, so that one is not used again soon after its
 * controller ended. The list is in ascending order; @ret_after is where the new one goes in.
 */
static uint16_t free_cntlid(struct tgt_subsys *s, struct list **ret_after)
{
	uint32_t id = s->last_cntlid;

	/* There are fewer controllers than identifiers: limits.controllers. */
	for (;;) {
		struct list *after = &s->ctrls;
		struct tgt_ctrl *c;
		bool taken = false;

		id = id >= NVME_CNTLID_MAX ? 1 : id + 1;
		list_for_each_entry(c, &s->ctrls, link) {
			if (c->cntlid > id)
				break;
			taken = c->cntlid == id;
			after = &c->link;
		}
		if (!taken) {
			*ret_after = after;
			s->last_cntlid = (uint16_t)id;
			return (uint16_t)id;
		}
	}
}

static struct tgt_ctrl *alloc_ctrl(const struct target *t)
{
	struct tgt_ctrl *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->queues = mem_calloc(t->limits.io_queues + 1u, sizeof(c->queues[0]));
	if (!c->queues)
		return mem_free(c);
	list_init(&c->link);
	return c;
}

static void free_ctrl(struct tgt_ctrl *c)
{
	struct tgt_subsys *s = c->subsys;

	mem_free(c->queues);
	mem_free(c);
	s->users--;
	tgt_subsys_step_end(s);
}

struct nvme_status tgt_ctrl_new(struct tgt_conn *conn, struct tgt_subsys *s,
				const struct tgt_host_id *host, struct tgt_ctrl **ret_ctrl)
{
	struct target *t = s->target;
	struct list *after;
	struct tgt_ctrl *c;

	if (s->ctrl_count >= t->limits.controllers ||
	    count_of_host(s, host) >= t->limits.controllers_per_host)
		return nvme_status(NVME_SC_CONNECT_BUSY);
	c = alloc_ctrl(t);
	if (!c)
		return nvme_status(NVME_SC_INTERNAL_ERROR);
	c->target = t;
	c->subsys = s;
	s->users++;
	c->listener = conn->assoc.listener;
	c->local = *io_stream_local(conn->stream);
	c->host = *host;
	c->cntlid = free_cntlid(s, &after);
	tgt_features_init(c);
	tgt_keep_alive_init(c);
	list_add_head(after, &c->link);
	s->ctrl_count++;
	tgt_ctrl_get(c, false); /* until its admin queue holds it: barriers come and go meanwhile */
	if (tgt_fence_new_ctrl(c) < 0) {
		list_del(&c->link);
		s->ctrl_count--;
		c->gone = true;
		tgt_ctrl_put(c, false);
		return nvme_status(NVME_SC_INTERNAL_ERROR);
	}
	tgt_ctrl_attach(c, conn, 0);
	tgt_ctrl_put(c, false);
	if (s->discovery)
		tgt_discovery_begin(c);
	*ret_ctrl = c;
	return nvme_status_success();
}

struct tgt_ctrl *tgt_ctrl_find(struct tgt_subsys *s, uint16_t cntlid)
{
	struct tgt_ctrl *c;

	list_for_each_entry(c, &s->ctrls, link)
		if (c->cntlid == cntlid)
			return c;
	return NULL;
}

/* ---- references ------------------------------------------------------------------------------ */

void tgt_ctrl_get(struct tgt_ctrl *c, bool io)
{
	c->refs++;
	c->io_refs += io;
}

void tgt_ctrl_put(struct tgt_ctrl *c, bool io)
{
	INVARIANT(c->refs > 0 && c->io_refs >= io);
	c->io_refs -= io;
	if (--c->refs > 0)
		return;
	INVARIANT(c->gone);
	free_ctrl(c);
}

/* ---- queues ---------------------------------------------------------------------------------- */

void tgt_ctrl_attach(struct tgt_ctrl *c, struct tgt_conn *conn, uint16_t qid)
{
	struct tgt_assoc *a = &conn->assoc;

	INVARIANT(!c->queues[qid] && !a->ctrl);
	tgt_ctrl_get(c, qid > 0);
	c->queues[qid] = conn;
	if (qid == 0)
		c->admin = conn;
	else
		c->io_queues++;
	a->ctrl = c;
	a->qid = qid;
	a->core = &a->reactor->subsystems[c->subsys->index];
}

void tgt_ctrl_end_io_queues(struct tgt_ctrl *c)
{
	for (uint32_t qid = 1; qid <= c->target->limits.io_queues; qid++) {
		if (!c->queues[qid])
			continue;
		/* From now on nothing of the host overtakes what they still do. */
		tgt_fence_doom(&c->queues[qid]->assoc);
		tgt_conn_notify(c->queues[qid], TGT_NOTICE_GONE);
	}
}

static void keep_stats(struct tgt_ctrl *c, const struct tgt_assoc *a)
{
	tgt_io_counters_add(c->gone ? &c->subsys->io : &c->io, &a->io);
}

/* The admin queue has ended, and the controller with it. */
static void end_ctrl(struct tgt_ctrl *c)
{
	c->gone = true;
	c->admin = NULL;
	/*
	 * It stays ready: what the host still sends on I/O queues until they end is served as what came
	 * before, and the fence waits for it. "Command Sequence Error, do not retry" would go through to
	 * who does the I/O, and a lost connection must not.
	 */
	list_del(&c->link);
	c->subsys->ctrl_count--;
	target_io_stats_add(&c->subsys->io, &c->io);
	tgt_ctrl_end_io_queues(c);
}

void tgt_ctrl_detach(struct tgt_conn *conn)
{
	struct tgt_assoc *a = &conn->assoc;
	struct tgt_ctrl *c = a->ctrl;

	INVARIANT(c->queues[a->qid] == conn);
	c->queues[a->qid] = NULL;
	/* First: while the controller is still in the list, its own queues are fenced as well. */
	tgt_fence_died(a);
	keep_stats(c, a);
	if (a->qid == 0)
		end_ctrl(c);
	else
		c->io_queues--;
	/* An admin queue that is to end in peace waits for the others. */
	if (c->admin && c->io_queues == 0)
		tgt_conn_notify(c->admin, TGT_NOTICE_EVENTS);
}

void tgt_ctrl_io_stats(struct tgt_ctrl *c, struct target_io_stats *ret_stats)
{
	*ret_stats = c->io;
	for (uint32_t qid = 1; qid <= c->target->limits.io_queues; qid++)
		if (c->queues[qid])
			tgt_io_counters_add(ret_stats, &c->queues[qid]->assoc.io);
}

/* ---- the error log --------------------------------------------------------------------------- */

void tgt_ctrl_log_error(struct tgt_ctrl *c, const struct tgt_req *req, uint16_t qid)
{
	bool io = qid > 0 && req->ns;
	struct nvme_log_error e = {
		.sqid = cpu_to_le16(qid),
		.cid = cpu_to_le16(tgt_req_cid(req)),
		.status = cpu_to_le16(nvme_status_encode(req->status)),
		.location = cpu_to_le16(UINT16_MAX),
		.lba = cpu_to_le64(io ? nvme_cmd_slba(&req->cmd) : 0),
		.nsid = cpu_to_le32(req->cmd.opc == NVME_OPC_FABRICS ? 0
								     : nvme_cmd_nsid(&req->cmd)),
		.trtype = NVME_TRTYPE_TCP,
	};

	target_lock(c->target);
	e.count = cpu_to_le64(c->error_count + 1);
	c->errors[c->error_count++ % TGT_ERROR_LOG] = e;
	target_unlock(c->target);
}
