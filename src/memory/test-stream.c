/* SPDX-License-Identifier: Apache-2.0 */
/* The copy past the caches: every byte, and none beside, at all alignments and lengths around its limits. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "memory/stream.h"
#include "tests/tap.h"

enum { SIZE = 40000, GUARD = 0xa5 };

int main(void)
{
	/* As long as needed, so that a sanitizer sees a byte too many. */
	uint8_t *src = malloc(SIZE), *dst = malloc(SIZE);
	unsigned int wrong = 0, runs = 0;
	struct rng rng;

	if (!src || !dst)
		return 1;
	rng_init(&rng, 3);
	rng_fill(&rng, src, SIZE);
	for (; runs < 2000; runs++) {
		size_t from = rng_below(&rng, 130), to = rng_below(&rng, 130);
		size_t n = runs % 4 ? 8192 - 70 + rng_below(&rng, 140) : rng_below(&rng, SIZE - 130);

		memset(dst, GUARD, SIZE);
		mem_stream_copy(dst + to, src + from, n);
		wrong += memcmp(dst + to, src + from, n) != 0;
		for (size_t i = 0; i < SIZE; i++)
			wrong += (i < to || i >= to + n) && dst[i] != GUARD;
	}
	is_u64(wrong, 0, "%u copies, right to the byte", runs);
	mem_stream_copy(dst + SIZE - 9000, src + SIZE - 9000, 9000);
	ok(memcmp(dst + SIZE - 9000, src + SIZE - 9000, 9000) == 0, "up to the end of both");
	free(src);
	free(dst);
	return tap_done();
}
