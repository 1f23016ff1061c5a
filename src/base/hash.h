/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A 64-bit running hash: of traces, whose equality shows that a simulation repeats itself, and of
 * names. The state is the value, so it can be kept, compared and printed at any point. Not against
 * anybody who wants collisions.
 *
 *	uint64_t h = HASH_INIT;
 *	h = hash_u64(h, now);
 *	h = hash_bytes(h, data, n);
 *
 * Bytes go through FNV-1a, so cutting them differently gives the same value; whole words go through
 * two multiplications each, which is what a simulator can afford per event.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a's 64-bit offset basis and prime. */
#define HASH_INIT  UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x00000100000001b3)

/* Appends `n` bytes. */
static inline uint64_t hash_bytes(uint64_t hash, const void *p, size_t n)
{
	const uint8_t *at = p;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ at[i]) * HASH_PRIME;
	return hash;
}

/* Appends one number. Every bit of it and of the state reaches every bit of the result. */
static inline uint64_t hash_u64(uint64_t hash, uint64_t value)
{
	/*
	 * Rotating the state keeps a value from undoing the one before it; adding, a zero from
	 * vanishing.
	 */
	uint64_t h = ((hash << 25 | hash >> 39) ^ value) + UINT64_C(0x9e3779b97f4a7c15);

	/* The finaliser of SplitMix64. */
	h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
	return h ^ h >> 31;
}

/* Appends a text and its end, so that "ab" "c" and "a" "bc" differ. */
static inline uint64_t hash_str(uint64_t hash, const char *s)
{
	size_t n = __builtin_strlen(s);

	return hash_u64(hash_bytes(hash, s, n), n);
}

#endif
