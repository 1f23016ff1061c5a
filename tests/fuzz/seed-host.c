/* SPDX-License-Identifier: Apache-2.0 */
/* Writes seeds for fuzz-host into a directory: random steps that submit and answer about as often. */
#include <stdio.h>

#include "base/rng.h"

enum { SEEDS = 32, STEPS = 60 };

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	for (unsigned int i = 0; i < SEEDS; i++) {
		uint8_t bytes[1 + 4 * STEPS];
		char path[4096];
		struct rng rng;
		FILE *f;

		rng_init(&rng, i);
		rng_fill(&rng, bytes, sizeof(bytes));
		bytes[0] = (uint8_t)i;
		for (unsigned int s = 0; s < STEPS; s++)
			bytes[1 + 4 * s] = (uint8_t)(s % 2 ? rng_below(&rng, 256) : s % 4 * 40);
		snprintf(path, sizeof(path), "%s/seed-%u", argv[1], i);
		f = fopen(path, "wb");
		if (!f || fwrite(bytes, 1, sizeof(bytes), f) != sizeof(bytes) || fclose(f)) {
			perror(path);
			return 1;
		}
	}
	return 0;
}
