/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration from the words of a command line. It is made with the allocator that libcyaml
 * frees with, so that both kinds are freed by one function.
 */
#include "ops/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* A list of copies of @n texts; false when memory is out. */
static bool copy_list(char *const *from, size_t n, char ***ret_list, size_t *ret_count)
{
	if (n == 0)
		return true;
	*ret_list = calloc(n, sizeof(**ret_list));
	if (!*ret_list)
		return false;
	for (*ret_count = 0; *ret_count < n; (*ret_count)++) {
		(*ret_list)[*ret_count] = copy(from[*ret_count]);
		if (!(*ret_list)[*ret_count])
			return false;
	}
	return true;
}

static bool default_listener(struct config *c)
{
	c->listeners = calloc(1, sizeof(*c->listeners));
	if (!c->listeners)
		return false;
	c->listener_count = 1;
	c->listeners[0].address = copy(CONFIG_DEFAULT_LISTEN);
	return c->listeners[0].address != NULL;
}

static void number(struct config_subsystem *s)
{
	for (size_t i = 0; i < s->namespace_count; i++)
		if (s->namespaces[i].nsid == 0)
			s->namespaces[i].nsid = (uint32_t)i + 1;
}

int config_settle(struct config *c, struct err *err)
{
	if (c->listener_count == 0 && !default_listener(c))
		return err_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < c->subsystem_count; i++)
		number(&c->subsystems[i]);
	return 0;
}

static bool add_listeners(struct config *c, const struct config_words *w)
{
	if (w->listen_count == 0 && !default_listener(c))
		return false;
	if (w->listen_count > 0) {
		c->listeners = calloc(w->listen_count, sizeof(*c->listeners));
		if (!c->listeners)
			return false;
	}
	for (size_t i = 0; i < w->listen_count; i++) {
		c->listener_count = i + 1;
		c->listeners[i].address = copy(w->listen[i]);
		if (!c->listeners[i].address)
			return false;
	}
	for (size_t i = 0; w->advertise && i < c->listener_count; i++) {
		c->listeners[i].advertise = copy(w->advertise);
		if (!c->listeners[i].advertise)
			return false;
	}
	return true;
}

static bool add_subsystem(struct config *c, const struct config_words *w)
{
	struct config_subsystem *s = calloc(1, sizeof(*s));

	if (!s)
		return false;
	c->subsystems = s;
	c->subsystem_count = 1;
	s->nqn = copy(w->nqn ? w->nqn : CONFIG_DEFAULT_NQN);
	s->serial = copy(w->serial);
	s->model = copy(w->model);
	if (!s->nqn || !!s->serial != !!w->serial || !!s->model != !!w->model)
		return false;
	if (!copy_list((char *const *)(uintptr_t)w->allow, w->allow_count, &s->allow, &s->allow_count))
		return false;
	s->namespaces = calloc(w->namespace_count ? w->namespace_count : 1, sizeof(*s->namespaces));
	if (!s->namespaces)
		return false;
	for (size_t i = 0; i < w->namespace_count; i++) {
		s->namespace_count = i + 1;
		s->namespaces[i].store = copy(w->namespaces[i]);
		if (!s->namespaces[i].store)
			return false;
	}
	return true;
}

int config_from_words(const struct config_words *w, struct config **ret_config, struct err *err)
{
	struct config *c = calloc(1, sizeof(*c));

	if (!c || !add_listeners(c, w) || !add_subsystem(c, w)) {
		config_free(c);
		return err_set(err, ENOMEM, "out of memory");
	}
	number(c->subsystems);
	*ret_config = c;
	return 0;
}

/* One "N" or "N-M". */
static bool core_range(char *word, uint64_t *ret_first, uint64_t *ret_last)
{
	char *dash = strchr(word, '-');

	if (dash)
		*dash = 0;
	return parse_u64_between(word, 0, 65535, ret_first) == 0 &&
	       parse_u64_between(dash ? dash + 1 : word, *ret_first, 65535, ret_last) == 0;
}

int config_parse_cores(const char *text, int *ret_cores, size_t max, struct err *err)
{
	char word[32];
	size_t n = 0, len;
	uint64_t first, last;

	for (const char *at = text;; at += len + 1) {
		len = strcspn(at, ",");
		if (len == 0 || len >= sizeof(word))
			break;
		memcpy(word, at, len);
		word[len] = 0;
		if (!core_range(word, &first, &last) || last - first >= max - n)
			break;
		for (; first <= last; first++) {
			for (size_t i = 0; i < n; i++) {
				if (ret_cores[i] == (int)first)
					return err_set(err, EINVAL, "cores: %llu is there twice in '%s'",
						       (unsigned long long)first, text);
			}
			ret_cores[n++] = (int)first;
		}
		if (at[len] == 0)
			return (int)n;
	}
	return err_set(err, EINVAL, "cores: '%s': expected CPU numbers as in 0,2-3 (at most %zu)", text, max);
}
