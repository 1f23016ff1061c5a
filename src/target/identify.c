/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identify: the data structures, each made when asked for. A new CNS is a function and a line in
 * the table at the end; whatever is not in it is Invalid Field in Command.
 */
#include "target/identify.h"

#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "nvme/cmd-admin.h"
#include "nvme/nqn.h"
#include "nvme/reg.h"
#include "nvme/text.h"
#include "nvme/vendor.h"
#include "target/admin.h"
#include "target/aen.h"
#include "target/assoc.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/feature.h"
#include "target/fused.h"
#include "target/io_cmd.h"
#include "target/window.h"

enum {
	SQES = 6 << 4 | 6, /* 64 bytes, required and largest */
	CQES = 4 << 4 | 4, /* 16 bytes */
	ANA_TRANSITION_SECONDS = 10,
	/* What the kernel gives a disk before it declares an operation failed. */
	STORE_TIMEOUT_MS = 30 * 1000,
};

static const struct tgt_ns_table *table_of(const struct tgt_req *req)
{
	return req->assoc->core->pin->table;
}

static void put(struct tgt_req *req, const void *p, size_t n)
{
	struct tgt_window w;

	tgt_window_init(&w, req, 0, NVME_IDENTIFY_SIZE);
	tgt_window_put(&w, p, n);
	tgt_window_end(&w);
}

/* ---- the controller -------------------------------------------------------------------------- */

void tgt_identify_firmware(uint8_t field[NVME_FIRMWARE_SIZE])
{
	nvme_text_encode(field, NVME_FIRMWARE_SIZE, PENSTOCK_VERSION);
}

/* Looks at the current table; control path. */
uint8_t tgt_identify_vwc(struct tgt_ctrl *c)
{
	struct tgt_ns *ns = NULL;
	bool present = false;

	target_lock(c->target);
	while (!present && (ns = tgt_ns_next(c->subsys->table, ns ? ns->nsid : 0)))
		present = ns->volatile_cache;
	target_unlock(c->target);
	return (present ? NVME_VWC_PRESENT : 0) | NVME_VWC_FLUSH_ALL_ACCEPTED;
}

/*
 * CQT (TP4129): how long after the keep alive timeout a command may still have an effect. We notice
 * within the grace; then the store has to finish.
 */
static uint16_t quiesce_ms(const struct target_limits *lim)
{
	uint64_t ms = lim->keep_alive_grace_ns / 1000000 + STORE_TIMEOUT_MS;

	return (uint16_t)MIN(ms, (uint64_t)UINT16_MAX);
}

/* What only controllers with namespaces have. */
static void io_ctrl_fields(struct tgt_ctrl *c, struct nvme_id_ctrl *id)
{
	const struct target_limits *lim = &c->target->limits;

	id->cmic = NVME_CMIC_MULTI_PORT | NVME_CMIC_MULTI_CTRL | NVME_CMIC_ANA;
	id->cntrltype = NVME_CNTRLTYPE_IO;
	id->acl = TGT_ABORT_LIMIT - 1;
	id->elpe = TGT_ERROR_LOG - 1;
	id->anatt = ANA_TRANSITION_SECONDS;
	id->anacap = NVME_ANACAP_OPTIMIZED | NVME_ANACAP_GROUP_FIXED;
	id->anagrpmax = cpu_to_le32(TGT_ANA_GROUP);
	id->nanagrpid = cpu_to_le32(1);
	id->cqt = cpu_to_le16(quiesce_ms(lim));
	id->nn = cpu_to_le32(lim->namespaces);
	id->mnan = cpu_to_le32(lim->namespaces); /* with ANA, Linux wants to know */
	id->oncs = cpu_to_le16(tgt_io_oncs() | NVME_ONCS_FEATURE_SAVE);
	id->fuses = cpu_to_le16(NVME_FUSES_COMPARE_WRITE);
	/* In blocks of the largest format there can be, counted from zero. */
	id->acwu = cpu_to_le16((uint16_t)(tgt_fused_max(lim) / 4096 - 1));
	id->vwc = tgt_identify_vwc(c);
	nvme_vendor_put(id, NVME_VENDOR_CAP_TIMES);
}

void tgt_identify_ctrl(struct tgt_ctrl *c, struct nvme_id_ctrl *id)
{
	const struct target_limits *lim = &c->target->limits;
	bool discovery = c->subsys->discovery;

	memset(id, 0, sizeof(*id));
	nvme_text_encode(id->sn, sizeof(id->sn), c->subsys->serial);
	nvme_text_encode(id->mn, sizeof(id->mn), c->subsys->model);
	tgt_identify_firmware(id->fr);
	id->mdts = (uint8_t)__builtin_ctz(lim->mdts / 4096);
	id->cntlid = cpu_to_le16(c->cntlid);
	id->ver = cpu_to_le32(NVME_VS_2_0);
	id->oaes = cpu_to_le32(tgt_feature_oaes(discovery));
	id->ctratt = cpu_to_le32(NVME_CTRATT_HOSTID_128 | NVME_CTRATT_TBKAS);
	id->cntrltype = NVME_CNTRLTYPE_DISCOVERY;
	id->dctype = discovery ? NVME_DCTYPE_DDC : NVME_DCTYPE_NOT_REPORTED;
	id->aerl = TGT_EVENT_LIMIT - 1;
	id->frmw = NVME_FRMW_SLOT1_READ_ONLY | 1 << NVME_FRMW_SLOTS_SHIFT;
	id->lpa = NVME_LPA_EFFECTS | NVME_LPA_EXTENDED_DATA | NVME_LPA_SUPPORTED_LOGS;
	id->kas = cpu_to_le16(TGT_KAS_MS / 100);
	id->sqes = SQES;
	id->cqes = CQES;
	id->maxcmd = cpu_to_le16((uint16_t)lim->queue_depth);
	id->sgls = cpu_to_le32(NVME_SGLS_ANY_ALIGNMENT | NVME_SGLS_TRANSPORT |
			       (lim->in_capsule ? NVME_SGLS_OFFSET : 0));
	nvme_nqn_to_field(c->subsys->nqn, id->subnqn);
	id->ioccsz = cpu_to_le32((uint32_t)(sizeof(struct nvme_cmd) + lim->in_capsule) / 16);
	id->iorcsz = cpu_to_le32(1);
	id->msdbd = 1;
	id->ofcs = cpu_to_le16(NVME_OFCS_DISCONNECT);
	if (!discovery)
		io_ctrl_fields(c, id);
}

static struct nvme_status id_ctrl(struct tgt_req *req)
{
	struct nvme_id_ctrl id;

	tgt_identify_ctrl(req->assoc->ctrl, &id);
	put(req, &id, sizeof(id));
	return nvme_status_success();
}

/* Limits of single commands: none beyond MDTS (NVM Command Set 1.0, 4.1.5.4). */
static struct nvme_status id_ctrl_nvm(struct tgt_req *req)
{
	struct nvme_id_ctrl_nvm id = { 0 };

	put(req, &id, sizeof(id));
	return nvme_status_success();
}

static struct nvme_status id_command_sets(struct tgt_req *req)
{
	struct nvme_id_iocs id = { .iocsc = { cpu_to_le64(1u << NVME_CSI_NVM) } };

	put(req, &id, sizeof(id));
	return nvme_status_success();
}

static uint16_t put_ctrl_ids(struct tgt_req *req, struct nvme_ctrl_list *list)
{
	struct tgt_subsys *s = req->assoc->ctrl->subsys;
	uint16_t from = nvme_identify_cntid(&req->cmd);
	struct tgt_ctrl *c;
	uint16_t n = 0;

	/* The subsystem's list is in ascending order. */
	target_lock(s->target);
	list_for_each_entry(c, &s->ctrls, link) {
		if (c->cntlid < from)
			continue;
		if (n == NVME_CTRL_LIST_MAX)
			break;
		list->cntlid[n++] = cpu_to_le16(c->cntlid);
	}
	target_unlock(s->target);
	return n;
}

static struct nvme_status id_ctrl_list(struct tgt_req *req)
{
	struct nvme_ctrl_list list = { 0 };

	list.num = cpu_to_le16(put_ctrl_ids(req, &list));
	put(req, &list, sizeof(list));
	return nvme_status_success();
}

/* ---- namespaces ------------------------------------------------------------------------------ */

/*
 * The namespace of the command. Success with NULL: the NSID is one there can be, but no namespace
 * is there now. An NSID there cannot be is refused.
 */
static struct nvme_status find_ns(const struct tgt_req *req, const struct tgt_ns **ret_ns)
{
	uint32_t nsid = nvme_cmd_nsid(&req->cmd);
	const struct tgt_ns_table *t = table_of(req);

	if (nsid == NVME_NSID_NONE || nsid > t->nn)
		return nvme_status_dnr(NVME_SC_INVALID_NAMESPACE);
	*ret_ns = tgt_ns_find(t, nsid);
	return nvme_status_success();
}

void tgt_identify_ns(const struct tgt_ns *ns, struct nvme_id_ns *id)
{
	uint32_t block = 1u << ns->block_shift;

	memset(id, 0, sizeof(*id));
	id->nsze = id->ncap = id->nuse = cpu_to_le64(ns->blocks);
	id->nmic = NVME_NMIC_SHARED;
	id->rescap = tgt_resv_caps(ns);
	/* What is deallocated reads as zeroes in every store of ours. */
	id->dlfeat = NVME_DLFEAT_READS_ZEROES;
	if (ns->can_discard)
		id->dlfeat |= NVME_DLFEAT_WRITE_ZEROES_DEAC;
	if (ns->optimal >= block && ns->optimal / block <= UINT16_MAX) {
		id->nsfeat |= NVME_NSFEAT_OPTPERF;
		id->nows = cpu_to_le16((uint16_t)(ns->optimal / block - 1));
	}
	id->nvmcap = nvme_u128(ns->blocks << ns->block_shift);
	id->anagrpid = cpu_to_le32(TGT_ANA_GROUP);
	id->nsattr = ns->read_only ? NVME_NSATTR_WRITE_PROTECTED : 0;
	memcpy(id->nguid, ns->nguid, sizeof(id->nguid));
	id->lbaf[0].lbads = ns->block_shift;
}

/* CNS 00h and 11h. A namespace that is not there is all zeroes (5.17.2.1). */
static struct nvme_status id_ns(struct tgt_req *req)
{
	const struct tgt_ns *ns = NULL;
	struct nvme_status st = find_ns(req, &ns);
	struct nvme_id_ns id = { 0 };

	if (!nvme_status_ok(st))
		return st;
	if (ns)
		tgt_identify_ns(ns, &id);
	put(req, &id, sizeof(id));
	return st;
}

static struct nvme_status id_ns_nvm(struct tgt_req *req)
{
	const struct tgt_ns *ns = NULL;
	struct nvme_status st = find_ns(req, &ns);
	struct nvme_id_ns_nvm id = { 0 };

	put(req, &id, sizeof(id));
	return st;
}

static struct nvme_status id_ns_independent(struct tgt_req *req)
{
	const struct tgt_ns *ns = NULL;
	struct nvme_status st = find_ns(req, &ns);
	struct nvme_id_ns_independent id = { 0 };

	if (ns) {
		id.nmic = NVME_NMIC_SHARED;
		id.rescap = tgt_resv_caps(ns);
		id.anagrpid = cpu_to_le32(TGT_ANA_GROUP);
		id.nsattr = ns->read_only ? NVME_NSATTR_WRITE_PROTECTED : 0;
		id.nstat = NVME_NSTAT_READY;
	}
	put(req, &id, sizeof(id));
	return st;
}

static void put_desc(struct tgt_window *w, enum nvme_nidt nidt, const void *id, uint8_t len)
{
	struct nvme_ns_desc d = { .nidt = (uint8_t)nidt, .nidl = len };

	tgt_window_put(w, &d, sizeof(d));
	tgt_window_put(w, id, len);
}

static struct nvme_status id_ns_desc(struct tgt_req *req)
{
	const struct tgt_ns *ns = NULL;
	struct nvme_status st = find_ns(req, &ns);
	static const uint8_t csi = NVME_CSI_NVM;
	struct tgt_window w;

	if (!ns)
		return nvme_status_dnr(NVME_SC_INVALID_NAMESPACE);
	tgt_window_init(&w, req, 0, NVME_IDENTIFY_SIZE);
	if (!uuid_is_nil(&ns->uuid))
		put_desc(&w, NVME_NIDT_UUID, ns->uuid.b, NVME_NIDL_UUID);
	put_desc(&w, NVME_NIDT_NGUID, ns->nguid, NVME_NIDL_NGUID);
	put_desc(&w, NVME_NIDT_CSI, &csi, NVME_NIDL_CSI);
	tgt_window_end(&w);
	return st;
}

/* CNS 02h, 07h and 10h: NSIDs above the one given. */
static struct nvme_status id_ns_list(struct tgt_req *req)
{
	uint32_t nsid = nvme_cmd_nsid(&req->cmd);
	struct nvme_ns_list list = { 0 };
	const struct tgt_ns *ns;

	if (nsid >= NVME_NSID_ALL - 1)
		return nvme_status_dnr(NVME_SC_INVALID_NAMESPACE);
	for (unsigned int n = 0; n < NVME_NS_LIST_MAX; n++) {
		ns = tgt_ns_next(table_of(req), nsid);
		if (!ns)
			break;
		nsid = ns->nsid;
		list.nsid[n] = cpu_to_le32(nsid);
	}
	put(req, &list, sizeof(list));
	return nvme_status_success();
}

/* Every namespace is attached to every controller of its subsystem. */
static struct nvme_status id_ns_ctrl_list(struct tgt_req *req)
{
	const struct tgt_ns *ns = NULL;
	struct nvme_status st = find_ns(req, &ns);
	struct nvme_ctrl_list list = { 0 };

	if (ns)
		list.num = cpu_to_le16(put_ctrl_ids(req, &list));
	put(req, &list, sizeof(list));
	return st;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct identify {
	uint8_t cns;
	bool discovery; /* on discovery controllers too */
	bool csi;       /* the field counts, and must be that of the NVM command set */
	struct nvme_status (*put)(struct tgt_req *req);
} table[] = {
	{ NVME_CNS_NS, false, false, id_ns },
	{ NVME_CNS_CTRL, true, false, id_ctrl },
	{ NVME_CNS_ACTIVE_NS_LIST, false, false, id_ns_list },
	{ NVME_CNS_NS_DESC_LIST, false, false, id_ns_desc },
	{ NVME_CNS_CSI_NS, false, true, id_ns_nvm },
	{ NVME_CNS_CSI_CTRL, false, true, id_ctrl_nvm },
	{ NVME_CNS_CSI_ACTIVE_NS_LIST, false, true, id_ns_list },
	{ NVME_CNS_INDEPENDENT_NS, false, false, id_ns_independent },
	{ NVME_CNS_ALLOCATED_NS_LIST, false, false, id_ns_list },
	{ NVME_CNS_ALLOCATED_NS, false, false, id_ns },
	{ NVME_CNS_NS_CTRL_LIST, false, false, id_ns_ctrl_list },
	{ NVME_CNS_CTRL_LIST, false, false, id_ctrl_list },
	{ NVME_CNS_IO_COMMAND_SETS, false, false, id_command_sets },
};

static const struct identify *find(const struct tgt_req *req)
{
	bool discovery = req->assoc->ctrl->subsys->discovery;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (table[i].cns != nvme_identify_cns(&req->cmd))
			continue;
		if (discovery && !table[i].discovery)
			return NULL;
		if (table[i].csi && nvme_identify_csi(&req->cmd) != NVME_CSI_NVM)
			return NULL;
		return &table[i];
	}
	return NULL;
}

static void identify_exec(struct tgt_req *req)
{
	tgt_req_complete(req, find(req)->put(req));
}

struct nvme_status tgt_identify_parse(struct tgt_req *req)
{
	if (!find(req))
		return nvme_status_dnr(NVME_SC_INVALID_FIELD);
	req->exec = identify_exec;
	return tgt_needs_output(req, NVME_IDENTIFY_SIZE);
}
