/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of Connect, Disconnect and the properties: every field right, then each wrong; who may
 * connect where; enable, reset, shutdown. C- and T-numbers name the public faults that must not be
 * ours.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "nvme/nqn.h"
#include "target/test-rig.h"
#include "tests/tap.h"

#define SQE(member)  NVME_CONNECT_INVALID_SQE(member)
#define DATA(member) NVME_CONNECT_INVALID_DATA(member)

struct connect {
	struct nvme_cmd cmd;
	struct nvme_connect_data data;
};

static struct nvme_connect_cmd *sqe_of(struct connect *c)
{
	return (struct nvme_connect_cmd *)(void *)&c->cmd;
}

/* A Connect that would succeed; the caller spoils it. */
static void good(struct rig *rig, struct connect *c, uint16_t qid, uint16_t cntlid)
{
	struct peer p = { .hostnqn = RIG_HOST };

	memset(p.hostid, 0x11, sizeof(p.hostid));
	nvme_cmd_init_connect(&c->cmd, qid, 32, 0, 0);
	peer_connect_data(&p, RIG_NQN, cntlid, &c->data);
}

static struct nvme_cpl try(struct rig *rig, int listener, struct connect *c)
{
	struct nvme_cpl cpl;
	struct peer p;

	peer_open(&p, rig, listener);
	peer_ic(&p, 0, false, false);
	cpl = peer_connect_with(&p, &c->cmd, &c->data);
	if (peer_status(&cpl) != 0)
		ok(peer_ends(&p, 5 * RIG_S), "... and the connection is closed");
	peer_close(&p);
	rig_run(rig, RIG_MS);
	return cpl;
}

#define refused(rig, c, sc, dw0, ...)                                                              \
	do {                                                                                       \
		struct nvme_cpl cpl_ = try(rig, -1, c);                                            \
		is_status(&cpl_, sc, __VA_ARGS__);                                                 \
		is_u64(nvme_cpl_dw0(&cpl_), dw0, "... which names the field");                     \
	} while (0)

static void fields(struct rig *rig)
{
	static const uint16_t bad_sizes[] = { 0, 128, 1023, 65535 };
	static const uint16_t good_sizes[] = { 1, 31, 127 };
	struct connect c;
	struct nvme_cpl cpl;

	good(rig, &c, 0, NVME_CNTLID_DYNAMIC);
	cpl = try(rig, -1, &c);
	is_status(&cpl, SUCCESS, "a right Connect succeeds");
	ok(nvme_cpl_dw0(&cpl) >= 1 && nvme_cpl_dw0(&cpl) <= NVME_CNTLID_MAX,
	   "with a controller ID, no AUTHREQ");

	sqe_of(&c)->recfmt = cpu_to_le16(1);
	refused(rig, &c, CONNECT_FORMAT, 0, "record format 1");
	good(rig, &c, 0, NVME_CNTLID_DYNAMIC);
	sqe_of(&c)->qid = cpu_to_le16(65);
	refused(rig, &c, CONNECT_INVALID_PARAM, SQE(qid), "queue 65 of 64");
	for (size_t i = 0; i < ARRAY_SIZE(bad_sizes); i++) {
		good(rig, &c, 0, NVME_CNTLID_DYNAMIC);
		sqe_of(&c)->sqsize = cpu_to_le16(bad_sizes[i]);
		refused(rig, &c, CONNECT_INVALID_PARAM, 44, "C001: SQSIZE %u", bad_sizes[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(good_sizes); i++) {
		good(rig, &c, 0, NVME_CNTLID_DYNAMIC);
		sqe_of(&c)->sqsize = cpu_to_le16(good_sizes[i]);
		cpl = try(rig, -1, &c);
		is_status(&cpl, SUCCESS, "C001: SQSIZE %u", good_sizes[i]);
	}
	good(rig, &c, 0, 0);
	refused(rig, &c, CONNECT_INVALID_PARAM, DATA(cntlid), "C005: controller ID 0 asked for");
	good(rig, &c, 0, NVME_CNTLID_STATIC_ANY);
	refused(rig, &c, CONNECT_INVALID_PARAM, DATA(cntlid), "C005: the static model asked for");
	good(rig, &c, 1, NVME_CNTLID_DYNAMIC);
	refused(rig, &c, CONNECT_INVALID_PARAM, DATA(cntlid), "an I/O queue of no controller");
}

static void names(struct rig *rig)
{
	struct connect c;

	/* Lines about peers are rationed: these are to be seen. */
	rig_run(rig, 20 * RIG_S);
	rig->log_len = 0;
	rig->log_text[0] = '\0';
	good(rig, &c, 0, NVME_CNTLID_DYNAMIC);
	memset(c.data.subnqn, 0x41, sizeof(c.data.subnqn));
	refused(rig, &c, CONNECT_INVALID_PARAM, 1 << 16 | 256, "T005: SUBNQN without an end");
	good(rig, &c, 0, NVME_CNTLID_DYNAMIC);
	memset(c.data.hostnqn, 0x41, sizeof(c.data.hostnqn));
	memset(c.data.rsvd768, 0x42, sizeof(c.data.rsvd768));
	refused(rig, &c, CONNECT_INVALID_PARAM, 1 << 16 | 512, "T005: HOSTNQN without an end");
	ok(rig_logged(rig, "event=connect_refused") && !rig_logged(rig, "AAAAAAAA") && !rig_logged(rig, "BBBB"),
	   "T005: the log says that they were refused, and shows nothing of them");
	good(rig, &c, 0, NVME_CNTLID_DYNAMIC);
	c.data.hostnqn[5] = '\n';
	refused(rig, &c, CONNECT_INVALID_PARAM, DATA(hostnqn), "HOSTNQN with a line feed");
	good(rig, &c, 0, NVME_CNTLID_DYNAMIC);
	c.data.hostnqn[0] = 0;
	refused(rig, &c, CONNECT_INVALID_PARAM, DATA(hostnqn), "no HOSTNQN");
	good(rig, &c, 0, NVME_CNTLID_DYNAMIC);
	c.data.subnqn[4] = '9';
	refused(rig, &c, CONNECT_INVALID_PARAM, DATA(subnqn), "a subsystem that is not there");
	good(rig, &c, 0, NVME_CNTLID_DYNAMIC);
	memcpy(c.data.subnqn, RIG_OTHER, sizeof(RIG_OTHER));
	refused(rig, &c, CONNECT_INVALID_HOST, 0, "C006: a subsystem that does not admit the host");
	memcpy(c.data.hostnqn, RIG_HOST2, sizeof(RIG_HOST2));
	{
		struct nvme_cpl cpl = try(rig, -1, &c);

		is_status(&cpl, SUCCESS, "C006: the host it admits");
		cpl = try(rig, 1, &c);
		is_status(&cpl, SUCCESS, "C007: at a listener that exports all");
		cpl = try(rig, 0, &c);
		is_status(&cpl, CONNECT_INVALID_PARAM,
			  "C007: at a listener that does not export it");
	}
}

static void first_commands(struct rig *rig)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	struct peer p;
	uint8_t buf[4096];

	peer_open(&p, rig, -1);
	peer_ic(&p, 0, false, false);
	nvme_cmd_init_identify(&cmd, NVME_CNS_CTRL, 0, 0, 0);
	cpl = peer_do(&p, &cmd, buf, sizeof(buf));
	is_status(&cpl, SEQUENCE_ERROR, "C003: Identify before Connect");
	nvme_cmd_init_property_get(&cmd, NVME_REG_CAP, 8);
	cpl = peer_do(&p, &cmd, NULL, 0);
	is_status(&cpl, SEQUENCE_ERROR, "C003: Property Get before Connect");
	nvme_cmd_init_connect(&cmd, 0, 32, 0, 0);
	cmd.sgl = nvme_sgl_in_capsule(0, 512);
	cpl = peer_wait(&p, peer_submit(&p, &cmd, buf, 512));
	is_status(&cpl, SGL_INVALID_LENGTH, "Connect with half of its data");
	cmd.flags = 0;
	cmd.sgl = nvme_sgl_in_capsule(0, 1024);
	cpl = peer_wait(&p, peer_submit(&p, &cmd, buf, 1024));
	is_status(&cpl, INVALID_FIELD, "Connect with PRPs");
	cpl = peer_connect(&p, RIG_NQN, 0, NVME_CNTLID_DYNAMIC, 32, 0);
	is_status(&cpl, SUCCESS, "and then Connect succeeds on the same connection");
	is_u64(nvme_cpl_sqhd(&cpl), 0xffff, "SQHD FFFFh: flow control is off, as wished");
	cpl = peer_connect(&p, RIG_NQN, 0, NVME_CNTLID_DYNAMIC, 32, 0);
	is_status(&cpl, SEQUENCE_ERROR, "a second Connect");
	nvme_cmd_init_identify(&cmd, NVME_CNS_CTRL, 0, 0, 0);
	cpl = peer_do(&p, &cmd, buf, sizeof(buf));
	is_status(&cpl, SEQUENCE_ERROR, "Identify before CC.EN");
	peer_close(&p);

	peer_open(&p, rig, -1);
	peer_ic(&p, 0, false, false);
	{
		struct nvme_connect_data data;

		peer_connect_data(&p, RIG_NQN, NVME_CNTLID_DYNAMIC, &data);
		nvme_cmd_init_connect(&cmd, 0, 32, 0, 0);
		cpl = peer_do(&p, &cmd, &data, sizeof(data));
		is_status(&cpl, SUCCESS, "Connect whose data is asked for by R2T");
		is_u64(nvme_cpl_sqhd(&cpl), 1, "SQHD 1: flow control is on");
	}
	peer_close(&p);
	rig_run(rig, RIG_MS);
}

static void properties(struct rig *rig)
{
	struct nvme_cap cap;
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	struct peer p;

	peer_open(&p, rig, -1);
	peer_ic(&p, 0, false, false);
	peer_connect(&p, RIG_NQN, 0, NVME_CNTLID_DYNAMIC, 32, 0);
	cap = nvme_cap_decode(peer_get(&p, NVME_REG_CAP, 8));
	is_u64(cap.max_entries, 128, "CAP.MQES");
	ok(cap.cqr && cap.mpsmin == 0 && cap.mpsmax == 0 && !cap.nssrs,
	   "CAP: contiguous, 4 KiB, no NSSR");
	is_u64(cap.css, NVME_CAP_CSS_NVM | NVME_CAP_CSS_IO_COMMAND_SETS, "CAP.CSS");
	is_u64(peer_get(&p, NVME_REG_VS, 4), NVME_VS_2_0, "VS");
	is_u64(peer_get(&p, NVME_REG_CC, 4), 0, "CC");
	is_u64(peer_get(&p, NVME_REG_CSTS, 4), 0, "CSTS");
	ok(peer_get(&p, NVME_REG_CRTO, 4) >= cap.to, "CRTO, as CAP.CRMS promises");

	nvme_cmd_init_property_get(&cmd, NVME_REG_CAP, 4);
	cpl = peer_do(&p, &cmd, NULL, 0);
	is_status(&cpl, INVALID_FIELD, "half of CAP");
	nvme_cmd_init_property_get(&cmd, NVME_REG_VS, 8);
	cpl = peer_do(&p, &cmd, NULL, 0);
	is_status(&cpl, INVALID_FIELD, "VS as 8 bytes");
	nvme_cmd_init_property_get(&cmd, 0x1000, 4);
	cpl = peer_do(&p, &cmd, NULL, 0);
	is_status(&cpl, INVALID_FIELD, "a property that is not there");
	nvme_cmd_init_property_get(&cmd, NVME_REG_NSSR, 4);
	cpl = peer_do(&p, &cmd, NULL, 0);
	is_status(&cpl, INVALID_FIELD, "NSSR, which CAP says is not there");
	cpl = peer_set(&p, NVME_REG_VS, 1);
	is_status(&cpl, INVALID_FIELD, "setting VS");
	nvme_cmd_init_property_set(&cmd, NVME_REG_CC, 8, 1);
	cpl = peer_do(&p, &cmd, NULL, 0);
	is_status(&cpl, INVALID_FIELD, "setting CC as 8 bytes");

	peer_set(&p, NVME_REG_CC,
		 nvme_cc_encode((struct nvme_cc){ .en = true, .iosqes = 7, .iocqes = 4 }));
	is_u64(peer_get(&p, NVME_REG_CSTS, 4), NVME_CSTS_CFS, "entries of 128 bytes: fatal status");
	peer_set(&p, NVME_REG_CC, 0);
	is_u64(peer_get(&p, NVME_REG_CSTS, 4), 0, "a reset clears it");
	peer_set(
		&p, NVME_REG_CC,
		nvme_cc_encode((struct nvme_cc){ .en = true, .mps = 1, .iosqes = 6, .iocqes = 4 }));
	is_u64(peer_get(&p, NVME_REG_CSTS, 4), NVME_CSTS_CFS, "pages of 8 KiB: fatal status");
	peer_set(&p, NVME_REG_CC, 0);
	peer_set(
		&p, NVME_REG_CC,
		nvme_cc_encode((struct nvme_cc){ .en = true, .css = 6, .iosqes = 6, .iocqes = 4 }));
	is_u64(peer_get(&p, NVME_REG_CSTS, 4), NVME_CSTS_RDY, "all command sets: ready");
	peer_close(&p);
	rig_run(rig, RIG_MS);
}

/* A reset lasts as long as the store holds something of before. */
static void reset_waits(struct rig *rig)
{
	struct nvme_cmd cmd;
	struct peer a, io;
	uint8_t buf[512] = { 0 };
	uint16_t cntlid = peer_admin(&a, rig, RIG_NQN);

	peer_io(&io, rig, RIG_NQN, 1, cntlid);
	rig->stores[0].hold = true;
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 0, 1, 0);
	cmd.sgl = nvme_sgl_in_capsule(0, 512);
	peer_submit(&io, &cmd, buf, 512);
	rig_run(rig, RIG_MS);
	peer_set(&a, NVME_REG_CC, 0);
	is_u64(peer_get(&a, NVME_REG_CSTS, 4), NVME_CSTS_RDY,
	       "reset: RDY stays while a write is in the store");
	ok(peer_ends(&io, RIG_S), "reset: I/O queues end");
	rig_store_release(&rig->stores[0]);
	rig_run(rig, RIG_MS);
	is_u64(peer_get(&a, NVME_REG_CSTS, 4), 0, "reset: RDY falls when it has ended");
	peer_enable(&a);
	ok(true, "and the controller can be enabled again");
	peer_close(&io);
	peer_close(&a);
	rig_run(rig, RIG_MS);
}

static void shutdown_flushes(struct rig *rig)
{
	struct peer a;
	uint32_t cc =
		nvme_cc_encode((struct nvme_cc){ .en = true, .iosqes = 6, .iocqes = 4, .shn = 1 });
	unsigned int before;

	peer_admin(&a, rig, RIG_NQN);
	before = rig->stores[1].count[STORE_FLUSH];
	rig->stores[1].hold = true;
	peer_set(&a, NVME_REG_CC, cc);
	is_u64(peer_get(&a, NVME_REG_CSTS, 4) & NVME_CSTS_SHST_MASK, NVME_CSTS_SHST_OCCURRING,
	       "shutdown: in progress while the store flushes");
	rig_store_release(&rig->stores[1]);
	rig_run(rig, RIG_MS);
	is_u64(peer_get(&a, NVME_REG_CSTS, 4) & NVME_CSTS_SHST_MASK, NVME_CSTS_SHST_COMPLETE,
	       "shutdown: complete when it has");
	is_u64(rig->stores[1].count[STORE_FLUSH] - before, 1, "DU1: the flush reached the store");
	peer_close(&a);

	peer_admin(&a, rig, RIG_NQN);
	rig->stores[1].hold = true;
	peer_set(&a, NVME_REG_CC, cc);
	peer_close(&a);
	rig_run(rig, RIG_MS);
	rig_store_release(&rig->stores[1]);
	rig_run(rig, RIG_MS);
	ok(true, "shutdown: the host may leave before it is complete");
}

/* The host lost patience, reset the controller, used it and shuts it down again: that is another shutdown. */
static void shutdown_again(struct rig *rig)
{
	const uint32_t enabled = nvme_cc_encode((struct nvme_cc){ .en = true, .iosqes = 6, .iocqes = 4 });
	const uint32_t cc = enabled | nvme_cc_encode((struct nvme_cc){ .shn = 1 });
	unsigned int before;
	struct peer a;

	peer_admin(&a, rig, RIG_NQN);
	before = rig->stores[1].count[STORE_FLUSH];
	rig->stores[1].hold = true;
	peer_set(&a, NVME_REG_CC, cc);
	peer_set(&a, NVME_REG_CC, 0);
	is_u64(peer_get(&a, NVME_REG_CSTS, 4), 0, "shutdown: a reset in the middle of it");
	peer_enable(&a);
	peer_set(&a, NVME_REG_CC, cc);
	is_u64(peer_get(&a, NVME_REG_CSTS, 4) & NVME_CSTS_SHST_MASK, NVME_CSTS_SHST_OCCURRING,
	       "shutdown: and another one while the store still flushes for the first");
	rig_store_release_one(&rig->stores[1]);
	rig_run(rig, RIG_MS);
	is_u64(peer_get(&a, NVME_REG_CSTS, 4) & NVME_CSTS_SHST_MASK, NVME_CSTS_SHST_OCCURRING,
	       "shutdown: what the first has flushed is not all of the second");
	rig_store_release(&rig->stores[1]);
	rig_run(rig, RIG_MS);
	is_u64(peer_get(&a, NVME_REG_CSTS, 4) & NVME_CSTS_SHST_MASK, NVME_CSTS_SHST_COMPLETE,
	       "shutdown: complete when that was flushed, too");
	is_u64(rig->stores[1].count[STORE_FLUSH] - before, 2, "shutdown: two flushes");
	peer_close(&a);
	rig_run(rig, RIG_MS);
}

static void io_queues(struct rig *rig)
{
	struct nvme_cpl cpl;
	struct nvme_cmd cmd;
	struct peer a, io, other;
	uint16_t cntlid;

	peer_open(&a, rig, -1);
	peer_ic(&a, 0, false, false);
	cpl = peer_connect(&a, RIG_NQN, 0, NVME_CNTLID_DYNAMIC, 32, 0);
	cntlid = (uint16_t)nvme_cpl_dw0(&cpl);
	peer_open(&io, rig, -1);
	peer_ic(&io, 0, false, false);
	cpl = peer_connect(&io, RIG_NQN, 1, cntlid, 128, 0);
	is_status(&cpl, SEQUENCE_ERROR, "an I/O queue before CC.EN");
	peer_close(&io);
	peer_enable(&a);

	peer_open(&io, rig, -1);
	peer_ic(&io, 0, false, false);
	io.hostnqn = RIG_HOST2;
	cpl = peer_connect(&io, RIG_NQN, 1, cntlid, 128, 0);
	is_status(&cpl, CONNECT_INVALID_PARAM, "C003: an I/O queue of another host's controller");
	peer_close(&io);
	peer_open(&io, rig, -1);
	peer_ic(&io, 0, false, false);
	io.hostid[0]++;
	cpl = peer_connect(&io, RIG_NQN, 1, cntlid, 128, 0);
	is_status(&cpl, CONNECT_INVALID_PARAM, "C003: ... with the right NQN and another host ID");
	peer_close(&io);

	peer_io(&io, rig, RIG_NQN, 1, cntlid);
	peer_open(&other, rig, -1);
	peer_ic(&other, 0, false, false);
	other.patience = RIG_S;
	cpl = peer_connect(&other, RIG_NQN, 1, cntlid, 128, 0);
	is_status(&cpl, SEQUENCE_ERROR, "a queue ID that is in use");
	peer_close(&other);

	nvme_cmd_init_property_get(&cmd, NVME_REG_CAP, 8);
	cpl = peer_do(&io, &cmd, NULL, 0);
	is_status(&cpl, INVALID_QUEUE_TYPE, "a property on an I/O queue");
	nvme_cmd_init_disconnect(&cmd);
	cpl = peer_do(&a, &cmd, NULL, 0);
	is_status(&cpl, INVALID_QUEUE_TYPE, "Disconnect on the admin queue");
	nvme_cmd_init_disconnect(&cmd);
	cpl = peer_do(&io, &cmd, NULL, 0);
	is_status(&cpl, SUCCESS, "Disconnect on an I/O queue");
	ok(peer_ends(&io, 5 * RIG_S), "... ends it");
	is_u64(rig_closed(rig, TARGET_CLOSE_DISCONNECTED), 1, "... by that name");
	peer_close(&io);
	peer_io(&io, rig, RIG_NQN, 1, cntlid);
	ok(true, "and its queue ID is free again");

	peer_close(&a);
	ok(peer_ends(&io, RIG_S), "C003: I/O queues end with their admin queue");
	peer_close(&io);
	peer_open(&io, rig, -1);
	peer_ic(&io, 0, false, false);
	cpl = peer_connect(&io, RIG_NQN, 1, cntlid, 128, 0);
	is_status(&cpl, CONNECT_INVALID_PARAM, "C003: an I/O queue of a controller that has ended");
	peer_close(&io);
	rig_run(rig, RIG_MS);
}

/* The old connection is not known to have ended when the new one comes. */
static void qid_again(struct rig *rig)
{
	struct nvme_connect_data data;
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	struct peer a, io, again;
	uint16_t cntlid = peer_admin(&a, rig, RIG_NQN);

	peer_io(&io, rig, RIG_NQN, 1, cntlid);
	peer_open(&again, rig, -1);
	peer_ic(&again, 0, false, false);
	nvme_cmd_init_connect(&cmd, 1, 128, 0, 0);
	cmd.sgl = nvme_sgl_in_capsule(0, sizeof(data));
	peer_connect_data(&again, RIG_NQN, cntlid, &data);
	peer_submit(&again, &cmd, &data, sizeof(data));
	rig_run(rig, 50 * RIG_MS);
	peer_close(&io);
	cpl = peer_wait(&again, again.cid);
	is_status(&cpl, SUCCESS, "C002: Connect waits a little for its queue ID to become free");
	nvme_cmd_init_flush(&cmd, 1);
	cpl = peer_do(&again, &cmd, NULL, 0);
	is_status(&cpl, SUCCESS, "C002: and the queue works");
	peer_close(&again);
	peer_close(&a);
	rig_run(rig, RIG_MS);
}

static void limits(void)
{
	struct rig rig;
	struct nvme_cpl cpl;
	struct peer p[4];

	rig_init(&rig);
	rig.config.limits.controllers = 2;
	rig.config.limits.connections = 3;
	rig_start(&rig);
	for (int i = 0; i < 3; i++) {
		peer_open(&p[i], &rig, -1);
		peer_ic(&p[i], 0, false, false);
	}
	peer_open(&p[3], &rig, -1);
	ok(peer_ends(&p[3], RIG_S), "one connection too many is closed at once");
	is_u64(rig_closed(&rig, TARGET_CLOSE_TOO_MANY), 1, "... by that name");
	cpl = peer_connect(&p[0], RIG_NQN, 0, NVME_CNTLID_DYNAMIC, 32, 0);
	is_status(&cpl, SUCCESS, "the first controller");
	cpl = peer_connect(&p[1], RIG_NQN, 0, NVME_CNTLID_DYNAMIC, 32, 0);
	is_status(&cpl, SUCCESS, "the second");
	cpl = peer_connect(&p[2], RIG_NQN, 0, NVME_CNTLID_DYNAMIC, 32, 0);
	is_status(&cpl, CONNECT_BUSY, "C005: the third of two: busy");
	ok(!peer_dnr(&cpl), "... which may be tried again");
	for (int i = 0; i < 4; i++)
		peer_close(&p[i]);
	rig_end(&rig);
}

/* T008: each allocation of a Connect fails once. */
static void no_memory(struct rig *rig)
{
	struct target_stats st;
	unsigned int failed = 0;

	for (uint64_t n = 1; n < 40; n++) {
		uint64_t before = mem_fail_count();
		struct nvme_connect_data data;
		struct nvme_cmd cmd;
		struct nvme_cpl cpl;
		struct peer p;

		peer_open(&p, rig, -1);
		peer_ic(&p, 0, false, false);
		nvme_cmd_init_connect(&cmd, 0, 32, 0, 5000);
		cmd.sgl = nvme_sgl_in_capsule(0, sizeof(data));
		peer_connect_data(&p, RIG_NQN, NVME_CNTLID_DYNAMIC, &data);
		peer_submit(&p, &cmd, &data, sizeof(data));
		mem_fail_after(n);
		rig_run(rig, 5 * RIG_MS);
		mem_fail_after(0);
		cpl = peer_wait(&p, p.cid);
		failed += mem_fail_count() != before;
		if (mem_fail_count() != before)
			ok(peer_status(&cpl) != 0xffff || peer_ends(&p, RIG_S),
			   "T008: when allocation %llu fails, Connect is answered or closed",
			   (unsigned long long)n);
		peer_close(&p);
	}
	ok(failed >= 4, "T008: %u allocations were failed", failed);
	rig_run(rig, RIG_S);
	target_stats(rig->target, &st);
	is_u64(st.open, 0, "T008: nothing is left of any of them");
	is_u64(st.controllers, 0, "T008: no controller either");
}

int main(void)
{
	static const char *const other[] = { RIG_NQN };
	struct rig rig;

	rig_init(&rig);
	rig.listeners[0].nqns = other;
	rig.listeners[0].nqn_count = 1;
	rig_start(&rig);
	fields(&rig);
	names(&rig);
	first_commands(&rig);
	properties(&rig);
	reset_waits(&rig);
	shutdown_flushes(&rig);
	shutdown_again(&rig);
	io_queues(&rig);
	qid_again(&rig);
	no_memory(&rig);
	rig_end(&rig);
	limits();
	return tap_done();
}
