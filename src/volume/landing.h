/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dock is a device as a context uses it; a landing is one worker's way into its memory: a queue of
 * the copy engine, the staging pool in front of it, and the timer that polls the queue. A landing
 * lives on its worker's thread.
 *
 * Memories of one GPU share a dock, so that a program which registers a hundred tensors pins one
 * staging ring; it stays until the context goes, since pinning takes milliseconds. An emulated
 * accelerator is a memory's own, and its dock too.
 */
#ifndef VOLUME_LANDING_H
#define VOLUME_LANDING_H

#include "io/io.h"
#include "memory/region.h"
#include "memory/staging.h"
#include "volume/context.h"

struct dock {
	struct list link; /* context->docks, if shared */
	struct pst_context *ctx;
	struct mem_device *dev; /* owned */
	unsigned int ordinal;   /* CUDA's */
	size_t staging;		/* bytes, all workers together */
	size_t piece;
	struct landing *landings; /* one per worker */
};

struct pst_memory {
	struct pst_context *ctx;
	enum pst_memory_kind kind;
	struct mem_region region;
	struct dock *dock; /* NULL for host memory */
	bool own_dock;
	atomic_bool gds_tried; /* see direct.h */
	bool gds;	       /* cuFile has it registered */
};

struct landing {
	struct worker *worker;
	struct mem_queue *queue;
	struct mem_staging *staging;
	struct io_timer timer;
	struct io_msg wake;
	atomic_bool woken;
	/* Requests that a stream of the user's is not ready for, in the order they came; see stream.c. */
	struct list parked;    /* struct request.link */
	uint64_t parked_since; /* loop time at which there began to be any */
	uint64_t parked_look;  /* ask again then */
};

/* The landing of @mem on @w; NULL where the CPU reaches the memory. */
static inline struct landing *landing_of(const struct pst_memory *mem, const struct worker *w)
{
	return mem->dock ? &mem->dock->landings[w - w->ctx->workers] : NULL;
}

/* A job was submitted, or a request parked: be there when it is over. */
void landing_arm(struct landing *l);

/* The context ends: no memory of it is left. */
void docks_free(struct pst_context *ctx);

#endif
