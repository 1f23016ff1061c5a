/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs through the CUDA driver: a mem_device of each. It works in the device's primary context,
 * the one that the runtime API and every framework use, so that memory of theirs is memory of ours.
 * Each call makes that context current and puts back what was there: an application's thread may
 * have another.
 *
 * Host memory from it is pinned. Its queues are streams of the library's own, of the highest
 * priority, which the legacy default stream does not wait for and does not hold up.
 */
#ifndef PENSTOCK_MEMORY_CUDA_H
#define PENSTOCK_MEMORY_CUDA_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "memory/device.h"
#include "memory/region.h"

/* How many GPUs there are. -ENODEV, -ENOSYS, -EIO with the sentence that says why there are none. */
int mem_cuda_count(unsigned int *ret_count, struct err *err);

/* @ordinal as CUDA counts (CUDA_VISIBLE_DEVICES has its say). -ENODEV, -ENOMEM, -EBUSY, -EIO. */
int mem_cuda_new(unsigned int ordinal, struct mem_device **ret_dev, struct err *err);

/*
 * Which GPU has that address. -EFAULT: none (the sentence says what it is instead); -EOPNOTSUPP:
 * managed memory, which is nowhere for certain.
 */
int mem_cuda_ordinal_of(uint64_t addr, unsigned int *ret_ordinal, struct err *err);

/* The last thing that went wrong on it, as the driver put it; empty: nothing yet. Any thread. */
void mem_cuda_last_error(struct mem_device *dev, char *buf, size_t n);

/* ---- streams of the application's ---------------------------------------------------------- */

/* May the handle be used from any thread? -EINVAL: it means another stream in each thread. */
int mem_cuda_stream_check(uint64_t stream, struct err *err);
/*
 * A point in the stream: all that it has been given until now. -EAGAIN: too many at a time. Any
 * thread, but for the callbacks of a mem_queue_poll().
 */
int mem_cuda_mark(struct mem_device *dev, uint64_t stream, void **ret_mark);
/* 1: the stream is past it; 0: not yet; -errno: it never will be, the device has failed. */
int mem_cuda_passed(struct mem_device *dev, void *mark);
void mem_cuda_unmark(struct mem_device *dev, void *mark);
/*
 * What the stream is given from now on runs after @job, a copy in flight. -EAGAIN: the copy is
 * still in line for the copy engine, so nothing can wait for it, or it has failed already; wait for
 * its done instead.
 */
int mem_cuda_follow(struct mem_job *job, uint64_t stream);

/* ---- small copies -------------------------------------------------------------------------- */

/*
 * Maps a region into the CPU's address space (gdrcopy, through the GPU's BAR1), for copies of up to
 * @max bytes into it: the CPU stores such a one in less time than the copy engine takes to start.
 * -ENODEV: gdrcopy is not there; -errno: the driver would not pin it. The region is as good without.
 */
int mem_cuda_map(struct mem_region *r, uint64_t max, struct err *err);

#endif
