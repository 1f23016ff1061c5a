/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields inside a dword, and the 128-bit counters of the standard.
 *
 * The standard writes bit ranges as high:low ("bits 31:16"); so do these helpers, so that a line of
 * code can be held against a line of a figure. Bit-fields of C are not used for anything on the
 * wire: their layout is the compiler's.
 */
#ifndef PENSTOCK_NVME_BITS_H
#define PENSTOCK_NVME_BITS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/le.h"

/* The figure of the standard puts @member of struct @type at byte @offset. */
#define NVME_AT(type, member, offset)                                                              \
	static_assert(offsetof(struct type, member) == (offset), #type "." #member)

/* Bits @high:@low of @v, moved down to bit 0. 31 >= high >= low. */
static inline uint32_t nvme_bits32(uint32_t v, unsigned int high, unsigned int low)
{
	return (v >> low) & (UINT32_MAX >> (31 - (high - low)));
}

/* The same for 64 bits. 63 >= high >= low. */
static inline uint64_t nvme_bits64(uint64_t v, unsigned int high, unsigned int low)
{
	return (v >> low) & (UINT64_MAX >> (63 - (high - low)));
}

static inline bool nvme_bit(uint64_t v, unsigned int bit)
{
	return (v >> bit) & 1;
}

/* 128-bit little-endian counter (SMART log, capacities of Identify Controller). */
struct nvme_u128 {
	le64 lo;
	le64 hi;
};

static_assert(sizeof(struct nvme_u128) == 16, "a 128-bit field is 16 bytes");

static inline struct nvme_u128 nvme_u128(uint64_t v)
{
	return (struct nvme_u128){ .lo = cpu_to_le64(v), .hi = cpu_to_le64(0) };
}

/* The value, or UINT64_MAX when it does not fit into 64 bits. */
static inline uint64_t nvme_u128_to_cpu(struct nvme_u128 v)
{
	return le64_to_cpu(v.hi) ? UINT64_MAX : le64_to_cpu(v.lo);
}

#endif
