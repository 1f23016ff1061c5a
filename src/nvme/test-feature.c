/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of properties and features: values put together by hand from the figures, and round trips.
 */
#include "nvme/feature.h"
#include "nvme/reg.h"
#include "tests/tap.h"

static void test_cap(void)
{
	/* MQES 127, CQR, TO 15 (7.5 s), NVM command set, CRWMS: what an ordinary target says. */
	const uint64_t golden = 0x080000200f01007f;
	struct nvme_cap want = {
		.max_entries = 128,
		.cqr = true,
		.to = 15,
		.css = NVME_CAP_CSS_NVM,
		.crms = NVME_CAP_CRMS_WITH_MEDIA,
	};
	struct nvme_cap cap = nvme_cap_decode(golden);

	is_u64(nvme_cap_encode(want), golden, "CAP of an ordinary target");
	is_u64(cap.max_entries, 128, "MQES counts from zero");
	ok(cap.cqr && !cap.nssrs && !cap.nsss, "CQR, NSSRS, NSSS");
	is_u64(cap.to, 15, "TO");
	is_u64(cap.css, 1, "CSS");
	is_u64(cap.crms, 1, "CRMS");
	is_u64(cap.mpsmin + cap.mpsmax, 0, "pages of 4 KiB");

	cap = nvme_cap_decode(UINT64_MAX);
	is_u64(cap.max_entries, 65536, "the largest MQES");
	is_u64(cap.css, 0xff, "CSS is eight bits");
	is_u64(nvme_cap_encode(cap), 0x1cff1ff0ff07ffff, "fields back, reserved bits not");
}

static void test_cc(void)
{
	struct nvme_cc cc = nvme_cc_decode(0x00460001);

	ok(cc.en && cc.iosqes == 6 && cc.iocqes == 4, "CC as Linux enables a controller");
	ok(cc.css == 0 && cc.mps == 0 && cc.ams == 0 && cc.shn == 0 && !cc.crime,
	   "the rest is zero");
	is_u64(nvme_cc_encode(cc), 0x00460001, "and back");
	cc = nvme_cc_decode(0x00464001);
	is_u64(cc.shn, NVME_CC_SHN_NORMAL, "SHN of a normal shutdown");
	cc = nvme_cc_decode(UINT32_MAX);
	is_u64(nvme_cc_encode(cc), 0x01fffff1, "fields back, reserved bits not");
}

static void test_other_properties(void)
{
	is_u64(nvme_vs(2, 0, 0), NVME_VS_2_0, "VS 2.0");
	is_u64(nvme_vs(1, 4, 1), 0x00010401, "VS 1.4.1");
	is_u64(nvme_crto(2, 3), 0x00030002, "CRTO");
	is_u64(nvme_reg_size(NVME_REG_CAP), 8, "CAP is 8 bytes");
	is_u64(nvme_reg_size(NVME_REG_CSTS), 4, "CSTS is 4 bytes");
	is_u64(nvme_reg_size(4), 0, "the upper half of CAP is no property");
	is_u64(NVME_CSTS_SHST_COMPLETE, 8, "SHST 10b");
}

static void test_queues(void)
{
	struct nvme_queue_counts n = nvme_queue_counts_decode(0x00070003);

	ok(n.sq == 4 && n.cq == 8, "Number of Queues counts from zero");
	is_u64(nvme_queue_counts_encode(n), 0x00070003, "and back");
	n = nvme_queue_counts_decode(UINT32_MAX);
	ok(n.sq == 65536 && n.cq == 65536, "FFFFh is 65536, which a target refuses");
	is_u64(nvme_queue_counts_encode(n), UINT32_MAX, "and back");
}

static void test_small_features(void)
{
	struct nvme_arbitration a = nvme_arbitration_decode(0x44332207);

	ok(a.burst == 7 && a.low == 0x22 && a.medium == 0x33 && a.high == 0x44, "Arbitration");
	is_u64(nvme_arbitration_encode(a), 0x44332207, "and back");
	is_u64(nvme_power_state(0xe3), 3, "power state");
	is_u64(nvme_power_workload_hint(0xe3), 7, "workload hint");
	is_u64(nvme_temperature_kelvin(0x0015015e), 350, "temperature threshold");
	is_u64(nvme_temperature_tmpsel(0x0015015e), 5, "its sensor");
	is_u64(nvme_temperature_thsel(0x0015015e), NVME_THSEL_UNDER, "its direction");
	is_u64(nvme_error_recovery_tler(0x0001000a), 10, "TLER");
	ok(0x0001000a & NVME_ERROR_RECOVERY_DULBE, "DULBE");
	is_u64(nvme_write_protection(0xfffffffa), 2, "write protection state");
	is_u64(NVME_AEC_NS_ATTRIBUTE | NVME_AEC_FIRMWARE | NVME_AEC_ANA, 0xb00,
	       "the events Linux turns on");
}

static void test_timestamp(void)
{
	static const uint8_t golden[8] = { 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, 0x02, 0x00 };
	struct nvme_timestamp t = { .attr = NVME_TIMESTAMP_ORIGIN_HOST };

	nvme_timestamp_set_ms(&t, 0x010203040506);
	is_mem(&t, golden, 8, "Timestamp is 48 bits");
	is_u64(nvme_timestamp_ms(&t), 0x010203040506, "and back");
	nvme_timestamp_set_ms(&t, UINT64_MAX);
	is_u64(nvme_timestamp_ms(&t), 0xffffffffffff, "more does not reach the attributes");
	is_u64(t.attr, 2, "which stay");
}

static void test_bits(void)
{
	is_u64(nvme_bits32(0xdeadbeef, 31, 0), 0xdeadbeef, "bits 31:0");
	is_u64(nvme_bits32(0xdeadbeef, 31, 31), 1, "bit 31");
	is_u64(nvme_bits32(0xdeadbeef, 15, 8), 0xbe, "bits 15:8");
	is_u64(nvme_bits64(0xdeadbeef00000000, 63, 0), 0xdeadbeef00000000, "bits 63:0");
	is_u64(nvme_bits64(0xdeadbeef00000000, 63, 60), 0xd, "bits 63:60");
	ok(nvme_bit(UINT64_C(1) << 63, 63) && !nvme_bit(1, 1), "one bit");
}

int main(void)
{
	test_cap();
	test_cc();
	test_other_properties();
	test_queues();
	test_small_features();
	test_timestamp();
	test_bits();
	return tap_done();
}
