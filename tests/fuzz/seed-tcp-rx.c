/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes seeds for fuzz-tcp-rx into a directory: a few right streams for each role and digest, so
 * that the fuzzer need not find CRCs by chance.
 */
#include "tcp/test-stream.h"
#include "tests/fuzz/seed.h"

enum { CAP = 16384, PREFIX = 3 };

int main(int argc, char **argv)
{
	const char *dir = seed_directory(argc, argv);
	static uint8_t bytes[CAP], scratch[512];
	char name[64];
	struct rng rng;

	for (unsigned int i = 0; i < 32; i++) {
		struct stream_params p = { .from = i & 1 ? TCP_ROLE_CONTROLLER : TCP_ROLE_HOST,
					   .hdgst = i & 2,
					   .ddgst = i & 4,
					   .ic = !(i & 8),
					   .pda = i & 16 ? 7 : 0,
					   .pdus = 5,
					   .max_data = 128 };
		struct stream s = { .bytes = bytes + PREFIX, .cap = CAP - PREFIX };

		rng_init(&rng, i);
		bytes[0] = (uint8_t)(i & 15);
		bytes[1] = p.pda;
		bytes[2] = (uint8_t)i;
		stream_make(&s, &rng, &p, scratch);
		snprintf(name, sizeof(name), "%s-hdgst%d-ddgst%d-%s-pda%u",
			 i & 1 ? "to-host" : "to-controller", p.hdgst, p.ddgst,
			 p.ic ? "ic" : "connected", p.pda);
		seed_save(dir, name, bytes, PREFIX + s.len);
	}
	return 0;
}
