/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libgdrapi.so.2 for tests, beside the double of the driver: its mappings are the bytes behind
 * the device's memory. As with the real one, what is pinned is whole pages of 64 KiB.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/doubles/double.h"

struct gdr {
	int unused;
};

struct handle {
	unsigned long h;
};

static struct gdr driver;
static unsigned long long stores, stored;

static uint8_t *bytes(uint64_t addr)
{
	static uint8_t *(*find)(uint64_t addr, size_t n);
	void *cuda, *at;

	if (!find) {
		cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
		at = cuda ? dlsym(cuda, "penstock_double_bytes") : NULL;
		if (!at)
			double_misuse("gdrcopy without the double of the driver");
		memcpy(&find, &at, sizeof(at));
	}
	return find(addr, 1);
}

__attribute__((destructor)) static void report(void)
{
	const char *file = getenv("PENSTOCK_DOUBLE_GDR_REPORT");
	FILE *f = file ? fopen(file, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "stores=%llu bytes=%llu\n", stores, stored);
	fclose(f);
}

DOUBLE_API struct gdr *gdr_open(void);
struct gdr *gdr_open(void)
{
	return double_fails(__func__) ? NULL : &driver;
}

DOUBLE_API int gdr_pin_buffer(struct gdr *g, unsigned long addr, size_t n, uint64_t token, uint32_t space,
			      struct handle *handle);
int gdr_pin_buffer(struct gdr *g, unsigned long addr, size_t n, uint64_t token, uint32_t space,
		   struct handle *handle)
{
	if (double_fails(__func__))
		return 12; /* ENOMEM: BAR1 is full */
	if (addr % 65536 || n % 65536)
		double_misuse("gdr_pin_buffer of no whole pages");
	if (!bytes(addr))
		return 22;
	handle->h = addr;
	return 0;
}

DOUBLE_API int gdr_unpin_buffer(struct gdr *g, struct handle handle);
int gdr_unpin_buffer(struct gdr *g, struct handle handle)
{
	return 0;
}

DOUBLE_API int gdr_map(struct gdr *g, struct handle handle, void **va, size_t n);
int gdr_map(struct gdr *g, struct handle handle, void **va, size_t n)
{
	if (double_fails(__func__))
		return 12;
	*va = bytes(handle.h);
	return 0;
}

DOUBLE_API int gdr_unmap(struct gdr *g, struct handle handle, void *va, size_t n);
int gdr_unmap(struct gdr *g, struct handle handle, void *va, size_t n)
{
	return 0;
}

DOUBLE_API int gdr_copy_to_mapping(struct handle handle, void *to, const void *from, size_t n);
int gdr_copy_to_mapping(struct handle handle, void *to, const void *from, size_t n)
{
	if (double_fails(__func__))
		return 22;
	memcpy(to, from, n);
	__atomic_fetch_add(&stores, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&stored, n, __ATOMIC_RELAXED);
	return 0;
}
