/* SPDX-License-Identifier: Apache-2.0 */
/* bench --workload checkpoint-save, checkpoint-restore: options, running, both reports. */
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "bench/verdict.h"
#include "cli/bench-kind.h"
#include "cli/bench-more.h"
#include "cli/scale.h"

static uint64_t or(uint64_t value, uint64_t otherwise)
{
	return value == BENCH_NOT_GIVEN ? otherwise : value;
}

static int parse_model(const struct model **ret, bool restore)
{
	char names[128];

	/* A restore takes what is there, unless told what it has to be. */
	*ret = bench_more.model || !restore ? model_find(bench_more.model ? bench_more.model : "llama3-8b") : NULL;
	if (*ret || (restore && !bench_more.model))
		return CLI_DONE;
	return cli_usage("bench: no model '%s': expected %s", bench_more.model, model_names(0, names, sizeof(names)));
}

/* What a checkpoint has no use for. */
static int check_given(const struct bench_common *c, bool restore)
{
	const char *name = c->threads != BENCH_NOT_GIVEN ? "threads" : c->warmup != BENCH_NOT_GIVEN ? "warmup" : NULL;

	if (!name && restore && c->overwrite)
		name = "overwrite";
	return name ? cli_usage("bench: --%s has no meaning with --workload %s", name, c->workload) : CLI_DONE;
}

int bench_checkpoint_parse(struct checkpoint_options *o, const struct bench_request *q,
			   const struct bench_common *c)
{
	unsigned int ranks = 0;
	int rc;

	*o = (struct checkpoint_options){
		.target = q->target,
		.restore = strcmp(c->workload, "checkpoint-restore") == 0,
		.time_ns = or(c->time, 0),
		.pause_ns = or(bench_more.pause, 0),
		.piece_bytes = or(c->block, 1 << 20),
		.offset = or(c->offset, 0),
		.size = or(c->size, 0),
		.seed = c->seed,
		.verify = c->verify,
		.overwrite = c->overwrite,
		.live = c->live,
	};
	rc = check_given(c, o->restore);
	if (rc == CLI_DONE)
		rc = parse_model(&o->model, o->restore);
	if (rc == CLI_DONE && (!o->restore || bench_more.ranks != BENCH_NOT_GIVEN))
		rc = bench_count("ranks", bench_more.ranks, 8, 1, CHECKPOINT_RANKS_MAX, &ranks);
	o->ranks = ranks;
	o->scale_ppm = or(bench_more.scale_ppm, o->restore ? 0 : SCALE_ONE);
	if (rc == CLI_DONE && (o->time_ns == 0 || bench_more.checkpoints != BENCH_NOT_GIVEN))
		rc = bench_count("checkpoints", bench_more.checkpoints, 10, 1, CHECKPOINT_COUNT_MAX, &o->count);
	if (rc == CLI_DONE)
		rc = bench_count("depth", c->depth, 8, 1, 1024, &o->depth);
	if (rc == CLI_DONE)
		rc = bench_count("queues", c->queues, 1, 1, 128, &o->queues);
	return rc;
}

/* ---- figures ------------------------------------------------------------------------------- */

struct summary {
	uint64_t least_ns, most_ns, mean_ns, flush_ns; /* the last one: mean */
	double rank_rate;			       /* mean of the checkpoints' slowest ranks */
};

static struct summary summarise(const struct checkpoint_result *r)
{
	struct summary s = { .least_ns = UINT64_MAX };
	uint64_t sum = 0, flush = 0;

	for (unsigned int i = 0; i < r->count; i++) {
		s.least_ns = MIN(s.least_ns, r->ns[i]);
		s.most_ns = MAX(s.most_ns, r->ns[i]);
		sum += r->ns[i];
		flush += r->flush_ns[i];
		s.rank_rate += r->rank_rate[i] / r->count;
	}
	s.mean_ns = r->count ? sum / r->count : 0;
	s.flush_ns = r->count ? flush / r->count : 0;
	s.least_ns = r->count ? s.least_ns : 0;
	return s;
}

/* ---- text ---------------------------------------------------------------------------------- */

static const char *verdict(const struct checkpoint_options *o, const struct checkpoint_result *r, char *buf, size_t n)
{
	char size[FORMAT_MAX], time[FORMAT_MAX], rate[FORMAT_MAX], most[VERDICT_MAX];
	struct summary sum = summarise(r), *s = &sum;

	if (r->count == 0) {
		snprintf(buf, n, "No checkpoint came to its end.");
		return buf;
	}
	snprintf(buf, n, "A checkpoint of %s is %s %s in %s, %s/s over the path '%s'.%s",
	       format_size(r->checkpoint_bytes, size, sizeof(size)), o->restore ? "restored" : "saved",
	       o->restore ? "into memory" : "and durable", format_duration(s->mean_ns, time, sizeof(time)),
	       format_size((uint64_t)((double)r->checkpoint_bytes * 1e9 / (double)s->mean_ns), rate, sizeof(rate)),
	       pst_path_name(bench_main_path(r->all.path_bytes)),
	       verdict_most("A piece", &r->all.split, most, sizeof(most)));
	return buf;
}

static int report_text(const struct bench_request *q, const void *options, const void *result)
{
	const struct checkpoint_options *o = options;
	const struct checkpoint_result *r = result;
	char text[VERDICT_MAX];
	struct summary s = summarise(r);
	char a[FORMAT_MAX], b[FORMAT_MAX], c[FORMAT_MAX];

	printf("%s\n\n", verdict(o, r, text, sizeof(text)));
	printf("%-14s %s, %u of %u ranks, scale %g\n", "model", r->model.name, r->ranks, model_all_ranks(&r->model),
	       (double)r->scale_ppm / 1e6);
	bench_text_volumes(&q->target, &r->all);
	printf("%-14s %u of %s each, in pieces of %s, %u in flight per rank\n", "checkpoints", r->count,
	       format_size(r->checkpoint_bytes, a, sizeof(a)), format_size(o->piece_bytes, b, sizeof(b)),
	       o->depth * o->queues);
	printf("%-14s mean %s, least %s, most %s: of the slowest rank\n", "duration",
	       format_duration(s.mean_ns, a, sizeof(a)), format_duration(s.least_ns, b, sizeof(b)),
	       format_duration(s.most_ns, c, sizeof(c)));
	if (!o->restore)
		printf("%-14s mean %s of that\n", "flush", format_duration(s.flush_ns, a, sizeof(a)));
	printf("%-14s %s/s, mean over the checkpoints\n", "slowest rank",
	       format_size((uint64_t)s.rank_rate, a, sizeof(a)));
	bench_text_latency("rank's part", &r->all.latency);
	return bench_text_rest(&r->all, o->verify, "pieces");
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void add_judged(struct json_object *one, const void *run)
{
	const struct checkpoint_result *r = run;
	struct summary s = summarise(r);
	struct json_object *w = cli_json_object(one, "workload");

	/* What there was none of took no time, which would count. */
	if (r->count > 0)
		cli_json_double(w, "duration_seconds", (double)s.mean_ns / 1e9);
	cli_json_u64(w, "checkpoints", r->count);
}

static struct json_object *report_json(const struct bench_request *q, const void *options, const void *result,
				       const void *runs)
{
	const struct checkpoint_options *o = options;
	const struct checkpoint_result *r = result;
	struct json_object *doc = bench_json_begin(q, &r->all), *w, *list;
	struct summary s = summarise(r);
	char text[VERDICT_MAX];

	cli_json_str(doc, "verdict", verdict(o, r, text, sizeof(text)));
	bench_json_figures(doc, &r->all);
	bench_json_split(doc, &r->all);
	bench_json_rest(doc, &r->all, o->verify);
	w = cli_json_object(doc, "workload");
	cli_json_str(w, "name", o->restore ? "checkpoint-restore" : "checkpoint-save");
	cli_json_str(w, "model", r->model.name);
	cli_json_double(w, "scale", (double)r->scale_ppm / 1e6);
	cli_json_u64(w, "ranks", r->ranks);
	cli_json_u64(w, "ranks_of_model", model_all_ranks(&r->model));
	cli_json_u64(w, "piece_bytes", o->piece_bytes);
	cli_json_u64(w, "inflight_per_rank", (uint64_t)o->depth * o->queues);
	cli_json_u64(w, "seed", o->seed);
	cli_json_u64(w, "checkpoints", r->count);
	cli_json_u64(w, "checkpoints_held", r->slots);
	cli_json_u64(w, "checkpoint_bytes", r->checkpoint_bytes);
	cli_json_double(w, "duration_seconds", (double)s.mean_ns / 1e9);
	cli_json_double(w, "duration_least_seconds", (double)s.least_ns / 1e9);
	cli_json_double(w, "duration_most_seconds", (double)s.most_ns / 1e9);
	cli_json_double(w, "flush_seconds", o->restore ? 0 : (double)s.flush_ns / 1e9);
	cli_json_double(w, "bytes_per_second",
			s.mean_ns ? (double)r->checkpoint_bytes * 1e9 / (double)s.mean_ns : 0);
	cli_json_double(w, "slowest_rank_bytes_per_second", s.rank_rate);
	list = cli_json_array(w, "durations_seconds");
	for (unsigned int i = 0; i < r->count; i++)
		cli_json_double(list, NULL, (double)r->ns[i] / 1e9);
	bench_json_runs(doc, q, &r->all, runs, sizeof(*r), add_judged);
	return doc;
}

static int run(const void *options, void *ret_result, struct err *err)
{
	return checkpoint_run(options, ret_result, err);
}

static void merge(void *result, const void *one)
{
	checkpoint_merge(result, one);
}

static const struct bench_kind kind = {
	.size = sizeof(struct checkpoint_result),
	.run = run,
	.merge = merge,
	.text = report_text,
	.doc = report_json,
};

int bench_checkpoint(const struct bench_request *q, const struct bench_common *c)
{
	struct checkpoint_options o;
	int rc = bench_checkpoint_parse(&o, q, c);

	return rc == CLI_DONE ? bench_kind_run(q, &kind, &o) : rc;
}
