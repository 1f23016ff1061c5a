/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of counters, for whoever asks. Queues that are gone are in their controller's sum,
 * controllers that are gone in their subsystem's.
 */
#include "target/stats.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "target/conn.h"
#include "target/core.h"
#include "target/ctrl.h"

static const char *const close_names[TARGET_CLOSE_COUNT] = {
#define TARGET_CLOSE_NAME(id, text) [TARGET_CLOSE_##id] = text,
	TARGET_CLOSE_LIST(TARGET_CLOSE_NAME)
#undef TARGET_CLOSE_NAME
};

const char *target_close_name(enum target_close reason)
{
	return reason < TARGET_CLOSE_COUNT ? close_names[reason] : "?";
}

void tgt_io_counters_add(struct target_io_stats *sum, const struct tgt_io_counters *c)
{
	sum->reads += tgt_counted(&c->reads);
	sum->writes += tgt_counted(&c->writes);
	sum->flushes += tgt_counted(&c->flushes);
	sum->others += tgt_counted(&c->others);
	sum->read_bytes += tgt_counted(&c->read_bytes);
	sum->write_bytes += tgt_counted(&c->write_bytes);
	sum->errors += tgt_counted(&c->errors);
}

void target_io_stats_add(struct target_io_stats *sum, const struct target_io_stats *s)
{
	sum->reads += s->reads;
	sum->writes += s->writes;
	sum->flushes += s->flushes;
	sum->others += s->others;
	sum->read_bytes += s->read_bytes;
	sum->write_bytes += s->write_bytes;
	sum->errors += s->errors;
}

static void add_core(struct target_stats *sum, struct tgt_reactor *r)
{
	const struct tgt_core_counters *c = &r->stats;

	sum->accepted += tgt_counted(&c->accepted);
	sum->accept_errors += tgt_counted(&c->accept_errors);
	for (int i = 0; i < TARGET_CLOSE_COUNT; i++)
		sum->closed[i] += tgt_counted(&c->closed[i]);
	sum->connects += tgt_counted(&c->connects);
	sum->connects_refused += tgt_counted(&c->connects_refused);
	sum->admin_commands += tgt_counted(&c->admin_commands);
	sum->ddgst_errors += tgt_counted(&c->ddgst_errors);
	sum->fence_waits += tgt_counted(&c->fence_waits);
	sum->fence_expired += tgt_counted(&c->fence_expired);
	sum->arena_used += tgt_counted(&c->arena_used);
	sum->arena_waits += tgt_counted(&c->arena_waits);
	sum->arena_bytes += tgt_arena_bytes(&r->arena); /* constant */
}

void target_stats(struct target *t, struct target_stats *ret_stats)
{
	struct tgt_subsys *s;

	memset(ret_stats, 0, sizeof(*ret_stats));
	for (unsigned int i = 0; i < t->reactor_count; i++)
		add_core(ret_stats, &t->reactors[i]);
	ret_stats->open = atomic_load_explicit(&t->connections, memory_order_relaxed);
	target_lock(t);
	ret_stats->io = t->gone_io;
	tgt_for_each_subsys(t, s) {
		struct target_io_stats io;

		tgt_subsys_io_stats(s, &io);
		target_io_stats_add(&ret_stats->io, &io);
		ret_stats->controllers += s->ctrl_count;
	}
	target_unlock(t);
}

int target_subsys_stats(struct target *t, const char *nqn, struct target_io_stats *ret_stats)
{
	struct tgt_subsys *s;

	target_lock(t);
	s = tgt_subsys_find(t, nqn);
	if (s)
		tgt_subsys_io_stats(s, ret_stats);
	target_unlock(t);
	return s ? 0 : -ENOENT;
}

static void visit_ctrl(struct tgt_ctrl *c,
		       void (*fn)(void *arg, const struct target_ctrl_info *info), void *arg)
{
	struct target_ctrl_info info = {
		.subnqn = c->subsys->nqn,
		.hostnqn = c->host.nqn,
		.peer = c->admin ? c->admin->peer : "",
		.cntlid = c->cntlid,
		.discovery = c->subsys->discovery,
		.ready = atomic_load_explicit(&c->ready, memory_order_relaxed),
		.kato_ms = atomic_load_explicit(&c->kato_ms, memory_order_relaxed),
		.io_queues = c->io_queues,
		.fenced = atomic_load_explicit(&c->fenced, memory_order_relaxed) > 0,
	};

	tgt_ctrl_io_stats(c, &info.io);
	fn(arg, &info);
}

void target_visit_ctrls(struct target *t,
			void (*fn)(void *arg, const struct target_ctrl_info *info), void *arg)
{
	struct tgt_subsys *s;
	struct tgt_ctrl *c;

	target_lock(t);
	tgt_for_each_subsys(t, s)
		list_for_each_entry(c, &s->ctrls, link)
			visit_ctrl(c, fn, arg);
	target_unlock(t);
}
