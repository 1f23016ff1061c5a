/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking a scatter list without changing it: a cursor that gathers, scatters, compares and cuts
 * windows. The array stays the caller's. Asking for more than is left is an INVARIANT.
 */
#ifndef PENSTOCK_STORE_IOV_H
#define PENSTOCK_STORE_IOV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct iov_cursor {
	const struct iovec *iov;
	int niov;    /* left, with the present one */
	size_t skip; /* bytes of the present one that are behind */
};

static inline struct iov_cursor iov_cursor(const struct iovec *iov, int niov)
{
	return (struct iov_cursor){ .iov = iov, .niov = niov };
}

uint64_t iov_length(const struct iovec *iov, int niov);
/* Are all bases and lengths multiples of @align, a power of two? */
bool iov_aligned(const struct iovec *iov, int niov, uint32_t align);

/* Each of these moves the cursor by @n bytes. */
void iov_skip(struct iov_cursor *c, uint64_t n);
void iov_gather(struct iov_cursor *c, void *to, size_t n);
/* The same around the cache, for what will not be read soon (stream-copy.h). */
void iov_gather_away(struct iov_cursor *c, void *to, size_t n);
void iov_scatter(struct iov_cursor *c, const void *from, size_t n);
void iov_zero(struct iov_cursor *c, size_t n);
/* True if equal. @with NULL: with zeroes. */
bool iov_equal(struct iov_cursor *c, const void *with, size_t n);

/*
 * Describes up to the next @n bytes in at most @max vectors at @to. Returns how many it used, and
 * the bytes they hold. The cursor stays.
 */
int iov_window(const struct iov_cursor *c, uint64_t n, struct iovec *to, int max,
	       uint64_t *ret_bytes);

#endif
