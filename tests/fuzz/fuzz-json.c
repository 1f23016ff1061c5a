/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what our own programs write in JSON and as text for one another, where it may come from
 * anybody after all: the description of a dataset and the head of checkpoints, from a volume; what
 * agents send to bench --clients, and their reports put together; histograms; the answers that ctl
 * shows. What is taken is written out and taken again as the same, what is refused is refused in words,
 * and of documents of any shape reports are made, or not.
 *
 * Input: byte 0 modulo 6: description, head, histogram, lines of an agent, reports (a line each), an
 * answer; the rest is the text.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hist-text.h"
#include "base/util.h"
#include "bench/checkpoint-book.h"
#include "bench/manifest.h"
#include "cli/clients.h"
#include "cli/ctl.h"
#include "cli/link.h"
#include "tests/fuzz/fuzz.h"

enum { TEXT_MAX = 32768, REPORTS_MAX = 4 };

/* Exactly as long as it is, so that a sanitizer sees its end. */
static char *exact(const uint8_t *data, size_t n)
{
	char *text = malloc(n);

	if (n > 0)
		memcpy(text, data, n);
	return text;
}

/* With a NUL behind it. */
static char *terminated(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1);

	memcpy(text, data, n);
	text[n] = 0;
	return text;
}

static void refused(int rc, const struct err *err)
{
	INVARIANT(rc < 0 && err->code == -rc && err->text[0]);
}

/* ---- from a volume --------------------------------------------------------------------------- */

/* Bytes of a file are the same however they are cut, and what is right is found right. */
static void check_contents(const struct manifest *m, uint64_t file)
{
	uint64_t size = format_file_bytes(m, file);
	size_t n = (size_t)MIN(size, (uint64_t)600), cut = n / 3;
	uint64_t offset = (size - n) / 2;
	uint8_t whole[600], parts[600];

	format_fill(m, file, offset, whole, n);
	format_fill(m, file, offset, parts, cut);
	format_fill(m, file, offset + cut, parts + cut, n - cut);
	INVARIANT(memcmp(whole, parts, n) == 0 && format_check(m, file, offset, whole, n) == n);
	if (n > 0) {
		whole[cut] ^= 1;
		INVARIANT(format_check(m, file, offset, whole, n) == cut);
	}
}

static void check_name(const struct manifest *m, uint64_t number)
{
	char name[MANIFEST_NAME_MAX];
	uint64_t back;

	manifest_name(m, number, name);
	INVARIANT(manifest_number(m, name, &back) == 0 && back == number);
}

static void fuzz_manifest(const uint8_t *data, size_t n)
{
	char *text = exact(data, n), one[MANIFEST_MAX], two[MANIFEST_MAX];
	struct pst_extent extents[FORMAT_EXTENTS_MAX];
	struct manifest m, again;
	struct pst_records r = { 0 };
	struct err err = ERR_NULL;
	uint64_t files;
	int rc = manifest_parse(text, n, &m, &err), len;

	free(text);
	if (rc < 0) {
		refused(rc, &err);
		return;
	}
	INVARIANT(manifest_check(&m, &err) == 0);
	len = manifest_format(&m, one);
	INVARIANT(len > 0 && manifest_parse(one, (size_t)len, &again, &err) == 0);
	INVARIANT(manifest_format(&again, two) == len && memcmp(one, two, (size_t)len) == 0);
	files = format_files(&m);
	INVARIANT(files >= 1 && files <= MANIFEST_FILES_MAX);
	check_name(&m, 0);
	check_name(&m, files - 1);
	check_contents(&m, 0);
	check_contents(&m, files - 1);
	if (format_records(&m, extents, &r) > 0) {
		INVARIANT(r.extent_count >= 1 && r.extent_count <= FORMAT_EXTENTS_MAX);
		INVARIANT(format_file_bytes(&m, files - 1) % r.group_bytes == 0);
	}
}

static void fuzz_book(const uint8_t *data, size_t n)
{
	char *text = exact(data, n), one[BOOK_BYTES], two[BOOK_BYTES];
	struct book b, again;
	struct err err = ERR_NULL;
	int rc = book_parse(text, n, &b, &err);

	free(text);
	if (rc < 0) {
		refused(rc, &err);
		return;
	}
	INVARIANT(b.ranks > 0 && b.volume < b.volumes && b.newest - b.oldest + 1 <= b.slots);
	INVARIANT(book_format(&b, one) == 0 && book_parse(one, sizeof(one), &again, &err) == 0);
	INVARIANT(book_format(&again, two) == 0 && memcmp(one, two, sizeof(one)) == 0);
}

/* ---- histograms ------------------------------------------------------------------------------ */

static void fuzz_hist(const uint8_t *data, size_t n)
{
	static char text[HIST_TEXT_MAX];
	static struct hist h, again, both;
	char *given = terminated(data, n);
	struct err err = ERR_NULL;
	int rc = hist_parse(given, &h, &err);
	uint64_t last = 0;

	free(given);
	if (rc < 0) {
		refused(rc, &err);
		return;
	}
	INVARIANT(hist_format(&h, text, sizeof(text)) < sizeof(text));
	INVARIANT(hist_parse(text, &again, &err) == 0 && memcmp(&h, &again, sizeof(h)) == 0);
	for (int p = 0; h.count > 0 && p <= 100; p += 5) {
		uint64_t v = hist_percentile(&h, p);

		INVARIANT(v >= last && v <= h.max);
		last = v;
	}
	both = h;
	hist_merge(&both, &again);
	INVARIANT(both.min == h.min && both.max == h.max);
}

/* ---- agents ---------------------------------------------------------------------------------- */

/* What was received so far, as link_take() finds it. */
static void feed(struct link *l, const uint8_t *data, size_t n)
{
	char *grown = mem_realloc(l->in, l->in_len + n + 1);

	INVARIANT(grown);
	l->in = grown;
	memcpy(l->in + l->in_len, data, n);
	l->in_len += n;
	l->in_cap = l->in_len;
}

static size_t take_all(struct link *l, size_t count)
{
	struct json_object *doc;

	while (l->dead.code == 0 && (doc = link_take(l)) != NULL) {
		INVARIANT(json_object_is_type(doc, json_type_object));
		INVARIANT(link_text(doc, "type"));
		json_object_put(doc);
		count++;
	}
	return count;
}

/* The same documents, whether the bytes come at once or in two pieces. */
static void fuzz_lines(const uint8_t *data, size_t n)
{
	static struct link whole, parts;
	size_t cut = n > 0 ? data[0] % n : 0, docs, others;

	memset(&whole, 0, sizeof(whole));
	memset(&parts, 0, sizeof(parts));
	feed(&whole, data, n);
	docs = take_all(&whole, 0);
	feed(&parts, data, cut);
	others = take_all(&parts, 0);
	if (parts.dead.code == 0) {
		feed(&parts, data + cut, n - cut);
		others = take_all(&parts, others);
	}
	INVARIANT(docs == others && whole.dead.code == parts.dead.code);
	INVARIANT(whole.dead.code == 0 || whole.dead.text[0]);
	mem_free(whole.in);
	mem_free(parts.in);
}

static struct json_object *parse(const uint8_t *data, size_t n)
{
	struct json_tokener *tok = json_tokener_new();
	struct json_object *o = json_tokener_parse_ex(tok, (const char *)data, (int)n);

	json_tokener_free(tok);
	return o;
}

static void fuzz_reports(const uint8_t *data, size_t n)
{
	static const char *const names[REPORTS_MAX] = { "a", "b", "c", "d" };
	struct json_object *docs[REPORTS_MAX], *all = NULL, *list;
	struct err err = ERR_NULL;
	size_t count = 0;
	int rc;

	while (n > 0 && count < REPORTS_MAX) {
		const uint8_t *end = memchr(data, '\n', n);
		size_t len = end ? (size_t)(end - data) : n, step = MIN(len + 1, n);

		docs[count++] = parse(data, len);
		data += step;
		n -= step;
	}
	if (count == 0)
		return;
	rc = clients_merge(docs, names, count, &all, &err);
	if (rc < 0) {
		refused(rc, &err);
	} else {
		INVARIANT(json_object_object_get_ex(all, "clients", &list));
		INVARIANT(json_object_array_length(list) == count);
		INVARIANT(json_object_to_json_string(all));
		json_object_put(all);
	}
	while (count > 0)
		json_object_put(docs[--count]);
}

static void fuzz_answer(const uint8_t *data, size_t n)
{
	struct json_object *o = parse(data, n);
	FILE *ours = stdout, *nowhere = fopen("/dev/null", "w");

	/* What is shown is no line of the test that replays this. */
	INVARIANT(nowhere);
	stdout = nowhere;
	ctl_show_change(o);
	ctl_show_status(o);
	ctl_show_stats(o);
	stdout = ours;
	fclose(nowhere);
	json_object_put(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const kinds[])(const uint8_t *data, size_t n) = {
		fuzz_manifest, fuzz_book, fuzz_hist, fuzz_lines, fuzz_reports, fuzz_answer,
	};

	if (size < 1 || size > TEXT_MAX)
		return 0;
	kinds[data[0] % ARRAY_SIZE(kinds)](data + 1, size - 1);
	return 0;
}
