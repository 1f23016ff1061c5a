/* SPDX-License-Identifier: Apache-2.0 */
/* One seed; see run.h. */
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "system.h"

#define S         UINT64_C(1000000000)
#define SETTLE_NS (UINT64_C(90) * S)   /* longer than any operation may be slow, and any fence */
#define FINISH_NS (UINT64_C(2000) * S) /* in virtual time: all work after the heal */

struct run {
	struct plan plan;
	struct sim *sim;
	struct oracle *oracle;
	struct system sys;
	struct rng rng;
	struct run_result *result;
};

/* ---- questions to ask after every event ------------------------------------------------------ */

static bool all_over(const struct system *sys)
{
	for (unsigned int i = 0; i < sys->plan->hosts; i++)
		if (!work_over(&sys->host[i].work) || !rival_over(&sys->host[i].rival))
			return false;
	return true;
}

/* Or something that has to be seen to. */
static bool over_or_trouble(void *arg)
{
	struct run *r = arg;

	return system_any_failed(&r->sys) || all_over(&r->sys) || system_wrong(&r->sys);
}

/* Until that, for at most @ns, with controllers that have given up replaced. 0 or -errno. */
static int until_over(struct run *r, uint64_t ns)
{
	uint64_t end = sim_now(r->sim) + ns;
	int rc = 0;

	while (sim_now(r->sim) < end && !system_wrong(&r->sys)) {
		rc = sim_run_until(r->sim, over_or_trouble, r, end - sim_now(r->sim));
		if (rc == 0 && system_any_failed(&r->sys))
			system_replace_failed(&r->sys);
		else
			break;
	}
	return rc;
}

/* ---- blows ----------------------------------------------------------------------------------- */

static struct system_host *some_host(struct run *r)
{
	return &r->sys.host[rng_below(&r->rng, r->plan.hosts)];
}

static void target_down_and_up(struct run *r, enum plan_blow blow)
{
	if (blow == BLOW_RESTART)
		system_target_stop(&r->sys);
	else
		system_target_crash(&r->sys,
				    blow == BLOW_POWER ? SIM_CRASH_POWER : SIM_CRASH_PROCESS);
	if (system_wrong(&r->sys))
		return;
	until_over(r, rng_below(&r->rng, r->plan.down_max_ns));
	if (!sim_node_up(r->sys.target_node))
		sim_node_restart(r->sys.target_node);
	system_target_up(&r->sys);
}

static bool host_is_quiet(void *arg)
{
	struct system_host *h = arg;

	return sim_node_quiet(h->node);
}

/*
 * It comes back when nothing that it sent is on its way any more: a target knows what it has and what
 * lies in its sockets, but not what the network still holds of somebody who died.
 */
static void host_down_and_up(struct run *r, struct system_host *h, enum sim_crash how)
{
	system_host_crash(h, how);
	if (system_wrong(&r->sys))
		return;
	until_over(r, rng_below(&r->rng, r->plan.down_max_ns));
	sim_run_until(r->sim, host_is_quiet, h, FINISH_NS);
	sim_node_restart(h->node);
	system_host_up(h);
}

static void strike(struct run *r, enum plan_blow blow)
{
	struct system_host *h = some_host(r);

	sim_note(r->sim, "blow %s host=%u", plan_blow_name(blow), h->work.host);
	r->result->blows[blow]++;
	switch (blow) {
	case BLOW_POWER:
	case BLOW_KILL:
	case BLOW_RESTART:
		target_down_and_up(r, blow);
		break;
	case BLOW_HOST_CRASH:
		host_down_and_up(r, h, SIM_CRASH_POWER);
		break;
	case BLOW_HOST_KILL:
		host_down_and_up(r, h, SIM_CRASH_PROCESS);
		break;
	case BLOW_HOST_RESET:
		host_ctrl_reset(h->ctrl);
		break;
	case BLOW_RESET:
		sim_node_reset(h->node);
		break;
	case BLOW_HOLE:
		sim_node_hole(h->node);
		break;
	case BLOW_LINK:
		sim_link_down(h->node, r->sys.target_node, rng_below(&r->rng, r->plan.down_max_ns));
		break;
	case BLOW_COUNT:
		break;
	}
}

/* One that exists in this run; BLOW_COUNT: none does. */
static enum plan_blow some_blow(struct run *r)
{
	unsigned int n = 0;
	uint64_t at;

	for (int i = 0; i < BLOW_COUNT; i++)
		n += r->plan.blow[i];
	if (n == 0)
		return BLOW_COUNT;
	at = rng_below(&r->rng, n);
	for (int i = 0; i < BLOW_COUNT; i++)
		if (r->plan.blow[i] && at-- == 0)
			return (enum plan_blow)i;
	return BLOW_COUNT;
}

/* ---- phases ---------------------------------------------------------------------------------- */

static void fault_phase(struct run *r)
{
	for (unsigned int i = 0; i < r->plan.blows && !system_wrong(&r->sys); i++) {
		enum plan_blow blow = some_blow(r);

		until_over(r, rng_below(&r->rng, r->plan.blow_max_ns));
		if (all_over(&r->sys) || system_wrong(&r->sys))
			return;
		if (blow != BLOW_COUNT)
			strike(r, blow);
	}
	/* What is left has as long as the blows took, at most. */
	if (!system_wrong(&r->sys))
		until_over(r, r->plan.blow_max_ns);
}

static void finish(struct run *r, const char *what)
{
	int rc;

	if (system_wrong(&r->sys))
		return;
	rc = until_over(r, FINISH_NS);
	if (system_wrong(&r->sys) || (rc == 0 && all_over(&r->sys)))
		return;
	snprintf(r->sys.wrong, sizeof(r->sys.wrong), "%s does not finish after the heal (%s)", what,
		 strerror(-rc));
}

/* What is reserved would keep the sweep's flush from being done. */
static void end_rivals(struct run *r)
{
	for (unsigned int i = 0; i < r->plan.hosts; i++)
		rival_end(&r->sys.host[i].rival);
	finish(r, "the end of reservations");
}

static void sweep(struct run *r, bool flush)
{
	for (unsigned int i = 0; i < r->plan.hosts; i++)
		work_sweep(&r->sys.host[i].work, flush);
	for (unsigned int i = 0; i < r->plan.hosts; i++)
		rival_sweep(&r->sys.host[i].rival);
	finish(r, "the sweep");
}

static void heal_phase(struct run *r)
{
	sim_heal(r->sim);
	/* A store that was told that data is lost says so until it is opened anew. */
	if (sim_fault_count(r->sim, SIM_FILE_SYNC) && system_target_is_up(&r->sys)) {
		system_target_stop(&r->sys);
		if (!system_wrong(&r->sys))
			system_target_up(&r->sys);
	}
	finish(r, "the work");
	/* What was slow when the faults ended comes to its end, and whoever waits for it. */
	if (!system_wrong(&r->sys))
		sim_run_for(r->sim, SETTLE_NS);
	end_rivals(r);
	if (!system_wrong(&r->sys))
		sweep(r, true);
	if (!r->plan.final_power_cut || system_wrong(&r->sys))
		return;
	system_target_crash(&r->sys, SIM_CRASH_POWER);
	if (system_wrong(&r->sys))
		return;
	sim_node_restart(r->sys.target_node);
	system_target_up(&r->sys);
	sweep(r, false);
}

static void collect(struct run *r)
{
	struct run_result *res = r->result;
	const char *wrong = system_wrong(&r->sys);

	for (int i = 0; i < SIM_FAULT_COUNT; i++)
		res->hits[i] = sim_fault_count(r->sim, (enum sim_fault)i);
	for (unsigned int i = 0; i < r->plan.hosts; i++) {
		res->succeeded += r->sys.host[i].work.succeeded;
		res->failures += r->sys.host[i].work.failed;
		res->unknowns += r->sys.host[i].work.unknowns;
	}
	res->locked = r->sys.shared.locked;
	res->lost_races = r->sys.shared.lost_races;
	res->reserved = r->sys.shared.reserved;
	res->conflicts = r->sys.shared.conflicts;
	res->aborts = r->sys.shared.aborts;
	res->aborted = r->sys.shared.aborted;
	res->verified = r->sys.shared.verified;
	res->losses = r->sys.losses;
	res->requeued = r->sys.requeued;
	res->fence_waits = r->sys.fence_waits;
	res->events = sim_events(r->sim);
	res->hash = sim_hash(r->sim);
	res->virtual_ns = sim_now(r->sim);
	res->failed = wrong != NULL;
	res->data = oracle_wrong(r->oracle) != NULL;
	if (wrong)
		snprintf(res->wrong, sizeof(res->wrong), "%s", wrong);
}

static void leave_out(struct plan *p, const struct run_options *options)
{
	for (int i = 0; i < SIM_FAULT_COUNT; i++)
		if (options->without[i])
			p->sim.ppm[i] = 0;
	for (int i = 0; i < BLOW_COUNT; i++)
		p->blow[i] &= !options->without_blow[i];
}

static struct oracle *make_oracle(const struct plan *p)
{
	struct oracle_disk disk = {
		.seed = p->seed,
		.blocks = p->blocks,
		.block = p->block,
		.sector = p->memory ? p->block : p->sim.sector,
		.cache = !p->memory && p->sim.disk_cache,
		.tries_tear = p->sim.ppm[SIM_FILE_WRITE] || p->sim.ppm[SIM_FILE_SPACE],
	};

	return oracle_new(&disk);
}

void run_seed(uint64_t seed, const struct run_options *options, struct run_result *ret)
{
	struct run *r = calloc(1, sizeof(*r));
	struct plan *p = &r->plan;

	INVARIANT(r != NULL);
	memset(ret, 0, sizeof(*ret));
	r->result = ret;
	plan_draw(p, seed);
	leave_out(p, options);
	rng_init(&r->rng, seed ^ UINT64_C(0x626c6f77));
	r->sim = sim_new(seed, &p->sim);
	if (options->trace) {
		plan_print(p, options->trace);
		sim_trace(r->sim, options->trace);
	}
	r->oracle = make_oracle(p);
	system_init(&r->sys, p, r->sim, r->oracle, options->no_fence);
	fault_phase(r);
	if (!system_wrong(&r->sys))
		heal_phase(r);
	if (!system_wrong(&r->sys))
		system_deinit(&r->sys);
	collect(r);
	if (ret->failed)
		return;
	oracle_free(r->oracle);
	sim_free(r->sim);
	free(r);
}
