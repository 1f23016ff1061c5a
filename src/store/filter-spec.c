/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a filter, taken apart; see spec.h for the grammar. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "base/util.h"
#include "store/spec.h"
#include "store/words.h"

#define PPM_ALL 1000000u

static const char *const filter_names[] = { "delay", "error", "torn", NULL };

/* Cuts the next field off *@at; NULL when there is none. */
static char *next_field(char **at)
{
	return *at ? strsep(at, ":") : NULL;
}

/* "read+write" */
static int parse_what(char *text, unsigned int *ret_what, struct err *err)
{
	static const char *const names[] = { "read", "write", "flush", "discard", "any", NULL };
	static const unsigned int bits[] = { FILTER_READ, FILTER_WRITE, FILTER_FLUSH, FILTER_DISCARD,
					     FILTER_ANY };
	unsigned int what = 0;
	char *word;

	while ((word = strsep(&text, "+"))) {
		int i = word_find(word, names);

		if (i < 0)
			return word_unknown(err, "kind of operation", word, names);
		what |= bits[i];
	}
	*ret_what = what;
	return 0;
}

static int parse_errno(const char *text, int *ret_errno, struct err *err)
{
	static const char *const names[] = { "EIO",    "ENOSPC",     "EROFS",
					     "ENOMEM", "EOPNOTSUPP", "ETIMEDOUT", NULL };
	static const int codes[] = { EIO, ENOSPC, EROFS, ENOMEM, EOPNOTSUPP, ETIMEDOUT };
	int i = word_find(text, names);

	if (i < 0)
		return word_unknown(err, "error that a store reports", text, names);
	*ret_errno = codes[i];
	return 0;
}

/* Digits with up to four decimals, so that it is a whole number of parts per million. */
static int parse_percent(const char *text, uint32_t *ret_ppm, struct err *err)
{
	uint64_t value = 0;
	int decimals = -1, digits = 0;
	const char *p = text;

	for (; (*p >= '0' && *p <= '9') || (*p == '.' && decimals < 0); p++) {
		if (*p == '.') {
			decimals = 0;
			continue;
		}
		if (decimals >= 4 || digits >= 7)
			break;
		decimals += decimals >= 0;
		digits++;
		value = value * 10 + (uint64_t)(*p - '0');
	}
	for (int i = decimals < 0 ? 0 : decimals; i < 4; i++)
		value *= 10;
	if (*p == '%')
		p++;
	if (*p != '\0' || digits == 0 || decimals == 0 || value == 0 || value > PPM_ALL)
		return err_set(err, EINVAL,
			       "'%s' is no percentage; expected above 0 to 100, up to four decimals",
			       text);
	*ret_ppm = (uint32_t)value;
	return 0;
}

static int parse_duration(const char *text, uint64_t *ret_ns, struct err *err)
{
	if (parse_duration_ns(text, ret_ns) < 0)
		return err_set(err, EINVAL, "'%s' is no duration; expected one with us, ms or s, as in 2ms",
			       text);
	return 0;
}

static int parse_number(const char *name, const char *text, uint64_t min, uint64_t *ret,
			struct err *err)
{
	if (parse_u64_between(text, min, UINT64_MAX, ret) < 0)
		return err_set(err, EINVAL, "%s=%s is not possible; expected a number from %llu", name,
			       text, (unsigned long long)min);
	return 0;
}

/* "off+len" */
static int parse_range(char *text, struct filter_spec *f, struct err *err)
{
	char *plus = strchr(text, '+');

	if (plus)
		*plus++ = '\0';
	if (!plus || parse_size(text, &f->range_offset) < 0 ||
	    parse_size(plus, &f->range_length) < 0 || f->range_length == 0 ||
	    f->range_length > UINT64_MAX - f->range_offset)
		return err_set(err, EINVAL,
			       "range=%s%s%s is not possible; expected OFFSET+LENGTH, as in 1M+4k", text,
			       plus ? "+" : "", plus ? plus : "");
	return 0;
}

static int parse_seed(const char *text, struct filter_spec *f, struct err *err)
{
	f->has_seed = true;
	return parse_number("seed", text, 0, &f->seed, err);
}

/* The value if @field is "@name=value", else NULL. */
static char *value_of(char *field, const char *name)
{
	size_t n = strlen(name);

	return strncmp(field, name, n) == 0 && field[n] == '=' ? field + n + 1 : NULL;
}

static int twice(const char *field, struct err *err)
{
	return err_set(err, EINVAL, "'%s' after another of its sort", field);
}

static int delay_fields(struct filter_spec *f, char **at, struct err *err)
{
	char *field = next_field(at), *value;
	bool has_jitter = false;
	int r;

	if (!field || *field == '\0')
		return err_set(err, EINVAL, "'delay' lacks its duration; expected delay:2ms");
	r = parse_duration(field, &f->delay_ns, err);
	while (r == 0 && (field = next_field(at))) {
		if ((value = value_of(field, "jitter"))) {
			r = has_jitter ? twice(field, err) : parse_duration(value, &f->jitter_ns, err);
			has_jitter = true;
		} else if ((value = value_of(field, "seed"))) {
			r = f->has_seed ? twice(field, err) : parse_seed(value, f, err);
		} else {
			r = f->what ? twice(field, err) : parse_what(field, &f->what, err);
		}
	}
	if (r == 0 && f->delay_ns == 0 && f->jitter_ns == 0)
		return err_set(err, EINVAL, "a delay of nothing; expected delay:2ms");
	if (!f->what)
		f->what = FILTER_ANY;
	return r;
}

/* One of the fields that say when an error happens. */
static int error_when(struct filter_spec *f, char *field, struct err *err)
{
	static const char *const names[] = { "PERCENT%", "every=N", "range=OFFSET+LENGTH", "seed=N",
					     NULL };
	char *value;

	if ((value = value_of(field, "every")))
		return f->every || f->ppm ? twice(field, err) :
					    parse_number("every", value, 1, &f->every, err);
	if ((value = value_of(field, "range")))
		return f->range_length ? twice(field, err) : parse_range(value, f, err);
	if ((value = value_of(field, "seed")))
		return f->has_seed ? twice(field, err) : parse_seed(value, f, err);
	if (*field && field[strlen(field) - 1] == '%')
		return f->every || f->ppm ? twice(field, err) : parse_percent(field, &f->ppm, err);
	return word_unknown(err, "condition of an error", field, names);
}

static int error_fields(struct filter_spec *f, char **at, struct err *err)
{
	char *what = next_field(at), *code = next_field(at), *field;
	int r;

	if (!what || !code)
		return err_set(err, EINVAL, "'error' lacks what fails and how; expected "
					    "error:read:EIO:1%%");
	r = parse_what(what, &f->what, err);
	if (r == 0)
		r = parse_errno(code, &f->error, err);
	while (r == 0 && (field = next_field(at)))
		r = error_when(f, field, err);
	if (r == 0 && f->range_length && f->what == FILTER_FLUSH)
		return err_set(err, EINVAL, "range= with flush, which has none");
	if (!f->ppm && !f->every)
		f->ppm = PPM_ALL;
	return r;
}

static int torn_fields(struct filter_spec *f, char **at, struct err *err)
{
	char *field = next_field(at), *value;
	int r;

	if (!field || *field == '\0')
		return err_set(err, EINVAL, "'torn' lacks its percentage; expected torn:1%%");
	f->what = FILTER_WRITE;
	r = parse_percent(field, &f->ppm, err);
	while (r == 0 && (field = next_field(at))) {
		value = value_of(field, "seed");
		if (!value)
			return err_set(err, EINVAL, "'%s' after torn; expected seed=N or nothing", field);
		r = f->has_seed ? twice(field, err) : parse_seed(value, f, err);
	}
	return r;
}

int filter_spec_parse(const char *text, struct filter_spec *ret_filter, struct err *err)
{
	_cleanup_free_ char *copy = mem_strdup(text);
	struct filter_spec f = { 0 };
	char *at = copy, *name;
	int kind, r;

	if (!copy)
		return err_set(err, ENOMEM, "no memory");
	name = next_field(&at);
	kind = word_find(name, filter_names);
	if (kind < 0)
		return word_unknown(err, "filter", name, filter_names);
	f.kind = (enum filter_kind)kind;
	if (f.kind == FILTER_DELAY)
		r = delay_fields(&f, &at, err);
	else if (f.kind == FILTER_ERROR)
		r = error_fields(&f, &at, err);
	else
		r = torn_fields(&f, &at, err);
	if (r < 0) {
		err_prefix(err, "filter '%s'", text);
		return r;
	}
	*ret_filter = f;
	return 0;
}
