/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a site is like to what it shall be like; the idea is in site.h.
 *
 * The difference is a list of steps, sorted by kind: what is made first can be taken back, and what
 * cannot be taken back can fail for want of memory only. Who may connect is settled before there is
 * a new place to connect to.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "ops/site-impl.h"
#include "target/change.h"

enum kind {
	SUBSYSTEM_ADD,
	NS_ADD,
	HOSTS,
	NS_ACCESS,
	LISTENER_CHANGE,
	LISTENER_ADD,
	/* From here on there is no way back. */
	NS_REPLACE,
	LISTENER_REMOVE,
	NS_REMOVE,
	SUBSYSTEM_REMOVE,
	NOT_LIVE, /* nothing is done, but said */
	KINDS
};

static const char *const names[KINDS] = {
	[SUBSYSTEM_ADD] = "subsystem_added",	 [NS_ADD] = "namespace_added",
	[HOSTS] = "hosts_changed",		 [NS_ACCESS] = "namespace_access",
	[LISTENER_CHANGE] = "listener_changed",
	[LISTENER_ADD] = "listener_added",	 [NS_REPLACE] = "namespace_replaced",
	[LISTENER_REMOVE] = "listener_removed",	 [NS_REMOVE] = "namespace_removed",
	[SUBSYSTEM_REMOVE] = "subsystem_removed", [NOT_LIVE] = "not_changed",
};

struct step {
	enum kind kind;
	/* Of the running configuration, and of the desired one; NULL where it is not there. */
	const struct config_subsystem *was_subsystem, *subsystem;
	const struct config_namespace *was_ns, *ns;
	const struct config_listener *was_listener;
	struct config_listener *listener;
	const char *setting; /* what cannot change */
	/* What was opened for it. */
	struct site_view view;
	struct target_ns_config open;
};

struct plan {
	struct site *site;
	const struct config *was;
	struct config *desired;
	struct step *steps;
	size_t count;
	size_t done;
	bool out_of_memory;
};

/* ---- the difference -------------------------------------------------------------------------- */

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_list(char *const *a, size_t n, char *const *b, size_t m)
{
	if (n != m)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return true;
}

static struct step *add(struct plan *p, enum kind kind)
{
	struct step *grown = mem_realloc(p->steps, (p->count + 1) * sizeof(*grown));

	if (!grown) {
		p->out_of_memory = true;
		return NULL;
	}
	p->steps = grown;
	grown[p->count] = (struct step){ .kind = kind };
	return &grown[p->count++];
}

static void add_ns(struct plan *p, enum kind kind, const struct config_subsystem *s,
		   const struct config_namespace *was, const struct config_namespace *ns, const char *setting)
{
	struct step *x = add(p, kind);

	if (!x)
		return;
	x->subsystem = s;
	x->was_ns = was;
	x->ns = ns;
	x->setting = setting;
}

static void compare_ns(struct plan *p, const struct config_subsystem *s, const struct config_namespace *was,
		       const struct config_namespace *ns)
{
	if (!same(was->store, ns->store)) {
		add_ns(p, NS_REPLACE, s, was, ns, NULL);
		return;
	}
	if (!same(was->uuid, ns->uuid))
		add_ns(p, NOT_LIVE, s, was, ns, "uuid");
	if (was->read_only != ns->read_only)
		add_ns(p, NS_ACCESS, s, was, ns, NULL);
}

static void add_subsystem(struct plan *p, enum kind kind, const struct config_subsystem *was,
			  const struct config_subsystem *s, const char *setting)
{
	struct step *x = add(p, kind);

	if (!x)
		return;
	x->was_subsystem = was;
	x->subsystem = s ? s : was;
	x->setting = setting;
}

static void compare_subsystem(struct plan *p, const struct config_subsystem *was,
			      const struct config_subsystem *s)
{
	if (!same(was->serial, s->serial))
		add_subsystem(p, NOT_LIVE, was, s, "serial");
	if (!same(was->model, s->model))
		add_subsystem(p, NOT_LIVE, was, s, "model");
	if (!same_list(was->allow, was->allow_count, s->allow, s->allow_count))
		add_subsystem(p, HOSTS, was, s, NULL);
	for (size_t i = 0; i < s->namespace_count; i++) {
		const struct config_namespace *old = config_find_ns(was, s->namespaces[i].nsid);

		if (old)
			compare_ns(p, s, old, &s->namespaces[i]);
		else
			add_ns(p, NS_ADD, s, NULL, &s->namespaces[i], NULL);
	}
	for (size_t i = 0; i < was->namespace_count; i++)
		if (!config_find_ns(s, was->namespaces[i].nsid))
			add_ns(p, NS_REMOVE, was, &was->namespaces[i], NULL, NULL);
}

static void add_listener(struct plan *p, enum kind kind, const struct config_listener *was,
			 struct config_listener *l)
{
	struct step *x = add(p, kind);

	if (!x)
		return;
	x->was_listener = was;
	x->listener = l;
}

/*
 * The one that it is to go on as. What was made by an edit of the running configuration still says
 * where each is bound, and then only that counts: those with port 0 are alike in words. What comes
 * from a file does not: the first of the same words that no other has been found to be.
 */
static struct config_listener *partner(const struct config *c, const struct config_listener *l)
{
	for (size_t i = 0; i < c->listener_count; i++)
		if (c->listeners[i].bound.len > 0 && io_addr_equal(&c->listeners[i].bound, &l->bound))
			return &c->listeners[i];
	for (size_t i = 0; i < c->listener_count; i++)
		if (c->listeners[i].bound.len == 0 && strcmp(c->listeners[i].address, l->address) == 0)
			return &c->listeners[i];
	return NULL;
}

static void compare_listeners(struct plan *p)
{
	for (size_t i = 0; i < p->was->listener_count; i++) {
		const struct config_listener *was = &p->was->listeners[i];
		struct config_listener *l = partner(p->desired, was);

		if (!l) {
			add_listener(p, LISTENER_REMOVE, was, NULL);
			continue;
		}
		l->bound = was->bound;
		if (!same(was->advertise, l->advertise) ||
		    !same_list(was->nqns, was->nqn_count, l->nqns, l->nqn_count))
			add_listener(p, LISTENER_CHANGE, was, l);
	}
	for (size_t i = 0; i < p->desired->listener_count; i++)
		if (p->desired->listeners[i].bound.len == 0)
			add_listener(p, LISTENER_ADD, NULL, &p->desired->listeners[i]);
}

static void setting(struct plan *p, const char *name, bool changed)
{
	struct step *x = changed ? add(p, NOT_LIVE) : NULL;

	if (x)
		x->setting = name;
}

static void compare_settings(struct plan *p)
{
	const struct config *a = p->was, *b = p->desired;

	setting(p, "cores", !same(a->cores, b->cores));
	setting(p, "log_level", !same(a->log_level, b->log_level));
	setting(p, "control", !same(a->control, b->control));
	setting(p, "state_dir", !same(a->state_dir, b->state_dir));
	setting(p, "queue_depth", a->queue_depth != b->queue_depth);
	setting(p, "io_queues", a->io_queues != b->io_queues);
	setting(p, "connections", a->connections != b->connections);
	setting(p, "spin", a->spin_ns != b->spin_ns);
	setting(p, "arena", a->arena_bytes != b->arena_bytes);
	setting(p, "drain", a->drain_ns != b->drain_ns);
#define LIMIT(name, kind, field)                                                                   \
	setting(p, "limits: " #name,                                                               \
		!a->limits.name.text != !b->limits.name.text ||                                    \
			a->limits.name.value != b->limits.name.value);
	CONFIG_LIMIT_LIST(LIMIT)
#undef LIMIT
}

static int by_kind(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return (int)x->kind - (int)y->kind;
}

static int make_plan(struct plan *p, struct err *err)
{
	for (size_t i = 0; i < p->desired->subsystem_count; i++) {
		const struct config_subsystem *s = &p->desired->subsystems[i];
		const struct config_subsystem *was = config_find(p->was, s->nqn);

		if (was)
			compare_subsystem(p, was, s);
		else
			add_subsystem(p, SUBSYSTEM_ADD, NULL, s, NULL);
	}
	for (size_t i = 0; i < p->was->subsystem_count; i++)
		if (!config_find(p->desired, p->was->subsystems[i].nqn))
			add_subsystem(p, SUBSYSTEM_REMOVE, &p->was->subsystems[i], NULL, NULL);
	compare_listeners(p);
	compare_settings(p);
	if (p->out_of_memory)
		return err_set(err, ENOMEM, "out of memory");
	if (p->count > 0)
		qsort(p->steps, p->count, sizeof(*p->steps), by_kind);
	return 0;
}

/* ---- doing it -------------------------------------------------------------------------------- */

/* Opens what is to be served, so that what cannot be had is known before anything is changed. */
static int prepare(struct plan *p, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->count; i++) {
		struct step *x = &p->steps[i];

		if (x->kind == SUBSYSTEM_ADD)
			r = site_view_init(p->site, &x->view, x->subsystem, err);
		else if (x->kind == NS_ADD || x->kind == NS_REPLACE)
			r = site_open_ns(p->site, x->subsystem->nqn, x->ns, &x->open, err);
	}
	return r;
}

/* What was opened and not taken on. */
static void unprepare(struct plan *p, size_t from)
{
	for (size_t i = 0; i < p->count; i++) {
		struct step *x = &p->steps[i];

		if (x->view.ns)
			site_view_deinit(p->site, &x->view, i >= from);
		if (x->open.store && i >= from)
			site_close_ns(p->site, &x->open);
	}
}

static int set_hosts(struct target *t, const struct config_subsystem *s, struct err *err)
{
	return target_subsys_allow(t, s->nqn, config_allows_any(s), (const char *const *)s->allow,
				   config_host_count(s), err);
}

static int set_access(struct target *t, const struct step *x, bool read_only, struct err *err)
{
	int r = target_ns_update(t, x->subsystem->nqn, x->ns->nsid,
				 read_only ? TARGET_READ_ONLY : TARGET_READ_WRITE, NULL, err);

	return r < 0 ? r : 0;
}

static int set_listener(struct target *t, const struct config_listener *from, struct err *err)
{
	struct target_listener_config l;

	site_listener_config(from, &l);
	l.addr = from->bound;
	return target_listener_update(t, &l, err);
}

static int do_step(struct plan *p, struct step *x, struct err *err)
{
	struct target *t = p->site->target;
	struct target_listener_config l;

	switch (x->kind) {
	case SUBSYSTEM_ADD:
		return target_subsys_add(t, &x->view.c, err);
	case NS_ADD:
		return target_ns_add(t, x->subsystem->nqn, &x->open, err);
	case HOSTS:
		return set_hosts(t, x->subsystem, err);
	case NS_ACCESS:
		return set_access(t, x, x->ns->read_only, err);
	case LISTENER_CHANGE:
		return set_listener(t, x->listener, err);
	case LISTENER_ADD:
		site_listener_config(x->listener, &l);
		return target_listener_add(t, &l, &x->listener->bound, err);
	case NS_REPLACE:
		return target_ns_replace(t, x->subsystem->nqn, &x->open, NULL, err);
	case LISTENER_REMOVE:
		return target_listener_remove(t, &x->was_listener->bound, err);
	case NS_REMOVE:
		return target_ns_remove(t, x->subsystem->nqn, x->was_ns->nsid, NULL, err);
	case SUBSYSTEM_REMOVE:
		return target_subsys_remove(t, x->subsystem->nqn, NULL, err);
	default:
		return 0;
	}
}

static void undo_step(struct plan *p, struct step *x)
{
	struct target *t = p->site->target;
	struct err err = ERR_NULL;
	int r = 0;

	switch (x->kind) {
	case SUBSYSTEM_ADD:
		r = target_subsys_remove(t, x->subsystem->nqn, NULL, &err);
		break;
	case NS_ADD:
		r = target_ns_remove(t, x->subsystem->nqn, x->ns->nsid, NULL, &err);
		break;
	case HOSTS:
		r = set_hosts(t, x->was_subsystem, &err);
		break;
	case NS_ACCESS:
		r = set_access(t, x, x->was_ns->read_only, &err);
		break;
	case LISTENER_CHANGE:
		r = set_listener(t, x->was_listener, &err);
		break;
	case LISTENER_ADD:
		r = target_listener_remove(t, &x->listener->bound, &err);
		break;
	default:
		r = err_set(&err, ENOMEM, "there is no way back");
		break;
	}
	if (r < 0)
		log_event(p->site->log, LOG_LEVEL_ERROR, "not_taken_back", LOG_STR("what", names[x->kind]),
			  LOG_STR("error", err_text(&err)));
}

/* What a step has taken away is waited for by whoever wants to (site_settle()). */
static void retire(struct plan *p, const struct step *x, bool undone)
{
	if (x->kind == NS_REPLACE && !undone)
		site_retire(p->site, x->subsystem->nqn, x->ns->nsid, x->open.store);
	else if (x->kind == NS_REMOVE)
		site_retire(p->site, x->subsystem->nqn, x->was_ns->nsid, NULL);
	else if (x->kind == NS_ADD && undone)
		site_retire(p->site, x->subsystem->nqn, x->ns->nsid, NULL);
	else if (x->kind == SUBSYSTEM_REMOVE || (x->kind == SUBSYSTEM_ADD && undone))
		site_retire(p->site, x->subsystem->nqn, 0, NULL);
}

static int execute(struct plan *p, struct err *err)
{
	for (; p->done < p->count; p->done++) {
		struct step *x = &p->steps[p->done];
		size_t at = p->done;
		int r = do_step(p, x, err);

		if (r == 0) {
			retire(p, x, false);
			continue;
		}
		while (at-- > 0) {
			undo_step(p, &p->steps[at]);
			retire(p, &p->steps[at], true);
		}
		return r;
	}
	return 0;
}

/* ---- saying so ------------------------------------------------------------------------------- */

static void describe_listener(const struct step *x, char *buf, size_t n)
{
	const struct config_listener *l = x->listener ? x->listener : x->was_listener;
	char addr[IO_ADDR_TEXT];

	io_addr_format(&l->bound, addr);
	snprintf(buf, n, "tcp://%s", addr);
}

static void describe_hosts(const struct config_subsystem *s, char *buf, size_t n)
{
	if (config_host_count(s) == 0)
		snprintf(buf, n, "%s", config_allows_any(s) ? "any" : "none");
	else
		snprintf(buf, n, "%zu named", s->allow_count);
}

static void describe(const struct step *x, char *buf, size_t n)
{
	buf[0] = '\0';
	switch (x->kind) {
	case NS_ADD:
	case NS_REPLACE:
		snprintf(buf, n, "%s", x->ns->store);
		break;
	case NS_REMOVE:
		snprintf(buf, n, "%s", x->was_ns->store);
		break;
	case NS_ACCESS:
		snprintf(buf, n, "%s", x->ns->read_only ? "read-only" : "writable");
		break;
	case HOSTS:
	case SUBSYSTEM_ADD:
		describe_hosts(x->subsystem, buf, n);
		break;
	case LISTENER_CHANGE:
	case LISTENER_ADD:
	case LISTENER_REMOVE:
		describe_listener(x, buf, n);
		break;
	case NOT_LIVE:
		snprintf(buf, n, "%s: %s", x->setting,
			 x->subsystem ? "it takes removing and adding anew" : "it takes a restart");
		break;
	default:
		break;
	}
}

static void put_change(struct plan *p, const struct step *x, struct site_change *c)
{
	const struct config_namespace *ns = x->ns ? x->ns : x->was_ns;
	char buf[512];

	describe(x, buf, sizeof(buf));
	c->what = names[x->kind];
	c->live = x->kind != NOT_LIVE;
	c->subsystem = x->subsystem ? mem_strdup(x->subsystem->nqn) : NULL;
	c->nsid = ns ? ns->nsid : 0;
	c->detail = mem_strdup(buf);
	log_event(p->site->log, c->live ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, "changed", LOG_STR("what", c->what),
		  LOG_STR("subsystem", x->subsystem ? x->subsystem->nqn : NULL), LOG_U64("nsid", c->nsid),
		  LOG_STR("detail", buf));
}

void site_changes_deinit(struct site_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++) {
		mem_free((char *)(uintptr_t)changes->items[i].subsystem);
		mem_free((char *)(uintptr_t)changes->items[i].detail);
	}
	mem_free(changes->items);
	*changes = (struct site_changes){ 0 };
}

/* Without memory for it the changes are in the log alone. */
static void report(struct plan *p, struct site_changes *ret)
{
	struct site_change spare;

	*ret = (struct site_changes){ .items = mem_calloc(p->count, sizeof(*ret->items)) };
	for (size_t i = 0; i < p->count; i++) {
		put_change(p, &p->steps[i], ret->items ? &ret->items[ret->count++] : &spare);
		if (ret->items)
			continue;
		mem_free((char *)(uintptr_t)spare.subsystem);
		mem_free((char *)(uintptr_t)spare.detail);
	}
}

/* ---- what stays ------------------------------------------------------------------------------ */

#define SWAP(a, b)                                                                                 \
	do {                                                                                       \
		__typeof__(a) swap_ = (a);                                                         \
		(a) = (b);                                                                         \
		(b) = swap_;                                                                       \
	} while (0)

static void keep_subsystem(struct config_subsystem *was, struct config_subsystem *s)
{
	SWAP(was->serial, s->serial);
	SWAP(was->model, s->model);
	for (size_t i = 0; i < s->namespace_count; i++) {
		struct config_namespace *old = config_find_ns(was, s->namespaces[i].nsid);

		if (old && same(old->store, s->namespaces[i].store))
			SWAP(old->uuid, s->namespaces[i].uuid);
	}
}

/* What could not change is as it was, so that the next comparison finds it again. */
static void keep_what_stays(struct config *was, struct config *c)
{
	for (size_t i = 0; i < c->subsystem_count; i++) {
		struct config_subsystem *old = config_find(was, c->subsystems[i].nqn);

		if (old)
			keep_subsystem(old, &c->subsystems[i]);
	}
	SWAP(was->cores, c->cores);
	SWAP(was->log_level, c->log_level);
	SWAP(was->control, c->control);
	SWAP(was->state_dir, c->state_dir);
	SWAP(was->spin, c->spin);
	SWAP(was->arena, c->arena);
	SWAP(was->drain, c->drain);
	SWAP(was->limits, c->limits);
	c->queue_depth = was->queue_depth;
	c->io_queues = was->io_queues;
	c->connections = was->connections;
	c->spin_ns = was->spin_ns;
	c->arena_bytes = was->arena_bytes;
	c->drain_ns = was->drain_ns;
}

int site_apply(struct site *s, struct config *desired, struct site_changes *ret_changes, struct err *err)
{
	struct plan p = { .site = s, .was = s->config, .desired = desired };
	int r = config_check(desired, err);

	if (r == 0)
		r = make_plan(&p, err);
	if (r == 0)
		r = prepare(&p, err);
	if (r == 0)
		r = execute(&p, err);
	unprepare(&p, r == 0 ? p.count : p.done);
	if (r == 0) {
		report(&p, ret_changes);
		keep_what_stays(s->config, desired);
		config_free(s->config);
		s->config = desired;
	} else {
		config_free(desired);
	}
	mem_free(p.steps);
	return r;
}
