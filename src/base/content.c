/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Word k of an object is a mix of (key + k), the key made from seed and object by a stronger mix;
 * one multiplication and two shifts per word keep it near the speed of memory.
 */
#include "base/content.h"

#include <string.h>

#include "base/hash.h"
#include "base/le.h"
#include "base/util.h"

enum { CHUNK_WORDS = 64 };

static uint64_t content_key(uint64_t seed, uint64_t object)
{
	return hash_u64(hash_u64(hash_u64(HASH_INIT, seed), object), 0x70656e73746f636bull);
}

static uint64_t word(uint64_t key, uint64_t k)
{
	uint64_t x = (key + k) * 0x9e3779b97f4a7c15ull;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	return x ^ x >> 32;
}

static void words(uint64_t key, uint64_t first, size_t count, uint64_t *out)
{
	for (size_t i = 0; i < count; i++) {
		le64 v = cpu_to_le64(word(key, first + i));

		memcpy(&out[i], &v, sizeof(v));
	}
}

void content_fill(uint64_t seed, uint64_t object, uint64_t offset, void *buf, size_t n)
{
	uint64_t key = content_key(seed, object), chunk[CHUNK_WORDS];
	uint8_t *at = buf;

	while (n > 0) {
		size_t skip = offset % 8, take = MIN(n, sizeof(chunk) - skip);

		words(key, offset / 8, (skip + take + 7) / 8, chunk);
		memcpy(at, (uint8_t *)chunk + skip, take);
		at += take;
		offset += take;
		n -= take;
	}
}

size_t content_check(uint64_t seed, uint64_t object, uint64_t offset, const void *buf, size_t n)
{
	uint64_t key = content_key(seed, object), chunk[CHUNK_WORDS];
	const uint8_t *at = buf;
	size_t left = n;

	while (left > 0) {
		size_t skip = offset % 8, take = MIN(left, sizeof(chunk) - skip);
		const uint8_t *want = (const uint8_t *)chunk + skip;

		words(key, offset / 8, (skip + take + 7) / 8, chunk);
		if (memcmp(at, want, take) != 0) {
			size_t i = 0;

			while (at[i] == want[i])
				i++;
			return n - left + i;
		}
		at += take;
		offset += take;
		left -= take;
	}
	return n;
}
