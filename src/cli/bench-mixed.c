/* SPDX-License-Identifier: Apache-2.0 */
/* bench --workload mixed: options, running, both reports. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "bench/guard.h"
#include "bench/mixed.h"
#include "bench/verdict.h"
#include "cli/bench-kind.h"
#include "cli/bench-more.h"

static uint64_t or(uint64_t value, uint64_t otherwise)
{
	return value == BENCH_NOT_GIVEN ? otherwise : value;
}

/* ---- options ------------------------------------------------------------------------------- */

/* "training,inference" */
static int parse_streams(bool on[MIXED_STREAMS])
{
	const char *at = bench_more.streams;

	for (int i = 0; i < MIXED_STREAMS; i++)
		on[i] = !at;
	while (at && *at) {
		size_t n = strcspn(at, ",");
		bool known = false;

		for (int i = 0; i < MIXED_STREAMS; i++) {
			const char *name = mixed_name((enum mixed_stream)i);

			if (strlen(name) != n || strncmp(name, at, n) != 0)
				continue;
			on[i] = true;
			known = true;
		}
		if (!known)
			return cli_usage("bench: --streams '%s': expected some of training,checkpoint,inference",
					 bench_more.streams);
		at += n + (at[n] == ',');
	}
	return CLI_DONE;
}

/* One volume for all, or one for each stream, in their order. */
static int deal_volumes(struct mixed_options *o, const struct bench_request *q)
{
	struct bench_target *const of[MIXED_STREAMS] = { &o->train.target, &o->checkpoint.target, &o->micro.target };
	size_t n = 0, given = q->target.uri_count;

	for (int i = 0; i < MIXED_STREAMS; i++) {
		*of[i] = q->target;
		of[i]->uris = q->target.uris + (given > 1 ? MIN(n, given - 1) : 0);
		of[i]->uri_count = 1;
		of[i]->series = NULL; /* streams at once have no one course */
		n += o->on[i];
	}
	if (given == 1 || given == n)
		return CLI_DONE;
	return cli_usage("bench: %zu volumes for %zu streams: expected one for all, or one for each", given, n);
}

static int parse_workload(struct workload *ret, const struct bench_target *t, const struct bench_common *c)
{
	const struct workload *w;
	struct err err = ERR_NULL;
	char name[32], names[128];

	if (bench_more.training)
		snprintf(name, sizeof(name), "%s", bench_more.training);
	else if (mixed_dataset(t, name, &err) < 0)
		return cli_error("%s: --training says which workload it is for", err_text(&err));
	w = workload_find(name, c->accelerator);
	if (!w && workload_find(name, NULL))
		return cli_usage("bench: no figures of %s for the accelerator '%s': expected %s", name, c->accelerator,
				 workload_names(name, names, sizeof(names)));
	if (!w)
		return cli_usage("bench: no training workload '%s': --training, expected %s", name,
				 workload_names(NULL, names, sizeof(names)));
	*ret = *w;
	return CLI_DONE;
}

static int parse_train(struct mixed_options *m, const struct bench_common *c)
{
	struct train_options *o = &m->train;
	int rc = parse_workload(&o->workload, &o->target, c);

	o->threads = 1;
	o->queues = 1;
	o->seed = c->seed;
	o->verify = c->verify;
	o->live = c->live;
	if (rc == CLI_DONE)
		rc = bench_count("batch", c->batch, o->workload.batch, 1, 1 << 20, &o->workload.batch);
	if (rc == CLI_DONE)
		rc = bench_count("accelerators", c->accelerators, 1, 1, TRAIN_ACCELERATORS_MAX, &o->accelerators);
	if (rc == CLI_DONE)
		rc = bench_count("prefetch", c->prefetch, 2, 1, 1024, &o->prefetch);
	if (rc == CLI_DONE && c->compute == 0)
		rc = cli_usage("bench: --compute-time: expected more than 0");
	o->workload.compute_ns = or(c->compute, o->workload.compute_ns);
	o->prepare_ns = or(bench_more.prepare, 0);
	return rc;
}

static int parse_checkpoint(struct mixed_options *m, const struct bench_request *q, const struct bench_common *c)
{
	struct bench_common own = *c;
	struct bench_target target = m->checkpoint.target;
	struct err err = ERR_NULL;
	int rc;

	/* Block size and depth are the inference reads'. */
	own.workload = "checkpoint-save";
	own.block = own.depth = BENCH_NOT_GIVEN;
	rc = bench_checkpoint_parse(&m->checkpoint, q, &own);
	m->checkpoint.target = target;
	/* Behind the dataset, if there is one. */
	if (rc == CLI_DONE && c->offset == BENCH_NOT_GIVEN && !c->overwrite &&
	    guard_datasets_end(&target, &m->checkpoint.offset, &err) < 0)
		rc = cli_error("%s", err_text(&err));
	return rc;
}

static int parse_micro(struct mixed_options *m, const struct bench_common *c)
{
	struct micro_options *o = &m->micro;
	int rc = bench_count("depth", c->depth, 4, 1, 1024, &o->depth);

	o->kind = PATTERN_RANDREAD;
	o->block_bytes = or(c->block, 16384);
	o->queues = 1;
	o->rate = or(c->rate, 0);
	o->seed = c->seed;
	return rc;
}

static int parse(struct mixed_options *o, const struct bench_request *q, const struct bench_common *c)
{
	int rc = parse_streams(o->on);

	o->time_ns = or(c->time, UINT64_C(10000000000));
	if (rc == CLI_DONE)
		rc = deal_volumes(o, q);
	if (rc == CLI_DONE && o->on[MIXED_TRAINING])
		rc = parse_train(o, c);
	if (rc == CLI_DONE && o->on[MIXED_CHECKPOINT])
		rc = parse_checkpoint(o, q, c);
	if (rc == CLI_DONE && o->on[MIXED_INFERENCE])
		rc = parse_micro(o, c);
	return rc;
}

/* ---- figures ------------------------------------------------------------------------------- */

static double rate_of(const struct bench_result *r)
{
	return r->ns ? (double)r->bytes * 1e9 / (double)r->ns : 0;
}

static double ratio(double together, double alone)
{
	return alone > 0 ? together / alone : 0;
}

static double p99(const struct bench_result *r)
{
	return (double)hist_percentile(&r->latency, 99);
}

/* Of what is measured together: sums, and the latencies of the stream that waits for each I/O. */
static void total(const struct mixed_options *o, const struct mixed_phase *p, struct bench_result *ret)
{
	hist_init(&ret->latency);
	for (int i = 0; i < MIXED_STREAMS; i++) {
		const struct bench_result *r = mixed_of(p, (enum mixed_stream)i);

		if (!o->on[i])
			continue;
		ret->ns = MAX(ret->ns, r->ns);
		ret->ops += r->ops;
		ret->bytes += r->bytes;
		ret->latency = r->latency; /* the last stream's */
		for (int k = 0; k < BENCH_PATHS; k++)
			ret->path_bytes[k] += r->path_bytes[k];
		if (ret->errors == 0 && r->errors > 0)
			memcpy(ret->first_error, r->first_error, sizeof(ret->first_error));
		ret->errors += r->errors;
		ret->trouble.retries += r->trouble.retries;
		ret->trouble.reconnects += r->trouble.reconnects;
		bench_verify_merge(&ret->verify, &r->verify);
		memcpy(ret->io, r->io, sizeof(ret->io));
		ret->interrupted = ret->interrupted || r->interrupted;
		/* Each has the whole process's. */
		if (r->cost.cpu.user_ns + r->cost.cpu.system_ns > ret->cost.cpu.user_ns + ret->cost.cpu.system_ns)
			ret->cost = r->cost;
	}
}

static void note(const struct mixed_options *o, const struct mixed_phase *p, struct bench_result *all)
{
	for (int i = 0; i < MIXED_STREAMS; i++) {
		const struct bench_notes *n = &mixed_of(p, (enum mixed_stream)i)->notes;

		for (unsigned int k = 0; o->on[i] && k < n->count; k++) {
			bool had = false;

			for (unsigned int j = 0; j < all->notes.count; j++)
				had = had || strcmp(all->notes.text[j], n->text[k]) == 0;
			if (!had)
				bench_note(&all->notes, "%s", n->text[k]);
		}
	}
}

/* Volumes that are reported: each stream's own, or the one that all share. */
static void volumes(const struct mixed_options *o, const struct mixed_phase *p, struct bench_result *all)
{
	size_t n = 0;

	for (int i = 0; i < MIXED_STREAMS; i++) {
		if (o->on[i])
			all->info[n++] = mixed_of(p, (enum mixed_stream)i)->info[0];
	}
}

/* ---- text ---------------------------------------------------------------------------------- */

static void line(const char *when, enum mixed_stream s, const struct mixed_phase *p)
{
	const struct bench_result *r = mixed_of(p, s);
	char rate[FORMAT_MAX], a[FORMAT_MAX], b[FORMAT_MAX];

	printf("  %-12s %s/s", when, format_size((uint64_t)rate_of(r), rate, sizeof(rate)));
	if (s == MIXED_TRAINING && p->train.has_au)
		printf(", utilisation %.1f %% charged to storage, batch wait p99 %s", 100 * p->train.au_storage,
		       format_duration((uint64_t)p99(r), a, sizeof(a)));
	else if (s == MIXED_CHECKPOINT)
		printf(", %u complete, slowest rank p50 %s, p99 %s", p->checkpoint.count,
		       format_duration(hist_percentile(&r->latency, 50), a, sizeof(a)),
		       format_duration((uint64_t)p99(r), b, sizeof(b)));
	else if (s == MIXED_INFERENCE)
		printf(", %.0f IOPS, p50 %s, p99 %s", r->ns ? (double)r->ops * 1e9 / (double)r->ns : 0,
		       format_duration(hist_percentile(&r->latency, 50), a, sizeof(a)),
		       format_duration((uint64_t)p99(r), b, sizeof(b)));
	printf("\n");
}

static void stream_text(enum mixed_stream s, const struct mixed_result *r)
{
	const struct bench_result *alone = mixed_of(&r->alone, s), *together = mixed_of(&r->together, s);
	char a[FORMAT_MAX], b[FORMAT_MAX];

	printf("%s\n", mixed_name(s));
	line("alone", s, &r->alone);
	if (together->ns == 0)
		return;
	line("together", s, &r->together);
	printf("  %-12s %.0f %% of its throughput; p99 goes from %s to %s\n", "keeps",
	       100 * ratio(rate_of(together), rate_of(alone)), format_duration((uint64_t)p99(alone), a, sizeof(a)),
	       format_duration((uint64_t)p99(together), b, sizeof(b)));
}

/* All that a run comes to. */
struct outcome {
	struct bench_result all; /* of what ran together, but errors are those of all */
	struct mixed_result r;
};

static const char *verdict(const struct mixed_options *o, const struct outcome *x, char *buf, size_t n)
{
	double worst = 2;
	int which = -1;

	for (int i = 0; i < MIXED_STREAMS; i++) {
		double keeps = ratio(rate_of(mixed_of(&x->r.together, (enum mixed_stream)i)),
				     rate_of(mixed_of(&x->r.alone, (enum mixed_stream)i)));

		if (!o->on[i] || keeps >= worst)
			continue;
		worst = keeps;
		which = i;
	}
	if (x->all.ns == 0 || which < 0)
		snprintf(buf, n, "It ended before the streams ran together.");
	else
		snprintf(buf, n, "Together, %s keeps the least: %.0f %% of the throughput it has alone.",
			 mixed_name((enum mixed_stream)which), 100 * worst);
	return buf;
}

static int report_text(const struct bench_request *q, const void *options, const void *result)
{
	const struct mixed_options *o = options;
	const struct outcome *x = result;
	const struct bench_result *all = &x->all;
	const struct mixed_result *r = &x->r;
	char text[VERDICT_MAX];

	printf("%s\n\n", verdict(o, x, text, sizeof(text)));
	bench_text_volumes(&q->target, all);
	for (int i = 0; i < MIXED_STREAMS; i++) {
		if (o->on[i])
			stream_text((enum mixed_stream)i, r);
	}
	return bench_text_rest(all, o->train.verify || o->checkpoint.verify, "samples and pieces");
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void phase_json(struct json_object *list, const char *key, enum mixed_stream s, const struct mixed_phase *p)
{
	struct json_object *x = cli_json_object(list, key);
	const struct checkpoint_result *c = &p->checkpoint;
	uint64_t sum = 0;

	bench_json_figures(x, mixed_of(p, s));
	cli_json_u64(x, "errors", mixed_of(p, s)->errors);
	if (s == MIXED_TRAINING && p->train.has_au) {
		cli_json_double(x, "au_mlperf", p->train.au_mlperf);
		cli_json_double(x, "au_storage", p->train.au_storage);
	}
	if (s == MIXED_TRAINING) {
		cli_json_u64(x, "steps", p->train.steps);
		cli_json_double(x, "stall_seconds", (double)p->train.stall_ns / 1e9);
	} else if (s == MIXED_CHECKPOINT) {
		for (unsigned int i = 0; i < c->count; i++)
			sum += c->ns[i];
		cli_json_u64(x, "checkpoints", c->count);
		cli_json_u64(x, "checkpoint_bytes", c->checkpoint_bytes);
		cli_json_double(x, "duration_seconds", c->count ? (double)sum / 1e9 / c->count : 0);
	}
}

static void stream_json(struct json_object *list, enum mixed_stream s, const struct mixed_options *o,
			const struct mixed_result *r)
{
	const struct bench_target *const of[MIXED_STREAMS] = { &o->train.target, &o->checkpoint.target,
							       &o->micro.target };
	const struct bench_result *alone = mixed_of(&r->alone, s), *together = mixed_of(&r->together, s);
	struct json_object *x = cli_json_object(list, NULL);

	cli_json_str(x, "name", mixed_name(s));
	cli_json_str(x, "uri", of[s]->uris[0]);
	if (s == MIXED_TRAINING) {
		cli_json_str(x, "workload", o->train.workload.name);
		cli_json_str(x, "accelerator", o->train.workload.accelerator);
		cli_json_u64(x, "accelerators", o->train.accelerators);
	} else if (s == MIXED_CHECKPOINT) {
		cli_json_str(x, "model", o->checkpoint.model->name);
		cli_json_double(x, "scale", (double)o->checkpoint.scale_ppm / 1e6);
		cli_json_u64(x, "ranks", o->checkpoint.ranks);
		cli_json_u64(x, "offset_bytes", o->checkpoint.offset);
	} else {
		cli_json_u64(x, "block_size_bytes", o->micro.block_bytes);
		cli_json_u64(x, "depth", o->micro.depth);
		cli_json_u64(x, "rate_iops", o->micro.rate);
	}
	phase_json(x, "alone", s, &r->alone);
	phase_json(x, "together", s, &r->together);
	cli_json_double(x, "throughput_ratio", ratio(rate_of(together), rate_of(alone)));
	cli_json_double(x, "p99_ratio", ratio(p99(together), p99(alone)));
}

static struct json_object *report_json(const struct bench_request *q, const void *options, const void *result,
				       const void *runs)
{
	const struct mixed_options *o = options;
	const struct outcome *x = result;
	const struct bench_result *all = &x->all;
	const struct mixed_result *r = &x->r;
	struct json_object *doc = bench_json_begin(q, all), *w, *list;
	char text[VERDICT_MAX];

	cli_json_str(doc, "verdict", verdict(o, x, text, sizeof(text)));
	bench_json_figures(doc, all);
	bench_json_rest(doc, all, o->train.verify || o->checkpoint.verify);
	w = cli_json_object(doc, "workload");
	cli_json_str(w, "name", "mixed");
	cli_json_double(w, "phase_seconds", (double)o->time_ns / 1e9);
	list = cli_json_array(w, "streams");
	for (int i = 0; i < MIXED_STREAMS; i++) {
		if (o->on[i])
			stream_json(list, (enum mixed_stream)i, o, r);
	}
	bench_json_runs(doc, q, all, runs, sizeof(*x), NULL);
	return doc;
}

/* ---- running ------------------------------------------------------------------------------- */

static enum pst_path missed(const struct mixed_options *o, const struct mixed_result *r)
{
	for (int i = 0; i < MIXED_STREAMS; i++) {
		const struct bench_result *alone = mixed_of(&r->alone, (enum mixed_stream)i);
		const struct bench_result *together = mixed_of(&r->together, (enum mixed_stream)i);

		if (o->on[i] && alone->path_missed)
			return alone->path_taken;
		if (o->on[i] && together->path_missed)
			return together->path_taken;
	}
	return PST_PATH_NONE;
}

/* What was wrong before is wrong. */
static void add_errors(const struct mixed_options *o, const struct mixed_result *r, struct bench_result *all)
{
	for (int i = 0; i < MIXED_STREAMS; i++) {
		const struct bench_result *alone = mixed_of(&r->alone, (enum mixed_stream)i);

		if (o->on[i] && all->errors == 0 && alone->errors > 0)
			memcpy(all->first_error, alone->first_error, sizeof(all->first_error));
		all->errors += o->on[i] ? alone->errors : 0;
		if (o->on[i])
			bench_verify_merge(&all->verify, &alone->verify);
	}
}

static int run(const void *options, void *ret_result, struct err *err)
{
	const struct mixed_options *o = options;
	struct outcome *x = ret_result;
	int rc = mixed_run(o, &x->r, err);

	if (rc < 0)
		return rc;
	total(o, &x->r.together, &x->all);
	add_errors(o, &x->r, &x->all);
	x->all.path_taken = missed(o, &x->r);
	x->all.path_missed = x->all.path_taken != PST_PATH_NONE;
	x->all.interrupted = x->r.interrupted;
	note(o, &x->r.alone, &x->all);
	volumes(o, &x->r.alone, &x->all);
	return 0;
}

static void merge(void *result, const void *run)
{
	struct outcome *x = result;
	const struct outcome *one = run;

	bench_result_merge(&x->all, &one->all);
	mixed_merge(&x->r, &one->r);
}

static const struct bench_kind kind = {
	.size = sizeof(struct outcome),
	.run = run,
	.merge = merge,
	.text = report_text,
	.doc = report_json,
};

int bench_mixed(const struct bench_request *q, const struct bench_common *c)
{
	static struct mixed_options o;
	int rc = parse(&o, q, c);

	return rc == CLI_DONE ? bench_kind_run(q, &kind, &o) : rc;
}
