/* SPDX-License-Identifier: Apache-2.0 */
#include "feed/shuffle.h"

#include "base/hash.h"

void shuffle_init(struct shuffle *s, uint64_t n, uint64_t seed, uint64_t epoch)
{
	unsigned int bits = 2;

	while (bits < 64 && n > UINT64_C(1) << bits)
		bits += 2;
	*s = (struct shuffle){ .n = n, .half_bits = bits / 2 };
	for (unsigned int i = 0; i < 4; i++)
		s->keys[i] = hash_u64(hash_u64(hash_u64(HASH_INIT, seed), epoch), i);
}

void shuffle_init_sequential(struct shuffle *s, uint64_t n)
{
	*s = (struct shuffle){ .n = n };
}

static uint64_t permute(const struct shuffle *s, uint64_t v)
{
	uint64_t mask = (UINT64_C(1) << s->half_bits) - 1;
	uint64_t left = v >> s->half_bits, right = v & mask;

	for (int i = 0; i < 4; i++) {
		uint64_t f = hash_u64(s->keys[i], right) & mask, was = right;

		right = left ^ f;
		left = was;
	}
	return left << s->half_bits | right;
}

uint64_t shuffle_at(const struct shuffle *s, uint64_t i)
{
	if (s->half_bits == 0)
		return i;
	do
		i = permute(s, i);
	while (i >= s->n);
	return i;
}
