/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The double's memory: device addresses, none of which the CPU may touch, and pinned host memory.
 * The bytes of an address are in a second mapping that only the double knows.
 */
#ifndef TESTS_DOUBLES_CUDA_MEMORY_H
#define TESTS_DOUBLES_CUDA_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum range_kind {
	RANGE_DEVICE,  /* cuMemAlloc(): of a context */
	RANGE_POOL,    /* cuMemAllocAsync(): of no context */
	RANGE_VIRTUAL, /* cuMemMap(): one of many mappings side by side */
	RANGE_MANAGED,
	RANGE_PINNED,
	RANGE_RESERVED, /* cuMemAddressReserve(): addresses without memory */
};

struct range {
	struct range *next;
	enum range_kind kind;
	uint64_t start;
	uint64_t size;
	uint64_t reserved_start; /* of the reservation that a mapping lies in */
	uint64_t reserved_size;
	unsigned int device;
	void *ctx;
};

/* Bytes of memory of each device. */
void memory_init(unsigned int devices, uint64_t bytes);
/* NULL: no room. Pinned memory is for the CPU. */
struct range *memory_new(enum range_kind kind, unsigned int device, void *ctx, uint64_t size);
/* Maps a part of a reservation. */
struct range *memory_map(uint64_t addr, uint64_t size, unsigned int device);
/* Frees what begins there and is of that kind. False: there is none. */
bool memory_free(enum range_kind kind, uint64_t addr);
/* Into @ret: what @addr is in. False: nothing of ours. Mappings come before the reservation around them. */
bool memory_find(uint64_t addr, struct range *ret);
/* The bytes behind device memory; NULL if not all of it is memory. */
uint8_t *memory_shadow(uint64_t addr, uint64_t size);
/* Is all of it pinned host memory? */
bool memory_pinned(const void *p, uint64_t size);
/* How many ranges there are of a kind. */
unsigned int memory_count(enum range_kind kind);

#endif
