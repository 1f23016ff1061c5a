/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A controller from its first connection to its end: what is negotiated, what is refused and done
 * without, how connections are lost and regained, given up and closed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "host/test-world.h"
#include "nvme/feature.h"
#include "tests/tap.h"

static void connects_and_closes(void)
{
	struct host_ctrl_info i;
	struct host_ns ns;
	struct world w;

	world_open(&w, NULL);
	ok(world_until(&w, HOST_EVENT_LIVE), "a controller becomes live");
	host_ctrl_info(w.ctrl, &i);
	is_str(i.state, "live", "and says so");
	ok(i.live && i.queues == 1 && i.depth == 16 && i.cntlid == 9, "one queue, depth, CNTLID");
	is_u64(i.max_transfer, 128 * 1024, "MDTS in bytes");
	is_u64(i.max_in_capsule, 4096, "IOCCSZ in bytes of data");
	is_u64(w.f.last_connect.cattr, NVME_CATTR_DISABLE_SQFLOW, "SQ flow control is off");
	is_u64(le32_to_cpu(w.f.last_connect.kato), 1000, "KATO in milliseconds");
	is_u64(le16_to_cpu(w.f.last_io_connect.sqsize), 16, "SQSIZE: one more than the depth, from 0");
	ok(host_ns_get(w.ctrl, 1, &ns) == 0 && ns.blocks == FAKE_BLOCKS && ns.block == 512 &&
		   ns.uuid.b[0] == 1,
	   "its namespace");
	ok(host_ns_get(w.ctrl, 2, &ns) == -ENOENT && !host_ns_at(w.ctrl, 1), "and no other");
	world_close(&w);
	ok(w.f.disconnects == 1 && w.f.shutdowns == 1, "closing: Disconnect, shutdown notification");
	world_end(&w);
}

static void in_every_state(void)
{
	unsigned int states = 0;

	/* Closed after 0, 1, 2 ... steps of virtual time: every state is met (I010, I020). */
	for (uint64_t us = 0; us < 6000; us += 50) {
		struct host_ctrl_info i;
		struct host_ctrl_stats s;
		struct world w;

		world_open(&w, NULL);
		sim_run_for(w.f.sim, us * 1000);
		host_ctrl_info(w.ctrl, &i);
		host_ctrl_stats(w.ctrl, &s);
		states += i.state != NULL;
		world_close(&w);
		world_end(&w);
	}
	is_u64(states, 120, "asked and closed at 120 moments of connecting (I010, I020)");
}

static void refusal(const char *what, int error, void (*knob)(struct fake *f, struct host_config *c))
{
	struct host_ctrl_info i;
	struct world w;

	world_open(&w, knob);
	world_until(&w, HOST_EVENT_FAILED);
	host_ctrl_info(w.ctrl, &i);
	ok(w.failed && i.error == -error && i.error_text[0], "%s: %s", what, i.error_text);
	world_close(&w);
	world_end(&w);
}

static bool refuse_host(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	if (!nvme_cmd_is_fabrics(cmd, NVME_FABRICS_CONNECT))
		return false;
	fake_rsp(c, nvme_cmd_cid(cmd), nvme_status_dnr((enum nvme_sc)NVME_SC_CONNECT_INVALID_HOST), 0);
	return true;
}

static bool refuse_param(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	if (!nvme_cmd_is_fabrics(cmd, NVME_FABRICS_CONNECT))
		return false;
	fake_rsp(c, nvme_cmd_cid(cmd),
		 nvme_status_dnr((enum nvme_sc)NVME_SC_CONNECT_INVALID_PARAM),
		 NVME_CONNECT_INVALID_DATA(subnqn));
	return true;
}

static bool ask_for_auth(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	if (!nvme_cmd_is_fabrics(cmd, NVME_FABRICS_CONNECT))
		return false;
	fake_rsp(c, nvme_cmd_cid(cmd), nvme_status_success(), NVME_CONNECT_AUTHREQ_ATR | 9);
	return true;
}

static bool refuse_queues(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	if (c->qid != 0 || cmd->opc != NVME_ADMIN_SET_FEATURES ||
	    nvme_feature_fid(cmd) != NVME_FID_NUMBER_OF_QUEUES)
		return false;
	fake_rsp(c, nvme_cmd_cid(cmd), nvme_status_dnr(NVME_SC_INVALID_FIELD), 0);
	return true;
}

static bool refuse_io_connect(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	if (!nvme_cmd_is_fabrics(cmd, NVME_FABRICS_CONNECT) ||
	    !le16_to_cpu(nvme_cmd_as_connect(cmd)->qid))
		return false;
	return refuse_host(c, cmd);
}

static void k_closed(struct fake *f, struct host_config *c)
{
	fake_stop(f);
}

static void k_silent(struct fake *f, struct host_config *c)
{
	f->silent = true;
}

static void k_host(struct fake *f, struct host_config *c)
{
	f->hook = refuse_host;
}

static void k_param(struct fake *f, struct host_config *c)
{
	f->hook = refuse_param;
}

static void k_auth(struct fake *f, struct host_config *c)
{
	f->hook = ask_for_auth;
}

static void k_queues(struct fake *f, struct host_config *c)
{
	f->hook = refuse_queues;
}

static void k_io(struct fake *f, struct host_config *c)
{
	f->hook = refuse_io_connect;
}

static void k_no_ns(struct fake *f, struct host_config *c)
{
	c->nsid = 7;
}

static void k_digest(struct fake *f, struct host_config *c)
{
	c->hdgst = true;
	f->dgst = 0;
}

static void k_digest_unasked(struct fake *f, struct host_config *c)
{
	f->dgst_forced = 2;
}

static void k_unready(struct fake *f, struct host_config *c)
{
	f->not_ready = UINT32_MAX;
}

static void refusals(void)
{
	refusal("nobody listens", ECONNREFUSED, k_closed);
	refusal("no ICResp (I015)", ETIMEDOUT, k_silent);
	refusal("host not allowed", EACCES, k_host);
	refusal("parameter named", EINVAL, k_param);
	refusal("authentication required", ENOKEY, k_auth);
	refusal("no I/O queues to be had (I012)", EINVAL, k_queues);
	refusal("I/O queue refused (I011)", EACCES, k_io);
	refusal("namespace not there", ENXIO, k_no_ns);
	refusal("digest refused", EPROTONOSUPPORT, k_digest);
	refusal("digest not asked for", EPROTO, k_digest_unasked);
	refusal("never ready", ETIMEDOUT, k_unready);
}

/* ---- done without -------------------------------------------------------------------------- */

static bool refuse_features(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	bool mine = c->qid == 0 && (cmd->opc == NVME_ADMIN_SET_FEATURES ||
				    cmd->opc == NVME_ADMIN_GET_FEATURES) &&
		    nvme_feature_fid(cmd) != NVME_FID_NUMBER_OF_QUEUES;

	mine |= c->qid == 0 && cmd->opc == NVME_ADMIN_IDENTIFY &&
		nvme_identify_cns(cmd) == NVME_CNS_NS_DESC_LIST;
	mine |= c->qid == 0 && cmd->opc == NVME_ADMIN_KEEP_ALIVE;
	mine |= c->qid == 0 && cmd->opc == NVME_ADMIN_ASYNC_EVENT_REQUEST;
	if (mine)
		fake_rsp(c, nvme_cmd_cid(cmd), nvme_status_dnr(NVME_SC_INVALID_FIELD), 0);
	return mine;
}

static void k_optional(struct fake *f, struct host_config *c)
{
	f->hook = refuse_features;
	f->id.crdt1 = cpu_to_le16(1);
	f->not_ready = 3;
}

static void k_grant(struct fake *f, struct host_config *c)
{
	c->queues = 8;
	f->granted = 3;
}

static void k_shallow(struct fake *f, struct host_config *c)
{
	c->depth = 64;
	f->mqes = 32;
	f->id.maxcmd = cpu_to_le16(20);
}

static void k_admin_only(struct fake *f, struct host_config *c)
{
	c->queues = 0;
}

static void done_without(void)
{
	struct host_ctrl_info i;
	struct world w;

	world_open(&w, k_optional);
	ok(world_until(&w, HOST_EVENT_LIVE), "optional commands refused: live all the same (I021)");
	sim_run_for(w.f.sim, 5 * FAKE_S);
	ok(!w.lost && w.f.aers == 0, "and stays so");
	world_close(&w);
	world_end(&w);

	world_open(&w, k_grant);
	world_until(&w, HOST_EVENT_LIVE);
	host_ctrl_info(w.ctrl, &i);
	is_u64(i.queues, 3, "8 queues asked for, 3 granted, 3 used (I012)");
	world_close(&w);
	world_end(&w);

	world_open(&w, k_shallow);
	world_until(&w, HOST_EVENT_LIVE);
	host_ctrl_info(w.ctrl, &i);
	is_u64(i.depth, 20, "depth within MQES and MAXCMD");
	world_close(&w);
	world_end(&w);

	world_open(&w, k_admin_only);
	ok(world_until(&w, HOST_EVENT_LIVE) && w.f.accepted == 1, "admin queue alone");
	world_close(&w);
	world_end(&w);
}

/* ---- lost and regained --------------------------------------------------------------------- */

static void lost_and_regained(void)
{
	struct host_ctrl_stats s;
	struct world w;

	world_open(&w, NULL);
	world_until(&w, HOST_EVENT_LIVE);
	sim_node_reset(w.f.node);
	ok(world_until(&w, HOST_EVENT_LOST), "a reset is noticed (X001)");
	ok(world_until(&w, HOST_EVENT_LIVE), "and connected anew (X001)");
	host_ctrl_stats(w.ctrl, &s);
	ok(s.losses == 1 && s.connects == 2, "counted");
	host_ctrl_reset(w.ctrl);
	ok(world_until(&w, HOST_EVENT_LIVE) && w.f.connects == 3, "reset on request");
	world_close(&w);
	world_end(&w);
}

static void given_up(void)
{
	struct host_ctrl_info i;
	struct host_ctrl_stats s;
	struct world w;
	uint64_t since;

	world_open(&w, NULL);
	world_until(&w, HOST_EVENT_LIVE);
	since = sim_now(w.f.sim);
	fake_stop(&w.f);
	world_submit(&w, 0, HOST_IO_READ, 0, 8);
	ok(world_until(&w, HOST_EVENT_FAILED), "nobody comes back: given up (X002)");
	since = sim_now(w.f.sim) - since;
	ok(since >= 10 * FAKE_S && since < 12 * FAKE_S, "after the loss timeout");
	host_ctrl_stats(w.ctrl, &s);
	ok(s.attempts > 15 && s.attempts < 60, "with growing pauses: %u attempts",
	   (unsigned int)s.attempts);
	ok(world_done(&w, 0) == -ETIMEDOUT, "I/O that waited fails");
	world_submit(&w, 1, HOST_IO_READ, 0, 8);
	ok(world_done(&w, 1) == -ENOTCONN, "later I/O fails at once");
	host_ctrl_info(w.ctrl, &i);
	is_str(i.state, "failed", "asked in the end (I020): %s", i.error_text);
	world_close(&w);
	world_end(&w);
}

static void k_retry_first(struct fake *f, struct host_config *c)
{
	c->retry_first = true;
	fake_stop(f);
}

static void first_retried(void)
{
	struct world w;

	world_open(&w, k_retry_first);
	sim_run_for(w.f.sim, 2 * FAKE_S);
	fake_start(&w.f);
	ok(world_until(&w, HOST_EVENT_LIVE), "a first connection is retried where that is asked for");
	world_close(&w);
	world_end(&w);
}

/* ---- keep alive ---------------------------------------------------------------------------- */

static void keep_alive(void)
{
	struct world w;

	world_open(&w, NULL);
	world_until(&w, HOST_EVENT_LIVE);
	sim_run_for(w.f.sim, 10 * FAKE_S);
	ok(w.f.keep_alives >= 19 && w.f.keep_alives <= 21 && !w.lost,
	   "idle for ten KATO: %u Keep Alives", w.f.keep_alives);
	list_first_entry(&w.f.conns, struct fake_conn, link)->deaf = true;
	sim_run_for(w.f.sim, 2 * FAKE_S);
	ok(w.lost, "a controller that answers nothing is noticed within two KATO (K002)");
	ok(world_until(&w, HOST_EVENT_LIVE), "and connected anew");
	world_close(&w);
	world_end(&w);
}

static void k_tbkas(struct fake *f, struct host_config *c)
{
	f->id.ctratt = cpu_to_le32(NVME_CTRATT_TBKAS);
}

static void keep_alive_traffic(void)
{
	struct world w;
	unsigned int idle;

	world_open(&w, k_tbkas);
	world_until(&w, HOST_EVENT_LIVE);
	sim_run_for(w.f.sim, 10 * FAKE_S);
	idle = w.f.keep_alives;
	ok(idle >= 28 && idle <= 31, "TBKAS, idle: %u Keep Alives in ten KATO", idle);
	for (int i = 0; i < 100; i++) {
		world_submit(&w, 0, HOST_IO_READ, 0, 8);
		world_done(&w, 0);
		sim_run_for(w.f.sim, 100 * FAKE_MS);
	}
	ok(w.f.keep_alives - idle <= 1, "TBKAS with traffic: none (K001)");
	world_close(&w);
	world_end(&w);
}

/* ---- events -------------------------------------------------------------------------------- */

static void events(void)
{
	struct host_ns ns;
	struct world w;

	world_open(&w, NULL);
	world_until(&w, HOST_EVENT_LIVE);
	sim_run_for(w.f.sim, FAKE_MS * 10);
	ok(w.f.aers == 1 && w.f.aec == NVME_AEC_NS_ATTRIBUTE, "one event request, of what is wanted");
	w.f.nsids = 3;
	w.f.ns.nsze = cpu_to_le64(100);
	fake_event(&w.f, 0x00040002); /* notice, namespace attribute, log 04h */
	ok(world_until(&w, HOST_EVENT_NAMESPACES), "namespaces changed");
	ok(host_ns_get(w.ctrl, 3, &ns) == 0 && ns.blocks == 100, "a new one, and a new size (N003)");
	ok(w.f.aers == 2, "the next event is asked for");
	fake_event(&w.f, 0x00010302);
	sim_run_for(w.f.sim, FAKE_MS * 10);
	ok(w.f.aers == 3, "events of no interest are, too");
	world_close(&w);
	world_end(&w);
}

/* The event comes with the end of the connection (I009): 200 different distances in time. */
static void event_at_the_end(void)
{
	unsigned int bad = 0;

	for (uint64_t us = 0; us < 200; us++) {
		struct world w;
		unsigned int aers;

		world_open(&w, NULL);
		world_until(&w, HOST_EVENT_LIVE);
		sim_run_for(w.f.sim, FAKE_MS * 5);
		aers = w.f.aers;
		fake_event(&w.f, 0x00040002);
		sim_run_for(w.f.sim, us * 3000);
		sim_node_reset(w.f.node);
		bad += !world_until(&w, HOST_EVENT_LIVE);
		sim_run_for(w.f.sim, FAKE_MS * 5);
		bad += w.f.aers < aers + 1 || w.f.aers > aers + 2;
		world_close(&w);
		world_end(&w);
	}
	is_u64(bad, 0, "an event while the connection ends: no request on a dead queue (I009)");
}

/* ---- odd lists ------------------------------------------------------------------------------- */

/* Out of order, twice the same, and what stands for all of them. */
static bool h_list(struct fake_conn *c, const struct nvme_cmd *cmd)
{
	struct nvme_ns_list list = { .nsid = { { { 2 } }, { { 1 } }, { { 2 } }, { { 0xff, 0xff, 0xff, 0xff } } } };

	if (c->qid != 0 || cmd->opc != NVME_ADMIN_IDENTIFY || nvme_identify_cns(cmd) != NVME_CNS_ACTIVE_NS_LIST)
		return false;
	fake_c2h(c, nvme_cmd_cid(cmd), 0, &list, sizeof(list), true, false);
	fake_rsp(c, nvme_cmd_cid(cmd), nvme_status_success(), 0);
	return true;
}

static void k_odd(struct fake *f, struct host_config *c)
{
	f->hook = h_list;
	f->nsids = 2;
	f->ns.lbaf[0].lbads = 16;
	f->ns.nsfeat = NVME_NSFEAT_OPTPERF;
	f->ns.npwg = cpu_to_le16(0xffff);
	f->ns.nsze = cpu_to_le64(UINT64_MAX);
}

static void odd_namespaces(void)
{
	const struct host_ns *one, *two;
	struct world w;

	world_open(&w, k_odd);
	world_until(&w, HOST_EVENT_LIVE);
	one = host_ns_at(w.ctrl, 0);
	two = host_ns_at(w.ctrl, 1);
	ok(one && one->nsid == 1 && two && two->nsid == 2 && !host_ns_at(w.ctrl, 2),
	   "a list out of order and with doubles: each namespace once, by number");
	is_u64(one ? one->optimal : 0, UINT32_C(0xffff0000), "65536 blocks of 64 KiB, as far as 32 bits go");
	is_u64(one ? host_ns_bytes(one) : 0, UINT64_MAX - 0xffff, "2^64 - 1 of them, as far as 64 bits go");
	world_close(&w);
	world_end(&w);
}

/* ---- another disk -------------------------------------------------------------------------- */

static void k_one(struct fake *f, struct host_config *c)
{
	c->nsid = 1;
}

static void replaced(void)
{
	struct world w;

	world_open(&w, k_one);
	world_until(&w, HOST_EVENT_LIVE);
	w.f.uuid[5] = 99;
	sim_node_reset(w.f.node);
	world_until(&w, HOST_EVENT_LOST);
	world_submit(&w, 0, HOST_IO_WRITE, 0, 8);
	ok(world_until(&w, HOST_EVENT_FAILED), "another namespace under this NSID: no connection (N007)");
	ok(world_done(&w, 0) < 0 && w.f.writes == 0, "and no write to it");
	world_close(&w);
	world_end(&w);

	world_open(&w, NULL);
	world_until(&w, HOST_EVENT_LIVE);
	w.f.uuid[5] = 99;
	sim_run_for(w.f.sim, FAKE_MS * 10);
	fake_event(&w.f, 0x00040002);
	world_until(&w, HOST_EVENT_NAMESPACES);
	world_submit(&w, 0, HOST_IO_WRITE, 0, 8);
	ok(world_done(&w, 0) == -ESTALE && w.f.writes == 0, "while live: its I/O fails (N005)");
	world_close(&w);
	world_end(&w);
}

/* What the controller has under NSID 1 is gone, then there again, as @change made it. */
static int write_after(void (*change)(struct fake *f), bool gone_between)
{
	struct world w;
	int rc;

	world_open(&w, NULL);
	world_until(&w, HOST_EVENT_LIVE);
	sim_run_for(w.f.sim, FAKE_MS * 10);
	if (gone_between) {
		w.f.nsids = 0;
		fake_event(&w.f, 0x00040002);
		world_until(&w, HOST_EVENT_NAMESPACES);
		sim_run_for(w.f.sim, FAKE_MS * 10);
		w.f.nsids = 1;
	}
	change(&w.f);
	fake_event(&w.f, 0x00040002);
	world_until(&w, HOST_EVENT_NAMESPACES);
	world_submit(&w, 0, HOST_IO_WRITE_ZEROES, 8, 8);
	rc = world_done(&w, 0);
	world_close(&w);
	world_end(&w);
	return rc;
}

static void nothing(struct fake *f) {}

static void other_uuid(struct fake *f)
{
	f->uuid[5] = 99;
}

static void larger(struct fake *f)
{
	f->ns.nsze = cpu_to_le64(FAKE_BLOCKS * 2);
}

static void other_blocks(struct fake *f)
{
	f->ns.nsze = cpu_to_le64(FAKE_BLOCKS / 8);
	f->ns.lbaf[0].lbads = 12;
}

static void with_metadata(struct fake *f)
{
	f->ns.lbaf[0].ms = cpu_to_le16(8);
}

static void same_or_not(void)
{
	static const struct {
		const char *what;
		void (*change)(struct fake *f);
		bool gone_between;
		int error;
	} cases[] = {
		{ "the same, which was gone meanwhile (N005)", nothing, true, 0 },
		{ "another, which was gone meanwhile (N005)", other_uuid, true, -ESTALE },
		{ "the same, of another size (N003)", larger, false, 0 },
		{ "the same disk with other blocks (N007)", other_blocks, false, -ESTALE },
		{ "the same disk with other blocks, gone meanwhile (N007)", other_blocks, true, -ESTALE },
		{ "the same disk with metadata (N007)", with_metadata, false, -ESTALE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		is_i64(write_after(cases[i].change, cases[i].gone_between), cases[i].error, "%s: %s",
		       cases[i].what, cases[i].error ? "no I/O to it" : "I/O as before");
	}
}

static void ns_back_late(void)
{
	struct world w;

	world_open(&w, k_one);
	world_until(&w, HOST_EVENT_LIVE);
	w.f.nsids = 0;
	sim_node_reset(w.f.node);
	world_until(&w, HOST_EVENT_LOST);
	world_submit(&w, 0, HOST_IO_WRITE, 0, 8);
	sim_run_for(w.f.sim, 3 * FAKE_S);
	w.f.nsids = 1;
	ok(world_done(&w, 0) == 0, "a namespace that comes three seconds after its target (N007)");
	world_close(&w);
	world_end(&w);
}

/* ---- no memory ----------------------------------------------------------------------------- */

static void no_memory(void)
{
	unsigned int live = 0, failed = 0;

	for (uint64_t n = 1; n < 40; n++) {
		struct world w;

		world_prepare(&w, NULL);
		mem_fail_after(n);
		if (host_ctrl_new(w.f.host_loop, &w.config, &w.ctrl, NULL) < 0) {
			failed++;
			mem_fail_after(0);
			world_end(&w);
			continue;
		}
		sim_run_for(w.f.sim, FAKE_S);
		mem_fail_after(0);
		live += w.live;
		failed += w.failed;
		world_close(&w);
		world_end(&w);
	}
	is_u64(live + failed, 39, "the n-th allocation fails: live (%u) or failed (%u), never neither",
	       live, failed);
}

int main(void)
{
	connects_and_closes();
	in_every_state();
	refusals();
	done_without();
	lost_and_regained();
	given_up();
	first_retried();
	keep_alive();
	keep_alive_traffic();
	events();
	event_at_the_end();
	odd_namespaces();
	replaced();
	same_or_not();
	ns_back_late();
	no_memory();
	return tap_done();
}
