/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One document from several of the same shape, key by key: a table says of which numbers the sum is
 * meant, of which the largest, of which a mean; whatever it does not name is taken from the first.
 * Latencies are never combined from percentiles: histograms are merged, and percentiles taken anew.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hist-text.h"
#include "base/util.h"
#include "cli/bench.h"
#include "cli/clients.h"
#include "penstock.h"

enum rule { RULE_FIRST, RULE_SUM, RULE_MOST, RULE_MEAN_ACCELERATORS, RULE_MEAN_BYTES, RULE_MEAN_OPS };

static const struct {
	const char *names; /* with a space on both sides of each */
	enum rule rule;
} rules[] = {
	{ " ops bytes iops bytes_per_second errors samples failed skipped retries reconnects ", RULE_SUM },
	{ " threads inflight rate_iops accelerators stall_seconds compute_seconds job_stall_seconds "
	  "prepare_stall_seconds ", RULE_SUM },
	{ " turns read_bytes written_bytes conversations shared_prompts hits misses dropped refused ", RULE_SUM },
	{ " tokens_read tokens_written users pages ranks checkpoint_bytes ", RULE_SUM },
	{ " seconds steps epochs duration_seconds duration_least_seconds duration_most_seconds ", RULE_MOST },
	{ " flush_seconds first_batch_seconds compute_overrun interrupted durations_seconds ", RULE_MOST },
	{ " au_mlperf au_storage step_seconds ", RULE_MEAN_ACCELERATORS },
	{ " client client_user client_system ", RULE_MEAN_BYTES },
};

/* Numbers below these have one rule. */
static const struct {
	const char *object;
	enum rule rule;
} below[] = { { "stall_split", RULE_SUM }, { "latency_split_us", RULE_MEAN_OPS } };

struct merge {
	struct json_object *const *docs;
	const char *const *names;
	size_t n;
	struct err *err;
	int rc;
};

static enum rule rule_of(const char *object, const char *key)
{
	char word[80];

	for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
		if (strcmp(object, below[i].object) == 0)
			return below[i].rule;
	}
	snprintf(word, sizeof(word), " %s ", key);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (strstr(rules[i].names, word))
			return rules[i].rule;
	}
	return RULE_FIRST;
}

static struct json_object *at(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	return json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &v) ? v : NULL;
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* What a document counts for in a mean. */
static double weight(const struct merge *m, size_t i, enum rule rule)
{
	struct json_object *doc = m->docs[i];

	switch (rule) {
	case RULE_MEAN_ACCELERATORS:
		return json_object_get_double(at(at(doc, "workload"), "accelerators"));
	case RULE_MEAN_BYTES:
		return json_object_get_double(at(doc, "bytes"));
	case RULE_MEAN_OPS:
		return json_object_get_double(at(doc, "ops"));
	default:
		return 1;
	}
}

static struct json_object *number(double value)
{
	char text[40];

	snprintf(text, sizeof(text), "%.9g", value);
	return json_object_new_double_s(value, text);
}

static struct json_object *whole_sum(const struct merge *m, struct json_object *const *v)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < m->n; i++)
		sum += json_object_get_uint64(v[i]);
	return json_object_new_uint64(sum);
}

static struct json_object *merge_numbers(const struct merge *m, enum rule rule, struct json_object *const *v)
{
	bool whole = true;
	struct json_object *most = v[0];
	double sum = 0, all = 0;

	for (size_t i = 0; i < m->n; i++)
		whole = whole && json_object_is_type(v[i], json_type_int);
	if (rule == RULE_SUM && whole)
		return whole_sum(m, v);
	for (size_t i = 0; i < m->n; i++) {
		double one = json_object_get_double(v[i]), w = weight(m, i, rule);

		most = one > json_object_get_double(most) ? v[i] : most;
		sum += rule == RULE_SUM ? one : one * w;
		all += w;
	}
	if (rule == RULE_SUM)
		return number(sum);
	if (rule == RULE_MOST)
		return json_object_get(most);
	return number(all > 0 ? sum / all : 0);
}

/* ---- lists --------------------------------------------------------------------------------- */

static struct json_object *merge_values(struct merge *m, const char *object, const char *key,
					struct json_object *const *v);

/* Elements of what may be no list. */
static size_t length_of(struct json_object *list)
{
	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

static bool has_text(struct json_object *list, const char *text)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		if (strcmp(json_object_get_string(json_object_array_get_idx(list, i)), text) == 0)
			return true;
	}
	return false;
}

/* Sentences: each once. */
static struct json_object *merge_texts(const struct merge *m, struct json_object *const *v)
{
	struct json_object *out = json_object_new_array();

	for (size_t i = 0; i < m->n; i++) {
		for (size_t k = 0; k < json_object_array_length(v[i]); k++) {
			struct json_object *x = json_object_array_get_idx(v[i], k);

			if (json_object_is_type(x, json_type_string) && !has_text(out, json_object_get_string(x)))
				json_object_array_add(out, json_object_get(x));
		}
	}
	return out;
}

/* Element by element, as many as all have. */
static struct json_object *merge_lists(struct merge *m, const char *key, struct json_object *const *v)
{
	struct json_object *out = json_object_new_array(), *elements[CLIENTS_MAX];
	size_t length = json_object_array_length(v[0]);

	for (size_t i = 1; i < m->n; i++)
		length = MIN(length, json_object_array_length(v[i]));
	for (size_t k = 0; k < length; k++) {
		for (size_t i = 0; i < m->n; i++)
			elements[i] = json_object_array_get_idx(v[i], k);
		json_object_array_add(out, merge_values(m, "", key, elements));
	}
	return out;
}

/* ---- objects ------------------------------------------------------------------------------- */

/* Latencies of all together, in place of what each had. */
static void pool(struct merge *m, struct json_object *out, struct json_object *const *v)
{
	static struct hist all, one;
	struct err err = ERR_NULL;

	hist_init(&all);
	for (size_t i = 0; i < m->n; i++) {
		struct json_object *text = at(v[i], "latency_histogram");

		if (!json_object_is_type(text, json_type_string))
			err_set(&err, EBADMSG, "they are no text");
		else
			hist_parse(json_object_get_string(text), &one, &err);
		if (err.code) {
			if (m->rc == 0)
				m->rc = err_set(m->err, EBADMSG, "the latencies of client %s cannot be read: %s",
						m->names[i], err.text);
			return;
		}
		hist_merge(&all, &one);
	}
	json_object_object_del(out, "latency_histogram");
	json_object_object_del(out, "latency_us");
	bench_json_latency(out, &all);
}

static bool is_number(struct json_object *v)
{
	return json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double);
}

/* A fraction that happens to be whole looks like a whole number. */
static bool same_kind(struct json_object *a, struct json_object *b)
{
	return (is_number(a) && is_number(b)) || json_object_get_type(a) == json_object_get_type(b);
}

static struct json_object *merge_objects(struct merge *m, const char *object, struct json_object *const *v)
{
	struct json_object *out = json_object_new_object(), *values[CLIENTS_MAX];

	json_object_object_foreach(v[0], key, first) {
		bool all = true;

		values[0] = first;
		for (size_t i = 1; i < m->n; i++)
			all = all && json_object_object_get_ex(v[i], key, &values[i]);
		/* A utilisation that one of them does not have, all have not. */
		json_object_object_add(out, key, all ? merge_values(m, object, key, values) : NULL);
	}
	if (at(v[0], "latency_us"))
		pool(m, out, v);
	return out;
}

/* What differs in kind from one client to another has no value for all of them: NULL. */
static struct json_object *merge_values(struct merge *m, const char *object, const char *key,
					struct json_object *const *v)
{
	enum rule rule = rule_of(object, key);

	for (size_t i = 1; i < m->n; i++) {
		if (!same_kind(v[i], v[0]))
			return NULL;
	}
	switch (json_object_get_type(v[0])) {
	case json_type_object:
		return merge_objects(m, key, v);
	case json_type_array:
		if (strcmp(key, "notes") == 0 || strcmp(key, "failures") == 0)
			return merge_texts(m, v);
		if (strcmp(key, "classes") == 0 || rule == RULE_MOST)
			return merge_lists(m, key, v);
		return json_object_get(v[0]);
	case json_type_int:
	case json_type_double:
		return rule == RULE_FIRST ? json_object_get(v[0]) : merge_numbers(m, rule, v);
	case json_type_boolean:
		for (size_t i = 0; rule == RULE_MOST && i < m->n; i++) {
			if (json_object_get_boolean(v[i]))
				return json_object_new_boolean(true);
		}
		return json_object_get(v[0]);
	default:
		return json_object_get(v[0]);
	}
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* A class keeps its promise, or not, with all of its turns. */
static void judge_classes(struct json_object *doc)
{
	struct json_object *list = at(at(doc, "workload"), "classes");

	for (size_t i = 0; i < length_of(list); i++) {
		struct json_object *c = json_object_array_get_idx(list, i), *l = at(c, "latency_us");
		bool had = json_object_get_uint64(at(c, "turns")) > 0;
		bool kept = json_object_get_double(at(l, "p95")) <= json_object_get_double(at(c, "target_p95_us")) &&
			    json_object_get_double(at(l, "p99")) <= json_object_get_double(at(c, "target_p99_us"));

		if (json_object_is_type(c, json_type_object))
			json_object_object_add(c, "kept", had ? json_object_new_boolean(kept) : NULL);
	}
}

static void strip_histograms(struct json_object *o)
{
	if (json_object_is_type(o, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(o); i++)
			strip_histograms(json_object_array_get_idx(o, i));
	}
	if (!json_object_is_type(o, json_type_object))
		return;
	json_object_object_del(o, "latency_histogram");
	json_object_object_foreach(o, key, value) {
		(void)key;
		strip_histograms(value);
	}
}

/* Another path on one of them than on the others is nothing to be quiet about. */
static void check_path(struct json_object *doc, struct json_object *const *docs, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (!json_object_equal(at(docs[i], "path"), at(docs[0], "path")))
			json_object_object_add(doc, "path", json_object_new_string("several"));
	}
}

int clients_merge(struct json_object *const *docs, const char *const *names, size_t n, struct json_object **ret,
		  struct err *err)
{
	struct merge m = { .docs = docs, .names = names, .n = n, .err = err };
	struct json_object *doc, *list;

	for (size_t i = 0; i < n; i++) {
		if (!docs[i] || !at(docs[i], "latency_us") || !at(docs[i], "ops"))
			return err_set(err, EBADMSG, "client %s: its report lacks what is needed", names[i]);
	}
	doc = merge_objects(&m, "", docs);
	if (m.rc < 0) {
		json_object_put(doc);
		return m.rc;
	}
	check_path(doc, docs, n);
	judge_classes(doc);
	list = json_object_new_array();
	for (size_t i = 0; i < n; i++) {
		struct json_object *one = json_object_new_object();

		strip_histograms(docs[i]);
		json_object_object_add(one, "client", json_object_new_string(names[i]));
		json_object_object_add(one, "report", json_object_get(docs[i]));
		json_object_array_add(list, one);
	}
	json_object_object_add(doc, "clients", list);
	*ret = doc;
	return 0;
}
