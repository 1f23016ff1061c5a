/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fits isa-l's call to ours: isa-l leaves the inversion at both ends to its caller and counts in
 * int.
 */
#include "base/crc32c.h"

#include <isa-l/crc.h>

#include "base/util.h"

uint32_t crc32c(uint32_t crc, const void *p, size_t n)
{
	/* Not const in isa-l's prototype, but only read. */
	unsigned char *at = (unsigned char *)(uintptr_t)p;
	/* The largest length that fits an int and keeps what follows aligned as it was. */
	const size_t most = (size_t)1 << 30;

	crc = ~crc;
	while (n > 0) {
		size_t some = MIN(n, most);

		crc = crc32_iscsi(at, (int)some, crc);
		at += some;
		n -= some;
	}
	return ~crc;
}
