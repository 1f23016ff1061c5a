/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admin commands: Identify field by field, log pages and their offsets, features, events, keep
 * alive.
 */
#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "nvme/aen.h"
#include "nvme/feature.h"
#include "nvme/identify.h"
#include "nvme/log.h"
#include "target/aen.h"
#include "target/ctrl.h"
#include "target/test-rig.h"
#include "tests/tap.h"

static struct rig rig;
static struct peer admin;
static uint16_t cntlid;
static uint8_t buf[16384];

/* ---- Identify -------------------------------------------------------------------------------- */

static struct nvme_cpl identify_len(uint8_t cns, uint32_t nsid, uint16_t cntid, uint8_t csi,
				    uint32_t len)
{
	struct nvme_cmd cmd;

	memset(buf, 0xee, sizeof(buf));
	nvme_cmd_init_identify(&cmd, cns, nsid, cntid, csi);
	return peer_do(&admin, &cmd, buf, len);
}

static struct nvme_cpl identify(uint8_t cns, uint32_t nsid)
{
	return identify_len(cns, nsid, 0, 0, 4096);
}

static bool zero(const uint8_t *p, size_t n)
{
	while (n > 0 && *p == 0)
		p++, n--;
	return n == 0;
}

static void id_ctrl(void)
{
	const struct nvme_id_ctrl *id = (const void *)buf;
	struct nvme_cpl cpl = identify(NVME_CNS_CTRL, 0);

	is_status(&cpl, SUCCESS, "Identify Controller");
	is_mem(id->sn, "SERIAL01            ", 20, "SN");
	is_mem(id->mn, "Penstock                                ", 40, "MN");
	is_mem(id->fr, PENSTOCK_VERSION "   ", 8, "FR");
	is_u64(id->mdts, 8, "MDTS: 1 MiB");
	is_u64(le16_to_cpu(id->cntlid), cntlid, "CNTLID");
	is_u64(le32_to_cpu(id->ver), NVME_VS_2_0, "VER, as property VS");
	is_u64(le32_to_cpu(id->oaes),
	       NVME_AEC_NS_ATTRIBUTE | NVME_AEC_ANA | NVME_AEC_SHUTDOWN, "OAES");
	is_u64(le32_to_cpu(id->ctratt), NVME_CTRATT_HOSTID_128 | NVME_CTRATT_TBKAS, "CTRATT");
	is_u64(id->cntrltype, NVME_CNTRLTYPE_IO, "CNTRLTYPE");
	is_u64(id->cmic, NVME_CMIC_MULTI_PORT | NVME_CMIC_MULTI_CTRL | NVME_CMIC_ANA, "CMIC");
	ok(id->anatt > 0 && id->anacap == (NVME_ANACAP_OPTIMIZED | NVME_ANACAP_GROUP_FIXED) &&
		   le32_to_cpu(id->anagrpmax) == 1 && le32_to_cpu(id->nanagrpid) == 1,
	   "ANA: one group, always optimized");
	ok(le32_to_cpu(id->mnan) > 0 && le32_to_cpu(id->mnan) <= le32_to_cpu(id->nn),
	   "MNAN, without which Linux refuses ANA");
	is_u64(le32_to_cpu(id->nn), 256, "N004: NN");
	is_u64(id->acl, TGT_ABORT_LIMIT - 1, "ACL");
	is_u64(id->aerl, TGT_EVENT_LIMIT - 1, "A002: AERL says what is taken");
	is_u64(id->elpe, TGT_ERROR_LOG - 1, "ELPE");
	is_u64(id->lpa, NVME_LPA_EFFECTS | NVME_LPA_EXTENDED_DATA | NVME_LPA_SUPPORTED_LOGS, "LPA");
	is_u64(le16_to_cpu(id->kas), 1, "KAS: 100 ms");
	is_u64(id->sqes, 0x66, "SQES");
	is_u64(id->cqes, 0x44, "CQES");
	is_u64(le16_to_cpu(id->maxcmd), 128, "MAXCMD");
	is_u64(le16_to_cpu(id->oncs),
	       NVME_ONCS_COMPARE | NVME_ONCS_DATASET_MGMT | NVME_ONCS_WRITE_ZEROES |
		       NVME_ONCS_FEATURE_SAVE | NVME_ONCS_RESERVATIONS | NVME_ONCS_VERIFY,
	       "ONCS");
	is_u64(le16_to_cpu(id->fuses), NVME_FUSES_COMPARE_WRITE, "FUSES");
	is_u64(id->vwc, NVME_VWC_PRESENT | NVME_VWC_FLUSH_ALL_ACCEPTED,
	       "E013: VWC, as one of the stores has it");
	is_u64(le32_to_cpu(id->sgls), 1 << 0 | 1 << 20 | 1 << 21, "SGLS: bytes, offset, transport");
	is_str((const char *)id->subnqn, RIG_NQN, "SUBNQN");
	is_u64(le32_to_cpu(id->ioccsz), (64 + 8192) / 16, "IOCCSZ");
	is_u64(le32_to_cpu(id->iorcsz), 1, "IORCSZ");
	is_u64(le16_to_cpu(id->icdoff), 0, "ICDOFF");
	is_u64(id->fcatt, 0, "FCATT: dynamic controllers");
	is_u64(id->msdbd, 1, "MSDBD");
	is_u64(le16_to_cpu(id->ofcs), 1, "OFCS: Disconnect");
	ok(le16_to_cpu(id->cqt) >= 30000, "CQT: the store's time and the grace");
	is_u64(le16_to_cpu(id->oacs), 0, "OACS: none of the optional admin commands");
}

static void id_ns(void)
{
	const struct nvme_id_ns *id = (const void *)buf;
	struct nvme_cpl cpl = identify(NVME_CNS_NS, 1);

	is_status(&cpl, SUCCESS, "Identify Namespace");
	is_u64(le64_to_cpu(id->nsze), RIG_BLOCKS, "NSZE");
	ok(le64_to_cpu(id->ncap) == RIG_BLOCKS && le64_to_cpu(id->nuse) == RIG_BLOCKS,
	   "NCAP, NUSE");
	is_u64(id->lbaf[0].lbads, 9, "LBADS");
	is_u64(id->nlbaf, 0, "one format");
	is_u64(id->nmic, NVME_NMIC_SHARED, "NMIC");
	is_u64(le32_to_cpu(id->anagrpid), 1, "ANAGRPID");
	is_u64(id->nsattr, 0, "NSATTR");
	is_mem(id->nguid, "\xa1\xa1\xa1\xa1\xa1\xa1\xa1\xa1\xa1\xa1\xa1\xa1\xa1\xa1\xa1\xa1", 16,
	       "NGUID");
	identify(NVME_CNS_NS, 7);
	is_u64(id->nsattr, NVME_NSATTR_WRITE_PROTECTED, "NSATTR of a read-only namespace");
	cpl = identify(NVME_CNS_NS, 2);
	is_status(&cpl, SUCCESS, "a namespace that is not there");
	ok(zero(buf, 4096), "... is all zeroes");
	cpl = identify(NVME_CNS_NS, 0);
	is_status(&cpl, INVALID_NAMESPACE, "namespace 0");
	cpl = identify(NVME_CNS_NS, 257);
	is_status(&cpl, INVALID_NAMESPACE, "namespace NN + 1");
	cpl = identify(NVME_CNS_NS, NVME_NSID_ALL);
	is_status(&cpl, INVALID_NAMESPACE, "all namespaces");
}

static void id_lists(void)
{
	const le32 *list = (const void *)buf;
	static const uint8_t cns[] = { NVME_CNS_ACTIVE_NS_LIST, NVME_CNS_CSI_ACTIVE_NS_LIST,
				       NVME_CNS_ALLOCATED_NS_LIST };
	const struct nvme_ctrl_list *ctrls = (const void *)buf;
	struct nvme_cpl cpl;

	for (size_t i = 0; i < ARRAY_SIZE(cns); i++) {
		identify(cns[i], 0);
		ok(le32_to_cpu(list[0]) == 1 && le32_to_cpu(list[1]) == 3 &&
			   le32_to_cpu(list[2]) == 7 && zero(buf + 12, 4096 - 12),
		   "CNS %02xh: 1, 3, 7", cns[i]);
		identify(cns[i], 3);
		ok(le32_to_cpu(list[0]) == 7 && zero(buf + 4, 4092), "CNS %02xh from 3: 7", cns[i]);
		cpl = identify(cns[i], 0xfffffffe);
		is_status(&cpl, INVALID_NAMESPACE, "CNS %02xh from FFFFFFFEh", cns[i]);
	}
	identify(NVME_CNS_CTRL_LIST, 0);
	ok(le16_to_cpu(ctrls->num) == 1 && le16_to_cpu(ctrls->cntlid[0]) == cntlid,
	   "CNS 13h: this controller");
	identify_len(NVME_CNS_CTRL_LIST, 0, (uint16_t)(cntlid + 1), 0, 4096);
	is_u64(le16_to_cpu(ctrls->num), 0, "CNS 13h: none above");
	identify(NVME_CNS_NS_CTRL_LIST, 1);
	is_u64(le16_to_cpu(ctrls->num), 1, "CNS 12h: it has namespace 1");
	identify(NVME_CNS_NS_CTRL_LIST, 2);
	is_u64(le16_to_cpu(ctrls->num), 0, "CNS 12h: nobody has namespace 2");
}

static void id_others(void)
{
	const struct nvme_id_ns_independent *ind = (const void *)buf;
	static const uint8_t want[] = { 3, 16, 0, 0, 0xa1 };
	struct nvme_cpl cpl = identify(NVME_CNS_NS_DESC_LIST, 1);

	is_status(&cpl, SUCCESS, "descriptors");
	is_mem(buf, want, sizeof(want), "UUID first");
	ok(buf[20] == 2 && buf[21] == 16 && buf[40] == 4 && buf[41] == 1 && buf[44] == 0 &&
		   zero(buf + 45, 4096 - 45),
	   "then NGUID and CSI, then nothing");
	cpl = identify(NVME_CNS_NS_DESC_LIST, 2);
	is_status(&cpl, INVALID_NAMESPACE, "descriptors of no namespace");
	cpl = identify(NVME_CNS_INDEPENDENT_NS, 1);
	ok(peer_status(&cpl) == 0 && ind->nstat == NVME_NSTAT_READY && ind->nmic == 1, "CNS 08h");
	cpl = identify(NVME_CNS_CSI_NS, 1);
	is_status(&cpl, SUCCESS, "CNS 05h");
	cpl = identify(NVME_CNS_CSI_CTRL, 0);
	ok(peer_status(&cpl) == 0 && zero(buf, 4096), "CNS 06h: no limits beyond MDTS");
	cpl = identify_len(NVME_CNS_CSI_CTRL, 0, 0, NVME_CSI_ZNS, 4096);
	is_status(&cpl, INVALID_FIELD, "CNS 06h of another command set");
	cpl = identify(NVME_CNS_IO_COMMAND_SETS, 0);
	ok(peer_status(&cpl) == 0 && buf[0] == 1 && zero(buf + 1, 4095),
	   "CNS 1Ch: the NVM command set");
	for (unsigned int cns = 0; cns < 256; cns++) {
		static const uint8_t have[] = {
			0, 1, 2, 3, 5, 6, 7, 8, 0x10, 0x11, 0x12, 0x13, 0x1c
		};

		if (memchr(have, (int)cns, sizeof(have)))
			continue;
		cpl = identify((uint8_t)cns, 1);
		if (peer_status(&cpl) != NVME_SC_INVALID_FIELD)
			ok(false, "CNS %02xh", cns);
	}
	ok(true, "every other CNS is Invalid Field in Command");
	cpl = identify_len(NVME_CNS_CTRL, 0, 0, 0, 8192);
	ok(peer_status(&cpl) == 0 && zero(buf + 4096, 4096) && buf[8192] == 0xee,
	   "E005: a buffer of 8 KiB: 4096 bytes, then zeroes");
	cpl = identify_len(NVME_CNS_CTRL, 0, 0, 0, 16);
	is_status(&cpl, SGL_INVALID_LENGTH, "E005: a buffer of 16 bytes");
	cpl = identify_len(NVME_CNS_CTRL, 0, 0, 0, 0);
	ok(peer_status(&cpl) != 0, "E005, E007: no buffer");
}

/* ---- Get Log Page ---------------------------------------------------------------------------- */

static struct nvme_cpl get_log(uint8_t lid, uint64_t offset, uint32_t bytes, uint32_t nsid)
{
	struct nvme_get_log g = { .lid = lid, .offset = offset, .bytes = bytes };
	struct nvme_cmd cmd;

	memset(buf, 0xee, sizeof(buf));
	nvme_cmd_init_get_log(&cmd, nsid, &g);
	return peer_do(&admin, &cmd, buf, bytes);
}

static void logs(void)
{
	static const uint8_t have[] = { 0, 1, 2, 3, 4, 5, 0x0c, 0x12, 0x13, 0x80 };
	const le32 *effects = (const void *)buf;
	const struct nvme_log_smart *smart = (const void *)buf;
	const struct nvme_log_firmware *fw = (const void *)buf;
	const struct nvme_log_error *error = (const void *)buf;
	struct nvme_cpl cpl;

	cpl = get_log(NVME_LID_SUPPORTED_LOGS, 0, 1024, 0);
	is_status(&cpl, SUCCESS, "Supported Log Pages");
	for (unsigned int lid = 0; lid < 256; lid++) {
		bool says = le32_to_cpu(((const le32 *)(const void *)buf)[lid]) & 1;

		if (says != (memchr(have, (int)lid, sizeof(have)) != NULL))
			ok(false, "log %02xh", lid);
	}
	for (unsigned int lid = 0; lid < 256; lid++) {
		cpl = get_log((uint8_t)lid, 0, 64, 0);
		is_u64(peer_status(&cpl) == 0, memchr(have, (int)lid, sizeof(have)) != NULL,
		       "log %02xh is there as that says", lid);
	}
	cpl = get_log(0x0a, 0, 64, 0);
	is_status(&cpl, LOG_PAGE_INVALID, "a log that is not there");
	get_log(NVME_LID_EFFECTS, 0, 4096, 0);
	ok(le32_to_cpu(effects[NVME_ADMIN_IDENTIFY]) == 1 &&
		   le32_to_cpu(effects[NVME_ADMIN_FORMAT_NVM]) == 0,
	   "effects of admin commands");
	ok(le32_to_cpu(effects[256 + NVME_NVM_WRITE]) == 3 &&
		   le32_to_cpu(effects[256 + NVME_NVM_READ]) == 1 &&
		   le32_to_cpu(effects[256 + NVME_NVM_COPY]) == 0,
	   "effects of I/O commands");
	get_log(NVME_LID_SMART, 0, 512, NVME_NSID_ALL);
	ok(smart->critical_warning == 0 && smart->spare == 100, "SMART raises no alarm");
	cpl = get_log(NVME_LID_SMART, 0, 512, 1);
	is_status(&cpl, INVALID_FIELD, "SMART of one namespace");
	get_log(NVME_LID_FIRMWARE_SLOT, 0, 512, 0);
	ok(fw->afi == 1 && memcmp(fw->frs[0], PENSTOCK_VERSION "   ", 8) == 0, "firmware slot 1");
	get_log(NVME_LID_ERROR, 0, TGT_ERROR_LOG * 64, 0);
	ok(le64_to_cpu(error[0].count) == le64_to_cpu(error[1].count) + 1 &&
		   (le16_to_cpu(error[0].status) >> 1 & 0x7ff) == NVME_SC_INVALID_FIELD,
	   "error log: the newest first, and it was the one just now");
	get_log(NVME_LID_FEATURE_EFFECTS, 0, 1024, 0);
	ok(le32_to_cpu(effects[NVME_FID_KEEP_ALIVE]) & 1 &&
		   le32_to_cpu(effects[NVME_FID_TIMESTAMP]) == 0,
	   "effects of features");
}

static void ana(void)
{
	const struct nvme_log_ana *head = (const void *)buf;
	const struct nvme_ana_desc *desc = (const void *)(buf + 16);
	struct nvme_get_log g = { .lid = NVME_LID_ANA,
				  .bytes = 4096,
				  .lsp = NVME_ANA_LSP_GROUPS_ONLY };
	struct nvme_cmd cmd;

	get_log(NVME_LID_ANA, 0, 4096, 0);
	ok(le16_to_cpu(head->ngrps) == 1 && le32_to_cpu(desc->grpid) == 1 &&
		   le32_to_cpu(desc->nnsids) == 3 && desc->state == NVME_ANA_OPTIMIZED,
	   "ANA: one group of three, optimized");
	ok(buf[48] == 1 && buf[52] == 3 && buf[56] == 7, "ANA: their NSIDs");
	nvme_cmd_init_get_log(&cmd, 0, &g);
	peer_do(&admin, &cmd, buf, 4096);
	ok(le32_to_cpu(desc->nnsids) == 0 && zero(buf + 48, 100), "ANA: groups only");
}

/* T009: a log is read in pieces; no piece is anything but that piece. */
static void offsets(uint8_t lid, uint32_t whole)
{
	static const uint64_t far[] = { 0x100000, UINT64_C(0xfffffffffffffffc), UINT64_C(1) << 32 };
	uint8_t all[4096 * 3];
	struct nvme_cpl cpl;
	bool right = true;

	get_log(lid, 0, whole, 0);
	memcpy(all, buf, whole);
	for (uint32_t at = 0; at < whole; at += 4) {
		uint32_t n = MIN(whole - at, 256u);

		get_log(lid, at, n, 0);
		right = right && memcmp(buf, all + at, n) == 0;
	}
	ok(right, "T009: log %02xh in pieces from every offset", lid);
	cpl = get_log(lid, whole - 4, 256, 0);
	ok(peer_status(&cpl) == 0 && memcmp(buf, all + whole - 4, 4) == 0 && zero(buf + 4, 252),
	   "T009: the last four bytes, then zeroes");
	cpl = get_log(lid, whole, 256, 0);
	ok(peer_status(&cpl) == 0 && zero(buf, 256), "T009: right behind the end: zeroes");
	cpl = get_log(lid, whole + 4, 256, 0);
	is_status(&cpl, INVALID_FIELD, "T009: past the end");
	for (size_t i = 0; i < ARRAY_SIZE(far); i++) {
		cpl = get_log(lid, far[i], 256, 0);
		is_status(&cpl, INVALID_FIELD, "T009: offset %llx", (unsigned long long)far[i]);
	}
	cpl = get_log(lid, 3, 256, 0);
	is_status(&cpl, INVALID_FIELD, "T009: an offset that is no dword");
}

static void log_lengths(void)
{
	struct nvme_get_log g = { .lid = NVME_LID_SMART, .bytes = UINT64_C(16) << 30 };
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	nvme_cmd_init_get_log(&cmd, NVME_NSID_ALL, &g);
	cpl = peer_do(&admin, &cmd, buf, 4096);
	is_status(&cpl, INVALID_FIELD, "a log of 16 GiB");
	g.bytes = 512;
	nvme_cmd_init_get_log(&cmd, NVME_NSID_ALL, &g);
	cpl = peer_do(&admin, &cmd, buf, 256);
	is_status(&cpl, SGL_INVALID_LENGTH, "a buffer shorter than what is asked for");
	g.ot = true;
	nvme_cmd_init_get_log(&cmd, NVME_NSID_ALL, &g);
	cpl = peer_do(&admin, &cmd, buf, 512);
	is_status(&cpl, INVALID_FIELD, "an offset by index");
}

/* ---- features -------------------------------------------------------------------------------- */

static struct nvme_cpl get(uint8_t fid, uint8_t sel, uint32_t dw11)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_get_features(&cmd, fid, sel, 0, dw11);
	return peer_do(&admin, &cmd, buf, 4096);
}

static struct nvme_cpl set(uint8_t fid, uint32_t dw11)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_set_features(&cmd, fid, false, 0, dw11);
	return peer_do(&admin, &cmd, NULL, 0);
}

static void features(void)
{
	static const struct {
		uint8_t fid;
		uint32_t initial, value;
	} plain[] = {
		{ NVME_FID_ARBITRATION, 7, 0x01020303 },
		{ NVME_FID_POWER_MANAGEMENT, 0, 0x20 },
		{ NVME_FID_TEMPERATURE_THRESHOLD, 0xffff, 0x157 },
		{ NVME_FID_ERROR_RECOVERY, 0, 100 },
		{ NVME_FID_VOLATILE_WRITE_CACHE, 1, 0 },
		{ NVME_FID_WRITE_ATOMICITY, 0, 1 },
		{ NVME_FID_ASYNC_EVENT_CONFIG, 0, NVME_AEC_NS_ATTRIBUTE },
		{ NVME_FID_KEEP_ALIVE, 0, 5000 },
	};
	struct nvme_cpl cpl;

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		uint8_t fid = plain[i].fid;

		cpl = get(fid, 0, 0);
		is_u64(nvme_cpl_dw0(&cpl), plain[i].initial,
		       "feature %02xh: as it was in the beginning", fid);
		cpl = set(fid, plain[i].value);
		is_status(&cpl, SUCCESS, "feature %02xh: set", fid);
		cpl = get(fid, 0, 0);
		is_u64(nvme_cpl_dw0(&cpl), plain[i].value, "feature %02xh: current", fid);
		cpl = get(fid, 1, 0);
		is_u64(nvme_cpl_dw0(&cpl), plain[i].initial, "feature %02xh: default", fid);
		cpl = get(fid, 2, 0);
		is_u64(nvme_cpl_dw0(&cpl), plain[i].initial, "feature %02xh: saved is default",
		       fid);
		cpl = get(fid, 3, 0);
		is_u64(nvme_cpl_dw0(&cpl), NVME_FEATURE_CAP_CHANGEABLE,
		       "feature %02xh: capabilities", fid);
		cpl = get(fid, 4, 0);
		is_status(&cpl, INVALID_FIELD, "feature %02xh: SEL 4", fid);
		set(fid, plain[i].initial);
	}
}

static void feature_rules(void)
{
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;

	nvme_cmd_init_set_features(&cmd, NVME_FID_ARBITRATION, true, 0, 0);
	cpl = peer_do(&admin, &cmd, NULL, 0);
	is_status(&cpl, FEATURE_NOT_SAVEABLE, "saving a feature");
	nvme_cmd_init_set_features(&cmd, NVME_FID_ARBITRATION, false, 1, 0);
	cpl = peer_do(&admin, &cmd, NULL, 0);
	is_status(&cpl, FEATURE_NOT_PER_NS, "a feature of one namespace");
	cpl = set(NVME_FID_INTERRUPT_COALESCING, 1);
	is_status(&cpl, FEATURE_NOT_CHANGEABLE, "E010: Interrupt Coalescing");
	cpl = set(NVME_FID_TIMESTAMP, 0);
	is_status(&cpl, INVALID_FIELD, "a feature that is not there");
	cpl = get(NVME_FID_TIMESTAMP, 0, 0);
	is_status(&cpl, INVALID_FIELD, "getting one");
	cpl = set(NVME_FID_POWER_MANAGEMENT, 1);
	is_status(&cpl, INVALID_FIELD, "power state 1");
	cpl = set(NVME_FID_ERROR_RECOVERY, 1 << 16);
	is_status(&cpl, INVALID_FIELD, "errors for deallocated blocks");
	cpl = set(NVME_FID_ASYNC_EVENT_CONFIG, NVME_AEC_FIRMWARE);
	is_status(&cpl, INVALID_FIELD, "an event that is never sent");
	cpl = set(NVME_FID_ASYNC_EVENT_CONFIG, NVME_AEC_SMART | NVME_AEC_ANA);
	is_status(&cpl, SUCCESS, "SMART's warnings, which every host enables");
	set(NVME_FID_ASYNC_EVENT_CONFIG, 0);
	cpl = set(NVME_FID_NUMBER_OF_QUEUES, 0x000f0003);
	is_u64(nvme_cpl_dw0(&cpl), 0x000f0003, "queues: 4 and 16 are granted");
	cpl = set(NVME_FID_NUMBER_OF_QUEUES, 0x03ff03ff);
	is_u64(nvme_cpl_dw0(&cpl), 0x003f003f, "queues: 64 of 1024 are granted");
	cpl = get(NVME_FID_NUMBER_OF_QUEUES, 0, 0);
	is_u64(nvme_cpl_dw0(&cpl), 0x003f003f, "queues: what was granted");
	cpl = set(NVME_FID_NUMBER_OF_QUEUES, 0xffff0000);
	is_status(&cpl, INVALID_FIELD, "queues: 65536");
	cpl = get(NVME_FID_HOST_ID, 0, 1);
	ok(peer_status(&cpl) == 0 && buf[0] == 0x11 && buf[15] == 0x11 && buf[16] == 0,
	   "host identifier");
	cpl = get(NVME_FID_HOST_ID, 0, 0);
	is_status(&cpl, INVALID_FIELD, "host identifier of 64 bits");
	cpl = set(NVME_FID_HOST_ID, 1);
	is_status(&cpl, SEQUENCE_ERROR, "setting the host identifier");
	cpl = set(NVME_FID_IO_COMMAND_SET_PROFILE, 1);
	is_status(&cpl, IOCS_COMBINATION, "a combination of command sets that is not there");
	cpl = set(NVME_FID_KEEP_ALIVE, 1);
	is_u64(nvme_cpl_dw0(&cpl), 100, "K004: KATO 1 ms is rounded up to KAS");
	set(NVME_FID_KEEP_ALIVE, 0);
	cpl = set(NVME_FID_KEEP_ALIVE, 0xffffffff);
	is_status(&cpl, SUCCESS, "KATO of 49 days");
	set(NVME_FID_KEEP_ALIVE, 0);
}

static void queues_in_order(void)
{
	struct nvme_cpl cpl;
	struct peer io;

	peer_io(&io, &rig, RIG_NQN, 1, cntlid);
	cpl = set(NVME_FID_NUMBER_OF_QUEUES, 0x00010001);
	is_status(&cpl, SEQUENCE_ERROR, "Number of Queues when there are queues");
	peer_close(&io);
	rig_run(&rig, RIG_MS);
}

static void opcodes(void)
{
	static const uint8_t have[] = { 0x02, 0x06, 0x08, 0x09, 0x0a, 0x0c, 0x18, 0x7f };
	unsigned int refused = 0;

	for (unsigned int opc = 0; opc < 256; opc++) {
		struct nvme_cmd cmd;
		struct nvme_cpl cpl;

		if (memchr(have, (int)opc, sizeof(have)))
			continue;
		nvme_cmd_init(&cmd, (uint8_t)opc, 0);
		cpl = peer_do(&admin, &cmd, buf, 4096);
		refused += peer_status(&cpl) == NVME_SC_INVALID_OPCODE;
	}
	is_u64(refused, 256 - sizeof(have), "E010: every other admin opcode is Invalid Opcode");
}

/* ---- events ---------------------------------------------------------------------------------- */

static uint16_t post_aer(void)
{
	struct nvme_cmd cmd;

	nvme_cmd_init_async_event(&cmd);
	return peer_submit(&admin, &cmd, NULL, 0);
}

static void change_ns(uint32_t nsid)
{
	struct tgt_ctrl *c;

	target_lock(rig.target);
	list_for_each_entry(c, &rig.target->subsystems[1]->ctrls, link)
		tgt_event_ns_changed(c, nsid);
	target_unlock(rig.target);
}

static void events(void)
{
	const le32 *list = (const void *)buf;
	uint16_t cid[TGT_EVENT_LIMIT];
	struct nvme_cpl cpl;
	struct nvme_event e;

	for (int i = 0; i < TGT_EVENT_LIMIT; i++)
		cid[i] = post_aer();
	for (int i = 0; i < 2; i++) {
		cpl = peer_wait(&admin, post_aer());
		is_status(&cpl, ASYNC_EVENT_LIMIT, "A002: one request too many");
	}
	change_ns(3);
	cpl = peer_wait(&admin, cid[0]);
	is_u64(le16_to_cpu(cpl.status), 0xffff, "an event that was not enabled is not sent");
	set(NVME_FID_ASYNC_EVENT_CONFIG, NVME_AEC_NS_ATTRIBUTE);
	change_ns(3);
	change_ns(1);
	change_ns(3);
	cpl = peer_wait(&admin, cid[0]);
	e = nvme_event_decode(nvme_cpl_dw0(&cpl));
	ok(e.type == NVME_EVENT_NOTICE && e.info == NVME_NOTICE_NS_ATTRIBUTE &&
		   e.lid == NVME_LID_CHANGED_NS,
	   "Namespace Attribute Changed");
	cpl = peer_wait(&admin, cid[1]);
	is_u64(le16_to_cpu(cpl.status), 0xffff, "D006: one event, however often it happened");
	get_log(NVME_LID_CHANGED_NS, 0, 4096, 0);
	ok(le32_to_cpu(list[0]) == 1 && le32_to_cpu(list[1]) == 3 && zero(buf + 8, 4088),
	   "the changed namespaces");
	get_log(NVME_LID_CHANGED_NS, 0, 4096, 0);
	ok(zero(buf, 4096), "... which reading clears");
	change_ns(7);
	cpl = peer_wait(&admin, cid[1]);
	is_status(&cpl, SUCCESS, "after the log was read the next event comes");
	for (uint32_t nsid = 1; nsid <= 1030; nsid++)
		change_ns(nsid);
	get_log(NVME_LID_CHANGED_NS, 0, 4096, 0);
	ok(le32_to_cpu(list[0]) == NVME_NSID_ALL && zero(buf + 4, 4092),
	   "A006: more than 1024 namespaces");
	cpl = peer_wait(&admin, cid[2]);
	is_status(&cpl, SUCCESS, "what happened while it was masked is told then");
	get_log(NVME_LID_CHANGED_NS, 0, 4096, 0);
	cid[0] = post_aer();
	{
		struct nvme_cmd cmd;

		nvme_cmd_init_abort(&cmd, 0, cid[0]);
		peer_submit(&admin, &cmd, NULL, 0);
		cpl = peer_wait(&admin, cid[0]);
		is_status(&cpl, ABORT_REQUESTED, "a request can be aborted");
		cpl = peer_wait(&admin, admin.cid);
		is_u64(nvme_cpl_dw0(&cpl), 0, "... and Abort says so");
	}
	{
		struct nvme_cmd cmd;

		nvme_cmd_init_property_set(&cmd, NVME_REG_CC, 4, 0);
		peer_submit(&admin, &cmd, NULL, 0);
	}
	cpl = peer_wait(&admin, cid[3]);
	is_status(&cpl, ABORT_REQUESTED, "A003: a reset ends the requests that wait");
	peer_enable(&admin);
}

/* A004: hosts that go away with requests outstanding, while an event is on its way to them or not. */
static void events_at_the_end(void)
{
	struct target_stats before, after;

	rig_run(&rig, RIG_S);
	target_stats(rig.target, &before);
	for (int i = 0; i < 100; i++) {
		struct nvme_cmd cmd;
		struct peer a;

		peer_admin(&a, &rig, RIG_NQN);
		nvme_cmd_init_set_features(&cmd, NVME_FID_ASYNC_EVENT_CONFIG, false, 0, NVME_AEC_NS_ATTRIBUTE);
		peer_do(&a, &cmd, NULL, 0);
		for (int k = 0; k < 4; k++) {
			nvme_cmd_init_async_event(&cmd);
			peer_submit(&a, &cmd, NULL, 0);
		}
		rig_run(&rig, RIG_MS);
		if (i & 1)
			change_ns(3);
		if (i & 2)
			rig_run(&rig, RIG_MS / 20);
		peer_close(&a);
		if (i & 4)
			change_ns(1);
	}
	rig_run(&rig, RIG_S);
	target_stats(rig.target, &after);
	ok(after.open == before.open && after.controllers == before.controllers,
	   "A004: a hundred hosts that went with four event requests each: nothing is left");
}

/* ---- keep alive ------------------------------------------------------------------------------ */

static void keep_alive(void)
{
	uint64_t before = rig_closed(&rig, TARGET_CLOSE_KEEP_ALIVE);
	struct nvme_cpl cpl;
	struct nvme_cmd cmd;
	struct peer a, io;
	uint16_t id;

	peer_open(&a, &rig, -1);
	peer_ic(&a, 0, false, false);
	cpl = peer_connect(&a, RIG_NQN, 0, NVME_CNTLID_DYNAMIC, 32, 1000);
	id = (uint16_t)nvme_cpl_dw0(&cpl);
	peer_enable(&a);
	peer_io(&io, &rig, RIG_NQN, 1, id);
	for (int i = 0; i < 10; i++) {
		rig_run(&rig, 900 * RIG_MS);
		nvme_cmd_init_keep_alive(&cmd);
		cpl = peer_do(&a, &cmd, NULL, 0);
	}
	is_status(&cpl, SUCCESS, "K001: keep alive every 900 of 1000 ms");
	for (int i = 0; i < 10; i++) {
		rig_run(&rig, 900 * RIG_MS);
		nvme_cmd_init_flush(&cmd, 1);
		cpl = peer_do(&io, &cmd, NULL, 0);
	}
	is_status(&cpl, SUCCESS, "K001: traffic on an I/O queue is a sign of life too");
	rig_run(&rig, 2900 * RIG_MS);
	ok(!a.eof, "K001: and there is a grace");
	ok(peer_ends(&a, RIG_S), "then the controller ends");
	ok(peer_ends(&io, RIG_S), "with its I/O queues");
	is_u64(rig_closed(&rig, TARGET_CLOSE_KEEP_ALIVE), before + 1, "counted once");
	ok(rig_logged(&rig, "reason=keep_alive_timeout"), "and logged by name");
	peer_close(&io);
	peer_close(&a);
}

int main(void)
{
	rig_init(&rig);
	rig_start(&rig);
	cntlid = peer_admin(&admin, &rig, RIG_NQN);
	id_ctrl();
	id_ns();
	id_lists();
	id_others();
	logs();
	ana();
	offsets(NVME_LID_SMART, 512);
	offsets(NVME_LID_EFFECTS, 4096);
	offsets(NVME_LID_ANA, 16 + 32 + 12);
	log_lengths();
	features();
	feature_rules();
	queues_in_order();
	opcodes();
	events();
	events_at_the_end();
	keep_alive();
	peer_close(&admin);
	rig_end(&rig);
	return tap_done();
}
