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
#include "target/reactor.h"
#include "target/stats.h"

/* ---- making one ------------------------------------------------------------------------------ */

int tgt_hosts_copy(struct tgt_hosts *ret_hosts, const char *nqn, bool any,
		   const char *const *hosts, size_t count, struct err *err)
{
	struct tgt_hosts h = { .any = any };
	int r = 0;

	h.nqns = mem_calloc(count, sizeof(*h.nqns));
	if (!h.nqns)
		return err_set(err, ENOMEM, "%s: no memory", nqn);
	for (; r == 0 && h.count < count; h.count++) {
		const char *host = hosts[h.count];

		if (strlen(host) == 0 || strlen(host) > NVME_NQN_MAX)
			r = err_set(err, EINVAL, "host NQN '%s': 1 to %d bytes are expected", host,
				    NVME_NQN_MAX);
		for (size_t i = 0; r == 0 && i < h.count; i++)
			if (strcmp(h.nqns[i], host) == 0)
				r = err_set(err, EINVAL, "host '%s' is named twice for '%s'", host,
					    nqn);
		if (r < 0)
			break;
		h.nqns[h.count] = mem_strdup(host);
		if (!h.nqns[h.count])
			r = err_set(err, ENOMEM, "%s: no memory", nqn);
	}
	if (r < 0)
		tgt_hosts_deinit(&h);
	else
		*ret_hosts = h;
	return r;
}

void tgt_hosts_deinit(struct tgt_hosts *h)
{
	for (size_t i = 0; i < h->count; i++)
		mem_free(h->nqns[i]);
	mem_free(h->nqns);
	*h = (struct tgt_hosts){ 0 };
}

static int add_namespace(struct tgt_subsys *s, const struct target_ns_config *c, struct err *err)
{
	struct tgt_ns *ns;
	int r = tgt_ns_new(c, s->target->reactor_count, &ns, err);

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
	r = tgt_hosts_copy(&s->hosts, s->nqn, c->allow_any, c->hosts, c->host_count, err);
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
	tgt_hosts_deinit(&s->hosts);
	mem_free(s->farewells);
	tgt_ns_table_put(s->table);
	return mem_free(s);
}

struct tgt_subsys *tgt_subsys_find(struct target *t, const char *nqn)
{
	struct tgt_subsys *s;

	if (nvme_nqn_is_discovery(nqn))
		return t->subsystems[0];
	tgt_for_each_subsys(t, s)
		if (strcmp(s->nqn, nqn) == 0 && !s->leaving)
			return s;
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

/* A table and a hold on it for each core. */
struct swap {
	struct tgt_subsys *subsys;
	struct tgt_ns_pin **pins;
};

static int swap_here(struct tgt_reactor *r, void *arg, struct err *err)
{
	struct swap *w = arg;
	struct tgt_core_subsys *core = &r->subsystems[w->subsys->index];

	tgt_ns_pin_retire(core->pin);
	core->pin = w->pins[r->index];
	return 0;
}

/* All or none. */
static int make_pins(struct target *t, struct tgt_ns_table *table, struct tgt_ns_pin ***ret_pins)
{
	struct tgt_ns_pin **pins = mem_calloc(t->reactor_count, sizeof(struct tgt_ns_pin *));
	unsigned int n = 0;

	while (pins && n < t->reactor_count) {
		pins[n] = tgt_ns_pin_new(table);
		if (!pins[n])
			break;
		n++;
	}
	if (pins && n == t->reactor_count) {
		while (n-- > 0)
			tgt_ns_table_get(table);
		*ret_pins = pins;
		return 0;
	}
	while (n-- > 0)
		mem_free(pins[n]);
	mem_free(pins);
	return -ENOMEM;
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
	struct target *t = s->target;
	struct swap w = { .subsys = s };
	struct tgt_ns_table *old;
	int r = make_pins(t, table, &w.pins);

	if (r < 0)
		return r;
	tgt_ns_table_arm(table);
	target_lock(t);
	old = s->table;
	s->table = table;
	target_unlock(t);
	for (unsigned int i = 0; i < t->reactor_count; i++)
		tgt_reactor_call(&t->reactors[i], swap_here, &w, NULL);
	target_lock(t);
	announce(s, old, table);
	target_unlock(t);
	tgt_ns_table_put(old);
	mem_free(w.pins);
	return 0;
}
