/* SPDX-License-Identifier: Apache-2.0 */
/* Every alignment and many lengths: what is to be copied is, and nothing around it. */
#include "store/stream-copy.h"

#include <stdint.h>
#include <string.h>

#include "base/util.h"
#include "tests/tap.h"

enum { ROOM = 8192, EDGE = 128 };

static uint8_t from[ROOM], to[ROOM], want[ROOM];

static bool right(size_t out, size_t in, size_t n)
{
	memset(to, 0xee, ROOM);
	memset(want, 0xee, ROOM);
	memcpy(want + EDGE + out, from + EDGE + in, n);
	stream_copy(to + EDGE + out, from + EDGE + in, n);
	return memcmp(to, want, ROOM) == 0;
}

int main(void)
{
	static const size_t lengths[] = { 0, 1, 15, 16, 63, 64, 65, 127, 128, 200, 512, 4096, 4097, 5000 };
	unsigned int wrong = 0;

	for (size_t i = 0; i < ROOM; i++)
		from[i] = (uint8_t)(i * 7 + i / 256);
	for (size_t out = 0; out < 64; out++)
		for (size_t in = 0; in < 64; in += 7)
			for (size_t k = 0; k < ARRAY_SIZE(lengths); k++)
				wrong += !right(out, in, lengths[k]);
	is_u64(wrong, 0, "all alignments, lengths up to 5000");
	return tap_done();
}
