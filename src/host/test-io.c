/* SPDX-License-Identifier: Apache-2.0 */
/*
 * I/O: data arrives whole and where it belongs, whatever the sizes and digests; what fails is tried
 * again as its status allows; what was in flight when a connection was lost comes back once, and
 * nothing is ever done twice over or not at all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/test-world.h"
#include "tests/tap.h"

static bool open_live(struct world *w, world_knob knob)
{
	world_open(w, knob);
	world_pattern(w);
	return world_until(w, HOST_EVENT_LIVE);
}

static void finish(struct world *w)
{
	struct host_ctrl_stats s;

	host_ctrl_stats(w->ctrl, &s);
	ok(s.inflight == 0 && s.waiting == 0, "nothing is left in flight or waiting");
	world_close(w);
	world_end(w);
}

/* ---- right controllers of all kinds --------------------------------------------------------- */

static unsigned int kind;

static void k_kind(struct fake *f, struct host_config *c)
{
	static const uint32_t chunks[] = { 65536, 512, 4096, 1000 };

	c->hdgst = kind & 1;
	c->ddgst = kind & 2;
	f->success = kind & 4;
	c->sqflow = kind & 8;
	f->c2h_chunk = chunks[kind % 4];
	f->r2t_chunk = chunks[(kind + 1) % 4] & ~3u;
	f->maxh2cdata = kind & 1 ? 4096 : 65536;
	c->hpda = (uint8_t)(kind * 5 % 32);
	f->cpda = (uint8_t)(kind * 7 % 32);
	c->queues = 1 + kind % 3;
	c->stage = kind & 1 ? 512 : 65536;
	c->in_capsule = !(kind & 2);
}

static void all_kinds(void)
{
	static const uint32_t blocks[] = { 1, 8, 9, 32, 255, 256 };

	for (kind = 0; kind < 16; kind++) {
		unsigned int bad = 0;
		struct host_ctrl_info info;
		struct world w;

		if (!open_live(&w, k_kind)) {
			ok(false, "kind %u does not become live", kind);
			continue;
		}
		for (unsigned int round = 0; round < 6; round++) {
			for (unsigned int i = 0; i < 6; i++) {
				enum host_io_kind what = (i + round) & 1 ? HOST_IO_READ
									 : HOST_IO_WRITE;

				world_submit(&w, i, what, i * 300, blocks[(i + round) % 6]);
			}
			for (unsigned int i = 0; i < 6; i++)
				bad += world_done(&w, i) != 0 || !world_matches(&w, i);
		}
		host_ctrl_info(w.ctrl, &info);
		ok(bad == 0 && !w.lost && w.f.r2t_oversent == 0 && w.f.h2c_max <= info.maxh2cdata,
		   "kind %u: hdgst %d ddgst %d success %d sqflow %d hpda %u cpda %u c2h %u r2t %u: "
		   "reads and writes (I007, I018)",
		   kind, w.config.hdgst, w.config.ddgst, w.f.success, w.config.sqflow,
		   w.config.hpda, w.f.cpda, w.f.c2h_chunk, w.f.r2t_chunk);
		world_close(&w);
		world_end(&w);
	}
}

static void k_two(struct fake *f, struct host_config *c)
{
	c->queues = 2;
	c->depth = 4;
}

static void full_queues(void)
{
	struct host_ctrl_stats s;
	struct world w;
	unsigned int bad = 0;

	open_live(&w, k_two);
	for (unsigned int i = 0; i < WORLD_IOS; i++)
		world_submit(&w, i, HOST_IO_READ, i * 8, 8);
	host_ctrl_stats(w.ctrl, &s);
	ok(s.inflight == 8 && s.waiting == WORLD_IOS - 8, "64 reads: 8 in flight, the rest waits");
	for (unsigned int i = 0; i < WORLD_IOS; i++)
		bad += world_done(&w, i) != 0 || !world_matches(&w, i);
	is_u64(bad, 0, "all of them done");
	finish(&w);
}

static void other_kinds(void)
{
	struct world w;

	open_live(&w, NULL);
	world_submit(&w, 0, HOST_IO_FLUSH, 0, 0);
	is_i64(world_done(&w, 0), 0, "flush");
	world_submit(&w, 0, HOST_IO_DEALLOCATE, 0, 1000000);
	is_i64(world_done(&w, 0), 0, "deallocate, any number of blocks");
	world_submit(&w, 0, HOST_IO_WRITE_ZEROES, 16, 16);
	is_i64(world_done(&w, 0), 0, "write zeroes");
	ok(w.f.disk[16 * FAKE_BLOCK] == 0 && w.f.disk[32 * FAKE_BLOCK] != 0, "the right ones");
	world_submit(&w, 0, HOST_IO_COMPARE, 0, 8);
	is_i64(world_done(&w, 0), 0, "compare");
	ok(w.ios[0].io.submitted_ns <= w.ios[0].io.queued_ns &&
		   w.ios[0].io.queued_ns <= w.ios[0].io.sent_ns &&
		   w.ios[0].io.sent_ns < w.ios[0].io.first_ns &&
		   w.ios[0].io.first_ns <= w.ios[0].io.last_ns && w.ios[0].io.tries == 1,
	   "times are in order");
	finish(&w);
}

static void too_large(void)
{
	struct world w;

	open_live(&w, NULL);
	w.f.id.mdts = 2; /* 16 KiB from the next connection on */
	host_ctrl_reset(w.ctrl);
	world_submit(&w, 0, HOST_IO_READ, 0, 64);
	is_i64(world_done(&w, 0), -EINVAL, "larger than MDTS has become: an error, not a command");
	finish(&w);
}

/* ---- a hook that spoils the first command of a kind ----------------------------------------- */

static struct {
	unsigned int calls, limit; /* commands spoilt so far, and at most */
	uint8_t opc;
	void (*spoil)(struct fake_conn *c, const struct nvme_cmd *cmd);
} plan;

static bool on_cmd(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	if (c->qid == 0 || cmd->opc != plan.opc || plan.calls >= plan.limit)
		return false;
	plan.calls++;
	plan.spoil(c, cmd);
	return true;
}

static void k_plan(struct fake *f, struct host_config *c)
{
	f->hook = on_cmd;
}

static void k_plan_digest(struct fake *f, struct host_config *c)
{
	f->hook = on_cmd;
	c->ddgst = true;
}

static void set_plan(uint8_t opc, unsigned int limit,
		     void (*spoil)(struct fake_conn *c, const struct nvme_cmd *cmd))
{
	plan.calls = 0;
	plan.limit = limit;
	plan.opc = opc;
	plan.spoil = spoil;
}

static uint8_t junk[131072];

/* ---- what a controller must not do: it costs it the association ------------------------------ */

static void r2t_for_read(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_r2t(c, nvme_cmd_cid(cmd), 1, 0, nvme_cmd_sgl_len(cmd));
}

static void rsp_unknown_cid(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_rsp(c, nvme_cmd_cid(cmd) ^ 1, nvme_status_success(), 0);
}

static void rsp_old_cid(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	/* The same place in the queue, of the use before. */
	fake_rsp(c, (uint16_t)(nvme_cmd_cid(cmd) - 16), nvme_status_success(), 0);
}

static void rsp_twice(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_execute(c, cmd);
	fake_rsp(c, nvme_cmd_cid(cmd), nvme_status_success(), 0);
}

static void c2h_unknown_cid(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_c2h(c, 0xffff, 0, junk, 512, true, false);
}

static void c2h_for_write(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_c2h(c, nvme_cmd_cid(cmd), 0, junk, 512, true, false);
}

static void c2h_gap(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_c2h(c, nvme_cmd_cid(cmd), 512, junk, 512, false, false);
}

static void c2h_again(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_c2h(c, nvme_cmd_cid(cmd), 0, junk, 512, false, false);
	fake_c2h(c, nvme_cmd_cid(cmd), 0, junk, 512, false, false);
}

static void c2h_too_long(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_c2h(c, nvme_cmd_cid(cmd), 0, junk, nvme_cmd_sgl_len(cmd) + 4, true, false);
}

static void c2h_beyond(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_c2h(c, nvme_cmd_cid(cmd), 0xfffffffc, junk, 512, true, false);
}

static void c2h_after_last(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_c2h(c, nvme_cmd_cid(cmd), 0, junk, 512, true, false);
	fake_c2h(c, nvme_cmd_cid(cmd), 512, junk, 512, true, false);
}

static void success_not_last(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_c2h(c, nvme_cmd_cid(cmd), 0, junk, nvme_cmd_sgl_len(cmd), false, true);
}

static void r2t_twice(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_r2t(c, nvme_cmd_cid(cmd), 1, 0, nvme_cmd_sgl_len(cmd));
	fake_r2t(c, nvme_cmd_cid(cmd), 1, 0, nvme_cmd_sgl_len(cmd));
}

static void r2t_two_at_once(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_r2t(c, nvme_cmd_cid(cmd), 1, 0, 4096);
	fake_r2t(c, nvme_cmd_cid(cmd), 2, 4096, 4096);
}

static void r2t_gap(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_r2t(c, nvme_cmd_cid(cmd), 1, 4096, 4096);
}

static void r2t_beyond(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_r2t(c, nvme_cmd_cid(cmd), 1, 0, nvme_cmd_sgl_len(cmd) + 4);
}

static void r2t_wraps(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_r2t(c, nvme_cmd_cid(cmd), 1, 0xfffff000, 0x2000);
}

static void r2t_nothing(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_r2t(c, nvme_cmd_cid(cmd), 1, 0, 0);
}

static void r2t_unknown_cid(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_r2t(c, 0x7fff, 1, 0, 512);
}

static void type_reserved(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	static const uint8_t pdu[8] = { 0xac, 0, 24, 0, 24 };

	fake_raw(c, pdu, sizeof(pdu));
}

static void hlen_255(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	static const uint8_t pdu[24] = { 0x07, 0x04, 255, 24, 24, 2 };

	fake_raw(c, pdu, sizeof(pdu));
}

static void second_icresp(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	static const uint8_t pdu[128] = { 0x01, 0, 128, 0, 128 };

	fake_raw(c, pdu, sizeof(pdu));
}

static const struct {
	const char *what;
	uint8_t opc;
	void (*spoil)(struct fake_conn *c, const struct nvme_cmd *cmd);
	uint16_t fes;
	uint32_t fei;
} broken[] = {
	{ "R2T for a read (I001)", NVME_NVM_READ, r2t_for_read, TCP_FES_SEQUENCE, 0 },
	{ "completion of an unknown CID", NVME_NVM_READ, rsp_unknown_cid, TCP_FES_HDR_FIELD, 20 },
	{ "completion of an old use of the CID", NVME_NVM_READ, rsp_old_cid, TCP_FES_HDR_FIELD, 20 },
	{ "completion twice", NVME_NVM_READ, rsp_twice, TCP_FES_HDR_FIELD, 20 },
	{ "C2HData of an unknown CID", NVME_NVM_READ, c2h_unknown_cid, TCP_FES_HDR_FIELD, 8 },
	{ "C2HData for a write", NVME_NVM_WRITE, c2h_for_write, TCP_FES_SEQUENCE, 0 },
	{ "C2HData with a gap", NVME_NVM_READ, c2h_gap, TCP_FES_SEQUENCE, 0 },
	{ "C2HData over what came", NVME_NVM_READ, c2h_again, TCP_FES_SEQUENCE, 0 },
	{ "C2HData longer than the read", NVME_NVM_READ, c2h_too_long, TCP_FES_RANGE, 0 },
	{ "C2HData at offset fffffffc", NVME_NVM_READ, c2h_beyond, TCP_FES_RANGE, 0 },
	{ "C2HData after the last", NVME_NVM_READ, c2h_after_last, TCP_FES_SEQUENCE, 0 },
	{ "SUCCESS without LAST", NVME_NVM_READ, success_not_last, TCP_FES_HDR_FIELD, 1 },
	{ "two identical R2Ts (I004)", NVME_NVM_WRITE, r2t_twice, TCP_FES_LIMIT, 0 },
	{ "two R2Ts where one is the limit (I004)", NVME_NVM_WRITE, r2t_two_at_once, TCP_FES_LIMIT,
	  0 },
	{ "R2T with a gap", NVME_NVM_WRITE, r2t_gap, TCP_FES_SEQUENCE, 0 },
	{ "R2T beyond the write", NVME_NVM_WRITE, r2t_beyond, TCP_FES_RANGE, 0 },
	{ "R2T that wraps", NVME_NVM_WRITE, r2t_wraps, TCP_FES_RANGE, 0 },
	{ "R2T for nothing", NVME_NVM_WRITE, r2t_nothing, TCP_FES_HDR_FIELD, 16 },
	{ "R2T of an unknown CID", NVME_NVM_WRITE, r2t_unknown_cid, TCP_FES_HDR_FIELD, 8 },
	{ "a reserved PDU type (T035)", NVME_NVM_READ, type_reserved, TCP_FES_HDR_FIELD, 0 },
	{ "HLEN 255 (I005)", NVME_NVM_READ, hlen_255, TCP_FES_HDR_FIELD, 2 },
	{ "a second ICResp", NVME_NVM_READ, second_icresp, TCP_FES_SEQUENCE, 0 },
};

/* Ten commands are in flight when one of them is answered so. All of them come to a good end. */
static void broken_controllers(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		struct host_ctrl_stats s;
		unsigned int bad = 0;
		struct world w;

		open_live(&w, k_plan);
		for (unsigned int n = 0; n < 20; n++) {
			world_submit(&w, 0, HOST_IO_READ, 0, 8);
			bad += world_done(&w, 0) != 0;
		}
		set_plan(broken[i].opc, 1, broken[i].spoil);
		for (unsigned int n = 0; n < 10; n++)
			world_submit(&w, n, n & 1 ? HOST_IO_READ : HOST_IO_WRITE, n * 100, 32);
		for (unsigned int n = 0; n < 10; n++)
			bad += world_done(&w, n) != 0 || !world_matches(&w, n);
		host_ctrl_stats(w.ctrl, &s);
		ok(bad == 0 && s.protocol_errors == 1 && s.losses == 1 && w.f.terms == 1 &&
			   w.f.term_fes == broken[i].fes && w.f.term_fei == broken[i].fei &&
			   s.requeued > 0,
		   "%s: H2CTermReq FES %u FEI %u, all I/O done after it", broken[i].what,
		   broken[i].fes, broken[i].fei);
		if (w.f.term_fes != broken[i].fes || w.f.term_fei != broken[i].fei)
			diag("got %u terms, FES %u FEI %u, bad %u", w.f.terms, w.f.term_fes,
			     w.f.term_fei, bad);
		world_close(&w);
		world_end(&w);
	}
}

static void k_keeps_open(struct fake *f, struct host_config *c)
{
	f->hook = on_cmd;
	f->keeps_open = true;
}

/* Much that is unread, and a controller that does not end the connection in answer. */
static void junk_behind(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	type_reserved(c, cmd);
	for (int i = 0; i < 20; i++)
		fake_c2h(c, 0, 0, junk, 60000, true, false);
}

static void term_with_junk_behind(void)
{
	struct world w;

	open_live(&w, k_keeps_open);
	set_plan(NVME_NVM_READ, 1, junk_behind);
	world_submit(&w, 0, HOST_IO_READ, 0, 8);
	is_i64(world_done(&w, 0), 0, "a megabyte behind a fatal PDU: the read is done in the end");
	ok(w.f.terms == 1 && w.f.term_fes == TCP_FES_HDR_FIELD,
	   "and the H2CTermReq has arrived, though the controller does not close");
	w.f.keeps_open = false;
	finish(&w);
}

/*
 * An R2T, the answer, and a fatal PDU at once: the I/O ends while the H2CTermReq is being prepared,
 * and its owner starts another from inside its done function.
 */
static void answered_and_broken(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_r2t(c, nvme_cmd_cid(cmd), FAKE_TTAG + 63, 0, nvme_cmd_sgl_len(cmd));
	fake_rsp(c, nvme_cmd_cid(cmd), nvme_status_dnr(NVME_SC_WRITE_FAULT), 0);
	type_reserved(c, cmd);
}

static void started_from_inside(void)
{
	struct world w;

	open_live(&w, k_plan);
	set_plan(NVME_NVM_WRITE, 1, answered_and_broken);
	w.resubmit = 1;
	world_submit(&w, 0, HOST_IO_WRITE, 0, 64);
	ok(world_done(&w, 0) == 0 && w.resubmit == 0 && w.f.terms == 1,
	   "an I/O started from inside a done function at the worst moment");
	finish(&w);
}

static void k_sqflow(struct fake *f, struct host_config *c)
{
	c->sqflow = true;
	f->success_unasked = true;
}

static void success_with_sqflow(void)
{
	struct world w;

	open_live(&w, k_sqflow);
	world_submit(&w, 0, HOST_IO_READ, 0, 8);
	world_until(&w, HOST_EVENT_LOST);
	w.f.success_unasked = false;
	is_i64(world_done(&w, 0), 0, "the read is done with a completion in the end");
	is_u64(w.f.last_io_connect.cattr, 0, "SQ flow control asked for: CATTR is 0 (I017)");
	ok(w.f.term_fes == TCP_FES_HDR_FIELD && w.f.term_fei == 1,
	   "then SUCCESS is a protocol error (I017)");
	finish(&w);
}

/* ---- errors of a command, not of the connection --------------------------------------------- */

static void short_success(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_c2h(c, nvme_cmd_cid(cmd), 0, junk, 512, true, true);
}

static void short_rsp(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_c2h(c, nvme_cmd_cid(cmd), 0, junk, 512, true, false);
	fake_rsp(c, nvme_cmd_cid(cmd), nvme_status_success(), 0);
}

static void no_data(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_rsp(c, nvme_cmd_cid(cmd), nvme_status_success(), 0);
}

static void corrupt(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	uint32_t half = nvme_cmd_sgl_len(cmd) / 2;
	const uint8_t *at = c->f->disk + nvme_cmd_slba(cmd) * FAKE_BLOCK;

	fake_c2h_corrupt(c, nvme_cmd_cid(cmd), 0, at, half, false, false);
	fake_c2h(c, nvme_cmd_cid(cmd), half, at + half, half, true, true);
}

static void busy(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_rsp(c, nvme_cmd_cid(cmd), nvme_status(NVME_SC_NS_NOT_READY), 0);
}

static void busy_crd(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	struct nvme_status st = nvme_status(NVME_SC_INTERRUPTED);

	st.crd = 2;
	fake_rsp(c, nvme_cmd_cid(cmd), st, 0);
}

static void refuse(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_rsp(c, nvme_cmd_cid(cmd), nvme_status_dnr(NVME_SC_LBA_OUT_OF_RANGE), 0);
}

/* Status code 0 of another type than 0 is no success (T034). */
static void path_error(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_rsp(c, nvme_cmd_cid(cmd), nvme_status(NVME_SC_PATH_INTERNAL), 0);
}

static void differs(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_rsp(c, nvme_cmd_cid(cmd), nvme_status(NVME_SC_COMPARE_FAILURE), 0);
}

/* One I/O whose first @times tries are spoilt; its error, and how often it was sent. */
static int spoilt(const char *what, world_knob knob, enum host_io_kind io, uint8_t opc,
		  void (*spoil)(struct fake_conn *c, const struct nvme_cmd *cmd), unsigned int times,
		  unsigned int want_tries)
{
	struct host_ctrl_stats s;
	struct world w;
	bool right;
	int rc;

	open_live(&w, knob);
	set_plan(opc, times, spoil);
	world_submit(&w, 0, io, 64, 32);
	rc = world_done(&w, 0);
	host_ctrl_stats(w.ctrl, &s);
	right = rc != 0 || world_matches(&w, 0);
	ok(right && !w.lost && w.ios[0].io.tries == want_tries && s.retries == want_tries - 1,
	   "%s: sent %u times, no connection lost", what, w.ios[0].io.tries);
	world_close(&w);
	world_end(&w);
	return rc;
}

static void command_errors(void)
{
	is_i64(spoilt("short data with SUCCESS (I002)", k_plan, HOST_IO_READ, NVME_NVM_READ,
		      short_success, 1, 2),
	       0, "then done");
	is_i64(spoilt("short data and a completion (I002)", k_plan, HOST_IO_READ, NVME_NVM_READ,
		      short_rsp, 1, 2),
	       0, "then done");
	is_i64(spoilt("always short (I002)", k_plan, HOST_IO_READ, NVME_NVM_READ, short_success,
		      100, 6),
	       -EIO, "an error in the end, never a short success");
	is_i64(spoilt("a write done without its data", k_plan, HOST_IO_WRITE, NVME_NVM_WRITE,
		      no_data, 1, 2),
	       0, "then done");
	is_i64(spoilt("data digest wrong in one of two PDUs (I014)", k_plan_digest, HOST_IO_READ,
		      NVME_NVM_READ, corrupt, 1, 2),
	       0, "then done");
	is_i64(spoilt("data digest always wrong", k_plan_digest, HOST_IO_READ, NVME_NVM_READ,
		      corrupt, 100, 6),
	       -EIO, "an error in the end");
	is_i64(spoilt("Namespace Not Ready", k_plan, HOST_IO_WRITE, NVME_NVM_WRITE, busy, 3, 4), 0,
	       "then done");
	is_i64(spoilt("LBA Out of Range, DNR", k_plan, HOST_IO_READ, NVME_NVM_READ, refuse, 100,
		      1),
	       -ERANGE, "not tried again");
	is_i64(spoilt("path error with SC 0 (T034)", k_plan, HOST_IO_READ, NVME_NVM_READ,
		      path_error, 100, 6),
	       -ENOLINK, "no success");
	is_i64(spoilt("compare: different", k_plan, HOST_IO_COMPARE, NVME_NVM_COMPARE, differs,
		      100, 1),
	       -EILSEQ, "not tried again");
}

static void k_crd(struct fake *f, struct host_config *c)
{
	f->hook = on_cmd;
	f->id.crdt2 = cpu_to_le16(7);
}

static void retry_delay(void)
{
	struct world w;
	uint64_t since;

	open_live(&w, k_crd);
	set_plan(NVME_NVM_READ, 1, busy_crd);
	since = sim_now(w.f.sim);
	world_submit(&w, 0, HOST_IO_READ, 0, 8);
	is_i64(world_done(&w, 0), 0, "Command Interrupted with CRD 2");
	since = sim_now(w.f.sim) - since;
	ok(since >= 700 * FAKE_MS && since < 750 * FAKE_MS, "tried again after CRDT2, 700 ms");
	finish(&w);
}

/* ---- writes whose answer comes early --------------------------------------------------------- */

static void r2t_then_refuse(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	fake_r2t(c, nvme_cmd_cid(cmd), FAKE_TTAG + 63, 0, nvme_cmd_sgl_len(cmd));
	fake_rsp(c, nvme_cmd_cid(cmd), nvme_status_dnr(NVME_SC_WRITE_FAULT), 0);
}

static void early_answer(void)
{
	struct world w;

	open_live(&w, k_plan);
	w.f.maxh2cdata = 4096;
	host_ctrl_reset(w.ctrl);
	world_until(&w, HOST_EVENT_LIVE);
	set_plan(NVME_NVM_WRITE, 1, r2t_then_refuse);
	world_submit(&w, 0, HOST_IO_WRITE, 0, 256);
	is_i64(world_done(&w, 0), -EIO, "a write that fails while its data is on the way");
	ok(w.f.h2c_max <= 4096, "no more of it than one PDU");
	/* The owner may do with the memory what it likes now: under a sanitizer this would tell. */
	free(w.ios[0].buf);
	w.ios[0].buf = NULL;
	world_submit(&w, 1, HOST_IO_WRITE, 0, 256);
	is_i64(world_done(&w, 1), 0, "the next one is done");
	finish(&w);
}

/* ---- lost connections ----------------------------------------------------------------------- */

static void ignore(struct fake_conn *c, const struct nvme_cmd *cmd)
{
}

static void lost_in_flight(void)
{
	struct host_ctrl_stats s;
	struct world w;
	unsigned int bad = 0;

	open_live(&w, k_two);
	w.f.hook = on_cmd;
	set_plan(NVME_NVM_WRITE, 3, ignore);
	for (unsigned int i = 0; i < 20; i++)
		world_submit(&w, i, i & 1 ? HOST_IO_READ : HOST_IO_WRITE, i * 100, 100);
	sim_run_for(w.f.sim, FAKE_MS);
	sim_node_reset(w.f.node);
	for (unsigned int i = 0; i < 20; i++)
		bad += world_done(&w, i) != 0 || !world_matches(&w, i);
	host_ctrl_stats(w.ctrl, &s);
	ok(bad == 0 && s.losses == 1 && s.requeued >= 3 && s.errors == 0,
	   "20 I/Os over a loss: %u sent again, all done", (unsigned int)s.requeued);
	finish(&w);
}

static void lost_at_every_moment(void)
{
	unsigned int bad = 0;

	for (uint64_t us = 0; us < 3000; us += 20) {
		struct world w;

		open_live(&w, k_two);
		for (unsigned int i = 0; i < 12; i++)
			world_submit(&w, i, i & 1 ? HOST_IO_READ : HOST_IO_WRITE, i * 150, 130);
		sim_run_for(w.f.sim, us * 1000);
		sim_node_reset(w.f.node);
		for (unsigned int i = 0; i < 12; i++)
			bad += world_done(&w, i) != 0 || !world_matches(&w, i);
		world_close(&w);
		world_end(&w);
	}
	is_u64(bad, 0, "a loss at each of 150 moments: every I/O done once, with the right data");
}

static void closed_at_every_moment(void)
{
	unsigned int bad = 0;

	for (uint64_t us = 0; us < 3000; us += 20) {
		struct world w;

		open_live(&w, k_two);
		for (unsigned int i = 0; i < 12; i++)
			world_submit(&w, i, i & 1 ? HOST_IO_READ : HOST_IO_WRITE, i * 150, 130);
		sim_run_for(w.f.sim, us * 1000);
		world_close(&w);
		for (unsigned int i = 0; i < 12; i++)
			bad += w.ios[i].pending || (w.ios[i].io.error != 0 &&
						    w.ios[i].io.error != -ECANCELED);
		world_end(&w);
	}
	is_u64(bad, 0, "closed at each of 150 moments: every I/O done or cancelled, once");
}

static void k_cqt(struct fake *f, struct host_config *c)
{
	f->id.cqt = cpu_to_le16(800);
	f->hook = on_cmd;
}

/* The fence: a write waits until the controller can have finished with the old association. */
static void quiesce_time(void)
{
	struct world w;
	uint64_t since, read, written;

	open_live(&w, k_cqt);
	set_plan(NVME_NVM_WRITE, 1, ignore);
	world_submit(&w, 0, HOST_IO_WRITE, 0, 8);
	sim_run_for(w.f.sim, FAKE_MS);
	since = sim_now(w.f.sim);
	sim_node_reset(w.f.node);
	world_until(&w, HOST_EVENT_LOST);
	world_submit(&w, 1, HOST_IO_READ, 100, 8);
	world_submit(&w, 2, HOST_IO_WRITE, 200, 8);
	world_done(&w, 1);
	read = sim_now(w.f.sim) - since;
	ok(world_done(&w, 2) == 0 && sim_now(w.f.sim) - since < 100 * FAKE_MS,
	   "a write that was never sent needs not wait");
	world_done(&w, 0);
	written = sim_now(w.f.sim) - since;
	ok(read < 100 * FAKE_MS && written >= 800 * FAKE_MS && written < 900 * FAKE_MS,
	   "a write that was in flight waits for the Command Quiesce Time");
	finish(&w);
}

/* ---- no answer ------------------------------------------------------------------------------ */

static void no_answer(void)
{
	struct host_ctrl_stats s;
	struct world w;

	open_live(&w, k_plan);
	set_plan(NVME_NVM_READ, 1, ignore);
	world_submit(&w, 0, HOST_IO_READ, 0, 8);
	is_i64(world_done(&w, 0), 0, "a read without an answer costs the association, then is done");
	host_ctrl_stats(w.ctrl, &s);
	ok(s.timeouts == 1 && s.losses == 1, "counted");
	set_plan(NVME_NVM_READ, 1000, ignore);
	world_submit(&w, 0, HOST_IO_READ, 0, 8);
	is_i64(world_done(&w, 0), -ETIMEDOUT, "one that never gets one fails in the end");
	is_u64(w.ios[0].io.tries, 6, "after as many tries as are set");
	finish(&w);
}

/* ---- admin commands ------------------------------------------------------------------------- */

struct admin_test {
	struct host_admin a;
	struct iovec iov;
	uint8_t page[4096];
	bool done;
};

static void on_admin(struct host_admin *a)
{
	container_of(a, struct admin_test, a)->done = true;
}

static bool admin_done(void *arg)
{
	return ((struct admin_test *)arg)->done;
}

static void admin_begin(struct world *w, struct admin_test *t, uint32_t bytes)
{
	t->iov = (struct iovec){ t->page, bytes };
	t->a.iov = &t->iov;
	t->a.niov = bytes ? 1 : 0;
	t->a.bytes = bytes;
	t->a.done = on_admin;
	t->done = false;
	host_admin_submit(w->ctrl, &t->a);
}

static int admin(struct world *w, struct admin_test *t, uint32_t bytes)
{
	admin_begin(w, t, bytes);
	if (t->done || sim_run_until(w->f.sim, admin_done, t, 60 * FAKE_S) != 0)
		return -EDEADLK;
	return t->a.error;
}

static bool swallow_identify(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	return c->qid == 0 && cmd->opc == NVME_ADMIN_IDENTIFY;
}

static void admin_commands(void)
{
	static struct admin_test t, many[100];
	unsigned int bad = 0;
	struct world w;

	open_live(&w, NULL);
	nvme_cmd_init_identify(&t.a.cmd, NVME_CNS_CTRL, 0, 0, 0);
	ok(admin(&w, &t, 4096) == 0 && t.a.received == 4096 && !memcmp(t.page, &w.f.id, 4096),
	   "Identify, raw");
	nvme_cmd_init(&t.a.cmd, 0xc0, 0);
	ok(admin(&w, &t, 0) == 0 &&
		   nvme_status_is(nvme_cpl_status(&t.a.cpl), NVME_SC_INVALID_OPCODE),
	   "an unknown command: its status is the answer");
	nvme_cmd_init_async_event(&t.a.cmd);
	is_i64(admin(&w, &t, 0), -EINVAL, "event requests are the controller's own");
	nvme_cmd_init_property_set(&t.a.cmd, 0x14, 4, 0);
	is_i64(admin(&w, &t, 0), -EINVAL, "so are properties");
	for (unsigned int i = 0; i < ARRAY_SIZE(many); i++) {
		nvme_cmd_init_identify(&many[i].a.cmd, NVME_CNS_CTRL, 0, 0, 0);
		admin_begin(&w, &many[i], 4096);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(many); i++)
		bad += sim_run_until(w.f.sim, admin_done, &many[i], 60 * FAKE_S) != 0 ||
		       many[i].a.error != 0;
	is_u64(bad, 0, "100 at once, more than the queue holds");
	w.f.hook = swallow_identify;
	admin_begin(&w, &many[0], 4096);
	sim_run_for(w.f.sim, FAKE_MS);
	w.f.hook = NULL;
	sim_node_reset(w.f.node);
	is_i64(sim_run_until(w.f.sim, admin_done, &many[0], 60 * FAKE_S), 0, "done comes");
	is_i64(many[0].a.error, -ENOTCONN, "one that was in flight when the connection was lost");
	finish(&w);
}

int main(void)
{
	memset(junk, 0xda, sizeof(junk));
	all_kinds();
	full_queues();
	other_kinds();
	too_large();
	broken_controllers();
	term_with_junk_behind();
	started_from_inside();
	success_with_sqflow();
	command_errors();
	retry_delay();
	early_answer();
	lost_in_flight();
	lost_at_every_moment();
	closed_at_every_moment();
	quiesce_time();
	no_answer();
	admin_commands();
	return tap_done();
}
