/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two cores, as two loops of a simulated machine, and messages between them that come late: what a
 * core does not know yet must not do harm.
 */
#include <string.h>

#include "target/conn.h"
#include "target/test-rig.h"
#include "tests/tap.h"

static struct rig rig;
static struct io_loop *second;

static void start(void)
{
	struct io_loop *loops[2];
	struct err err = ERR_NULL;

	rig_init(&rig);
	loops[0] = rig.loop;
	loops[1] = second = sim_loop_new(rig.node);
	rig.config.listener_count = 0;
	ok(target_new_on_loops(&rig.config, loops, 2, &rig.target, &err) == 0,
	   "a target on two loops %s", err.text);
	ok(target_start(rig.target, &err) == 0, "started");
}

/* The next connections go to that core: the other one looks busy. */
static void steer(unsigned int core)
{
	atomic_store(&rig.target->reactors[core].load, 1000);
	atomic_store(&rig.target->reactors[1 - core].load, 2000);
}

static uint16_t admin_on(struct peer *p, unsigned int core)
{
	steer(core);
	return peer_admin(p, &rig, RIG_NQN);
}

static void io_on(struct peer *p, unsigned int core, uint16_t qid, uint16_t cntlid)
{
	steer(core);
	peer_io(p, &rig, RIG_NQN, qid, cntlid);
}

static uint16_t submit_write(struct peer *p, uint64_t slba, uint8_t fill)
{
	struct nvme_cmd cmd;
	uint8_t buf[512];

	memset(buf, fill, 512);
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, slba, 1, 0);
	cmd.sgl = nvme_sgl_in_capsule(0, 512);
	return peer_submit(p, &cmd, buf, 512);
}

static uint8_t read_byte(struct peer *p, uint64_t slba)
{
	struct nvme_cmd cmd;
	uint8_t buf[512] = { 0xee };

	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, slba, 1, 0);
	peer_do(p, &cmd, buf, 512);
	return buf[0];
}

/* ---- a message that is held up --------------------------------------------------------------- */

static void (*on_notice)(struct io_msg *m);
static struct io_msg *held_up;

static void hold_up(struct io_msg *m)
{
	held_up = m;
}

/* What other cores tell the newest connection of core 1 does not arrive. */
static struct tgt_conn *deafen(void)
{
	struct tgt_conn *c = list_entry(rig.target->reactors[1].conns.prev, struct tgt_conn, link);

	on_notice = c->notice_msg.fn;
	c->notice_msg.fn = hold_up;
	held_up = NULL;
	return c;
}

/* It does now. */
static void undeafen(struct tgt_conn *c)
{
	c->notice_msg.fn = on_notice;
	if (held_up)
		io_post(second, held_up);
	rig_run(&rig, RIG_MS);
}

/*
 * The admin queue dies on one core. The core of the I/O queue does not know yet, has a write in the
 * store, and would take more.
 */
static void end_not_heard(void)
{
	struct peer a, io, b, bio;
	struct tgt_conn *deaf;
	struct nvme_cpl cpl;
	uint16_t id, cid, late;

	id = admin_on(&a, 0);
	io_on(&io, 1, 1, id);
	deaf = deafen();
	rig.stores[0].hold_writes = true;
	submit_write(&io, 50, 1);
	rig_run(&rig, RIG_MS);
	rig.stores[0].hold_writes = false;
	peer_close(&a);
	rig_run(&rig, RIG_MS);
	ok(held_up != NULL, "a queue was told to end, and has not heard");
	id = admin_on(&b, 0);
	io_on(&bio, 0, 1, id);
	cid = submit_write(&bio, 50, 2);
	rig_run(&rig, RIG_S);
	ok(bio.in_at == bio.in_len, "a write of its host waits");
	rig_store_release(&rig.stores[0]);
	rig_run(&rig, RIG_S);
	ok(bio.in_at == bio.in_len, "also when the store is done, as more could come");
	/*
	 * A host sends until it knows. An error that says "never again" would reach its user, when all
	 * that happened is that a connection was lost.
	 */
	late = submit_write(&io, 50, 3);
	cpl = peer_wait(&io, late);
	is_status(&cpl, SUCCESS, "what comes on the old queue until it ends is served");
	ok(bio.in_at == bio.in_len, "while the new one waits");
	undeafen(deaf);
	cpl = peer_wait(&bio, cid);
	is_status(&cpl, SUCCESS, "when it has heard, the write goes on");
	is_u64(read_byte(&bio, 50), 2, "and is the last");
	ok(peer_ends(&io, RIG_S), "the queue has ended");
	peer_close(&io);
	peer_close(&bio);
	peer_close(&b);
	rig_run(&rig, RIG_S);
}

/* ---- messages that arrive -------------------------------------------------------------------- */

/* Abort, events and the end of a controller cross from core to core. */
static void messages(void)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	struct peer a, io;
	uint16_t id;

	for (unsigned int core = 0; core < 2; core++) {
		id = admin_on(&a, core);
		io_on(&io, 1 - core, 1, id);
		nvme_cmd_init_abort(&cmd, 1, 1234);
		cpl = peer_do(&a, &cmd, NULL, 0);
		is_u64(nvme_cpl_dw0(&cpl), 1, "Abort travels to core %u and back", 1 - core);
		cpl = peer_wait(&io, submit_write(&io, 51, 3));
		is_status(&cpl, SUCCESS, "a write on core %u", 1 - core);
		nvme_cmd_init_abort(&cmd, 1, 1);
		peer_submit(&a, &cmd, NULL, 0);
		peer_close(core ? &a : &io);
		rig_run(&rig, 10 * RIG_MS);
		ok(core == 0 || peer_ends(&io, RIG_S), "and the end of the controller does");
		peer_close(core ? &io : &a);
		rig_run(&rig, RIG_S);
	}
}

int main(void)
{
	start();
	end_not_heard();
	messages();
	target_drain(rig.target, true);
	rig_run(&rig, RIG_S);
	ok(target_drained(rig.target), "drained on both cores");
	rig.target = target_free(rig.target);
	second = io_loop_free(second);
	rig_end(&rig);
	return tap_done();
}
