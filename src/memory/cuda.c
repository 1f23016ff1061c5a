/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA device: which GPUs there are, what an address belongs to, memory, marks in streams. The
 * copy engine is in cuda-queue.c.
 *
 * An address is asked about piece by piece. What cudaMalloc() gave is one range; what is put
 * together with cuMemMap(), as by PyTorch's expandable segments, is many mappings side by side, and
 * one of them may be missing in the middle. Asking costs a call per mapping, once, when the memory
 * is registered.
 */
#include "memory/cuda.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "memory/cuda-impl.h"

/* ---- what all calls do --------------------------------------------------------------------- */

int cuda_result(struct cuda *c, cu_result r, const char *what)
{
	struct err err = ERR_NULL;

	if (r == CU_SUCCESS)
		return 0;
	cuda_failed(c->api, r, what, &err);
	pthread_mutex_lock(&c->mutex);
	snprintf(c->last_error, sizeof(c->last_error), "%s", err_text(&err));
	pthread_mutex_unlock(&c->mutex);
	return cuda_errno(r);
}

bool cuda_enter(struct cuda *c)
{
	return cuda_result(c, c->api->ctx_push(c->ctx), "cuCtxPushCurrent") == 0;
}

void cuda_leave(struct cuda *c)
{
	cu_context was;

	(void)cuda_result(c, c->api->ctx_pop(&was), "cuCtxPopCurrent");
}

/* ---- what an address belongs to ------------------------------------------------------------ */

struct place {
	unsigned int type; /* 0: nothing that CUDA knows of */
	bool managed;
	bool mapped;
	int ordinal;
	cu_context ctx; /* NULL: memory of no context, as from a pool or cuMemCreate() */
	uint64_t end;   /* the answer holds up to here */
};

static uint64_t nearest(uint64_t addr, uint64_t start, uint64_t size, uint64_t end)
{
	return size > 0 && start <= addr && addr - start < size ? MIN(end, start + size) : end;
}

static int ask(const struct cuda_api *api, uint64_t addr, struct place *ret, struct err *err)
{
	/* The driver writes from one byte to eight into each: all are eight, and zero before. */
	uint64_t v[9] = { 0 };
	int attributes[9] = { CU_ATTR_MEMORY_TYPE, CU_ATTR_IS_MANAGED,   CU_ATTR_DEVICE_ORDINAL,
			      CU_ATTR_CONTEXT,     CU_ATTR_MAPPED,       CU_ATTR_RANGE_START,
			      CU_ATTR_RANGE_SIZE,  CU_ATTR_MAPPING_BASE, CU_ATTR_MAPPING_SIZE };
	void *data[9];
	cu_result r;

	for (int i = 0; i < 9; i++)
		data[i] = &v[i];
	r = api->pointer_attributes(9, attributes, data, addr);
	if (r == CU_INVALID_VALUE) {
		/* A driver that does not know the last two yet. */
		memset(v, 0, sizeof(v));
		r = api->pointer_attributes(7, attributes, data, addr);
	}
	if (r == CU_INVALID_VALUE)
		memset(v, 0, sizeof(v)); /* an address it knows nothing of, as old drivers say it */
	else if (r != CU_SUCCESS)
		return cuda_failed(api, r, "asking about an address", err);
	*ret = (struct place){
		.type = (unsigned int)v[0],
		.managed = (v[1] & 0xff) != 0,
		.ordinal = (int)(uint32_t)v[2],
		.ctx = (cu_context)(uintptr_t)v[3], /* NOLINT: a handle */
		.mapped = (v[4] & 0xff) != 0,
		.end = nearest(addr, v[7], v[8], nearest(addr, v[5], v[6], UINT64_MAX)),
	};
	return 0;
}

static int judge(const struct place *p, uint64_t addr, struct err *err)
{
	if (p->managed)
		return err_set(err, EOPNOTSUPP,
			       "0x%" PRIx64 " is managed memory, which may lie in the host's at any moment: where a "
			       "read landed could not be said; use memory of the device (cudaMalloc)",
			       addr);
	if (p->type == CU_MEMORY_HOST)
		return err_set(err, EFAULT, "0x%" PRIx64 " is host memory: register it as such", addr);
	/* What a context allocated is there; only addresses without a context can be without memory. */
	if (p->type != CU_MEMORY_DEVICE || (!p->mapped && !p->ctx))
		return err_set(err, EFAULT, "0x%" PRIx64 " is not memory of a GPU", addr);
	return 0;
}

int mem_cuda_ordinal_of(uint64_t addr, unsigned int *ret_ordinal, struct err *err)
{
	const struct cuda_api *api = cuda_api(err);
	struct place p;
	int rc;

	if (!api)
		return -err->code;
	rc = ask(api, addr, &p, err);
	if (rc == 0)
		rc = judge(&p, addr, err);
	if (rc == 0)
		*ret_ordinal = (unsigned int)p.ordinal;
	return rc;
}

static int check_place(const struct cuda *c, const struct place *p, uint64_t addr, struct err *err)
{
	int rc = judge(p, addr, err);

	if (rc < 0)
		return rc;
	if ((unsigned int)p->ordinal != c->ordinal)
		return err_set(err, EFAULT, "0x%" PRIx64 " is memory of GPU %d, not of GPU %u", addr, p->ordinal,
			       c->ordinal);
	if (p->ctx && p->ctx != c->ctx)
		return err_set(err, EOPNOTSUPP,
			       "0x%" PRIx64 " belongs to a CUDA context of its own (cuCtxCreate): only memory of the "
			       "primary context can be used, which is the one of the runtime API and of frameworks",
			       addr);
	return 0;
}

static int cuda_check(struct mem_device *dev, uint64_t addr, uint64_t length, struct err *err)
{
	struct cuda *c = cuda_of(dev);
	uint64_t at = addr, end;

	if (length == 0 || !u64_add(addr, length, &end))
		return err_set(err, EFAULT, "0x%" PRIx64 " and %" PRIu64 " bytes on are no range of memory", addr,
			       length);
	while (at < end) {
		struct place p;
		int rc = ask(c->api, at, &p, err);

		if (rc == 0)
			rc = check_place(c, &p, at, err);
		if (rc < 0 && at > addr)
			return err_prefix(err, "only %" PRIu64 " of %" PRIu64 " bytes from 0x%" PRIx64 " on are usable",
					  at - addr, length, addr);
		if (rc < 0)
			return rc;
		at = p.end;
	}
	return 0;
}

/* ---- memory -------------------------------------------------------------------------------- */

static int cuda_alloc(struct mem_device *dev, uint64_t length, uint64_t *ret_addr)
{
	struct cuda *c = cuda_of(dev);
	int rc;

	if (!cuda_enter(c))
		return -EIO;
	rc = cuda_result(c, c->api->mem_alloc(ret_addr, length), "cuMemAlloc");
	cuda_leave(c);
	return rc;
}

static void cuda_free(struct mem_device *dev, uint64_t addr, uint64_t length)
{
	struct cuda *c = cuda_of(dev);

	if (!cuda_enter(c))
		return;
	(void)cuda_result(c, c->api->mem_free(addr), "cuMemFree");
	cuda_leave(c);
}

static int cuda_host_alloc(struct mem_device *dev, uint64_t length, void **ret_ptr)
{
	struct cuda *c = cuda_of(dev);
	int rc;

	if (!cuda_enter(c))
		return -EIO;
	rc = cuda_result(c, c->api->host_alloc(ret_ptr, length, CU_HOST_PORTABLE), "cuMemHostAlloc");
	cuda_leave(c);
	return rc;
}

static void cuda_host_free(struct mem_device *dev, void *ptr, uint64_t length)
{
	struct cuda *c = cuda_of(dev);

	if (!cuda_enter(c))
		return;
	(void)cuda_result(c, c->api->host_free(ptr), "cuMemFreeHost");
	cuda_leave(c);
}

/* ---- marks --------------------------------------------------------------------------------- */

static cu_stream stream_of(uint64_t stream)
{
	return (cu_stream)(uintptr_t)stream; /* NOLINT: a handle */
}

int mem_cuda_stream_check(uint64_t stream, struct err *err)
{
	if (stream == CU_STREAM_PER_THREAD)
		return err_set(err, EINVAL, "the per-thread default stream is another one in the library's threads: "
					    "use a stream that was created");
	return 0;
}

/* An event that nobody uses, made if there is none yet. */
static int mark_get(struct cuda *c, cu_event *ret)
{
	bool made = false;
	int rc = 0;

	pthread_mutex_lock(&c->mutex);
	if (c->marks_free > 0) {
		*ret = c->marks[--c->marks_free];
		made = true;
	} else if (c->marks_out == CUDA_MARKS) {
		rc = -EAGAIN;
	}
	c->marks_out += rc == 0;
	pthread_mutex_unlock(&c->mutex);
	if (rc < 0 || made)
		return rc;
	rc = cuda_result(c, c->api->event_create(ret, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
	if (rc < 0) {
		pthread_mutex_lock(&c->mutex);
		c->marks_out--;
		pthread_mutex_unlock(&c->mutex);
	}
	return rc;
}

int mem_cuda_mark(struct mem_device *dev, uint64_t stream, void **ret_mark)
{
	struct cuda *c = cuda_of(dev);
	cu_event event = NULL;
	int rc;

	if (!cuda_enter(c))
		return -EIO;
	rc = mark_get(c, &event);
	if (rc == 0) {
		rc = cuda_result(c, c->api->event_record(event, stream_of(stream)), "cuEventRecord");
		if (rc < 0)
			mem_cuda_unmark(dev, event);
	}
	cuda_leave(c);
	if (rc == 0)
		*ret_mark = event;
	return rc;
}

int mem_cuda_passed(struct mem_device *dev, void *mark)
{
	struct cuda *c = cuda_of(dev);
	cu_result r;

	if (!cuda_enter(c))
		return -EIO;
	r = c->api->event_query(mark);
	cuda_leave(c);
	if (r == CU_SUCCESS || r == CU_NOT_READY)
		return r == CU_SUCCESS;
	return cuda_result(c, r, "waiting for a stream");
}

void mem_cuda_unmark(struct mem_device *dev, void *mark)
{
	struct cuda *c = cuda_of(dev);

	pthread_mutex_lock(&c->mutex);
	c->marks[c->marks_free++] = mark;
	c->marks_out--;
	pthread_mutex_unlock(&c->mutex);
}

/* ---- the device ---------------------------------------------------------------------------- */

void mem_cuda_last_error(struct mem_device *dev, char *buf, size_t n)
{
	struct cuda *c = cuda_of(dev);

	pthread_mutex_lock(&c->mutex);
	snprintf(buf, n, "%s", c->last_error);
	pthread_mutex_unlock(&c->mutex);
}

static void cuda_destroy(struct mem_device *dev)
{
	struct cuda *c = cuda_of(dev);

	INVARIANT(c->marks_out == 0);
	if (c->marks_free > 0 && cuda_enter(c)) {
		while (c->marks_free > 0)
			(void)c->api->event_destroy(c->marks[--c->marks_free]);
		cuda_leave(c);
	}
	if (c->ctx)
		(void)c->api->primary_ctx_release(c->device);
	pthread_mutex_destroy(&c->mutex);
	mem_free(c);
}

static const struct mem_device_ops cuda_ops = {
	.name = "cuda",
	.kind = MEM_CUDA,
	.path = MEM_PATH_STAGED,
	.alloc = cuda_alloc,
	.free = cuda_free,
	.check = cuda_check,
	.host_alloc = cuda_host_alloc,
	.host_free = cuda_host_free,
	.queue_new = cuda_queue_new,
	.queue_free = cuda_queue_free,
	.copy_to_device = cuda_queue_copy,
	.copy_to_host = cuda_queue_copy,
	.compute = cuda_queue_compute,
	.poll = cuda_queue_poll,
	.next = cuda_queue_next,
	.destroy = cuda_destroy,
};

int mem_cuda_count(unsigned int *ret_count, struct err *err)
{
	const struct cuda_api *api = cuda_api(err);
	int n = 0;
	cu_result r;

	if (!api)
		return -err->code;
	r = api->device_get_count(&n);
	if (r != CU_SUCCESS)
		return cuda_failed(api, r, "counting GPUs", err);
	*ret_count = (unsigned int)n;
	return 0;
}

static int cuda_init(struct cuda *c, struct err *err)
{
	const struct cuda_api *api = c->api;
	size_t memory = 0;
	char what[32];
	cu_result r = api->device_get(&c->device, (int)c->ordinal);

	snprintf(what, sizeof(what), "GPU %u", c->ordinal);
	if (r == CU_SUCCESS)
		r = api->device_get_name(c->dev.name, sizeof(c->dev.name), c->device);
	if (r == CU_SUCCESS)
		r = api->device_total_mem(&memory, c->device);
	if (r == CU_SUCCESS)
		r = api->primary_ctx_retain(&c->ctx, c->device);
	if (r != CU_SUCCESS)
		return cuda_failed(api, r, what, err);
	c->dev.memory = memory;
	return 0;
}

int mem_cuda_new(unsigned int ordinal, struct mem_device **ret_dev, struct err *err)
{
	const struct cuda_api *api;
	unsigned int count = 0;
	struct cuda *c;
	int rc = mem_cuda_count(&count, err);

	if (rc < 0)
		return rc;
	if (ordinal >= count)
		return err_set(err, ENODEV, "there is no GPU %u: CUDA shows %u, counted from 0 (CUDA_VISIBLE_DEVICES "
					    "chooses which)",
			       ordinal, count);
	api = cuda_api(err);
	c = mem_zalloc(sizeof(*c));
	if (!c)
		return err_set(err, ENOMEM, "out of memory");
	c->dev.ops = &cuda_ops;
	c->api = api;
	c->ordinal = ordinal;
	pthread_mutex_init(&c->mutex, NULL);
	rc = cuda_init(c, err);
	if (rc < 0) {
		cuda_destroy(&c->dev);
		return rc;
	}
	*ret_dev = &c->dev;
	return 0;
}
