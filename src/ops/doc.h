/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making JSON for a machine to read. A document that lacks something for want of memory would be
 * a lie, so a failure is remembered until it is asked for; nothing in between has to look.
 *
 * Thread: the memory of failures is each thread's own.
 */
#ifndef OPS_DOC_H
#define OPS_DOC_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

struct json_object *doc_new(void);
/* Into an object, or with @key NULL at the end of an array. @value NULL is written as null. */
void doc_str(struct json_object *o, const char *key, const char *value);
void doc_u64(struct json_object *o, const char *key, uint64_t value);
void doc_double(struct json_object *o, const char *key, double value);
void doc_bool(struct json_object *o, const char *key, bool value);
struct json_object *doc_object(struct json_object *o, const char *key);
struct json_object *doc_array(struct json_object *o, const char *key);
/* Consumes @value. */
void doc_put(struct json_object *o, const char *key, struct json_object *value);

/* Whether something was left out since it was last asked. */
bool doc_take_failure(void);

#endif
