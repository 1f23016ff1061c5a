/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/util.h"
#include "memory/cuda-api.h"

enum {
	NOT_READY = 600,
	ILLEGAL_ADDRESS = 700,
	UNKNOWN = 999,
	RANGES = 64,
	STREAMS = 16,
	EVENTS = 512,
	WORKS = 4096,
	NESTED_MAX = 8,
	MEMORY = 64 << 20, /* of addresses; as much is behind them as is used */
	ALIGN = 4096,
};

struct range {
	uint64_t start, size;
	bool used;
	bool pinned;
};

struct cu_stream {
	bool used;
	uint64_t end_ns; /* when all it was given is over */
};

struct cu_event {
	bool used;
	uint64_t at_ns; /* when what it was recorded behind is over */
};

struct work {
	uint64_t at_ns, number;
	bool begins; /* of a copy the first half */
	void *host;
	uint64_t addr;
	size_t n;
	bool in;
	void (*fn)(void *arg);
	void *arg;
};

static struct {
	struct sim *sim;
	struct gpu_config config;
	struct gpu_stats stats;
	struct rng rng;
	uint8_t *addresses; /* PROT_NONE */
	uint8_t *bytes;	    /* what is behind them */
	struct range range[RANGES];
	struct cu_stream stream[STREAMS];
	struct cu_event event[EVENTS];
	struct work work[WORKS];
	unsigned int works;
	uint64_t numbers;
	unsigned int holds, nested;
	char wrong[160];
} gpu;

static void wrong(const char *what, uint64_t addr, size_t n)
{
	if (!gpu.wrong[0])
		snprintf(gpu.wrong, sizeof(gpu.wrong), "the device: %s (0x%llx, %zu bytes)", what,
			 (unsigned long long)addr, n);
}

const char *gpu_wrong(void)
{
	return gpu.wrong[0] ? gpu.wrong : NULL;
}

void gpu_stats(struct gpu_stats *ret)
{
	*ret = gpu.stats;
}

void gpu_heal(void)
{
	gpu.config.fail_ppm = 0;
	gpu.config.lose_ppm = 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static struct range *range_of(uint64_t addr, size_t n, bool pinned)
{
	for (int i = 0; i < RANGES; i++) {
		struct range *r = &gpu.range[i];

		if (r->used && r->pinned == pinned && addr >= r->start && addr - r->start <= r->size &&
		    n <= r->size - (addr - r->start))
			return r;
	}
	return NULL;
}

static struct range *range_new(void)
{
	for (int i = 0; i < RANGES; i++) {
		if (!gpu.range[i].used)
			return &gpu.range[i];
	}
	return NULL;
}

/* Where nothing is yet: first fit, ranges are few. */
static uint64_t place(uint64_t size)
{
	uint64_t base = (uint64_t)(uintptr_t)gpu.addresses, at = base;
	bool moved = true;

	while (moved) {
		moved = false;
		for (int i = 0; i < RANGES; i++) {
			const struct range *r = &gpu.range[i];

			if (!r->used || r->pinned || at + size <= r->start || at >= r->start + r->size)
				continue;
			/* A page between two, so that one past the end is nobody's. */
			at = r->start + r->size + ALIGN;
			moved = true;
		}
	}
	return at + size <= base + MEMORY ? at : 0;
}

uint64_t gpu_alloc(size_t n)
{
	struct range *r = range_new();
	uint64_t size = ALIGN_UP((uint64_t)n, (uint64_t)ALIGN), at = place(size);

	if (!r || !at)
		return 0;
	*r = (struct range){ .start = at, .size = size, .used = true };
	return at;
}

static uint8_t *bytes_of(uint64_t addr, size_t n)
{
	return range_of(addr, n, false) ? gpu.bytes + (addr - (uint64_t)(uintptr_t)gpu.addresses) : NULL;
}

/* ---- time ------------------------------------------------------------------------------------ */

static void lose(void)
{
	gpu.stats.lost = true;
	sim_note(gpu.sim, "gpu lost");
}

/* Half of a copy, or a kernel. */
static void happen(const struct work *w)
{
	size_t half = w->n / 2, from = w->begins ? 0 : half, n = w->begins ? half : w->n - half;
	uint8_t *device;

	if (w->fn) {
		w->fn(w->arg);
		return;
	}
	device = bytes_of(w->addr, w->n);
	if (!device)
		wrong("a copy of memory that is gone", w->addr, w->n);
	else if (!range_of((uint64_t)(uintptr_t)w->host, w->n, true))
		wrong("a copy of pinned memory that is gone", w->addr, w->n);
	else if (gpu.stats.lost)
		return;
	else if (w->in)
		memcpy(device + from, (const uint8_t *)w->host + from, n);
	else
		memcpy((uint8_t *)w->host + from, device + from, n);
}

/* All that is over by @now, in the order of time. */
static void advance_to(uint64_t now)
{
	for (;;) {
		unsigned int first = gpu.works;
		struct work w;

		for (unsigned int i = 0; i < gpu.works; i++) {
			const struct work *x = &gpu.work[i], *f = first < gpu.works ? &gpu.work[first] : NULL;

			if (x->at_ns <= now && (!f || x->at_ns < f->at_ns ||
						(x->at_ns == f->at_ns && x->number < f->number)))
				first = i;
		}
		if (first == gpu.works)
			return;
		w = gpu.work[first];
		gpu.work[first] = gpu.work[--gpu.works];
		happen(&w);
	}
}

static uint64_t advance(void)
{
	uint64_t now = sim_now(gpu.sim);

	advance_to(now);
	return now;
}

/* A call that waits, in a world where calls take no time: all of it happens now. */
static void all_now(void)
{
	advance_to(UINT64_MAX);
	for (int i = 0; i < STREAMS; i++)
		gpu.stream[i].end_ns = MIN(gpu.stream[i].end_ns, sim_now(gpu.sim));
	for (int i = 0; i < EVENTS; i++)
		gpu.event[i].at_ns = MIN(gpu.event[i].at_ns, sim_now(gpu.sim));
}

static void add_work(struct work w)
{
	INVARIANT(gpu.works < WORKS);
	w.number = gpu.numbers++;
	gpu.work[gpu.works++] = w;
}

/* The time at which @s has done one thing more. */
static uint64_t take_time(struct cu_stream *s, uint64_t *ret_begin)
{
	uint64_t begin = MAX(s->end_ns, advance());

	if (ret_begin)
		*ret_begin = begin;
	s->end_ns = begin + rng_below(&gpu.rng, gpu.config.delay_max_ns + 1);
	return s->end_ns;
}

bool gpu_peek(uint64_t addr, void *buf, size_t n)
{
	const uint8_t *p;

	advance();
	p = bytes_of(addr, n);
	if (p)
		memcpy(buf, p, n);
	return p != NULL;
}

void gpu_poke(uint64_t addr, const void *buf, size_t n)
{
	uint8_t *p = bytes_of(addr, n);

	INVARIANT(p != NULL);
	memcpy(p, buf, n);
}

void gpu_free(uint64_t addr)
{
	struct range *r = range_of(addr, 1, false);

	advance();
	INVARIANT(r && r->start == addr);
	r->used = false;
}

/* ---- streams --------------------------------------------------------------------------------- */

static struct cu_stream *stream_new(void)
{
	for (int i = 1; i < STREAMS; i++) {
		if (gpu.stream[i].used)
			continue;
		gpu.stream[i] = (struct cu_stream){ .used = true };
		return &gpu.stream[i];
	}
	return NULL;
}

/* 0 is the legacy default one. */
static struct cu_stream *stream_at(cu_stream s)
{
	return s ? s : &gpu.stream[0];
}

uint64_t gpu_stream_new(void)
{
	return (uint64_t)(uintptr_t)stream_new();
}

void gpu_stream_free(uint64_t stream)
{
	((struct cu_stream *)(uintptr_t)stream)->used = false; /* NOLINT: a handle */
}

void gpu_launch(uint64_t stream, void (*fn)(void *arg), void *arg)
{
	struct cu_stream *s = stream_at((cu_stream)(uintptr_t)stream); /* NOLINT: a handle */

	add_work((struct work){ .at_ns = take_time(s, NULL), .fn = fn, .arg = arg });
}

bool gpu_stream_idle(uint64_t stream)
{
	return stream_at((cu_stream)(uintptr_t)stream)->end_ns <= advance(); /* NOLINT: a handle */
}

/* ---- the driver ------------------------------------------------------------------------------ */

/* What each call begins with: CU_SUCCESS, or what it fails with. */
static cu_result call(void)
{
	advance();
	if (rng_chance_ppm(&gpu.rng, gpu.config.fail_ppm)) {
		gpu.stats.failures++;
		return UNKNOWN;
	}
	return gpu.stats.lost ? ILLEGAL_ADDRESS : CU_SUCCESS;
}

#define BEGIN()                                                                                    \
	do {                                                                                       \
		cu_result begun = call();                                                          \
		if (begun != CU_SUCCESS)                                                           \
			return begun;                                                              \
		if (gpu.nested == 0)                                                               \
			wrong("a call without a context", 0, 0);                                   \
	} while (0)

static cu_result fake_init(unsigned int flags)
{
	return CU_SUCCESS;
}

static cu_result fake_version(int *version)
{
	*version = 12040;
	return CU_SUCCESS;
}

static cu_result fake_error(cu_result error, const char **text)
{
	*text = error == ILLEGAL_ADDRESS ? "the simulated device is lost" : "said by the simulated driver";
	return CU_SUCCESS;
}

static cu_result fake_count(int *count)
{
	*count = 1;
	return CU_SUCCESS;
}

static cu_result fake_get(cu_device *device, int ordinal)
{
	*device = ordinal;
	return CU_SUCCESS;
}

static cu_result fake_name(char *name, int length, cu_device device)
{
	snprintf(name, (size_t)length, "simulated double, not a GPU");
	return CU_SUCCESS;
}

static cu_result fake_total(size_t *bytes, cu_device device)
{
	*bytes = MEMORY;
	return CU_SUCCESS;
}

static cu_result fake_retain(cu_context *ctx, cu_device device)
{
	cu_result r = call();

	if (r != CU_SUCCESS)
		return r;
	gpu.holds++;
	*ctx = (cu_context)&gpu;
	return CU_SUCCESS;
}

static cu_result fake_release(cu_device device)
{
	INVARIANT(gpu.holds > 0);
	gpu.holds--;
	return CU_SUCCESS;
}

static cu_result fake_push(cu_context ctx)
{
	cu_result r = call();

	/* The device may be lost: its context can be had nevertheless, and what is asked of it fails. */
	if (r == UNKNOWN)
		return r;
	if (gpu.holds == 0 || gpu.nested == NESTED_MAX)
		wrong("a context that nobody holds, or that is never popped", 0, 0);
	gpu.nested++;
	return CU_SUCCESS;
}

static cu_result fake_pop(cu_context *ctx)
{
	INVARIANT(gpu.nested > 0);
	gpu.nested--;
	*ctx = (cu_context)&gpu;
	return CU_SUCCESS;
}

static cu_result fake_priorities(int *least, int *greatest)
{
	BEGIN();
	*least = 0;
	*greatest = -5;
	return CU_SUCCESS;
}

static void attribute(int which, void *data, const struct range *r)
{
	switch (which) {
	case CU_ATTR_CONTEXT:
		*(void **)data = r ? (void *)&gpu : NULL;
		break;
	case CU_ATTR_MEMORY_TYPE:
		*(unsigned int *)data = !r ? 0 : r->pinned ? CU_MEMORY_HOST : CU_MEMORY_DEVICE;
		break;
	case CU_ATTR_IS_MANAGED:
	case CU_ATTR_DEVICE_ORDINAL:
		*(int *)data = 0;
		break;
	case CU_ATTR_MAPPED:
		*(int *)data = r != NULL;
		break;
	case CU_ATTR_RANGE_START:
	case CU_ATTR_MAPPING_BASE:
		*(uint64_t *)data = r ? r->start : 0;
		break;
	default:
		*(size_t *)data = r ? r->size : 0;
		break;
	}
}

static cu_result fake_attributes(unsigned int n, int *attributes, void **data, cu_deviceptr ptr)
{
	const struct range *r = range_of(ptr, 1, false);
	cu_result rc = call();

	if (rc != CU_SUCCESS)
		return rc;
	r = r ? r : range_of(ptr, 1, true);
	for (unsigned int i = 0; i < n; i++)
		attribute(attributes[i], data[i], r);
	return CU_SUCCESS;
}

static cu_result fake_mem_alloc(cu_deviceptr *ptr, size_t bytes)
{
	BEGIN();
	*ptr = gpu_alloc(bytes);
	return *ptr ? CU_SUCCESS : CU_OUT_OF_MEMORY;
}

static cu_result fake_mem_free(cu_deviceptr ptr)
{
	BEGIN();
	gpu_free(ptr);
	return CU_SUCCESS;
}

static cu_result fake_host_alloc(void **ptr, size_t bytes, unsigned int flags)
{
	struct range *r = range_new();

	BEGIN();
	*ptr = r ? aligned_alloc(ALIGN, ALIGN_UP(bytes, (size_t)ALIGN)) : NULL;
	if (!*ptr)
		return CU_OUT_OF_MEMORY;
	*r = (struct range){ .start = (uint64_t)(uintptr_t)*ptr, .size = bytes, .used = true, .pinned = true };
	return CU_SUCCESS;
}

static cu_result fake_host_free(void *ptr)
{
	struct range *r = range_of((uint64_t)(uintptr_t)ptr, 1, true);

	BEGIN();
	INVARIANT(r != NULL);
	r->used = false;
	free(ptr);
	return CU_SUCCESS;
}

static cu_result copy(void *host, uint64_t addr, size_t n, cu_stream stream, bool in)
{
	struct work w = { .host = host, .addr = addr, .n = n, .in = in };
	struct cu_stream *s = stream_at(stream);

	BEGIN();
	if (!s->used || !bytes_of(addr, n))
		wrong("a copy that begins where nothing is", addr, n);
	if (rng_chance_ppm(&gpu.rng, gpu.config.lose_ppm))
		lose();
	gpu.stats.copies++;
	gpu.stats.bytes += n;
	/* With memory that is not pinned the call returns when it is over. */
	if (!range_of((uint64_t)(uintptr_t)host, n, true)) {
		if (!in && !gpu.stats.lost) {
			all_now();
			memcpy(host, bytes_of(addr, n), n);
		} else if (in) {
			wrong("a copy in from memory that is not pinned", addr, n);
		}
		return gpu.stats.lost ? ILLEGAL_ADDRESS : CU_SUCCESS;
	}
	w.begins = true;
	(void)take_time(s, &w.at_ns);
	add_work(w);
	w.begins = false;
	w.at_ns = s->end_ns;
	add_work(w);
	return CU_SUCCESS;
}

static cu_result fake_copy_in(cu_deviceptr dst, const void *src, size_t bytes, cu_stream stream)
{
	return copy((void *)(uintptr_t)src, dst, bytes, stream, true);
}

static cu_result fake_copy_out(void *dst, cu_deviceptr src, size_t bytes, cu_stream stream)
{
	return copy(dst, src, bytes, stream, false);
}

static cu_result fake_stream_create(cu_stream *stream, unsigned int flags, int priority)
{
	BEGIN();
	*stream = stream_new();
	return *stream ? CU_SUCCESS : CU_OUT_OF_MEMORY;
}

static cu_result fake_stream_destroy(cu_stream stream)
{
	BEGIN();
	stream->used = false;
	return CU_SUCCESS;
}

/* Waits whatever happens. */
static cu_result fake_stream_synchronize(cu_stream stream)
{
	all_now();
	return call();
}

static cu_result fake_stream_wait(cu_stream stream, cu_event event, unsigned int flags)
{
	struct cu_stream *s = stream_at(stream);

	BEGIN();
	if (!event->used)
		wrong("a wait for an event that is gone", 0, 0);
	if (gpu.config.plant != GPU_PLANT_NO_WAIT)
		s->end_ns = MAX(s->end_ns, event->at_ns);
	return CU_SUCCESS;
}

static cu_result fake_event_create(cu_event *event, unsigned int flags)
{
	BEGIN();
	for (int i = 0; i < EVENTS; i++) {
		if (gpu.event[i].used)
			continue;
		gpu.event[i] = (struct cu_event){ .used = true };
		*event = &gpu.event[i];
		return CU_SUCCESS;
	}
	return CU_OUT_OF_MEMORY;
}

static cu_result fake_event_destroy(cu_event event)
{
	BEGIN();
	event->used = false;
	return CU_SUCCESS;
}

static cu_result fake_event_record(cu_event event, cu_stream stream)
{
	struct cu_stream *s = stream_at(stream);

	BEGIN();
	event->at_ns = MAX(s->end_ns, sim_now(gpu.sim));
	return CU_SUCCESS;
}

static cu_result fake_event_query(cu_event event)
{
	BEGIN();
	if (!event->used)
		wrong("a question about an event that is gone", 0, 0);
	if (gpu.config.plant == GPU_PLANT_EARLY)
		return CU_SUCCESS;
	return event->at_ns <= sim_now(gpu.sim) ? CU_SUCCESS : NOT_READY;
}

static const struct cuda_api table = {
	.init = fake_init,
	.driver_get_version = fake_version,
	.get_error_name = fake_error,
	.get_error_string = fake_error,
	.device_get_count = fake_count,
	.device_get = fake_get,
	.device_get_name = fake_name,
	.device_total_mem = fake_total,
	.primary_ctx_retain = fake_retain,
	.primary_ctx_release = fake_release,
	.ctx_push = fake_push,
	.ctx_pop = fake_pop,
	.ctx_priorities = fake_priorities,
	.pointer_attributes = fake_attributes,
	.mem_alloc = fake_mem_alloc,
	.mem_free = fake_mem_free,
	.host_alloc = fake_host_alloc,
	.host_free = fake_host_free,
	.copy_in = fake_copy_in,
	.copy_out = fake_copy_out,
	.stream_create = fake_stream_create,
	.stream_destroy = fake_stream_destroy,
	.stream_synchronize = fake_stream_synchronize,
	.stream_wait_event = fake_stream_wait,
	.event_create = fake_event_create,
	.event_destroy = fake_event_destroy,
	.event_record = fake_event_record,
	.event_query = fake_event_query,
};

/* In the place of memory/cuda-api.c. */
const struct cuda_api *cuda_api(struct err *err)
{
	return &table;
}

int cuda_errno(cu_result error)
{
	return error == CU_SUCCESS ? 0 : error == CU_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

int cuda_failed(const struct cuda_api *api, cu_result error, const char *what, struct err *err)
{
	return err_set(err, -cuda_errno(error), "%s: error %d of the simulated driver", what, error);
}

/* ---- life ------------------------------------------------------------------------------------ */

void gpu_start(struct sim *sim, const struct gpu_config *config)
{
	uint8_t *addresses = gpu.addresses, *bytes = gpu.bytes;

	memset(&gpu, 0, sizeof(gpu));
	gpu.sim = sim;
	gpu.config = *config;
	rng_init(&gpu.rng, config->seed ^ UINT64_C(0x677075));
	gpu.stream[0].used = true;
	/* For all worlds one: mapping takes longer than a world does. */
	if (!addresses) {
		addresses = mmap(NULL, MEMORY, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		bytes = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		INVARIANT(addresses != MAP_FAILED && bytes != MAP_FAILED);
	}
	gpu.addresses = addresses;
	gpu.bytes = bytes;
}

const char *gpu_end(void)
{
	static char left[120];
	unsigned int ranges = 0, streams = 0, events = 0;

	advance_to(UINT64_MAX);
	for (int i = 0; i < RANGES; i++) {
		ranges += gpu.range[i].used;
		if (gpu.range[i].used && gpu.range[i].pinned)
			free((void *)(uintptr_t)gpu.range[i].start); /* NOLINT: an address */
		gpu.range[i].used = false;
	}
	for (int i = 1; i < STREAMS; i++)
		streams += gpu.stream[i].used;
	for (int i = 0; i < EVENTS; i++)
		events += gpu.event[i].used;
	if (ranges + streams + events + gpu.holds + gpu.nested == 0)
		return NULL;
	snprintf(left, sizeof(left), "left on the device: %u ranges, %u streams, %u events, %u holds, %u contexts",
		 ranges, streams, events, gpu.holds, gpu.nested);
	return left;
}
