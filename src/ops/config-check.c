/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a configuration means, and whether it can be served: everything that is known before
 * anything is opened, so that a file with a mistake changes nothing.
 */
#include <errno.h>
#include <string.h>

#include "base/uuid.h"
#include "nvme/nqn.h"
#include "ops/config.h"

struct config_subsystem *config_find(const struct config *c, const char *nqn)
{
	for (size_t i = 0; i < c->subsystem_count; i++)
		if (strcmp(c->subsystems[i].nqn, nqn) == 0)
			return &c->subsystems[i];
	return NULL;
}

struct config_namespace *config_find_ns(const struct config_subsystem *s, uint32_t nsid)
{
	for (size_t i = 0; i < s->namespace_count; i++)
		if (s->namespaces[i].nsid == nsid)
			return &s->namespaces[i];
	return NULL;
}

static bool is_word(const struct config_subsystem *s, const char *word)
{
	return s->allow_count == 1 && strcmp(s->allow[0], word) == 0;
}

bool config_allows_any(const struct config_subsystem *s)
{
	return s->allow_count == 0 || is_word(s, "any");
}

size_t config_host_count(const struct config_subsystem *s)
{
	return is_word(s, "any") || is_word(s, "none") ? 0 : s->allow_count;
}

static int parse_address(const struct config_listener *l, struct io_addr *ret_addr,
			 struct io_addr *ret_advertise, struct err *err)
{
	int r = io_addr_parse(l->address, CONFIG_DEFAULT_PORT, true, ret_addr, err);

	*ret_advertise = (struct io_addr){ .len = 0 };
	if (r < 0 || !l->advertise)
		return r < 0 ? err_prefix(err, "listen") : 0;
	r = io_addr_parse(l->advertise, 0, true, ret_advertise, err);
	if (r < 0)
		return err_prefix(err, "advertise");
	if (io_addr_port(ret_advertise) == 0)
		io_addr_set_port(ret_advertise, io_addr_port(ret_addr));
	return 0;
}

void config_address(const struct config_listener *l, struct io_addr *ret_addr,
		    struct io_addr *ret_advertise)
{
	struct err err;

	parse_address(l, ret_addr, ret_advertise, &err);
}

static int check_listeners(const struct config *c, struct err *err)
{
	struct io_addr addr, advertise;

	for (size_t i = 0; i < c->listener_count; i++) {
		const struct config_listener *l = &c->listeners[i];
		int r = parse_address(l, &addr, &advertise, err);

		if (r < 0)
			return r;
		for (size_t k = 0; k < i; k++)
			if (strcmp(c->listeners[k].address, l->address) == 0 && io_addr_port(&addr) > 0)
				return err_set(err, EINVAL, "listener %s is there twice", l->address);
		for (size_t k = 0; k < l->nqn_count; k++)
			if (!config_find(c, l->nqns[k]))
				return err_set(err, EINVAL, "listener %s names '%s', which is no subsystem",
					       l->address, l->nqns[k]);
	}
	return 0;
}

static int check_allow(const struct config_subsystem *s, struct err *err)
{
	for (size_t i = 0; i < s->allow_count; i++) {
		const char *word = s->allow[i];

		if (strcmp(word, "any") == 0 || strcmp(word, "none") == 0) {
			if (s->allow_count > 1)
				return err_set(err, EINVAL, "%s: allow: '%s' stands alone or not at all", s->nqn,
					       word);
			continue;
		}
		if (!nvme_nqn_valid(word))
			return err_set(err, EINVAL, "allow: '%s' is no host NQN (and not 'any' or 'none')",
				       word);
		for (size_t k = 0; k < i; k++)
			if (strcmp(s->allow[k], word) == 0)
				return err_set(err, EINVAL, "%s: allow: %s is there twice", s->nqn, word);
	}
	return 0;
}

static int check_subsystem(const struct config_subsystem *s, struct err *err)
{
	const char *fault = nvme_nqn_fault(s->nqn);
	struct uuid uuid;

	if (fault)
		return err_set(err, EINVAL, "subsystem NQN '%s': %s", s->nqn, fault);
	for (size_t i = 0; i < s->namespace_count; i++) {
		const struct config_namespace *n = &s->namespaces[i];

		if (n->uuid && uuid_parse(n->uuid, &uuid) < 0)
			return err_set(err, EINVAL, "%s: '%s' is no UUID", n->store, n->uuid);
		if (config_find_ns(s, n->nsid) != n)
			return err_set(err, EINVAL, "namespace %u is there twice in '%s'", n->nsid, s->nqn);
	}
	return check_allow(s, err);
}

static bool reached_at(const struct config_listener *l, const struct config_subsystem *s)
{
	for (size_t i = 0; i < l->nqn_count; i++)
		if (strcmp(l->nqns[i], s->nqn) == 0)
			return true;
	return l->nqn_count == 0;
}

static int check_access(const struct config *c, const struct config_listener *l, struct err *err)
{
	struct io_addr addr, advertise;

	config_address(l, &addr, &advertise);
	if (io_addr_is_loopback(&addr))
		return 0;
	for (size_t i = 0; i < c->subsystem_count; i++)
		if (reached_at(l, &c->subsystems[i]) && c->subsystems[i].allow_count == 0)
			return err_set(err, EACCES,
				       "listening beyond loopback (%s) without saying who may connect to %s: name "
				       "hosts with --allow HOSTNQN, or say --allow any",
				       l->address, c->subsystems[i].nqn);
	return 0;
}

int config_check(const struct config *c, struct err *err)
{
	int r = check_listeners(c, err);

	for (size_t i = 0; r == 0 && i < c->subsystem_count; i++)
		r = check_subsystem(&c->subsystems[i], err);
	for (size_t i = 0; r == 0 && i < c->listener_count; i++)
		r = check_access(c, &c->listeners[i], err);
	return r;
}
