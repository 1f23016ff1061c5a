/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker's way into one device's memory: a queue of the copy engine, the staging pool in front
 * of it, and the timer that polls the queue. One per worker and memory; it lives on the worker's
 * thread.
 */
#ifndef VOLUME_LANDING_H
#define VOLUME_LANDING_H

#include "io/io.h"
#include "memory/region.h"
#include "memory/staging.h"
#include "volume/context.h"

struct pst_memory {
	struct pst_context *ctx;
	enum pst_memory_kind kind;
	struct mem_region region;
	struct mem_device *dev; /* owned; NULL for host memory */
	struct landing *landings; /* one per worker; NULL for host memory */
};

struct landing {
	struct worker *worker;
	struct pst_memory *mem;
	struct mem_queue *queue;
	struct mem_staging *staging;
	struct io_timer timer;
	struct io_msg wake;
	atomic_bool woken;
};

/* The landing of @mem on @w; NULL where the CPU reaches the memory. */
static inline struct landing *landing_of(const struct pst_memory *mem, const struct worker *w)
{
	return mem->landings ? &mem->landings[w - w->ctx->workers] : NULL;
}

/* A job was submitted: be there when it is over. */
void landing_arm(struct landing *l);

#endif
