/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where data lands. A region is a range of memory of one kind: host, pinned host, or a device's.
 * There are two ways into it, and mem_region_cpu() says which one a caller must take:
 *
 *	CPU-addressable   receive in place at mem_region_ptr(r, offset); nothing is left to do.
 *	not               take a piece of a staging pool (staging.h), receive there, and then
 *	                  mem_copy_in() from the piece; give it back in done. The data has landed
 *	                  when done is called with result 0, and not before. A receive that failed
 *	                  must not be copied.
 *
 * No code touches a device address with the CPU. The emulated device hands out addresses in a
 * PROT_NONE range, so that one which does faults at once; mem_region_ptr() asserts as well.
 *
 * A region is a description: it may be copied by value except for the one that owns the memory,
 * and is safe to read from any thread. Offsets and lengths are bytes; there is no alignment rule.
 * Ranges are the caller's to check (INVARIANT here): a peer's numbers were checked long before.
 */
#ifndef PENSTOCK_MEMORY_REGION_H
#define PENSTOCK_MEMORY_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"
#include "memory/device.h"

/* A way past the copy engine, for small copies; see mem_cuda_map(). */
struct mem_mapping {
	uint64_t max; /* bytes of one copy */
	int (*copy_in)(struct mem_mapping *m, uint64_t offset, const struct iovec *iov, int niov);
	void (*unmap)(struct mem_mapping *m);
};

struct mem_region {
	enum mem_kind kind;
	bool owned;             /* allocated by us, freed by mem_region_deinit() */
	bool locked;            /* pinned by us, to be unpinned */
	struct mem_device *dev; /* NULL: host, pinned */
	uint64_t addr;          /* CPU or device address */
	uint64_t length;        /* bytes */
	struct mem_mapping *mapping; /* NULL: none; goes with the region */
};

#define MEM_REGION_NULL ((struct mem_region){ .kind = MEM_HOST })

/*
 * Describes memory of the caller's, which stays the caller's and must outlive the region.
 * MEM_PINNED locks it into memory: -ENOMEM or -EPERM when the limit on locked memory forbids it
 * (the sentence says which limit). MEM_HOST cannot fail. Locking is by pages and does not count:
 * two pinned regions that share a page lose it with the first that goes.
 */
int mem_region_register(struct mem_region *r, enum mem_kind kind, void *ptr, uint64_t length,
			struct err *err);
/* Describes device memory of the caller's. -EFAULT, -EOPNOTSUPP: it is none that @dev may copy to. */
int mem_region_register_device(struct mem_region *r, struct mem_device *dev, uint64_t addr,
			       uint64_t length, struct err *err);
/*
 * Makes memory of our own real, in large pages where there are any, so that whoever lands data in it
 * first does not wait for the kernel to clear it. What would leave less than half of this machine stays
 * virtual until written.
 */
void mem_populate(void *p, uint64_t length);
/* Allocates host or pinned memory, zeroed, page-aligned, populated. -ENOMEM, -EPERM as above. */
int mem_region_alloc(struct mem_region *r, enum mem_kind kind, uint64_t length, struct err *err);
/* Allocates device memory; its contents are undefined. -ENOMEM. */
int mem_region_alloc_device(struct mem_region *r, struct mem_device *dev, uint64_t length,
			    struct err *err);
/* Frees what was allocated, unlocks what was locked. No copy may be pending. Idempotent. */
void mem_region_deinit(struct mem_region *r);

/* May the CPU touch it? If not, mem_copy_in() and mem_copy_out() are the only ways. */
static inline bool mem_region_cpu(const struct mem_region *r)
{
	return r->kind == MEM_HOST || r->kind == MEM_PINNED;
}

/* The address of a byte the CPU may touch. INVARIANT: mem_region_cpu(), offset <= length. */
void *mem_region_ptr(const struct mem_region *r, uint64_t offset);
/* The address of a byte as its kind has it, only ever to be shown or handed to a device. */
uint64_t mem_region_addr(const struct mem_region *r, uint64_t offset);
/* The path of a read that lands here by receiving in place, or else by staging. */
enum mem_path mem_region_path(const struct mem_region *r);
/* Is offset + length inside, without overflow? */
bool mem_region_contains(const struct mem_region *r, uint64_t offset, uint64_t length);

/*
 * Copies all of @iov, host memory, to @offset of the region. Returns true if it is done already
 * (CPU-addressable regions, small copies into mapped ones, and no bytes at all: job->result is set,
 * done is not called), false if done comes later from mem_queue_poll(@q). @q: a queue of the
 * region's device, NULL is allowed for CPU-addressable regions. @now_ns: the caller's loop time.
 * The iovec array and the buffers stay untouched and in place until done.
 */
bool mem_copy_in(struct mem_queue *q, const struct mem_region *r, uint64_t offset,
		 const struct iovec *iov, int niov, struct mem_job *job, uint64_t now_ns);
/* The other way: from @offset of the region into @iov. */
bool mem_copy_out(struct mem_queue *q, const struct mem_region *r, uint64_t offset,
		  const struct iovec *iov, int niov, struct mem_job *job, uint64_t now_ns);

#endif
