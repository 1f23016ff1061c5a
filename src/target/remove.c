/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a subsystem; the idea is in remove.h.
 */
#include "target/remove.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/util.h"
#include "target/change.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/stats.h"

struct tgt_farewell {
	struct io_msg msg;
	struct tgt_reactor *reactor;
	struct tgt_subsys *subsys;
};

static void finish(struct tgt_subsys *s)
{
	struct target_settled *settled = s->settled;
	struct target *t = s->target;

	target_lock(t);
	t->subsystems[s->index] = NULL;
	target_io_stats_add(&t->gone_io, &s->io);
	target_unlock(t);
	tgt_subsys_free(s);
	if (settled)
		settled->fn(settled);
	target_release(t);
}

static void on_farewell(struct io_msg *m)
{
	struct tgt_farewell *f = container_of(m, struct tgt_farewell, msg);
	struct tgt_subsys *s = f->subsys;

	tgt_core_subsys_deinit(&f->reactor->subsystems[s->index]);
	if (atomic_fetch_sub(&s->cores, 1) == 1)
		finish(s);
}

void tgt_subsys_step_end(struct tgt_subsys *s)
{
	struct target *t = s->target;

	if (!s->leaving || s->users > 0)
		return;
	for (unsigned int i = 0; i < t->reactor_count; i++)
		io_post(t->reactors[i].loop, &s->farewells[i].msg);
}

int tgt_subsys_begin_end(struct tgt_subsys *s, struct target_settled *settled)
{
	struct target *t = s->target;

	s->farewells = mem_calloc(t->reactor_count, sizeof(*s->farewells));
	if (!s->farewells)
		return -ENOMEM;
	atomic_init(&s->cores, t->reactor_count);
	for (unsigned int i = 0; i < t->reactor_count; i++) {
		s->farewells[i].msg.fn = on_farewell;
		s->farewells[i].reactor = &t->reactors[i];
		s->farewells[i].subsys = s;
	}
	target_hold(t);
	target_lock(t);
	s->settled = settled;
	s->leaving = true;
	tgt_subsys_step_end(s);
	target_unlock(t);
	return 0;
}
