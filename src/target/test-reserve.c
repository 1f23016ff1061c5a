/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservations as hosts see them: three hosts on two cores, by raw PDUs. The rules themselves are
 * in test-resv.c; here it is what they mean for commands, in whatever state those are, for events,
 * for hosts that come back, and for a target that is started again.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nvme/aen.h"
#include "nvme/feature.h"
#include "nvme/identify.h"
#include "nvme/log.h"
#include "target/assoc.h"
#include "target/conn.h"
#include "target/ctrl.h"
#include "target/resv-ns.h"
#include "target/test-rig.h"
#include "tests/tap.h"

enum { NSID = 1, BLOCK = 512, KEYS = 0xa0 };

struct host {
	char name;
	struct peer admin, io;
	uint16_t cntlid;
};

static struct rig rig;
static struct io_loop *second;
static struct host a = { .name = 'A' }, b = { .name = 'B' }, c = { .name = 'C' };
static uint8_t buf[64 << 10];

static uint64_t key(const struct host *h)
{
	return KEYS + (uint64_t)h->name;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static void steer(unsigned int core)
{
	atomic_store(&rig.target->reactors[core].load, 1000);
	atomic_store(&rig.target->reactors[1 - core].load, 2000);
}

static void dial(struct host *h, struct peer *p, uint16_t qid, uint16_t cntlid, bool nobody)
{
	static char nqns[3][80];
	char *nqn = nqns[(h->name - 'A') % 3];
	struct nvme_cpl cpl;

	peer_open(p, &rig, -1);
	snprintf(nqn, 80, "nqn.2014-08.org.nvmexpress:uuid:%c", h->name);
	p->hostnqn = nqn;
	memset(p->hostid, nobody ? 0 : h->name, sizeof(p->hostid));
	peer_ic(p, 0, false, false);
	cpl = peer_connect(p, RIG_NQN, qid, cntlid, 64, 0);
	INVARIANT(peer_status(&cpl) == 0);
	if (qid == 0) {
		h->cntlid = (uint16_t)nvme_cpl_dw0(&cpl);
		peer_enable(p);
	}
}

static void join(struct host *h, unsigned int core)
{
	steer(core);
	dial(h, &h->admin, 0, NVME_CNTLID_DYNAMIC, false);
	steer(1 - core);
	dial(h, &h->io, 1, h->cntlid, false);
}

static void leave(struct host *h)
{
	peer_close(&h->io);
	peer_close(&h->admin);
	rig_run(&rig, 5 * RIG_MS);
}

static void start(const char *state_dir)
{
	struct io_loop *loops[2] = { rig.loop, second };
	struct err err = ERR_NULL;

	rig.config.listener_count = 0;
	rig.config.state_dir = state_dir;
	if (target_new_on_loops(&rig.config, loops, 2, &rig.target, &err) < 0 ||
	    target_start(rig.target, &err) < 0) {
		diag("%s", err.text);
		INVARIANT(!"a target can be started");
	}
	join(&a, 0);
	join(&b, 1);
	join(&c, 0);
}

static bool is_drained(void *arg)
{
	return target_drained(arg);
}

static void stop(void)
{
	leave(&a);
	leave(&b);
	leave(&c);
	target_drain(rig.target, true);
	INVARIANT(sim_run_until(rig.sim, is_drained, rig.target, 60 * RIG_S) == 0);
	rig.target = target_free(rig.target);
}

/* ---- commands -------------------------------------------------------------------------------- */

static uint16_t send_resv(struct host *h, uint8_t opc, uint8_t action, uint64_t crkey, uint64_t k2,
			  uint8_t type, uint8_t cptpl, uint32_t nsid)
{
	struct nvme_resv_keys keys = { .crkey = cpu_to_le64(crkey), .key = cpu_to_le64(k2) };
	uint32_t n = opc == NVME_NVM_RESV_RELEASE ? 8 : 16;
	struct nvme_cmd cmd;

	nvme_cmd_init_resv(&cmd, opc, nsid, action, false, type, cptpl);
	cmd.sgl = nvme_sgl_in_capsule(0, n);
	return peer_submit(&h->io, &cmd, &keys, n);
}

static uint16_t answer(struct host *h, uint16_t cid)
{
	struct nvme_cpl cpl = peer_wait(&h->io, cid);

	return peer_status(&cpl);
}

static uint16_t reg(struct host *h, uint8_t cptpl)
{
	return answer(h, send_resv(h, NVME_NVM_RESV_REGISTER, NVME_RREGA_REGISTER, 0, key(h), 0,
				   cptpl, NSID));
}

static uint16_t unreg(struct host *h)
{
	return answer(h, send_resv(h, NVME_NVM_RESV_REGISTER, NVME_RREGA_UNREGISTER, key(h), 0, 0,
				   0, NSID));
}

static uint16_t acquire(struct host *h, uint8_t type)
{
	return answer(h, send_resv(h, NVME_NVM_RESV_ACQUIRE, NVME_RACQA_ACQUIRE, key(h), 0, type, 0,
				   NSID));
}

static uint16_t send_preempt(struct host *h, uint64_t prkey, uint8_t type, uint8_t action)
{
	return send_resv(h, NVME_NVM_RESV_ACQUIRE, action, key(h), prkey, type, 0, NSID);
}

static uint16_t release(struct host *h, uint8_t type)
{
	return answer(h, send_resv(h, NVME_NVM_RESV_RELEASE, NVME_RRELA_RELEASE, key(h), 0, type, 0,
				   NSID));
}

static uint16_t clear(struct host *h)
{
	return answer(h,
		      send_resv(h, NVME_NVM_RESV_RELEASE, NVME_RRELA_CLEAR, key(h), 0, 0, 0, NSID));
}

static uint16_t rw(struct host *h, uint8_t opc, uint32_t nsid)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	memset(buf, 0, BLOCK);
	if (opc == NVME_NVM_FLUSH) {
		nvme_cmd_init_flush(&cmd, nsid);
		cpl = peer_do(&h->io, &cmd, NULL, 0);
	} else if (opc == NVME_NVM_DATASET_MGMT) {
		nvme_cmd_init_dsm(&cmd, nsid, 1, NVME_DSM_DEALLOCATE);
		cpl = peer_do(&h->io, &cmd, buf, 16);
	} else {
		bool data = opc != NVME_NVM_VERIFY && opc != NVME_NVM_WRITE_ZEROES;

		nvme_cmd_init_rw(&cmd, opc, nsid, 0, 1, 0);
		cpl = peer_do(&h->io, &cmd, buf, data ? BLOCK : 0);
	}
	return peer_status(&cpl);
}

/* Of the extended structure; the registrants' host identifiers follow. */
static const struct nvme_resv_status *report(struct host *h, uint32_t bytes)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	memset(buf, 0xee, sizeof(buf));
	nvme_cmd_init_resv_report(&cmd, NSID, bytes, true);
	cpl = peer_do(&h->io, &cmd, buf, bytes);
	INVARIANT(peer_status(&cpl) == 0);
	return (const void *)buf;
}

static const struct nvme_resv_controller_ext *entry(int i)
{
	return (const void *)(buf + NVME_RESV_STATUS_EXTENDED_HEADER +
			      (size_t)i * sizeof(struct nvme_resv_controller_ext));
}

/* ---- what there is to see -------------------------------------------------------------------- */

static void identify(void)
{
	const struct nvme_id_ns *ns = (const void *)buf;
	const struct nvme_id_ctrl *id = (const void *)buf;
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	nvme_cmd_init_identify(&cmd, NVME_CNS_NS, NSID, 0, 0);
	cpl = peer_do(&a.admin, &cmd, buf, NVME_IDENTIFY_SIZE);
	is_status(&cpl, SUCCESS, "Identify");
	is_u64(ns->rescap, 0xfe, "RESCAP: all types, IEKEY as of 1.3, nothing persists");
	ok(ns->nmic & NVME_NMIC_SHARED, "the namespace is shared");
	nvme_cmd_init_identify(&cmd, NVME_CNS_CTRL, 0, 0, 0);
	cpl = peer_do(&a.admin, &cmd, buf, NVME_IDENTIFY_SIZE);
	ok(le16_to_cpu(id->oncs) & NVME_ONCS_RESERVATIONS, "ONCS says reservations");
	ok(le32_to_cpu(id->ctratt) & NVME_CTRATT_HOSTID_128, "CTRATT says 128-bit identifiers");
}

static void reports(void)
{
	const struct nvme_resv_status *s = report(&a, 4096);
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	ok(le32_to_cpu(s->gen) == 0 && s->rtype == 0 && le16_to_cpu(s->regctl) == 0 && !s->ptpls,
	   "Report: nothing yet");
	is_u64(reg(&a, 0), 0, "A registers");
	is_u64(reg(&b, 0), 0, "B registers");
	is_u64(acquire(&b, 3), 0, "B acquires");
	s = report(&c, 4096);
	is_u64(le32_to_cpu(s->gen), 2, "Report of a stranger: GEN");
	is_u64(s->rtype, 3, "... RTYPE");
	is_u64(le16_to_cpu(s->regctl), 2, "... REGCTL");
	is_u64(le64_to_cpu(entry(0)->rkey), key(&a), "... A's key");
	is_u64(entry(0)->hostid[15], 'A', "... A's identifier");
	is_u64(le16_to_cpu(entry(0)->cntlid), 0xffff, "... CNTLID: a dynamic controller");
	is_u64(entry(0)->rcsts, 0, "... A does not hold it");
	is_u64(entry(1)->rcsts, NVME_RCSTS_HOLDER, "... B does");
	ok(buf[64 + 128] == 0 && buf[4095] == 0, "... and zeroes behind that");
	s = report(&a, 64 + 64);
	ok(le16_to_cpu(s->regctl) == 2 && entry(0)->hostid[0] == 'A' && buf[128] == 0xee,
	   "a shorter one says how many there are");
	s = report(&a, 8);
	ok(le16_to_cpu(s->regctl) == 2 && buf[8] == 0xee, "even one of 8 bytes");
	nvme_cmd_init_resv_report(&cmd, NSID, 4096, false);
	cpl = peer_do(&a.io, &cmd, buf, 4096);
	is_status(&cpl, HOSTID_FORMAT, "not extended: Host Identifier Inconsistent Format");
	nvme_cmd_init_resv_report(&cmd, NSID, 4096, true);
	cpl = peer_do(&a.io, &cmd, buf, 2048);
	is_status(&cpl, SGL_INVALID_LENGTH, "an SGL that is shorter than NUMD");
	nvme_cmd_init_resv_report(&cmd, NSID, UINT64_C(1) << 32, true);
	cpl = peer_do(&a.io, &cmd, buf, 4096);
	is_status(&cpl, INVALID_FIELD, "more than MDTS");
	is_u64(clear(&a), 0, "Clear");
	s = report(&a, 4096);
	ok(le32_to_cpu(s->gen) == 3 && s->rtype == 0 && le16_to_cpu(s->regctl) == 0,
	   "... leaves nothing but GEN");
}

static void wrong_ones(void)
{
	struct host n = { .name = 'N' };
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	uint8_t keys[16] = { 1 };

	is_u64(answer(&a, send_resv(&a, NVME_NVM_RESV_REGISTER, 0, 0, 1, 0, 0, 2)),
	       NVME_SC_INVALID_NAMESPACE, "an NSID that is not there");
	is_u64(answer(&a, send_resv(&a, NVME_NVM_RESV_REGISTER, 0, 0, 1, 0, 0, NVME_NSID_ALL)),
	       NVME_SC_INVALID_NAMESPACE, "NSID FFFFFFFFh");
	nvme_cmd_init_resv(&cmd, NVME_NVM_RESV_REGISTER, NSID, 0, false, 0, 0);
	cpl = peer_do(&a.io, &cmd, keys, 8);
	is_status(&cpl, SGL_INVALID_LENGTH, "one key where two belong");
	nvme_cmd_init_resv(&cmd, NVME_NVM_RESV_RELEASE, NSID, 0, false, 0, 0);
	cpl = peer_do(&a.io, &cmd, keys, 4);
	is_status(&cpl, SGL_INVALID_LENGTH, "half a key");
	is_u64(reg(&a, NVME_CPTPL_SET), NVME_SC_INVALID_FIELD, "CPTPL where nothing persists");
	/* By R2T as well as in a capsule. */
	memcpy(keys + 8, "\5\0\0\0\0\0\0\0", 8);
	nvme_cmd_init_resv(&cmd, NVME_NVM_RESV_REGISTER, NSID, 0, false, 0, 0);
	cpl = peer_do(&a.io, &cmd, keys, 16);
	is_status(&cpl, SUCCESS, "the keys by R2T");
	nvme_cmd_init_resv(&cmd, NVME_NVM_RESV_REGISTER, NSID, 1, true, 0, 0);
	cpl = peer_do(&a.io, &cmd, keys, 16);
	is_status(&cpl, SUCCESS, "and IEKEY");
	dial(&n, &n.admin, 0, NVME_CNTLID_DYNAMIC, true);
	dial(&n, &n.io, 1, n.cntlid, true);
	is_u64(reg(&n, 0), NVME_SC_SEQUENCE_ERROR, "a host without an identifier cannot register");
	is_u64(rw(&n, NVME_NVM_READ, NSID), 0, "... it may read");
	report(&n, 64);
	leave(&n);
}

/* ---- what they forbid ------------------------------------------------------------------------ */

static uint16_t fused(struct host *h, uint16_t *ret_second)
{
	struct nvme_cmd cmd;
	uint16_t one, two, status;

	memset(buf, 0, BLOCK);
	nvme_cmd_init_rw(&cmd, NVME_NVM_COMPARE, NSID, 0, 1, 0);
	cmd.flags |= NVME_FUSE_FIRST;
	cmd.sgl = nvme_sgl_in_capsule(0, BLOCK);
	one = peer_submit(&h->io, &cmd, buf, BLOCK);
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, NSID, 0, 1, 0);
	cmd.flags |= NVME_FUSE_SECOND;
	cmd.sgl = nvme_sgl_in_capsule(0, BLOCK);
	two = peer_submit(&h->io, &cmd, buf, BLOCK);
	status = answer(h, one);
	*ret_second = answer(h, two);
	return status;
}

/* Every command of every role under every type, as the figure has it. */
static void matrix(void)
{
	static const struct {
		uint8_t opc;
		const char *name;
		bool writes;
	} cmds[] = {
		{ NVME_NVM_READ, "Read", false },
		{ NVME_NVM_COMPARE, "Compare", false },
		{ NVME_NVM_VERIFY, "Verify", false },
		{ NVME_NVM_WRITE, "Write", true },
		{ NVME_NVM_WRITE_ZEROES, "Write Zeroes", true },
		{ NVME_NVM_DATASET_MGMT, "Dataset Management", true },
		{ NVME_NVM_FLUSH, "Flush", true },
	};
	struct host *roles[] = { &c, &b, &a };
	static const char *const names[] = { "a stranger", "a registrant", "the holder" };

	reg(&a, 0);
	reg(&b, 0);
	for (uint8_t type = 1; type <= 6; type++) {
		INVARIANT(acquire(&a, type) == 0);
		for (int role = 0; role < 3; role++) {
			bool in = role == 2 || (role == 1 && type >= 3);
			bool reads = in || type % 2 == 1;
			uint16_t write;

			for (size_t i = 0; i < ARRAY_SIZE(cmds); i++) {
				uint16_t st = rw(roles[role], cmds[i].opc, NSID);

				is_u64(st,
				       (cmds[i].writes ? in : reads) ? 0
								     : NVME_SC_RESERVATION_CONFLICT,
				       "type %u: %s of %s", type, cmds[i].name, names[role]);
			}
			is_u64(rw(roles[role], NVME_NVM_FLUSH, NVME_NSID_ALL),
			       in ? 0 : NVME_SC_RESERVATION_CONFLICT,
			       "type %u: Flush of all, of %s", type, names[role]);
			is_u64(rw(roles[role], NVME_NVM_WRITE, 7), NVME_SC_WRITE_PROTECTED,
			       "... another namespace is none of its business");
			is_u64(fused(roles[role], &write),
			       in      ? 0
			       : reads ? NVME_SC_ABORTED_FAILED_FUSED
				       : NVME_SC_RESERVATION_CONFLICT,
			       "type %u: a fused Compare of %s", type, names[role]);
			is_u64(write,
			       in      ? 0
			       : reads ? NVME_SC_RESERVATION_CONFLICT
				       : NVME_SC_ABORTED_FAILED_FUSED,
			       "... and its Write");
		}
		INVARIANT(release(&a, type) == 0);
	}
	is_u64(rw(&c, NVME_NVM_WRITE, NSID), 0, "released: everybody may write");
	clear(&a);
}

static uint16_t submit_write(struct host *h, bool capsule, uint32_t nsid)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, nsid, 0, 1, 0);
	cmd.sgl = capsule     ? nvme_sgl_in_capsule(0, BLOCK)
		  : nsid == 3 ? nvme_sgl_transport(4096)
			      : nvme_sgl_transport(BLOCK);
	return peer_submit(&h->io, &cmd, buf, capsule ? BLOCK : 0);
}

/* A command that was understood before and has its data after. */
static void in_between(void)
{
	unsigned int writes;
	struct nvme_cpl cpl;
	uint16_t cid;

	reg(&a, 0);
	cid = submit_write(&c, false, NSID);
	rig_run(&rig, RIG_MS);
	is_u64(acquire(&a, 1), 0, "a reservation while a write waits for its data");
	writes = rig.stores[0].count[STORE_WRITE];
	cpl = peer_finish(&c.io, cid, buf, BLOCK);
	is_status(&cpl, RESERVATION_CONFLICT, "... which then is forbidden");
	is_u64(rig.stores[0].count[STORE_WRITE], writes, "... and does not reach the store");
	ok(peer_dnr(&cpl), "... and is not to be tried again");
	clear(&a);
}

/* ---- Preempt and Abort ----------------------------------------------------------------------- */

static void preempt_abort(void)
{
	uint16_t held, waits, other, cid, data;
	struct nvme_cpl cpl;

	reg(&a, 0);
	reg(&b, 0);
	acquire(&b, 3);
	rig.stores[0].hold = true;
	held = submit_write(&b, true, NSID);
	data = submit_write(&b, false, NSID);
	rig_run(&rig, RIG_MS);
	rig_take_arena(&rig);
	waits = submit_write(&b, false, NSID);
	rig_run(&rig, RIG_MS);
	(void)waits;
	rig_give_arena(&rig);
	cid = send_preempt(&a, key(&b), 1, NVME_RACQA_PREEMPT_AND_ABORT);
	rig_run(&rig, 50 * RIG_MS);
	ok(!peer_next_in(&a.io, 10 * RIG_MS, &(union tcp_pdu){ 0 }, NULL, 0, NULL),
	   "Preempt and Abort waits for what is in the store");
	other = submit_write(&b, true, NSID);
	is_u64(answer(&b, other), NVME_SC_RESERVATION_CONFLICT,
	       "... and already forbids what comes");
	rig_store_release(&rig.stores[0]);
	is_u64(answer(&a, cid), 0, "... and is done when that has ended");
	(void)held;
	(void)data;
	(void)cpl;
	leave(&b);
	join(&b, 1);
	is_u64(rw(&b, NVME_NVM_WRITE, NSID), NVME_SC_RESERVATION_CONFLICT,
	       "a host that comes back is still preempted");
	is_u64(rw(&b, NVME_NVM_READ, NSID), 0, "... it may read");
	clear(&a);
	/* A plain Preempt does not wait. */
	reg(&a, 0);
	reg(&b, 0);
	rig.stores[0].hold = true;
	submit_write(&b, true, NSID);
	rig_run(&rig, RIG_MS);
	is_u64(answer(&a, send_preempt(&a, key(&b), 1, NVME_RACQA_PREEMPT)), 0,
	       "Preempt waits for nothing");
	rig_store_release(&rig.stores[0]);
	clear(&a);
	rig_run(&rig, 5 * RIG_MS);
}

static void preempt_abort_waiting(void)
{
	struct nvme_cpl cpl;
	uint16_t waits, event;
	union tcp_pdu pdu;

	/* The core that serves B is core 0: its arena is the one that is taken. */
	leave(&b);
	join(&b, 1);
	reg(&a, 0);
	reg(&b, 0);
	rig_take_arena(&rig);
	waits = submit_write(&b, false, NSID);
	event = submit_write(&b, false, 3);
	rig_run(&rig, RIG_MS);
	is_u64(answer(&a, send_preempt(&a, key(&b), 1, NVME_RACQA_PREEMPT_AND_ABORT)), 0,
	       "Preempt and Abort, no reservation, memory is out");
	is_u64(answer(&b, waits), NVME_SC_ABORTED_PREEMPT, "... aborts what waits for it");
	rig_give_arena(&rig);
	ok(peer_next(&b.io, &pdu, NULL, 0, NULL) && pdu.ch.type == TCP_PDU_R2T &&
		   le16_to_cpu(pdu.r2t.cccid) == event,
	   "... but not what is of another namespace");
	cpl = peer_wait(&b.io, 0xfff0);
	(void)cpl;
	leave(&b);
	join(&b, 1);
	clear(&a);
}

/* The host whose writes are waited for is gone: they are waited for all the same. */
static void preempt_abort_gone(void)
{
	uint16_t cid;

	reg(&a, 0);
	reg(&b, 0);
	acquire(&b, 1);
	rig.stores[0].hold = true;
	submit_write(&b, true, NSID);
	rig_run(&rig, RIG_MS);
	peer_close(&b.io);
	peer_close(&b.admin);
	rig_run(&rig, RIG_MS);
	cid = send_preempt(&a, key(&b), 1, NVME_RACQA_PREEMPT_AND_ABORT);
	ok(!peer_next_in(&a.io, 50 * RIG_MS, &(union tcp_pdu){ 0 }, NULL, 0, NULL),
	   "a write of a dead connection is waited for");
	rig_store_release(&rig.stores[0]);
	is_u64(answer(&a, cid), 0, "... until it has landed");
	clear(&a);
	join(&b, 1);
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct nvme_log_reservation note(struct host *h, bool rae)
{
	struct nvme_get_log g = { .lid = NVME_LID_RESERVATION,
				  .bytes = sizeof(struct nvme_log_reservation),
				  .rae = rae };
	struct nvme_log_reservation page = { 0 };
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	nvme_cmd_init_get_log(&cmd, 0, &g);
	cpl = peer_do(&h->admin, &cmd, &page, sizeof(page));
	INVARIANT(peer_status(&cpl) == 0);
	return page;
}

static uint16_t ask_event(struct host *h)
{
	struct nvme_cmd cmd;

	nvme_cmd_init(&cmd, NVME_ADMIN_ASYNC_EVENT_REQUEST, 0);
	return peer_submit(&h->admin, &cmd, NULL, 0);
}

static uint32_t event(struct host *h, uint16_t cid)
{
	struct nvme_cpl cpl = peer_wait(&h->admin, cid);

	return peer_status(&cpl) == 0 ? nvme_cpl_dw0(&cpl) : 0xffffffff;
}

static void events(void)
{
	const uint32_t dw0 = 0x800006; /* I/O command set specific, log page 80h */
	struct nvme_log_reservation n;
	uint16_t cid = ask_event(&b);

	note(&a, false);
	while (note(&b, false).type)
		;
	while (note(&c, false).type)
		;
	reg(&a, 0);
	reg(&b, 0);
	reg(&c, 0);
	acquire(&a, 3);
	release(&a, 3);
	is_u64(event(&b, cid), dw0, "an event for another registrant");
	n = note(&b, true);
	is_u64(n.type, NVME_RESV_RELEASED, "... Reservation Released");
	is_u64(le32_to_cpu(n.nsid), NSID, "... of that namespace");
	is_u64(n.available, 0, "... the only one");
	is_u64(le64_to_cpu(note(&b, false).count), le64_to_cpu(n.count), "... RAE leaves it there");
	is_u64(note(&b, false).type, NVME_RESV_LOG_EMPTY, "... and reading it takes it away");
	is_u64(note(&a, false).type, NVME_RESV_LOG_EMPTY, "the host itself hears nothing");
	acquire(&b, 1);
	is_u64(answer(&a, send_preempt(&a, key(&b), 2, NVME_RACQA_PREEMPT)), 0, "Preempt");
	is_u64(note(&b, false).type, NVME_RESV_REGISTRATION_PREEMPTED, "who is out hears of it");
	n = note(&c, false);
	is_u64(n.type, NVME_RESV_RELEASED, "the third heard of the first release");
	is_u64(n.available, 1, "... and there is one more");
	is_u64(le64_to_cpu(note(&c, false).count), le64_to_cpu(n.count) + 1, "... the next");
	clear(&a);
	is_u64(note(&c, false).type, NVME_RESV_PREEMPTED, "Clear: Reservation Preempted");
	reg(&a, 0);
	reg(&c, 0);
	for (int i = 0; i < TGT_RESV_LOG + 5; i++) {
		acquire(&a, 4);
		release(&a, 4);
	}
	n = note(&c, true);
	is_u64(n.available, TGT_RESV_LOG - 1, "a log that is full keeps the latest");
	is_u64(event(&c, ask_event(&c)), dw0, "an event for the first of them");
	cid = ask_event(&c);
	rig_run(&rig, 5 * RIG_MS);
	ok(c.admin.in_len == c.admin.in_at, "... no other before the log is read");
	note(&c, true);
	ok(c.admin.in_len == c.admin.in_at, "... with RAE it is not");
	{
		struct nvme_get_log g = { .lid = NVME_LID_RESERVATION, .bytes = 64 };
		struct nvme_cmd cmd;

		nvme_cmd_init_get_log(&cmd, 0, &g);
		cmd.sgl = nvme_sgl_transport(64);
		peer_submit(&c.admin, &cmd, NULL, 0);
	}
	is_u64(event(&c, cid), dw0, "... then there is, as long as there are pages");
	while (note(&c, false).type)
		;
	clear(&a);
	while (note(&c, false).type)
		;
}

/* ---- features -------------------------------------------------------------------------------- */

static uint16_t set_feature(uint8_t fid, uint32_t nsid, uint32_t dw11)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	nvme_cmd_init_set_features(&cmd, fid, false, nsid, dw11);
	cpl = peer_do(&a.admin, &cmd, NULL, 0);
	return peer_status(&cpl);
}

static uint32_t get_feature(uint8_t fid, uint32_t nsid, uint8_t sel)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	nvme_cmd_init_get_features(&cmd, fid, sel, nsid, 0);
	cpl = peer_do(&a.admin, &cmd, NULL, 0);
	return peer_status(&cpl) ? 0x10000u + peer_status(&cpl) : nvme_cpl_dw0(&cpl);
}

static void masks(void)
{
	const uint8_t fid = NVME_FID_RESERVATION_MASK;

	is_u64(get_feature(fid, NSID, 0), 0, "nothing is masked");
	is_u64(get_feature(fid, NSID, 3), 6, "the mask is of a namespace, and changeable");
	is_u64(get_feature(fid, NVME_NSID_ALL, 0), 0x10000 + NVME_SC_INVALID_FIELD,
	       "FFFFFFFFh cannot be read");
	is_u64(get_feature(fid, 2, 0), 0x10000 + NVME_SC_INVALID_NAMESPACE,
	       "nor what is not there");
	is_u64(set_feature(fid, NSID, 1), NVME_SC_INVALID_FIELD, "bit 0 is reserved");
	is_u64(set_feature(fid, NVME_NSID_ALL, 1 << 1 | 1 << 3), 0, "masked everywhere");
	is_u64(get_feature(fid, 3, 0), 10, "... as one sees");
	is_u64(set_feature(fid, NSID, 1 << 2), 0, "one is masked for one");
	is_u64(get_feature(fid, NSID, 0), 4, "... as one sees");
	is_u64(get_feature(fid, 3, 0), 10, "... not for the other");
	reg(&a, 0);
	reg(&b, 0);
	while (note(&b, false).type)
		;
	acquire(&a, 3);
	release(&a, 3);
	is_u64(note(&b, false).type, 0, "what is masked is not told");
	clear(&a);
	is_u64(note(&b, false).type, NVME_RESV_PREEMPTED, "other things are");
	set_feature(fid, NVME_NSID_ALL, 0);
}

static void ptpl_feature(bool can)
{
	const uint8_t fid = NVME_FID_RESERVATION_PERSISTENCE;

	is_u64(get_feature(fid, NSID, 0), 0, "PTPL is 0");
	is_u64(set_feature(fid, NSID, 1), can ? 0 : NVME_SC_INVALID_FIELD, "PTPL 1");
	is_u64(get_feature(fid, NSID, 0), can, "... as one sees");
	is_u64(get_feature(fid, NSID, NVME_FEATURE_DEFAULT), 0, "... the default stays");
	is_u64(get_feature(fid, 3, 0), 0, "... the other namespace too");
	is_u64(set_feature(fid, NVME_NSID_ALL, 1), can ? 0 : NVME_SC_INVALID_FIELD, "PTPL for all");
	is_u64(get_feature(fid, 3, 0), can, "... as one sees");
	is_u64(set_feature(fid, NVME_NSID_ALL, 0), 0, "PTPL 0 for all");
	is_u64(get_feature(fid, NSID, 0), 0, "... as one sees");
	is_u64(set_feature(fid, NSID, 2), NVME_SC_INVALID_FIELD, "bit 1 is reserved");
	is_u64(set_feature(fid, 2, 1), NVME_SC_INVALID_NAMESPACE, "a namespace that is not there");
	is_u64(get_feature(fid, NVME_NSID_ALL, 0), 0x10000 + NVME_SC_INVALID_FIELD,
	       "FFFFFFFFh cannot be read");
}

/* ---- hosts that come and go ------------------------------------------------------------------ */

static void reconnects(void)
{
	struct host again = { .name = 'A' };

	reg(&a, 0);
	acquire(&a, 2);
	leave(&a);
	is_u64(rw(&b, NVME_NVM_READ, NSID), NVME_SC_RESERVATION_CONFLICT,
	       "a reservation stays when its holder goes");
	join(&a, 1);
	is_u64(rw(&a, NVME_NVM_WRITE, NSID), 0, "... and is there when it comes back");
	join(&again, 0);
	is_u64(rw(&again, NVME_NVM_WRITE, NSID), 0, "... by another controller too");
	is_u64(release(&again, 2), 0, "... which may release it");
	is_u64(rw(&b, NVME_NVM_READ, NSID), 0, "... for everybody");
	leave(&again);
	acquire(&a, 2);
	is_u64(unreg(&a), 0, "who unregisters");
	is_u64(rw(&b, NVME_NVM_READ, NSID), 0, "... releases what it held");
}

/* Connections that end while a change of theirs is on its way; the changes are done in order. */
static void cut(void)
{
	bool good = true;

	for (int i = 0; i < 40; i++) {
		uint16_t cid;

		send_resv(&b, NVME_NVM_RESV_REGISTER, 2, 0, (uint64_t)i + 1, 0, 0, NSID);
		for (int k = 0; k < 5; k++)
			send_resv(&c, NVME_NVM_RESV_REGISTER, 0, 0, key(&c), 0, 0, NSID);
		cid = send_resv(&a, NVME_NVM_RESV_REGISTER, 0, 0, key(&a), 0, 0, NSID);
		rig_run(&rig, (uint64_t)(i % 8) * RIG_MS / 16);
		peer_close(&c.io);
		peer_close(&c.admin);
		good = good && answer(&a, cid) == 0;
		rig_run(&rig, 5 * RIG_MS);
		join(&c, i % 2);
	}
	ok(good, "a connection may end with changes on their way");
	clear(&a);
}

/* ---- a target that is started again ---------------------------------------------------------- */

static uint64_t path_of(char path[128])
{
	snprintf(path, 128, "%s",
		 rig.target->subsystems[1]->table->by_nsid[NSID]->backing->resv.path);
	return strlen(path);
}

static void finished(struct io_op *op)
{
	op->result = op->result == 0 ? 1 : op->result;
}

static void write_file(const char *path, char *text, size_t n)
{
	struct iovec iov = { text, n };
	struct io_op op;

	io_op_init(&op, finished);
	io_state_save(rig.loop, &op, path, &iov);
	while (op.pending)
		rig_run(&rig, RIG_MS);
}

static void persists(void)
{
	static char text[32 << 10];
	struct io_loop *loops[2] = { rig.loop, second };
	const struct nvme_resv_status *s;
	struct err err = ERR_NULL;
	char path[128];
	int64_t n;

	start("state");
	ptpl_feature(true);
	is_u64(reg(&a, NVME_CPTPL_SET), 0, "CPTPL 3 can be had with a state directory");
	reg(&b, 0);
	is_u64(acquire(&a, 2), 0, "A holds it");
	s = report(&c, 4096);
	ok(s->ptpls, "Report says PTPL");
	path_of(path);
	stop();
	n = io_state_load(rig.loop, path, text, sizeof(text), &err);
	ok(n > 100, "there is a state file");
	start("state");
	s = report(&c, 4096);
	ok(s->ptpls && s->rtype == 2 && le16_to_cpu(s->regctl) == 2 && entry(0)->hostid[0] == 'A' &&
		   entry(0)->rcsts && le64_to_cpu(entry(1)->rkey) == key(&b),
	   "started again: all of it is there");
	is_u64(rw(&c, NVME_NVM_READ, NSID), NVME_SC_RESERVATION_CONFLICT,
	       "... and keeps others out");
	is_u64(rw(&b, NVME_NVM_WRITE, NSID), NVME_SC_RESERVATION_CONFLICT, "... on either core");
	is_u64(rw(&a, NVME_NVM_WRITE, NSID), 0, "... but not its holder");
	is_u64(release(&a, 2), 0, "its holder may release it");
	stop();
	start("state");
	s = report(&c, 4096);
	ok(s->rtype == 0 && le16_to_cpu(s->regctl) == 2, "a release persists too");
	is_u64(reg(&a, NVME_CPTPL_CLEAR), 0, "CPTPL 2");
	is_i64(io_state_load(rig.loop, path, text, sizeof(text), &err), -ENOENT,
	       "... leaves no file");
	stop();
	start("state");
	s = report(&c, 4096);
	ok(le16_to_cpu(s->regctl) == 0 && !s->ptpls, "... and nothing, the next time");
	reg(&a, NVME_CPTPL_SET);
	stop();
	start(NULL);
	s = report(&c, 4096);
	is_u64(le16_to_cpu(s->regctl), 0, "without a state directory there is nothing");
	stop();
	n = io_state_load(rig.loop, path, text, sizeof(text), &err);
	text[n / 2] = (char)(text[n / 2] ^ 1);
	write_file(path, text, (size_t)n);
	ok(target_new_on_loops(&rig.config, loops, 2, &rig.target, &err) == 0, "a damaged file");
	rig.target = target_free(rig.target);
	rig.config.state_dir = "state";
	ok(target_new_on_loops(&rig.config, loops, 2, &rig.target, &err) == 0, "... is found");
	ok(target_start(rig.target, &err) == -EINVAL, "... when it is started");
	ok(strstr(err.text, path) && strstr(err.text, "checksum"), "... and named: %s", err.text);
	INVARIANT(sim_run_until(rig.sim, is_drained, rig.target, 60 * RIG_S) == 0);
	rig.target = target_free(rig.target);
	/* Under the number of another namespace. */
	text[n / 2] = (char)(text[n / 2] ^ 1);
	write_file(path, text, (size_t)n);
	rig.namespaces[0].uuid.b[3] = 9;
	start("state");
	s = report(&c, 4096);
	is_u64(le16_to_cpu(s->regctl), 0,
	       "another namespace under that number knows nothing of it");
	ok(rig_logged(&rig, "reservations_forgotten"), "... which is said");
	stop();
}

int main(void)
{
	rig_init(&rig);
	second = sim_loop_new(rig.node);
	start(NULL);
	identify();
	reports();
	wrong_ones();
	matrix();
	in_between();
	preempt_abort();
	preempt_abort_waiting();
	preempt_abort_gone();
	events();
	masks();
	ptpl_feature(false);
	reconnects();
	cut();
	stop();
	persists();
	second = io_loop_free(second);
	rig_end(&rig);
	return tap_done();
}
