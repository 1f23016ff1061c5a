/* SPDX-License-Identifier: Apache-2.0 */
/* Writes seeds for fuzz-host into a directory: random steps that submit and answer about as often. */
#include "base/rng.h"
#include "tests/fuzz/seed.h"

enum { SEEDS = 32, STEPS = 60 };

int main(int argc, char **argv)
{
	const char *dir = seed_directory(argc, argv);

	for (unsigned int i = 0; i < SEEDS; i++) {
		uint8_t bytes[1 + 4 * STEPS];
		char name[16];
		struct rng rng;

		rng_init(&rng, i);
		rng_fill(&rng, bytes, sizeof(bytes));
		bytes[0] = (uint8_t)i;
		for (unsigned int s = 0; s < STEPS; s++)
			bytes[1 + 4 * s] = (uint8_t)(s % 2 ? rng_below(&rng, 256) : s % 4 * 40);
		snprintf(name, sizeof(name), "%u", i);
		seed_save(dir, name, bytes, sizeof(bytes));
	}
	return 0;
}
