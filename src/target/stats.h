/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters. Each is written by one core and may be read by any: relaxed atomics, so that a counter
 * costs an ordinary add. Sums are made by whoever asks.
 */
#ifndef PENSTOCK_TARGET_STATS_H
#define PENSTOCK_TARGET_STATS_H

#include <stdatomic.h>
#include <stdint.h>

#include "target/target.h"

typedef _Atomic uint64_t tgt_counter;

/* Only the core that owns the counter. */
static inline void tgt_count(tgt_counter *c, uint64_t n)
{
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

static inline uint64_t tgt_counted(const tgt_counter *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

/* Of one queue; as struct target_io_stats. */
struct tgt_io_counters {
	tgt_counter reads, writes, flushes, others;
	tgt_counter read_bytes, write_bytes;
	tgt_counter errors;
};

void tgt_io_counters_add(struct target_io_stats *sum, const struct tgt_io_counters *c);
void target_io_stats_add(struct target_io_stats *sum, const struct target_io_stats *s);

/* Of one reactor. */
struct tgt_core_counters {
	tgt_counter accepted, accept_errors;
	tgt_counter closed[TARGET_CLOSE_COUNT];
	tgt_counter connects, connects_refused;
	tgt_counter admin_commands;
	tgt_counter ddgst_errors;
	tgt_counter fence_waits, fence_expired;
	tgt_counter arena_used, arena_waits; /* copies for readers of other cores */
	struct tgt_io_counters io;
};

#endif
