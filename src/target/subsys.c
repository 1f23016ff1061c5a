/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subsystems; the idea is in subsys.h.
 */
#include "target/subsys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/util.h"
#include "nvme/nqn.h"
#include "target/aen.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/stats.h"

/* ---- making one ------------------------------------------------------------------------------ */

static int copy_hosts(struct tgt_subsys *s, const struct target_subsys_config *c, struct err *err)
{
	if (c->host_count == 0)
		return 0;
	s->hosts = mem_calloc(c->host_count, sizeof(*s->hosts));
	if (!s->hosts)
		return err_set(err, ENOMEM, "%s: no memory", s->nqn);
	for (; s->host_count < c->host_count; s->host_count++) {
		const char *nqn = c->hosts[s->host_count];

		if (strlen(nqn) == 0 || strlen(nqn) > NVME_NQN_MAX)
			return err_set(err, EINVAL, "host NQN '%s': 1 to %d bytes are expected",
				       nqn, NVME_NQN_MAX);
		for (size_t i = 0; i < s->host_count; i++)
			if (strcmp(s->hosts[i], nqn) == 0)
				return err_set(err, EINVAL, "host '%s' is named twice for '%s'",
					       nqn, s->nqn);
		s->hosts[s->host_count] = mem_strdup(nqn);
		if (!s->hosts[s->host_count])
			return err_set(err, ENOMEM, "%s: no memory", s->nqn);
	}
	return 0;
}

static int add_namespace(struct tgt_subsys *s, const struct target_ns_config *c, struct err *err)
{
	struct tgt_ns *ns;
	int r = tgt_ns_new(c, &ns, err);

	if (r < 0)
		return r;
	r = tgt_ns_table_add(s->table, ns);
	if (r == -EEXIST)
		err_set(err, EEXIST, "namespace %u is there twice in '%s'", c->nsid, s->nqn);
	else if (r < 0)
		err_set(err, EINVAL, "namespace %u: 1 to %u are possible", c->nsid, s->table->nn);
	if (r < 0)
		tgt_ns_put(ns);
	return r;
}

static int set_texts(struct tgt_subsys *s, const struct target_subsys_config *c, struct err *err)
{
	const char *serial = c ? c->serial : NULL;
	const char *model = c && c->model ? c->model : "Penstock";

	if (serial && strlen(serial) >= sizeof(s->serial))
		return err_set(err, EINVAL, "serial number '%s' is longer than 20 characters",
			       serial);
	if (strlen(model) >= sizeof(s->model))
		return err_set(err, EINVAL, "model '%s' is longer than 40 characters", model);
	snprintf(s->model, sizeof(s->model), "%s", model);
	if (serial)
		snprintf(s->serial, sizeof(s->serial), "%s", serial);
	else /* hosts tell subsystems apart by it: the same NQN gives the same one for ever */
		snprintf(s->serial, sizeof(s->serial), "%016llx",
			 (unsigned long long)hash_str(HASH_INIT, s->nqn));
	return 0;
}

static int fill(struct tgt_subsys *s, const struct target_subsys_config *c, struct err *err)
{
	int r = set_texts(s, c, err);

	if (r < 0)
		return r;
	r = tgt_ns_table_new(c ? s->target->limits.namespaces : 0, &s->table);
	if (r < 0)
		return err_set(err, ENOMEM, "%s: no memory", s->nqn);
	if (!c)
		return 0;
	s->allow_any = c->allow_any;
	r = copy_hosts(s, c, err);
	for (size_t i = 0; r == 0 && i < c->namespace_count; i++)
		r = add_namespace(s, &c->namespaces[i], err);
	return r;
}

int tgt_subsys_new(struct target *t, uint32_t index, const struct target_subsys_config *c,
		   const char *nqn, struct tgt_subsys **ret_subsys, struct err *err)
{
	const char *fault = nvme_nqn_fault(nqn);
	struct tgt_subsys *s;
	int r;

	if (fault)
		return err_set(err, EINVAL, "subsystem NQN '%.223s': %s", nqn, fault);
	s = mem_zalloc(sizeof(*s));
	if (!s)
		return err_set(err, ENOMEM, "%s: no memory", nqn);
	s->target = t;
	s->index = index;
	s->discovery = !c;
	snprintf(s->nqn, sizeof(s->nqn), "%s", nqn);
	list_init(&s->ctrls);
	list_init(&s->zombies);
	r = fill(s, c, err);
	if (r < 0) {
		tgt_subsys_free(s);
		return r;
	}
	*ret_subsys = s;
	return 0;
}

struct tgt_subsys *tgt_subsys_free(struct tgt_subsys *s)
{
	if (!s)
		return NULL;
	INVARIANT(list_empty(&s->ctrls) && list_empty(&s->zombies));
	for (size_t i = 0; i < s->host_count; i++)
		mem_free(s->hosts[i]);
	mem_free(s->hosts);
	tgt_ns_table_put(s->table);
	return mem_free(s);
}

struct tgt_subsys *tgt_subsys_find(struct target *t, const char *nqn)
{
	if (nvme_nqn_is_discovery(nqn))
		return t->subsystems[0];
	for (size_t i = 0; i < t->subsystem_count; i++)
		if (strcmp(t->subsystems[i]->nqn, nqn) == 0)
			return t->subsystems[i];
	return NULL;
}

void tgt_subsys_io_stats(struct tgt_subsys *s, struct target_io_stats *ret_stats)
{
	struct tgt_ctrl *c;

	*ret_stats = s->io;
	list_for_each_entry(c, &s->ctrls, link) {
		struct target_io_stats io;

		tgt_ctrl_io_stats(c, &io);
		target_io_stats_add(ret_stats, &io);
	}
}

/* ---- tables for the cores -------------------------------------------------------------------- */

int tgt_core_subsys_init(struct tgt_core_subsys *cs, struct tgt_subsys *s)
{
	cs->subsys = s;
	cs->pin = tgt_ns_pin_new(s->table);
	if (!cs->pin)
		return -ENOMEM;
	tgt_ns_table_get(s->table);
	return 0;
}

void tgt_core_subsys_deinit(struct tgt_core_subsys *cs)
{
	if (cs->pin)
		tgt_ns_pin_retire(cs->pin);
	cs->pin = NULL;
}

/* A new table on its way to one core. */
struct swap {
	struct io_msg msg;
	struct tgt_reactor *reactor;
	struct tgt_core_subsys *core;
	struct tgt_ns_pin *pin;
	struct swap *next;
};

static void swap_arrived(struct io_msg *m)
{
	struct swap *w = container_of(m, struct swap, msg);
	struct target *t = w->core->subsys->target;

	tgt_ns_pin_retire(w->core->pin);
	w->core->pin = w->pin;
	mem_free(w);
	target_release(t);
}

static void free_swaps(struct swap *w)
{
	while (w) {
		struct swap *next = w->next;

		tgt_ns_table_put(w->pin->table);
		mem_free(w->pin);
		mem_free(w);
		w = next;
	}
}

/* One message for each core, all or none. */
static struct swap *make_swaps(struct tgt_subsys *s, struct tgt_ns_table *table)
{
	struct swap *list = NULL;

	for (unsigned int i = 0; i < s->target->reactor_count; i++) {
		struct swap *w = mem_zalloc(sizeof(*w));
		struct tgt_ns_pin *pin = w ? tgt_ns_pin_new(table) : NULL;

		if (!pin) {
			mem_free(w);
			free_swaps(list);
			return NULL;
		}
		tgt_ns_table_get(table);
		w->msg.fn = swap_arrived;
		w->reactor = &s->target->reactors[i];
		w->core = &w->reactor->subsystems[s->index];
		w->pin = pin;
		w->next = list;
		list = w;
	}
	return list;
}

/* Tells the controllers of every NSID behind which something else is now. The lock is held. */
static void announce(struct tgt_subsys *s, const struct tgt_ns_table *old,
		     const struct tgt_ns_table *new)
{
	struct tgt_ctrl *c;

	for (uint32_t nsid = 1; nsid <= new->nn; nsid++) {
		if (tgt_ns_find(old, nsid) == tgt_ns_find(new, nsid))
			continue;
		list_for_each_entry(c, &s->ctrls, link)
			tgt_event_ns_changed(c, nsid);
	}
}

int tgt_subsys_publish(struct tgt_subsys *s, struct tgt_ns_table *table)
{
	struct swap *w = make_swaps(s, table);
	struct tgt_ns_table *old;

	if (!w)
		return -ENOMEM;
	target_lock(s->target);
	old = s->table;
	s->table = table;
	while (w) {
		/* It may be freed as soon as it is posted. */
		struct swap *next = w->next;

		target_hold(s->target);
		io_post(w->reactor->loop, &w->msg);
		w = next;
	}
	announce(s, old, table);
	target_unlock(s->target);
	tgt_ns_table_put(old);
	return 0;
}
