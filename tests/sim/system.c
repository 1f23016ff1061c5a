/* SPDX-License-Identifier: Apache-2.0 */
/* The system under test; see system.h. */
#include "system.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

#define S       UINT64_C(1000000000)
#define PORT    4420
#define NQN     "nqn.2026-11.io.penstock:sim"
#define PATTERN "nqn.2014-08.org.nvmexpress:uuid:00000000-0000-4000-8000-00000000000%u"
#define STOP_NS (UINT64_C(300) * S) /* in virtual time: any orderly end */

static void wrong(struct system *sys, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void wrong(struct system *sys, const char *fmt, ...)
{
	va_list args;

	if (sys->wrong[0])
		return;
	va_start(args, fmt);
	vsnprintf(sys->wrong, sizeof(sys->wrong), fmt, args);
	va_end(args);
}

const char *system_wrong(const struct system *sys)
{
	if (oracle_wrong(sys->oracle))
		return oracle_wrong(sys->oracle);
	for (unsigned int i = 0; i < sys->plan->hosts; i++)
		if (sys->host[i].work.wrong[0])
			return sys->host[i].work.wrong;
	if (sys->shared.wrong[0])
		return sys->shared.wrong;
	return sys->wrong[0] ? sys->wrong : NULL;
}

/* ---- the target ----------------------------------------------------------------------------- */

bool system_target_is_up(const struct system *sys)
{
	return sys->target != NULL;
}

static bool target_is_drained(void *arg)
{
	return target_drained(((struct system *)arg)->target);
}

/* What a failed sync may have forgotten, a store that is opened anew does not know of. */
static void doubt(struct system *sys)
{
	const struct plan *p = sys->plan;
	uint64_t failed = sim_fault_count(sys->sim, SIM_FILE_SYNC);
	bool direct = p->direct && p->sim.disk_direct && p->sim.sector <= p->block;

	if (failed > sys->syncs_failed && !direct)
		oracle_doubt(sys->oracle);
	sys->syncs_failed = failed;
}

static int open_store(struct system *sys, struct err *err)
{
	const struct plan *p = sys->plan;
	/* The locks of the rivals are behind the blocks of the load. */
	uint64_t bytes = (p->blocks + SHARED_LOCKS) * p->block;
	char spec[192];
	int n;

	if (p->memory)
		n = snprintf(spec, sizeof(spec), "memory:%" PRIu64 ",block=%u", bytes, p->block);
	else
		n = snprintf(spec, sizeof(spec),
			     "file:/srv/ns1,size=%" PRIu64 ",block=%u,direct=%s", bytes, p->block,
			     p->direct ? "auto" : "off");
	if (p->delay_ns)
		snprintf(spec + n, sizeof(spec) - (size_t)n,
			 ",filter=delay:1us:write:jitter=%" PRIu64 "us:seed=%" PRIu64,
			 p->delay_ns / 1000, p->seed);
	return store_open(sys->loop[0], spec, &sys->store, err);
}

static int make_target(struct system *sys, struct err *err)
{
	const struct plan *p = sys->plan;
	struct target_ns_config ns = { .nsid = 1, .store = sys->store };
	struct target_subsys_config subsys = {
		.nqn = NQN, .allow_any = true, .namespaces = &ns, .namespace_count = 1
	};
	struct target_listener_config listener = { .nqn_count = 0 };
	struct target_config c;
	int r;

	sim_node_addr(sys->target_node, PORT, &listener.addr);
	target_config_init(&c);
	c.subsystems = &subsys;
	c.subsystem_count = 1;
	c.listeners = &listener;
	c.listener_count = 1;
	c.limits = p->limits;
	c.log = &sys->log;
	c.hooks.no_fence = sys->no_fence;
	r = target_new_on_loops(&c, sys->loop, p->target_loops, &sys->target, err);
	return r < 0 ? r : target_start(sys->target, err);
}

void system_target_up(struct system *sys)
{
	struct err err = ERR_NULL;
	int r;

	for (unsigned int i = 0; i < sys->plan->target_loops; i++)
		sys->loop[i] = sim_loop_new(sys->target_node);
	doubt(sys);
	r = open_store(sys, &err);
	if (r == 0)
		r = make_target(sys, &err);
	if (r < 0)
		wrong(sys, "the target does not start: %s", err_text(&err));
	sim_node_fail_alloc(sys->target_node, sys->plan->alloc_target);
}

/* Waits for the end that has begun, and takes apart what is left. */
static void target_down(struct system *sys)
{
	struct target_stats stats;

	if (sim_run_until(sys->sim, target_is_drained, sys, STOP_NS) != 0) {
		wrong(sys, "the target does not come to an end");
		return;
	}
	target_stats(sys->target, &stats);
	sys->fence_waits += stats.fence_waits;
	sys->target_errors += stats.io.errors;
	if (stats.open || stats.controllers || stats.arena_used)
		wrong(sys,
		      "the target ends with %" PRIu64 " connections, %" PRIu64
		      " controllers, %" PRIu64 " bytes in use",
		      stats.open, stats.controllers, stats.arena_used);
	sys->target = target_free(sys->target);
	sys->store = store_free(sys->store);
	for (unsigned int i = 0; i < sys->plan->target_loops; i++)
		sys->loop[i] = io_loop_free(sys->loop[i]);
}

void system_target_stop(struct system *sys)
{
	sim_note(sys->sim, "target stops");
	shared_target_gone(&sys->shared, false);
	target_drain(sys->target, false);
	target_down(sys);
}

void system_target_crash(struct system *sys, enum sim_crash how)
{
	sim_node_crash(sys->target_node, how);
	/* What its store had in flight has happened by now, or never will. */
	for (unsigned int i = 0; i < sys->plan->hosts; i++)
		oracle_settle(sys->oracle, i);
	if (how == SIM_CRASH_POWER)
		oracle_power_cut(sys->oracle);
	shared_target_gone(&sys->shared, how == SIM_CRASH_POWER);
	target_drain(sys->target, true);
	target_down(sys);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static void host_event(struct host_ctrl *c, enum host_event event, void *arg)
{
	struct system_host *h = arg;

	sim_note(h->sys->sim, "host=%u event=%d", h->work.host, (int)event);
	if (event == HOST_EVENT_LIVE)
		h->lives = true;
	if (event == HOST_EVENT_FAILED)
		h->failed = true;
}

static void make_ctrl(struct system_host *h)
{
	struct system *sys = h->sys;
	struct host_config c = sys->plan->host;
	struct err err = ERR_NULL;

	sim_node_addr(sys->target_node, PORT, &c.addr);
	c.subnqn = NQN;
	c.hostnqn = h->nqn;
	c.hostid[0] = (uint8_t)(h->work.host + 1);
	c.event = host_event;
	c.arg = h;
	c.log = &sys->log;
	h->failed = h->closed = false;
	if (host_ctrl_new(h->loop, &c, &h->ctrl, &err) != 0) {
		wrong(sys, "host %u does not start: %s", h->work.host, err_text(&err));
		return;
	}
	work_attach(&h->work, h->loop, h->ctrl);
	rival_attach(&h->rival, h->loop, h->ctrl);
}

static void ctrl_closed(void *arg)
{
	struct system_host *h = arg;

	h->closed = true;
}

static bool host_is_closed(void *arg)
{
	return ((struct system_host *)arg)->closed;
}

static void close_ctrl(struct system_host *h)
{
	struct host_ctrl_stats stats;

	if (!h->ctrl)
		return;
	host_ctrl_stats(h->ctrl, &stats);
	h->sys->losses += stats.losses;
	h->sys->requeued += stats.requeued;
	work_detach(&h->work);
	rival_detach(&h->rival);
	host_ctrl_close(h->ctrl, ctrl_closed, h);
	h->ctrl = NULL;
	if (sim_run_until(h->sys->sim, host_is_closed, h, STOP_NS) != 0)
		wrong(h->sys, "host %u does not come to an end", h->work.host);
	else if (rival_busy(&h->rival))
		wrong(h->sys, "host %u ends with a command of its rival not finished", h->work.host);
	else if (h->work.busy > 0)
		wrong(h->sys, "host %u ends with %u operations not finished", h->work.host,
		      h->work.busy);
}

void system_host_up(struct system_host *h)
{
	h->loop = sim_loop_new(h->node);
	make_ctrl(h);
	sim_node_fail_alloc(h->node, h->sys->plan->alloc_host);
}

void system_host_stop(struct system_host *h)
{
	close_ctrl(h);
	if (h->closed)
		h->loop = io_loop_free(h->loop);
}

void system_host_crash(struct system_host *h, enum sim_crash how)
{
	sim_node_crash(h->node, how);
	system_host_stop(h);
}

bool system_any_failed(const struct system *sys)
{
	for (unsigned int i = 0; i < sys->plan->hosts; i++)
		if (sys->host[i].failed)
			return true;
	return false;
}

void system_replace_failed(struct system *sys)
{
	for (unsigned int i = 0; i < sys->plan->hosts; i++) {
		struct system_host *h = &sys->host[i];

		if (!h->failed)
			continue;
		sim_note(sys->sim, "host=%u is replaced", i);
		close_ctrl(h);
		if (h->closed)
			make_ctrl(h);
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

void system_init(struct system *sys, const struct plan *plan, struct sim *sim,
		 struct oracle *oracle, bool no_fence)
{
	static const char *const names[SYSTEM_HOSTS] = { "host0", "host1" };

	INVARIANT(plan->hosts <= SYSTEM_HOSTS && plan->target_loops <= SYSTEM_LOOPS);
	memset(sys, 0, sizeof(*sys));
	sys->plan = plan;
	sys->sim = sim;
	sys->oracle = oracle;
	sys->no_fence = no_fence;
	sys->log = (struct log){ .level = LOG_LEVEL_DEBUG, .sink = sim_log_sink, .ctx = sim };
	shared_init(&sys->shared, plan->block);
	sys->target_node = sim_node_new(sim, "target");
	system_target_up(sys);
	for (unsigned int i = 0; i < plan->hosts; i++) {
		struct system_host *h = &sys->host[i];

		h->sys = sys;
		h->node = sim_node_new(sim, names[i]);
		snprintf(h->nqn, sizeof(h->nqn), PATTERN, i + 1);
		work_init(&h->work, plan, sim, oracle, &sys->shared, i);
		rival_init(&h->rival, plan, &sys->shared, i);
		system_host_up(h);
	}
}

void system_deinit(struct system *sys)
{
	for (unsigned int i = 0; i < sys->plan->hosts; i++) {
		system_host_stop(&sys->host[i]);
		if (system_wrong(sys))
			return;
		work_deinit(&sys->host[i].work);
		rival_deinit(&sys->host[i].rival);
	}
	shared_deinit(&sys->shared);
	if (system_target_is_up(sys))
		system_target_stop(sys);
	for (unsigned int i = 0; i < sys->plan->hosts; i++)
		if (sim_node_streams(sys->host[i].node))
			wrong(sys, "a connection of host %u is left", i);
	if (sim_node_streams(sys->target_node))
		wrong(sys, "a connection of the target is left");
}
