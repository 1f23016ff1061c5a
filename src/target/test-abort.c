/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abort in every state that a command can be in (E008): no connection is lost, no other command is
 * hit, the answer is true.
 */
#include <string.h>

#include "target/assoc.h"
#include "target/conn.h"
#include "target/ctrl.h"
#include "target/test-rig.h"
#include "tests/tap.h"

static struct rig rig;
static struct peer admin, io;
static uint16_t cntlid;
static uint8_t buf[1 << 20];

static uint16_t submit_abort(uint16_t sqid, uint16_t cid)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_abort(&cmd, sqid, cid);
	return peer_submit(&admin, &cmd, NULL, 0);
}

/* Dword 0 of the completion: 0, aborted; 1, not; FFFFFFFFh: it failed. */
static uint32_t do_abort(uint16_t sqid, uint16_t cid)
{
	struct nvme_cpl cpl = peer_wait(&admin, submit_abort(sqid, cid));

	return peer_status(&cpl) == 0 ? nvme_cpl_dw0(&cpl) : 0xffffffff;
}

static uint16_t submit_rw(uint8_t opc, uint32_t nlb)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, opc, 1, 0, nlb, 0);
	cmd.sgl = nvme_sgl_transport(nlb * 512);
	return peer_submit(&io, &cmd, NULL, 0);
}

static bool works(void)
{
	struct nvme_cpl cpl = peer_finish(&io, submit_rw(NVME_NVM_WRITE, 8), buf, 4096);

	return peer_status(&cpl) == 0;
}

static void nothing_there(void)
{
	is_u64(do_abort(1, 999), 1, "E008: a command that is not there is not aborted");
	is_u64(do_abort(5, 1), 1, "nor one of a queue that is not there");
	is_u64(do_abort(0xffff, 1), 1, "nor one of a queue there cannot be");
	is_u64(do_abort(0, 12345), 1, "nor one that is not there on the admin queue");
}

static void in_store(void)
{
	struct nvme_cpl cpl;
	uint16_t cid, other;

	rig.stores[0].hold = true;
	cid = submit_rw(NVME_NVM_READ, 8);
	other = submit_rw(NVME_NVM_READ, 8);
	rig_run(&rig, RIG_MS);
	is_u64(do_abort(1, cid), 1, "E008: a command in the store is not aborted");
	rig_store_release(&rig.stores[0]);
	cpl = peer_finish(&io, cid, buf, sizeof(buf));
	is_status(&cpl, SUCCESS, "... it runs to its end");
	cpl = peer_finish(&io, other, buf, sizeof(buf));
	is_status(&cpl, SUCCESS, "... and so does the other");
}

static void data_outstanding(void)
{
	union tcp_pdu pdu;
	struct iovec iov = { buf, 4096 };
	struct tcp_tx_pdu h = { 0 };
	struct nvme_cpl cpl;
	unsigned int writes = rig.stores[0].count[STORE_WRITE];
	uint16_t cid = submit_rw(NVME_NVM_WRITE, 16);

	ok(peer_next(&io, &pdu, NULL, 0, NULL) && pdu.ch.type == TCP_PDU_R2T,
	   "a write waits for its data");
	is_u64(do_abort(1, cid), 1, "aborted then: not at once");
	tcp_build_h2c_data(&io.tx, &h, cid, le16_to_cpu(pdu.r2t.ttag), 0, &iov, 1, 4096, false);
	peer_pdu(&io, &h);
	rig_run(&rig, RIG_MS);
	is_u64(do_abort(1, cid), 1, "again, in the middle of its data");
	h = (struct tcp_tx_pdu){ 0 };
	tcp_build_h2c_data(&io.tx, &h, cid, le16_to_cpu(pdu.r2t.ttag), 4096, &iov, 1, 4096, true);
	peer_pdu(&io, &h);
	cpl = peer_wait(&io, cid);
	is_status(&cpl, ABORT_REQUESTED, "E008: when its data has come it ends as aborted");
	is_u64(rig.stores[0].count[STORE_WRITE], writes, "E008: ... and never reached the store");
	ok(works(), "T032: the connection lives, and the next command is not aborted");
}

static void in_capsule(void)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	struct tcp_tx_pdu pdu = { 0 };
	struct iovec iov = { buf, 4096 };
	struct iovec all[4];
	int n;

	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 0, 8, 0);
	cmd.cid = cpu_to_le16(++io.cid);
	cmd.sgl = nvme_sgl_in_capsule(0, 4096);
	tcp_build_cmd(&io.tx, &pdu, &cmd, &iov, 1, 4096);
	pdu.sent = NULL;
	tcp_tx_push(&io.tx, &pdu);
	n = tcp_tx_gather(&io.tx, all, 4);
	is_u64(n, 2, "a capsule in two halves");
	peer_bytes(&io, all[0].iov_base, all[0].iov_len);
	peer_bytes(&io, all[1].iov_base, 1000);
	rig_run(&rig, RIG_MS);
	is_u64(do_abort(1, io.cid), 1, "aborted while its capsule arrives: not at once");
	peer_bytes(&io, (uint8_t *)all[1].iov_base + 1000, 3096);
	tcp_tx_sent(&io.tx, all[0].iov_len + all[1].iov_len);
	cpl = peer_wait(&io, io.cid);
	is_status(&cpl, ABORT_REQUESTED, "E008: ... but when it has arrived");
	ok(works(), "T032: the connection lives, and the next command is not aborted");
}

/* Memory is out: commands wait for it, and can be aborted at once. */
static void no_memory(void)
{
	struct nvme_cpl cpl;
	uint16_t cid, next;

	rig_take_arena(&rig);
	cid = submit_rw(NVME_NVM_READ, 8);
	next = submit_rw(NVME_NVM_READ, 8);
	rig_run(&rig, RIG_MS);
	is_u64(do_abort(1, cid), 0, "E008: a command that waits for memory is aborted");
	cpl = peer_finish(&io, cid, buf, sizeof(buf));
	is_status(&cpl, ABORT_REQUESTED, "... and says so");
	rig_give_arena(&rig);
	cpl = peer_finish(&io, next, buf, sizeof(buf));
	is_status(&cpl, SUCCESS, "the next one gets the memory");
}

/* The same for data in a capsule, which has to go somewhere before the next PDU can be read. */
static void capsule_without_memory(void)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	uint16_t first, cid;

	rig_take_arena(&rig);
	rig.stores[0].hold = true;
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 0, 16, 0);
	cmd.sgl = nvme_sgl_in_capsule(0, 8192);
	first = peer_submit(&io, &cmd, buf, 8192);
	cid = peer_submit(&io, &cmd, buf, 8192);
	rig_run(&rig, RIG_MS);
	is_u64(do_abort(1, cid), 1, "a capsule that waits for memory is not aborted at once");
	rig_store_release(&rig.stores[0]);
	cpl = peer_finish(&io, first, buf, 0);
	is_status(&cpl, SUCCESS, "the one that has the memory is done");
	cpl = peer_finish(&io, cid, buf, 0);
	is_status(&cpl, ABORT_REQUESTED, "the other ends as aborted once it is read");
	rig_give_arena(&rig);
	ok(works(), "T032: the connection lives, and the next command is not aborted");
}

static void completed(void)
{
	struct nvme_cpl cpl;
	uint16_t cid = submit_rw(NVME_NVM_READ, 8);

	cpl = peer_finish(&io, cid, buf, sizeof(buf));
	is_status(&cpl, SUCCESS, "a command that is done");
	is_u64(do_abort(1, cid), 1, "... is not aborted");
	cid = submit_rw(NVME_NVM_READ, 8);
	is_u64(do_abort(1, cid), 1, "nor one whose answer is on its way");
	cpl = peer_finish(&io, cid, buf, sizeof(buf));
	is_status(&cpl, SUCCESS, "... which arrives");
}

static void events(void)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	uint16_t cid[2];

	for (int i = 0; i < 2; i++) {
		nvme_cmd_init(&cmd, NVME_ADMIN_ASYNC_EVENT_REQUEST, 0);
		cid[i] = peer_submit(&admin, &cmd, NULL, 0);
	}
	rig_run(&rig, RIG_MS);
	is_u64(do_abort(1, cid[0]), 1, "E008: the same CID on another queue is another command");
	nvme_cmd_init_abort(&cmd, 0, cid[0]);
	peer_submit(&admin, &cmd, NULL, 0);
	cpl = peer_wait(&admin, cid[0]);
	is_status(&cpl, ABORT_REQUESTED, "an Asynchronous Event Request is aborted");
	is_u64(do_abort(0, cid[0]), 1, "... once");
	is_u64(do_abort(0, admin.cid), 1, "E008: an Abort of itself");
	nvme_cmd_init_abort(&cmd, 0, cid[1]);
	peer_submit(&admin, &cmd, NULL, 0);
	cpl = peer_wait(&admin, cid[1]);
	is_status(&cpl, ABORT_REQUESTED, "and so is the other");
}

static void at_the_fence(void)
{
	struct tgt_ctrl *c;
	struct nvme_cpl cpl;
	uint16_t cid;

	target_lock(rig.target);
	c = tgt_ctrl_find(rig.target->subsystems[1], cntlid);
	target_unlock(rig.target);
	atomic_fetch_add(&c->fenced, 1);
	cid = submit_rw(NVME_NVM_READ, 8);
	rig_run(&rig, RIG_MS);
	is_u64(do_abort(1, cid), 0, "a command that waits for the fence is aborted");
	cpl = peer_finish(&io, cid, buf, sizeof(buf));
	is_status(&cpl, ABORT_REQUESTED, "... and says so");
	atomic_fetch_sub(&c->fenced, 1);
}

static void limit(void)
{
	struct nvme_cpl cpl;
	bool good = true;

	/*
	 * The first goes out alone; the others arrive together, so none of them is answered in
	 * between.
	 */
	for (int i = 0; i < TGT_ABORT_LIMIT + 2; i++)
		submit_abort(1, 7777);
	cpl = peer_wait(&admin, admin.cid);
	is_status(&cpl, ABORT_LIMIT, "one Abort too many");
	rig_run(&rig, RIG_MS);
	good = do_abort(1, 7777) == 1;
	ok(good, "and then there is room again");
}

/* The admin queue or the I/O queue goes away while an Abort is between them. */
static void races(void)
{
	for (int i = 0; i < 40; i++) {
		struct peer a, q;
		struct nvme_cmd cmd;
		uint16_t id = peer_admin(&a, &rig, RIG_NQN);

		peer_io(&q, &rig, RIG_NQN, 1, id);
		rig.stores[0].hold = true;
		nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 0, 8, 0);
		cmd.sgl = nvme_sgl_transport(4096);
		peer_submit(&q, &cmd, NULL, 0);
		for (int k = 0; k < 4; k++) {
			nvme_cmd_init_abort(&cmd, 1, (uint16_t)(k + 1));
			peer_submit(&a, &cmd, NULL, 0);
		}
		rig_run(&rig, (uint64_t)(i % 10) * RIG_MS / 8);
		peer_close(i % 2 ? &a : &q);
		rig_store_release(&rig.stores[0]);
		rig_run(&rig, (uint64_t)(i % 7) * RIG_MS / 8);
		peer_close(i % 2 ? &q : &a);
	}
	rig_run(&rig, RIG_S);
	ok(works(), "either queue may end with an Abort on its way");
}

int main(void)
{
	rig_init(&rig);
	rig_start(&rig);
	cntlid = peer_admin(&admin, &rig, RIG_NQN);
	peer_io(&io, &rig, RIG_NQN, 1, cntlid);
	nothing_there();
	in_store();
	data_outstanding();
	in_capsule();
	no_memory();
	capsule_without_memory();
	at_the_fence();
	completed();
	events();
	limit();
	races();
	peer_close(&io);
	peer_close(&admin);
	rig_end(&rig);
	return tap_done();
}
