/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Setting up a controller, one command per state (NVMe Base 2.0, 3.5.1 for message-based
 * controllers): capabilities, enable, ready, identify, features, number of queues, I/O queues. What
 * is optional and refused is done without (I021); what is granted less than asked for is used (I012).
 * And its counterpart at the end, the shutdown notification (3.6.1).
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "host/ctrl.h"
#include "nvme/cmd.h"
#include "nvme/feature.h"

#define MS UINT64_C(1000000)

/* How often CSTS is looked at. */
#define POLL_NS (10 * MS)
/* Larger commands than this bring nothing, and MDTS may say that there is no limit. */
#define MAX_TRANSFER_SHIFT 22 /* 4 MiB */

static void on_step(struct host_admin *a)
{
	struct host_ctrl *c = container_of(a, struct host_ctrl, step);

	if (a->error < 0 || c->state != c->step_state || c->closing)
		return;
	c->step_done(c, nvme_cpl_status(&a->cpl));
}

void host_setup_step(struct host_ctrl *c, uint32_t bytes,
		     void (*done)(struct host_ctrl *c, struct nvme_status st))
{
	c->step_iov = (struct iovec){ .iov_base = c->page, .iov_len = bytes };
	c->step.iov = &c->step_iov;
	c->step.niov = bytes ? 1 : 0;
	c->step.bytes = bytes;
	c->step.done = on_step;
	c->step_done = done;
	c->step_state = c->state;
	host_admin_issue(c, &c->step, false);
}

/* A step without which there is no controller. */
static bool mandatory(struct host_ctrl *c, struct nvme_status st)
{
	if (nvme_status_ok(st))
		return true;
	host_ctrl_fail(c, -nvme_status_to_errno(st), "%s: %s", host_state_name(c->state),
		       nvme_status_name(st));
	return false;
}

/* ---- CAP, VS, CC, CSTS --------------------------------------------------------------------- */

static void on_cap(struct host_ctrl *c, struct nvme_status st)
{
	if (!mandatory(c, st))
		return;
	c->cap = nvme_cap_decode(nvme_cpl_u64(&c->step.cpl));
	if (c->cap.max_entries < 2) {
		host_ctrl_fail(c, EPROTO, "the controller's queues have %u entries",
			       c->cap.max_entries);
		return;
	}
	c->depth = MIN(c->config.depth, c->cap.max_entries - 1);
	host_ctrl_set(c, HOST_STATE_VERSION);
}

void host_setup_cap(struct host_ctrl *c)
{
	nvme_cmd_init_property_get(&c->step.cmd, NVME_REG_CAP, 8);
	host_setup_step(c, 0, on_cap);
}

static void on_version(struct host_ctrl *c, struct nvme_status st)
{
	if (!mandatory(c, st))
		return;
	c->version = nvme_cpl_dw0(&c->step.cpl);
	host_ctrl_set(c, HOST_STATE_ENABLE);
}

void host_setup_version(struct host_ctrl *c)
{
	nvme_cmd_init_property_get(&c->step.cmd, NVME_REG_VS, 4);
	host_setup_step(c, 0, on_version);
}

static uint32_t cc_value(const struct host_ctrl *c, uint8_t shn)
{
	struct nvme_cc cc = {
		.en = true,
		.css = NVME_CC_CSS_NVM,
		.mps = c->cap.mpsmin,
		.shn = shn,
		.iosqes = 6,
		.iocqes = 4,
	};

	if (!(c->cap.css & NVME_CAP_CSS_NVM) && (c->cap.css & NVME_CAP_CSS_ADMIN_ONLY))
		cc.css = NVME_CC_CSS_ADMIN;
	return nvme_cc_encode(cc);
}

static void on_enable(struct host_ctrl *c, struct nvme_status st)
{
	if (!mandatory(c, st))
		return;
	c->ready_ns = io_now(c->loop) + MAX(c->cap.to, 1) * (NVME_CAP_TO_UNIT_MS * MS);
	host_ctrl_set(c, HOST_STATE_READY);
}

void host_setup_enable(struct host_ctrl *c)
{
	nvme_cmd_init_property_set(&c->step.cmd, NVME_REG_CC, 4,
				   cc_value(c, NVME_CC_SHN_NONE));
	host_setup_step(c, 0, on_enable);
}

static void on_csts(struct host_ctrl *c, struct nvme_status st)
{
	uint32_t csts = nvme_cpl_dw0(&c->step.cpl);

	if (!mandatory(c, st))
		return;
	if (csts & NVME_CSTS_CFS)
		host_ctrl_fail(c, EIO, "the controller reports a fatal status");
	else if (csts & NVME_CSTS_RDY)
		host_ctrl_set(c, HOST_STATE_IDENTIFY);
	else if (io_now(c->loop) >= c->ready_ns)
		host_ctrl_fail(c, ETIMEDOUT, "the controller did not become ready");
	else if (io_timer_start(c->loop, &c->timer, POLL_NS) < 0)
		host_ctrl_fail(c, ENOMEM, "no memory for a timer");
}

void host_setup_ready(struct host_ctrl *c)
{
	nvme_cmd_init_property_get(&c->step.cmd, NVME_REG_CSTS, 4);
	host_setup_step(c, 0, on_csts);
}

/* ---- Identify ------------------------------------------------------------------------------ */

/* In bytes: 2 to the power of @field pages, 0 no limit of its own. */
static uint32_t pages(const struct host_ctrl *c, uint8_t field)
{
	unsigned int shift = 12u + c->cap.mpsmin + field;

	return field == 0 || shift > MAX_TRANSFER_SHIFT ? UINT32_C(1) << MAX_TRANSFER_SHIFT
							: UINT32_C(1) << shift;
}

static uint32_t in_capsule(const struct host_ctrl *c)
{
	uint64_t capsule = (uint64_t)le32_to_cpu(c->id.ioccsz) * 16;

	/* NVMe/TCP has no ICDOFF (3.3.1); with one, or without offsets, there is no in-capsule data. */
	if (!c->config.in_capsule || le16_to_cpu(c->id.icdoff) != 0 ||
	    !(le32_to_cpu(c->id.sgls) & NVME_SGLS_OFFSET) || capsule <= sizeof(struct nvme_cmd))
		return 0;
	return (uint32_t)MIN(capsule - sizeof(struct nvme_cmd), (uint64_t)c->max_transfer);
}

static void take_identity(struct host_ctrl *c)
{
	uint16_t maxcmd;

	memcpy(&c->id, c->page, sizeof(c->id));
	c->identified = true;
	c->discovery |= c->id.cntrltype == NVME_CNTRLTYPE_DISCOVERY;
	c->max_transfer = pages(c, c->id.mdts);
	c->max_in_capsule = in_capsule(c);
	c->max_zeroes = 0;
	maxcmd = le16_to_cpu(c->id.maxcmd);
	if (maxcmd > 0)
		c->depth = MIN(c->depth, maxcmd);
	c->ka_off = le16_to_cpu(c->id.kas) == 0;
}

static void on_identify(struct host_ctrl *c, struct nvme_status st)
{
	const struct nvme_id_ctrl *id = (const struct nvme_id_ctrl *)(const void *)c->page;

	if (!mandatory(c, st))
		return;
	if (c->step.received != NVME_IDENTIFY_SIZE) {
		host_ctrl_fail(c, EPROTO, "Identify Controller brought %u bytes",
			       c->step.received);
		return;
	}
	if (le16_to_cpu(id->cntlid) != c->cntlid) {
		host_ctrl_fail(c, EPROTO, "Connect made controller %u, Identify says %u", c->cntlid,
			       le16_to_cpu(id->cntlid));
		return;
	}
	take_identity(c);
	host_keepalive_start(c);
	host_ctrl_set(c, c->discovery ? HOST_STATE_AEN : HOST_STATE_LIMITS);
}

void host_setup_identify(struct host_ctrl *c)
{
	nvme_cmd_init_identify(&c->step.cmd, NVME_CNS_CTRL, 0, 0, 0);
	host_setup_step(c, NVME_IDENTIFY_SIZE, on_identify);
}

/* Limits that MDTS does not cover; the data structure is optional. */
static void on_limits(struct host_ctrl *c, struct nvme_status st)
{
	const struct nvme_id_ctrl_nvm *id = (const struct nvme_id_ctrl_nvm *)(const void *)c->page;

	if (nvme_status_ok(st) && c->step.received == NVME_IDENTIFY_SIZE && id->wzsl > 0)
		c->max_zeroes = pages(c, id->wzsl);
	host_ctrl_set(c, HOST_STATE_BEHAVIOR);
}

void host_setup_limits(struct host_ctrl *c)
{
	if (c->version < NVME_VS_2_0) {
		host_ctrl_set(c, HOST_STATE_BEHAVIOR);
		return;
	}
	nvme_cmd_init_identify(&c->step.cmd, NVME_CNS_CSI_CTRL, 0, 0, NVME_CSI_NVM);
	host_setup_step(c, NVME_IDENTIFY_SIZE, on_limits);
}

/* ---- features ------------------------------------------------------------------------------ */

static void on_behavior(struct host_ctrl *c, struct nvme_status st)
{
	host_ctrl_set(c, HOST_STATE_AEN);
}

/* A controller with retry delays uses them only for hosts that say they look at them (ACRE). */
void host_setup_behavior(struct host_ctrl *c)
{
	struct nvme_host_behavior b = { .acre = 1 };

	if (!le16_to_cpu(c->id.crdt1) && !le16_to_cpu(c->id.crdt2) && !le16_to_cpu(c->id.crdt3)) {
		host_ctrl_set(c, HOST_STATE_AEN);
		return;
	}
	memcpy(c->page, &b, sizeof(b));
	nvme_cmd_init_set_features(&c->step.cmd, NVME_FID_HOST_BEHAVIOR, false, 0, 0);
	host_setup_step(c, sizeof(b), on_behavior);
}

static void after_events(struct host_ctrl *c)
{
	host_ctrl_set(c, c->discovery ? HOST_STATE_LIVE : HOST_STATE_QUEUES);
}

static void on_aen(struct host_ctrl *c, struct nvme_status st)
{
	after_events(c);
}

void host_setup_aen(struct host_ctrl *c)
{
	uint32_t want = c->discovery ? NVME_AEC_DISCOVERY : NVME_AEC_NS_ATTRIBUTE;
	uint32_t mask = le32_to_cpu(c->id.oaes) & want;

	if (mask == 0) {
		after_events(c);
		return;
	}
	nvme_cmd_init_set_features(&c->step.cmd, NVME_FID_ASYNC_EVENT_CONFIG, false, 0, mask);
	host_setup_step(c, 0, on_aen);
}

static void on_queues(struct host_ctrl *c, struct nvme_status st)
{
	struct nvme_queue_counts n = nvme_queue_counts_decode(nvme_cpl_dw0(&c->step.cpl));

	if (!mandatory(c, st))
		return;
	c->io_wanted = MIN(MIN(n.sq, n.cq), c->config.queues);
	host_ctrl_set(c, HOST_STATE_TIMES);
}

void host_setup_queues(struct host_ctrl *c)
{
	struct nvme_queue_counts want = { .sq = c->config.queues, .cq = c->config.queues };

	c->io_wanted = 0;
	if (c->config.queues == 0) {
		host_ctrl_set(c, HOST_STATE_TIMES);
		return;
	}
	nvme_cmd_init_set_features(&c->step.cmd, NVME_FID_NUMBER_OF_QUEUES, false, 0,
				   nvme_queue_counts_encode(want));
	host_setup_step(c, 0, on_queues);
}

static void on_times(struct host_ctrl *c, struct nvme_status st)
{
	c->times = nvme_status_ok(st);
	host_ctrl_set(c, HOST_STATE_NAMESPACES);
}

/* Our own extension: only of a controller that says it has it, hence of none but our own. */
void host_setup_times(struct host_ctrl *c)
{
	c->times = false;
	if (!c->config.times || c->io_wanted == 0 || !(nvme_vendor_caps(&c->id) & NVME_VENDOR_CAP_TIMES)) {
		host_ctrl_set(c, HOST_STATE_NAMESPACES);
		return;
	}
	nvme_cmd_init_set_features(&c->step.cmd, NVME_FID_VENDOR_TIMES, false, 0,
				   NVME_TIMES_ALL_QUEUES | NVME_TIMES_ENABLE);
	host_setup_step(c, 0, on_times);
}

/* ---- I/O queues ---------------------------------------------------------------------------- */

void host_setup_io(struct host_ctrl *c)
{
	struct host_queue_params p = {
		.config = &c->config,
		.cntlid = c->cntlid,
		.depth = c->depth,
		.entries = c->depth + 1,
		.max_in_capsule = c->max_in_capsule,
		.stage = c->config.stage,
	};
	int rc;

	c->io_up = 0;
	if (c->io_wanted == 0) {
		host_ctrl_set(c, HOST_STATE_LIVE);
		return;
	}
	for (unsigned int i = 0; i < c->io_wanted; i++) {
		p.qid = (uint16_t)(i + 1);
		rc = host_queue_start(&c->io[i], &p);
		if (rc < 0) {
			host_ctrl_fail(c, -rc, "no memory for I/O queue %u", p.qid);
			return;
		}
	}
}

/* ---- shutdown ------------------------------------------------------------------------------ */

static void on_shutdown(struct host_admin *a)
{
	struct host_ctrl *c = container_of(a, struct host_ctrl, shutdown);
	uint32_t csts = nvme_cpl_dw0(&a->cpl);

	if (a->error < 0 || c->state != HOST_STATE_SHUTDOWN)
		return;
	if (!nvme_status_ok(nvme_cpl_status(&a->cpl))) {
		host_ctrl_set(c, HOST_STATE_TEARDOWN);
		return;
	}
	if (!c->shutdown_sent) {
		c->shutdown_sent = true;
		host_setup_poll(c);
		return;
	}
	if ((csts & NVME_CSTS_SHST_MASK) == NVME_CSTS_SHST_COMPLETE ||
	    io_timer_start(c->loop, &c->timer, POLL_NS) < 0)
		host_ctrl_set(c, HOST_STATE_TEARDOWN);
}

void host_setup_shutdown(struct host_ctrl *c)
{
	c->shutdown.done = on_shutdown;
	nvme_cmd_init_property_set(&c->shutdown.cmd, NVME_REG_CC, 4,
				   cc_value(c, NVME_CC_SHN_NORMAL));
	host_admin_issue(c, &c->shutdown, false);
}

void host_setup_poll(struct host_ctrl *c)
{
	if (c->state == HOST_STATE_READY) {
		host_setup_ready(c);
	} else if (c->state == HOST_STATE_SHUTDOWN) {
		nvme_cmd_init_property_get(&c->shutdown.cmd, NVME_REG_CSTS, 4);
		host_admin_issue(c, &c->shutdown, false);
	}
}
