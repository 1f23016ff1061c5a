/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The target: from a configuration to running reactors and back. What a configuration may say is
 * checked in config.c.
 */
#include "target/target.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "nvme/nqn.h"
#include "target/config.h"
#include "target/core.h"
#include "target/listener.h"
#include "target/reactor.h"

#define SECOND UINT64_C(1000000000)

enum {
	/*
	 * Lines about peers: this many in a period, then only how many there were. A whole room of
	 * hosts may come back at once; a whole room of faults need not be told one by one.
	 */
	LOG_BURST_WARN = 20,
	LOG_BURST_INFO = 400,
	LOG_PERIOD_S = 10,
};

/* ---- counting what is alive ------------------------------------------------------------------ */

bool target_try_hold(struct target *t)
{
	unsigned int n = atomic_load(&t->live);

	while (n > 0)
		if (atomic_compare_exchange_weak(&t->live, &n, n + 1))
			return true;
	return false;
}

void target_release(struct target *t)
{
	unsigned int before = atomic_fetch_sub(&t->live, 1);

	INVARIANT(before > 0);
	/* Only a drain lets go of what target_start() held, so this is the end of one. */
	if (before == 1 && t->own_threads)
		for (unsigned int i = 0; i < t->reactor_count; i++)
			io_loop_stop(t->reactors[i].loop);
}

bool target_log_pass(struct target *t, enum log_level level, uint64_t now_ns, uint64_t *ret_held)
{
	struct log_limit *l = &t->log_limits[level > LOG_LEVEL_WARN];
	bool pass;

	if (!log_enabled(t->log, level))
		return false;
	pthread_mutex_lock(&t->log_lock);
	pass = log_limit_pass(l, now_ns, ret_held);
	pthread_mutex_unlock(&t->log_lock);
	return pass;
}

/* ---- making one ------------------------------------------------------------------------------ */

static int make_subsystems(struct target *t, const struct target_config *c, struct err *err)
{
	const char *discovery = c->discovery_nqn ? c->discovery_nqn : NVME_DISCOVERY_NQN;
	int r;

	t->subsystems = mem_calloc(t->limits.subsystems + 1u, sizeof(*t->subsystems));
	if (!t->subsystems)
		return err_set(err, ENOMEM, "no memory for subsystems");
	r = tgt_subsys_new(t, 0, NULL, discovery, &t->subsystems[0], err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < c->subsystem_count; i++) {
		const struct target_subsys_config *s = &c->subsystems[i];

		if (tgt_subsys_find(t, s->nqn))
			return err_set(err, EINVAL, "there are two subsystems '%.223s'", s->nqn);
		r = tgt_subsys_new(t, (uint32_t)i + 1, s, s->nqn, &t->subsystems[i + 1], err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* How many reactors there will be is known before they are. */
static int make_reactors(struct target *t, const struct target_config *c,
			 struct io_loop *const loops[], size_t n, struct err *err)
{
	t->reactors = mem_aligned(64, n * sizeof(*t->reactors));
	if (!t->reactors)
		return err_set(err, ENOMEM, "no memory for reactors");
	memset(t->reactors, 0, n * sizeof(*t->reactors));
	for (unsigned int i = 0; i < n; i++) {
		int r;

		t->reactors[i].cpu = c->cores && i < c->core_count ? c->cores[i] : -1;
		r = tgt_reactor_init(&t->reactors[i], t, i, loops ? loops[i] : NULL, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int make_listeners(struct target *t, const struct target_config *c, struct err *err)
{
	if (c->listener_count == 0)
		return 0;
	t->listeners = mem_calloc(c->listener_count, sizeof(*t->listeners));
	if (!t->listeners)
		return err_set(err, ENOMEM, "no memory for listeners");
	for (; t->listener_count < c->listener_count; t->listener_count++) {
		int r = tgt_listener_new(t, (uint16_t)t->listener_count,
					 &c->listeners[t->listener_count],
					 &t->listeners[t->listener_count], err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int make(const struct target_config *c, struct io_loop *const loops[], size_t n,
		struct target **ret_target, struct err *err)
{
	struct tgt_subsys *s;
	struct target *t;
	int r = tgt_config_check(c, n, err);

	if (r < 0)
		return r;
	t = mem_zalloc(sizeof(*t));
	if (!t)
		return err_set(err, ENOMEM, "no memory for a target");
	t->limits = c->limits;
	t->hooks = c->hooks;
	t->log = c->log;
	t->loop_options = c->loop;
	t->own_threads = !loops;
	t->genctr = 1;
	t->reactor_count = (unsigned int)n;
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_init(&t->change_lock, NULL);
	pthread_mutex_init(&t->log_lock, NULL);
	log_limit_init(&t->log_limits[0], LOG_BURST_WARN, LOG_PERIOD_S * SECOND);
	log_limit_init(&t->log_limits[1], LOG_BURST_INFO, LOG_PERIOD_S * SECOND);
	if (c->state_dir) {
		t->state_dir = mem_strdup(c->state_dir);
		if (!t->state_dir)
			r = err_set(err, ENOMEM, "no memory for a target");
	}
	if (r == 0)
		r = make_subsystems(t, c, err);
	if (r == 0)
		r = make_reactors(t, c, loops, n, err);
	if (r == 0)
		r = make_listeners(t, c, err);
	if (r < 0) {
		target_free(t);
		return r;
	}
	tgt_for_each_subsys(t, s)
		tgt_ns_table_arm(s->table);
	*ret_target = t;
	return 0;
}

int target_new(const struct target_config *c, struct target **ret_target, struct err *err)
{
	size_t n = c->reactors ? c->reactors : c->core_count ? c->core_count : 1;

	return make(c, NULL, n, ret_target, err);
}

int target_new_on_loops(const struct target_config *c, struct io_loop *const loops[], size_t n,
			struct target **ret_target, struct err *err)
{
	return make(c, loops, n, ret_target, err);
}

/* ---- running --------------------------------------------------------------------------------- */

int target_start(struct target *t, struct err *err)
{
	struct tgt_subsys *s;

	INVARIANT(atomic_load(&t->phase) == TARGET_NEW);
	atomic_store(&t->phase, TARGET_STARTED);
	target_hold(t);
	tgt_for_each_subsys(t, s) {
		int r = tgt_resv_open_all(s, err);

		if (r < 0) {
			target_drain(t, true);
			return r;
		}
	}
	for (size_t i = 0; i < t->listener_count; i++) {
		int r = tgt_reactor_call(t->listeners[i]->reactor, tgt_listener_start,
					 t->listeners[i], err);

		if (r < 0) {
			target_drain(t, true);
			return r;
		}
	}
	return 0;
}

const struct io_addr *target_listener_addr(const struct target *t, size_t i)
{
	INVARIANT(i < t->listener_count);
	return &t->listeners[i]->addr;
}

int target_run(struct target *t)
{
	int result = 0;

	for (unsigned int i = 0; i < t->reactor_count; i++) {
		int r = tgt_reactor_join(&t->reactors[i]);

		if (result == 0)
			result = r;
	}
	return result;
}

void target_drain(struct target *t, bool now)
{
	int phase = TARGET_STARTED;

	if (now)
		atomic_store(&t->drain_now, true);
	if (!atomic_compare_exchange_strong(&t->phase, &phase, TARGET_DRAINING) &&
	    phase != TARGET_DRAINING)
		return; /* never started */
	for (unsigned int i = 0; i < t->reactor_count; i++)
		tgt_reactor_drain(&t->reactors[i]);
}

bool target_is_draining(const struct target *t)
{
	return target_draining(t);
}

bool target_drained(const struct target *t)
{
	return target_draining(t) && atomic_load(&t->live) == 0;
}

struct target *target_free(struct target *t)
{
	if (!t)
		return NULL;
	if (t->own_threads && atomic_load(&t->phase) != TARGET_NEW && !target_drained(t)) {
		target_drain(t, true);
		target_run(t);
	}
	INVARIANT(atomic_load(&t->phase) == TARGET_NEW || target_drained(t));
	for (unsigned int i = 0; t->reactors && i < t->reactor_count; i++)
		tgt_reactor_deinit(&t->reactors[i]);
	for (size_t i = 0; i < t->listener_count; i++)
		tgt_listener_put(t->listeners[i]);
	for (uint32_t i = 0; t->subsystems && i <= t->limits.subsystems; i++)
		tgt_subsys_free(t->subsystems[i]);
	mem_free(t->state_dir);
	mem_free(t->listeners);
	mem_free(t->reactors);
	mem_free(t->subsystems);
	pthread_mutex_destroy(&t->log_lock);
	pthread_mutex_destroy(&t->change_lock);
	pthread_mutex_destroy(&t->lock);
	return mem_free(t);
}
