/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the user's, of every kind, as the API has it. */
#include "volume/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/cuda-file.h"
#include "memory/cuda.h"
#include "memory/emulated.h"
#include "volume/options.h"

#define EMULATED_BANDWIDTH UINT64_C(25000000000) /* what PCIe 4.0 x16 gives in practice */
#define EMULATED_LATENCY   5000			 /* ns: launch of one copy */
#define STAGING_BYTES	   (32u << 20)
#define MAPPED_BYTES	   (16u << 10)
#define MAPPED_BYTES_MAX   (64u << 10)

static struct pst_memory *memory_new(struct pst_context *ctx, enum pst_memory_kind kind, struct err *err)
{
	struct pst_memory *mem = mem_zalloc(sizeof(*mem));

	if (!mem) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	mem->ctx = ctx;
	mem->kind = kind;
	mem->region = MEM_REGION_NULL;
	atomic_fetch_add(&ctx->objects, 1);
	return mem;
}

/* Ends a pst_memory_...(): hands the memory out, or takes it down and says why. */
static int memory_finish(struct pst_memory *mem, int rc, struct pst_memory **ret_mem,
			 struct pst_error *error, const struct err *err)
{
	if (rc < 0 || !mem) {
		pst_memory_free(mem);
		return pst_error_from(error, err);
	}
	*ret_mem = mem;
	return 0;
}

int pst_memory_host(struct pst_context *ctx, void *ptr, size_t size, struct pst_memory **ret_mem,
		    struct pst_error *error)
{
	struct err err = ERR_NULL;
	struct pst_memory *mem;
	int rc;

	if (!ptr || size == 0 || size > UINTPTR_MAX - (uintptr_t)ptr) {
		err_set(&err, EINVAL, "memory: %p, %zu bytes: expected an address and at least one byte", ptr, size);
		return pst_error_from(error, &err);
	}
	mem = memory_new(ctx, PST_MEMORY_HOST, &err);
	rc = mem ? mem_region_register(&mem->region, MEM_HOST, ptr, size, &err) : -ENOMEM;

	return memory_finish(mem, rc, ret_mem, error, &err);
}

int pst_memory_alloc(struct pst_context *ctx, size_t size, struct pst_memory **ret_mem,
		     struct pst_error *error)
{
	struct err err = ERR_NULL;
	struct pst_memory *mem = memory_new(ctx, PST_MEMORY_HOST, &err);
	int rc = mem ? mem_region_alloc(&mem->region, MEM_HOST, size, &err) : -ENOMEM;

	return memory_finish(mem, rc, ret_mem, error, &err);
}

int pst_memory_emulated(struct pst_context *ctx, size_t size, const struct pst_emulated_options *opts,
			struct pst_memory **ret_mem, struct pst_error *error)
{
	struct pst_emulated_options o = PST_OPTIONS(o);
	struct mem_emulated_options eo = { .memory = size };
	struct mem_device *dev = NULL;
	struct err err = ERR_NULL;
	struct pst_memory *mem;
	int rc = options_take(&o, sizeof(o), opts, opts ? opts->struct_size : 0, &err);

	if (rc < 0)
		return pst_error_from(error, &err);
	eo.bandwidth = o.copy_bytes_per_second ? o.copy_bytes_per_second : EMULATED_BANDWIDTH;
	eo.latency_ns = o.copy_latency_ns ? o.copy_latency_ns : EMULATED_LATENCY;
	mem = memory_new(ctx, PST_MEMORY_EMULATED, &err);
	if (!mem)
		return pst_error_from(error, &err);
	mem->own_dock = true;
	rc = mem_emulated_new(&eo, &dev, &err);
	if (rc == 0)
		rc = dock_new(ctx, dev, o.staging_bytes ? o.staging_bytes : STAGING_BYTES, 0, &mem->dock, &err);
	if (rc == 0)
		rc = mem_region_alloc_device(&mem->region, dev, size, &err);
	return memory_finish(mem, rc, ret_mem, error, &err);
}

/* ---- GPUs ---------------------------------------------------------------------------------- */

/* The context's dock for a GPU with these options, made if there is none. */
static int cuda_dock(struct pst_context *ctx, unsigned int ordinal, size_t staging, size_t piece,
		     struct dock **ret, struct err *err)
{
	struct mem_device *dev = NULL;
	struct dock *d, *found = NULL;
	int rc = 0;

	/* No I/O thread takes this lock, so waiting for them with it held is safe. */
	pthread_mutex_lock(&ctx->docks_lock);
	list_for_each_entry(d, &ctx->docks, link) {
		if (d->ordinal == ordinal && d->staging == staging && d->piece == piece)
			found = d;
	}
	if (!found) {
		rc = mem_cuda_new(ordinal, &dev, err);
		if (rc == 0)
			rc = dock_new(ctx, dev, staging, piece, &found, err);
		if (rc == 0) {
			found->ordinal = ordinal;
			list_add_tail(&ctx->docks, &found->link);
		}
	}
	pthread_mutex_unlock(&ctx->docks_lock);
	if (rc == 0)
		*ret = found;
	return rc;
}

static int take_cuda_options(struct pst_cuda_options *o, const struct pst_cuda_options *opts, struct err *err)
{
	int rc = options_take(o, sizeof(*o), opts, opts ? opts->struct_size : 0, err);

	if (rc < 0)
		return rc;
	o->staging_bytes = o->staging_bytes ? o->staging_bytes : STAGING_BYTES;
	o->piece_bytes = o->piece_bytes ? o->piece_bytes : MEM_STAGING_PIECE_DEFAULT;
	o->mapped_bytes = o->mapped_bytes ? o->mapped_bytes : MAPPED_BYTES;
	if (o->mapped_bytes != SIZE_MAX && o->mapped_bytes > MAPPED_BYTES_MAX)
		return err_set(err, EINVAL, "mapped_bytes: %zu: expected at most %u, or SIZE_MAX for never",
			       o->mapped_bytes, MAPPED_BYTES_MAX);
	return 0;
}

/* @addr 0: to be allocated. */
static int memory_cuda(struct pst_memory *mem, unsigned int ordinal, uint64_t addr, size_t size,
		       const struct pst_cuda_options *o, struct err *err)
{
	struct err no_mapping = ERR_NULL;
	int rc = cuda_dock(mem->ctx, ordinal, o->staging_bytes, o->piece_bytes, &mem->dock, err);

	if (rc < 0)
		return rc;
	if (addr)
		rc = mem_region_register_device(&mem->region, mem->dock->dev, addr, size, err);
	else
		rc = mem_region_alloc_device(&mem->region, mem->dock->dev, size, err);
	if (rc < 0)
		return rc;
	/* Both are only faster ways for some: without them it is as right. */
	if (o->mapped_bytes != SIZE_MAX)
		(void)mem_cuda_map(&mem->region, o->mapped_bytes, &no_mapping);
	return 0;
}

int pst_memory_cuda(struct pst_context *ctx, uint64_t device_ptr, size_t size,
		    const struct pst_cuda_options *opts, struct pst_memory **ret_mem, struct pst_error *error)
{
	struct pst_cuda_options o = PST_OPTIONS(o);
	struct pst_memory *mem = NULL;
	struct err err = ERR_NULL;
	unsigned int ordinal = 0;
	int rc = take_cuda_options(&o, opts, &err);

	if (rc == 0)
		rc = mem_cuda_ordinal_of(device_ptr, &ordinal, &err);
	if (rc == 0)
		mem = memory_new(ctx, PST_MEMORY_CUDA, &err);
	if (mem)
		rc = memory_cuda(mem, ordinal, device_ptr, size, &o, &err);
	return memory_finish(mem, rc, ret_mem, error, &err);
}

int pst_memory_cuda_alloc(struct pst_context *ctx, unsigned int device, size_t size,
			  const struct pst_cuda_options *opts, struct pst_memory **ret_mem,
			  struct pst_error *error)
{
	struct pst_cuda_options o = PST_OPTIONS(o);
	struct pst_memory *mem = NULL;
	struct err err = ERR_NULL;
	int rc = take_cuda_options(&o, opts, &err);

	if (rc == 0)
		mem = memory_new(ctx, PST_MEMORY_CUDA, &err);
	if (mem)
		rc = memory_cuda(mem, device, 0, size, &o, &err);
	return memory_finish(mem, rc, ret_mem, error, &err);
}

int pst_cuda_name(unsigned int device, char *buf, size_t n, struct pst_error *error)
{
	struct mem_device *dev = NULL;
	struct err err = ERR_NULL;

	if (mem_cuda_new(device, &dev, &err) < 0)
		return pst_error_from(error, &err);
	snprintf(buf, n, "%s", dev->name);
	mem_device_free(dev);
	return 0;
}

/* ---- all kinds ----------------------------------------------------------------------------- */

const char *pst_memory_device(const struct pst_memory *mem)
{
	return mem->dock ? mem->dock->dev->name : "host";
}

uint64_t pst_memory_device_ptr(const struct pst_memory *mem)
{
	return mem->kind == PST_MEMORY_CUDA ? mem_region_addr(&mem->region, 0) : 0;
}

enum pst_memory_kind pst_memory_kind(const struct pst_memory *mem)
{
	return mem->kind;
}

size_t pst_memory_size(const struct pst_memory *mem)
{
	return mem->region.length;
}

void *pst_memory_ptr(const struct pst_memory *mem)
{
	return mem_region_cpu(&mem->region) ? mem_region_ptr(&mem->region, 0) : NULL;
}

void pst_memory_free(struct pst_memory *mem)
{
	if (!mem)
		return;
	if (mem->gds)
		mem_gds_unregister(mem->dock->dev, mem->region.addr);
	mem_region_deinit(&mem->region);
	if (mem->own_dock)
		dock_free(mem->dock);
	atomic_fetch_sub(&mem->ctx->objects, 1);
	mem_free(mem);
}

/* ---- copies for checking contents ------------------------------------------------------------ */

struct copy {
	struct pst_memory *mem;
	size_t offset;
	struct iovec iov;
	bool in;
	struct mem_job job;
	struct worker_event done;
};

static void copy_done(struct mem_job *job)
{
	worker_event_set(&container_of(job, struct copy, job)->done);
}

static void copy_start(struct worker *w, void *arg)
{
	struct copy *c = arg;
	struct landing *l = landing_of(c->mem, w);
	struct mem_queue *q = l ? l->queue : NULL;
	uint64_t now = io_now_precise(w->loop);
	bool over;

	mem_job_init(&c->job, copy_done);
	if (c->in)
		over = mem_copy_in(q, &c->mem->region, c->offset, &c->iov, 1, &c->job, now);
	else
		over = mem_copy_out(q, &c->mem->region, c->offset, &c->iov, 1, &c->job, now);
	if (over)
		worker_event_set(&c->done);
	else
		landing_arm(l);
}

static int copy(struct pst_memory *mem, size_t offset, void *p, size_t n, bool in)
{
	struct copy c = { .mem = mem, .offset = offset, .iov = { p, n }, .in = in };
	struct worker *w = &mem->ctx->workers[0];

	if (!mem_region_contains(&mem->region, offset, n))
		return -EINVAL;
	worker_event_init(&c.done, w);
	worker_call(w, copy_start, &c);
	worker_event_wait(&c.done);
	return c.job.result;
}

int pst_memory_copy_out(struct pst_memory *mem, size_t offset, void *dst, size_t n)
{
	return copy(mem, offset, dst, n, false);
}

int pst_memory_copy_in(struct pst_memory *mem, size_t offset, const void *src, size_t n)
{
	return copy(mem, offset, (void *)(uintptr_t)src, n, true);
}
