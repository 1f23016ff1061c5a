/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log pages; the idea is in log.h. A new log is a producer and a line in the table at the end.
 */
#include "target/log.h"

#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "nvme/cmd-admin.h"
#include "nvme/log.h"
#include "target/admin.h"
#include "target/aen.h"
#include "target/assoc.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/discovery.h"
#include "target/feature.h"
#include "target/identify.h"
#include "target/io_cmd.h"
#include "target/resv-ns.h"
#include "target/window.h"

static uint32_t log_effects(uint8_t lid, bool discovery);

static struct nvme_status supported(struct tgt_req *req, struct tgt_window *w)
{
	bool discovery = req->assoc->ctrl->subsys->discovery;

	for (unsigned int lid = 0; lid < 256; lid++) {
		le32 v = cpu_to_le32(log_effects((uint8_t)lid, discovery));

		tgt_window_put(w, &v, sizeof(v));
	}
	return nvme_status_success();
}

/* Newest first; what is not there is zero, count included. */
static struct nvme_status errors(struct tgt_req *req, struct tgt_window *w)
{
	struct tgt_ctrl *c = req->assoc->ctrl;
	struct nvme_log_error page[TGT_ERROR_LOG] = { 0 };

	target_lock(c->target);
	for (uint64_t i = 0; i < MIN(c->error_count, (uint64_t)TGT_ERROR_LOG); i++)
		page[i] = c->errors[(c->error_count - 1 - i) % TGT_ERROR_LOG];
	target_unlock(c->target);
	tgt_window_put(w, page, c->subsys->discovery ? sizeof(page[0]) : sizeof(page));
	return nvme_status_success();
}

/* Thousands of 512-byte units, rounded up (5.16.1.3). */
static struct nvme_u128 data_units(uint64_t bytes)
{
	return nvme_u128(DIV_ROUND_UP(bytes, UINT64_C(512000)));
}

/*
 * Of the subsystem. Nothing here has a temperature or wears out, so those fields say what raises no
 * alarm.
 */
static struct nvme_status smart(struct tgt_req *req, struct tgt_window *w)
{
	struct tgt_ctrl *c = req->assoc->ctrl;
	uint32_t nsid = nvme_cmd_nsid(&req->cmd);
	struct nvme_log_smart page = { .spare = 100 };
	struct target_io_stats io;

	if (nsid != NVME_NSID_NONE && nsid != NVME_NSID_ALL)
		return nvme_status_dnr(NVME_SC_INVALID_FIELD); /* LPA: not per namespace */
	target_lock(c->target);
	tgt_subsys_io_stats(c->subsys, &io);
	page.error_log_entries = nvme_u128(c->error_count);
	target_unlock(c->target);
	page.data_units_read = data_units(io.read_bytes);
	page.data_units_written = data_units(io.write_bytes);
	page.host_reads = nvme_u128(io.reads);
	page.host_writes = nvme_u128(io.writes);
	tgt_window_put(w, &page, sizeof(page));
	return nvme_status_success();
}

static struct nvme_status firmware(struct tgt_req *req, struct tgt_window *w)
{
	struct nvme_log_firmware page = { .afi = 1 };

	tgt_identify_firmware(page.frs[0]);
	tgt_window_put(w, &page, sizeof(page));
	return nvme_status_success();
}

static struct nvme_status changed_ns(struct tgt_req *req, struct tgt_window *w)
{
	struct tgt_ctrl *c = req->assoc->ctrl;
	struct nvme_log_changed_ns page = { 0 };

	target_lock(c->target);
	if (c->events.changed_overflow)
		page.nsid[0] = cpu_to_le32(NVME_NSID_ALL);
	else
		for (uint32_t i = 0; i < c->events.changed_count; i++)
			page.nsid[i] = cpu_to_le32(c->events.changed[i]);
	if (!nvme_cmd_get_log(&req->cmd).rae) {
		c->events.changed_count = 0;
		c->events.changed_overflow = false;
	}
	target_unlock(c->target);
	tgt_window_put(w, &page, sizeof(page));
	return nvme_status_success();
}

static struct nvme_status effects(struct tgt_req *req, struct tgt_window *w)
{
	bool discovery = req->assoc->ctrl->subsys->discovery;
	struct nvme_log_effects page = { 0 };

	for (unsigned int opc = 0; opc < 256; opc++) {
		page.acs[opc] = cpu_to_le32(tgt_admin_effects((uint8_t)opc, discovery));
		if (!discovery)
			page.iocs[opc] = cpu_to_le32(tgt_io_effects((uint8_t)opc));
	}
	tgt_window_put(w, &page, sizeof(page));
	return nvme_status_success();
}

/* One group, always optimized: every path to a store of ours is as good as another (5.16.1.13). */
static struct nvme_status ana(struct tgt_req *req, struct tgt_window *w)
{
	const struct tgt_ns_table *t = req->assoc->core->pin->table;
	bool groups_only = nvme_cmd_get_log(&req->cmd).lsp & NVME_ANA_LSP_GROUPS_ONLY;
	struct nvme_log_ana head = { .ngrps = cpu_to_le16(1) };
	struct nvme_ana_desc desc = {
		.grpid = cpu_to_le32(TGT_ANA_GROUP),
		.nnsids = cpu_to_le32(groups_only ? 0 : t->count),
		.state = NVME_ANA_OPTIMIZED,
	};

	tgt_window_put(w, &head, sizeof(head));
	tgt_window_put(w, &desc, sizeof(desc));
	if (groups_only)
		return nvme_status_success();
	for (const struct tgt_ns *ns = tgt_ns_next(t, 0); ns; ns = tgt_ns_next(t, ns->nsid)) {
		le32 nsid = cpu_to_le32(ns->nsid);

		tgt_window_put(w, &nsid, sizeof(nsid));
	}
	return nvme_status_success();
}

static struct nvme_status feature_effects(struct tgt_req *req, struct tgt_window *w)
{
	bool discovery = req->assoc->ctrl->subsys->discovery;

	for (unsigned int fid = 0; fid < 256; fid++) {
		le32 v = cpu_to_le32(tgt_feature_effects((uint8_t)fid, discovery));

		tgt_window_put(w, &v, sizeof(v));
	}
	return nvme_status_success();
}

/* No command of the management interface is supported. */
static struct nvme_status mi_effects(struct tgt_req *req, struct tgt_window *w)
{
	tgt_window_put(w, NULL, 4096);
	return nvme_status_success();
}

/* ---- the table ------------------------------------------------------------------------------- */

enum {
	ON_IO = 1 << 0,
	ON_DISCOVERY = 1 << 1,
};

static const struct log_page {
	uint8_t lid;
	uint8_t on;
	/* Reading it without RAE lets this event come again; TGT_EVENT_COUNT: none. */
	uint8_t event;
	struct nvme_status (*produce)(struct tgt_req *req, struct tgt_window *w);
} table[] = {
	{ NVME_LID_SUPPORTED_LOGS, ON_IO | ON_DISCOVERY, TGT_EVENT_COUNT, supported },
	{ NVME_LID_ERROR, ON_IO | ON_DISCOVERY, TGT_EVENT_COUNT, errors },
	{ NVME_LID_SMART, ON_IO, TGT_EVENT_COUNT, smart },
	{ NVME_LID_FIRMWARE_SLOT, ON_IO, TGT_EVENT_COUNT, firmware },
	{ NVME_LID_CHANGED_NS, ON_IO, TGT_EVENT_NS, changed_ns },
	{ NVME_LID_EFFECTS, ON_IO | ON_DISCOVERY, TGT_EVENT_COUNT, effects },
	{ NVME_LID_ANA, ON_IO, TGT_EVENT_ANA, ana },
	{ NVME_LID_FEATURE_EFFECTS, ON_IO | ON_DISCOVERY, TGT_EVENT_COUNT, feature_effects },
	{ NVME_LID_NVME_MI_EFFECTS, ON_IO | ON_DISCOVERY, TGT_EVENT_COUNT, mi_effects },
	{ NVME_LID_RESERVATION, ON_IO, TGT_EVENT_RESERVATION, tgt_resv_log_page },
	{ NVME_LID_DISCOVERY, ON_DISCOVERY, TGT_EVENT_DISCOVERY, tgt_discovery_produce },
};

static const struct log_page *find(uint8_t lid, bool discovery)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].lid == lid)
			return table[i].on & (discovery ? ON_DISCOVERY : ON_IO) ? &table[i] : NULL;
	return NULL;
}

static uint32_t log_effects(uint8_t lid, bool discovery)
{
	return find(lid, discovery) ? NVME_LOG_SUPPORTED : 0;
}

static void log_exec(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;
	struct nvme_get_log g = nvme_cmd_get_log(&req->cmd);
	const struct log_page *p = find(g.lid, a->ctrl->subsys->discovery);
	struct nvme_status st;
	struct tgt_window w;

	tgt_window_init(&w, req, g.offset, g.bytes);
	st = p->produce(req, &w);
	/* Past the end: refused. Across it: what there is, then zeroes (5.16, Log Page Offset). */
	if (g.offset > tgt_window_end(&w))
		st = nvme_status_dnr(NVME_SC_INVALID_FIELD);
	tgt_req_complete(req, st);
	/* After it, so that the host has the log before it hears that it has changed again. */
	if (nvme_status_ok(st) && !g.rae && p->event != TGT_EVENT_COUNT)
		tgt_event_read(a, p->event);
}

struct nvme_status tgt_log_parse(struct tgt_req *req)
{
	struct nvme_get_log g = nvme_cmd_get_log(&req->cmd);

	if (!find(g.lid, req->assoc->ctrl->subsys->discovery))
		return nvme_status_dnr(NVME_SC_LOG_PAGE_INVALID);
	if (g.ot || g.offset % 4 != 0)
		return nvme_status_dnr(NVME_SC_INVALID_FIELD);
	req->exec = log_exec;
	return tgt_needs_output(req, g.bytes);
}
