/* SPDX-License-Identifier: Apache-2.0 */
/* Making JSON; the idea is in doc.h. */
#include "ops/doc.h"

#include <stdio.h>

static _Thread_local bool failed;

void doc_put(struct json_object *o, const char *key, struct json_object *value)
{
	int r;

	if (!value || !o) {
		failed = true;
		json_object_put(value);
		return;
	}
	r = key ? json_object_object_add(o, key, value) : json_object_array_add(o, value);
	if (r < 0) {
		failed = true;
		json_object_put(value);
	}
}

struct json_object *doc_new(void)
{
	struct json_object *o = json_object_new_object();

	failed |= !o;
	return o;
}

void doc_str(struct json_object *o, const char *key, const char *value)
{
	if (value)
		doc_put(o, key, json_object_new_string(value));
	else if (o && key)
		failed |= json_object_object_add(o, key, NULL) < 0;
}

void doc_u64(struct json_object *o, const char *key, uint64_t value)
{
	doc_put(o, key, json_object_new_uint64(value));
}

void doc_double(struct json_object *o, const char *key, double value)
{
	char text[40];

	/* json-c prints 17 digits, most of them noise. */
	snprintf(text, sizeof(text), "%.9g", value);
	doc_put(o, key, json_object_new_double_s(value, text));
}

void doc_bool(struct json_object *o, const char *key, bool value)
{
	doc_put(o, key, json_object_new_boolean(value));
}

struct json_object *doc_object(struct json_object *o, const char *key)
{
	struct json_object *child = json_object_new_object();

	doc_put(o, key, child);
	return failed ? NULL : child;
}

struct json_object *doc_array(struct json_object *o, const char *key)
{
	struct json_object *child = json_object_new_array();

	doc_put(o, key, child);
	return failed ? NULL : child;
}

bool doc_take_failure(void)
{
	bool was = failed;

	failed = false;
	return was;
}
