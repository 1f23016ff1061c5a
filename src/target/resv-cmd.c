/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservation Register, Acquire, Release and Report (NVMe Base 2.0, 7.2 to 7.5), the features that
 * go with them, and what a reservation means for every other command.
 */
#include <string.h>

#include "base/util.h"
#include "nvme/cmd-admin.h"
#include "nvme/cmd-nvm.h"
#include "nvme/feature.h"
#include "nvme/identify.h"
#include "target/admin.h"
#include "target/assoc.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/io_cmd.h"
#include "target/ns.h"
#include "target/resv-ns.h"
#include "target/window.h"

static struct nvme_status bad(enum nvme_sc code)
{
	return nvme_status_dnr(code);
}

/* ---- for every command ----------------------------------------------------------------------- */

static bool conflicts(const struct tgt_req *req, const struct tgt_ns *ns, enum tgt_access access)
{
	const struct tgt_assoc *a = req->assoc;
	const struct tgt_resv_view *v = ns->backing->cores[a->reactor->index].view;

	return v && !tgt_resv_view_allows(v, a->ctrl->host.id, access);
}

bool tgt_resv_conflicts(const struct tgt_req *req, enum tgt_access access)
{
	return req->ns && conflicts(req, req->ns, access);
}

bool tgt_resv_conflicts_anywhere(const struct tgt_req *req, enum tgt_access access)
{
	const struct tgt_ns_table *t = req->assoc->core->pin->table;

	for (const struct tgt_ns *ns = tgt_ns_next(t, 0); ns; ns = tgt_ns_next(t, ns->nsid))
		if (conflicts(req, ns, access))
			return true;
	return false;
}

/* ---- Register, Acquire, Release -------------------------------------------------------------- */

/*
 * A host that did not say who it is (a Host Identifier of 0) cannot be recognised when it comes
 * back, so it cannot be a registrant (Base 2.0, 5.27.1.25).
 */
static struct nvme_status find(struct tgt_req *req)
{
	static const uint8_t none[NVME_HOSTID_SIZE];
	struct nvme_status st = tgt_io_find_ns(req);

	if (nvme_status_ok(st) && memcmp(req->assoc->ctrl->host.id, none, sizeof(none)) == 0)
		return bad(NVME_SC_SEQUENCE_ERROR);
	return st;
}

static void exec_change(struct tgt_req *req)
{
	const struct nvme_cmd *c = &req->cmd;
	struct tgt_resv_cmd cmd = {
		.opc = c->opc,
		.action = nvme_resv_action(c),
		.type = nvme_resv_rtype(c),
		.cptpl = c->opc == NVME_NVM_RESV_REGISTER ? nvme_resv_cptpl(c) : NVME_CPTPL_KEEP,
		.ignore_key = nvme_resv_ignore_key(c),
		.may_persist = req->ns->backing->resv.path != NULL,
	};
	struct nvme_resv_keys keys = { 0 };
	size_t n = c->opc == NVME_NVM_RESV_RELEASE ? sizeof(keys.crkey) : sizeof(keys);

	/* The smallest piece of memory there is holds them. */
	INVARIANT(req->buf.niov > 0 && req->buf.iov[0].iov_len >= n);
	memcpy(&keys, req->buf.iov[0].iov_base, n);
	memcpy(cmd.host, req->assoc->ctrl->host.id, sizeof(cmd.host));
	cmd.crkey = le64_to_cpu(keys.crkey);
	cmd.key = le64_to_cpu(keys.key);
	tgt_resv_change(req, req->ns, &cmd, tgt_io_answer);
}

struct nvme_status tgt_resv_parse(struct tgt_req *req)
{
	struct nvme_status st = find(req);

	if (!nvme_status_ok(st))
		return st;
	req->exec = exec_change;
	return tgt_needs_input(req, req->cmd.opc == NVME_NVM_RESV_RELEASE
					    ? sizeof(le64)
					    : sizeof(struct nvme_resv_keys));
}

/* ---- Report ---------------------------------------------------------------------------------- */

/* One entry for each host: its controllers come and go, which is what CNTLID FFFFh says. */
static void put_registrant(struct tgt_window *w, const struct tgt_resv_state *s, int i)
{
	struct nvme_resv_controller_ext e = {
		.cntlid = cpu_to_le16(NVME_CNTLID_DYNAMIC),
		.rcsts = tgt_resv_holds(s, i) ? NVME_RCSTS_HOLDER : 0,
		.rkey = cpu_to_le64(s->registrants[i].key),
	};

	memcpy(e.hostid, s->registrants[i].host, sizeof(e.hostid));
	tgt_window_put(w, &e, sizeof(e));
}

static void exec_report(struct tgt_req *req)
{
	struct target *t = req->assoc->target;
	const struct tgt_resv_state *s;
	struct nvme_resv_status head = { 0 };
	struct tgt_window w;

	tgt_window_init(&w, req, 0, nvme_resv_report_bytes(&req->cmd));
	target_lock(t);
	s = req->ns->backing->resv.state;
	if (s) {
		head.gen = cpu_to_le32(s->generation);
		head.rtype = s->type;
		head.regctl = cpu_to_le16(s->count);
		head.ptpls = s->ptpl;
	}
	tgt_window_put(&w, &head, sizeof(head));
	tgt_window_put(&w, NULL, NVME_RESV_STATUS_EXTENDED_HEADER - sizeof(head));
	for (int i = 0; s && i < s->count; i++)
		put_registrant(&w, s, i);
	target_unlock(t);
	tgt_window_end(&w);
	tgt_io_answer(req, nvme_status_success());
}

/* Over fabrics host identifiers have 128 bits, and only the extended structure holds those (7.5). */
struct nvme_status tgt_resv_report_parse(struct tgt_req *req)
{
	struct nvme_status st = tgt_io_find_ns(req);

	if (!nvme_status_ok(st))
		return st;
	if (!nvme_resv_report_extended(&req->cmd))
		return bad(NVME_SC_HOSTID_FORMAT);
	req->exec = exec_report;
	return tgt_needs_output(req, nvme_resv_report_bytes(&req->cmd));
}

/* ---- features -------------------------------------------------------------------------------- */

/* The namespace a feature is asked of; FFFFFFFFh names none to read from (5.27.1.26). */
static struct nvme_status feature_ns(struct tgt_req *req)
{
	if (nvme_cmd_nsid(&req->cmd) == NVME_NSID_ALL)
		return bad(NVME_SC_INVALID_FIELD);
	return tgt_io_find_ns(req);
}

struct nvme_status tgt_resv_get_mask(struct tgt_req *req, uint32_t *ret)
{
	struct nvme_status st = feature_ns(req);

	if (!nvme_status_ok(st))
		return st;
	target_lock(req->assoc->target);
	*ret = req->ns->backing->resv.mask;
	target_unlock(req->assoc->target);
	return st;
}

struct nvme_status tgt_resv_set_mask(struct tgt_req *req, uint32_t dw11)
{
	const uint32_t all = NVME_RESV_MASK_REGISTRATION_PREEMPTED | NVME_RESV_MASK_RELEASED |
			     NVME_RESV_MASK_PREEMPTED;
	bool each = nvme_cmd_nsid(&req->cmd) == NVME_NSID_ALL;
	const struct tgt_ns_table *t = req->assoc->core->pin->table;
	struct nvme_status st = each ? nvme_status_success() : feature_ns(req);

	if (nvme_status_ok(st) && (dw11 & ~all))
		st = bad(NVME_SC_INVALID_FIELD);
	if (!nvme_status_ok(st))
		return st;
	target_lock(req->assoc->target);
	for (const struct tgt_ns *ns = tgt_ns_next(t, 0); ns; ns = tgt_ns_next(t, ns->nsid))
		if (each || ns == req->ns)
			ns->backing->resv.mask = (uint8_t)dw11;
	target_unlock(req->assoc->target);
	return st;
}

struct nvme_status tgt_resv_get_ptpl(struct tgt_req *req, uint32_t *ret)
{
	struct nvme_status st = feature_ns(req);
	const struct tgt_resv_state *s;

	if (!nvme_status_ok(st))
		return st;
	target_lock(req->assoc->target);
	s = req->ns->backing->resv.state;
	*ret = s && s->ptpl ? NVME_RESV_PTPL : 0;
	target_unlock(req->assoc->target);
	return st;
}

static void set_ptpl_of(struct tgt_req *req, const struct tgt_ns *ns,
			void (*done)(struct tgt_req *req, struct nvme_status st))
{
	bool on = nvme_feature_dw11(&req->cmd) & NVME_RESV_PTPL;
	struct tgt_resv_cmd cmd = {
		.opc = TGT_RESV_SET_PTPL,
		.cptpl = on ? NVME_CPTPL_SET : NVME_CPTPL_CLEAR,
		.may_persist = ns->backing->resv.path != NULL,
	};

	tgt_resv_change(req, ns, &cmd, done);
}

/* Of all namespaces, one after the other; req->step is the NSID of the last. */
static void set_next_ptpl(struct tgt_req *req, struct nvme_status st)
{
	const struct tgt_ns *ns;

	if (req->assoc->state == TGT_ASSOC_DEAD || !nvme_status_ok(st)) {
		tgt_req_complete(req, st);
		return;
	}
	ns = tgt_ns_next(req->pin->table, req->step);
	if (!ns) {
		tgt_req_succeed(req, 0);
		return;
	}
	req->step = ns->nsid;
	set_ptpl_of(req, ns, set_next_ptpl);
}

void tgt_resv_set_ptpl(struct tgt_req *req, uint32_t dw11)
{
	struct nvme_status st;

	if (dw11 & ~(uint32_t)NVME_RESV_PTPL) {
		tgt_req_fail(req, NVME_SC_INVALID_FIELD);
		return;
	}
	if (nvme_cmd_nsid(&req->cmd) == NVME_NSID_ALL) {
		req->pin = tgt_ns_pin_get(req->assoc->core->pin);
		set_next_ptpl(req, nvme_status_success());
		return;
	}
	st = feature_ns(req);
	if (nvme_status_ok(st))
		set_ptpl_of(req, req->ns, tgt_req_complete);
	else
		tgt_req_complete(req, st);
}
