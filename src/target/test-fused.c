/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compare and Write as a fused operation (E004): pairs that are whole, with data in capsules and by
 * R2T in any order; pairs that are broken in every way there is; memory, time, the fence and the
 * connection running out between the two.
 */
#include <errno.h>
#include <string.h>

#include "nvme/identify.h"
#include "target/assoc.h"
#include "target/conn.h"
#include "target/ctrl.h"
#include "target/fused.h"
#include "target/test-rig.h"
#include "tests/tap.h"

enum { BLOCK = 512, BLOCKS = 8, BYTES = BLOCK * BLOCKS, LBA = 64 };

static struct rig rig;
static struct peer admin, io;
static uint16_t cntlid;
static uint8_t old[1 << 20], new[1 << 20], got[1 << 20];

/* A half of a pair; @capsule: its data goes with it. */
static uint16_t send_at(uint8_t opc, unsigned int fuse, uint32_t nsid, uint64_t lba, uint32_t nlb,
			const void *data, bool capsule)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, opc, nsid, lba, nlb, 0);
	cmd.flags |= (uint8_t)fuse;
	cmd.sgl = capsule ? nvme_sgl_in_capsule(0, nlb * BLOCK) : nvme_sgl_transport(nlb * BLOCK);
	return peer_submit(&io, &cmd, data, capsule ? nlb * BLOCK : 0);
}

static uint16_t first(const void *data, bool capsule)
{
	return send_at(NVME_NVM_COMPARE, NVME_FUSE_FIRST, 1, LBA, BLOCKS, data, capsule);
}

static uint16_t second(const void *data, bool capsule)
{
	return send_at(NVME_NVM_WRITE, NVME_FUSE_SECOND, 1, LBA, BLOCKS, data, capsule);
}

static void put(const void *data)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, LBA, BLOCKS, 0);
	memcpy(got, data, BYTES);
	cpl = peer_do(&io, &cmd, got, BYTES);
	INVARIANT(peer_status(&cpl) == 0);
}

static bool holds(const void *data)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, LBA, BLOCKS, 0);
	cpl = peer_do(&io, &cmd, got, BYTES);
	return peer_status(&cpl) == 0 && memcmp(got, data, BYTES) == 0;
}

/* Both answers of a pair, whatever their order; FFFFh: none came. */
struct answers {
	uint16_t first, second;
};

struct data {
	uint16_t cid;
	uint8_t *from;
	uint32_t bytes; /* 0: BYTES */
};

static void answer_r2t(const struct tcp_r2t *r2t, uint8_t *from, uint32_t bytes)
{
	uint32_t n = bytes ? bytes : BYTES;
	struct iovec iov = { from, n };
	struct tcp_tx_pdu pdu = { 0 };

	INVARIANT(le32_to_cpu(r2t->r2tl) == n);
	tcp_build_h2c_data(&io.tx, &pdu, le16_to_cpu(r2t->cccid), le16_to_cpu(r2t->ttag), 0, &iov,
			   1, n, true);
	peer_pdu(&io, &pdu);
}

/*
 * Gives the target what it asks for and takes both answers. @backwards: the data of the second
 * first, once both were asked for.
 */
static struct answers finish(struct data c, struct data w, bool backwards)
{
	struct answers a = { 0xffff, 0xffff };
	struct tcp_r2t held = { 0 };
	union tcp_pdu pdu;

	while ((a.first == 0xffff || a.second == 0xffff) && peer_next(&io, &pdu, NULL, 0, NULL)) {
		uint16_t cid = pdu.ch.type == TCP_PDU_RSP ? nvme_cpl_cid(&pdu.rsp.cqe)
							  : le16_to_cpu(pdu.r2t.cccid);

		if (pdu.ch.type == TCP_PDU_RSP) {
			*(cid == c.cid ? &a.first : &a.second) = peer_status(&pdu.rsp.cqe);
		} else if (pdu.ch.type != TCP_PDU_R2T) {
			break;
		} else if (backwards && cid == c.cid) {
			held = pdu.r2t;
		} else {
			answer_r2t(&pdu.r2t, cid == c.cid ? c.from : w.from, c.bytes);
			if (backwards)
				answer_r2t(&held, c.from, c.bytes);
		}
	}
	return a;
}

static struct answers pair(uint8_t *expect, bool c_capsule, uint8_t *want, bool w_capsule,
			   bool backwards)
{
	struct data c = { .from = expect }, w = { .from = want };

	c.cid = first(expect, c_capsule);
	w.cid = second(want, w_capsule);
	return finish(c, w, backwards);
}

#define is_answers(a, one, two, ...)                                                               \
	do {                                                                                       \
		is_u64((a).first, NVME_SC_##one, __VA_ARGS__);                                     \
		is_u64((a).second, NVME_SC_##two, "... and the second");                           \
	} while (0)

static void whole(void)
{
	static const char *const how[] = { "R2T, R2T", "capsule, R2T", "R2T, capsule",
					   "capsule, capsule" };
	unsigned int ops = rig.stores[0].count[STORE_COMPARE_WRITE];
	struct answers a;

	for (unsigned int i = 0; i < 4; i++) {
		put(old);
		a = pair(old, i & 1, new, i & 2, false);
		is_answers(a, SUCCESS, SUCCESS, "a pair whose data comes by %s", how[i]);
		ok(holds(new), "... and the new data is there");
		a = pair(old, i & 1, old, i & 2, false);
		is_answers(a, COMPARE_FAILURE, ABORTED_FAILED_FUSED,
			   "one that finds something else");
		ok(holds(new), "... and nothing is changed");
	}
	put(old);
	a = pair(old, false, new, false, true);
	is_answers(a, SUCCESS, SUCCESS, "the data of the second comes first");
	ok(holds(new), "... and ends where it belongs");
	is_u64(rig.stores[0].count[STORE_COMPARE_WRITE], ops + 9, "each pair is one operation");
}

/* E004: many pairs at once, their data in reverse. */
static void interleaved(void)
{
	enum { PAIRS = 8 };
	struct tcp_r2t r2t[2 * PAIRS];
	uint16_t base = io.cid;
	union tcp_pdu pdu;
	int n = 0, good = 0;

	put(old);
	for (int i = 0; i < PAIRS; i++) {
		first(NULL, false);
		second(NULL, false);
	}
	while (n < 2 * PAIRS && peer_next(&io, &pdu, NULL, 0, NULL))
		r2t[n++] = pdu.r2t;
	is_u64(n, 2 * PAIRS, "E004: 8 pairs, 16 times data is asked for");
	/* All of them expect what the store holds before the first and after each. */
	for (int i = n - 1; i >= 0; i--)
		answer_r2t(&r2t[i], old, BYTES);
	for (n = 0; n < 2 * PAIRS && peer_next(&io, &pdu, NULL, 0, NULL); n++)
		good += pdu.ch.type == TCP_PDU_RSP && peer_status(&pdu.rsp.cqe) == 0 &&
			nvme_cpl_cid(&pdu.rsp.cqe) > base;
	is_u64(good, 2 * PAIRS, "... and all succeed");
}

static uint16_t status_of(uint16_t cid)
{
	struct nvme_cpl cpl = peer_wait(&io, cid);

	return peer_status(&cpl);
}

static bool works(void)
{
	put(old);
	return holds(old);
}

static void alone(void)
{
	uint16_t c, w, other;
	struct nvme_cmd cmd;

	w = second(new, true);
	is_u64(status_of(w), NVME_SC_ABORTED_MISSING_FUSED, "E004: a second without a first");
	c = first(old, true);
	other = send_at(NVME_NVM_WRITE, 0, 1, LBA, BLOCKS, old, true);
	is_u64(status_of(c), NVME_SC_ABORTED_MISSING_FUSED, "a first and something else");
	is_u64(status_of(other), NVME_SC_SUCCESS, "... which is done");
	c = first(NULL, false);
	nvme_cmd_init_flush(&cmd, 1);
	other = peer_submit(&io, &cmd, NULL, 0);
	is_u64(status_of(c), NVME_SC_ABORTED_MISSING_FUSED, "the same without data in the capsule");
	is_u64(status_of(other), NVME_SC_SUCCESS, "... the other is done");
	w = second(new, false);
	is_u64(status_of(w), NVME_SC_ABORTED_MISSING_FUSED, "and its second is late");
	c = first(old, true);
	other = first(old, true);
	w = second(new, true);
	is_u64(status_of(c), NVME_SC_ABORTED_MISSING_FUSED, "a first behind a first");
	is_u64(status_of(other), NVME_SC_SUCCESS, "... the later one has a second");
	is_u64(status_of(w), NVME_SC_SUCCESS, "... and that is it");
	w = second(new, true);
	is_u64(status_of(w), NVME_SC_ABORTED_MISSING_FUSED, "a pair has one second");
	ok(works(), "the connection lives");
}

static void mismatch(void)
{
	static const struct {
		const char *what;
		uint8_t opc1, opc2;
		uint32_t nsid1, nsid2;
		uint64_t lba1, lba2;
		uint32_t nlb1, nlb2;
		uint16_t st1, st2;
	} rows[] = {
		{ "another SLBA", NVME_NVM_COMPARE, NVME_NVM_WRITE, 1, 1, LBA, LBA + 1, 8, 8,
		  NVME_SC_INVALID_FIELD, NVME_SC_INVALID_FIELD },
		{ "another NLB", NVME_NVM_COMPARE, NVME_NVM_WRITE, 1, 1, LBA, LBA, 8, 7,
		  NVME_SC_INVALID_FIELD, NVME_SC_INVALID_FIELD },
		{ "another NSID", NVME_NVM_COMPARE, NVME_NVM_WRITE, 1, 3, 1, 1, 8, 8,
		  NVME_SC_ABORTED_FAILED_FUSED, NVME_SC_SGL_INVALID_LENGTH },
		{ "an NSID that is not there", NVME_NVM_COMPARE, NVME_NVM_WRITE, 1, 99, LBA, LBA, 8,
		  8, NVME_SC_ABORTED_FAILED_FUSED, NVME_SC_INVALID_NAMESPACE },
		{ "a first past the end", NVME_NVM_COMPARE, NVME_NVM_WRITE, 1, 1, RIG_BLOCKS, LBA,
		  8, 8, NVME_SC_LBA_OUT_OF_RANGE, NVME_SC_ABORTED_FAILED_FUSED },
		{ "a second past the end", NVME_NVM_COMPARE, NVME_NVM_WRITE, 1, 1, LBA, RIG_BLOCKS,
		  8, 8, NVME_SC_ABORTED_FAILED_FUSED, NVME_SC_LBA_OUT_OF_RANGE },
		{ "the wrong way round", NVME_NVM_WRITE, NVME_NVM_COMPARE, 1, 1, LBA, LBA, 8, 8,
		  NVME_SC_INVALID_FIELD, NVME_SC_ABORTED_FAILED_FUSED },
		{ "another first", NVME_NVM_READ, NVME_NVM_WRITE, 1, 1, LBA, LBA, 8, 8,
		  NVME_SC_INVALID_FIELD, NVME_SC_ABORTED_FAILED_FUSED },
		{ "another second", NVME_NVM_COMPARE, NVME_NVM_READ, 1, 1, LBA, LBA, 8, 8,
		  NVME_SC_ABORTED_FAILED_FUSED, NVME_SC_INVALID_FIELD },
		{ "no command there is", NVME_NVM_COMPARE, 0x44, 1, 1, LBA, LBA, 8, 8,
		  NVME_SC_ABORTED_FAILED_FUSED, NVME_SC_INVALID_FIELD },
		{ "a read-only namespace", NVME_NVM_COMPARE, NVME_NVM_WRITE, 7, 7, LBA, LBA, 8, 8,
		  NVME_SC_ABORTED_FAILED_FUSED, NVME_SC_WRITE_PROTECTED },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* Once with data in the capsules, once without. */
		for (int capsule = 0; capsule < 2; capsule++) {
			bool c1 = capsule && rows[i].opc1 != NVME_NVM_READ;
			bool c2 = capsule && rows[i].opc2 != NVME_NVM_READ && rows[i].opc2 != 0x44;
			uint16_t c, w;

			c = send_at(rows[i].opc1, NVME_FUSE_FIRST, rows[i].nsid1, rows[i].lba1,
				    rows[i].nlb1, old, c1);
			w = send_at(rows[i].opc2, NVME_FUSE_SECOND, rows[i].nsid2, rows[i].lba2,
				    rows[i].nlb2, new, c2);
			is_u64(status_of(c), rows[i].st1, "%s", rows[i].what);
			is_u64(status_of(w), rows[i].st2, "... and the second");
		}
	}
	is_u64(status_of(send_at(NVME_NVM_COMPARE, NVME_FUSE_RESERVED, 1, LBA, 8, old, true)),
	       NVME_SC_INVALID_FIELD, "E004: FUSE 3");
	ok(works(), "the connection lives");
}

static void sizes(void)
{
	uint32_t max = tgt_fused_max(&rig.target->limits);
	uint32_t nlb = max / BLOCK;
	struct data d[2] = { { .from = got, .bytes = max }, { .from = new } };
	struct nvme_id_ctrl id;
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	struct answers a;
	uint16_t c, w;

	nvme_cmd_init_identify(&cmd, NVME_CNS_CTRL, 0, 0, NVME_CSI_NVM);
	cpl = peer_do(&admin, &cmd, &id, sizeof(id));
	is_status(&cpl, SUCCESS, "Identify");
	is_u64(le16_to_cpu(id.fuses), NVME_FUSES_COMPARE_WRITE, "FUSES says Compare and Write");
	is_u64((le16_to_cpu(id.acwu) + 1u) * 4096, max, "ACWU is what is accepted");
	c = send_at(NVME_NVM_COMPARE, NVME_FUSE_FIRST, 1, 0, nlb + 1, NULL, false);
	w = send_at(NVME_NVM_WRITE, NVME_FUSE_SECOND, 1, 0, nlb + 1, NULL, false);
	is_u64(status_of(c), NVME_SC_ATOMIC_UNIT_EXCEEDED, "a block more than ACWU has");
	is_u64(status_of(w), NVME_SC_ABORTED_FAILED_FUSED, "... and the second");
	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 0, nlb, 0);
	cpl = peer_do(&io, &cmd, got, max);
	d[0].cid = send_at(NVME_NVM_COMPARE, NVME_FUSE_FIRST, 1, 0, nlb, NULL, false);
	d[1].cid = send_at(NVME_NVM_WRITE, NVME_FUSE_SECOND, 1, 0, nlb, NULL, false);
	a = finish(d[0], d[1], false);
	is_answers(a, SUCCESS, SUCCESS, "as many as ACWU has");
	memset(got, 0, max);
	cpl = peer_do(&io, &cmd, got, max);
	ok(memcmp(got, new, max) == 0, "... are all written");
}

static void stores(void)
{
	struct answers a;
	unsigned int fua = rig.stores[0].fua;
	struct data c = { .from = old }, w = { .from = new };
	struct nvme_cmd cmd;

	put(old);
	rig.stores[0].fail = -EIO;
	a = pair(old, true, new, true, false);
	rig.stores[0].fail = 0;
	ok(a.first != 0 && a.first != NVME_SC_COMPARE_FAILURE && a.second != 0 &&
		   a.second != NVME_SC_ABORTED_FAILED_FUSED,
	   "the store fails: neither says that nothing was changed");
	c.cid = first(old, true);
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, LBA, BLOCKS, NVME_RW_FUA);
	cmd.flags |= NVME_FUSE_SECOND;
	cmd.sgl = nvme_sgl_in_capsule(0, BYTES);
	w.cid = peer_submit(&io, &cmd, new, BYTES);
	a = finish(c, w, false);
	is_answers(a, SUCCESS, SUCCESS, "FUA");
	is_u64(rig.stores[0].fua, fua + 1, "... reaches the store");
	nvme_cmd_init_rw(&cmd, NVME_NVM_COMPARE, 1, LBA, BLOCKS, 0);
	cmd.flags |= NVME_FUSE_FIRST;
	cmd.sgl = nvme_sgl_in_capsule(8, BYTES - BLOCK);
	is_u64(status_of(peer_submit(&io, &cmd, old, BYTES)), NVME_SC_SGL_INVALID_LENGTH,
	       "a length that is not that of the blocks");
	nvme_cmd_init_rw(&cmd, NVME_NVM_COMPARE, 1, LBA, BLOCKS, 0);
	cmd.flags |= NVME_FUSE_FIRST;
	cmd.sgl = nvme_sgl_in_capsule(8, BYTES);
	is_u64(status_of(peer_submit(&io, &cmd, old, BYTES + 8)), NVME_SC_SGL_INVALID_OFFSET,
	       "data that does not fill its capsule");
	is_u64(status_of(second(new, true)), NVME_SC_ABORTED_FAILED_FUSED, "... and the second");
}

/* ---- what may come between the two ----------------------------------------------------------- */

static uint32_t abort_cmd(uint16_t cid)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	nvme_cmd_init_abort(&cmd, 1, cid);
	cpl = peer_wait(&admin, peer_submit(&admin, &cmd, NULL, 0));
	return peer_status(&cpl) == 0 ? nvme_cpl_dw0(&cpl) : 0xffffffff;
}

static void aborts(void)
{
	struct data c = { .from = old }, w = { .from = new };
	struct answers a;
	unsigned int ops = rig.stores[0].count[STORE_COMPARE_WRITE];

	for (int capsule = 0; capsule < 2; capsule++) {
		c.cid = first(old, capsule);
		rig_run(&rig, RIG_MS);
		is_u64(abort_cmd(c.cid), 0, "a first that waits for its second is aborted");
		w.cid = second(new, capsule);
		a = finish(c, w, false);
		is_answers(a, ABORT_REQUESTED, ABORTED_FAILED_FUSED, "... and says so");
	}
	for (int which = 0; which < 2; which++) {
		c.cid = first(NULL, false);
		w.cid = second(NULL, false);
		rig_run(&rig, RIG_MS);
		is_u64(abort_cmd(which ? w.cid : c.cid), 1, "one whose data is on its way is not");
		a = finish(c, w, false);
		if (which)
			is_answers(a, ABORTED_FAILED_FUSED, ABORT_REQUESTED, "the second, then");
		else
			is_answers(a, ABORT_REQUESTED, ABORTED_FAILED_FUSED, "the first, then");
	}
	is_u64(rig.stores[0].count[STORE_COMPARE_WRITE], ops, "none of it reached the store");
	put(old);
	rig.stores[0].hold = true;
	c.cid = first(old, true);
	w.cid = second(new, true);
	rig_run(&rig, RIG_MS);
	is_u64(abort_cmd(c.cid), 1, "a pair in the store is not aborted");
	is_u64(abort_cmd(w.cid), 1, "... neither half of it");
	rig_store_release(&rig.stores[0]);
	a = finish(c, w, false);
	is_answers(a, SUCCESS, SUCCESS, "... it runs to its end");
}

static void no_memory(void)
{
	struct data c = { .from = old }, w = { .from = new };
	struct answers a;

	put(old);
	rig_take_arena(&rig);
	c.cid = first(NULL, false);
	w.cid = second(NULL, false);
	rig_run(&rig, RIG_MS);
	rig_give_arena(&rig);
	a = finish(c, w, false);
	is_answers(a, SUCCESS, SUCCESS, "a pair waits for memory");
	for (int which = 0; which < 2; which++) {
		rig_take_arena(&rig);
		c.cid = first(NULL, false);
		w.cid = second(NULL, false);
		rig_run(&rig, RIG_MS);
		is_u64(abort_cmd(which ? w.cid : c.cid), 0, "aborted while it does");
		a = finish(c, w, false);
		if (which)
			is_answers(a, ABORTED_FAILED_FUSED, ABORT_REQUESTED, "... the second");
		else
			is_answers(a, ABORT_REQUESTED, ABORTED_FAILED_FUSED, "... the first");
		rig_give_arena(&rig);
	}
	/* Capsules go on with the connection's own memory; a second pair waits for the first's. */
	put(old);
	rig_take_arena(&rig);
	rig.stores[0].hold = true;
	c.cid = first(old, true);
	w.cid = second(new, true);
	rig_run(&rig, RIG_MS);
	is_u64(list_count(&rig.stores[0].held), 1, "a pair in capsules needs none of the arena");
	first(new, true);
	second(old, true);
	rig_run(&rig, RIG_MS);
	is_u64(list_count(&rig.stores[0].held), 1, "... a second one waits for the first");
	rig_store_release(&rig.stores[0]);
	a = finish(c, w, false);
	is_answers(a, SUCCESS, SUCCESS, "... which ends");
	c.cid += 2;
	w.cid += 2;
	a = finish(c, w, false);
	is_answers(a, SUCCESS, SUCCESS, "... and makes room");
	/* First by R2T, second in its capsule, no memory for either. */
	rig.stores[0].hold = true;
	c.cid = first(old, true);
	w.cid = second(new, true);
	rig_run(&rig, RIG_MS);
	first(NULL, false);
	second(old, true);
	rig_run(&rig, RIG_MS);
	is_u64(abort_cmd(c.cid + 2), 1, "the capsule of the second waits: not aborted yet");
	rig_store_release(&rig.stores[0]);
	a = finish(c, w, false);
	is_answers(a, SUCCESS, SUCCESS, "the pair before it ends");
	c = (struct data){ .cid = c.cid + 2, .from = new };
	w = (struct data){ .cid = w.cid + 2, .from = old };
	a = finish(c, w, false);
	is_answers(a, ABORT_REQUESTED, ABORTED_FAILED_FUSED, "then the abort is seen");
	rig_give_arena(&rig);
	ok(works(), "the connection lives");
}

static void fence(void)
{
	struct data c = { .from = old }, w = { .from = new };
	struct tgt_ctrl *ctrl;
	struct answers a;

	target_lock(rig.target);
	ctrl = tgt_ctrl_find(rig.target->subsystems[1], cntlid);
	target_unlock(rig.target);
	atomic_fetch_add(&ctrl->fenced, 1);
	for (int which = 0; which < 2; which++) {
		c.cid = first(old, true);
		w.cid = second(new, true);
		rig_run(&rig, RIG_MS);
		is_u64(abort_cmd(which ? w.cid : c.cid), 0, "a pair at the fence is aborted");
		a = finish(c, w, false);
		if (which)
			is_answers(a, ABORTED_FAILED_FUSED, ABORT_REQUESTED, "... by its second");
		else
			is_answers(a, ABORT_REQUESTED, ABORTED_FAILED_FUSED, "... by its first");
	}
	c.cid = first(old, true);
	w.cid = second(new, true);
	rig_run(&rig, 40 * RIG_S);
	a = finish(c, w, false);
	is_answers(a, NS_NOT_READY, ABORTED_FAILED_FUSED, "or waits there in vain");
	atomic_fetch_sub(&ctrl->fenced, 1);
	ok(works(), "the connection lives");
}

static void silence(void)
{
	uint16_t c;

	for (int capsule = 0; capsule < 2; capsule++) {
		c = first(old, capsule);
		rig_run(&rig, 30 * RIG_S);
		is_u64(rig.target->reactors[0].arena.free > 0 && !io.eof, 1, "a first waits");
		rig_run(&rig, 31 * RIG_S);
		is_u64(status_of(c), NVME_SC_ABORTED_MISSING_FUSED, "... but not for ever");
	}
	ok(works(), "the connection lives");
	is_u64(tgt_arena_used(&rig.target->reactors[0].arena), 0, "and holds no memory");
}

/* The connection goes away at every point between the two. */
static void cut(void)
{
	for (int i = 0; i < 64; i++) {
		bool c_capsule = i & 1, w_capsule = i & 2;
		union tcp_pdu pdu;

		if (i & 4)
			rig_take_arena(&rig);
		if (i & 8)
			rig.stores[0].hold = true;
		first(old, c_capsule);
		if (i & 16)
			second(new, w_capsule);
		if (i & 32 && peer_next_in(&io, 2 * RIG_MS, &pdu, NULL, 0, NULL) &&
		    pdu.ch.type == TCP_PDU_R2T)
			answer_r2t(&pdu.r2t, old, BYTES);
		rig_run(&rig, RIG_MS);
		peer_close(&io);
		rig_run(&rig, RIG_MS);
		rig_store_release(&rig.stores[0]);
		rig_give_arena(&rig);
		rig_run(&rig, 5 * RIG_MS);
		peer_io(&io, &rig, RIG_NQN, 1, cntlid);
	}
	ok(works(), "the connection may end anywhere between the two");
	is_u64(tgt_arena_used(&rig.target->reactors[0].arena), 0, "and no memory is lost");
}

/* A capsule whose data digest is wrong. */
static uint16_t send_wrong(uint8_t opc, unsigned int fuse, uint8_t *data)
{
	struct iovec iov = { data, BYTES }, all[4];
	struct tcp_tx_pdu pdu = { 0 };
	struct nvme_cmd cmd;
	size_t sent = 0;
	int n;

	nvme_cmd_init_rw(&cmd, opc, 1, LBA, BLOCKS, 0);
	cmd.flags |= (uint8_t)fuse;
	cmd.cid = cpu_to_le16(++io.cid);
	cmd.sgl = nvme_sgl_in_capsule(0, BYTES);
	tcp_build_cmd(&io.tx, &pdu, &cmd, &iov, 1, BYTES);
	pdu.sent = NULL;
	tcp_tx_push(&io.tx, &pdu);
	n = tcp_tx_gather(&io.tx, all, 4);
	((uint8_t *)all[n - 1].iov_base)[all[n - 1].iov_len - 1] ^= 1;
	for (int i = 0; i < n; i++) {
		peer_bytes(&io, all[i].iov_base, all[i].iov_len);
		sent += all[i].iov_len;
	}
	tcp_tx_sent(&io.tx, sent);
	return io.cid;
}

/* It costs the pair, not the connection. */
static void digests(void)
{
	struct answers a;
	struct nvme_cpl cpl;

	peer_close(&io);
	rig_run(&rig, 5 * RIG_MS);
	peer_open(&io, &rig, -1);
	peer_ic(&io, 0, true, true);
	cpl = peer_connect(&io, RIG_NQN, 1, cntlid, 128, 0);
	is_status(&cpl, SUCCESS, "a queue with digests");
	put(old);
	a = pair(old, true, new, false, false);
	is_answers(a, SUCCESS, SUCCESS, "a pair with digests");
	for (int which = 0; which < 2; which++) {
		struct data c = { .from = new }, w = { .from = old };

		c.cid = which ? first(new, true)
			      : send_wrong(NVME_NVM_COMPARE, NVME_FUSE_FIRST, new);
		w.cid = which ? send_wrong(NVME_NVM_WRITE, NVME_FUSE_SECOND, old)
			      : second(old, true);
		a = finish(c, w, false);
		if (which)
			is_answers(a, ABORTED_FAILED_FUSED, TRANSIENT_TRANSPORT,
				   "a wrong digest in the second, for the first");
		else
			is_answers(a, TRANSIENT_TRANSPORT, ABORTED_FAILED_FUSED,
				   "a wrong digest in the first");
	}
	ok(holds(new), "nothing was written");
}

int main(void)
{
	rig_init(&rig);
	rig_start(&rig);
	memset(old, 0x11, sizeof(old));
	memset(new, 0x22, sizeof(new));
	cntlid = peer_admin(&admin, &rig, RIG_NQN);
	peer_io(&io, &rig, RIG_NQN, 1, cntlid);
	whole();
	interleaved();
	alone();
	mismatch();
	sizes();
	stores();
	aborts();
	no_memory();
	fence();
	silence();
	cut();
	digests();
	peer_close(&io);
	peer_close(&admin);
	rig_end(&rig);
	return tap_done();
}
