/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staging: pieces of host memory that data passes through on its way to or from a device. All of
 * it is allocated and pinned once, when the pool is made; an empty pool is back-pressure and never
 * an allocation: the owner waits in line (and reads no more from its socket meanwhile). The piece
 * size is a trade: small pieces overlap receive and copy better, large ones pay the copy's fixed
 * cost less often; 128 KiB to 1 MiB is the sensible range, and 256 KiB the default.
 *
 * A pool belongs to one thread, like the queue and the loop beside it.
 */
#ifndef PENSTOCK_MEMORY_STAGING_H
#define PENSTOCK_MEMORY_STAGING_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "memory/device.h"

#define MEM_STAGING_PIECE_MIN (128u << 10)
#define MEM_STAGING_PIECE_DEFAULT (256u << 10)
#define MEM_STAGING_PIECE_MAX (1u << 20)

struct mem_staging;

/* A place in the line for a piece, embedded in its owner. */
struct mem_staging_wait {
	/*
	 * @piece is the owner's now. Called from inside mem_staging_put(), never from
	 * mem_staging_wait(). It may get, put, wait and cancel.
	 */
	void (*fn)(struct mem_staging_wait *w, void *piece);
	struct list link; /* private */
	bool waiting;     /* private */
};

static inline void mem_staging_wait_init(struct mem_staging_wait *w,
					 void (*fn)(struct mem_staging_wait *w, void *piece))
{
	*w = (struct mem_staging_wait){ .fn = fn };
}

/*
 * @dev: whose memory it is copied to; NULL: ordinary memory. @piece_bytes: a multiple of 4096
 * between the limits above, 0 = default. @count: at least 1. -ENOMEM, -EINVAL.
 */
int mem_staging_new(struct mem_device *dev, size_t piece_bytes, unsigned int count,
		    struct mem_staging **ret_staging, struct err *err);
/* Every piece is back and nobody waits. Takes NULL, returns NULL. */
struct mem_staging *mem_staging_free(struct mem_staging *s);

size_t mem_staging_piece(const struct mem_staging *s); /* bytes */
unsigned int mem_staging_count(const struct mem_staging *s);
unsigned int mem_staging_available(const struct mem_staging *s);

/* A page-aligned piece, or NULL: none is free, or others wait for one already (no overtaking). */
void *mem_staging_get(struct mem_staging *s);
/* Stand in line for a piece, after mem_staging_get() gave NULL. First come, first served. */
void mem_staging_wait(struct mem_staging *s, struct mem_staging_wait *w);
/* Leave the line; does nothing when not in it. */
void mem_staging_cancel(struct mem_staging *s, struct mem_staging_wait *w);
/* Gives a piece back, and hands it to who waits first. INVARIANT: it is one of this pool's. */
void mem_staging_put(struct mem_staging *s, void *piece);

#endif
