/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything a host can make us hold or wait for has an end: time limits of each stage, memory,
 * draining, and allocations that fail at any point.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "nvme/cmd-admin.h"
#include "nvme/feature.h"
#include "nvme/identify.h"
#include "nvme/log.h"
#include "target/conn.h"
#include "target/test-rig.h"
#include "tests/tap.h"

static uint8_t buf[1 << 20];

static uint64_t open_connections(struct rig *rig)
{
	struct target_stats st;

	target_stats(rig->target, &st);
	return st.open;
}

/* It ends between @after - 1 s and @after + 3 s, for @reason. */
static void ends_in(struct rig *rig, struct peer *p, uint64_t after, enum target_close reason,
		    const char *what)
{
	uint64_t before = rig_closed(rig, reason);

	rig_run(rig, after - RIG_S);
	ok(!p->eof && !p->error, "%s: not before its time", what);
	ok(peer_ends(p, 4 * RIG_S), "%s: closed", what);
	is_u64(rig_closed(rig, reason), before + 1, "%s: %s", what, target_close_name(reason));
	peer_close(p);
	rig_run(rig, 3 * RIG_S);
}

static void stages(struct rig *rig)
{
	struct tcp_icreq ic = {
		.ch = { .type = TCP_PDU_ICREQ, .hlen = 128, .plen = cpu_to_le32(128) }
	};
	struct nvme_cmd cmd;
	struct peer p, a, io;
	uint16_t id;

	peer_open(&p, rig, -1);
	ends_in(rig, &p, 10 * RIG_S, TARGET_CLOSE_ICREQ_TIMEOUT, "no ICReq");
	peer_open(&p, rig, -1);
	peer_bytes(&p, &ic, 100);
	ends_in(rig, &p, 10 * RIG_S, TARGET_CLOSE_ICREQ_TIMEOUT, "half an ICReq");
	peer_open(&p, rig, -1);
	peer_ic(&p, 0, false, false);
	ends_in(rig, &p, 10 * RIG_S, TARGET_CLOSE_CONNECT_TIMEOUT, "no Connect");
	peer_open(&p, rig, -1);
	peer_ic(&p, 0, false, false);
	peer_connect(&p, RIG_NQN, 0, NVME_CNTLID_DYNAMIC, 32, 0);
	ends_in(rig, &p, 60 * RIG_S, TARGET_CLOSE_FIRST_COMMAND_TIMEOUT,
		"no command after Connect");

	id = peer_admin(&a, rig, RIG_NQN);
	peer_io(&io, rig, RIG_NQN, 1, id);
	rig_run(rig, 600 * RIG_S);
	ok(!a.eof && !io.eof, "an I/O queue and its controller may idle for 10 minutes");
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 0, 16, 0);
	cmd.sgl = nvme_sgl_transport(8192);
	peer_submit(&io, &cmd, NULL, 0);
	ends_in(rig, &io, 60 * RIG_S, TARGET_CLOSE_TRANSFER_TIMEOUT, "data that was asked for");
	peer_io(&io, rig, RIG_NQN, 1, id);
	peer_bytes(&io, "\x04\x00\x48", 3);
	ends_in(rig, &io, 60 * RIG_S, TARGET_CLOSE_TRANSFER_TIMEOUT,
		"the first three bytes of a PDU");
	peer_close(&a);
	rig_run(rig, RIG_MS);
}

/* The host sends reads and does not take the data. */
static void no_reader(struct rig *rig)
{
	struct nvme_cmd cmd;
	struct peer a, io;
	uint16_t id = peer_admin(&a, rig, RIG_NQN);

	peer_io(&io, rig, RIG_NQN, 1, id);
	io.error = 1; /* the peer's own end stops receiving after what is under way */
	for (int i = 0; i < 100; i++) {
		nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 0, 2048, 0);
		cmd.sgl = nvme_sgl_transport(1 << 20);
		peer_submit(&io, &cmd, NULL, 0);
	}
	rig_run(rig, 20 * RIG_S);
	is_u64(rig_closed(rig, TARGET_CLOSE_SEND_TIMEOUT) +
		       rig_closed(rig, TARGET_CLOSE_HOST_RESET),
	       0, "a host that does not read: 20 seconds are fine");
	rig_run(rig, 20 * RIG_S);
	is_u64(rig_closed(rig, TARGET_CLOSE_SEND_TIMEOUT) +
		       rig_closed(rig, TARGET_CLOSE_HOST_RESET),
	       1, "40 are not");
	peer_close(&io);
	peer_close(&a);
	rig_run(rig, RIG_S);
	is_u64(rig->target->reactors[0].arena.free, rig->target->reactors[0].arena.slab_count * 64,
	       "and all memory is back");
}

/* T006, X010: commands are parked with memory, or without, but never beyond what there is. */
static void parked_writes(struct rig *rig)
{
	struct target_stats st;
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	struct peer a, io, good_admin, good;
	uint16_t id = peer_admin(&a, rig, RIG_NQN);

	peer_io(&io, rig, RIG_NQN, 1, id);
	for (int i = 0; i < 127; i++) {
		nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 0, 2048, 0);
		cmd.sgl = nvme_sgl_transport(1 << 20);
		peer_submit(&io, &cmd, NULL, 0);
	}
	rig_run(rig, 10 * RIG_MS);
	target_stats(rig->target, &st);
	ok(st.arena_used <= st.arena_bytes / 2 && st.arena_used > 0,
	   "T006, X010: 127 MiB of writes hold half of the arena of %llu bytes",
	   (unsigned long long)st.arena_bytes);
	id = peer_admin(&good_admin, rig, RIG_NQN);
	peer_io(&good, rig, RIG_NQN, 1, id);
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 0, 2048, 0);
	cpl = peer_do(&good, &cmd, buf, 1 << 20);
	is_status(&cpl, SUCCESS, "T006: and another connection can still write 1 MiB");
	peer_close(&io);
	rig_run(rig, RIG_S);
	target_stats(rig->target, &st);
	is_u64(st.arena_used, 0, "T006: which is free again when the host goes");
	peer_close(&good);
	peer_close(&good_admin);
	peer_close(&a);
	rig_run(rig, RIG_S);
}

enum { GREEDY = 20 };

static void open_as(struct peer *p, struct rig *rig, int host, uint16_t qid, uint16_t cntlid)
{
	peer_open(p, rig, -1);
	p->hostnqn = host == 1 ? RIG_HOST : RIG_HOST2;
	memset(p->hostid, host, sizeof(p->hostid));
	peer_ic(p, 0, false, false);
	peer_connect(p, RIG_NQN, qid, cntlid, 128, 0);
	if (qid == 0)
		peer_enable(p);
}

/* Another host writes and reads 256 KiB, at once: in virtual time, only waiting takes any. */
static void other_host_works(struct rig *rig, const char *what)
{
	uint64_t began = io_now(rig->loop);
	struct peer a, io;
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	open_as(&a, rig, 2, 0, NVME_CNTLID_DYNAMIC);
	nvme_cmd_init_identify(&cmd, NVME_CNS_CTRL, 0, 0, 0);
	cpl = peer_do(&a, &cmd, buf, 4096);
	is_status(&cpl, SUCCESS, "%s", what);
	open_as(&io, rig, 2, 1, le16_to_cpu(((struct nvme_id_ctrl *)(void *)buf)->cntlid));
	for (int i = 0; i < 2; i++) {
		nvme_cmd_init_rw(&cmd, i ? NVME_NVM_READ : NVME_NVM_WRITE, 1, 0, 512, 0);
		cpl = peer_do(&io, &cmd, buf, 256 << 10);
		is_status(&cpl, SUCCESS, "%s", what);
	}
	ok(io_now(rig->loop) - began < RIG_S, "... at once");
	peer_close(&io);
	peer_close(&a);
}

/*
 * T006 again, by many connections with one large command each, and by admin commands whose answers
 * nobody takes: it is the host that is charged, so another one finds room.
 */
static void greedy_host(struct rig *rig, bool control)
{
	struct peer a, p[GREEDY];
	struct nvme_cmd cmd;
	uint16_t id;

	open_as(&a, rig, 1, 0, NVME_CNTLID_DYNAMIC);
	nvme_cmd_init_identify(&cmd, NVME_CNS_CTRL, 0, 0, 0);
	peer_do(&a, &cmd, buf, 4096);
	id = le16_to_cpu(((struct nvme_id_ctrl *)(void *)buf)->cntlid);
	for (int i = 0; i < GREEDY; i++) {
		/* From large to small, so that what large ones leave is taken as well. */
		uint32_t bytes = (1u << 20) >> (i * 8 / GREEDY);
		struct nvme_get_log log = { .lid = NVME_LID_EFFECTS, .bytes = bytes };

		open_as(&p[i], rig, 1, control ? 0 : (uint16_t)(i + 1),
			control ? NVME_CNTLID_DYNAMIC : id);
		p[i].error = 1; /* it receives no more */
		for (int k = 0; k < 30; k++) {
			if (control)
				nvme_cmd_init_get_log(&cmd, 0, &log);
			else
				nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 0, bytes / 512, 0);
			cmd.sgl = nvme_sgl_transport(bytes);
			peer_submit(&p[i], &cmd, NULL, 0);
		}
	}
	rig_run(rig, 10 * RIG_MS);
	other_host_works(rig, control ? "T006: while a host's admin queues take no answers"
				      : "T006: while 20 queues of a host send no data");
	for (int i = 0; i < GREEDY; i++)
		peer_close(&p[i]);
	peer_close(&a);
	rig_run(rig, RIG_S);
}

/* C011: no memory is left at all, and still a host can connect, and small writes progress. */
static void exhausted(struct rig *rig)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	struct peer a, io;
	uint16_t id, first;
	union tcp_pdu pdu;
	int done = 0;

	rig_take_arena(rig);
	id = peer_admin(&a, rig, RIG_NQN);
	peer_io(&io, rig, RIG_NQN, 1, id);
	ok(true, "C011: connected and enabled with an empty arena");
	rig->stores[0].hold = true;
	for (int i = 0; i < 20; i++) {
		nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, (uint64_t)i, 1, 0);
		cmd.sgl = nvme_sgl_in_capsule(0, 512);
		memset(buf, i, 512);
		peer_submit(&io, &cmd, buf, 512);
	}
	rig_run(rig, RIG_MS);
	for (int i = 0; i < 60 && done < 20; i++) {
		rig_store_release_one(&rig->stores[0]);
		rig_run(rig, RIG_MS);
		while (peer_next_in(&io, RIG_MS, &pdu, NULL, 0, NULL))
			done += pdu.ch.type == TCP_PDU_RSP;
	}
	is_u64(done, 20, "data in capsules goes through one by one with an empty arena");
	rig_store_release(&rig->stores[0]);
	/* A read waits for memory, and with it those behind it. */
	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 0, 1, 0);
	cmd.sgl = nvme_sgl_transport(512);
	first = peer_submit(&io, &cmd, NULL, 0);
	rig_run(rig, RIG_S);
	ok(io.in_at == io.in_len, "a read waits");
	rig_give_arena(rig);
	cpl = peer_finish(&io, first, buf, 512);
	is_status(&cpl, SUCCESS, "until there is memory");
	peer_close(&io);
	peer_close(&a);
	rig_run(rig, RIG_MS);
}

/* C011: data has taken all that it may have; admin commands have a part of their own. */
static void admin_without_data_memory(struct rig *rig)
{
	static struct tgt_arena_user users[4096];
	static struct tgt_buf held[4096];
	struct tgt_arena *arena = &rig->target->reactors[0].arena;
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	struct peer a;
	int n = 0;

	memset(users, 0, sizeof(users));
	for (uint32_t bytes = 1 << 20; bytes >= TGT_ARENA_PIECE; bytes /= 2)
		while (n < (int)ARRAY_SIZE(users) &&
		       tgt_arena_get(arena, &users[n], bytes, false, &held[n]) == TGT_ARENA_OK)
			n++;
	peer_admin(&a, rig, RIG_NQN);
	a.patience = RIG_S;
	nvme_cmd_init_identify(&cmd, NVME_CNS_CTRL, 0, 0, 0);
	cpl = peer_do(&a, &cmd, buf, NVME_IDENTIFY_SIZE);
	is_status(&cpl, SUCCESS, "C011: Identify while data has taken all that it may");
	peer_close(&a);
	while (n-- > 0)
		tgt_arena_put(arena, &users[n], &held[n]);
	rig_run(rig, RIG_MS);
}

/* T031: the end, with a command in the store and one behind it whose capsule has no memory to go to. */
static void end_with_a_capsule_waiting(struct rig *rig)
{
	struct target_stats st;
	struct nvme_cmd cmd;
	struct peer a, io;
	uint16_t id = peer_admin(&a, rig, RIG_NQN);

	peer_io(&io, rig, RIG_NQN, 1, id);
	rig_take_arena(rig);
	rig->stores[0].hold = true;
	for (int i = 0; i < 4; i++) {
		nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 0, 256, 0);
		cmd.sgl = nvme_sgl_in_capsule(0, 128 * 1024);
		peer_submit(&io, &cmd, buf, 128 * 1024);
	}
	rig_run(rig, RIG_MS);
	peer_close(&io);
	peer_close(&a);
	rig_run(rig, RIG_MS);
	rig_store_release(&rig->stores[0]);
	rig_give_arena(rig);
	rig_run(rig, RIG_S);
	target_stats(rig->target, &st);
	ok(st.open == 0 && st.arena_used == 0, "T031: nothing is left of commands that waited when the host went");
}

/* T022: admin and Fabrics capsules hold 8192 bytes whatever IOCCSZ says (Transport 1.0, 3.3.1). */
static void admin_capsule(struct peer *a)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	nvme_cmd_init_keep_alive(&cmd);
	cmd.sgl = nvme_sgl_in_capsule(0, 8192);
	cpl = peer_wait(a, peer_submit(a, &cmd, buf, 8192));
	is_status(&cpl, SUCCESS, "T022: 8192 bytes in an admin capsule where IOCCSZ has none");
	nvme_cmd_init_set_features(&cmd, NVME_FID_KEEP_ALIVE, false, 0, 0);
	cpl = peer_do(a, &cmd, NULL, 0);
	is_status(&cpl, SUCCESS, "T022: and the stream goes on behind it");
}

/* T031: a large capsule is no different. */
static void large_capsule(void)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	struct peer a, io;
	struct rig rig;
	uint16_t id;

	rig_init(&rig);
	rig.config.limits.in_capsule = 128 * 1024;
	rig_start(&rig);
	id = peer_admin(&a, &rig, RIG_NQN);
	peer_io(&io, &rig, RIG_NQN, 1, id);
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 0, 256, 0);
	cmd.sgl = nvme_sgl_in_capsule(0, 128 * 1024);
	cpl = peer_wait(&io, peer_submit(&io, &cmd, buf, 128 * 1024));
	is_status(&cpl, SUCCESS, "T031: 128 KiB in a capsule");
	rig.stores[0].hold = true;
	for (int i = 0; i < 8; i++) {
		nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 0, 256, 0);
		cmd.sgl = nvme_sgl_in_capsule(0, 128 * 1024);
		peer_submit(&io, &cmd, buf, 128 * 1024);
	}
	rig_run(&rig, RIG_MS);
	peer_close(&io);
	rig_store_release(&rig.stores[0]);
	peer_close(&a);
	end_with_a_capsule_waiting(&rig);
	rig_end(&rig);

	rig_init(&rig);
	rig.config.limits.in_capsule = 0;
	rig_start(&rig);
	id = peer_admin(&a, &rig, RIG_NQN);
	peer_io(&io, &rig, RIG_NQN, 1, id);
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 0, 1, 0);
	cmd.sgl = nvme_sgl_in_capsule(0, 512);
	cpl = peer_wait(&io, peer_submit(&io, &cmd, buf, 512));
	is_status(&cpl, SGL_INVALID_OFFSET, "T030: in-capsule data where IOCCSZ has none");
	cpl = peer_do(&io, &cmd, buf, 512);
	is_status(&cpl, SUCCESS, "T030: and by R2T on the same connection");
	admin_capsule(&a);
	peer_close(&io);
	peer_close(&a);
	rig_end(&rig);
}

/* ---- draining -------------------------------------------------------------------------------- */

static void drain(bool now)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	struct peer a, io, idle;
	struct rig rig;
	uint16_t id, cid;

	rig_init(&rig);
	rig_start(&rig);
	id = peer_admin(&a, &rig, RIG_NQN);
	peer_io(&io, &rig, RIG_NQN, 1, id);
	peer_open(&idle, &rig, -1);
	rig.stores[0].hold = true;
	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 0, 1, 0);
	cmd.sgl = nvme_sgl_transport(512);
	cid = peer_submit(&io, &cmd, NULL, 0);
	rig_run(&rig, RIG_MS);
	target_drain(rig.target, now);
	ok(peer_ends(&idle, RIG_S), "drain: a connection with nothing to do ends");
	ok(!target_drained(rig.target), "drain: not over while something is in the store");
	if (!now) {
		rig_store_release(&rig.stores[0]);
		cpl = peer_finish(&io, cid, buf, 512);
		is_status(&cpl, SUCCESS, "drain: what was in flight is answered");
	}
	ok(peer_ends(&io, RIG_S), "drain: then that ends too");
	rig_store_release(&rig.stores[0]);
	rig_run(&rig, RIG_S);
	ok(target_drained(rig.target), "drain: over");
	peer_close(&idle);
	peer_close(&io);
	peer_close(&a);
	rig_end(&rig);
}

static void drain_slowly(void)
{
	struct nvme_cmd cmd;
	struct peer a, io;
	struct rig rig;
	uint16_t id;

	rig_init(&rig);
	rig_start(&rig);
	id = peer_admin(&a, &rig, RIG_NQN);
	peer_io(&io, &rig, RIG_NQN, 1, id);
	rig.stores[0].hold = true;
	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 0, 1, 0);
	cmd.sgl = nvme_sgl_transport(512);
	peer_submit(&io, &cmd, NULL, 0);
	rig_run(&rig, RIG_MS);
	target_drain(rig.target, false);
	rig_run(&rig, 4 * RIG_S);
	ok(!io.eof, "a slow drain: 4 seconds of patience");
	ok(peer_ends(&io, 2 * RIG_S), "... and not 6");
	peer_close(&io);
	peer_close(&a);
	rig_end(&rig);
}

/* ---- allocations that fail ------------------------------------------------------------------- */

/* A session with a bit of everything; what fails in it does not matter, that it ends does. */
static void session(struct rig *rig)
{
	struct nvme_connect_data data;
	struct nvme_cmd cmd;
	struct peer a, io;

	peer_open(&a, rig, -1);
	{
		struct tcp_tx_pdu pdu = { 0 };

		tcp_build_icreq(&pdu, 0, false, false, 0);
		peer_pdu(&a, &pdu);
	}
	rig_run(rig, RIG_MS);
	nvme_cmd_init_connect(&cmd, 0, 32, 0, 5000);
	cmd.sgl = nvme_sgl_in_capsule(0, sizeof(data));
	peer_connect_data(&a, RIG_NQN, NVME_CNTLID_DYNAMIC, &data);
	peer_submit(&a, &cmd, &data, sizeof(data));
	rig_run(rig, RIG_MS);
	nvme_cmd_init_property_set(
		&cmd, NVME_REG_CC, 4,
		nvme_cc_encode((struct nvme_cc){ .en = true, .iosqes = 6, .iocqes = 4 }));
	peer_submit(&a, &cmd, NULL, 0);
	nvme_cmd_init_identify(&cmd, NVME_CNS_CTRL, 0, 0, 0);
	cmd.sgl = nvme_sgl_transport(4096);
	peer_submit(&a, &cmd, NULL, 0);
	rig_run(rig, RIG_MS);
	peer_open(&io, rig, -1);
	{
		struct tcp_tx_pdu pdu = { 0 };

		tcp_build_icreq(&pdu, 0, false, false, 0);
		peer_pdu(&io, &pdu);
	}
	rig_run(rig, RIG_MS);
	nvme_cmd_init_connect(&cmd, 1, 32, 0, 0);
	cmd.sgl = nvme_sgl_in_capsule(0, sizeof(data));
	peer_connect_data(&io, RIG_NQN, rig->target->subsystems[1]->last_cntlid, &data);
	peer_submit(&io, &cmd, &data, sizeof(data));
	rig_run(rig, RIG_MS);
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 0, 16, 0);
	cmd.sgl = nvme_sgl_transport(8192);
	peer_submit(&io, &cmd, NULL, 0);
	rig_run(rig, RIG_MS);
	mem_fail_after(0);
	peer_close(&io);
	peer_close(&a);
	rig_run(rig, 3 * RIG_S);
}

static void no_memory(void)
{
	uint64_t failed = 0;
	struct rig rig;

	rig_init(&rig);
	rig_start(&rig);
	for (uint64_t n = 1; n < 60; n++) {
		uint64_t before = mem_fail_count();

		mem_fail_after(n);
		session(&rig);
		failed += mem_fail_count() - before;
		if (open_connections(&rig) != 0)
			ok(false, "allocation %llu", (unsigned long long)n);
	}
	ok(failed > 10, "T008: each of %llu allocations of a session fails once, and nothing is left",
	   (unsigned long long)failed);
	session(&rig);
	is_u64(rig.target->subsystems[1]->ctrl_count, 0, "and afterwards no controller");
	rig_end(&rig);
}

static void config_no_memory(void)
{
	unsigned int failed = 0;

	for (uint64_t n = 1; n < 100; n++) {
		struct target *t = NULL;
		struct err err = ERR_NULL;
		struct rig rig;
		int r;

		rig_init(&rig);
		mem_fail_after(n);
		r = target_new_on_loops(&rig.config, &rig.loop, 1, &t, &err);
		mem_fail_after(0);
		if (r < 0) {
			failed++;
			if (t || !err.text[0])
				ok(false, "allocation %llu: no sentence", (unsigned long long)n);
		}
		t = target_free(t);
		rig_end(&rig);
	}
	ok(failed > 10, "making a target: each of %u allocations fails once, with a sentence",
	   failed);
}

static void bad_configs(void)
{
	static const struct {
		size_t offset;
		uint32_t value;
		const char *name;
	} cases[] = {
		{ offsetof(struct target_limits, mdts), 3 << 20, "mdts" },
		{ offsetof(struct target_limits, mdts), 4096 * 3, "mdts" },
		{ offsetof(struct target_limits, queue_depth), 1, "queue_depth" },
		{ offsetof(struct target_limits, queue_depth), 1025, "queue_depth" },
		{ offsetof(struct target_limits, in_capsule), 8, "in_capsule" },
		{ offsetof(struct target_limits, maxh2cdata), 4095, "maxh2cdata" },
		{ offsetof(struct target_limits, arena), 1 << 20, "arena" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct target *t = NULL;
		struct err err = ERR_NULL;
		struct rig rig;

		rig_init(&rig);
		memcpy((char *)&rig.config.limits + cases[i].offset, &cases[i].value, 4);
		ok(target_new_on_loops(&rig.config, &rig.loop, 1, &t, &err) == -22 &&
			   strstr(err.text, cases[i].name),
		   "refused: %s", err.text);
		rig_end(&rig);
	}
}

int main(void)
{
	struct rig rig;

	rig_init(&rig);
	rig_start(&rig);
	stages(&rig);
	no_reader(&rig);
	parked_writes(&rig);
	greedy_host(&rig, false);
	greedy_host(&rig, true);
	exhausted(&rig);
	admin_without_data_memory(&rig);
	rig_end(&rig);
	large_capsule();
	drain(false);
	drain(true);
	drain_slowly();
	no_memory();
	config_no_memory();
	bad_configs();
	return tap_done();
}
