/* SPDX-License-Identifier: Apache-2.0 */
/*
 * penstock dataset verify: reads every sample, in the archive's order, through a ring of requests.
 * Of a generated dataset the contents are known and compared byte by byte; of a packed one nothing
 * is known but what the user has: digests, to be printed or compared.
 */
#include <errno.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "bench/manifest.h"
#include "cli/copy.h"
#include "cli/dataset.h"
#include "cli/sums.h"

enum { FAILURES_SAID = 16 };

struct verify {
	const struct dataset_verify_options *opts;
	const char *uri;
	struct cli_volume v;
	struct pst_dataset *ds;
	struct pst_dataset_info info;
	struct copy copy;
	struct cli_into into;

	bool generated;
	struct manifest manifest;
	uint8_t *found; /* a bit for each number that a sample had */
	struct sums sums;
	EVP_MD_CTX *digest;
	struct json_object *digests; /* with JSON: array */

	/* the sample that is read */
	uint64_t number; /* of a generated one */
	bool known;
	bool bad; /* something was wrong with it: one message is enough */

	uint64_t done; /* bytes */
	uint64_t failed;
	uint64_t unlisted; /* samples that the file of digests lacks */
	struct json_object *failures;
	struct cli_progress progress;
};

/* ---- what is wrong --------------------------------------------------------------------------- */

static void fail(struct verify *x, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void fail(struct verify *x, const char *fmt, ...)
{
	char text[4600];
	va_list args;

	x->bad = true;
	if (x->failed++ >= FAILURES_SAID)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	cli_progress_end(&x->progress);
	cli_error("%s: %s", x->uri, text);
	if (x->failures)
		cli_json_str(x->failures, NULL, text);
}

/* ---- one sample ---------------------------------------------------------------------------- */

static bool digesting(const struct verify *x)
{
	return x->opts->sha256 || x->opts->check;
}

static void begin_sample(struct verify *x, const struct pst_sample *s)
{
	uint64_t want;

	x->bad = false;
	x->known = false;
	if (digesting(x))
		EVP_DigestInit_ex(x->digest, EVP_sha256(), NULL);
	if (!x->generated)
		return;
	if (manifest_number(&x->manifest, s->name, &x->number) < 0) {
		fail(x, "sample '%s' is none that the dataset's description knows", s->name);
		return;
	}
	x->found[x->number / 8] |= (uint8_t)(1u << x->number % 8);
	want = format_file_bytes(&x->manifest, x->number);
	if (s->size != want)
		fail(x, "sample '%s' has %llu bytes: expected %llu", s->name, (unsigned long long)s->size,
		     (unsigned long long)want);
	x->known = true;
}

static void take_piece(struct verify *x, const struct pst_sample *s, const struct copy_slot *slot,
		       const void *data)
{
	uint64_t at = slot->offset - s->offset;
	const struct pst_completion *c = &slot->completion;
	size_t good;

	x->done += slot->length;
	if (c->error) {
		if (!x->bad)
			fail(x, "sample '%s': read at byte %llu (byte %llu of the volume): %s", s->name,
			     (unsigned long long)at, (unsigned long long)slot->offset,
			     c->nvme_status ? pst_nvme_status_name(c->nvme_status) : strerror(-c->error));
		return;
	}
	if (digesting(x))
		EVP_DigestUpdate(x->digest, data, slot->length);
	if (!x->known || x->bad)
		return;
	good = format_check(&x->manifest, x->number, at, data, slot->length);
	if (good < slot->length)
		fail(x, "sample '%s': byte %llu is wrong (byte %llu of the volume)", s->name,
		     (unsigned long long)(at + good), (unsigned long long)(slot->offset + good));
}

static void report_digest(struct verify *x, const struct pst_sample *s, const uint8_t sum[SUM_BYTES])
{
	struct json_object *o;
	char hex[SUM_HEX + 1];

	if (!x->digests) {
		cli_progress_end(&x->progress);
		sums_print(stdout, sum, s->name);
		return;
	}
	o = cli_json_object(x->digests, NULL);
	sums_hex(sum, hex);
	cli_json_str(o, "name", s->name);
	cli_json_str(o, "sha256", hex);
}

static void end_sample(struct verify *x, const struct pst_sample *s)
{
	uint8_t sum[EVP_MAX_MD_SIZE];
	const char *name = s->name;
	struct sum *want;

	if (!digesting(x) || x->bad)
		return;
	EVP_DigestFinal_ex(x->digest, sum, NULL);
	if (x->opts->sha256)
		report_digest(x, s, sum);
	if (!x->opts->check)
		return;
	while (name[0] == '.' && name[1] == '/')
		name += 2;
	want = sums_find(&x->sums, name);
	if (!want) {
		x->unlisted++;
		return;
	}
	want->seen = true;
	if (memcmp(want->bytes, sum, SUM_BYTES) != 0)
		fail(x, "sample '%s' has another digest than '%s' says", s->name, x->opts->check);
}

/* ---- all of them --------------------------------------------------------------------------- */

/* Where requests are made, which is ahead of where they are looked at. */
struct ahead {
	uint64_t index;
	uint64_t at;
};

static int read_ahead(struct verify *x, struct ahead *a)
{
	struct pst_sample s;

	while (!copy_full(&x->copy) && pst_dataset_sample(x->ds, a->index, &s) == 0) {
		uint64_t n = MIN(x->copy.chunk, s.size - a->at);
		int rc = n > 0 ? copy_submit(&x->copy, false, s.offset + a->at, n) : 0;

		if (rc < 0)
			return cli_error("%s: read: %s", x->uri, strerror(-rc));
		a->at += n;
		if (a->at < s.size)
			continue;
		a->index++;
		a->at = 0;
	}
	return CLI_DONE;
}

static int read_sample(struct verify *x, const struct pst_sample *s, struct ahead *ahead)
{
	int rc = CLI_DONE;

	begin_sample(x, s);
	for (uint64_t at = 0; rc == CLI_DONE && at < s->size;) {
		struct copy_slot *slot;
		void *data;

		rc = read_ahead(x, ahead);
		if (rc == CLI_DONE && atomic_load(&dataset_stop))
			rc = cli_error("interrupted");
		if (rc == CLI_DONE && copy_oldest(&x->copy, &slot, &data) < 0)
			rc = cli_error("%s: waiting for the volume failed", x->uri);
		if (rc != CLI_DONE)
			break;
		take_piece(x, s, slot, data);
		at += slot->length;
		copy_pop(&x->copy);
		cli_progress_update(&x->progress, x->done);
	}
	if (rc == CLI_DONE)
		end_sample(x, s);
	return rc;
}

static int read_all(struct verify *x)
{
	struct ahead ahead = { .index = 0 };
	struct pst_sample s;
	int rc = CLI_DONE;

	cli_progress_begin(&x->progress, "verify", x->info.bytes);
	for (uint64_t i = 0; rc == CLI_DONE && pst_dataset_sample(x->ds, i, &s) == 0; i++)
		rc = ferror(stdout) ? cli_output_done() : read_sample(x, &s, &ahead);
	cli_progress_end(&x->progress);
	return rc;
}

/* What should have been there and was not. */
static void look_for_missing(struct verify *x)
{
	char name[MANIFEST_NAME_MAX];

	for (uint64_t i = 0; x->generated && i < format_files(&x->manifest); i++) {
		if (x->found[i / 8] & 1u << i % 8)
			continue;
		manifest_name(&x->manifest, i, name);
		fail(x, "sample '%s' is missing", name);
	}
	for (size_t i = 0; i < x->sums.count; i++) {
		if (!x->sums.all[i].seen && pst_dataset_find(x->ds, x->sums.all[i].name, &(uint64_t){ 0 }) < 0)
			fail(x, "sample '%s', which '%s' lists, is missing", x->sums.all[i].name, x->opts->check);
	}
}

/* ---- report -------------------------------------------------------------------------------- */

static const char *how(const struct verify *x)
{
	if (x->generated)
		return "contents as generated";
	if (x->opts->check)
		return "digests as given";
	return "all could be read; their contents are not known (--sha256 prints digests, --check compares)";
}

/* Files are samples, unless they were generated with many in each. */
static uint64_t samples_of(const struct verify *x)
{
	return x->generated ? x->manifest.samples : x->info.samples;
}

static int report(struct verify *x, struct json_object *o)
{
	char size[FORMAT_MAX];

	if (x->failed > FAILURES_SAID)
		cli_error("%s: %llu more like this", x->uri, (unsigned long long)(x->failed - FAILURES_SAID));
	if (x->unlisted > 0)
		fprintf(stderr, "%s: %llu samples are not listed in %s\n", x->uri, (unsigned long long)x->unlisted,
			x->opts->check);
	if (!o) {
		if (x->failed == 0)
			fprintf(stderr, "%s: %llu samples, %s: %s\n", x->uri, (unsigned long long)samples_of(x),
				format_size(x->info.bytes, size, sizeof(size)), how(x));
		else
			cli_error("%s: %llu of %llu samples failed", x->uri, (unsigned long long)x->failed,
				  (unsigned long long)x->info.samples);
		return cli_output_done();
	}
	cli_json_str(o, "action", "verify");
	cli_json_bool(o, "generated", x->generated);
	cli_json_bool(o, "contents_known", x->generated || x->opts->check);
	cli_json_u64(o, "samples", samples_of(x));
	cli_json_u64(o, "files", x->info.samples);
	cli_json_u64(o, "bytes", x->info.bytes);
	cli_json_str(o, "path", pst_path_name(copy_path(&x->copy)));
	if (x->into.kind == PST_MEMORY_CUDA)
		cli_json_str(o, "device", x->into.name);
	cli_json_u64(o, "failed", x->failed);
	cli_json_u64(o, "unlisted", x->unlisted);
	return cli_json_print(o);
}

/* ---- life ---------------------------------------------------------------------------------- */

static int prepare(struct verify *x)
{
	struct err err = ERR_NULL;
	int rc;

	pst_dataset_info(x->ds, &x->info);
	rc = manifest_load(x->v.ctx, x->v.vol, x->ds, &x->manifest, &err);
	if (rc < 0 && rc != -ENOENT)
		return cli_error("%s: %s", x->uri, err_text(&err));
	x->generated = rc == 0;
	x->found = mem_calloc(x->generated ? format_files(&x->manifest) / 8 + 1 : 1, 1);
	x->digest = EVP_MD_CTX_new();
	if (!x->found || !x->digest)
		return cli_error("out of memory");
	return x->opts->check ? sums_load(&x->sums, x->opts->check) : CLI_DONE;
}

static int run(struct verify *x)
{
	struct json_object *o = cli_json ? cli_json_new("dataset") : NULL;
	int rc = prepare(x);

	if (rc == CLI_DONE)
		rc = copy_init(&x->copy, &x->v, "dataset", &x->into);
	if (rc != CLI_DONE) {
		json_object_put(o);
		return rc;
	}
	if (o) {
		x->failures = cli_json_array(o, "failures");
		x->digests = x->opts->sha256 ? cli_json_array(o, "digests") : NULL;
	}
	rc = read_all(x);
	copy_deinit(&x->copy);
	if (rc == CLI_DONE) {
		look_for_missing(x);
		rc = report(x, o);
	} else {
		json_object_put(o);
	}
	return rc == CLI_DONE && x->failed > 0 ? CLI_FAILED : rc;
}

int dataset_verify(const char *uri, const struct dataset_verify_options *opts)
{
	struct verify x = { .opts = opts, .uri = uri };
	struct pst_error err;
	int rc = cli_into_parse("dataset", opts->into, opts->require, &x.into);

	if (rc == CLI_DONE)
		rc = cli_volume_open(&x.v, uri, CLI_READ);
	if (rc != CLI_DONE)
		return rc;
	if (pst_dataset_open(x.v.vol, &x.ds, &err) < 0) {
		rc = cli_error("%s: %s", uri, err.text);
	} else {
		rc = run(&x);
		pst_dataset_close(x.ds);
	}
	sums_deinit(&x.sums);
	EVP_MD_CTX_free(x.digest);
	mem_free(x.found);
	cli_volume_close(&x.v);
	return rc;
}
