/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/manifest.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/util.h"
#include "bench/columns.h"

#define SCHEMA	 "penstock.dataset-manifest/1"
#define SCHEMA_2 "penstock.dataset-manifest/2" /* with files of many samples */
#define CONTENTS "content/1" /* base/content.h; another one would need another name */

/* ---- checking ------------------------------------------------------------------------------ */

static bool is_word(const char *s)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

	return s[0] != 0 && s[strspn(s, ok)] == 0;
}

static int check_columns(const struct manifest *m, struct err *err)
{
	if (m->sizes.mean != COLUMNS_BYTES)
		return err_set(err, EINVAL, "rows of %llu bytes: columns make %d", (unsigned long long)m->sizes.mean,
			       COLUMNS_BYTES);
	if (m->rows < 1 || m->rows > MANIFEST_ROWS_MAX || m->per_file % m->rows != 0 || m->samples % m->rows != 0)
		return err_set(err, EINVAL,
			       "groups of %llu rows: expected 1 to %d, and whole groups in a file of %llu and in all "
			       "%llu",
			       (unsigned long long)m->rows, MANIFEST_ROWS_MAX, (unsigned long long)m->per_file,
			       (unsigned long long)m->samples);
	return 0;
}

static int check_format(const struct manifest *m, struct err *err)
{
	if (m->per_file < 1 || (m->format == FORMAT_PLAIN && m->per_file != 1))
		return err_set(err, EINVAL, "%llu samples in a file: expected 1, or a format with records",
			       (unsigned long long)m->per_file);
	if (m->format != FORMAT_PLAIN && m->sizes.stddev != 0)
		return err_set(err, EINVAL, "records within files have one size: expected no standard deviation");
	if ((m->format == FORMAT_COLUMNS) != (m->rows > 0))
		return err_set(err, EINVAL, "groups of rows are for columns, and needed there");
	if (m->per_file > (UINT64_C(1) << 50) / m->sizes.mean)
		return err_set(err, EINVAL, "a file of %llu samples is too large", (unsigned long long)m->per_file);
	return m->format == FORMAT_COLUMNS ? check_columns(m, err) : 0;
}

int manifest_check(const struct manifest *m, struct err *err)
{
	const struct sizes *s = &m->sizes;

	if (!is_word(m->workload) || !is_word(m->extension))
		return err_set(err, EINVAL, "workload '%s': expected letters, digits, - and _", m->workload);
	if (m->samples < 1 || m->samples > MANIFEST_SAMPLES_MAX ||
	    (m->per_file > 0 && format_files(m) > MANIFEST_FILES_MAX))
		return err_set(err, EINVAL, "%llu samples: expected 1 to %llu, in at most %llu files",
			       (unsigned long long)m->samples, (unsigned long long)MANIFEST_SAMPLES_MAX,
			       (unsigned long long)MANIFEST_FILES_MAX);
	if (s->mean < 1 || s->mean > SIZES_MAX)
		return err_set(err, EINVAL, "samples of %llu bytes: expected 1 to %llu",
			       (unsigned long long)s->mean, (unsigned long long)SIZES_MAX);
	if (s->stddev > s->mean)
		return err_set(err, EINVAL, "a standard deviation of %llu bytes: expected at most the mean, %llu",
			       (unsigned long long)s->stddev, (unsigned long long)s->mean);
	return check_format(m, err);
}

/* ---- text ---------------------------------------------------------------------------------- */

int manifest_format(const struct manifest *m, char *buf)
{
	struct json_object *o = json_object_new_object();
	bool plain = m->format == FORMAT_PLAIN;
	const char *text;
	int rc = 0;

	if (!o)
		return -ENOMEM;
	rc |= json_object_object_add(o, "schema", json_object_new_string(plain ? SCHEMA : SCHEMA_2));
	rc |= json_object_object_add(o, "workload", json_object_new_string(m->workload));
	rc |= json_object_object_add(o, "extension", json_object_new_string(m->extension));
	rc |= json_object_object_add(o, "samples", json_object_new_uint64(m->samples));
	rc |= json_object_object_add(o, "seed", json_object_new_uint64(m->sizes.seed));
	rc |= json_object_object_add(o, "sample_bytes", json_object_new_uint64(m->sizes.mean));
	rc |= json_object_object_add(o, "sample_stddev_bytes", json_object_new_uint64(m->sizes.stddev));
	rc |= json_object_object_add(o, "scale_ppm", json_object_new_uint64(m->scale_ppm));
	rc |= json_object_object_add(o, "sizes", json_object_new_string(SIZES_RULE));
	rc |= json_object_object_add(o, "contents", json_object_new_string(CONTENTS));
	if (!plain) {
		rc |= json_object_object_add(o, "format", json_object_new_string(format_name(m->format)));
		rc |= json_object_object_add(o, "samples_per_file", json_object_new_uint64(m->per_file));
		rc |= json_object_object_add(o, "rows_per_group", json_object_new_uint64(m->rows));
	}
	text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
							 JSON_C_TO_STRING_NOSLASHESCAPE);
	if (rc == 0 && text)
		rc = snprintf(buf, MANIFEST_MAX, "%s\n", text);
	else
		rc = -ENOMEM;
	json_object_put(o);
	return rc < MANIFEST_MAX ? rc : -ENOMEM;
}

/* What is read field by field; the first one that is not there, or not so, is remembered. */
struct reader {
	struct json_object *o;
	const char *wrong;
};

static const char *get_text(struct reader *r, const char *key)
{
	struct json_object *v;

	if (json_object_object_get_ex(r->o, key, &v) && json_object_is_type(v, json_type_string))
		return json_object_get_string(v);
	r->wrong = r->wrong ? r->wrong : key;
	return "";
}

static void get_word(struct reader *r, const char *key, char *buf, size_t n)
{
	const char *text = get_text(r, key);
	size_t len = strlen(text);

	if (len < n)
		memcpy(buf, text, len + 1);
	else
		r->wrong = r->wrong ? r->wrong : key;
}

static uint64_t get_number(struct reader *r, const char *key)
{
	struct json_object *v;

	if (json_object_object_get_ex(r->o, key, &v) && json_object_is_type(v, json_type_int)) {
		/* A negative number becomes 0 in json_object_get_uint64(). */
		if (json_object_get_int64(v) >= 0)
			return json_object_get_uint64(v);
	}
	r->wrong = r->wrong ? r->wrong : key;
	return 0;
}

static int take_format(struct reader *r, struct manifest *m, struct err *err)
{
	const char *name = get_text(r, "format");

	if (!r->wrong && format_find(name, &m->format) < 0)
		return err_set(err, EOPNOTSUPP, "files of the format '%s', which this version does not know", name);
	m->per_file = get_number(r, "samples_per_file");
	m->rows = get_number(r, "rows_per_group");
	return 0;
}

static int take(struct reader *r, struct manifest *m, struct err *err)
{
	bool second = strcmp(get_text(r, "schema"), SCHEMA_2) == 0;
	int rc = 0;

	if (!second && strcmp(get_text(r, "schema"), SCHEMA) != 0)
		return err_set(err, r->wrong ? EBADMSG : EOPNOTSUPP, "the dataset's description is no " SCHEMA);
	m->format = FORMAT_PLAIN;
	m->per_file = 1;
	if (second)
		rc = take_format(r, m, err);
	if (rc < 0)
		return rc;
	get_word(r, "workload", m->workload, sizeof(m->workload));
	get_word(r, "extension", m->extension, sizeof(m->extension));
	m->samples = get_number(r, "samples");
	m->sizes.seed = get_number(r, "seed");
	m->sizes.mean = get_number(r, "sample_bytes");
	m->sizes.stddev = get_number(r, "sample_stddev_bytes");
	m->scale_ppm = get_number(r, "scale_ppm");
	if (!r->wrong && strcmp(get_text(r, "sizes"), SIZES_RULE) != 0 && !r->wrong)
		return err_set(err, EOPNOTSUPP, "sizes by the rule '%s', which this version does not know",
			       get_text(r, "sizes"));
	if (!r->wrong && strcmp(get_text(r, "contents"), CONTENTS) != 0 && !r->wrong)
		return err_set(err, EOPNOTSUPP, "contents by the rule '%s', which this version does not know",
			       get_text(r, "contents"));
	if (r->wrong)
		return err_set(err, EBADMSG, "the dataset's description has no valid \"%s\"", r->wrong);
	if (manifest_check(m, err) < 0)
		return err_set(err, EBADMSG, "the dataset's description is damaged");
	return 0;
}

int manifest_parse(const char *text, size_t n, struct manifest *ret_manifest, struct err *err)
{
	struct json_tokener *tok = json_tokener_new();
	struct manifest m = { .samples = 0 };
	struct reader r = { .o = NULL };
	int rc;

	if (!tok)
		return err_set(err, ENOMEM, "out of memory");
	if (n <= MANIFEST_MAX)
		r.o = json_tokener_parse_ex(tok, text, (int)n);
	if (r.o && json_object_is_type(r.o, json_type_object))
		rc = take(&r, &m, err);
	else
		rc = err_set(err, EBADMSG, "the dataset's description is not JSON");
	json_object_put(r.o);
	json_tokener_free(tok);
	if (rc == 0)
		*ret_manifest = m;
	return rc;
}

/* ---- names --------------------------------------------------------------------------------- */

void manifest_name(const struct manifest *m, uint64_t number, char buf[MANIFEST_NAME_MAX])
{
	snprintf(buf, MANIFEST_NAME_MAX, "%s/%06llu.%s", m->workload, (unsigned long long)number, m->extension);
}

int manifest_number(const struct manifest *m, const char *name, uint64_t *ret_number)
{
	char digits[24], want[MANIFEST_NAME_MAX];
	const char *from, *dot = strrchr(name, '.');
	uint64_t number;
	size_t n;

	while (name[0] == '.' && name[1] == '/')
		name += 2;
	from = strrchr(name, '/');
	if (!dot || !from || dot < from)
		return -ENOENT;
	n = (size_t)(dot - ++from);
	if (n >= sizeof(digits))
		return -ENOENT;
	memcpy(digits, from, n);
	digits[n] = 0;
	if (parse_u64(digits, &number) < 0 || number >= format_files(m))
		return -ENOENT;
	/* There is one way to write it. */
	manifest_name(m, number, want);
	if (strcmp(want, name) != 0)
		return -ENOENT;
	*ret_number = number;
	return 0;
}
