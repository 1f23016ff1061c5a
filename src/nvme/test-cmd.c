/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands: what the builders write is compared with entries put together by hand from the figures,
 * byte by byte, in the form in which Linux sends them over NVMe/TCP; what the readers return is
 * compared with what was put in.
 */
#include "nvme/cmd.h"
#include "nvme/cpl.h"
#include "nvme/reg.h"
#include "tests/tap.h"

/* 16 bytes a line, as a capture shows them. */
static void test_golden_fabrics(void)
{
	static const uint8_t connect_admin[64] = {
		0x7f, 0x40, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0,    0, 0,    0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0,    0, 0,    0,
		0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0, 0, 0, 0, 0x1f, 0, 0x04, 0,
		0x88, 0x13, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0,    0, 0,    0,
	};
	static const uint8_t connect_io[64] = {
		0x7f, 0x40, 0x02, 0x10, 0x01, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0,    0, 0, 0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0,    0, 0, 0,
		0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0, 0, 3, 0, 0x7f, 0, 0, 0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0,    0, 0, 0,
	};
	/* CC = 00460001h: I/O entries of 64 and 16 bytes, enabled. */
	static const uint8_t enable[64] = {
		0x7f, 0x40, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0,    0, 0, 0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0,    0, 0, 0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0x14, 0, 0, 0,
		0x01, 0x00, 0x46, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0,    0, 0, 0,
	};
	static const uint8_t get_cap[64] = {
		0x7f, 0x40, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 1, 0, 0, 0, 0, 0, 0, 0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0,
	};
	static const uint8_t disconnect[64] = { 0x7f, 0x40, 0, 0, 0x08 };
	struct nvme_cmd cmd;
	struct nvme_cc cc = { .en = true, .iosqes = 6, .iocqes = 4 };

	nvme_cmd_init_connect(&cmd, 0, 32, NVME_CATTR_DISABLE_SQFLOW, 5000);
	cmd.sgl = nvme_sgl_in_capsule(0, NVME_CONNECT_DATA_SIZE);
	is_mem(&cmd, connect_admin, 64, "Connect for the admin queue, as Linux sends it");

	nvme_cmd_init_connect(&cmd, 3, 128, 0, 0);
	cmd.cid = cpu_to_le16(0x1002);
	cmd.sgl = nvme_sgl_in_capsule(0, NVME_CONNECT_DATA_SIZE);
	is_mem(&cmd, connect_io, 64, "Connect for I/O queue 3, as Linux sends it");

	nvme_cmd_init_property_set(&cmd, NVME_REG_CC, 4, nvme_cc_encode(cc));
	cmd.cid = cpu_to_le16(1);
	is_mem(&cmd, enable, 64, "Property Set that enables the controller, as Linux sends it");

	nvme_cmd_init_property_get(&cmd, NVME_REG_CAP, 8);
	is_mem(&cmd, get_cap, 64, "Property Get of CAP, 8 bytes, as Linux sends it");

	nvme_cmd_init_disconnect(&cmd);
	is_mem(&cmd, disconnect, 64, "Disconnect");
}

static void test_golden_admin(void)
{
	static const uint8_t identify[64] = {
		0x06, 0x40, 0x05, 0x00, 0x01, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0,
		0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x5a, 5, 0, 0, 0, 0, 0, 0, 2,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0,
	};
	/* 4096 bytes of log 70h from byte 1024 on, event kept. */
	static const uint8_t get_log[64] = {
		0x02, 0x40, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0,    0,    0,    0, 0, 0, 0, 0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0,    0,    0,    0, 0, 0, 0, 0,
		0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x5a, 0x70, 0x80, 0xff, 3, 0, 0, 0, 0,
		0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0,    0,    0,    0, 0, 0, 0, 0,
	};
	/* Four queues of each kind. */
	static const uint8_t queues[64] = {
		0x09, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 7, 0, 0, 0, 3, 0, 3, 0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0,
	};
	static const uint8_t keep_alive[64] = { 0x18, 0x40 };
	static const uint8_t async_event[64] = { 0x0c, 0x40 };
	struct nvme_get_log log = { .lid = 0x70, .rae = true, .bytes = 4096, .offset = 1024 };
	struct nvme_cmd cmd;

	nvme_cmd_init_identify(&cmd, NVME_CNS_CSI_NS, 1, 0, NVME_CSI_ZNS);
	cmd.cid = cpu_to_le16(5);
	cmd.sgl = nvme_sgl_transport(4096);
	is_mem(&cmd, identify, 64, "Identify, CNS 05h");

	nvme_cmd_init_get_log(&cmd, 0, &log);
	cmd.cid = cpu_to_le16(6);
	cmd.sgl = nvme_sgl_transport(4096);
	is_mem(&cmd, get_log, 64, "Get Log Page");

	nvme_cmd_init_set_features(&cmd, 0x07, false, 0, 0x00030003);
	is_mem(&cmd, queues, 64, "Set Features, Number of Queues");

	nvme_cmd_init_keep_alive(&cmd);
	is_mem(&cmd, keep_alive, 64, "Keep Alive");
	nvme_cmd_init_async_event(&cmd);
	is_mem(&cmd, async_event, 64, "Asynchronous Event Request");
}

static void test_golden_io(void)
{
	/* 8 blocks from block 123456789abcdh on, FUA, namespace 1, 4096 bytes in data PDUs. */
	static const uint8_t write[64] = {
		0x01, 0x40, 0x21, 0x43, 0x01, 0x00, 0x00, 0x00, 0,    0,    0,    0,    0,
		0,    0,    0,    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0,    0,
		0,    0,    0,    0,    0,    0,    0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x5a, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 0x00, 0x07, 0x00, 0x00, 0x40,
		0x00, 0x00, 0x00, 0x00, 0,    0,    0,    0,    0,    0,    0,    0,
	};
	/* Two ranges, deallocate, 32 bytes in the capsule. */
	static const uint8_t dsm[64] = {
		0x09, 0x40, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0,
		0x20, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 1, 0, 0, 0, 4, 0, 0, 0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0,
	};
	static const uint8_t range[16] = { 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0 };
	static const uint8_t flush[64] = { 0x00, 0x40, 0, 0, 0xff, 0xff, 0xff, 0xff };
	struct nvme_dsm_range r = nvme_dsm_range(256, 8);
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 0x0123456789abcd, 8, NVME_RW_FUA);
	cmd.cid = cpu_to_le16(0x4321);
	cmd.sgl = nvme_sgl_transport(4096);
	is_mem(&cmd, write, 64, "Write with FUA");

	nvme_cmd_init_dsm(&cmd, 1, 2, NVME_DSM_DEALLOCATE);
	cmd.sgl = nvme_sgl_in_capsule(0, 32);
	is_mem(&cmd, dsm, 64, "Dataset Management");
	is_mem(&r, range, 16, "a range");

	nvme_cmd_init_flush(&cmd, NVME_NSID_ALL);
	is_mem(&cmd, flush, 64, "Flush of all namespaces");
}

static void test_connect(void)
{
	const struct nvme_connect_cmd *c;
	struct nvme_cmd cmd;

	nvme_cmd_init_connect(&cmd, 65535, 65536, NVME_CATTR_QUEUE_DELETION, 0xfffffffe);
	c = nvme_cmd_as_connect(&cmd);
	ok(nvme_cmd_is_fabrics(&cmd, NVME_FABRICS_CONNECT), "is Connect");
	ok(!nvme_cmd_is_fabrics(&cmd, NVME_FABRICS_DISCONNECT), "is not Disconnect");
	is_u64(le16_to_cpu(c->recfmt), 0, "RECFMT");
	is_u64(le16_to_cpu(c->qid), 65535, "QID");
	is_u64(le16_to_cpu(c->sqsize), 65535, "SQSIZE counts from zero");
	is_u64(c->cattr, 8, "CATTR");
	is_u64(le32_to_cpu(c->kato), 0xfffffffe, "KATO");
	is_u64(nvme_cmd_direction(&cmd), NVME_DIR_TO_CONTROLLER,
	       "Connect's data goes to the controller");

	is_u64(NVME_CONNECT_INVALID_SQE(qid), 42, "IPO of QID: in the SQE");
	is_u64(NVME_CONNECT_INVALID_SQE(sqsize), 44, "IPO of SQSIZE: in the SQE");
	is_u64(NVME_CONNECT_INVALID_DATA(cntlid), 0x10010, "IPO of CNTLID: in the data");
	is_u64(NVME_CONNECT_INVALID_DATA(subnqn), 0x10100, "IPO of SUBNQN: in the data");
	is_u64(NVME_CONNECT_INVALID_DATA(hostnqn), 0x10200, "IPO of HOSTNQN: in the data");
	is_u64(nvme_connect_dw0_cntlid(0x00060007), 7, "CNTLID out of a Connect response");
}

static void test_property(void)
{
	struct nvme_property_cmd bad = { .attrib = 2 };
	struct nvme_cmd cmd;

	nvme_cmd_init_property_get(&cmd, NVME_REG_VS, 4);
	is_u64(nvme_property_size(nvme_cmd_as_property(&cmd)), 4, "size 4");
	is_u64(nvme_cmd_direction(&cmd), NVME_DIR_NONE, "Property Get moves no data");
	nvme_cmd_init_property_get(&cmd, NVME_REG_CAP, 8);
	is_u64(nvme_property_size(nvme_cmd_as_property(&cmd)), 8, "size 8");
	is_u64(nvme_property_size(&bad), 0, "a reserved size");
	nvme_cmd_init_property_set(&cmd, 0x1234, 8, UINT64_MAX - 1);
	is_u64(le32_to_cpu(nvme_cmd_as_property(&cmd)->ofst), 0x1234, "OFST");
	is_u64(le64_to_cpu(nvme_cmd_as_property(&cmd)->value), UINT64_MAX - 1, "VALUE");
}

static void test_auth(void)
{
	const struct nvme_auth_cmd *a;
	struct nvme_cmd cmd;

	nvme_cmd_init_auth(&cmd, NVME_FABRICS_AUTH_RECEIVE, 4096);
	a = nvme_cmd_as_auth(&cmd);
	is_u64(a->secp, 0xe9, "SECP");
	is_u64(a->spsp0 + a->spsp1, 2, "SPSP0 and SPSP1");
	is_u64(le32_to_cpu(a->len), 4096, "AL");
	is_u64(nvme_cmd_direction(&cmd), NVME_DIR_TO_HOST, "Authentication Receive's direction");
}

static void test_admin_round_trips(void)
{
	struct nvme_get_log log = {
		.lid = 0x0c,
		.lsp = 0x7f,
		.lsi = 0xabcd,
		.rae = true,
		.ot = true,
		.csi = 0x82,
		.bytes = 0x400000000,
		.offset = 0xfffffffffffffffc,
	};
	struct nvme_get_log got;
	struct nvme_cmd cmd;

	nvme_cmd_init_get_log(&cmd, 0xffffffff, &log);
	got = nvme_cmd_get_log(&cmd);
	ok(got.lid == log.lid && got.lsp == log.lsp && got.lsi == log.lsi && got.rae && got.ot &&
		   got.csi == log.csi,
	   "Get Log Page: LID, LSP, LSI, RAE, OT, CSI");
	is_u64(got.bytes, log.bytes, "Get Log Page: NUMD of FFFFFFFFh is 16 GiB");
	is_u64(got.offset, log.offset, "Get Log Page: 64-bit offset");
	memset(&cmd, 0, sizeof(cmd));
	is_u64(nvme_cmd_get_log(&cmd).bytes, 4, "Get Log Page: NUMD 0 is one dword");

	nvme_cmd_init_identify(&cmd, NVME_CNS_NS_CTRL_LIST, 9, 0xfedc, 1);
	is_u64(nvme_identify_cns(&cmd), 0x12, "Identify: CNS");
	is_u64(nvme_identify_cntid(&cmd), 0xfedc, "Identify: CNTID");
	is_u64(nvme_identify_csi(&cmd), 1, "Identify: CSI");
	is_u64(nvme_cmd_nsid(&cmd), 9, "Identify: NSID");
	cmd.cdw11 = cpu_to_le32(0x0200abcd);
	is_u64(nvme_identify_cns_id(&cmd), 0xabcd, "Identify: CNS specific identifier");

	nvme_cmd_init_get_features(&cmd, 0x0b, NVME_FEATURE_CAPABILITIES, 0, 0x30000);
	is_u64(nvme_feature_fid(&cmd), 0x0b, "Get Features: FID");
	is_u64(nvme_feature_sel(&cmd), 3, "Get Features: SEL");
	is_u64(nvme_feature_dw11(&cmd), 0x30000, "Get Features: dword 11");
	ok(!nvme_feature_save(&cmd), "Get Features: SV clear");
	nvme_cmd_init_set_features(&cmd, 0x81, true, 7, 1);
	ok(nvme_feature_save(&cmd), "Set Features: SV");
	is_u64(nvme_feature_sel(&cmd), 0, "Set Features: SV is not SEL");

	nvme_cmd_init_abort(&cmd, 0x0102, 0xf0f1);
	is_u64(nvme_abort_sqid(&cmd), 0x0102, "Abort: SQID");
	is_u64(nvme_abort_cid(&cmd), 0xf0f1, "Abort: CID");
}

static void test_io_round_trips(void)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 0xfffffffe, UINT64_MAX, 65536,
			 NVME_RW_LR | NVME_RW_PRACT | NVME_RW_PRCHK_REF);
	is_u64(nvme_cmd_slba(&cmd), UINT64_MAX, "Read: SLBA");
	is_u64(nvme_cmd_nlb(&cmd), 65536, "Read: NLB of FFFFh is 65536 blocks");
	is_u64(le32_to_cpu(cmd.cdw12) & 0xffff, 0xffff, "Read: NLB on the wire counts from zero");
	ok(nvme_cmd_lr(&cmd) && !nvme_cmd_fua(&cmd) && !nvme_cmd_deac(&cmd), "Read: flags");
	is_u64(nvme_cmd_prinfo(&cmd), 9, "Read: PRINFO");
	is_u64(nvme_cmd_direction(&cmd), NVME_DIR_TO_HOST, "Read's direction");

	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE_ZEROES, 1, 0, 1, NVME_RW_DEAC);
	is_u64(nvme_cmd_nlb(&cmd), 1, "Write Zeroes: NLB of 0 is one block");
	ok(nvme_cmd_deac(&cmd), "Write Zeroes: DEAC");
	is_u64(nvme_cmd_direction(&cmd), NVME_DIR_NONE, "Write Zeroes moves no data");

	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 0, 1, 1u << 20);
	cmd.cdw13 = cpu_to_le32(0xbeef0000);
	is_u64(nvme_cmd_dtype(&cmd), 1, "Write: DTYPE");
	is_u64(nvme_cmd_dspec(&cmd), 0xbeef, "Write: DSPEC");

	nvme_cmd_init_dsm(&cmd, 1, 256, 7);
	is_u64(nvme_dsm_nr(&cmd), 256, "Dataset Management: NR of FFh is 256 ranges");
	is_u64(nvme_dsm_attr(&cmd), 7, "Dataset Management: attributes");

	nvme_cmd_init_resv(&cmd, NVME_NVM_RESV_REGISTER, 1, NVME_RREGA_REPLACE, true, 0,
			   NVME_CPTPL_SET);
	is_u64(nvme_resv_action(&cmd), 2, "Reservation Register: RREGA");
	ok(nvme_resv_ignore_key(&cmd), "Reservation Register: IEKEY");
	is_u64(nvme_resv_cptpl(&cmd), 3, "Reservation Register: CPTPL");
	nvme_cmd_init_resv(&cmd, NVME_NVM_RESV_ACQUIRE, 1, NVME_RACQA_PREEMPT, false, 5, 0);
	is_u64(nvme_resv_rtype(&cmd), 5, "Reservation Acquire: RTYPE");
	ok(!nvme_resv_ignore_key(&cmd), "Reservation Acquire: IEKEY clear");
	nvme_cmd_init_resv_report(&cmd, 1, 4096, true);
	is_u64(nvme_resv_report_bytes(&cmd), 4096, "Reservation Report: NUMD");
	ok(nvme_resv_report_extended(&cmd), "Reservation Report: EDS");
}

static void test_common(void)
{
	struct nvme_cmd cmd;
	struct nvme_sgl_desc sgl = nvme_sgl_in_capsule(512, 0x12345678);

	nvme_cmd_init(&cmd, 0x05, 1);
	cmd.flags |= NVME_FUSE_SECOND;
	is_u64(nvme_cmd_psdt(&cmd), NVME_PSDT_SGL, "PSDT");
	is_u64(nvme_cmd_fuse(&cmd), NVME_FUSE_SECOND, "FUSE");
	cmd.cid = cpu_to_le16(0xffff);
	is_u64(nvme_cmd_cid(&cmd), 0xffff, "CID");

	is_u64(nvme_sgl_type(&sgl), NVME_SGL_DATA_BLOCK, "SGL type");
	is_u64(nvme_sgl_subtype(&sgl), NVME_SGL_OFFSET, "SGL subtype");
	is_u64(nvme_sgl_len(&sgl), 0x12345678, "SGL length");
	is_u64(le64_to_cpu(sgl.addr), 512, "SGL offset");
	is_u64(nvme_opcode_direction(0x83, 0), NVME_DIR_BOTH,
	       "opcode bits 11b are both directions");
	is_u64(nvme_opcode_direction(0x7f, NVME_FABRICS_AUTH_SEND), NVME_DIR_TO_CONTROLLER,
	       "a Fabrics command's direction is in FCTYPE");
}

static void test_cpl(void)
{
	/* Property Get's answer with a value of 8 bytes; LBA Out of Range with DNR. */
	static const uint8_t value[16] = { 0xff, 0x03, 0x01, 0x28, 0x20, 0, 0,
					   0x18, 2,    0,    0,    0,    7, 0 };
	static const uint8_t failed[16] = { 0,    0,    0, 0, 0,    0,    0,    0,
					    0x34, 0x12, 0, 0, 0xcd, 0xab, 0x00, 0x81 };
	struct nvme_cpl cpl = nvme_cpl(7, 2, nvme_status_success(), 0);

	nvme_cpl_set_u64(&cpl, 0x18000020280103ff);
	is_mem(&cpl, value, 16, "a completion with a value of 8 bytes");
	is_u64(nvme_cpl_u64(&cpl), 0x18000020280103ff, "and back");
	ok(nvme_status_ok(nvme_cpl_status(&cpl)), "its status is success");

	cpl = nvme_cpl(0xabcd, 0x1234, nvme_status_dnr(NVME_SC_LBA_OUT_OF_RANGE), 0);
	is_mem(&cpl, failed, 16, "a completion with an error");
	is_u64(nvme_cpl_cid(&cpl), 0xabcd, "CID");
	is_u64(nvme_cpl_sqhd(&cpl), 0x1234, "SQHD");
	ok(nvme_status_is(nvme_cpl_status(&cpl), NVME_SC_LBA_OUT_OF_RANGE), "its status");
	is_u64(nvme_cpl_dw0(&cpl), 0, "its dword 0");
}

int main(void)
{
	test_golden_fabrics();
	test_golden_admin();
	test_golden_io();
	test_connect();
	test_property();
	test_auth();
	test_admin_round_trips();
	test_io_round_trips();
	test_common();
	test_cpl();
	return tap_done();
}
