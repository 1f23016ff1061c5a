/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C: the examples of RFC 3720 B.4, then against the definition, bit by bit. */
#include "base/crc32c.h"

#include "base/rng.h"
#include "base/util.h"
#include "tests/tap.h"

enum { BUFFER = 4096 };

/* The definition: polynomial 0x1edc6f41, here with its bits reversed; lowest bit first. */
static uint32_t crc32c_by_definition(uint32_t crc, const uint8_t *p, size_t n)
{
	crc = ~crc;
	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static void test_rfc3720(void)
{
	static const uint8_t read10[48] = {
		0x01,        0xc0,        [16] = 0x14, [22] = 0x04,
		[27] = 0x14, [31] = 0x18, [32] = 0x28, [40] = 0x02,
	};
	uint8_t p[32];

	memset(p, 0, sizeof(p));
	is_u64(crc32c(0, p, sizeof(p)), 0x8a9136aa, "32 bytes of zeroes");
	memset(p, 0xff, sizeof(p));
	is_u64(crc32c(0, p, sizeof(p)), 0x62a8ab43, "32 bytes of ones");
	for (unsigned i = 0; i < sizeof(p); i++)
		p[i] = (uint8_t)i;
	is_u64(crc32c(0, p, sizeof(p)), 0x46dd794e, "32 bytes going up");
	for (unsigned i = 0; i < sizeof(p); i++)
		p[i] = (uint8_t)(31 - i);
	is_u64(crc32c(0, p, sizeof(p)), 0x113fdb5c, "32 bytes going down");
	is_u64(crc32c(0, read10, sizeof(read10)), 0xd9963a56, "an iSCSI Read(10) PDU");
	is_u64(crc32c(0, "123456789", 9), 0xe3069283, "the check value");
	is_u64(crc32c(0, NULL, 0), 0, "nothing");
	is_u64(crc32c(0x1234, NULL, 0), 0x1234, "nothing more");
}

static void test_definition(struct rng *r, const uint8_t *p)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < 1000; i++) {
		size_t at = rng_below(r, 64);
		size_t n = rng_below(r, i < 500 ? 64 : BUFFER - 64);
		uint32_t start = (uint32_t)rng_u64(r);

		bad += crc32c(start, p + at, n) != crc32c_by_definition(start, p + at, n);
	}
	is_u64(bad, 0, "agrees with the definition at any alignment and length");
}

static void test_chaining(struct rng *r, const uint8_t *p)
{
	uint32_t whole = crc32c(0, p, BUFFER);
	unsigned bad = 0;

	for (unsigned i = 0; i < 1000; i++) {
		uint32_t crc = 0;
		size_t n;

		for (size_t at = 0; at < BUFFER; at += n) {
			n = MIN(rng_below(r, 500), (uint64_t)(BUFFER - at));
			crc = crc32c(crc, p + at, n);
		}
		bad += crc != whole;
	}
	is_u64(bad, 0, "the same however the bytes are cut");
}

int main(void)
{
	static uint8_t p[BUFFER];
	struct rng r;

	rng_init(&r, 3720);
	rng_fill(&r, p, sizeof(p));
	test_rfc3720();
	test_definition(&r, p);
	test_chaining(&r, p);
	return tap_done();
}
