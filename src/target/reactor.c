/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reactors; the idea is in reactor.h.
 */
#include "target/reactor.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "target/access.h"
#include "target/conn.h"
#include "target/discovery.h"
#include "target/listener.h"

/* ---- what a reactor has ---------------------------------------------------------------------- */

static void on_drain(struct io_msg *m);
static void on_drain_timer(struct io_timer *t);

static void deinit_core(struct tgt_reactor *r)
{
	struct target *t = r->target;

	if (!t)
		return;
	if (r->subsystems)
		for (uint32_t i = 0; i <= t->limits.subsystems; i++)
			tgt_core_subsys_deinit(&r->subsystems[i]);
	r->subsystems = mem_free(r->subsystems);
	r->latency = mem_free(r->latency);
	if (r->loop)
		io_timer_stop(r->loop, &r->drain_timer);
	tgt_arena_deinit(&r->arena);
}

/* On the reactor's thread; r->loop is set. */
static int init_core(struct tgt_reactor *r, struct err *err)
{
	struct target *t = r->target;
	struct tgt_subsys *s;
	int e;

	e = tgt_arena_init(&r->arena, r->loop, t->limits.arena / t->reactor_count);
	if (e < 0)
		return err_set(err, ENOMEM, "no memory for data buffers");
	r->subsystems = mem_calloc(t->limits.subsystems + 1u, sizeof(*r->subsystems));
	r->latency = mem_calloc(TARGET_LATENCY_CLASSES, sizeof(*r->latency));
	if (!r->subsystems || !r->latency)
		return err_set(err, ENOMEM, "no memory for a reactor");
	for (int i = 0; i < TARGET_LATENCY_CLASSES; i++)
		hist_init(&r->latency[i]);
	tgt_for_each_subsys(t, s) {
		e = tgt_core_subsys_init(&r->subsystems[s->index], s);
		if (e < 0)
			return err_set(err, ENOMEM, "no memory for a reactor");
	}
	return 0;
}

void tgt_reactor_conn_ended(struct tgt_reactor *r)
{
	struct target *t = r->target;

	tgt_reactor_note_arena(r);
	atomic_fetch_sub_explicit(&r->load, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&t->connections, 1, memory_order_relaxed);
	target_release(t);
}

void tgt_reactor_note_arena(struct tgt_reactor *r)
{
	atomic_store_explicit(&r->stats.arena_used, tgt_arena_used(&r->arena),
			      memory_order_relaxed);
	atomic_store_explicit(&r->stats.arena_waits, r->arena.waits, memory_order_relaxed);
}

struct tgt_reactor *tgt_reactor_least(struct target *t)
{
	struct tgt_reactor *best = &t->reactors[0];

	for (unsigned int i = 1; i < t->reactor_count; i++) {
		struct tgt_reactor *r = &t->reactors[i];

		if (atomic_load_explicit(&r->load, memory_order_relaxed) <
		    atomic_load_explicit(&best->load, memory_order_relaxed))
			best = r;
	}
	return best;
}

/* ---- draining -------------------------------------------------------------------------------- */

static void drain_conns(struct tgt_reactor *r)
{
	struct tgt_conn *c, *next;

	list_for_each_entry_safe(c, next, &r->conns, link)
		tgt_conn_drain(c, r->drain_now);
}

static void on_drain_timer(struct io_timer *t)
{
	struct tgt_reactor *r = container_of(t, struct tgt_reactor, drain_timer);

	r->drain_now = true;
	drain_conns(r);
}

static void close_listeners(struct tgt_reactor *r)
{
	struct target *t = r->target;
	struct tgt_listener *l;

	do {
		l = NULL;
		target_lock(t);
		for (size_t i = 0; i < t->listener_count && !l; i++)
			if (t->listeners[i]->reactor == r && !t->listeners[i]->closing)
				l = tgt_listener_get(t->listeners[i]);
		target_unlock(t);
		if (l)
			tgt_listener_close(r, l, NULL);
		tgt_listener_put(l);
	} while (l);
}

static void on_drain(struct io_msg *m)
{
	struct tgt_reactor *r = container_of(m, struct tgt_reactor, drain_msg);
	struct target *t = r->target;
	bool first = !r->draining;

	atomic_store(&r->drain_posted, false);
	r->draining = true;
	r->drain_now |= atomic_load(&t->drain_now);
	if (first) {
		close_listeners(r);
		tgt_discovery_changed(t);
		/* Without memory for a timer there is no patience. */
		if (io_timer_start(r->loop, &r->drain_timer, t->limits.drain_ns) < 0)
			r->drain_now = true;
	}
	drain_conns(r);
	if (first && r->index == 0)
		target_release(t); /* what target_start() held */
	target_release(t);
}

void tgt_reactor_drain(struct tgt_reactor *r)
{
	/* One message at a time: one that is on its way will see the latest wish. */
	if (atomic_exchange(&r->drain_posted, true))
		return;
	if (target_try_hold(r->target))
		io_post(r->loop, &r->drain_msg);
}

/* ---- who may be here ------------------------------------------------------------------------- */

static void on_enforce(struct io_msg *m)
{
	struct tgt_reactor *r = container_of(m, struct tgt_reactor, enforce_msg);
	struct tgt_conn *c, *next;

	/* First: what is changed from here on posts another one. */
	atomic_store(&r->enforce_posted, false);
	list_for_each_entry_safe(c, next, &r->conns, link) {
		bool still;

		target_lock(r->target);
		still = tgt_access_still(&c->assoc);
		target_unlock(r->target);
		if (!still)
			tgt_conn_withdraw(c);
	}
	target_release(r->target);
}

void tgt_reactors_enforce(struct target *t)
{
	for (unsigned int i = 0; i < t->reactor_count; i++) {
		struct tgt_reactor *r = &t->reactors[i];

		if (atomic_exchange(&r->enforce_posted, true))
			continue;
		target_hold(t);
		io_post(r->loop, &r->enforce_msg);
	}
}

/* ---- threads --------------------------------------------------------------------------------- */

static void call_finish(struct tgt_call *call, int result)
{
	pthread_mutex_lock(&call->lock);
	call->result = result;
	call->done = true;
	pthread_cond_signal(&call->cond);
	pthread_mutex_unlock(&call->lock);
}

static int call_wait(struct tgt_call *call)
{
	pthread_mutex_lock(&call->lock);
	while (!call->done)
		pthread_cond_wait(&call->cond, &call->lock);
	pthread_mutex_unlock(&call->lock);
	pthread_cond_destroy(&call->cond);
	pthread_mutex_destroy(&call->lock);
	return call->result;
}

static void call_init(struct tgt_call *call, struct err *err)
{
	*call = (struct tgt_call){ .err = err };
	pthread_mutex_init(&call->lock, NULL);
	pthread_cond_init(&call->cond, NULL);
}

static void on_call(struct io_msg *m)
{
	struct tgt_reactor *r = container_of(m, struct tgt_reactor, call_msg);
	struct tgt_call *call = r->call;

	call_finish(call, call->fn(r, call->arg, call->err));
}

int tgt_reactor_call(struct tgt_reactor *r,
		     int (*fn)(struct tgt_reactor *r, void *arg, struct err *err), void *arg,
		     struct err *err)
{
	struct tgt_call call;

	if (!r->has_thread)
		return fn(r, arg, err);
	call_init(&call, err);
	call.fn = fn;
	call.arg = arg;
	r->call = &call;
	io_post(r->loop, &r->call_msg);
	return call_wait(&call);
}

/* Pinning is a wish: a container may not allow it. */
static void pin(struct tgt_reactor *r)
{
	cpu_set_t set;

	if (r->cpu < 0 || r->cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&set);
	CPU_SET(r->cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0)
		log_event(r->target->log, LOG_LEVEL_WARN, "not_pinned",
			  LOG_U64("reactor", r->index), LOG_I64("cpu", r->cpu));
}

static void *thread_main(void *arg)
{
	struct tgt_reactor *r = arg;
	struct tgt_call *call = r->call;
	int e;

	pin(r);
	e = io_loop_new(&r->target->loop_options, &r->loop, call->err);
	if (e == 0)
		e = init_core(r, call->err);
	if (e < 0) {
		deinit_core(r);
		r->loop = io_loop_free(r->loop);
		call_finish(call, e);
		return NULL;
	}
	call_finish(call, 0);
	/* The loop stays until tgt_reactor_deinit(): others may still post to it. */
	r->result = io_loop_run(r->loop);
	return NULL;
}

static int start_thread(struct tgt_reactor *r, struct err *err)
{
	struct tgt_call call;
	int e;

	call_init(&call, err);
	r->call = &call;
	e = pthread_create(&r->thread, NULL, thread_main, r);
	if (e != 0)
		return err_set(err, e, "cannot start a thread: %s", strerror(e));
	e = call_wait(&call);
	if (e < 0) {
		pthread_join(r->thread, NULL);
		return e;
	}
	r->has_thread = true;
	return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

int tgt_reactor_init(struct tgt_reactor *r, struct target *t, unsigned int index,
		     struct io_loop *loop, struct err *err)
{
	int e;

	r->target = t;
	r->index = index;
	r->loop = loop;
	list_init(&r->conns);
	list_init(&r->tenants);
	r->drain_msg.fn = on_drain;
	r->call_msg.fn = on_call;
	r->enforce_msg.fn = on_enforce;
	io_timer_init(&r->drain_timer, on_drain_timer);
	if (!loop)
		return start_thread(r, err);
	e = init_core(r, err);
	if (e < 0) {
		deinit_core(r);
		r->loop = NULL;
	}
	return e;
}

int tgt_reactor_join(struct tgt_reactor *r)
{
	if (!r->has_thread)
		return 0;
	pthread_join(r->thread, NULL);
	r->has_thread = false;
	r->joined = true;
	return r->result;
}

void tgt_reactor_deinit(struct tgt_reactor *r)
{
	bool own = r->has_thread || r->joined;

	if (r->has_thread)
		io_loop_stop(r->loop);
	tgt_reactor_join(r);
	if (!r->loop)
		return;
	deinit_core(r);
	if (own)
		io_loop_free(r->loop);
	r->loop = NULL;
}
