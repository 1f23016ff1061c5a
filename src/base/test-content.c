/* SPDX-License-Identifier: Apache-2.0 */
#include "base/content.h"

#include <string.h>

#include "base/rng.h"
#include "tests/tap.h"

static void pieces_agree(void)
{
	static uint8_t whole[20000], piece[20000];
	struct rng rng;
	bool same = true, right = true;

	rng_init(&rng, 7);
	content_fill(1, 2, 0, whole, sizeof(whole));
	for (int i = 0; i < 2000; i++) {
		size_t off = rng_below(&rng, sizeof(whole)), n = rng_below(&rng, sizeof(whole) - off + 1);

		content_fill(1, 2, off, piece, n);
		same &= memcmp(piece, whole + off, n) == 0;
		right &= content_check(1, 2, off, whole + off, n) == n;
	}
	ok(same, "a piece is what the whole has there, at 2000 offsets");
	ok(right, "and is found right");
}

static void faults_are_found(void)
{
	static uint8_t buf[8192];
	bool found = true;

	for (size_t i = 0; i < sizeof(buf); i += 37) {
		content_fill(3, 4, 100, buf, sizeof(buf));
		buf[i] ^= (uint8_t)(1u << (i % 8));
		found &= content_check(3, 4, 100, buf, sizeof(buf)) == i;
	}
	ok(found, "a flipped bit is found at its place");
	content_fill(3, 4, 0, buf, sizeof(buf));
	ok(content_check(3, 4, 1, buf, sizeof(buf)) < 8, "a shift by one byte is found");
	ok(content_check(3, 4, 4096, buf, 4096) < 8, "a swapped block is found");
	ok(content_check(3, 5, 0, buf, sizeof(buf)) < 8, "another object is found");
	ok(content_check(4, 4, 0, buf, sizeof(buf)) < 8, "another seed is found");
	memset(buf, 0, sizeof(buf));
	ok(content_check(3, 4, 0, buf, sizeof(buf)) < 8, "zeroes are found");
	is_u64(content_check(3, 4, 0, buf, 0), 0, "nothing is right");
}

int main(void)
{
	static const uint8_t golden[16] = { 0x7f, 0xd2, 0x1a, 0xe8, 0x01, 0x0e, 0xf5, 0xa6,
					    0xa1, 0x9f, 0x94, 0x2d, 0x97, 0xc1, 0x03, 0x47 };
	uint8_t now[16];

	pieces_agree();
	faults_are_found();
	content_fill(1, 2, 3, now, sizeof(now));
	is_mem(now, golden, sizeof(now), "seed 1, object 2, offset 3 has the bytes it always had");
	return tap_done();
}
