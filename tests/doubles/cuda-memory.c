/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/doubles/cuda-memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/doubles/double.h"

enum { DEVICES_MAX = 8, PAGE = 4096 };
#define GRANULE (UINT64_C(2) << 20)

struct arena {
	uint8_t *addresses; /* PROT_NONE: a stray access faults */
	uint8_t *bytes;
	uint64_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arena arenas[DEVICES_MAX];
static struct range *ranges;

static uint8_t *reserve(uint64_t size, int rights)
{
	void *p = mmap(NULL, size, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		double_misuse("no room for %llu bytes", (unsigned long long)size);
	return p;
}

void memory_init(unsigned int devices, uint64_t bytes)
{
	for (unsigned int i = 0; i < devices && i < DEVICES_MAX; i++) {
		arenas[i].size = bytes;
		arenas[i].addresses = reserve(bytes, PROT_NONE);
		arenas[i].bytes = reserve(bytes, PROT_READ | PROT_WRITE);
	}
}

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static bool overlaps(const struct range *r, uint64_t start, uint64_t size)
{
	return r->start < start + size && start < r->start + r->size;
}

/* First fit, as allocations begin on GRANULE, which is what the driver's large ones do. */
static uint64_t place(const struct arena *a, uint64_t size)
{
	uint64_t at = address(a->addresses), end = at + a->size;

	at = (at + GRANULE - 1) / GRANULE * GRANULE;
	for (; at + size <= end; at += GRANULE) {
		const struct range *r = ranges;

		while (r && !overlaps(r, at, size))
			r = r->next;
		if (!r)
			return at;
	}
	return 0;
}

static struct range *add(struct range what)
{
	struct range *r = malloc(sizeof(*r));

	if (!r)
		double_misuse("out of memory");
	*r = what;
	r->next = ranges;
	ranges = r;
	return r;
}

struct range *memory_new(enum range_kind kind, unsigned int device, void *ctx, uint64_t size)
{
	struct range what = { .kind = kind, .size = size, .device = device, .ctx = ctx };
	struct range *r = NULL;

	pthread_mutex_lock(&lock);
	if (kind == RANGE_PINNED)
		what.start = address(reserve(size, PROT_READ | PROT_WRITE));
	else
		what.start = place(&arenas[device], size);
	if (what.start)
		r = add(what);
	/* What was there before is not to be relied on. */
	if (r && kind != RANGE_PINNED && kind != RANGE_RESERVED)
		memset(arenas[device].bytes + (r->start - address(arenas[device].addresses)), 0xdb, size);
	pthread_mutex_unlock(&lock);
	return r;
}

struct range *memory_map(uint64_t addr, uint64_t size, unsigned int device)
{
	struct range *r, *found = NULL;

	pthread_mutex_lock(&lock);
	for (r = ranges; r; r = r->next) {
		if (r->kind == RANGE_RESERVED && addr >= r->start && addr + size <= r->start + r->size)
			found = r;
	}
	if (found)
		found = add((struct range){ .kind = RANGE_VIRTUAL,
					    .start = addr,
					    .size = size,
					    .device = device,
					    .reserved_start = found->start,
					    .reserved_size = found->size });
	pthread_mutex_unlock(&lock);
	return found;
}

bool memory_free(enum range_kind kind, uint64_t addr)
{
	struct range **at, *r = NULL;

	pthread_mutex_lock(&lock);
	for (at = &ranges; *at; at = &(*at)->next) {
		if ((*at)->start == addr && (*at)->kind == kind) {
			r = *at;
			*at = r->next;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	if (!r)
		return false;
	if (kind == RANGE_PINNED)
		munmap((void *)(uintptr_t)r->start, r->size);
	free(r);
	return true;
}

bool memory_find(uint64_t addr, struct range *ret)
{
	const struct range *found = NULL;

	pthread_mutex_lock(&lock);
	for (const struct range *r = ranges; r; r = r->next) {
		if (addr >= r->start && addr - r->start < r->size && (!found || found->kind == RANGE_RESERVED))
			found = r;
	}
	if (found)
		*ret = *found;
	pthread_mutex_unlock(&lock);
	return found;
}

uint8_t *memory_shadow(uint64_t addr, uint64_t size)
{
	struct range r;
	uint64_t at = addr;

	while (at < addr + size) {
		if (!memory_find(at, &r) || r.kind == RANGE_PINNED || r.kind == RANGE_RESERVED)
			return NULL;
		at = r.start + r.size;
	}
	if (size == 0 && !memory_find(addr, &r))
		return NULL;
	return arenas[r.device].bytes + (addr - address(arenas[r.device].addresses));
}

bool memory_pinned(const void *p, uint64_t size)
{
	struct range r;

	return memory_find(address(p), &r) && r.kind == RANGE_PINNED && address(p) + size <= r.start + r.size;
}

unsigned int memory_count(enum range_kind kind)
{
	unsigned int n = 0;

	pthread_mutex_lock(&lock);
	for (const struct range *r = ranges; r; r = r->next)
		n += r->kind == kind;
	pthread_mutex_unlock(&lock);
	return n;
}
