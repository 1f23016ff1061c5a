/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking at a target; the idea is in inspect.h.
 */
#include "target/inspect.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "target/core.h"
#include "target/listener.h"
#include "target/ns.h"
#include "target/reactor.h"
#include "target/stats.h"
#include "target/tenant.h"

void target_visit_subsystems(struct target *t,
			     void (*fn)(void *arg, const struct target_subsys_info *info),
			     void *arg)
{
	struct tgt_subsys *s;

	target_lock(t);
	tgt_for_each_subsys(t, s) {
		struct target_subsys_info info = {
			.nqn = s->nqn,
			.serial = s->serial,
			.model = s->model,
			.leaving = s->leaving,
			.allow_any = s->hosts.any || s->discovery,
			.hosts = (const char *const *)s->hosts.nqns,
			.host_count = s->hosts.count,
			.namespaces = s->table->count,
			.controllers = s->ctrl_count,
		};

		tgt_subsys_io_stats(s, &info.io);
		fn(arg, &info);
	}
	target_unlock(t);
}

static void visit_ns(const struct target *t, const struct tgt_subsys *s, const struct tgt_ns *ns,
		     void (*fn)(void *arg, const struct target_ns_info *info), void *arg)
{
	const struct store_info *store = store_info(ns->store);
	struct target_ns_info info = {
		.subnqn = s->nqn,
		.nsid = ns->nsid,
		.size_bytes = ns->blocks << ns->block_shift,
		.block_bytes = 1u << ns->block_shift,
		.read_only = ns->read_only,
		.kind = store->kind,
		.name = store->name,
		.uuid = ns->uuid,
	};

	for (unsigned int i = 0; i < t->reactor_count; i++)
		tgt_io_counters_add(&info.io, &ns->backing->cores[i].io);
	fn(arg, &info);
}

void target_visit_namespaces(struct target *t,
			     void (*fn)(void *arg, const struct target_ns_info *info), void *arg)
{
	const struct tgt_ns *ns;
	struct tgt_subsys *s;

	target_lock(t);
	tgt_for_each_subsys(t, s)
		for (ns = tgt_ns_next(s->table, 0); ns; ns = tgt_ns_next(s->table, ns->nsid))
			visit_ns(t, s, ns, fn, arg);
	target_unlock(t);
}

void target_visit_listeners(struct target *t,
			    void (*fn)(void *arg, const struct target_listener_info *info),
			    void *arg)
{
	target_lock(t);
	for (size_t i = 0; i < t->listener_count; i++) {
		const struct tgt_listener *l = t->listeners[i];
		struct target_listener_info info = {
			.addr = &l->addr,
			.advertise = l->advertise.len ? &l->advertise : NULL,
			.nqns = (const char *const *)l->nqns,
			.nqn_count = l->nqn_count,
		};

		if (!l->closing)
			fn(arg, &info);
	}
	target_unlock(t);
}

void target_visit_cores(struct target *t,
			void (*fn)(void *arg, const struct target_core_info *info), void *arg)
{
	for (unsigned int i = 0; i < t->reactor_count; i++) {
		const struct tgt_reactor *r = &t->reactors[i];
		struct target_core_info info = {
			.index = i,
			.cpu = r->cpu,
			.connections = atomic_load_explicit(&r->load, memory_order_relaxed),
			.arena_bytes = tgt_arena_bytes(&r->arena), /* constant */
			.arena_used = tgt_counted(&r->stats.arena_used),
			.arena_waits = tgt_counted(&r->stats.arena_waits),
		};

		tgt_io_counters_add(&info.io, &r->stats.io);
		fn(arg, &info);
	}
}

/* ---- what a core must be asked for ----------------------------------------------------------- */

/* Asks each core in turn; its loop runs as long as the target is held. */
static int ask(struct target *t, int (*fn)(struct tgt_reactor *r, void *arg, struct err *err),
	       void *arg)
{
	pthread_mutex_lock(&t->change_lock);
	if (!target_try_hold(t)) {
		pthread_mutex_unlock(&t->change_lock);
		return -ESHUTDOWN;
	}
	for (unsigned int i = 0; i < t->reactor_count; i++)
		tgt_reactor_call(&t->reactors[i], fn, arg, NULL);
	target_release(t);
	pthread_mutex_unlock(&t->change_lock);
	return 0;
}

struct visit {
	void (*fn)(void *arg, const struct target_host_info *info);
	void *arg;
};

static int hosts_here(struct tgt_reactor *r, void *arg, struct err *err)
{
	const struct visit *v = arg;
	const struct tgt_tenant *tenant;

	list_for_each_entry(tenant, &r->tenants, link) {
		struct target_host_info info = {
			.hostnqn = tenant->hostnqn,
			.core = r->index,
			.connections = tenant->refs,
			.io_bytes = (uint64_t)tenant->arena.held[0] * TGT_ARENA_PIECE,
			.control_bytes = (uint64_t)tenant->arena.held[1] * TGT_ARENA_PIECE,
		};

		v->fn(v->arg, &info);
	}
	return 0;
}

int target_visit_hosts(struct target *t,
		       void (*fn)(void *arg, const struct target_host_info *info), void *arg)
{
	struct visit v = { fn, arg };

	return ask(t, hosts_here, &v);
}

static int latency_here(struct tgt_reactor *r, void *arg, struct err *err)
{
	struct hist *sum = arg;

	for (int i = 0; i < TARGET_LATENCY_CLASSES; i++)
		hist_merge(&sum[i], &r->latency[i]);
	return 0;
}

int target_latency(struct target *t, struct hist *sum)
{
	return ask(t, latency_here, sum);
}
