/* SPDX-License-Identifier: Apache-2.0 */
#include "feed/shuffle.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "tests/tap.h"

static bool is_permutation(const struct shuffle *s)
{
	uint8_t *seen = calloc(s->n, 1);
	bool all = true;

	for (uint64_t i = 0; i < s->n; i++) {
		uint64_t v = shuffle_at(s, i);

		if (v >= s->n || seen[v]++) {
			all = false;
			break;
		}
	}
	free(seen);
	return all;
}

static void permutations(void)
{
	static const uint64_t sizes[] = { 1, 2, 3, 4, 5, 16, 17, 100, 168, 1000, 4096, 4097, 524288 };
	struct shuffle s;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		shuffle_init(&s, sizes[i], 42, i);
		ok(is_permutation(&s), "each of %llu samples comes once", (unsigned long long)sizes[i]);
	}
	shuffle_init_sequential(&s, 1000);
	ok(shuffle_at(&s, 0) == 0 && shuffle_at(&s, 999) == 999, "sequential is the archive's order");
}

/* How many of the samples two orders have at the same place: 1 is to be expected. */
static uint64_t agreement(const struct shuffle *a, const struct shuffle *b)
{
	uint64_t same = 0;

	for (uint64_t i = 0; i < a->n; i++)
		same += shuffle_at(a, i) == shuffle_at(b, i);
	return same;
}

static void independence(void)
{
	struct shuffle a, b, in_order;
	uint64_t count[16][16] = { 0 }, least = UINT64_MAX, most = 0, neighbours = 0;

	shuffle_init(&a, 100000, 1, 0);
	shuffle_init(&b, 100000, 1, 1);
	shuffle_init_sequential(&in_order, 100000);
	ok(agreement(&a, &b) < 12, "another epoch has another order");
	shuffle_init(&b, 100000, 2, 0);
	ok(agreement(&a, &b) < 12, "another seed has another order");
	ok(agreement(&a, &in_order) < 12, "which is not the archive's");
	shuffle_init(&b, 100000, 1, 0);
	is_u64(agreement(&a, &b), 100000, "the same seed and epoch have the same order");
	for (uint64_t i = 0; i + 1 < a.n; i++)
		neighbours += shuffle_at(&a, i) + 1 == shuffle_at(&a, i + 1);
	ok(neighbours < 12, "neighbours do not stay together (%llu)", (unsigned long long)neighbours);

	/* Over many seeds, each of 16 samples comes at each of 16 places about as often. */
	for (uint64_t seed = 0; seed < 16000; seed++) {
		shuffle_init(&a, 16, seed, 3);
		for (uint64_t i = 0; i < 16; i++)
			count[i][shuffle_at(&a, i)]++;
	}
	for (int i = 0; i < 256; i++) {
		least = MIN(least, count[i / 16][i % 16]);
		most = MAX(most, count[i / 16][i % 16]);
	}
	ok(least > 800 && most < 1200, "even over places: %llu to %llu of 1000 expected",
	   (unsigned long long)least, (unsigned long long)most);
}

static void fixed_for_ever(void)
{
	struct shuffle s;
	uint64_t first[8];

	shuffle_init(&s, 8, 1, 0);
	for (uint64_t i = 0; i < 8; i++)
		first[i] = shuffle_at(&s, i);
	diag("order of 8 by seed 1, epoch 0: %llu %llu %llu %llu %llu %llu %llu %llu",
	     (unsigned long long)first[0], (unsigned long long)first[1], (unsigned long long)first[2],
	     (unsigned long long)first[3], (unsigned long long)first[4], (unsigned long long)first[5],
	     (unsigned long long)first[6], (unsigned long long)first[7]);
	is_mem(first, ((const uint64_t[8]){ 6, 3, 5, 7, 1, 2, 0, 4 }), sizeof(first),
	       "the order of a seed never changes");
}

int main(void)
{
	permutations();
	independence();
	fixed_for_ever();
	return tap_done();
}
