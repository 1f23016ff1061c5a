/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of configurations and changes to them; the idea is in config-edit.h. Memory is malloc's,
 * as libcyaml's is, which frees all of it by its schema.
 */
#include "ops/config-edit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct err *err)
{
	return err_set(err, ENOMEM, "out of memory");
}

/* A copy of @from, which may be NULL. False: no memory. */
static bool text(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

/* Room for one element more at the end of @list, zeroed; NULL: no memory. */
static void *append(void *list, size_t *count, size_t size)
{
	char **where = list;
	char *grown = realloc(*where, (*count + 1) * size);

	if (!grown)
		return NULL;
	*where = grown;
	memset(grown + *count * size, 0, size);
	return grown + (*count)++ * size;
}

/* Takes out element @i, whose contents are freed already. */
static void take_out(void *list, size_t *count, size_t size, size_t i)
{
	char *at = list;

	(*count)--;
	memmove(at + i * size, at + (i + 1) * size, (*count - i) * size);
}

static bool add_text(char ***list, size_t *count, const char *word)
{
	char **at = append(list, count, sizeof(*at));

	return at && text(at, word);
}

static bool add_texts(char ***list, size_t *count, char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!add_text(list, count, words[i]))
			return false;
	return true;
}

static void free_texts(char **list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i]);
	free(list);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static bool copy_ns(struct config_subsystem *s, const struct config_namespace *from)
{
	struct config_namespace *n = append(&s->namespaces, &s->namespace_count, sizeof(*n));

	if (!n)
		return false;
	n->nsid = from->nsid;
	n->read_only = from->read_only;
	return text(&n->store, from->store) && text(&n->uuid, from->uuid);
}

static bool copy_subsystem(struct config *c, const struct config_subsystem *from)
{
	struct config_subsystem *s = append(&c->subsystems, &c->subsystem_count, sizeof(*s));

	if (!s || !text(&s->nqn, from->nqn) || !text(&s->serial, from->serial) || !text(&s->model, from->model))
		return false;
	if (!add_texts(&s->allow, &s->allow_count, from->allow, from->allow_count))
		return false;
	for (size_t i = 0; i < from->namespace_count; i++)
		if (!copy_ns(s, &from->namespaces[i]))
			return false;
	return true;
}

static bool copy_listener(struct config *c, const struct config_listener *from)
{
	struct config_listener *l = append(&c->listeners, &c->listener_count, sizeof(*l));

	if (!l)
		return false;
	l->bound = from->bound;
	return text(&l->address, from->address) && text(&l->advertise, from->advertise) &&
	       add_texts(&l->nqns, &l->nqn_count, from->nqns, from->nqn_count);
}

static bool copy_limits(struct config_limits *to, const struct config_limits *from)
{
	bool all = true;

#define LIMIT(name, kind, field)                                                                   \
	to->name.value = from->name.value;                                                         \
	all &= text(&to->name.text, from->name.text);
	CONFIG_LIMIT_LIST(LIMIT)
#undef LIMIT
	return all;
}

int config_copy(const struct config *from, struct config **ret_config, struct err *err)
{
	struct config *c = calloc(1, sizeof(*c));
	bool all = c;

	if (c) {
		c->queue_depth = from->queue_depth;
		c->io_queues = from->io_queues;
		c->connections = from->connections;
		c->spin_ns = from->spin_ns;
		c->arena_bytes = from->arena_bytes;
		c->drain_ns = from->drain_ns;
		all = text(&c->cores, from->cores) && text(&c->log_level, from->log_level) &&
		      text(&c->control, from->control) && text(&c->state_dir, from->state_dir) &&
		       text(&c->spin, from->spin) &&
		      text(&c->arena, from->arena) && text(&c->drain, from->drain) &&
		      copy_limits(&c->limits, &from->limits);
	}
	for (size_t i = 0; all && i < from->subsystem_count; i++)
		all = copy_subsystem(c, &from->subsystems[i]);
	for (size_t i = 0; all && i < from->listener_count; i++)
		all = copy_listener(c, &from->listeners[i]);
	if (!all) {
		config_free(c);
		return no_memory(err);
	}
	*ret_config = c;
	return 0;
}

/* ---- namespaces ------------------------------------------------------------------------------ */

int config_select(const struct config *c, const char *nqn, struct config_subsystem **ret_subsys,
		  struct err *err)
{
	struct config_subsystem *s = nqn ? config_find(c, nqn) : c->subsystems;

	if (!s || c->subsystem_count == 0)
		return err_set(err, ENOENT, "there is no subsystem%s%s%s", nqn ? " '" : "", nqn ? nqn : "",
			       nqn ? "'" : "");
	if (!nqn && c->subsystem_count > 1)
		return err_set(err, EINVAL, "there are %zu subsystems: say which one (--nqn)",
			       c->subsystem_count);
	*ret_subsys = s;
	return 0;
}

int config_add_ns(struct config_subsystem *s, const char *store, uint32_t nsid, uint32_t max, const char *uuid,
		  bool read_only, uint32_t *ret_nsid, struct err *err)
{
	struct config_namespace *n;
	uint32_t free_one = 1;

	while (config_find_ns(s, free_one))
		free_one++;
	if (nsid == 0)
		nsid = free_one;
	if (config_find_ns(s, nsid))
		return err_set(err, EEXIST, "%s has a namespace %u already; the lowest free number is %u", s->nqn,
			       nsid, free_one);
	if (nsid > max)
		return err_set(err, EINVAL, "namespace %u: 1 to %u are possible (limits: namespaces)", nsid, max);
	n = append(&s->namespaces, &s->namespace_count, sizeof(*n));
	if (!n || !text(&n->store, store) || !text(&n->uuid, uuid))
		return no_memory(err);
	n->nsid = *ret_nsid = nsid;
	n->read_only = read_only;
	return 0;
}

static int missing_ns(const struct config_subsystem *s, uint32_t nsid, struct err *err)
{
	return err_set(err, ENOENT, "%s has no namespace %u", s->nqn, nsid);
}

int config_remove_ns(struct config_subsystem *s, uint32_t nsid, struct err *err)
{
	struct config_namespace *n = config_find_ns(s, nsid);

	if (!n)
		return missing_ns(s, nsid, err);
	free(n->store);
	free(n->uuid);
	take_out(s->namespaces, &s->namespace_count, sizeof(*n), (size_t)(n - s->namespaces));
	return 0;
}

int config_set_read_only(struct config_subsystem *s, uint32_t nsid, bool read_only, struct err *err)
{
	struct config_namespace *n = config_find_ns(s, nsid);

	if (!n)
		return missing_ns(s, nsid, err);
	n->read_only = read_only;
	return 0;
}

/* ---- subsystems ------------------------------------------------------------------------------ */

int config_add_subsystem(struct config *c, const char *nqn, const char *serial, const char *model,
			 char *const *allow, size_t allow_count, struct err *err)
{
	struct config_subsystem *s;

	if (config_find(c, nqn))
		return err_set(err, EEXIST, "there is a subsystem '%s' already", nqn);
	s = append(&c->subsystems, &c->subsystem_count, sizeof(*s));
	if (!s || !text(&s->nqn, nqn) || !text(&s->serial, serial) || !text(&s->model, model) ||
	    !add_texts(&s->allow, &s->allow_count, allow, allow_count))
		return no_memory(err);
	return 0;
}

static void free_listener(struct config *c, size_t i)
{
	struct config_listener *l = &c->listeners[i];

	free(l->address);
	free(l->advertise);
	free_texts(l->nqns, l->nqn_count);
	take_out(c->listeners, &c->listener_count, sizeof(*l), i);
}

static void forget_name(struct config *c, const char *nqn)
{
	for (size_t i = c->listener_count; i-- > 0;) {
		struct config_listener *l = &c->listeners[i];
		bool named = l->nqn_count > 0;

		for (size_t k = l->nqn_count; k-- > 0;) {
			if (strcmp(l->nqns[k], nqn) != 0)
				continue;
			free(l->nqns[k]);
			take_out(l->nqns, &l->nqn_count, sizeof(*l->nqns), k);
		}
		/* It must not come to mean all of them. */
		if (named && l->nqn_count == 0)
			free_listener(c, i);
	}
}

int config_remove_subsystem(struct config *c, const char *nqn, struct err *err)
{
	struct config_subsystem *s = config_find(c, nqn);

	if (!s)
		return err_set(err, ENOENT, "there is no subsystem '%s'", nqn);
	forget_name(c, nqn);
	while (s->namespace_count > 0)
		config_remove_ns(s, s->namespaces[0].nsid, err);
	free(s->namespaces);
	free_texts(s->allow, s->allow_count);
	free(s->nqn);
	free(s->serial);
	free(s->model);
	take_out(c->subsystems, &c->subsystem_count, sizeof(*s), (size_t)(s - c->subsystems));
	return 0;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static void clear_allow(struct config_subsystem *s)
{
	free_texts(s->allow, s->allow_count);
	s->allow = NULL;
	s->allow_count = 0;
}

static size_t find_word(const struct config_subsystem *s, const char *word)
{
	size_t i = 0;

	while (i < s->allow_count && strcmp(s->allow[i], word) != 0)
		i++;
	return i;
}

int config_allow(struct config_subsystem *s, const char *word, struct err *err)
{
	bool any = strcmp(word, "any") == 0;

	if (find_word(s, word) < s->allow_count)
		return err_set(err, EEXIST, "%s admits %s already", s->nqn, any ? "any host" : word);
	if (!any && s->allow_count > 0 && config_allows_any(s))
		return err_set(err, EEXIST, "%s admits any host: deny 'any' first to admit some only", s->nqn);
	if (any || config_host_count(s) == 0)
		clear_allow(s);
	return add_text(&s->allow, &s->allow_count, word) ? 0 : no_memory(err);
}

int config_deny(struct config_subsystem *s, const char *word, struct err *err)
{
	bool implied = s->allow_count == 0 && strcmp(word, "any") == 0;
	size_t i = find_word(s, word);

	if (i == s->allow_count && !implied)
		return err_set(err, ENOENT, "%s does not name %s%s", s->nqn, word,
			       config_allows_any(s) ? ", it admits any host: deny 'any'" : "");
	if (!implied) {
		free(s->allow[i]);
		take_out(s->allow, &s->allow_count, sizeof(*s->allow), i);
	}
	if (s->allow_count > 0)
		return 0;
	return add_text(&s->allow, &s->allow_count, "none") ? 0 : no_memory(err);
}

/* ---- listeners ------------------------------------------------------------------------------- */

/* The one at @address, by its words or by what they mean; @c->listener_count if there is none. */
static size_t find_listener(const struct config *c, const char *address)
{
	struct io_addr want, addr, advertise;
	struct err err;
	size_t i = 0;

	if (io_addr_parse(address, CONFIG_DEFAULT_PORT, true, &want, &err) < 0)
		return c->listener_count;
	for (; i < c->listener_count; i++) {
		const struct config_listener *l = &c->listeners[i];

		config_address(l, &addr, &advertise);
		if (io_addr_equal(l->bound.len ? &l->bound : &addr, &want))
			break;
		if (io_addr_port(&want) > 0 && io_addr_equal(&addr, &want))
			break;
	}
	return i;
}

int config_add_listener(struct config *c, const char *address, const char *advertise, char *const *nqns,
			size_t nqn_count, struct err *err)
{
	struct config_listener *l;

	if (find_listener(c, address) < c->listener_count)
		return err_set(err, EEXIST, "there is a listener on %s already", address);
	l = append(&c->listeners, &c->listener_count, sizeof(*l));
	if (!l || !text(&l->address, address) || !text(&l->advertise, advertise) ||
	    !add_texts(&l->nqns, &l->nqn_count, nqns, nqn_count))
		return no_memory(err);
	return 0;
}

int config_remove_listener(struct config *c, const char *address, struct err *err)
{
	size_t i = find_listener(c, address);

	if (i == c->listener_count)
		return err_set(err, ENOENT, "there is no listener on %s", address);
	free_listener(c, i);
	return 0;
}
