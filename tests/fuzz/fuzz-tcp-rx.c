/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the receiver of src/tcp. Any bytes at all, under any parameters: no crash, and the
 * same events whether they come in one piece, byte by byte, or at random.
 *
 * Input: byte 0 bit 0 role, bit 1 header digest, bit 2 data digest, bit 3 already connected, bit 4
 * small limits; byte 1 PDA; byte 2 the seed of cuts and answers; the rest is the stream.
 */
#include <stdlib.h>

#include "tcp/test-feed.h"
#include "tests/fuzz/fuzz.h"

enum { PREFIX = 3, STREAM_MAX = 65536 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed_params params = { 0 };
	struct feed_result whole, other;
	struct feed_cuts cuts[3] = {
		{ .piece = 1, .stage = 512, .seed = 1 },
		{ .piece = 0, .stage = 512 },
		{ .piece = 0, .stage = 3000 },
	};
	const struct feed_cuts one = { .piece = STREAM_MAX, .stage = STREAM_MAX, .seed = 1 };

	if (size < PREFIX || size - PREFIX > STREAM_MAX)
		return 0;
	params.role = data[0] & 1 ? TCP_ROLE_HOST : TCP_ROLE_CONTROLLER;
	params.hdgst = data[0] & 2;
	params.ddgst = data[0] & 4;
	params.connected = data[0] & 8;
	params.max_data = data[0] & 16 ? 64 : 8192;
	params.max_icd = data[0] & 16 ? 32 : 8192;
	params.pda = data[1] % (TCP_PDA_MAX + 1);
	params.answers = data[2];
	cuts[1].seed = data[2];
	cuts[2].seed = data[2] + 256u;

	feed(&params, &one, data + PREFIX, size - PREFIX, &whole);
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		feed(&params, &cuts[i], data + PREFIX, size - PREFIX, &other);
		INVARIANT(other.hash == whole.hash && other.pdus == whole.pdus);
	}
	return 0;
}
