/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking the text of a store apart; see spec.h for the grammar. One table of options: its name,
 * the kinds of store that know it, and the function that takes its value. An option that a kind
 * does not know is as wrong as one that nobody knows, so nothing is ever parsed and then ignored.
 */
#include "store/spec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "base/util.h"
#include "store/words.h"

static const char *const kind_names[] = { "file", "memory", "null", NULL };

/* ---- values -------------------------------------------------------------------------------- */

static int set_size(struct store_spec *s, const char *value, struct err *err)
{
	if (parse_size(value, &s->size) < 0)
		return err_set(err, EINVAL,
			       "'%s' is no size; expected a number of bytes with k, M, G or T, as in 10G",
			       value);
	if (s->size == 0)
		return err_set(err, EINVAL, "size '%s' is nothing; expected more than 0", value);
	if (s->size > INT64_MAX)
		return err_set(err, EINVAL, "size '%s' is more than a file offset can say", value);
	return 0;
}

static int set_block(struct store_spec *s, const char *value, struct err *err)
{
	uint64_t block;

	if (parse_size(value, &block) < 0 || (block != 512 && block != 4096))
		return err_set(err, EINVAL, "block '%s' is not possible; expected 512 or 4096", value);
	s->block = (uint32_t)block;
	return 0;
}

static int set_uuid(struct store_spec *s, const char *value, struct err *err)
{
	if (uuid_parse(value, &s->uuid) < 0)
		return err_set(err, EINVAL,
			       "'%s' is no UUID; expected xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx in "
			       "hexadecimal",
			       value);
	if (uuid_is_nil(&s->uuid))
		return err_set(err, EINVAL, "the UUID of only zeroes means 'none'; expected another");
	s->has_uuid = true;
	return 0;
}

static int set_read_only(struct store_spec *s, const char *value, struct err *err)
{
	s->read_only = true;
	return 0;
}

static int set_filter(struct store_spec *s, const char *value, struct err *err)
{
	int r;

	if (s->filters == STORE_FILTERS_MAX)
		return err_set(err, EINVAL, "more than %d filters", STORE_FILTERS_MAX);
	r = filter_spec_parse(value, &s->filter[s->filters], err);
	if (r < 0)
		return r;
	s->filters++;
	return 0;
}

static int parse_switch(const char *name, const char *value, bool may_auto,
			enum spec_switch *ret, struct err *err)
{
	static const char *const words[] = { "auto", "on", "off", NULL };
	int i = word_find(value, words);

	if (i < 0 || (i == SPEC_AUTO && !may_auto))
		return err_set(err, EINVAL, "%s=%s is not possible; expected %son or off", name, value,
			       may_auto ? "auto, " : "");
	*ret = (enum spec_switch)i;
	return 0;
}

static int set_create(struct store_spec *s, const char *value, struct err *err)
{
	return parse_switch("create", value, false, &s->create, err);
}

static int set_direct(struct store_spec *s, const char *value, struct err *err)
{
	return parse_switch("direct", value, true, &s->direct, err);
}

static int set_lock(struct store_spec *s, const char *value, struct err *err)
{
	return parse_switch("lock", value, false, &s->lock, err);
}

static int set_huge(struct store_spec *s, const char *value, struct err *err)
{
	enum spec_switch huge = SPEC_OFF;
	int r = parse_switch("huge", value, false, &huge, err);

	if (r < 0)
		return r;
	s->huge = huge == SPEC_ON;
	return 0;
}

/* ---- options ------------------------------------------------------------------------------- */

enum { FOR_FILE = 1 << SPEC_FILE, FOR_MEMORY = 1 << SPEC_MEMORY, FOR_ALL = 7 };

struct option {
	const char *name;
	unsigned int kinds;
	bool has_value;
	bool repeats;
	int (*set)(struct store_spec *s, const char *value, struct err *err);
};

static const struct option options[] = {
	{ "block", FOR_ALL, true, false, set_block },
	{ "ro", FOR_ALL, false, false, set_read_only },
	{ "uuid", FOR_ALL, true, false, set_uuid },
	{ "filter", FOR_ALL, true, true, set_filter },
	{ "size", FOR_FILE, true, false, set_size },
	{ "create", FOR_FILE, true, false, set_create },
	{ "direct", FOR_FILE, true, false, set_direct },
	{ "lock", FOR_FILE, true, false, set_lock },
	{ "huge", FOR_MEMORY, true, false, set_huge },
};

static int option_unknown(const struct store_spec *s, const char *name, struct err *err)
{
	const char *known[ARRAY_SIZE(options) + 1];
	char what[32];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].kinds & (1u << s->kind))
			known[n++] = options[i].name;
	known[n] = NULL;
	snprintf(what, sizeof(what), "option of %s", kind_names[s->kind]);
	return word_unknown(err, what, name, known);
}

static int option_parse(struct store_spec *s, char *word, unsigned int *seen, struct err *err)
{
	char *value = strchr(word, '=');
	const struct option *o = NULL;
	unsigned int bit;

	if (*word == '\0')
		return err_set(err, EINVAL, "nothing between two commas, or after the last one; "
					    "expected an option");
	if (value)
		*value++ = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(options) && !o; i++)
		if (strcmp(word, options[i].name) == 0 && (options[i].kinds & (1u << s->kind)))
			o = &options[i];
	if (!o)
		return option_unknown(s, word, err);
	if (o->has_value && (!value || *value == '\0'))
		return err_set(err, EINVAL, "'%s' lacks its value; expected %s=...", word, word);
	if (!o->has_value && value)
		return err_set(err, EINVAL, "'%s' takes no value; got '%s'", word, value);
	bit = 1u << (o - options);
	if (!o->repeats && (*seen & bit))
		return err_set(err, EINVAL, "'%s' is given twice", word);
	*seen |= bit;
	return o->set(s, value, err);
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* Ends the word at *@at at its comma and undoes its escapes. NULL: it was the last. */
static int next_word(char **at, char **ret_word, struct err *err)
{
	char *from = *at, *to = *at;

	*ret_word = *at;
	for (; *from && *from != ','; from++) {
		if (*from == '\\') {
			if (from[1] != ',' && from[1] != '\\')
				return err_set(err, EINVAL, "'\\' before neither ',' nor '\\'");
			from++;
		}
		*to++ = *from;
	}
	*at = *from == ',' ? from + 1 : NULL;
	*to = '\0';
	return 0;
}

static int set_path(struct store_spec *s, const char *path, struct err *err)
{
	if (*path == '\0')
		return err_set(err, EINVAL, "'file:' lacks its path; expected file:/path");
	if ((size_t)snprintf(s->path, sizeof(s->path), "%s", path) >= sizeof(s->path))
		return err_set(err, EINVAL, "the path is longer than %zu bytes", sizeof(s->path) - 1);
	s->kind = SPEC_FILE;
	return 0;
}

/* "kind:rest" or a bare path. */
static int first_word(struct store_spec *s, char *word, struct err *err)
{
	char *colon = strchr(word, ':');
	char *slash = strchr(word, '/');
	int kind;

	if (*word == '\0')
		return err_set(err, EINVAL,
			       "there is no store; expected file:/path, memory:SIZE or null:SIZE");
	if (!colon || (slash && slash < colon)) {
		if (word_find(word, kind_names) >= 0)
			return err_set(err, EINVAL,
				       "'%s' lacks ':' and what follows; a file of that name is ./%s",
				       word, word);
		return set_path(s, word, err);
	}
	*colon++ = '\0';
	kind = word_find(word, kind_names);
	if (kind < 0)
		return word_unknown(err, "kind of store", word, kind_names);
	s->kind = (enum spec_kind)kind;
	if (s->kind == SPEC_FILE)
		return set_path(s, colon, err);
	if (*colon == '\0')
		return err_set(err, EINVAL, "'%s:' lacks its size; expected %s:SIZE, as in %s:4G", word,
			       word, word);
	return set_size(s, colon, err);
}

/* What one option demands of another. */
static int spec_check(struct store_spec *s, struct err *err)
{
	if (s->kind != SPEC_FILE && s->block == 0)
		s->block = 512;
	/* 4096 is checked when the file is known, if block= leaves it to the device. */
	if (s->size && s->size % (s->block ? s->block : 512) != 0)
		return err_set(err, EINVAL, "a size of %llu bytes is no multiple of the block of %u",
			       (unsigned long long)s->size, s->block ? s->block : 512);
	if (s->create != SPEC_AUTO && s->size == 0)
		return err_set(err, EINVAL, "create= without size=; expected both");
	if (s->create == SPEC_ON && s->read_only)
		return err_set(err, EINVAL, "create=on with ro: nothing could ever be in that file");
	return 0;
}

int store_spec_parse(const char *text, struct store_spec *ret_spec, struct err *err)
{
	_cleanup_free_ struct store_spec *s = mem_zalloc(sizeof(*s));
	_cleanup_free_ char *copy = mem_strdup(text);
	unsigned int seen = 0;
	char *at = copy, *word;
	int r;

	if (!s || !copy)
		return err_set(err, ENOMEM, "no memory");
	r = next_word(&at, &word, err);
	if (r == 0)
		r = first_word(s, word, err);
	while (r == 0 && at) {
		r = next_word(&at, &word, err);
		if (r == 0)
			r = option_parse(s, word, &seen, err);
	}
	if (r == 0)
		r = spec_check(s, err);
	if (r < 0) {
		err_prefix(err, "store '%s'", text);
		return r;
	}
	*ret_spec = *s;
	return 0;
}
