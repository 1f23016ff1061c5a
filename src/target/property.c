/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties; the idea is in property.h.
 *
 * CSTS.RDY is not kept but made when asked for: a controller is ready when it is enabled, and after
 * a reset it stays so until its I/O queues and all they had in the store are gone, so that a host
 * that waits for RDY to fall knows that nothing of before will happen any more. Likewise a normal
 * shutdown is complete only when every namespace has been flushed.
 */
#include "target/property.h"

#include <stddef.h>

#include "base/util.h"
#include "nvme/fabrics.h"
#include "nvme/reg.h"
#include "target/aen.h"
#include "target/assoc.h"
#include "target/conn.h"
#include "target/core.h"
#include "target/ctrl.h"

enum {
	IOSQES = 6, /* log2 of 64 bytes */
	IOCQES = 4, /* log2 of 16 bytes */
};

/* ---- reading --------------------------------------------------------------------------------- */

uint64_t tgt_ctrl_cap(const struct tgt_ctrl *c)
{
	return nvme_cap_encode((struct nvme_cap){
		.max_entries = c->target->limits.queue_depth,
		.cqr = true,
		.to = TGT_READY_TIMEOUT_MS / NVME_CAP_TO_UNIT_MS,
		.css = NVME_CAP_CSS_NVM | NVME_CAP_CSS_IO_COMMAND_SETS,
		.crms = NVME_CAP_CRMS_WITH_MEDIA,
	});
}

uint32_t tgt_ctrl_csts(struct tgt_ctrl *c)
{
	uint32_t csts = c->csts;
	bool busy;

	if (c->csts & NVME_CSTS_CFS)
		return csts;
	if (c->resetting) {
		target_lock(c->target);
		busy = c->io_refs > 0;
		target_unlock(c->target);
		c->resetting = busy;
	}
	if ((c->cc & NVME_CC_EN) || c->resetting)
		csts |= NVME_CSTS_RDY;
	return csts;
}

static void get_exec(struct tgt_req *req)
{
	struct tgt_ctrl *c = req->assoc->ctrl;

	switch (le32_to_cpu(nvme_cmd_as_property(&req->cmd)->ofst)) {
	case NVME_REG_CAP:
		tgt_req_succeed(req, tgt_ctrl_cap(c));
		break;
	case NVME_REG_VS:
		tgt_req_succeed(req, NVME_VS_2_0);
		break;
	case NVME_REG_CC:
		tgt_req_succeed(req, c->cc);
		break;
	case NVME_REG_CSTS:
		tgt_req_succeed(req, tgt_ctrl_csts(c));
		break;
	case NVME_REG_CRTO:
		tgt_req_succeed(req, nvme_crto(TGT_READY_TIMEOUT_MS / NVME_CAP_TO_UNIT_MS, 0));
		break;
	default:
		tgt_req_fail(req, NVME_SC_INVALID_FIELD);
	}
}

struct nvme_status tgt_property_get_parse(struct tgt_req *req)
{
	const struct nvme_property_cmd *cmd = nvme_cmd_as_property(&req->cmd);
	unsigned int size = nvme_property_size(cmd);

	if (size == 0 || size != nvme_reg_size(le32_to_cpu(cmd->ofst)))
		return nvme_status_dnr(NVME_SC_INVALID_FIELD);
	req->exec = get_exec;
	return nvme_status_success();
}

/* ---- shutdown -------------------------------------------------------------------------------- */

static void set_shst(struct tgt_ctrl *c, uint32_t shst)
{
	c->csts = (c->csts & ~(uint32_t)NVME_CSTS_SHST_MASK) | shst;
}

static void shutdown_done(struct tgt_ctrl *c, bool good)
{
	tgt_ns_pin_put(c->shutdown.pin);
	c->shutdown.running = false;
	if (c->shutdown.again || (c->csts & NVME_CSTS_SHST_MASK) != NVME_CSTS_SHST_OCCURRING)
		return; /* a reset came in between */
	set_shst(c, NVME_CSTS_SHST_COMPLETE);
	/*
	 * A flush that failed is a shutdown that did not happen: the host sees the controller fail.
	 */
	if (!good)
		c->csts |= NVME_CSTS_CFS;
}

/* Flushes namespace after namespace, as long as that takes no time. */
static void shutdown_next(struct tgt_ctrl *c)
{
	struct tgt_shutdown *sd = &c->shutdown;
	bool good = true;

	while (good) {
		const struct tgt_ns *ns = tgt_ns_next(sd->pin->table, sd->nsid);

		if (!ns)
			break;
		sd->nsid = ns->nsid;
		if (!ns->volatile_cache)
			continue;
		sd->op.kind = STORE_FLUSH;
		sd->op.flags = 0;
		sd->op.offset = sd->op.length = 0;
		sd->op.iov = NULL;
		sd->op.niov = 0;
		if (!store_submit(ns->store, c->admin->assoc.reactor->loop, &sd->op))
			return;
		good = sd->op.result == 0;
	}
	shutdown_done(c, good);
}

static void begin_flushing(struct tgt_ctrl *c)
{
	struct tgt_shutdown *sd = &c->shutdown;

	sd->running = true;
	sd->again = false;
	sd->nsid = 0;
	sd->pin = tgt_ns_pin_get(sd->admin->core->pin);
	shutdown_next(c);
}

static void shutdown_flushed(struct store_op *op)
{
	struct tgt_ctrl *c = container_of(op, struct tgt_ctrl, shutdown.op);
	struct tgt_assoc *a = c->shutdown.admin;
	bool dead = a->state == TGT_ASSOC_DEAD;

	if (op->result < 0 || dead)
		shutdown_done(c, op->result == 0);
	else
		shutdown_next(c);
	if (!c->shutdown.running && c->shutdown.again && !dead)
		begin_flushing(c);
	if (!c->shutdown.running) {
		a->in_flight--; /* it counted as a command, so that the connection waited for it */
		tgt_conn_kick(tgt_conn_of(a));
	}
}

static void start_shutdown(struct tgt_ctrl *c, uint8_t shn)
{
	struct tgt_assoc *a = &c->admin->assoc;

	if (shn != NVME_CC_SHN_NORMAL || c->subsys->discovery) {
		set_shst(c, NVME_CSTS_SHST_COMPLETE);
		return;
	}
	set_shst(c, NVME_CSTS_SHST_OCCURRING);
	/* What is being flushed for one before a reset is older than what was written since. */
	if (c->shutdown.running) {
		c->shutdown.again = true;
		return;
	}
	c->shutdown.admin = a;
	c->shutdown.op.done = shutdown_flushed;
	a->in_flight++;
	begin_flushing(c);
	if (!c->shutdown.running)
		a->in_flight--;
}

/* ---- CC -------------------------------------------------------------------------------------- */

/* What can be enabled. Over fabrics an I/O queue has entries of one size (3.1.3.5). */
static bool acceptable(const struct tgt_ctrl *c, struct nvme_cc cc)
{
	if (cc.mps != 0 || cc.ams != 0 || (cc.css != NVME_CC_CSS_NVM && cc.css != NVME_CC_CSS_ALL))
		return false;
	return c->subsys->discovery || (cc.iosqes == IOSQES && cc.iocqes == IOCQES);
}

static void enable(struct tgt_ctrl *c, struct nvme_cc cc)
{
	if (!acceptable(c, cc)) {
		c->csts |= NVME_CSTS_CFS;
		return;
	}
	c->csts = 0;
	atomic_store_explicit(&c->ready, true, memory_order_release);
}

/* Controller Reset (3.7.2): I/O queues end, all that was set since the start is forgotten. */
static void reset(struct tgt_ctrl *c)
{
	atomic_store_explicit(&c->ready, false, memory_order_release);
	target_lock(c->target);
	tgt_ctrl_end_io_queues(c);
	c->resetting = c->io_refs > 0;
	c->events.pending = c->events.masked = 0;
	target_unlock(c->target);
	c->csts = 0;
	c->shutdown.again = false;
	tgt_features_init(c);
	tgt_events_abort(&c->admin->assoc);
}

static void set_exec(struct tgt_req *req)
{
	uint64_t value = le64_to_cpu(nvme_cmd_as_property(&req->cmd)->value);
	struct tgt_ctrl *c = req->assoc->ctrl;
	struct nvme_cc was = nvme_cc_decode(c->cc);
	struct nvme_cc cc = nvme_cc_decode((uint32_t)value);

	/* Not before the reset that is under way has ended. */
	if (cc.en && !was.en && (tgt_ctrl_csts(c) & NVME_CSTS_RDY)) {
		tgt_req_fail(req, NVME_SC_SEQUENCE_ERROR);
		return;
	}
	c->cc = (uint32_t)value;
	if (cc.en && !was.en)
		enable(c, cc);
	else if (!cc.en && was.en)
		reset(c);
	if (cc.shn != NVME_CC_SHN_NONE && was.shn == NVME_CC_SHN_NONE)
		start_shutdown(c, cc.shn);
	tgt_req_succeed(req, 0);
}

struct nvme_status tgt_property_set_parse(struct tgt_req *req)
{
	const struct nvme_property_cmd *cmd = nvme_cmd_as_property(&req->cmd);

	/* CC is the only one that can be set; CAP.NSSRS says that NSSR is not there. */
	if (nvme_property_size(cmd) != 4 || le32_to_cpu(cmd->ofst) != NVME_REG_CC)
		return nvme_status_dnr(NVME_SC_INVALID_FIELD);
	req->exec = set_exec;
	return nvme_status_success();
}
