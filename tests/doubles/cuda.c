/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcuda.so.1 for tests, on machines without a GPU: what Penstock calls of the driver, with
 * memory that the CPU cannot touch and copies that happen later. It is no GPU and says so in its
 * name. Controlled by the environment (double.h, and):
 *
 *	PENSTOCK_DOUBLE_CUDA_DEVICES=1
 *	PENSTOCK_DOUBLE_CUDA_MIB=1024		memory of each
 *	PENSTOCK_DOUBLE_CUDA_DELAY_US=50	longest delay before each thing a stream does
 *	PENSTOCK_DOUBLE_CUDA_INSTANT=1		a device of no cost: copies move nothing and take no time
 *	PENSTOCK_DOUBLE_CUDA_OLD=1		a driver that knows no attributes of mappings
 *	PENSTOCK_DOUBLE_REPORT=FILE		counts, written when the process ends
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/doubles/cuda-memory.h"
#include "tests/doubles/cuda-stream.h"
#include "tests/doubles/double.h"

enum {
	OK = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	INVALID_DEVICE = 101,
	INVALID_CONTEXT = 201,
	NOT_READY = 600,
	UNKNOWN = 999,
};

enum { DEVICES_MAX = 8, NESTED_MAX = 16 };

struct context {
	unsigned int device;
	atomic_uint holds;
	struct stream *stream; /* the legacy default one, made when it is used */
	bool primary;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool up;
static _Atomic int lost; /* what every call says after the device is lost */
static unsigned int devices;
static uint64_t device_bytes;
static bool instant, old;
static struct context primary[DEVICES_MAX];
static _Thread_local struct context *current[NESTED_MAX];
static _Thread_local unsigned int nested;
static atomic_ullong copies_in, copies_out, bytes_in, bytes_out, pageable, largest;

static void count_copy(atomic_ullong *copies, atomic_ullong *bytes, size_t n)
{
	unsigned long long was = atomic_load(&largest);

	atomic_fetch_add(copies, 1);
	atomic_fetch_add(bytes, n);
	while (was < n && !atomic_compare_exchange_weak(&largest, &was, n))
		;
}

__attribute__((destructor)) static void report(void)
{
	const char *file = getenv("PENSTOCK_DOUBLE_REPORT");
	FILE *f = file && atomic_load(&up) ? fopen(file, "a") : NULL;
	unsigned int holds = 0, defaults = 0;

	if (!f)
		return;
	for (unsigned int i = 0; i < devices; i++)
		holds += atomic_load(&primary[i].holds);
	/* A context has its default stream as long as it lives, which is to the end here. */
	for (unsigned int i = 0; i < devices; i++)
		defaults += primary[i].stream != NULL;
	fprintf(f,
		"copies_in=%llu copies_out=%llu bytes_in=%llu bytes_out=%llu pageable=%llu largest=%llu "
		"left: device=%u pinned=%u streams=%u events=%u contexts=%u\n",
		copies_in, copies_out, bytes_in, bytes_out, pageable, largest, memory_count(RANGE_DEVICE),
		memory_count(RANGE_PINNED), stream_count() - defaults, event_count(), holds);
	fclose(f);
}

/* What every call begins with. */
static int call(const char *name)
{
	if (!atomic_load(&up))
		return NOT_INITIALIZED;
	if (double_fails(name))
		return UNKNOWN;
	return atomic_load(&lost);
}

static struct context *here(void)
{
	return nested > 0 ? current[nested - 1] : NULL;
}

#define BEGIN()                                                                                    \
	do {                                                                                       \
		int begin = call(__func__);                                                        \
		if (begin != OK)                                                                   \
			return begin;                                                              \
	} while (0)

#define BEGIN_IN_CONTEXT()                                                                         \
	do {                                                                                       \
		BEGIN();                                                                           \
		if (!here())                                                                       \
			return INVALID_CONTEXT;                                                    \
	} while (0)

static struct stream *stream_at(struct stream *s)
{
	struct context *c = here();

	if ((uintptr_t)s > 2)
		return s;
	pthread_mutex_lock(&lock);
	if (!c->stream)
		c->stream = stream_new();
	pthread_mutex_unlock(&lock);
	return c->stream;
}

/* ---- the driver and its devices ------------------------------------------------------------ */

DOUBLE_API int cuInit(unsigned int flags);
int cuInit(unsigned int flags)
{
	if (double_fails(__func__))
		return 100; /* no device */
	pthread_mutex_lock(&lock);
	if (!atomic_load(&up)) {
		devices = (unsigned int)double_number("PENSTOCK_DOUBLE_CUDA_DEVICES", 1);
		devices = devices > DEVICES_MAX ? DEVICES_MAX : devices;
		device_bytes = double_number("PENSTOCK_DOUBLE_CUDA_MIB", 1024) << 20;
		instant = double_number("PENSTOCK_DOUBLE_CUDA_INSTANT", 0) != 0;
		old = double_number("PENSTOCK_DOUBLE_CUDA_OLD", 0) != 0;
		memory_init(devices, device_bytes);
		stream_init(double_number("PENSTOCK_DOUBLE_CUDA_DELAY_US", 50), &lost);
		for (unsigned int i = 0; i < devices; i++)
			primary[i] = (struct context){ .device = i, .primary = true };
		atomic_store(&up, true);
	}
	pthread_mutex_unlock(&lock);
	return OK;
}

DOUBLE_API int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
	*version = 12040;
	return OK;
}

DOUBLE_API int cuGetErrorName(int error, const char **name);
int cuGetErrorName(int error, const char **name)
{
	*name = error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
		: error == UNKNOWN ? "CUDA_ERROR_UNKNOWN"
		: error == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
		: error == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_OF_THE_DOUBLE";
	return OK;
}

DOUBLE_API int cuGetErrorString(int error, const char **text);
int cuGetErrorString(int error, const char **text)
{
	*text = "said by a test double";
	return OK;
}

DOUBLE_API int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count)
{
	BEGIN();
	*count = (int)devices;
	return OK;
}

DOUBLE_API int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal)
{
	BEGIN();
	if (ordinal < 0 || (unsigned int)ordinal >= devices)
		return INVALID_DEVICE;
	*device = ordinal;
	return OK;
}

DOUBLE_API int cuDeviceGetName(char *name, int length, int device);
int cuDeviceGetName(char *name, int length, int device)
{
	BEGIN();
	snprintf(name, (size_t)length, "test double %d, not a GPU", device);
	return OK;
}

DOUBLE_API int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	BEGIN();
	*bytes = device_bytes;
	return OK;
}

/* ---- contexts ------------------------------------------------------------------------------ */

DOUBLE_API int cuDevicePrimaryCtxRetain(struct context **ctx, int device);
int cuDevicePrimaryCtxRetain(struct context **ctx, int device)
{
	BEGIN();
	atomic_fetch_add(&primary[device].holds, 1);
	*ctx = &primary[device];
	return OK;
}

DOUBLE_API int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device)
{
	BEGIN();
	if (atomic_load(&primary[device].holds) == 0)
		double_misuse("a primary context released once too often");
	atomic_fetch_sub(&primary[device].holds, 1);
	return OK;
}

DOUBLE_API int cuCtxCreate_v2(struct context **ctx, unsigned int flags, int device);
int cuCtxCreate_v2(struct context **ctx, unsigned int flags, int device)
{
	BEGIN();
	*ctx = calloc(1, sizeof(**ctx));
	(*ctx)->device = (unsigned int)device;
	current[nested++] = *ctx;
	return OK;
}

DOUBLE_API int cuCtxPushCurrent_v2(struct context *ctx);
int cuCtxPushCurrent_v2(struct context *ctx)
{
	BEGIN();
	if (nested == NESTED_MAX)
		double_misuse("contexts are pushed and never popped");
	if (ctx->primary && atomic_load(&ctx->holds) == 0)
		double_misuse("a primary context that nobody holds");
	current[nested++] = ctx;
	return OK;
}

/* Works even when the device is lost, or what was pushed before could not be popped. */
DOUBLE_API int cuCtxPopCurrent_v2(struct context **ctx);
int cuCtxPopCurrent_v2(struct context **ctx)
{
	if (nested == 0)
		return INVALID_CONTEXT;
	*ctx = current[--nested];
	return OK;
}

DOUBLE_API int cuCtxGetStreamPriorityRange(int *least, int *greatest);
int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	BEGIN_IN_CONTEXT();
	*least = 0;
	*greatest = -5;
	return OK;
}

/* ---- memory -------------------------------------------------------------------------------- */

static int allocate(enum range_kind kind, uint64_t *ptr, size_t bytes)
{
	struct range *r;

	if (bytes == 0)
		return INVALID_VALUE;
	r = memory_new(kind, here()->device, kind == RANGE_DEVICE ? here() : NULL, bytes);
	if (!r)
		return OUT_OF_MEMORY;
	*ptr = r->start;
	return OK;
}

DOUBLE_API int cuMemAlloc_v2(uint64_t *ptr, size_t bytes);
int cuMemAlloc_v2(uint64_t *ptr, size_t bytes)
{
	BEGIN_IN_CONTEXT();
	return allocate(RANGE_DEVICE, ptr, bytes);
}

DOUBLE_API int cuMemAllocAsync(uint64_t *ptr, size_t bytes, struct stream *stream);
int cuMemAllocAsync(uint64_t *ptr, size_t bytes, struct stream *stream)
{
	BEGIN_IN_CONTEXT();
	return allocate(RANGE_POOL, ptr, bytes);
}

DOUBLE_API int cuMemAllocManaged(uint64_t *ptr, size_t bytes, unsigned int flags);
int cuMemAllocManaged(uint64_t *ptr, size_t bytes, unsigned int flags)
{
	BEGIN_IN_CONTEXT();
	return allocate(RANGE_MANAGED, ptr, bytes);
}

DOUBLE_API int cuMemAddressReserve(uint64_t *ptr, size_t bytes, size_t align, uint64_t at, unsigned long long flags);
int cuMemAddressReserve(uint64_t *ptr, size_t bytes, size_t align, uint64_t at, unsigned long long flags)
{
	BEGIN_IN_CONTEXT();
	return allocate(RANGE_RESERVED, ptr, bytes);
}

DOUBLE_API int cuMemMap(uint64_t ptr, size_t bytes, size_t offset, unsigned long long handle,
			unsigned long long flags);
int cuMemMap(uint64_t ptr, size_t bytes, size_t offset, unsigned long long handle, unsigned long long flags)
{
	BEGIN_IN_CONTEXT();
	return memory_map(ptr, bytes, here()->device) ? OK : INVALID_VALUE;
}

DOUBLE_API int cuMemFree_v2(uint64_t ptr);
int cuMemFree_v2(uint64_t ptr)
{
	BEGIN_IN_CONTEXT();
	if (!memory_free(RANGE_DEVICE, ptr) && !memory_free(RANGE_POOL, ptr) && !memory_free(RANGE_MANAGED, ptr))
		double_misuse("cuMemFree of 0x%llx, which was not allocated", (unsigned long long)ptr);
	return OK;
}

DOUBLE_API int cuMemHostAlloc(void **ptr, size_t bytes, unsigned int flags);
int cuMemHostAlloc(void **ptr, size_t bytes, unsigned int flags)
{
	struct range *r;

	BEGIN_IN_CONTEXT();
	r = memory_new(RANGE_PINNED, here()->device, here(), bytes);
	if (!r)
		return OUT_OF_MEMORY;
	*ptr = (void *)(uintptr_t)r->start;
	return OK;
}

DOUBLE_API int cuMemFreeHost(void *ptr);
int cuMemFreeHost(void *ptr)
{
	BEGIN_IN_CONTEXT();
	if (!memory_free(RANGE_PINNED, (uint64_t)(uintptr_t)ptr))
		double_misuse("cuMemFreeHost of what is not pinned");
	return OK;
}

/* As wide as the driver writes them: neighbours of a narrow one must not change. */
static void answer(int attribute, void *data, const struct range *r)
{
	bool virtual = r && r->kind == RANGE_VIRTUAL, memory = r && r->kind != RANGE_RESERVED;

	switch (attribute) {
	case 1:
		*(void **)data = memory ? r->ctx : NULL;
		break;
	case 2:
		*(unsigned int *)data = !memory ? 0 : r->kind == RANGE_PINNED ? 1 : 2;
		break;
	case 8:
		*(int *)data = r && r->kind == RANGE_MANAGED;
		break;
	case 9:
		*(int *)data = memory ? (int)r->device : -2;
		break;
	case 11:
		*(uint64_t *)data = !r ? 0 : virtual ? r->reserved_start : r->start;
		break;
	case 12:
		*(size_t *)data = !r ? 0 : virtual ? r->reserved_size : r->size;
		break;
	case 13:
		*(int *)data = memory;
		break;
	case 18:
		*(size_t *)data = memory ? r->size : 0;
		break;
	case 19:
		*(uint64_t *)data = memory ? r->start : 0;
		break;
	default:
		double_misuse("attribute %d of an address", attribute);
	}
}

DOUBLE_API int cuPointerGetAttributes(unsigned int n, int *attributes, void **data, uint64_t ptr);
int cuPointerGetAttributes(unsigned int n, int *attributes, void **data, uint64_t ptr)
{
	struct range r;
	bool known;

	BEGIN();
	for (unsigned int i = 0; i < n; i++) {
		if (old && attributes[i] >= 18)
			return INVALID_VALUE;
	}
	known = memory_find(ptr, &r);
	for (unsigned int i = 0; i < n; i++)
		answer(attributes[i], data[i], known ? &r : NULL);
	return OK;
}

/* ---- streams and events -------------------------------------------------------------------- */

DOUBLE_API int cuStreamCreateWithPriority(struct stream **stream, unsigned int flags, int priority);
int cuStreamCreateWithPriority(struct stream **stream, unsigned int flags, int priority)
{
	BEGIN_IN_CONTEXT();
	*stream = stream_new();
	return OK;
}

DOUBLE_API int cuStreamDestroy_v2(struct stream *stream);
int cuStreamDestroy_v2(struct stream *stream)
{
	BEGIN_IN_CONTEXT();
	stream_free(stream);
	return OK;
}

/* Waits whatever happened: nothing is touched after it. */
DOUBLE_API int cuStreamSynchronize(struct stream *stream);
int cuStreamSynchronize(struct stream *stream)
{
	if (!here())
		return INVALID_CONTEXT;
	stream_drain(stream_at(stream));
	return call(__func__);
}

DOUBLE_API int cuStreamWaitEvent(struct stream *stream, struct event *event, unsigned int flags);
int cuStreamWaitEvent(struct stream *stream, struct event *event, unsigned int flags)
{
	BEGIN_IN_CONTEXT();
	stream_wait(stream_at(stream), event);
	return OK;
}

DOUBLE_API int cuLaunchHostFunc(struct stream *stream, void (*fn)(void *arg), void *arg);
int cuLaunchHostFunc(struct stream *stream, void (*fn)(void *arg), void *arg)
{
	BEGIN_IN_CONTEXT();
	stream_call(stream_at(stream), fn, arg);
	return OK;
}

DOUBLE_API int cuEventCreate(struct event **event, unsigned int flags);
int cuEventCreate(struct event **event, unsigned int flags)
{
	BEGIN_IN_CONTEXT();
	*event = event_new();
	return OK;
}

DOUBLE_API int cuEventDestroy_v2(struct event *event);
int cuEventDestroy_v2(struct event *event)
{
	BEGIN_IN_CONTEXT();
	event_free(event);
	return OK;
}

DOUBLE_API int cuEventRecord(struct event *event, struct stream *stream);
int cuEventRecord(struct event *event, struct stream *stream)
{
	BEGIN_IN_CONTEXT();
	if (!instant)
		stream_record(stream_at(stream), event);
	return OK;
}

DOUBLE_API int cuEventQuery(struct event *event);
int cuEventQuery(struct event *event)
{
	BEGIN_IN_CONTEXT();
	return instant || event_over(event) ? atomic_load(&lost) : NOT_READY;
}

/* ---- copies -------------------------------------------------------------------------------- */

DOUBLE_API int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, struct stream *stream);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, struct stream *stream)
{
	struct stream *s;
	uint8_t *shadow;

	BEGIN_IN_CONTEXT();
	count_copy(&copies_in, &bytes_in, n);
	if (instant)
		return OK;
	shadow = memory_shadow(to, n);
	if (!shadow)
		return INVALID_VALUE;
	s = stream_at(stream);
	stream_copy(s, shadow, from, n);
	/* Pageable memory has been read when the real call returns; pinned memory has not. */
	if (!memory_pinned(from, n)) {
		atomic_fetch_add(&pageable, 1);
		stream_drain(s);
	}
	return OK;
}

DOUBLE_API int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, struct stream *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, struct stream *stream)
{
	const uint8_t *shadow;
	struct stream *s;

	BEGIN_IN_CONTEXT();
	count_copy(&copies_out, &bytes_out, n);
	if (instant)
		return OK;
	shadow = memory_shadow(from, n);
	if (!shadow)
		return INVALID_VALUE;
	s = stream_at(stream);
	stream_copy(s, to, shadow, n);
	if (!memory_pinned(to, n)) {
		atomic_fetch_add(&pageable, 1);
		stream_drain(s);
	}
	return OK;
}

/* For the doubles of libraries that go past the driver, and for tests: the bytes themselves. */
DOUBLE_API uint8_t *penstock_double_bytes(uint64_t addr, size_t n);
uint8_t *penstock_double_bytes(uint64_t addr, size_t n)
{
	return memory_shadow(addr, n);
}

/* How many allocations of pinned memory there are. */
DOUBLE_API unsigned int penstock_double_pinned(void);
unsigned int penstock_double_pinned(void)
{
	return memory_count(RANGE_PINNED);
}
