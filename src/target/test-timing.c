/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where commands were, told to hosts that ask: in virtual time, so each figure is known to the
 * nanosecond; and that nobody who does not ask sees any of it.
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "nvme/feature.h"
#include "nvme/vendor.h"
#include "target/test-rig.h"
#include "tests/tap.h"

static struct rig rig;
static struct peer admin, io;
static uint16_t cntlid;
static uint8_t buf[1 << 20];

static struct nvme_cpl feature(bool set, uint32_t dw11)
{
	struct nvme_cmd cmd;

	if (set)
		nvme_cmd_init_set_features(&cmd, NVME_FID_VENDOR_TIMES, false, 0, dw11);
	else
		nvme_cmd_init_get_features(&cmd, NVME_FID_VENDOR_TIMES, NVME_FEATURE_CURRENT, 0, dw11);
	return peer_do(&admin, &cmd, NULL, 0);
}

static void rw(struct nvme_cmd *cmd, uint8_t opc, uint32_t blocks, bool timed)
{
	nvme_cmd_init_rw(cmd, opc, 1, 0, blocks, 0);
	cmd->sgl = nvme_sgl_transport(blocks * 512);
	if (timed)
		nvme_cmd_set_timed(cmd);
}

/* A Read that the store holds for @ns; whether it ended with SUCCESS in its data, else its completion. */
static bool read_held(uint64_t ns, bool timed, struct nvme_cpl *ret)
{
	union tcp_pdu pdu;
	struct nvme_cmd cmd;
	uint32_t len;

	rw(&cmd, NVME_NVM_READ, 8, timed);
	rig.stores[0].hold = ns > 0;
	peer_submit(&io, &cmd, NULL, 0);
	if (ns > 0) {
		rig_run(&rig, ns);
		rig.stores[0].hold = false;
		rig_store_release(&rig.stores[0]);
	}
	if (!peer_next(&io, &pdu, buf, sizeof(buf), &len) || pdu.ch.type != TCP_PDU_C2H_DATA)
		return false;
	if (pdu.ch.flags & TCP_PDU_SUCCESS)
		return true;
	if (peer_next(&io, &pdu, NULL, 0, &len) && pdu.ch.type == TCP_PDU_RSP)
		*ret = pdu.rsp.cqe;
	return false;
}

static void unasked(void)
{
	struct nvme_cpl cpl;

	ok(read_held(0, false, &cpl), "a Read ends with SUCCESS");
	ok(read_held(0, true, &cpl), "so does one that asks on a queue where it is off");
	feature(true, 1 | NVME_TIMES_ENABLE);
	ok(read_held(0, false, &cpl), "and one that does not ask where it is on");
}

static void the_feature(void)
{
	struct nvme_id_ctrl id;
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	nvme_cmd_init_identify(&cmd, NVME_CNS_CTRL, 0, 0, 0);
	cpl = peer_do(&admin, &cmd, &id, sizeof(id));
	is_u64(nvme_vendor_caps(&id), NVME_VENDOR_CAP_TIMES, "Identify says that it is there");
	cpl = feature(true, 0);
	is_status(&cpl, INVALID_FIELD, "the admin queue has none");
	cpl = feature(true, rig.target->limits.io_queues + 1);
	is_status(&cpl, INVALID_FIELD, "nor has a queue that cannot be");
	cpl = feature(false, 0);
	is_status(&cpl, INVALID_FIELD, "nor can it be asked for one");
	cpl = feature(true, 2 | NVME_TIMES_ENABLE);
	is_status(&cpl, SUCCESS, "on for a queue that is not connected yet");
	cpl = feature(false, 2);
	is_u64(nvme_cpl_dw0(&cpl), 2 | NVME_TIMES_ENABLE, "it is on");
	cpl = feature(false, 1);
	is_u64(nvme_cpl_dw0(&cpl), 1, "for no other");
	cpl = feature(false, NVME_TIMES_ALL_QUEUES);
	is_u64(nvme_cpl_dw0(&cpl), NVME_TIMES_ALL_QUEUES, "hence not for all");
	feature(true, NVME_TIMES_ALL_QUEUES | NVME_TIMES_ENABLE);
	cpl = feature(false, rig.target->limits.io_queues);
	is_u64(nvme_cpl_dw0(&cpl), rig.target->limits.io_queues | NVME_TIMES_ENABLE, "all at once, to the last");
	cpl = feature(false, NVME_TIMES_ALL_QUEUES);
	is_u64(nvme_cpl_dw0(&cpl), NVME_TIMES_ALL_QUEUES | NVME_TIMES_ENABLE, "hence for all");
	feature(true, NVME_TIMES_ALL_QUEUES);
	cpl = feature(false, 2);
	is_u64(nvme_cpl_dw0(&cpl), 2, "and off again");
}

static bool near_to(uint64_t got, uint64_t ns)
{
	/* Messages and turns take simulated time of their own. */
	return got <= ns && ns - got <= ns / 1000 + 50000;
}

static struct nvme_times times_of(const struct nvme_cpl *cpl)
{
	struct nvme_times t = { UINT64_MAX, UINT64_MAX, UINT64_MAX };

	nvme_times_decode(nvme_cpl_u64(cpl), &t);
	return t;
}

static void media(void)
{
	struct nvme_cpl cpl = { .cdw0 = cpu_to_le32(0) };
	struct nvme_times t;

	ok(!read_held(0, true, &cpl), "a Read that asks ends with a completion");
	t = times_of(&cpl);
	ok(t.media == 0 && t.queue == 0 && t.qos == 0, "virtual time stands still in a memory store");
	read_held(5 * RIG_MS, true, &cpl);
	t = times_of(&cpl);
	ok(near_to(t.media, 5 * RIG_MS), "5 ms in the store are the media's (%llu ns)", (unsigned long long)t.media);
	is_u64(t.queue + t.qos, 0, "and nothing else's");
}

static void write_waits_for_host(void)
{
	struct tcp_tx_pdu data = { .sent = NULL };
	struct iovec iov = { buf, 8 * 512 };
	struct nvme_times t;
	union tcp_pdu pdu;
	struct nvme_cmd cmd;
	uint32_t len;
	uint16_t cid;

	rw(&cmd, NVME_NVM_WRITE, 8, true);
	cid = peer_submit(&io, &cmd, NULL, 0);
	ok(peer_next(&io, &pdu, NULL, 0, &len) && pdu.ch.type == TCP_PDU_R2T, "a Write is asked for its data");
	rig_run(&rig, 7 * RIG_MS);
	rig.stores[0].hold = true;
	tcp_build_h2c_data(&io.tx, &data, cid, le16_to_cpu(pdu.r2t.ttag), 0, &iov, 1, 8 * 512, true);
	peer_pdu(&io, &data);
	rig_run(&rig, 3 * RIG_MS);
	rig.stores[0].hold = false;
	rig_store_release(&rig.stores[0]);
	ok(peer_next(&io, &pdu, NULL, 0, &len) && pdu.ch.type == TCP_PDU_RSP, "and ends");
	t = times_of(&pdu.rsp.cqe);
	ok(near_to(t.media, 3 * RIG_MS) && t.queue == 0, "the 7 ms that its data took are not the target's");
}

static void arena(void)
{
	struct nvme_times t;
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	uint16_t cid;

	rw(&cmd, NVME_NVM_READ, 64, true);
	rig_take_arena(&rig);
	cid = peer_submit(&io, &cmd, NULL, 0);
	rig_run(&rig, 9 * RIG_MS);
	rig_give_arena(&rig);
	cpl = peer_finish(&io, cid, buf, 64 * 512);
	t = times_of(&cpl);
	ok(near_to(t.queue, 9 * RIG_MS) && t.media == 0, "9 ms without memory are the target's queue (%llu ns)",
	   (unsigned long long)t.queue);
}

static void failures(void)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	rw(&cmd, NVME_NVM_READ, 8, true);
	rig.stores[0].fail = -EIO;
	cpl = peer_do(&io, &cmd, buf, 8 * 512);
	rig.stores[0].fail = 0;
	ok(peer_status(&cpl) != 0 && nvme_cpl_u64(&cpl) == 0, "a command that fails tells no times");
	nvme_cmd_init_rw(&cmd, NVME_NVM_COMPARE, 1, 0, 8, 0);
	nvme_cmd_set_timed(&cmd);
	cpl = peer_do(&io, &cmd, buf, 8 * 512);
	is_u64(nvme_cpl_u64(&cpl), 0, "nor does one for which the bit means nothing");
}

int main(void)
{
	rig_init(&rig);
	rig_start(&rig);
	cntlid = peer_admin(&admin, &rig, RIG_NQN);
	peer_enable(&admin);
	peer_io(&io, &rig, RIG_NQN, 1, cntlid);
	the_feature();
	unasked();
	media();
	write_waits_for_host();
	arena();
	failures();
	peer_close(&io);
	peer_close(&admin);
	rig_end(&rig);
	return tap_done();
}
