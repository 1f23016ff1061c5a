/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of an epoch: a permutation of [0, n) that is a function of (seed, epoch, n) alone, so
 * that every rank, run and restart agrees on it without talking. Needs no memory: position i is
 * computed on its own, so a rank can begin anywhere and a billion samples cost nothing.
 *
 * A balanced Feistel network of four rounds over the next even power of two, walked until the
 * result is below n ("cycle walking": Black and Rogaway, Ciphers with Arbitrary Finite Domains,
 * 2002): at most four walks on average. Good for shuffling, not for secrets.
 */
#ifndef FEED_SHUFFLE_H
#define FEED_SHUFFLE_H

#include <stdint.h>

struct shuffle {
	uint64_t n;
	uint64_t keys[4];
	unsigned int half_bits; /* 0: no shuffling, the order is the archive's */
};

/* @n > 0. */
void shuffle_init(struct shuffle *s, uint64_t n, uint64_t seed, uint64_t epoch);
void shuffle_init_sequential(struct shuffle *s, uint64_t n);
/* The sample at position @i < n. */
uint64_t shuffle_at(const struct shuffle *s, uint64_t i);

#endif
