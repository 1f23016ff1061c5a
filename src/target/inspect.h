/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator wants to see of a target, beside the sums of target_stats(): its subsystems,
 * namespaces, listeners, hosts and cores, one after the other, and how long commands take. It is
 * what `penstock ctl`, `penstock top` and a metrics exporter are made from.
 *
 * Counters are kept by the core that counts and summed when asked for, so the I/O path pays an
 * ordinary add each. Histograms are copied on the core that owns them, between two of its turns.
 *
 * Texts are valid during the call only. Thread: any but a reactor's. The callbacks are called with
 * the target's lock held, or (hosts) on a core's thread: be quick, call nothing of the target.
 */
#ifndef PENSTOCK_TARGET_INSPECT_H
#define PENSTOCK_TARGET_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hist.h"
#include "base/uuid.h"
#include "target/target.h"

struct target_subsys_info {
	const char *nqn;
	const char *serial;
	const char *model;
	bool leaving; /* removed; its last controllers are ending */
	bool allow_any;
	const char *const *hosts;
	size_t host_count;
	uint32_t namespaces;
	uint32_t controllers;
	struct target_io_stats io;
};

void target_visit_subsystems(struct target *t,
			     void (*fn)(void *arg, const struct target_subsys_info *info),
			     void *arg);

struct target_ns_info {
	const char *subnqn;
	uint32_t nsid;
	uint64_t size_bytes;
	uint32_t block_bytes;
	bool read_only;
	const char *kind; /* of the store */
	const char *name;
	struct uuid uuid;
	struct target_io_stats io; /* over all its versions */
};

void target_visit_namespaces(struct target *t,
			     void (*fn)(void *arg, const struct target_ns_info *info), void *arg);

struct target_listener_info {
	const struct io_addr *addr;
	const struct io_addr *advertise; /* NULL: as @addr */
	const char *const *nqns;         /* none: all */
	size_t nqn_count;
};

void target_visit_listeners(struct target *t,
			    void (*fn)(void *arg, const struct target_listener_info *info),
			    void *arg);

struct target_core_info {
	unsigned int index;
	int cpu; /* that it is pinned to; -1: none */
	uint32_t connections;
	uint64_t arena_bytes, arena_used, arena_waits;
	struct target_io_stats io;
};

void target_visit_cores(struct target *t,
			void (*fn)(void *arg, const struct target_core_info *info), void *arg);

/* A host as one core has it: the quota of memory is kept there. */
struct target_host_info {
	const char *hostnqn;
	unsigned int core;
	uint32_t connections;
	uint64_t io_bytes;      /* of the arena, held for its I/O commands */
	uint64_t control_bytes; /* ... for admin and Fabrics commands */
};

/* -ESHUTDOWN when the target has come to its end, or was never started. */
int target_visit_hosts(struct target *t,
		       void (*fn)(void *arg, const struct target_host_info *info), void *arg);

enum target_latency_class {
	TARGET_LATENCY_READ,
	TARGET_LATENCY_WRITE,
	TARGET_LATENCY_OTHER,
	TARGET_LATENCY_CLASSES
};

/*
 * Command received to completion queued, in ns, of commands that reached a store. Added to
 * @sum[TARGET_LATENCY_CLASSES], which the caller has initialised. The same error.
 */
int target_latency(struct target *t, struct hist *sum);

#endif
