/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window into something longer: what a host asked for of a log page or data structure.
 *
 * The producer writes the whole thing from its beginning, piece by piece, whatever the host wants
 * of it; the window keeps what falls between offset and length and puts it into the request's
 * buffer, over as many vectors as that has. So nobody builds a log in memory, and nobody computes
 * which part of it to copy.
 */
#ifndef PENSTOCK_TARGET_WINDOW_H
#define PENSTOCK_TARGET_WINDOW_H

#include <stddef.h>
#include <stdint.h>

struct tgt_req;

struct tgt_window {
	struct tgt_req *req;
	uint64_t from; /* first byte that is wanted */
	uint64_t to;   /* one past the last */
	uint64_t at;   /* bytes produced so far */
	int iov_i;     /* where the next wanted byte goes */
	size_t iov_off;
};

/* The @len bytes from @offset on go to the front of the buffer of @req, which has room for them. */
void tgt_window_init(struct tgt_window *w, struct tgt_req *req, uint64_t offset, uint64_t len);
/* The next @n bytes. @p NULL: zeroes. */
void tgt_window_put(struct tgt_window *w, const void *p, uint64_t n);
/*
 * Nothing more comes: the rest of the request's data becomes zero. Returns how long the whole was.
 */
uint64_t tgt_window_end(struct tgt_window *w);

#endif
