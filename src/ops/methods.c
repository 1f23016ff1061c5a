/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and answers; the idea is in methods.h. A new method is a function and a line in the
 * table; a new parameter a field, a bit and a line in the other one.
 */
#include "ops/methods.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "ops/config-edit.h"
#include "ops/doc.h"
#include "ops/report.h"

/* Deeper than any request of ours is nonsense. */
enum { DEPTH_MAX = 8, LIST_MAX = 256 };

enum {
	NQN = 1 << 0,
	STORE = 1 << 1,
	NSID = 1 << 2,
	UUID = 1 << 3,
	READ_ONLY = 1 << 4,
	ADDRESS = 1 << 5,
	ADVERTISE = 1 << 6,
	SUBSYSTEMS = 1 << 7,
	SERIAL = 1 << 8,
	MODEL = 1 << 9,
	ALLOW = 1 << 10,
	HOST = 1 << 11,
	NOW = 1 << 12,
};

struct args {
	unsigned int given;
	const char *nqn, *store, *uuid, *address, *advertise, *serial, *model, *host;
	uint32_t nsid;
	bool read_only, now;
	char *list[LIST_MAX]; /* subsystems, or allow */
	size_t count;
};

struct call {
	const struct methods *m;
	const struct args *args;
	struct json_object *result;
};

/* ---- parameters ------------------------------------------------------------------------------ */

enum kind { TEXT, NUMBER, BOOL, TEXTS };

static const struct param {
	const char *name;
	unsigned int bit;
	enum kind kind;
	size_t offset;
} params[] = {
	{ "nqn", NQN, TEXT, offsetof(struct args, nqn) },
	{ "store", STORE, TEXT, offsetof(struct args, store) },
	{ "nsid", NSID, NUMBER, offsetof(struct args, nsid) },
	{ "uuid", UUID, TEXT, offsetof(struct args, uuid) },
	{ "read_only", READ_ONLY, BOOL, offsetof(struct args, read_only) },
	{ "address", ADDRESS, TEXT, offsetof(struct args, address) },
	{ "advertise", ADVERTISE, TEXT, offsetof(struct args, advertise) },
	{ "subsystems", SUBSYSTEMS, TEXTS, offsetof(struct args, list) },
	{ "serial", SERIAL, TEXT, offsetof(struct args, serial) },
	{ "model", MODEL, TEXT, offsetof(struct args, model) },
	{ "allow", ALLOW, TEXTS, offsetof(struct args, list) },
	{ "host", HOST, TEXT, offsetof(struct args, host) },
	{ "now", NOW, BOOL, offsetof(struct args, now) },
};

/* A text without anything that could hide in it. */
static bool is_text(struct json_object *v)
{
	return json_object_is_type(v, json_type_string) && json_object_get_string_len(v) > 0 &&
	       strlen(json_object_get_string(v)) == (size_t)json_object_get_string_len(v);
}

static int take_texts(const struct param *p, struct json_object *v, struct args *a, struct err *err)
{
	size_t n = json_object_is_type(v, json_type_array) ? json_object_array_length(v) : LIST_MAX + 1;

	if (n > LIST_MAX)
		return err_set(err, EINVAL, "%s: a list of at most %d texts is expected", p->name, LIST_MAX);
	for (size_t i = 0; i < n; i++) {
		struct json_object *x = json_object_array_get_idx(v, i);

		if (!is_text(x))
			return err_set(err, EINVAL, "%s: element %zu: a text is expected", p->name, i);
		a->list[a->count++] = (char *)(uintptr_t)json_object_get_string(x);
	}
	return 0;
}

static int take(const struct param *p, struct json_object *v, struct args *a, struct err *err)
{
	void *to = (char *)a + p->offset;
	int64_t n;

	a->given |= p->bit;
	switch (p->kind) {
	case TEXT:
		if (!is_text(v))
			return err_set(err, EINVAL, "%s: a text is expected", p->name);
		*(const char **)to = json_object_get_string(v);
		return 0;
	case NUMBER:
		n = json_object_is_type(v, json_type_int) ? json_object_get_int64(v) : 0;
		if (n < 1 || n > UINT32_MAX)
			return err_set(err, EINVAL, "%s: a number from 1 on is expected", p->name);
		*(uint32_t *)to = (uint32_t)n;
		return 0;
	case BOOL:
		if (!json_object_is_type(v, json_type_boolean))
			return err_set(err, EINVAL, "%s: true or false is expected", p->name);
		*(bool *)to = json_object_get_boolean(v);
		return 0;
	default:
		return take_texts(p, v, a, err);
	}
}

static int take_named(const char *method, const char *name, struct json_object *v, unsigned int allowed,
		      struct args *a, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(params); i++)
		if (strcmp(params[i].name, name) == 0 && (params[i].bit & allowed))
			return take(&params[i], v, a, err);
	return err_set(err, EINVAL, "%s: no parameter '%.64s'", method, name);
}

static int check_required(const char *method, unsigned int missing, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(params); i++)
		if (params[i].bit & missing)
			return err_set(err, EINVAL, "%s: the parameter '%s' is missing", method, params[i].name);
	return 0;
}

/* ---- changes --------------------------------------------------------------------------------- */

static void put_changes(struct json_object *result, const struct site_changes *changes)
{
	struct json_object *list = doc_array(result, "changes");

	for (size_t i = 0; i < changes->count; i++) {
		const struct site_change *c = &changes->items[i];
		struct json_object *o = doc_object(list, NULL);

		doc_str(o, "what", c->what);
		doc_bool(o, "live", c->live);
		if (c->subsystem)
			doc_str(o, "subsystem", c->subsystem);
		if (c->nsid)
			doc_u64(o, "nsid", c->nsid);
		if (c->detail && c->detail[0])
			doc_str(o, "detail", c->detail);
	}
}

/* What comes after a change, whoever asked for it. */
static void put_outcome(struct call *c, struct site_changes *changes)
{
	doc_str(c->result, "schema", "penstock.ctl/1");
	put_changes(c->result, changes);
	site_changes_deinit(changes);
	doc_u64(c->result, "stores_still_in_use", site_settle(c->m->site, METHODS_SETTLE_NS));
}

/* A change to the configuration: made on a copy, which then comes into force. */
static int change(struct call *c, int (*edit)(struct config *config, struct call *c, struct err *err),
		  struct err *err)
{
	struct site_changes changes;
	struct config *config;
	int r = config_copy(site_config(c->m->site), &config, err);

	if (r < 0)
		return r;
	r = edit(config, c, err);
	if (r < 0) {
		config_free(config);
		return r;
	}
	r = site_apply(c->m->site, config, &changes, err);
	if (r < 0)
		return r;
	put_outcome(c, &changes);
	return 0;
}

static int edit_ns_add(struct config *config, struct call *c, struct err *err)
{
	const struct args *a = c->args;
	struct config_subsystem *s;
	uint32_t nsid = 0;
	int r = config_select(config, a->nqn, &s, err);

	if (r == 0)
		r = config_add_ns(s, a->store, a->nsid, site_limits(c->m->site)->namespaces, a->uuid,
				  a->read_only, &nsid, err);
	if (r == 0)
		doc_u64(c->result, "nsid", nsid);
	return r;
}

static int edit_ns_remove(struct config *config, struct call *c, struct err *err)
{
	struct config_subsystem *s;
	int r = config_select(config, c->args->nqn, &s, err);

	return r < 0 ? r : config_remove_ns(s, c->args->nsid, err);
}

static int edit_ns_set(struct config *config, struct call *c, struct err *err)
{
	struct config_subsystem *s;
	int r = config_select(config, c->args->nqn, &s, err);

	return r < 0 ? r : config_set_read_only(s, c->args->nsid, c->args->read_only, err);
}

static int edit_listener_add(struct config *config, struct call *c, struct err *err)
{
	const struct args *a = c->args;

	return config_add_listener(config, a->address, a->advertise, a->list, a->count, err);
}

static int edit_listener_remove(struct config *config, struct call *c, struct err *err)
{
	return config_remove_listener(config, c->args->address, err);
}

static int edit_subsys_add(struct config *config, struct call *c, struct err *err)
{
	const struct args *a = c->args;

	return config_add_subsystem(config, a->nqn, a->serial, a->model, a->list, a->count, err);
}

static int edit_subsys_remove(struct config *config, struct call *c, struct err *err)
{
	return config_remove_subsystem(config, c->args->nqn, err);
}

static int edit_host_allow(struct config *config, struct call *c, struct err *err)
{
	struct config_subsystem *s;
	int r = config_select(config, c->args->nqn, &s, err);

	return r < 0 ? r : config_allow(s, c->args->host, err);
}

static int edit_host_deny(struct config *config, struct call *c, struct err *err)
{
	struct config_subsystem *s;
	int r = config_select(config, c->args->nqn, &s, err);

	return r < 0 ? r : config_deny(s, c->args->host, err);
}

/* ---- what is no change ----------------------------------------------------------------------- */

static int run_status(struct call *c, struct err *err)
{
	report_status(c->m->site, c->result);
	return 0;
}

static int run_stats(struct call *c, struct err *err)
{
	report_stats(c->m->site, c->result);
	return 0;
}

static int run_ns_resize(struct call *c, struct err *err)
{
	struct config_subsystem *s;
	uint64_t bytes = 0;
	int r = config_select(site_config(c->m->site), c->args->nqn, &s, err);

	if (r == 0)
		r = site_resize(c->m->site, s->nqn, c->args->nsid, &bytes, err);
	if (r < 0)
		return r;
	doc_str(c->result, "schema", "penstock.ctl/1");
	doc_bool(c->result, "changed", r > 0);
	doc_u64(c->result, "size_bytes", bytes);
	return 0;
}

int methods_reload(const struct methods *m, struct site_changes *ret_changes, struct err *err)
{
	struct config *config;
	int r;

	if (!m->load)
		return err_set(err, ENOENT, "the target was started without a configuration file");
	r = m->load(m->load_arg, &config, err);
	return r < 0 ? r : site_apply(m->site, config, ret_changes, err);
}

static int run_reload(struct call *c, struct err *err)
{
	struct site_changes changes;
	int r = methods_reload(c->m, &changes, err);

	if (r == 0)
		put_outcome(c, &changes);
	return r;
}

static int run_drain(struct call *c, struct err *err)
{
	c->m->drain(c->m->drain_arg, c->args->now);
	doc_str(c->result, "schema", "penstock.ctl/1");
	doc_bool(c->result, "draining", true);
	return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct method {
	const char *name;
	unsigned int required, optional;
	int (*edit)(struct config *config, struct call *c, struct err *err);
	int (*run)(struct call *c, struct err *err); /* where there is no edit */
} table[] = {
	{ "status", 0, 0, NULL, run_status },
	{ "stats", 0, 0, NULL, run_stats },
	{ "ns.add", STORE, NQN | NSID | UUID | READ_ONLY, edit_ns_add, NULL },
	{ "ns.remove", NSID, NQN, edit_ns_remove, NULL },
	{ "ns.resize", NSID, NQN, NULL, run_ns_resize },
	{ "ns.set", NSID | READ_ONLY, NQN, edit_ns_set, NULL },
	{ "listener.add", ADDRESS, ADVERTISE | SUBSYSTEMS, edit_listener_add, NULL },
	{ "listener.remove", ADDRESS, 0, edit_listener_remove, NULL },
	{ "subsys.add", NQN, SERIAL | MODEL | ALLOW, edit_subsys_add, NULL },
	{ "subsys.remove", NQN, 0, edit_subsys_remove, NULL },
	{ "host.allow", HOST, NQN, edit_host_allow, NULL },
	{ "host.deny", HOST, NQN, edit_host_deny, NULL },
	{ "reload", 0, 0, NULL, run_reload },
	{ "drain", 0, NOW, NULL, run_drain },
};

static int find(struct json_object *request, const struct method **ret_method, struct err *err)
{
	struct json_object *v;

	if (!json_object_object_get_ex(request, "method", &v) || !is_text(v))
		return err_set(err, EINVAL, "a request has a \"method\", which is a text");
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (strcmp(table[i].name, json_object_get_string(v)) == 0) {
			*ret_method = &table[i];
			return 0;
		}
	}
	return err_set(err, ENOSYS, "no method '%.64s'", json_object_get_string(v));
}

static int check_request(struct json_object *request, struct err *err)
{
	struct json_object *v;

	if (!json_object_is_type(request, json_type_object))
		return err_set(err, EINVAL, "a request is a JSON object");
	if (!json_object_object_get_ex(request, "schema", &v) || !is_text(v) ||
	    strcmp(json_object_get_string(v), CONTROL_SCHEMA) != 0)
		return err_set(err, EPROTO, "\"schema\": \"" CONTROL_SCHEMA "\" is what is spoken here");
	json_object_object_foreach(request, key, value) {
		(void)value;
		if (strcmp(key, "schema") != 0 && strcmp(key, "method") != 0 && strcmp(key, "params") != 0)
			return err_set(err, EINVAL, "a request has no \"%.64s\"", key);
	}
	return 0;
}

static int take_args(const struct method *method, struct json_object *request, struct args *a,
		     struct err *err)
{
	struct json_object *given = NULL;

	json_object_object_get_ex(request, "params", &given);
	if (given && !json_object_is_type(given, json_type_object))
		return err_set(err, EINVAL, "\"params\" is an object");
	if (given) {
		json_object_object_foreach(given, key, value) {
			int r = take_named(method->name, key, value, method->required | method->optional, a,
					   err);

			if (r < 0)
				return r;
		}
	}
	return check_required(method->name, method->required & ~a->given, err);
}

static int answer(const struct methods *m, struct json_object *request, struct json_object *result,
		  struct err *err)
{
	struct args *args = mem_zalloc(sizeof(*args));
	struct call c = { m, args, result };
	const struct method *method = NULL;
	int r = args ? check_request(request, err) : err_set(err, ENOMEM, "out of memory");

	if (r == 0)
		r = find(request, &method, err);
	if (r == 0)
		r = take_args(method, request, args, err);
	if (r == 0)
		r = method->edit ? change(&c, method->edit, err) : method->run(&c, err);
	mem_free(args);
	if (doc_take_failure() && r == 0)
		r = err_set(err, ENOMEM, "it was done, but there is no memory to tell what");
	return r;
}

/* The request, or NULL: it is no JSON, or not only that. */
static struct json_object *parse(const char *line, size_t n, struct err *err)
{
	struct json_tokener *t = json_tokener_new_ex(DEPTH_MAX);
	struct json_object *o = NULL;

	if (!t) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	if (n < INT32_MAX)
		o = json_tokener_parse_ex(t, line, (int)n);
	if (!o)
		err_set(err, EINVAL, "this is no JSON: %s, at byte %zu",
			json_tokener_get_error(t) == json_tokener_continue ?
				"it ends too early" :
				json_tokener_error_desc(json_tokener_get_error(t)),
			json_tokener_get_parse_end(t));
	json_tokener_free(t);
	return o;
}

static char *text_of(struct json_object *o)
{
	const char *text = o ? json_object_to_json_string_ext(
				       o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE) :
			       NULL;
	size_t n = text ? strlen(text) : 0;
	char *copy = text ? mem_alloc(n + 2) : NULL;

	if (copy) {
		memcpy(copy, text, n);
		memcpy(copy + n, "\n", 2);
	}
	return copy;
}

char *methods_answer(const struct methods *m, const char *line, size_t n)
{
	struct json_object *o, *request, *result, *error;
	struct err err = ERR_NULL;
	char *text;
	int r;

	doc_take_failure();
	o = doc_new();
	result = doc_new();
	request = parse(line, n, &err);
	r = request ? answer(m, request, result, &err) : -err.code;
	json_object_put(request);
	doc_str(o, "schema", CONTROL_SCHEMA);
	doc_bool(o, "ok", r == 0);
	if (r == 0) {
		doc_put(o, "result", result);
	} else {
		json_object_put(result);
		error = doc_object(o, "error");
		doc_str(error, "code", strerrorname_np(-r));
		doc_str(error, "message", err_text(&err));
	}
	text = doc_take_failure() ? NULL : text_of(o);
	json_object_put(o);
	return text;
}
