/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what tells a target what to be. A configuration file that is taken is written out and
 * taken again as the same; a request on the control socket gets one answer in JSON, which says yes or
 * why not; changes made of valid words leave a valid configuration; a state file of reservations is
 * read as what it says or refused. What is refused is refused in words.
 *
 * Input: byte 0 bits 1:0: a file in YAML, requests (a line each), changes, a state file; bit 2, of a
 * state file: its checksum is made right first.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/util.h"
#include "ops/config-edit.h"
#include "ops/config.h"
#include "ops/methods.h"
#include "ops/site.h"
#include "store/spec.h"
#include "store/store.h"
#include "target/resv-text.h"
#include "tests/fuzz/fuzz.h"

#define A    "nqn.2026-11.io.penstock:a"
#define B    "nqn.2026-11.io.penstock:b"
#define HOST "nqn.2026-11.io.penstock:host"

enum { TEXT_MAX = 16384, NAMESPACES = 8, STORE_MAX = 16 << 20, SUM_MAX = 32 };

/* ---- a file ---------------------------------------------------------------------------------- */

static int load(const void *bytes, size_t n, struct config **ret, struct err *err)
{
	int fd = memfd_create("config", MFD_CLOEXEC), rc;
	char path[64];

	INVARIANT(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = config_load(path, ret, err);
	close(fd);
	INVARIANT(rc == 0 || (err->code == -rc && strncmp(err->text, path, strlen(path)) == 0 &&
			      err->text[strlen(path)] == ':'));
	return rc;
}

/* A text of YAML in quotes. */
static void put_text(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if ((uint8_t)*s < 0x20 || *s == 0x7f)
			fprintf(f, "\\x%02x", (uint8_t)*s);
		else
			fputc(*s, f);
	}
	fputc('"', f);
}

static void put_field(FILE *f, const char *key, const char *text)
{
	if (!text)
		return;
	fprintf(f, "\"%s\": ", key);
	put_text(f, text);
	fputs(", ", f);
}

static void put_list(FILE *f, const char *key, char *const *list, size_t n)
{
	fprintf(f, "\"%s\": [", key);
	for (size_t i = 0; i < n; i++) {
		put_text(f, list[i]);
		fputs(i + 1 < n ? ", " : "", f);
	}
	fputs("], ", f);
}

static void put_subsystem(FILE *f, const struct config_subsystem *s)
{
	fputs("{ ", f);
	put_field(f, "nqn", s->nqn);
	put_field(f, "serial", s->serial);
	put_field(f, "model", s->model);
	put_list(f, "allow", s->allow, s->allow_count);
	fputs("\"namespaces\": [", f);
	for (size_t i = 0; i < s->namespace_count; i++) {
		const struct config_namespace *n = &s->namespaces[i];

		fputs("{ ", f);
		put_field(f, "store", n->store);
		put_field(f, "uuid", n->uuid);
		fprintf(f, "\"nsid\": %u, \"read_only\": %s },\n", n->nsid, n->read_only ? "true" : "false");
	}
	fputs("] },\n", f);
}

static void put_limits(FILE *f, const struct config_limits *l)
{
	fputs("\"limits\": { ", f);
#define LIMIT(name, kind, field) put_field(f, #name, l->name.text);
	CONFIG_LIMIT_LIST(LIMIT)
#undef LIMIT
	fputs("},\n", f);
}

/* The whole of it, as JSON but for the commas; for free(). */
static char *show(const struct config *c)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	INVARIANT(f);
	fputs("{ \"listeners\": [\n", f);
	for (size_t i = 0; i < c->listener_count; i++) {
		fputs("{ ", f);
		put_field(f, "address", c->listeners[i].address);
		put_field(f, "advertise", c->listeners[i].advertise);
		put_list(f, "subsystems", c->listeners[i].nqns, c->listeners[i].nqn_count);
		fputs("},\n", f);
	}
	fputs("], \"subsystems\": [\n", f);
	for (size_t i = 0; i < c->subsystem_count; i++)
		put_subsystem(f, &c->subsystems[i]);
	fputs("],\n", f);
	put_field(f, "cores", c->cores);
	put_field(f, "log_level", c->log_level);
	put_field(f, "state_dir", c->state_dir);
	put_field(f, "control", c->control);
	put_field(f, "spin", c->spin);
	put_field(f, "arena", c->arena);
	put_field(f, "drain", c->drain);
	put_limits(f, &c->limits);
	fprintf(f, "\"queue_depth\": %u, \"io_queues\": %u, \"connections\": %u }\n", c->queue_depth,
		c->io_queues, c->connections);
	INVARIANT(fclose(f) == 0);
	return text;
}

static void same(const struct config *a, const struct config *b)
{
	char *x = show(a), *y = show(b);

	INVARIANT(strcmp(x, y) == 0);
	INVARIANT(a->spin_ns == b->spin_ns && a->arena_bytes == b->arena_bytes && a->drain_ns == b->drain_ns);
#define LIMIT(name, kind, field) INVARIANT(a->limits.name.value == b->limits.name.value);
	CONFIG_LIMIT_LIST(LIMIT)
#undef LIMIT
	free(x);
	free(y);
}

static void check(const struct config *c)
{
	struct err err = ERR_NULL;
	int rc = config_check(c, &err);

	INVARIANT(rc == 0 || (rc < 0 && err.code == -rc && err.text[0]));
}

static void fuzz_file(const uint8_t *data, size_t n)
{
	struct config *c, *again, *copy;
	struct err err = ERR_NULL;
	char *text;

	if (load(data, n, &c, &err) < 0)
		return;
	INVARIANT(c->listener_count > 0 && c->subsystem_count > 0);
	for (size_t i = 0; i < c->subsystem_count; i++)
		for (size_t k = 0; k < c->subsystems[i].namespace_count; k++)
			INVARIANT(c->subsystems[i].namespaces[k].nsid > 0);
	text = show(c);
	INVARIANT(load(text, strlen(text), &again, &err) == 0);
	free(text);
	same(c, again);
	config_free(again);
	INVARIANT(config_copy(c, &copy, &err) == 0);
	same(c, copy);
	config_free(copy);
	check(c);
	config_free(c);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Whatever the input calls a store: no file is opened or made, and no memory taken that matters. */
int __real_store_open(struct io_loop *loop, const char *text, struct store **ret_store, struct err *err);
int __wrap_store_open(struct io_loop *loop, const char *text, struct store **ret_store, struct err *err);

int __wrap_store_open(struct io_loop *loop, const char *text, struct store **ret_store, struct err *err)
{
	static struct store_spec spec;
	int rc = store_spec_parse(text, &spec, err);

	if (rc == 0 && (spec.kind == SPEC_FILE || spec.size > STORE_MAX))
		rc = err_set(err, EACCES, "store '%s': not here", text);
	return rc < 0 ? rc : __real_store_open(loop, text, ret_store, err);
}

static int no_file(void *arg, struct config **ret_config, struct err *err)
{
	return err_set(err, EIO, "no file here");
}

static void drain(void *arg, bool now)
{
}

/* A target that has not been started: what would change it is looked at up to its last step. */
static struct methods *target(void)
{
	static char store[] = "memory:1M";
	static char *namespaces[] = { store };
	static const struct config_words w = { .nqn = A, .namespaces = namespaces, .namespace_count = 1 };
	static const struct log quiet = { 0 };
	static struct methods m = { .load = no_file, .drain = drain };
	struct err err = ERR_NULL;
	struct config *c;

	if (!m.site)
		INVARIANT(config_from_words(&w, &c, &err) == 0 && site_new(c, &quiet, &m.site, &err) == 0);
	return &m;
}

static bool is(struct json_object *o, const char *key, enum json_type type, struct json_object **ret)
{
	return json_object_object_get_ex(o, key, ret) && json_object_is_type(*ret, type);
}

static void check_answer(const char *text)
{
	struct json_object *o, *v, *e;
	size_t n = strlen(text);

	INVARIANT(n > 1 && text[n - 1] == '\n' && strchr(text, '\n') == text + n - 1);
	o = json_tokener_parse(text);
	INVARIANT(o && json_object_is_type(o, json_type_object));
	INVARIANT(is(o, "schema", json_type_string, &v) && strcmp(json_object_get_string(v), CONTROL_SCHEMA) == 0);
	INVARIANT(is(o, "ok", json_type_boolean, &v));
	if (json_object_get_boolean(v)) {
		INVARIANT(is(o, "result", json_type_object, &e));
	} else {
		INVARIANT(is(o, "error", json_type_object, &e) && is(e, "code", json_type_string, &v));
		INVARIANT(is(e, "message", json_type_string, &v) && json_object_get_string_len(v) > 0);
	}
	json_object_put(o);
}

static void fuzz_requests(const uint8_t *data, size_t n)
{
	const struct methods *m = target();

	while (n > 0) {
		const uint8_t *end = memchr(data, '\n', n);
		size_t len = end ? (size_t)(end - data) : n;
		char *line = malloc(len), *answer;

		memcpy(line, data, len);
		answer = methods_answer(m, line, len);
		INVARIANT(answer);
		check_answer(answer);
		free(answer);
		free(line);
		data += len;
		n -= len;
		if (n > 0) {
			data++;
			n--;
		}
	}
	INVARIANT(site_config(m->site)->subsystem_count == 1 && site_config(m->site)->listener_count == 1);
}

/* ---- changes --------------------------------------------------------------------------------- */

static const char *const nqns[] = { A, B, "nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
				    "nqn.2026-11.io.penstock:c" };
static const char *const hosts[] = { HOST, "any", HOST "2", "none" };
static const char *const addresses[] = { "tcp://127.0.0.1:4420", "127.0.0.1:4421", "[::1]:4420", "127.0.0.2" };

/* One change of two bytes. -ENOENT, -EEXIST and -EINVAL in words, and then nothing is as before. */
static int edit(struct config *c, uint8_t what, uint8_t with, struct err *err)
{
	char *list[] = { (char *)(uintptr_t)nqns[with & 3] };
	const char *nqn = nqns[what >> 4 & 3];
	struct config_subsystem *s;
	uint32_t nsid = with & 15;
	int rc;

	switch (what & 7) {
	case 0:
		return config_add_subsystem(c, nqn, with & 4 ? "S" : NULL, NULL, NULL, 0, err);
	case 1:
		return c->subsystem_count > 1 ? config_remove_subsystem(c, nqn, err) : 0;
	case 2:
		return config_add_listener(c, addresses[with >> 2 & 3], with & 128 ? "10.0.0.1" : NULL, list,
					   with & 16 ? 1 : 0, err);
	case 3:
		return config_remove_listener(c, addresses[with >> 2 & 3], err);
	default:
		break;
	}
	rc = config_select(c, what & 64 ? NULL : nqn, &s, err);
	if (rc < 0)
		return rc;
	switch (what & 15) {
	case 4:
		return config_add_ns(s, "memory:1M", nsid, NAMESPACES, NULL, with & 128, &nsid, err);
	case 5:
		return config_remove_ns(s, nsid, err);
	case 6:
		return config_allow(s, hosts[with % 3], err);
	case 7:
		return config_deny(s, hosts[with % 4], err);
	default:
		return config_set_read_only(s, nsid, with & 128, err);
	}
}

static void fuzz_changes(const uint8_t *data, size_t n)
{
	struct config_words w = { .nqn = A };
	struct err err = ERR_NULL;
	struct config *c, *next;

	INVARIANT(config_from_words(&w, &c, &err) == 0);
	for (size_t i = 0; i + 2 <= n && i < 512; i += 2) {
		int rc;

		INVARIANT(config_copy(c, &next, &err) == 0);
		same(c, next);
		rc = edit(next, data[i], data[i + 1], &err);
		if (rc == 0)
			rc = config_check(next, &err);
		if (rc < 0) {
			INVARIANT(err.code == -rc && err.text[0]);
			INVARIANT(rc == -ENOENT || rc == -EEXIST || rc == -EINVAL);
			config_free(next);
			continue;
		}
		config_free(c);
		c = next;
		for (size_t k = 0; k < c->subsystem_count; k++)
			INVARIANT(c->subsystems[k].namespace_count <= NAMESPACES);
	}
	config_free(c);
}

/* ---- a state file ---------------------------------------------------------------------------- */

/* Takes the last line for its checksum; there is room for it. */
static size_t sign(char *text, size_t n)
{
	size_t last = n;

	while (last > 0 && text[last - 1] != '\n')
		last--;
	return last + (size_t)snprintf(text + last, SUM_MAX, "crc32c %08x\n", crc32c(0, text, last));
}

static void fuzz_state(const uint8_t *data, size_t n, bool make_right)
{
	static const struct tgt_resv_owner owner = { .nqn = A, .nsid = 3, .uuid = { { 1, 2, 3, 4 } } };
	static struct tgt_resv_state s, again;
	static char out[TGT_RESV_TEXT_MAX];
	char *text = malloc(n + SUM_MAX), *exact;
	struct err err = ERR_NULL;
	int rc;

	memcpy(text, data, n);
	n = make_right ? sign(text, n) : n;
	exact = malloc(n);
	memcpy(exact, text, n);
	memset(&s, 0, sizeof(s));
	rc = tgt_resv_decode(exact, n, &owner, &s, &err);
	if (rc < 0)
		INVARIANT(err.code == -rc && err.text[0]);
	if (rc == 1) {
		INVARIANT(s.count <= TGT_RESV_REGISTRANTS && (s.count == 0 || s.holder < s.count));
		memset(&again, 0, sizeof(again));
		INVARIANT(tgt_resv_decode(out, tgt_resv_encode(&s, &owner, out), &owner, &again, &err) == 1);
		INVARIANT(memcmp(&s, &again, sizeof(s)) == 0);
	}
	free(exact);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > TEXT_MAX)
		return 0;
	switch (data[0] & 3) {
	case 0:
		fuzz_file(data + 1, size - 1);
		break;
	case 1:
		fuzz_requests(data + 1, size - 1);
		break;
	case 2:
		fuzz_changes(data + 1, size - 1);
		break;
	default:
		fuzz_state(data + 1, size - 1, data[0] & 4);
	}
	return 0;
}
