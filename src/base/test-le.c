/* SPDX-License-Identifier: Apache-2.0 */
/* Byte order on the wire, and that conversion both ways loses nothing. */
#include "base/le.h"

#include "base/rng.h"
#include "tests/tap.h"

static void test_byte_order(void)
{
	le16 a = cpu_to_le16(0x0102);
	le32 b = cpu_to_le32(0x01020304);
	le64 c = cpu_to_le64(UINT64_C(0x0102030405060708));

	is_mem(&a, "\x02\x01", 2, "16 bits: lowest byte first");
	is_mem(&b, "\x04\x03\x02\x01", 4, "32 bits: lowest byte first");
	is_mem(&c, "\x08\x07\x06\x05\x04\x03\x02\x01", 8, "64 bits: lowest byte first");
}

static void test_limits(void)
{
	is_u64(le16_to_cpu(cpu_to_le16(UINT16_MAX)), UINT16_MAX, "largest 16 bits");
	is_u64(le32_to_cpu(cpu_to_le32(UINT32_MAX)), UINT32_MAX, "largest 32 bits");
	is_u64(le64_to_cpu(cpu_to_le64(UINT64_MAX)), UINT64_MAX, "largest 64 bits");
	is_u64(le32_to_cpu(cpu_to_le32(0x80000000)), 0x80000000, "top bit of 32 is no sign");
	is_u64(le64_to_cpu((le64){ { 0, 0, 0, 0x80 } }), 0x80000000, "bit 31 of 64 is no sign");
}

static void test_round_trip(void)
{
	struct rng r;
	unsigned bad = 0;

	rng_init(&r, 1);
	for (int i = 0; i < 100000; i++) {
		uint64_t v = rng_u64(&r);

		bad += le16_to_cpu(cpu_to_le16((uint16_t)v)) != (uint16_t)v;
		bad += le32_to_cpu(cpu_to_le32((uint32_t)v)) != (uint32_t)v;
		bad += le64_to_cpu(cpu_to_le64(v)) != v;
	}
	is_u64(bad, 0, "any value comes back");
}

int main(void)
{
	struct {
		uint8_t before;
		le64 value;
	} odd;

	is_u64(sizeof(odd), 9, "no alignment, no padding");
	test_byte_order();
	test_limits();
	test_round_trip();
	return tap_done();
}
