/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An accelerator that does not exist, for machines without one: memory of its own, one copy engine
 * of a stated bandwidth and latency, one compute engine. What it measures is how well storage
 * feeds such a device; everything it reports is labelled "emulated".
 */
#ifndef PENSTOCK_MEMORY_EMULATED_H
#define PENSTOCK_MEMORY_EMULATED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "memory/device.h"

struct mem_emulated_options {
	uint64_t bandwidth;   /* of the copy engine, bytes a second; 0 = infinitely fast */
	uint64_t latency_ns;  /* fixed cost of each copy; copies behind it overlap with it */
	uint64_t memory;      /* bytes; rounded up to pages; real once allocated */
	bool poison;          /* tests: fill new allocations with MEM_EMULATED_POISON */
	uint32_t fail_every;  /* tests: every n-th copy finishes with -EIO, nothing copied; 0 = never */
};

#define MEM_EMULATED_POISON 0xdb

/* -EINVAL: no memory asked for; -ENOMEM: address space. */
int mem_emulated_new(const struct mem_emulated_options *opts, struct mem_device **ret_dev,
		     struct err *err);

/* Since the device was made; any thread. */
struct mem_emulated_stats {
	uint64_t copies;
	uint64_t bytes;
	uint64_t copy_busy_ns;    /* the copy engine moved data */
	uint64_t steps;
	uint64_t compute_busy_ns; /* the compute engine worked */
};

void mem_emulated_stats(struct mem_device *dev, struct mem_emulated_stats *ret_stats);

#endif
