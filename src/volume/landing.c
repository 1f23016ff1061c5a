/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the user's, and each worker's way into it. */
#include "volume/landing.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/emulated.h"
#include "volume/options.h"

#define EMULATED_BANDWIDTH UINT64_C(25000000000) /* what PCIe 4.0 x16 gives in practice */
#define EMULATED_LATENCY   5000			 /* ns: launch of one copy */
#define STAGING_BYTES	   (32u << 20)

static void landing_poll(struct landing *l)
{
	mem_queue_poll(l->queue, io_now_precise(l->worker->loop));
	landing_arm(l);
}

static void landing_tick(struct io_timer *t)
{
	landing_poll(container_of(t, struct landing, timer));
}

static void landing_woken(struct io_msg *m)
{
	struct landing *l = container_of(m, struct landing, wake);

	atomic_store(&l->woken, false);
	landing_poll(l);
}

/* A device that finishes by interrupt, from a thread of its driver. */
static void landing_wake(void *arg)
{
	struct landing *l = arg;

	if (!atomic_exchange(&l->woken, true))
		io_post(l->worker->loop, &l->wake);
}

void landing_arm(struct landing *l)
{
	uint64_t next = mem_queue_next(l->queue), now;

	if (next == UINT64_MAX) {
		io_timer_stop(l->worker->loop, &l->timer);
		return;
	}
	now = io_now_precise(l->worker->loop);
	/* -ENOMEM leaves the timer of before; the queue is then polled late, not never. */
	(void)io_timer_start(l->worker->loop, &l->timer, next > now ? next - now : 0);
}

struct make {
	struct pst_memory *mem;
	size_t staging;
	struct err *err;
	int rc;
};

static void landing_make(struct worker *w, void *arg)
{
	struct make *m = arg;
	struct landing *l = &m->mem->landings[w - w->ctx->workers];
	unsigned int pieces = (unsigned int)MAX(m->staging / MEM_STAGING_PIECE_DEFAULT, (size_t)2);

	l->worker = w;
	l->mem = m->mem;
	io_timer_init(&l->timer, landing_tick);
	l->wake.fn = landing_woken;
	m->rc = mem_queue_new(m->mem->dev, landing_wake, l, &l->queue);
	if (m->rc < 0)
		err_set(m->err, -m->rc, "no queue of the copy engine: %s", strerror(-m->rc));
	else
		m->rc = mem_staging_new(m->mem->dev, 0, pieces, &l->staging, m->err);
}

static void landing_unmake(struct worker *w, void *arg)
{
	struct pst_memory *mem = arg;
	struct landing *l = &mem->landings[w - w->ctx->workers];

	if (!l->worker)
		return;
	io_timer_stop(w->loop, &l->timer);
	mem_queue_free(l->queue);
	mem_staging_free(l->staging);
}

static int landings_new(struct pst_memory *mem, size_t staging, struct err *err)
{
	struct pst_context *ctx = mem->ctx;
	struct make m = { .mem = mem, .staging = staging / ctx->worker_count, .err = err };

	mem->landings = mem_calloc(ctx->worker_count, sizeof(*mem->landings));
	if (!mem->landings)
		return err_set(err, ENOMEM, "no memory for staging");
	for (unsigned int i = 0; i < ctx->worker_count && m.rc == 0; i++)
		worker_call(&ctx->workers[i], landing_make, &m);
	return m.rc;
}

/* ---- the API ------------------------------------------------------------------------------- */

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
	struct pst_memory *mem = memory_new(ctx, PST_MEMORY_HOST, &err);
	int rc = mem ? mem_region_register(&mem->region, MEM_HOST, ptr, size, &err) : -ENOMEM;

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
	rc = mem_emulated_new(&eo, &mem->dev, &err);
	if (rc == 0)
		rc = mem_region_alloc_device(&mem->region, mem->dev, size, &err);
	if (rc == 0)
		rc = landings_new(mem, o.staging_bytes ? o.staging_bytes : STAGING_BYTES, &err);
	return memory_finish(mem, rc, ret_mem, error, &err);
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
	for (unsigned int i = 0; mem->landings && i < mem->ctx->worker_count; i++)
		worker_call(&mem->ctx->workers[i], landing_unmake, mem);
	mem_free(mem->landings);
	mem_region_deinit(&mem->region);
	mem_device_free(mem->dev);
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
