/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands and completions as text: what a reader of a log sees, that it fits, and that no bytes
 * upset it.
 */
#include <stdlib.h>

#include "base/rng.h"
#include "nvme/cmd.h"
#include "nvme/dump.h"
#include "nvme/log.h"
#include "nvme/reg.h"
#include "tests/tap.h"

static void is_dump(struct nvme_cmd cmd, bool is_admin, const char *want)
{
	char buf[NVME_DUMP_SIZE];

	is_str(nvme_cmd_dump(&cmd, is_admin, buf, sizeof(buf)), want, "%s", want);
}

static void test_io(void)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 2048, 8, NVME_RW_FUA | NVME_RW_LR);
	cmd.cid = cpu_to_le16(7);
	cmd.sgl = nvme_sgl_transport(4096);
	is_dump(cmd, false, "Read opc=0x02 cid=7 nsid=1 slba=2048 nlb=8 fua lr sgl=transport:4096");
	cmd.flags |= NVME_FUSE_FIRST;
	cmd.opc = NVME_NVM_COMPARE;
	cmd.sgl = nvme_sgl_in_capsule(16, 512);
	is_dump(cmd, false,
		"Compare opc=0x05 cid=7 nsid=1 fuse=1 slba=2048 nlb=8 fua lr sgl=capsule+16:512");
	cmd.sgl.id = 0x40;
	is_dump(cmd, false,
		"Compare opc=0x05 cid=7 nsid=1 fuse=1 slba=2048 nlb=8 fua lr sgl=0x40:512");
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE_ZEROES, 1, 0, 1, NVME_RW_DEAC);
	is_dump(cmd, false, "Write Zeroes opc=0x08 cid=0 nsid=1 slba=0 nlb=1 deac");
	nvme_cmd_init_dsm(&cmd, 1, 2, NVME_DSM_DEALLOCATE);
	is_dump(cmd, false, "Dataset Management opc=0x09 cid=0 nsid=1 nr=2 attr=0x4");
	nvme_cmd_init_flush(&cmd, NVME_NSID_ALL);
	is_dump(cmd, false, "Flush opc=0x00 cid=0 nsid=4294967295");
	nvme_cmd_init_resv(&cmd, NVME_NVM_RESV_ACQUIRE, 3, 1, true, 2, 0);
	is_dump(cmd, false, "Reservation Acquire opc=0x11 cid=0 nsid=3 action=1 iekey rtype=2");
	nvme_cmd_init(&cmd, 0x99, 1);
	is_dump(cmd, false, "vendor specific I/O command opc=0x99 cid=0 nsid=1");
}

static void test_admin(void)
{
	struct nvme_get_log log = {
		.lid = NVME_LID_DISCOVERY, .rae = true, .bytes = 1024, .offset = 4
	};
	struct nvme_cmd cmd;

	nvme_cmd_init_identify(&cmd, NVME_CNS_CTRL, 0, 0, 0);
	cmd.sgl = nvme_sgl_transport(4096);
	is_dump(cmd, true,
		"Identify opc=0x06 cid=0 nsid=0 cns=0x01 (Identify Controller) sgl=transport:4096");
	nvme_cmd_init_get_log(&cmd, 0, &log);
	is_dump(cmd, true,
		"Get Log Page opc=0x02 cid=0 nsid=0 lid=0x70 (Discovery) bytes=1024 offset=4 rae");
	nvme_cmd_init_set_features(&cmd, 0x07, true, 0, 0x30003);
	is_dump(cmd, true,
		"Set Features opc=0x09 cid=0 nsid=0 fid=0x07 (Number of Queues) dw11=0x30003 save");
	nvme_cmd_init_get_features(&cmd, 0x06, 0, 0, 0);
	is_dump(cmd, true,
		"Get Features opc=0x0a cid=0 nsid=0 fid=0x06 (Volatile Write Cache) sel=0");
	nvme_cmd_init_abort(&cmd, 1, 99);
	is_dump(cmd, true, "Abort opc=0x08 cid=0 nsid=0 sqid=1 abort_cid=99");
	nvme_cmd_init_keep_alive(&cmd);
	is_dump(cmd, true, "Keep Alive opc=0x18 cid=0 nsid=0");
}

static void test_fabrics(void)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_connect(&cmd, 1, 128, NVME_CATTR_DISABLE_SQFLOW, 0);
	cmd.sgl = nvme_sgl_in_capsule(0, 1024);
	is_dump(cmd, false,
		"Connect fctype=0x01 cid=0 recfmt=0 qid=1 sqsize=127 cattr=0x04 kato=0 "
		"sgl=capsule+0:1024");
	nvme_cmd_init_property_set(&cmd, NVME_REG_CC, 4, 0x460001);
	is_dump(cmd, true, "Property Set fctype=0x00 cid=0 ofst=0x14 (CC) size=4 value=0x460001");
	nvme_cmd_init_property_get(&cmd, NVME_REG_CAP, 8);
	is_dump(cmd, true, "Property Get fctype=0x04 cid=0 ofst=0x0 (CAP) size=8");
	nvme_cmd_init_disconnect(&cmd);
	is_dump(cmd, false, "Disconnect fctype=0x08 cid=0");
	nvme_cmd_init_auth(&cmd, NVME_FABRICS_AUTH_SEND, 64);
	is_dump(cmd, true, "Authentication Send fctype=0x05 cid=0 secp=0xe9 len=64");
}

static void test_cpl(void)
{
	struct nvme_cpl cpl = nvme_cpl(7, 3, nvme_status_dnr(NVME_SC_LBA_OUT_OF_RANGE), 0);
	char buf[NVME_DUMP_SIZE];

	is_str(nvme_cpl_dump(&cpl, false, buf, sizeof(buf)),
	       "cid=7 sqhd=3 status=0x080 (LBA Out of Range) dnr dw0=0x0", "a failed read");
	cpl = nvme_cpl(0, 0, nvme_status(NVME_SC_CONNECT_INVALID_PARAM), 0x10100);
	is_str(nvme_cpl_dump(&cpl, true, buf, sizeof(buf)),
	       "cid=0 sqhd=0 status=0x182 (Connect Invalid Parameters) dw0=0x10100",
	       "a failed Connect");
	cpl = nvme_cpl(1, 1, nvme_status_success(), 0);
	nvme_cpl_set_u64(&cpl, 0x100000002);
	is_str(nvme_cpl_dump(&cpl, true, buf, sizeof(buf)),
	       "cid=1 sqhd=1 status=0x000 (Successful Completion) dw0=0x2 dw1=0x1",
	       "a Property Get");
}

/*
 * Random entries in heap buffers of every size: terminated, printable, inside the buffer, and
 * NVME_DUMP_SIZE suffices.
 */
static void test_random(void)
{
	unsigned int bad = 0, cut = 0;
	struct rng rng;

	rng_init(&rng, 4420);
	for (int round = 0; round < 20000; round++) {
		size_t size = 1 + rng_below(&rng, NVME_DUMP_SIZE);
		char *small = malloc(size), full[2 * NVME_DUMP_SIZE];
		struct nvme_cmd cmd;

		if (!small)
			abort();
		rng_fill(&rng, &cmd, sizeof(cmd));
		if (round & 1)
			cmd.opc = (uint8_t)rng_below(&rng, 32);
		if (round % 5 == 0)
			cmd.opc = NVME_OPC_FABRICS;
		nvme_cmd_dump(&cmd, round & 2, full, sizeof(full));
		nvme_cmd_dump(&cmd, round & 2, small, size);
		bad += strncmp(small, full, size - 1) != 0 || strlen(small) >= size;
		cut += strlen(full) >= NVME_DUMP_SIZE;
		for (const char *p = full; *p; p++)
			bad += *p < 0x20 || *p > 0x7e;
		free(small);
	}
	is_u64(bad, 0, "20000 random commands in buffers of random size");
	is_u64(cut, 0, "every one fits into NVME_DUMP_SIZE");
}

/* The longest lines there can be. */
static void test_longest(void)
{
	char buf[2 * NVME_DUMP_SIZE];
	size_t longest = 0;
	struct nvme_cmd cmd;

	for (unsigned int i = 0; i < 256 * 256 * 2; i++) {
		bool is_admin = i >> 16;

		memset(&cmd, 0xff, sizeof(cmd));
		cmd.opc = (uint8_t)(i >> 8);
		if (cmd.opc == NVME_OPC_FABRICS)
			cmd.nsid.b[0] = (uint8_t)i;
		else
			cmd.cdw10.b[0] = (uint8_t)i;
		cmd.sgl.id = NVME_SGL_ID_IN_CAPSULE;
		nvme_cmd_dump(&cmd, is_admin, buf, sizeof(buf));
		if (strlen(buf) > longest)
			longest = strlen(buf);
	}
	ok(longest < NVME_DUMP_SIZE, "the longest line has %zu bytes", longest);
}

int main(void)
{
	test_io();
	test_admin();
	test_fabrics();
	test_cpl();
	test_random();
	test_longest();
	return tap_done();
}
