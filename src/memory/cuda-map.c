/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small copies without the copy engine: gdrcopy maps a piece of GPU memory through BAR1, and the
 * CPU stores into it. Starting a copy of the engine takes 6 us, storing 16 KiB about as long;
 * reading back through the mapping is slow at any size, so that way is not taken.
 *
 * The mapping covers whole GPU pages of 64 KiB, which may belong to neighbours; nothing is ever
 * stored outside the region. BAR1 may be too small for it: then there is no mapping, and no harm.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/cuda-impl.h"
#include "memory/cuda.h"

#define LIBRARY	 "libgdrapi.so.2"
#define GPU_PAGE UINT64_C(65536)

struct gdr;
struct gdr_handle {
	unsigned long h;
};

struct gdr_api {
	struct gdr *(*open)(void);
	int (*pin)(struct gdr *g, unsigned long addr, size_t size, uint64_t token, uint32_t va_space,
		   struct gdr_handle *handle);
	int (*unpin)(struct gdr *g, struct gdr_handle handle);
	int (*map)(struct gdr *g, struct gdr_handle handle, void **va, size_t size);
	int (*unmap)(struct gdr *g, struct gdr_handle handle, void *va, size_t size);
	int (*copy_in)(struct gdr_handle handle, void *to, const void *from, size_t size);
};

static const struct {
	const char *name;
	size_t offset;
} symbols[] = {
	{ "gdr_open", offsetof(struct gdr_api, open) },
	{ "gdr_pin_buffer", offsetof(struct gdr_api, pin) },
	{ "gdr_unpin_buffer", offsetof(struct gdr_api, unpin) },
	{ "gdr_map", offsetof(struct gdr_api, map) },
	{ "gdr_unmap", offsetof(struct gdr_api, unmap) },
	{ "gdr_copy_to_mapping", offsetof(struct gdr_api, copy_in) },
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct gdr_api api;
static struct gdr *driver; /* one handle for the process, which stays open */
static struct err why_not = ERR_NULL;
/* The library does not say that its calls may be made from several threads at a time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void load(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		err_set(&why_not, ENODEV, "gdrcopy (%s) is not installed", LIBRARY);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		void *at = dlsym(library, symbols[i].name);

		if (!at) {
			err_set(&why_not, ENODEV, "%s has no %s", LIBRARY, symbols[i].name);
			return;
		}
		memcpy((uint8_t *)&api + symbols[i].offset, &at, sizeof(at));
	}
	driver = api.open();
	if (!driver)
		err_set(&why_not, ENODEV, "gdrcopy finds no driver of its own (gdrdrv), or may not use it");
}

struct map {
	struct mem_mapping m;
	struct gdr_handle handle;
	void *va;	 /* of the first page */
	uint64_t length; /* of the pages */
	uint64_t skip;	 /* from there to the region */
};

static int map_copy_in(struct mem_mapping *mapping, uint64_t offset, const struct iovec *iov, int niov)
{
	struct map *m = container_of(mapping, struct map, m);
	uint8_t *to = (uint8_t *)m->va + m->skip + offset;

	for (int i = 0; i < niov; to += iov[i].iov_len, i++) {
		if (iov[i].iov_len > 0 && api.copy_in(m->handle, to, iov[i].iov_base, iov[i].iov_len) != 0)
			return -EIO;
	}
	return 0;
}

static void map_unmap(struct mem_mapping *mapping)
{
	struct map *m = container_of(mapping, struct map, m);

	pthread_mutex_lock(&lock);
	(void)api.unmap(driver, m->handle, m->va, m->length);
	(void)api.unpin(driver, m->handle);
	pthread_mutex_unlock(&lock);
	mem_free(m);
}

static int pin_and_map(struct map *m, uint64_t addr)
{
	int r;

	pthread_mutex_lock(&lock);
	r = api.pin(driver, (unsigned long)addr, m->length, 0, 0, &m->handle);
	if (r == 0) {
		r = api.map(driver, m->handle, &m->va, m->length);
		if (r != 0)
			(void)api.unpin(driver, m->handle);
	}
	pthread_mutex_unlock(&lock);
	return r;
}

int mem_cuda_map(struct mem_region *r, uint64_t max, struct err *err)
{
	uint64_t start = ALIGN_DOWN(r->addr, GPU_PAGE), end = ALIGN_UP(r->addr + r->length, GPU_PAGE);
	struct cuda *c = cuda_of(r->dev);
	struct map *m;
	int e;

	pthread_once(&once, load);
	if (!driver) {
		*err = why_not;
		return -err->code;
	}
	m = mem_zalloc(sizeof(*m));
	if (!m)
		return err_set(err, ENOMEM, "out of memory");
	m->m = (struct mem_mapping){ .max = max, .copy_in = map_copy_in, .unmap = map_unmap };
	m->length = end - start;
	m->skip = r->addr - start;
	e = EIO;
	if (cuda_enter(c)) { /* it pins for the context that is current */
		e = pin_and_map(m, start);
		cuda_leave(c);
	}
	if (e != 0) {
		mem_free(m);
		return err_set(err, e > 0 ? e : EIO, "gdrcopy cannot map %llu bytes of %s: BAR1 may be full",
			       (unsigned long long)(end - start), r->dev->name);
	}
	r->mapping = &m->m;
	return 0;
}
