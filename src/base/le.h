/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Little-endian integers as they lie on the wire. Each is a struct of bytes, so it has no alignment
 * and no padding, and assigning it to or from a CPU integer without converting does not compile.
 * The compiler turns each conversion into one load or store; nothing is paid for the safety.
 */
#ifndef BASE_LE_H
#define BASE_LE_H

#include <assert.h>
#include <stdint.h>

typedef struct {
	uint8_t b[2];
} le16;

typedef struct {
	uint8_t b[4];
} le32;

typedef struct {
	uint8_t b[8];
} le64;

static_assert(sizeof(le16) == 2 && _Alignof(le16) == 1, "le16 is two bytes anywhere");
static_assert(sizeof(le32) == 4 && _Alignof(le32) == 1, "le32 is four bytes anywhere");
static_assert(sizeof(le64) == 8 && _Alignof(le64) == 1, "le64 is eight bytes anywhere");

static inline uint16_t le16_to_cpu(le16 v)
{
	return (uint16_t)(v.b[0] | v.b[1] << 8);
}

static inline uint32_t le32_to_cpu(le32 v)
{
	return (uint32_t)v.b[0] | (uint32_t)v.b[1] << 8 | (uint32_t)v.b[2] << 16 |
	       (uint32_t)v.b[3] << 24;
}

static inline uint64_t le64_to_cpu(le64 v)
{
	return (uint64_t)v.b[0] | (uint64_t)v.b[1] << 8 | (uint64_t)v.b[2] << 16 |
	       (uint64_t)v.b[3] << 24 | (uint64_t)v.b[4] << 32 | (uint64_t)v.b[5] << 40 |
	       (uint64_t)v.b[6] << 48 | (uint64_t)v.b[7] << 56;
}

static inline le16 cpu_to_le16(uint16_t v)
{
	return (le16){ { (uint8_t)v, (uint8_t)(v >> 8) } };
}

static inline le32 cpu_to_le32(uint32_t v)
{
	return (le32){ { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24) } };
}

static inline le64 cpu_to_le64(uint64_t v)
{
	return (le64){ { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24),
			 (uint8_t)(v >> 32), (uint8_t)(v >> 40), (uint8_t)(v >> 48),
			 (uint8_t)(v >> 56) } };
}

#endif
