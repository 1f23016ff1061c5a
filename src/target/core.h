/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The target object and its reactors: what every other file of the room may look into.
 */
#ifndef PENSTOCK_TARGET_CORE_H
#define PENSTOCK_TARGET_CORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hist.h"
#include "base/list.h"
#include "base/log.h"
#include "io/io.h"
#include "target/arena.h"
#include "target/inspect.h"
#include "target/stats.h"
#include "target/subsys.h"
#include "target/target.h"

struct tgt_listener;

/* One core: a loop, its connections, its memory. All of it belongs to the loop's thread. */
struct tgt_reactor {
	struct target *target;
	unsigned int index;
	struct io_loop *loop;
	struct tgt_arena arena;
	struct tgt_core_subsys *subsystems; /* as target->subsystems */
	struct list conns;                  /* struct tgt_conn */
	struct list tenants;                /* struct tgt_tenant */
	atomic_uint load;                   /* connections, also those on their way here */
	struct io_msg enforce_msg;          /* look who may still be here */
	atomic_bool enforce_posted;
	bool draining;
	bool drain_now;
	struct io_timer drain_timer;
	struct io_msg drain_msg;
	atomic_bool drain_posted;
	struct tgt_core_counters stats;
	struct hist *latency; /* by enum target_latency_class */

	/* Own threads only. */
	pthread_t thread;
	bool has_thread;
	bool joined;
	int cpu; /* to pin to; -1: none */
	int result;
	struct io_msg call_msg;
	struct tgt_call *call;
};

enum target_phase {
	TARGET_NEW,
	TARGET_STARTED,
	TARGET_DRAINING,
};

struct target {
	struct target_limits limits;
	struct target_hooks hooks;
	const struct log *log;
	char *state_dir; /* NULL: none */
	struct io_loop_options loop_options;
	bool own_threads;

	struct tgt_reactor *reactors;
	unsigned int reactor_count;
	struct tgt_subsys **subsystems; /* [0] discovery; limits.subsystems more, NULL: free */
	struct tgt_listener **listeners;
	size_t listener_count;
	pthread_mutex_t change_lock; /* held by whoever changes something; see change.h */

	/*
	 * Guards controllers, their queues, the fence, what passes between connections, and which
	 * subsystems, hosts and listeners there are. Taken on the control path only, never held
	 * over anything that waits.
	 */
	pthread_mutex_t lock;
	uint64_t genctr; /* of the discovery log */
	struct target_io_stats gone_io; /* of subsystems that are gone */

	atomic_int phase; /* enum target_phase */
	atomic_bool drain_now;
	/* Connections, listeners and messages that must end before the target is drained. */
	atomic_uint live;
	atomic_uint connections;        /* open or on their way: for limits.connections */
	struct log_limit log_limits[2]; /* of lines about peers: warnings, others; by log_lock */
	pthread_mutex_t log_lock;
};

/* The subsystem at @i or behind it, NULL at the end. The lock is held. */
static inline struct tgt_subsys *tgt_subsys_from(const struct target *t, uint32_t i)
{
	while (i <= t->limits.subsystems && !t->subsystems[i])
		i++;
	return i <= t->limits.subsystems ? t->subsystems[i] : NULL;
}

#define tgt_for_each_subsys(t, s)                                                                  \
	for ((s) = tgt_subsys_from(t, 0); (s); (s) = tgt_subsys_from(t, (s)->index + 1))

static inline void target_lock(struct target *t)
{
	pthread_mutex_lock(&t->lock);
}

static inline void target_unlock(struct target *t)
{
	pthread_mutex_unlock(&t->lock);
}

/* Something that must end before the target is drained begins or ends. */
static inline void target_hold(struct target *t)
{
	atomic_fetch_add_explicit(&t->live, 1, memory_order_relaxed);
}

/* The same, unless everything has ended already. */
bool target_try_hold(struct target *t);
void target_release(struct target *t);

static inline bool target_draining(const struct target *t)
{
	return atomic_load_explicit(&t->phase, memory_order_relaxed) == TARGET_DRAINING;
}

/*
 * Whether a line of @level about something that a peer can cause at will is to be written now;
 * @ret_held is how many such lines were not since the last one.
 */
bool target_log_pass(struct target *t, enum log_level level, uint64_t now_ns, uint64_t *ret_held);

#endif
