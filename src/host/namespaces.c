/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What namespaces a controller has, read when connecting and again after an event (NVMe Base 2.0,
 * 5.17.2.3, 5.17.2.4; NVM Command Set 1.0, 4.1.5.1). A scan fills a list of its own and replaces the
 * old one only when it is complete, so whoever asks meanwhile sees the last whole truth.
 *
 * A namespace that has another identity than under the same NSID before is another disk, and one that
 * was formatted anew has other blocks under the same numbers: I/O that was planned for the old one
 * must not reach it (N005, N007), so the NSID is marked for good. It may be gone for a while in between,
 * so what was there is remembered, up to a bound.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "host/ctrl.h"
#include "nvme/cmd.h"
#include "nvme/nsdesc.h"

/* As many as were ever seen; a controller that shows more of them than that has no good in mind. */
#define KNOWN_MAX (4 * NVME_NS_LIST_MAX)

static void next(struct host_ctrl *c);

/* ---- the list ------------------------------------------------------------------------------ */

static struct host_ns_slot *find_in(struct host_ns_slot *slots, size_t count, uint32_t nsid)
{
	for (size_t i = 0; i < count; i++) {
		if (slots[i].ns.nsid == nsid)
			return &slots[i];
	}
	return NULL;
}

/* An active one. */
static struct host_ns_slot *find(const struct host_ctrl *c, uint32_t nsid)
{
	return find_in(c->ns, c->ns_count, nsid);
}

int host_ns_get(const struct host_ctrl *c, uint32_t nsid, struct host_ns *ret_ns)
{
	const struct host_ns_slot *slot = find(c, nsid);

	if (!slot)
		return -ENOENT;
	*ret_ns = slot->ns;
	return 0;
}

const struct host_ns *host_ns_at(const struct host_ctrl *c, size_t i)
{
	return i < c->ns_count ? &c->ns[i].ns : NULL;
}

bool host_ns_is_replaced(const struct host_ctrl *c, uint32_t nsid)
{
	const struct host_ns_slot *slot = find(c, nsid);

	return slot && slot->replaced;
}

uint32_t host_ns_largest_block(const struct host_ctrl *c)
{
	uint32_t block = 512;

	for (size_t i = 0; i < c->ns_count; i++)
		block = MAX(block, c->ns[i].ns.block);
	return block;
}

/* The same disk, with its blocks where they were. One without identifiers cannot be told apart. */
static bool same(const struct host_ns *a, const struct host_ns *b)
{
	return uuid_equal(&a->uuid, &b->uuid) && !memcmp(a->nguid, b->nguid, sizeof(a->nguid)) &&
	       !memcmp(a->eui64, b->eui64, sizeof(a->eui64)) && a->block == b->block &&
	       a->metadata == b->metadata;
}

/* ---- a scan and its end --------------------------------------------------------------------- */

static void scan_clear(struct host_scan *s)
{
	mem_free(s->nsids);
	mem_free(s->found);
	*s = (struct host_scan){ 0 };
}

void host_ns_abandon(struct host_ctrl *c)
{
	scan_clear(&c->scan);
}

static void scan_failed(struct host_ctrl *c, int error, const char *why)
{
	scan_clear(&c->scan);
	if (!host_ctrl_live(c))
		host_ctrl_fail(c, error, "%s: %s", host_state_name(HOST_STATE_NAMESPACES), why);
	/* While live what was known stays known; the next event or connection tries again. */
}

/* Behind the active ones: what was known before and is not active now. */
static void remember(struct host_ctrl *c, struct host_ns_slot *ns, size_t active, size_t *known)
{
	for (size_t i = 0; i < c->ns_known && *known < KNOWN_MAX; i++) {
		if (!find_in(ns, active, c->ns[i].ns.nsid))
			ns[(*known)++] = c->ns[i];
	}
}

/* Replaces the list; returns false without memory for it. */
static bool adopt(struct host_ctrl *c)
{
	struct host_scan *s = &c->scan;
	size_t known = s->found_count;
	struct host_ns_slot *ns = mem_calloc(MAX(known + c->ns_known, (size_t)1), sizeof(*ns));

	if (!ns)
		return false;
	for (size_t i = 0; i < s->found_count; i++) {
		const struct host_ns_slot *old = find_in(c->ns, c->ns_known, s->found[i].nsid);

		ns[i].ns = s->found[i];
		ns[i].replaced = old && (old->replaced || !same(&old->ns, &ns[i].ns));
		c->ns_replaced |= ns[i].replaced;
	}
	remember(c, ns, s->found_count, &known);
	mem_free(c->ns);
	c->ns = ns;
	c->ns_count = s->found_count;
	c->ns_known = known;
	return true;
}

static void scan_done(struct host_ctrl *c)
{
	bool again = c->scan.again;

	if (c->config.nsid != 0 && c->scan.found_count == 0) {
		scan_failed(c, ENXIO, "the namespace does not exist, or is not active");
		return;
	}
	if (!adopt(c)) {
		scan_failed(c, ENOMEM, "no memory");
		return;
	}
	scan_clear(&c->scan);
	if (!host_ctrl_live(c)) {
		if (c->config.nsid != 0 && c->ns[0].replaced)
			host_ctrl_fail(c, ESTALE, "namespace %u is another one now, or has other blocks",
				       c->config.nsid);
		else
			host_ctrl_set(c, HOST_STATE_IO);
		return;
	}
	host_ctrl_tell(c, HOST_EVENT_NAMESPACES);
	if (again)
		host_ns_rescan(c);
}

/* ---- one namespace ------------------------------------------------------------------------- */

static struct host_ns *current(struct host_ctrl *c)
{
	return &c->scan.found[c->scan.found_count];
}

/* What a controller says that knows no descriptors, and will know none next time. */
static bool means_none(struct nvme_status st)
{
	return st.dnr || nvme_status_is(st, NVME_SC_INVALID_FIELD) ||
	       nvme_status_is(st, NVME_SC_INVALID_OPCODE);
}

static void on_descriptors(struct host_ctrl *c, struct nvme_status st)
{
	struct host_ns *ns = current(c);
	enum nvme_nidt type;
	const uint8_t *id;
	bool bad = false;
	size_t at = 0;

	/* Not known now is not the same as none: with its UUID it would be another one next time. */
	if (!nvme_status_ok(st) && !means_none(st)) {
		scan_failed(c, -nvme_status_to_errno(st), nvme_status_name(st));
		return;
	}
	/* Optional; a namespace may have its identifiers in Identify Namespace alone. */
	while (nvme_status_ok(st) && c->step.received == NVME_IDENTIFY_SIZE &&
	       nvme_ns_desc_next(c->page, &at, &type, &id, &bad)) {
		if (type == NVME_NIDT_UUID)
			memcpy(ns->uuid.b, id, sizeof(ns->uuid.b));
		else if (type == NVME_NIDT_NGUID)
			memcpy(ns->nguid, id, sizeof(ns->nguid));
		else if (type == NVME_NIDT_EUI64)
			memcpy(ns->eui64, id, sizeof(ns->eui64));
	}
	c->scan.found_count++;
	next(c);
}

/* So many blocks, as far as 32 bits can say. */
static uint32_t optimal(uint32_t block, uint32_t blocks)
{
	return MIN(blocks, UINT32_MAX / block) * block;
}

/* False: inactive, or in a format that makes no sense. */
static bool take_ns(struct host_ns *ns, uint32_t nsid, const struct nvme_id_ns *id)
{
	const struct nvme_lba_format *f = &id->lbaf[nvme_id_ns_format(id)];

	if (le64_to_cpu(id->nsze) == 0 || f->lbads < 9 || f->lbads > 16)
		return false;
	*ns = (struct host_ns){
		.nsid = nsid,
		.block = UINT32_C(1) << f->lbads,
		.metadata = le16_to_cpu(f->ms),
		.blocks = le64_to_cpu(id->nsze),
		.capacity = le64_to_cpu(id->ncap),
		.optimal = UINT32_C(1) << f->lbads,
		.boundary = le16_to_cpu(id->noiob),
		.read_only = id->nsattr & NVME_NSATTR_WRITE_PROTECTED,
		.shared = id->nmic & NVME_NMIC_SHARED,
		.zeroes_after_deallocate = (id->dlfeat & 7) == NVME_DLFEAT_READS_ZEROES,
		.ana_group = le32_to_cpu(id->anagrpid),
	};
	if (id->nsfeat & NVME_NSFEAT_OPTPERF)
		ns->optimal = optimal(ns->block, le16_to_cpu(id->npwg) + UINT32_C(1));
	memcpy(ns->nguid, id->nguid, sizeof(ns->nguid));
	memcpy(ns->eui64, id->eui64, sizeof(ns->eui64));
	return true;
}

static void on_ns(struct host_ctrl *c, struct nvme_status st)
{
	const struct nvme_id_ns *id = (const struct nvme_id_ns *)(const void *)c->page;
	uint32_t nsid = c->scan.nsids[c->scan.next++];

	/* Gone since the list was read: one less. Anything else: the list would not be whole. */
	if (nvme_status_is(st, NVME_SC_INVALID_NAMESPACE)) {
		next(c);
		return;
	}
	if (!nvme_status_ok(st)) {
		scan_failed(c, -nvme_status_to_errno(st), nvme_status_name(st));
		return;
	}
	if (c->step.received != NVME_IDENTIFY_SIZE) {
		scan_failed(c, EPROTO, "Identify Namespace brought too little");
		return;
	}
	if (!take_ns(current(c), nsid, id)) {
		next(c);
		return;
	}
	nvme_cmd_init_identify(&c->step.cmd, NVME_CNS_NS_DESC_LIST, nsid, 0, 0);
	host_setup_step(c, NVME_IDENTIFY_SIZE, on_descriptors);
}

static void next(struct host_ctrl *c)
{
	struct host_scan *s = &c->scan;

	if (s->next == s->count) {
		scan_done(c);
		return;
	}
	nvme_cmd_init_identify(&c->step.cmd, NVME_CNS_NS, s->nsids[s->next], 0, 0);
	host_setup_step(c, NVME_IDENTIFY_SIZE, on_ns);
}

/* ---- which namespaces ----------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * In order and each once, as 5.17.2.3 wants it and not every controller has it; FFFFFFFFh would stand
 * for all of them. Returns how many there are.
 */
static size_t put_in_order(uint32_t *nsids, size_t count)
{
	size_t n = 0;

	qsort(nsids, count, sizeof(*nsids), by_number);
	for (size_t i = 0; i < count; i++) {
		if (nsids[i] != NVME_NSID_ALL && (n == 0 || nsids[n - 1] != nsids[i]))
			nsids[n++] = nsids[i];
	}
	return n;
}

/* Looks at @count namespaces, whose numbers are in @list or, if that is NULL, the configured one. */
static void scan(struct host_ctrl *c, const struct nvme_ns_list *list, size_t count)
{
	struct host_scan *s = &c->scan;

	s->nsids = mem_calloc(MAX(count, (size_t)1), sizeof(*s->nsids));
	s->found = mem_calloc(MAX(count, (size_t)1), sizeof(*s->found));
	if (!s->nsids || !s->found) {
		scan_failed(c, ENOMEM, "no memory");
		return;
	}
	for (size_t i = 0; i < count; i++)
		s->nsids[i] = list ? le32_to_cpu(list->nsid[i]) : c->config.nsid;
	s->count = put_in_order(s->nsids, count);
	next(c);
}

static void on_list(struct host_ctrl *c, struct nvme_status st)
{
	const struct nvme_ns_list *list = (const struct nvme_ns_list *)(const void *)c->page;
	size_t count = 0;

	if (!nvme_status_ok(st)) {
		scan_failed(c, -nvme_status_to_errno(st), nvme_status_name(st));
		return;
	}
	if (c->step.received != NVME_IDENTIFY_SIZE) {
		scan_failed(c, EPROTO, "the namespace list is too short");
		return;
	}
	while (count < NVME_NS_LIST_MAX && le32_to_cpu(list->nsid[count]) != 0)
		count++;
	scan(c, list, count);
}

static void begin(struct host_ctrl *c)
{
	c->scan.running = true;
	if (c->config.nsid != 0) {
		scan(c, NULL, 1);
		return;
	}
	nvme_cmd_init_identify(&c->step.cmd, NVME_CNS_ACTIVE_NS_LIST, 0, 0, 0);
	host_setup_step(c, NVME_IDENTIFY_SIZE, on_list);
}

void host_ns_connecting(struct host_ctrl *c)
{
	begin(c);
}

void host_ns_rescan(struct host_ctrl *c)
{
	if (c->scan.running)
		c->scan.again = true;
	else
		begin(c);
}
