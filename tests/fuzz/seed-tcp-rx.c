/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes seeds for fuzz-tcp-rx into a directory: a few right streams for each role and digest, so
 * that the fuzzer need not find CRCs by chance.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tcp/test-stream.h"

enum { CAP = 16384, PREFIX = 3 };

static int write_file(const char *dir, const char *name, const uint8_t *bytes, size_t len)
{
	char path[4096];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	if (!f)
		return -1;
	n = fwrite(bytes, 1, len, f);
	return fclose(f) || n != len ? -1 : 0;
}

int main(int argc, char **argv)
{
	static uint8_t bytes[CAP], scratch[512];
	char name[64];
	struct rng rng;

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
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
		snprintf(name, sizeof(name), "seed-%s-hdgst%d-ddgst%d-%s-pda%u",
			 i & 1 ? "to-host" : "to-controller", p.hdgst, p.ddgst,
			 p.ic ? "ic" : "connected", p.pda);
		if (write_file(argv[1], name, bytes, PREFIX + s.len)) {
			perror(name);
			return 1;
		}
	}
	return 0;
}
