/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: everything that a host reads of a controller before and besides I/O. The controller is
 * the fake one of src/host; its properties, Identify pages, logs and features, and with which status
 * and how much of them comes, are right at first and then patched by the input. Whatever they are, the
 * host becomes live or says in words why not; what it then knows of the controller makes sense; a
 * change of namespaces is taken; and nothing is left at the end. A discovery log is delivered once, and
 * is what the controller has, fit to print.
 *
 * The first byte decides: bit 0 a discovery, else a controller with namespaces; bit 1 one namespace by
 * its number, bit 2 digests, bit 3 timed I/O; bit 7: no controller at all, the rest are the bytes for
 * the walkers of src/nvme. Then patches: the page in bits 3:0, 15 for "from here on after an event";
 * bit 7 as many bytes as the next one says, else one; 16 bits offset; the bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/discovery.h"
#include "host/test-world.h"
#include "nvme/ana.h"
#include "nvme/dump.h"
#include "nvme/feature.h"
#include "nvme/nsdesc.h"
#include "nvme/reg.h"
#include "nvme/text.h"
#include "tests/fuzz/fuzz.h"

enum { LOG_ENTRIES = 40, FLAG_DISCOVERY = 1, FLAG_NSID = 2, FLAG_DIGESTS = 4, FLAG_TIMED = 8, FLAG_WALK = 128 };

/* What can be asked, each with its status and length. */
enum ask { CAP, VS, CSTS, SET_CC, CTRL, LIMITS, LIST, NS, DESC, BEHAVIOR, EVENTS, QUEUES, TIMES, LOG, IO, ASKS };

struct control {
	le64 cap;
	le32 vs, csts, queues;
	le64 io_result;
	le32 event;
	uint8_t restless; /* so many times the log changes while it is read */
	uint8_t pad[3];
	le16 status[ASKS];
	le16 less[ASKS]; /* bytes that do not come, of those asked for */
};

static struct {
	struct control control;
	struct nvme_id_ctrl ctrl;
	struct nvme_id_ns ns;
	struct nvme_ns_list list;
	uint8_t desc[NVME_IDENTIFY_SIZE];
	struct nvme_id_ctrl_nvm limits;
	struct {
		struct nvme_log_discovery header;
		struct nvme_discovery_entry entries[LOG_ENTRIES];
	} log;
} pages;

static const struct {
	void *at;
	size_t size;
} table[] = {
	{ &pages.control, sizeof(pages.control) }, { &pages.ctrl, sizeof(pages.ctrl) },
	{ &pages.ns, sizeof(pages.ns) },	   { &pages.list, sizeof(pages.list) },
	{ pages.desc, sizeof(pages.desc) },	   { &pages.limits, sizeof(pages.limits) },
	{ &pages.log, sizeof(pages.log) },
};

static uint8_t flags;
static unsigned int headers;
static const uint8_t *in;
static size_t left;

/* ---- the controller ------------------------------------------------------------------------ */

static void right_pages(const struct fake *f)
{
	static const uint8_t uuid[16] = { 1, 2, 3 };
	struct nvme_cap cap = { .max_entries = 128, .cqr = true, .to = 2, .css = NVME_CAP_CSS_NVM };
	size_t at;

	memset(&pages, 0, sizeof(pages));
	pages.control.cap = cpu_to_le64(nvme_cap_encode(cap));
	pages.control.vs = cpu_to_le32(NVME_VS_2_0);
	pages.control.csts = cpu_to_le32(NVME_CSTS_RDY);
	pages.control.queues = cpu_to_le32(nvme_queue_counts_encode((struct nvme_queue_counts){ 2, 2 }));
	pages.control.event = cpu_to_le32(0x00040002);
	pages.ctrl = f->id;
	pages.ns = f->ns;
	pages.list.nsid[0] = cpu_to_le32(1);
	pages.list.nsid[1] = cpu_to_le32(7);
	at = nvme_ns_desc_append(pages.desc, 0, NVME_NIDT_UUID, uuid);
	nvme_ns_desc_append(pages.desc, at, NVME_NIDT_NGUID, uuid);
	pages.log.header.genctr = cpu_to_le64(7);
	pages.log.header.numrec = cpu_to_le64(2);
	for (size_t i = 0; i < LOG_ENTRIES; i++) {
		struct nvme_discovery_entry *e = &pages.log.entries[i];

		e->trtype = NVME_TRTYPE_TCP;
		e->subtype = NVME_SUBTYPE_NVM;
		nvme_text_encode(e->traddr, sizeof(e->traddr), "10.0.0.1");
		nvme_text_encode(e->trsvcid, sizeof(e->trsvcid), "4420");
		memcpy(e->subnqn, FAKE_NQN, sizeof(FAKE_NQN));
	}
}

static unsigned int next_byte(void)
{
	if (left == 0)
		return 0;
	left--;
	return *in++;
}

/* Up to the end or the next event. */
static void patch(void)
{
	while (left > 0) {
		unsigned int what = next_byte(), page = what & 15, n = what & 128 ? next_byte() : 1;
		size_t at;

		if (page == 15)
			return;
		page %= ARRAY_SIZE(table);
		at = (next_byte() | next_byte() << 8) % table[page].size;
		for (; n > 0 && at < table[page].size && left > 0; n--)
			((uint8_t *)table[page].at)[at++] = (uint8_t)next_byte();
	}
}

static struct nvme_status status_of(enum ask ask)
{
	return nvme_status_decode(le16_to_cpu(pages.control.status[ask]));
}

/* Bytes from @offset of a page, zeroes behind it; or some of them; then the status. */
static void send_page(struct fake_conn *c, const struct nvme_cmd *cmd, enum ask ask, const void *page,
		      size_t size, uint64_t offset)
{
	uint32_t n = nvme_cmd_sgl_len(cmd), less = le16_to_cpu(pages.control.less[ask]);
	uint8_t piece[4096];

	n -= MIN(n, less);
	for (uint32_t done = 0, part; nvme_status_ok(status_of(ask)) && done < n; done += part) {
		uint64_t at = offset + done;

		part = MIN(n - done, (uint32_t)sizeof(piece));
		memset(piece, 0, sizeof(piece));
		if (at < size)
			memcpy(piece, (const uint8_t *)page + at, MIN((size_t)part, size - (size_t)at));
		fake_c2h(c, nvme_cmd_cid(cmd), done, piece, part, done + part == n, false);
	}
	fake_rsp(c, nvme_cmd_cid(cmd), status_of(ask), 0);
}

static void answer(struct fake_conn *c, const struct nvme_cmd *cmd, enum ask ask, uint64_t result)
{
	fake_rsp(c, nvme_cmd_cid(cmd), status_of(ask), result);
}

static bool property(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	uint32_t ofst = le32_to_cpu(nvme_cmd_as_property(cmd)->ofst);

	if (nvme_cmd_is_fabrics(cmd, NVME_FABRICS_PROPERTY_SET))
		answer(c, cmd, SET_CC, 0);
	else if (!nvme_cmd_is_fabrics(cmd, NVME_FABRICS_PROPERTY_GET))
		return false;
	else if (ofst == NVME_REG_CAP)
		answer(c, cmd, CAP, le64_to_cpu(pages.control.cap));
	else if (ofst == NVME_REG_VS)
		answer(c, cmd, VS, le32_to_cpu(pages.control.vs));
	else
		answer(c, cmd, CSTS, le32_to_cpu(pages.control.csts));
	return true;
}

static void identify(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	switch (nvme_identify_cns(cmd)) {
	case NVME_CNS_CTRL:
		send_page(c, cmd, CTRL, &pages.ctrl, sizeof(pages.ctrl), 0);
		break;
	case NVME_CNS_ACTIVE_NS_LIST:
		send_page(c, cmd, LIST, &pages.list, sizeof(pages.list), 0);
		break;
	case NVME_CNS_NS:
		send_page(c, cmd, NS, &pages.ns, sizeof(pages.ns), 0);
		break;
	case NVME_CNS_NS_DESC_LIST:
		send_page(c, cmd, DESC, pages.desc, sizeof(pages.desc), 0);
		break;
	default:
		send_page(c, cmd, LIMITS, &pages.limits, sizeof(pages.limits), 0);
	}
}

static bool features(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	switch (nvme_feature_fid(cmd)) {
	case NVME_FID_NUMBER_OF_QUEUES:
		answer(c, cmd, QUEUES, le32_to_cpu(pages.control.queues));
		return true;
	case NVME_FID_ASYNC_EVENT_CONFIG:
		answer(c, cmd, EVENTS, 0);
		return true;
	case NVME_FID_VENDOR_TIMES:
		answer(c, cmd, TIMES, 0);
		return true;
	default:
		return false;
	}
}

static void get_log(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	struct nvme_get_log g = nvme_cmd_get_log(cmd);

	if (g.lid == NVME_LID_DISCOVERY && g.offset == 0 && headers++ > 0 && pages.control.restless > 0) {
		pages.control.restless--;
		pages.log.header.genctr = cpu_to_le64(le64_to_cpu(pages.log.header.genctr) + 1);
	}
	send_page(c, cmd, LOG, &pages.log, sizeof(pages.log), g.offset);
}

static bool serve(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	if (cmd->opc == NVME_OPC_FABRICS)
		return property(c, cmd);
	if (c->qid != 0 && cmd->opc == NVME_NVM_READ) {
		fake_c2h(c, nvme_cmd_cid(cmd), 0, c->f->disk, nvme_cmd_sgl_len(cmd), true, false);
		answer(c, cmd, IO, le64_to_cpu(pages.control.io_result));
		return true;
	}
	if (c->qid != 0)
		return false;
	if (cmd->opc == NVME_ADMIN_IDENTIFY)
		identify(c, cmd);
	else if (cmd->opc == NVME_ADMIN_GET_LOG_PAGE)
		get_log(c, cmd);
	else if (cmd->opc == NVME_ADMIN_SET_FEATURES)
		return features(c, cmd);
	else
		return false;
	return true;
}

static void knob(struct fake *f, struct host_config *c)
{
	if (flags & FLAG_DISCOVERY) {
		f->id.cntrltype = NVME_CNTRLTYPE_DISCOVERY;
		f->id.oaes = cpu_to_le32(NVME_AEC_DISCOVERY);
	}
	f->hook = serve;
	c->queues = 2;
	c->nsid = flags & FLAG_NSID ? 7 : 0;
	c->hdgst = c->ddgst = flags & FLAG_DIGESTS;
	c->loss_timeout_ns = 2 * FAKE_S;
	right_pages(f);
	patch();
}

/* ---- what holds ----------------------------------------------------------------------------- */

/* Ours is ASCII; the peer's words are escaped in it. */
static bool printable(const char *s)
{
	for (; *s; s++)
		if ((uint8_t)*s < 0x20 || (uint8_t)*s == 0x7f)
			return false;
	return true;
}

static void check_ns(const struct host_ctrl *c, const struct host_ns *ns)
{
	struct host_ns same;

	INVARIANT(ns->nsid != 0 && ns->nsid != NVME_NSID_ALL);
	INVARIANT(ns->block >= 512 && ns->block <= 65536 && (ns->block & (ns->block - 1)) == 0);
	INVARIANT(ns->optimal >= ns->block && ns->optimal % ns->block == 0);
	INVARIANT(ns->blocks > 0 && host_ns_bytes(ns) >= ns->block && host_ns_bytes(ns) % ns->block == 0);
	INVARIANT(host_ns_get(c, ns->nsid, &same) == 0 && same.nsid == ns->nsid);
}

static void check_ctrl(const struct world *w)
{
	struct host_ctrl_info i;
	const struct host_ns *ns;
	uint32_t last = 0;

	host_ctrl_info(w->ctrl, &i);
	INVARIANT(i.identified && printable(i.error_text) && printable(i.state));
	INVARIANT(i.max_transfer >= 4096 && (i.max_transfer & (i.max_transfer - 1)) == 0);
	INVARIANT(i.depth >= 1 && i.depth <= w->config.depth && i.queues <= w->config.queues);
	INVARIANT(i.max_in_capsule <= i.max_transfer);
	INVARIANT(!i.discovery || i.queues == 0);
	for (size_t k = 0; (ns = host_ns_at(w->ctrl, k)) != NULL; k++) {
		check_ns(w->ctrl, ns);
		INVARIANT(ns->nsid > last);
		last = ns->nsid;
	}
}

static struct {
	struct host_io io;
	struct iovec iov;
	bool done;
} one;

static void on_read(struct host_io *io)
{
	one.done = true;
}

static bool is_done(void *arg)
{
	return *(bool *)arg;
}

/* One block of the first namespace. */
static void read_block(struct world *w)
{
	const struct host_ns *ns = host_ns_at(w->ctrl, 0);

	if (!ns)
		return;
	memset(&one, 0, sizeof(one));
	one.iov = (struct iovec){ malloc(ns->block), ns->block };
	one.io = (struct host_io){ .done = on_read, .kind = HOST_IO_READ, .timed = flags & FLAG_TIMED, .nlb = 1,
				   .nsid = ns->nsid, .bytes = ns->block, .iov = &one.iov, .niov = 1 };
	memset(one.iov.iov_base, 0xee, ns->block);
	host_submit(w->ctrl, &one.io);
	INVARIANT(sim_run_until(w->f.sim, is_done, &one.done, 120 * FAKE_S) == 0);
	if (one.io.error == 0)
		INVARIANT(memcmp(one.iov.iov_base, w->f.disk, one.iov.iov_len) == 0);
	if (one.io.has_times)
		INVARIANT(flags & FLAG_TIMED);
	free(one.iov.iov_base);
}

static bool settled(void *arg)
{
	const struct world *w = arg;

	return w->live || w->failed;
}

static void controller(void)
{
	static struct world w;

	world_open(&w, knob);
	do {
		INVARIANT(sim_run_until(w.f.sim, settled, &w, 120 * FAKE_S) == 0);
		if (w.failed) {
			struct host_ctrl_info i;

			host_ctrl_info(w.ctrl, &i);
			INVARIANT(i.error < 0 && i.error_text[0] && printable(i.error_text));
			break;
		}
		check_ctrl(&w);
		read_block(&w);
		patch();
		if (w.f.aer_conn)
			fake_event(&w.f, le32_to_cpu(pages.control.event));
		sim_run_for(w.f.sim, 100 * FAKE_MS);
	} while (left > 0);
	world_close(&w);
	world_end(&w);
}

/* ---- discovery ------------------------------------------------------------------------------ */

static struct {
	bool called;
	int error;
} result;

static void check_entry(const struct host_discovery_entry *e, size_t i)
{
	static const struct nvme_discovery_entry none;
	const struct nvme_discovery_entry *from = i < LOG_ENTRIES ? &pages.log.entries[i] : &none;
	char text[NVME_TEXT_ESCAPED_MAX(256)];

	INVARIANT(printable(e->traddr) && printable(e->trsvcid) && printable(e->subnqn));
	INVARIANT(e->trtype == from->trtype && e->portid == le16_to_cpu(from->portid) &&
		  e->cntlid == le16_to_cpu(from->cntlid) && e->eflags == le16_to_cpu(from->eflags));
	nvme_text_decode(from->traddr, sizeof(from->traddr), text, sizeof(text));
	INVARIANT(strncmp(e->traddr, text, strlen(e->traddr)) == 0);
	INVARIANT(e->subnqn[0] == 0 || memcmp(e->subnqn, from->subnqn, strlen(e->subnqn) + 1) == 0);
}

static void on_log(void *arg, const struct host_discovery_log *log, const struct err *err)
{
	INVARIANT(!result.called && !log == !!err);
	result.called = true;
	result.error = err ? err->code : 0;
	if (err) {
		INVARIANT(err->code > 0 && err->text[0] && printable(err->text));
		return;
	}
	INVARIANT(log->count <= HOST_DISCOVERY_MAX && log->count == le64_to_cpu(pages.log.header.numrec));
	INVARIANT(log->generation == le64_to_cpu(pages.log.header.genctr));
	for (size_t i = 0; i < log->count; i++)
		check_entry(&log->entries[i], i);
}

static void discovery(void)
{
	static struct world w;
	struct host_discovery *d;

	result.called = false;
	headers = 0;
	world_prepare(&w, knob);
	w.config.subnqn = NULL;
	INVARIANT(host_discover(w.f.host_loop, &w.config, on_log, NULL, &d, NULL) == 0);
	INVARIANT(sim_run_until(w.f.sim, is_done, &result.called, 600 * FAKE_S) == 0);
	world_end(&w);
}

/* ---- walkers -------------------------------------------------------------------------------- */

static void walk_ana(const uint8_t *log, size_t n)
{
	struct nvme_ana_walk walk;
	struct nvme_ana_group g;
	size_t bytes = sizeof(struct nvme_log_ana), groups = 0;
	int rc = nvme_ana_walk_init(&walk, log, n);

	INVARIANT((rc == 0) == (n >= sizeof(struct nvme_log_ana)));
	while (rc >= 0 && (rc = nvme_ana_walk_next(&walk, &g)) == 1) {
		const uint8_t *nsids = (const uint8_t *)g.nsids;

		bytes += sizeof(struct nvme_ana_desc) + g.nnsids * sizeof(le32);
		groups++;
		INVARIANT(bytes <= n && nsids + g.nnsids * sizeof(le32) == log + bytes && g.state <= 0xf);
	}
	INVARIANT(rc != 0 || groups == le16_to_cpu(((const struct nvme_log_ana *)log)->ngrps));
}

static void walk_descriptors(const uint8_t *bytes, size_t n)
{
	uint8_t *page = calloc(1, NVME_IDENTIFY_SIZE);
	size_t at = 0, last = 0;
	enum nvme_nidt type;
	const uint8_t *id;
	bool bad;

	memcpy(page, bytes, MIN(n, (size_t)NVME_IDENTIFY_SIZE));
	while (nvme_ns_desc_next(page, &at, &type, &id, &bad)) {
		INVARIANT(at > last && at <= NVME_IDENTIFY_SIZE && id > page + last && id < page + at);
		INVARIANT(type >= NVME_NIDT_EUI64 && type <= NVME_NIDT_CSI);
		last = at;
	}
	free(page);
}

static void show(const uint8_t *bytes, size_t n)
{
	union {
		struct nvme_cmd cmd;
		struct nvme_cpl cpl;
		uint64_t dw;
	} u = { .dw = 0 };
	struct nvme_times t, again;
	char text[600];

	memcpy(&u, bytes, MIN(n, sizeof(u)));
	INVARIANT(printable(nvme_cmd_dump(&u.cmd, true, text, sizeof(text))) && text[0]);
	INVARIANT(printable(nvme_cmd_dump(&u.cmd, false, text, 40)) && strlen(text) < 40);
	INVARIANT(printable(nvme_cpl_dump(&u.cpl, n & 1, text, sizeof(text))) && text[0]);
	INVARIANT(printable(nvme_text_decode(bytes, n, text, sizeof(text))));
	INVARIANT(printable(nvme_text_escape(bytes, n, text, MIN(n, (size_t)10) + 1)) && strlen(text) <= n);
	/* A figure has several forms, one of which we write. */
	if (nvme_times_decode(u.dw, &t)) {
		INVARIANT(nvme_times_decode(nvme_times_encode(&t), &again));
		INVARIANT(memcmp(&t, &again, sizeof(t)) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 8192)
		return 0;
	flags = data[0];
	in = data + 1;
	left = size - 1;
	if (flags & FLAG_WALK) {
		walk_ana(in, left);
		walk_descriptors(in, left);
		show(in, left);
	} else if (flags & FLAG_DISCOVERY) {
		discovery();
	} else {
		controller();
	}
	return 0;
}
