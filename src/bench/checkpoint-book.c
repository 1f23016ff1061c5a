/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/checkpoint-book.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

#define SCHEMA	   "penstock.checkpoints/1"
#define JSON_FLAGS (JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)

/* ---- text ---------------------------------------------------------------------------------- */

/* Numbers by name, both ways. */
static const struct {
	const char *name;
	size_t offset;
	bool wide; /* 64 bits, else 32 */
	uint64_t most;
} fields[] = {
	{ "ranks", offsetof(struct book, ranks), false, 1 << 20 },
	{ "scale_ppm", offsetof(struct book, scale_ppm), true, 1000000000 },
	{ "seed", offsetof(struct book, seed), true, UINT64_MAX },
	{ "run", offsetof(struct book, run), true, UINT64_MAX },
	{ "volumes", offsetof(struct book, volumes), false, 1 << 20 },
	{ "volume", offsetof(struct book, volume), false, 1 << 20 },
	{ "slots", offsetof(struct book, slots), false, UINT32_MAX },
	{ "slot_bytes", offsetof(struct book, slot_bytes), true, UINT64_C(1) << 60 },
	{ "oldest", offsetof(struct book, oldest), true, UINT64_C(1) << 60 },
	{ "newest", offsetof(struct book, newest), true, UINT64_C(1) << 60 },
};

static uint64_t get(const struct book *b, size_t i)
{
	const char *at = (const char *)b + fields[i].offset;
	uint64_t wide;
	uint32_t narrow;

	if (fields[i].wide) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

static void set(struct book *b, size_t i, uint64_t value)
{
	char *at = (char *)b + fields[i].offset;
	uint32_t narrow = (uint32_t)value;

	if (fields[i].wide)
		memcpy(at, &value, sizeof(value));
	else
		memcpy(at, &narrow, sizeof(narrow));
}

int book_format(const struct book *b, char text[BOOK_BYTES])
{
	struct json_object *o = json_object_new_object();
	const char *json;
	int rc = o ? 0 : -ENOMEM, n = -1;

	if (rc == 0) {
		rc |= json_object_object_add(o, "schema", json_object_new_string(SCHEMA));
		rc |= json_object_object_add(o, "model", json_object_new_string(b->model));
		rc |= json_object_object_add(o, "known_contents", json_object_new_boolean(b->known_contents));
	}
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(fields); i++)
		rc = json_object_object_add(o, fields[i].name, json_object_new_uint64(get(b, i)));
	json = rc == 0 ? json_object_to_json_string_ext(o, JSON_FLAGS) : NULL;
	memset(text, 0, BOOK_BYTES);
	if (json)
		n = snprintf(text, BOOK_BYTES, "%s\n", json);
	json_object_put(o);
	return n > 0 && n < BOOK_BYTES ? 0 : -ENOMEM;
}

static const char *text_of(struct json_object *o, const char *key)
{
	struct json_object *v;

	if (!json_object_object_get_ex(o, key, &v) || !json_object_is_type(v, json_type_string))
		return "";
	return json_object_get_string(v);
}

static int take(struct json_object *o, struct book *b, struct err *err)
{
	const char *schema = text_of(o, "schema"), *model = text_of(o, "model");
	struct json_object *v;

	if (strcmp(schema, SCHEMA) != 0)
		return err_set(err, strncmp(schema, "penstock.checkpoints/", 21) == 0 ? EOPNOTSUPP : EBADMSG,
			       "no head of checkpoints: expected one of schema " SCHEMA);
	if (model[0] == 0 || strlen(model) >= sizeof(b->model))
		return err_set(err, EBADMSG, "the head of the checkpoints has no valid \"model\"");
	memcpy(b->model, model, strlen(model) + 1);
	b->known_contents = json_object_object_get_ex(o, "known_contents", &v) && json_object_get_boolean(v);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		uint64_t value = 0;

		/* A negative number becomes 0 in json_object_get_uint64(). */
		if (!json_object_object_get_ex(o, fields[i].name, &v) || !json_object_is_type(v, json_type_int) ||
		    json_object_get_int64(v) < 0 || (value = json_object_get_uint64(v)) > fields[i].most)
			return err_set(err, EBADMSG, "the head of the checkpoints has no valid \"%s\"", fields[i].name);
		set(b, i, value);
	}
	if (b->ranks < 1 || b->scale_ppm < 1 || b->volume >= b->volumes || b->slots < 1 || b->oldest < 1 ||
	    b->newest + 1 < b->oldest || b->newest - b->oldest + 1 > b->slots)
		return err_set(err, EBADMSG, "the head of the checkpoints contradicts itself");
	return 0;
}

int book_parse(const char *text, size_t n, struct book *ret, struct err *err)
{
	struct json_tokener *tok = json_tokener_new();
	struct json_object *o = NULL;
	struct book b = { .ranks = 0 };
	int rc;

	if (!tok)
		return err_set(err, ENOMEM, "out of memory");
	if (n > 0 && text[0] == '{')
		o = json_tokener_parse_ex(tok, text, (int)MIN(n, (size_t)BOOK_BYTES));
	if (o && json_object_is_type(o, json_type_object))
		rc = take(o, &b, err);
	else
		rc = err_set(err, EBADMSG, "no checkpoints are there: 'bench --workload checkpoint-save' makes some");
	json_object_put(o);
	json_tokener_free(tok);
	if (rc == 0)
		*ret = b;
	return rc;
}

/* ---- volumes ------------------------------------------------------------------------------- */

static int failed(struct err *err, const char *what, const struct pst_completion *c)
{
	return err_set(err, -c->error, "%s the head of the checkpoints: %s", what,
		       c->nvme_status ? pst_nvme_status_name(c->nvme_status) : strerror(-c->error));
}

static int memory(struct pst_context *ctx, struct pst_memory **ret, struct err *err)
{
	struct pst_error perr;

	if (pst_memory_alloc(ctx, BOOK_BYTES, ret, &perr) < 0)
		return err_set(err, perr.code, "%s", perr.text);
	return 0;
}

int book_load(struct pst_context *ctx, struct pst_volume *vol, uint64_t offset, struct book *ret, struct err *err)
{
	struct pst_memory *mem;
	struct pst_completion c;
	int rc = memory(ctx, &mem, err);

	if (rc < 0)
		return rc;
	if (pst_read_sync(vol, mem, 0, offset, BOOK_BYTES, &c) < 0)
		rc = failed(err, "reading", &c);
	else
		rc = book_parse(pst_memory_ptr(mem), BOOK_BYTES, ret, err);
	pst_memory_free(mem);
	return rc;
}

int book_store(struct pst_context *ctx, struct pst_volume *vol, uint64_t offset, const struct book *b,
	       struct err *err)
{
	struct pst_memory *mem;
	struct pst_completion c;
	int rc = memory(ctx, &mem, err);

	if (rc < 0)
		return rc;
	if (book_format(b, pst_memory_ptr(mem)) < 0)
		rc = err_set(err, ENOMEM, "out of memory");
	else if (pst_write_sync(vol, mem, 0, offset, BOOK_BYTES, &c) < 0)
		rc = failed(err, "writing", &c);
	else if (pst_flush_sync(vol, &c) < 0)
		rc = failed(err, "flushing", &c);
	pst_memory_free(mem);
	return rc;
}
