/* SPDX-License-Identifier: Apache-2.0 */
/* penstock dataset: options, and what is made without files: create and list. */
#include "cli/dataset.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "bench/generate.h"
#include "bench/workload.h"
#include "cli/into.h"
#include "cli/scale.h"
#include "cli/volume.h"

#define NOT_GIVEN UINT64_MAX
#define PPM	  UINT64_C(1000000)

atomic_bool dataset_stop;

static struct {
	const char *workload;
	uint64_t samples, seed, size, stddev, scale_ppm, per_file, rows;
	struct dataset_verify_options verify;
} given = { .samples = NOT_GIVEN, .seed = NOT_GIVEN, .size = NOT_GIVEN, .stddev = NOT_GIVEN, .scale_ppm = PPM,
	    .per_file = NOT_GIVEN, .rows = NOT_GIVEN };

static int take_scale(const char *arg)
{
	return scale_parse(arg, &given.scale_ppm);
}

const struct cli_option dataset_options[] = {
	{ "workload", 'W', CLI_TEXT, &given.workload, "NAME",
	  "create: samples as large as those of unet3d, resnet50, cosmoflow, retinanet, flux, dlrm", NULL },
	{ "samples", 'n', CLI_COUNT, &given.samples, "N", "create: how many", NULL },
	{ "seed", 0, CLI_COUNT, &given.seed, "N", "create: sizes and contents follow from it (default 1)", NULL },
	{ "size", 0, CLI_SIZE, &given.size, "BYTES", "create: mean size of a sample (default: the workload's)",
	  NULL },
	{ "stddev", 0, CLI_SIZE, &given.stddev, "BYTES",
	  "create: its standard deviation (default: the workload's; 0 with --size)", NULL },
	{ "scale", 0, CLI_CALL, NULL, "NUMBER", "create: multiply sizes, 0.01 for a hundredth", take_scale },
	{ "samples-per-file", 0, CLI_COUNT, &given.per_file, "N",
	  "create: files of N samples (default: the workload's; 1 with --size)", NULL },
	{ "rows", 0, CLI_COUNT, &given.rows, "N", "create: dlrm's rows in a group (default 16384)", NULL },
	{ "sha256", 0, CLI_FLAG, &given.verify.sha256, NULL,
	  "verify: print the digest of each sample as sha256sum does", NULL },
	{ "check", 0, CLI_TEXT, &given.verify.check, "FILE", "verify: compare with the digests in FILE, of sha256sum",
	  NULL },
	{ "into", 0, CLI_TEXT, &given.verify.into, CLI_INTO_VALUES,
	  "verify: memory that samples land in, to be checked from there (default host)", NULL },
	{ "require-path", 0, CLI_TEXT, &given.verify.require, CLI_PATH_VALUES,
	  "verify: exit with 3 if data takes another way", NULL },
	CLI_OPTION_OUTPUT,
	CLI_OPTIONS_IDENTITY,
	{ .name = NULL },
};

static void on_signal(int sig)
{
	atomic_store(&dataset_stop, true);
}

static void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

/* ---- create -------------------------------------------------------------------------------- */

static uint64_t scaled(uint64_t bytes)
{
	/* Both factors below 2^40: parsed sizes are checked before. */
	return bytes / PPM * given.scale_ppm + bytes % PPM * given.scale_ppm / PPM;
}

static int plan_sizes(struct manifest *m, const struct workload *w)
{
	uint64_t mean = w ? w->sample_bytes : 0, stddev = w ? w->sample_stddev_bytes : 0;

	if (given.size != NOT_GIVEN) {
		mean = given.size;
		stddev = 0;
	}
	if (given.stddev != NOT_GIVEN)
		stddev = given.stddev;
	if (mean > SIZES_MAX || stddev > SIZES_MAX || given.scale_ppm > PPM * PPM)
		return cli_usage("dataset create: samples are too large");
	m->sizes.mean = MAX(scaled(mean), UINT64_C(1));
	m->sizes.stddev = MIN(scaled(stddev), m->sizes.mean);
	if (stddev > mean)
		return cli_usage("dataset create: --stddev: expected at most the mean size, %llu",
				 (unsigned long long)mean);
	return CLI_DONE;
}

/* How samples lie in files: as the workload has it, or packed where there are many and no workload says how. */
static int plan_format(struct manifest *m, const struct workload *w)
{
	m->per_file = w ? w->samples_per_file : 1;
	m->format = w ? w->format : FORMAT_PLAIN;
	if (given.per_file != NOT_GIVEN)
		m->per_file = given.per_file;
	if (given.per_file == 1 && m->format != FORMAT_COLUMNS)
		m->format = FORMAT_PLAIN;
	else if (m->per_file > 1 && m->format == FORMAT_PLAIN)
		m->format = FORMAT_PACKED;
	if (m->format != FORMAT_COLUMNS)
		return given.rows == NOT_GIVEN ? CLI_DONE : cli_usage("dataset create: --rows is for dlrm");
	if (given.size != NOT_GIVEN || given.stddev != NOT_GIVEN || given.scale_ppm != PPM)
		return cli_usage("dataset create: the columns of %s have widths of their own: expected no --size, "
				 "--stddev nor --scale; fewer --samples make it smaller",
				 given.workload);
	m->rows = given.rows == NOT_GIVEN ? FORMAT_ROWS : given.rows;
	m->sizes.mean = w->record_bytes;
	/* One file, if all of them fit into it. */
	m->per_file = given.per_file == NOT_GIVEN ? MIN(m->per_file, m->samples) : m->per_file;
	return CLI_DONE;
}

static int plan(struct manifest *m)
{
	const struct workload *w = given.workload ? workload_find(given.workload, NULL) : NULL;
	char names[128];
	struct err err = ERR_NULL;
	int rc;

	if (!given.workload && given.size == NOT_GIVEN)
		return cli_usage("dataset create: --workload NAME (%s) or --size BYTES is needed",
				 workload_names(NULL, names, sizeof(names)));
	if (given.workload && !w)
		return cli_usage("dataset create: no workload '%s': expected %s", given.workload,
				 workload_names(NULL, names, sizeof(names)));
	if (given.samples == NOT_GIVEN)
		return cli_usage("dataset create: --samples N is needed");
	snprintf(m->workload, sizeof(m->workload), "%s", w ? w->name : "custom");
	snprintf(m->extension, sizeof(m->extension), "%s", w ? w->extension : "bin");
	m->samples = given.samples;
	m->scale_ppm = given.scale_ppm;
	m->sizes.seed = given.seed == NOT_GIVEN ? 1 : given.seed;
	rc = plan_sizes(m, w);
	if (rc == CLI_DONE)
		rc = plan_format(m, w);
	if (rc == CLI_DONE && manifest_check(m, &err) < 0)
		rc = cli_usage("dataset create: %s", err_text(&err));
	return rc;
}

static bool advance(void *arg, uint64_t bytes)
{
	cli_progress_update(arg, bytes);
	return !atomic_load(&dataset_stop);
}

static int report_create(const char *uri, const struct manifest *m, uint64_t bytes)
{
	struct json_object *o;
	char size[FORMAT_MAX];

	if (!cli_json) {
		fprintf(stderr, "%s: %llu samples, %s, seed %llu\n", uri, (unsigned long long)m->samples,
			format_size(bytes, size, sizeof(size)), (unsigned long long)m->sizes.seed);
		return CLI_DONE;
	}
	o = cli_json_new("dataset");
	cli_json_str(o, "action", "create");
	cli_json_str(o, "workload", m->workload);
	cli_json_str(o, "format", format_name(m->format));
	cli_json_u64(o, "samples", m->samples);
	cli_json_u64(o, "samples_per_file", m->per_file);
	cli_json_u64(o, "files", format_files(m));
	cli_json_u64(o, "seed", m->sizes.seed);
	cli_json_u64(o, "mean_bytes", m->sizes.mean);
	cli_json_u64(o, "stddev_bytes", m->sizes.stddev);
	cli_json_u64(o, "archive_bytes", bytes);
	return cli_json_print(o);
}

static int create(const char *uri)
{
	struct cli_progress progress;
	struct err err = ERR_NULL;
	struct manifest m = { .samples = 0 };
	struct cli_volume v;
	uint64_t bytes;
	int rc = plan(&m);

	if (rc == CLI_DONE)
		rc = cli_volume_open(&v, uri, CLI_WRITE);
	if (rc != CLI_DONE)
		return rc;
	cli_progress_begin(&progress, "create", m.samples * m.sizes.mean);
	rc = generate_dataset(v.vol, &m, advance, &progress, &bytes, &err);
	cli_progress_end(&progress);
	if (rc < 0)
		rc = cli_error("%s: %s", uri, err_text(&err));
	else
		rc = report_create(uri, &m, bytes);
	cli_volume_close(&v);
	return rc;
}

/* ---- list ---------------------------------------------------------------------------------- */

/* As tar -t prints it: a name is one line, and nothing that a terminal would obey. */
static void print_name(const char *name)
{
	for (; *name; name++) {
		if (*name == '\\')
			fputs("\\\\", stdout);
		else if (*name == '\n')
			fputs("\\n", stdout);
		else if (*name == '\t')
			fputs("\\t", stdout);
		else if ((unsigned char)*name < ' ' || *name == 0x7f)
			printf("\\%03o", (unsigned char)*name);
		else
			putchar(*name);
	}
	putchar('\n');
}

static void list_text(const struct pst_dataset *ds)
{
	struct pst_sample s;

	for (uint64_t i = 0; pst_dataset_sample(ds, i, &s) == 0; i++) {
		printf("%12llu  %14llu  ", (unsigned long long)s.size, (unsigned long long)s.offset);
		print_name(s.name);
	}
}

/* Sample by sample: a dataset of millions would not fit into one tree of objects. */
static void list_json(const struct pst_dataset *ds)
{
	struct pst_dataset_info info;
	struct pst_sample s;

	pst_dataset_info(ds, &info);
	printf("{\n  \"schema\": \"penstock.dataset/1\",\n  \"action\": \"list\",\n  \"count\": %llu,\n"
	       "  \"bytes\": %llu,\n  \"largest_bytes\": %llu,\n  \"other_members\": %llu,\n  \"generated\": %s,\n"
	       "  \"samples\": [",
	       (unsigned long long)info.samples, (unsigned long long)info.bytes,
	       (unsigned long long)info.largest_bytes, (unsigned long long)info.other_members,
	       info.manifest_bytes ? "true" : "false");
	for (uint64_t i = 0; pst_dataset_sample(ds, i, &s) == 0; i++) {
		struct json_object *name = json_object_new_string(s.name);

		printf("%s\n    { \"name\": %s, \"offset_bytes\": %llu, \"size_bytes\": %llu }", i ? "," : "",
		       name ? json_object_to_json_string_ext(name, JSON_C_TO_STRING_NOSLASHESCAPE) : "null",
		       (unsigned long long)s.offset, (unsigned long long)s.size);
		json_object_put(name);
	}
	printf("\n  ]\n}\n");
}

int dataset_list(const char *uri)
{
	struct pst_dataset *ds;
	struct pst_error err;
	struct cli_volume v;
	int rc = cli_volume_open(&v, uri, CLI_READ);

	if (rc != CLI_DONE)
		return rc;
	if (pst_dataset_open(v.vol, &ds, &err) < 0) {
		rc = cli_error("%s: %s", uri, err.text);
	} else {
		(cli_json ? list_json : list_text)(ds);
		rc = cli_output_done();
		pst_dataset_close(ds);
	}
	cli_volume_close(&v);
	return rc;
}

/* ---- choice -------------------------------------------------------------------------------- */

struct use {
	const char *option;
	bool given;
};

/* An option of another action would be ignored: a mistake of whoever gave it. */
static int check_given(const char *action, bool creating, bool verifying)
{
	const struct use creates[] = {
		{ "workload", given.workload },		{ "samples", given.samples != NOT_GIVEN },
		{ "seed", given.seed != NOT_GIVEN },	{ "size", given.size != NOT_GIVEN },
		{ "stddev", given.stddev != NOT_GIVEN }, { "scale", given.scale_ppm != PPM },
		{ "samples-per-file", given.per_file != NOT_GIVEN }, { "rows", given.rows != NOT_GIVEN },
	};
	const struct use verifies[] = { { "sha256", given.verify.sha256 },
					{ "check", given.verify.check },
					{ "into", given.verify.into },
					{ "require-path", given.verify.require } };

	for (size_t i = 0; !creating && i < ARRAY_SIZE(creates); i++) {
		if (creates[i].given)
			return cli_usage("dataset %s: --%s is for create", action, creates[i].option);
	}
	for (size_t i = 0; !verifying && i < ARRAY_SIZE(verifies); i++) {
		if (verifies[i].given)
			return cli_usage("dataset %s: --%s is for verify", action, verifies[i].option);
	}
	return CLI_DONE;
}

int cmd_dataset(int argc, char **argv)
{
	const char *action = argv[0], *uri = argv[1];
	bool creating = strcmp(action, "create") == 0, packing = strcmp(action, "pack") == 0;
	bool listing = strcmp(action, "list") == 0, verifying = strcmp(action, "verify") == 0;
	int rc;

	if (!creating && !packing && !listing && !verifying)
		return cli_usage("dataset: no action '%s': expected create, pack, list or verify", action);
	if (!packing && argc > 2)
		return cli_usage("dataset %s: unexpected argument '%s'", action, argv[2]);
	if (packing && argc < 3)
		return cli_usage("dataset pack: expected files or directories behind the URI");
	rc = check_given(action, creating, verifying);
	if (rc != CLI_DONE)
		return rc;
	catch_signals();
	if (creating)
		return create(uri);
	if (packing)
		return dataset_pack(uri, argc - 2, argv + 2);
	return listing ? dataset_list(uri) : dataset_verify(uri, &given.verify);
}
