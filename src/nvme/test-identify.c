/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identify structures and log pages against the figures: a page is filled so that every byte tells
 * its place, and each field must read what the standard puts there. The offsets here were taken
 * from the figures once more, apart from the asserts in the headers.
 */
#include "base/util.h"
#include "nvme/fabrics.h"
#include "nvme/identify.h"
#include "nvme/log.h"
#include "tests/tap.h"

struct field {
	const char *name;
	size_t offset;
	size_t size;
	size_t want_offset; /* "bytes B:A" of the figure: A */
	size_t want_size;   /* B - A + 1 */
};

#define FIELD(type, member, high, low)                                                             \
	{                                                                                          \
#type "." #member, offsetof(struct type, member),                                  \
			sizeof(((struct type *)0)->member), (low), (high) - (low) + 1              \
	}

static const struct field fields[] = {
	FIELD(nvme_id_ctrl, vid, 1, 0),
	FIELD(nvme_id_ctrl, ssvid, 3, 2),
	FIELD(nvme_id_ctrl, sn, 23, 4),
	FIELD(nvme_id_ctrl, mn, 63, 24),
	FIELD(nvme_id_ctrl, fr, 71, 64),
	FIELD(nvme_id_ctrl, rab, 72, 72),
	FIELD(nvme_id_ctrl, ieee, 75, 73),
	FIELD(nvme_id_ctrl, cmic, 76, 76),
	FIELD(nvme_id_ctrl, mdts, 77, 77),
	FIELD(nvme_id_ctrl, cntlid, 79, 78),
	FIELD(nvme_id_ctrl, ver, 83, 80),
	FIELD(nvme_id_ctrl, rtd3r, 87, 84),
	FIELD(nvme_id_ctrl, rtd3e, 91, 88),
	FIELD(nvme_id_ctrl, oaes, 95, 92),
	FIELD(nvme_id_ctrl, ctratt, 99, 96),
	FIELD(nvme_id_ctrl, rrls, 101, 100),
	FIELD(nvme_id_ctrl, cntrltype, 111, 111),
	FIELD(nvme_id_ctrl, fguid, 127, 112),
	FIELD(nvme_id_ctrl, crdt1, 129, 128),
	FIELD(nvme_id_ctrl, crdt2, 131, 130),
	FIELD(nvme_id_ctrl, crdt3, 133, 132),
	FIELD(nvme_id_ctrl, nvmsr, 253, 253),
	FIELD(nvme_id_ctrl, vwci, 254, 254),
	FIELD(nvme_id_ctrl, mec, 255, 255),
	FIELD(nvme_id_ctrl, oacs, 257, 256),
	FIELD(nvme_id_ctrl, acl, 258, 258),
	FIELD(nvme_id_ctrl, aerl, 259, 259),
	FIELD(nvme_id_ctrl, frmw, 260, 260),
	FIELD(nvme_id_ctrl, lpa, 261, 261),
	FIELD(nvme_id_ctrl, elpe, 262, 262),
	FIELD(nvme_id_ctrl, npss, 263, 263),
	FIELD(nvme_id_ctrl, avscc, 264, 264),
	FIELD(nvme_id_ctrl, apsta, 265, 265),
	FIELD(nvme_id_ctrl, wctemp, 267, 266),
	FIELD(nvme_id_ctrl, cctemp, 269, 268),
	FIELD(nvme_id_ctrl, mtfa, 271, 270),
	FIELD(nvme_id_ctrl, hmpre, 275, 272),
	FIELD(nvme_id_ctrl, hmmin, 279, 276),
	FIELD(nvme_id_ctrl, tnvmcap, 295, 280),
	FIELD(nvme_id_ctrl, unvmcap, 311, 296),
	FIELD(nvme_id_ctrl, rpmbs, 315, 312),
	FIELD(nvme_id_ctrl, edstt, 317, 316),
	FIELD(nvme_id_ctrl, dsto, 318, 318),
	FIELD(nvme_id_ctrl, fwug, 319, 319),
	FIELD(nvme_id_ctrl, kas, 321, 320),
	FIELD(nvme_id_ctrl, hctma, 323, 322),
	FIELD(nvme_id_ctrl, mntmt, 325, 324),
	FIELD(nvme_id_ctrl, mxtmt, 327, 326),
	FIELD(nvme_id_ctrl, sanicap, 331, 328),
	FIELD(nvme_id_ctrl, hmminds, 335, 332),
	FIELD(nvme_id_ctrl, hmmaxd, 337, 336),
	FIELD(nvme_id_ctrl, nsetidmax, 339, 338),
	FIELD(nvme_id_ctrl, endgidmax, 341, 340),
	FIELD(nvme_id_ctrl, anatt, 342, 342),
	FIELD(nvme_id_ctrl, anacap, 343, 343),
	FIELD(nvme_id_ctrl, anagrpmax, 347, 344),
	FIELD(nvme_id_ctrl, nanagrpid, 351, 348),
	FIELD(nvme_id_ctrl, pels, 355, 352),
	FIELD(nvme_id_ctrl, domainid, 357, 356),
	FIELD(nvme_id_ctrl, megcap, 383, 368),
	FIELD(nvme_id_ctrl, cqt, 387, 386),
	FIELD(nvme_id_ctrl, sqes, 512, 512),
	FIELD(nvme_id_ctrl, cqes, 513, 513),
	FIELD(nvme_id_ctrl, maxcmd, 515, 514),
	FIELD(nvme_id_ctrl, nn, 519, 516),
	FIELD(nvme_id_ctrl, oncs, 521, 520),
	FIELD(nvme_id_ctrl, fuses, 523, 522),
	FIELD(nvme_id_ctrl, fna, 524, 524),
	FIELD(nvme_id_ctrl, vwc, 525, 525),
	FIELD(nvme_id_ctrl, awun, 527, 526),
	FIELD(nvme_id_ctrl, awupf, 529, 528),
	FIELD(nvme_id_ctrl, icsvscc, 530, 530),
	FIELD(nvme_id_ctrl, nwpc, 531, 531),
	FIELD(nvme_id_ctrl, acwu, 533, 532),
	FIELD(nvme_id_ctrl, ocfs, 535, 534),
	FIELD(nvme_id_ctrl, sgls, 539, 536),
	FIELD(nvme_id_ctrl, mnan, 543, 540),
	FIELD(nvme_id_ctrl, maxdna, 559, 544),
	FIELD(nvme_id_ctrl, maxcna, 563, 560),
	FIELD(nvme_id_ctrl, subnqn, 1023, 768),
	FIELD(nvme_id_ctrl, ioccsz, 1795, 1792),
	FIELD(nvme_id_ctrl, iorcsz, 1799, 1796),
	FIELD(nvme_id_ctrl, icdoff, 1801, 1800),
	FIELD(nvme_id_ctrl, fcatt, 1802, 1802),
	FIELD(nvme_id_ctrl, msdbd, 1803, 1803),
	FIELD(nvme_id_ctrl, ofcs, 1805, 1804),
	FIELD(nvme_id_ctrl, dctype, 1806, 1806),
	FIELD(nvme_id_ctrl, psd, 3071, 2048),
	FIELD(nvme_id_ctrl, vs, 4095, 3072),

	FIELD(nvme_power_state, mp, 1, 0),
	FIELD(nvme_power_state, flags, 3, 3),
	FIELD(nvme_power_state, enlat, 7, 4),
	FIELD(nvme_power_state, exlat, 11, 8),
	FIELD(nvme_power_state, idlp, 17, 16),
	FIELD(nvme_power_state, actp, 21, 20),

	FIELD(nvme_id_ns, nsze, 7, 0),
	FIELD(nvme_id_ns, ncap, 15, 8),
	FIELD(nvme_id_ns, nuse, 23, 16),
	FIELD(nvme_id_ns, nsfeat, 24, 24),
	FIELD(nvme_id_ns, nlbaf, 25, 25),
	FIELD(nvme_id_ns, flbas, 26, 26),
	FIELD(nvme_id_ns, mc, 27, 27),
	FIELD(nvme_id_ns, dpc, 28, 28),
	FIELD(nvme_id_ns, dps, 29, 29),
	FIELD(nvme_id_ns, nmic, 30, 30),
	FIELD(nvme_id_ns, rescap, 31, 31),
	FIELD(nvme_id_ns, fpi, 32, 32),
	FIELD(nvme_id_ns, dlfeat, 33, 33),
	FIELD(nvme_id_ns, nawun, 35, 34),
	FIELD(nvme_id_ns, nawupf, 37, 36),
	FIELD(nvme_id_ns, nacwu, 39, 38),
	FIELD(nvme_id_ns, nabsn, 41, 40),
	FIELD(nvme_id_ns, nabo, 43, 42),
	FIELD(nvme_id_ns, nabspf, 45, 44),
	FIELD(nvme_id_ns, noiob, 47, 46),
	FIELD(nvme_id_ns, nvmcap, 63, 48),
	FIELD(nvme_id_ns, npwg, 65, 64),
	FIELD(nvme_id_ns, npwa, 67, 66),
	FIELD(nvme_id_ns, npdg, 69, 68),
	FIELD(nvme_id_ns, npda, 71, 70),
	FIELD(nvme_id_ns, nows, 73, 72),
	FIELD(nvme_id_ns, mssrl, 75, 74),
	FIELD(nvme_id_ns, mcl, 79, 76),
	FIELD(nvme_id_ns, msrc, 80, 80),
	FIELD(nvme_id_ns, anagrpid, 95, 92),
	FIELD(nvme_id_ns, nsattr, 99, 99),
	FIELD(nvme_id_ns, nvmsetid, 101, 100),
	FIELD(nvme_id_ns, endgid, 103, 102),
	FIELD(nvme_id_ns, nguid, 119, 104),
	FIELD(nvme_id_ns, eui64, 127, 120),
	FIELD(nvme_id_ns, lbaf, 383, 128),
	FIELD(nvme_id_ns, vs, 4095, 384),
	FIELD(nvme_lba_format, ms, 1, 0),
	FIELD(nvme_lba_format, lbads, 2, 2),
	FIELD(nvme_lba_format, rp, 3, 3),

	FIELD(nvme_id_ns_nvm, lbstm, 7, 0),
	FIELD(nvme_id_ns_nvm, elbaf, 267, 12),
	FIELD(nvme_id_ctrl_nvm, vsl, 0, 0),
	FIELD(nvme_id_ctrl_nvm, wzsl, 1, 1),
	FIELD(nvme_id_ctrl_nvm, wusl, 2, 2),
	FIELD(nvme_id_ctrl_nvm, dmrl, 3, 3),
	FIELD(nvme_id_ctrl_nvm, dmrsl, 7, 4),
	FIELD(nvme_id_ctrl_nvm, dmsl, 15, 8),
	FIELD(nvme_id_ns_independent, anagrpid, 7, 4),
	FIELD(nvme_id_ns_independent, nsattr, 8, 8),
	FIELD(nvme_id_ns_independent, endgid, 13, 12),
	FIELD(nvme_id_ns_independent, nstat, 14, 14),

	FIELD(nvme_log_error, count, 7, 0),
	FIELD(nvme_log_error, sqid, 9, 8),
	FIELD(nvme_log_error, cid, 11, 10),
	FIELD(nvme_log_error, status, 13, 12),
	FIELD(nvme_log_error, location, 15, 14),
	FIELD(nvme_log_error, lba, 23, 16),
	FIELD(nvme_log_error, nsid, 27, 24),
	FIELD(nvme_log_error, trtype, 29, 29),
	FIELD(nvme_log_error, command_specific, 39, 32),
	FIELD(nvme_log_error, trtype_specific, 41, 40),
	FIELD(nvme_log_smart, critical_warning, 0, 0),
	FIELD(nvme_log_smart, temperature, 2, 1),
	FIELD(nvme_log_smart, spare, 3, 3),
	FIELD(nvme_log_smart, spare_threshold, 4, 4),
	FIELD(nvme_log_smart, percentage_used, 5, 5),
	FIELD(nvme_log_smart, data_units_read, 47, 32),
	FIELD(nvme_log_smart, data_units_written, 63, 48),
	FIELD(nvme_log_smart, host_reads, 79, 64),
	FIELD(nvme_log_smart, host_writes, 95, 80),
	FIELD(nvme_log_smart, busy_time, 111, 96),
	FIELD(nvme_log_smart, power_cycles, 127, 112),
	FIELD(nvme_log_smart, power_on_hours, 143, 128),
	FIELD(nvme_log_smart, unsafe_shutdowns, 159, 144),
	FIELD(nvme_log_smart, media_errors, 175, 160),
	FIELD(nvme_log_smart, error_log_entries, 191, 176),
	FIELD(nvme_log_smart, warning_temperature_time, 195, 192),
	FIELD(nvme_log_smart, critical_temperature_time, 199, 196),
	FIELD(nvme_log_smart, temperature_sensor, 215, 200),
	FIELD(nvme_log_smart, tmt2_time, 231, 228),
	FIELD(nvme_log_firmware, afi, 0, 0),
	FIELD(nvme_log_firmware, frs, 63, 8),
	FIELD(nvme_log_effects, acs, 1023, 0),
	FIELD(nvme_log_effects, iocs, 2047, 1024),
	FIELD(nvme_log_ana, chgcnt, 7, 0),
	FIELD(nvme_log_ana, ngrps, 9, 8),
	FIELD(nvme_ana_desc, grpid, 3, 0),
	FIELD(nvme_ana_desc, nnsids, 7, 4),
	FIELD(nvme_ana_desc, chgcnt, 15, 8),
	FIELD(nvme_ana_desc, state, 16, 16),
	FIELD(nvme_log_discovery, genctr, 7, 0),
	FIELD(nvme_log_discovery, numrec, 15, 8),
	FIELD(nvme_log_discovery, recfmt, 17, 16),
	FIELD(nvme_discovery_entry, trtype, 0, 0),
	FIELD(nvme_discovery_entry, adrfam, 1, 1),
	FIELD(nvme_discovery_entry, subtype, 2, 2),
	FIELD(nvme_discovery_entry, treq, 3, 3),
	FIELD(nvme_discovery_entry, portid, 5, 4),
	FIELD(nvme_discovery_entry, cntlid, 7, 6),
	FIELD(nvme_discovery_entry, asqsz, 9, 8),
	FIELD(nvme_discovery_entry, eflags, 11, 10),
	FIELD(nvme_discovery_entry, trsvcid, 63, 32),
	FIELD(nvme_discovery_entry, subnqn, 511, 256),
	FIELD(nvme_discovery_entry, traddr, 767, 512),
	FIELD(nvme_discovery_entry, tsas, 1023, 768),
	FIELD(nvme_log_reservation, count, 7, 0),
	FIELD(nvme_log_reservation, type, 8, 8),
	FIELD(nvme_log_reservation, available, 9, 9),
	FIELD(nvme_log_reservation, nsid, 15, 12),

	FIELD(nvme_connect_data, hostid, 15, 0),
	FIELD(nvme_connect_data, cntlid, 17, 16),
	FIELD(nvme_connect_data, subnqn, 511, 256),
	FIELD(nvme_connect_data, hostnqn, 767, 512),
};

static void test_places(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct field *f = &fields[i];

		ok(f->offset == f->want_offset && f->size == f->want_size, "%s is bytes %zu:%zu",
		   f->name, f->want_offset + f->want_size - 1, f->want_offset);
	}
}

/* One round through raw bytes: the integer types are little-endian wherever a field lies. */
static void test_bytes(void)
{
	static uint8_t page[NVME_IDENTIFY_SIZE];
	struct nvme_id_ctrl ctrl;
	struct nvme_id_ns ns;

	page[77] = 5;
	page[78] = 0x34;
	page[79] = 0x12;
	page[516] = 0x00;
	page[517] = 0x04;
	page[538] = 0x30;
	page[1792] = 0x04;
	page[1793] = 0x02;
	memcpy(&ctrl, page, sizeof(ctrl));
	is_u64(ctrl.mdts, 5, "MDTS");
	is_u64(le16_to_cpu(ctrl.cntlid), 0x1234, "CNTLID");
	is_u64(le32_to_cpu(ctrl.nn), 1024, "NN");
	is_u64(le32_to_cpu(ctrl.sgls), NVME_SGLS_OFFSET | NVME_SGLS_TRANSPORT, "SGLS bits 21:20");
	is_u64(le32_to_cpu(ctrl.ioccsz), (64 + 8192) / 16, "IOCCSZ for 8 KiB in the capsule");

	memset(page, 0, sizeof(page));
	page[1] = 0x01;
	page[128 + 4 + 2] = 12;
	page[26] = 0x01;
	memcpy(&ns, page, sizeof(ns));
	is_u64(le64_to_cpu(ns.nsze), 256, "NSZE");
	is_u64(nvme_id_ns_format(&ns), 1, "the format in use");
	is_u64(ns.lbaf[nvme_id_ns_format(&ns)].lbads, 12, "its LBADS");
	ns.flbas = 0x63;
	is_u64(nvme_id_ns_format(&ns), 3, "FLBAS bits 6:5 do not count with 16 formats or fewer");
	ns.nlbaf = 63;
	is_u64(nvme_id_ns_format(&ns), 0x33, "FLBAS bits 6:5 count with more");
}

static void test_u128(void)
{
	struct nvme_u128 v = nvme_u128(0x0102030405060708);

	is_u64(v.lo.b[0], 8, "a 128-bit field is little-endian");
	is_u64(nvme_u128_to_cpu(v), 0x0102030405060708, "and back");
	v.hi = cpu_to_le64(1);
	is_u64(nvme_u128_to_cpu(v), UINT64_MAX, "what does not fit into 64 bits is the largest");
}

int main(void)
{
	test_places();
	test_bytes();
	test_u128();
	return tap_done();
}
