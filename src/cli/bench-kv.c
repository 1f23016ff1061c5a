/* SPDX-License-Identifier: Apache-2.0 */
/* bench --workload kv-cache: options, running, both reports. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "bench/verdict.h"
#include "cli/bench-kind.h"
#include "cli/bench-more.h"
#include "cli/scale.h"

static uint64_t or(uint64_t value, uint64_t otherwise)
{
	return value == BENCH_NOT_GIVEN ? otherwise : value;
}

/* ---- options ------------------------------------------------------------------------------- */

static int parse_model(const struct model **ret)
{
	const char *name = bench_more.model ? bench_more.model : "llama3-8b";
	char names[64];

	*ret = model_find(name);
	if (*ret && (*ret)->kv_bytes_per_token > 0)
		return CLI_DONE;
	return cli_usage("bench: no figures for the KV cache of '%s': expected %s", name,
			 model_names(1, names, sizeof(names)));
}

/* "15:35:50" */
static int parse_mix(unsigned int percent[KV_CLASSES])
{
	const char *at = bench_more.class_mix;
	unsigned int sum = 0;

	for (int i = 0; i < KV_CLASSES; i++)
		percent[i] = kv_targets[i].percent;
	if (!at)
		return CLI_DONE;
	for (int i = 0; i < KV_CLASSES; i++) {
		size_t n = strcspn(at, ":");
		char digits[4];
		uint64_t v = 101;

		if (n > 0 && n < sizeof(digits)) {
			memcpy(digits, at, n);
			digits[n] = 0;
			parse_u64(digits, &v);
		}
		percent[i] = (unsigned int)v;
		sum += percent[i];
		at += n;
		if (v > 100 || *at != (i < KV_CLASSES - 1 ? ':' : 0))
			sum = 1000;
		at += *at == ':';
	}
	return sum == 100 ? CLI_DONE
			  : cli_usage("bench: --class-mix '%s': expected three numbers like 15:35:50, together 100",
				      bench_more.class_mix);
}

/* "chatbot,coding" */
static int parse_kinds(bool kinds[KV_TEMPLATES])
{
	const char *at = bench_more.user_kinds;

	for (int i = 0; i < KV_TEMPLATES; i++)
		kinds[i] = !at;
	while (at && *at) {
		size_t n = strcspn(at, ",");
		bool known = false;

		for (int i = 0; i < KV_TEMPLATES; i++) {
			if (strlen(kv_templates[i].name) != n || strncmp(kv_templates[i].name, at, n) != 0)
				continue;
			kinds[i] = true;
			known = true;
		}
		if (!known)
			return cli_usage("bench: --user-kinds '%s': expected some of chatbot,coding,document",
					 bench_more.user_kinds);
		at += n + (at[n] == ',');
	}
	return kinds[0] || kinds[1] || kinds[2] ? CLI_DONE : cli_usage("bench: --user-kinds: expected at least one");
}

static int parse_counts(struct kv_options *o, const struct bench_common *c)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int most;
	int rc = bench_count("users", bench_more.users, 16, 1, KV_USERS_MAX, &o->users);

	most = MIN(o->users, (unsigned int)BENCH_THREADS_MAX);
	if (rc == CLI_DONE)
		rc = bench_count("threads", c->threads, MIN(cpus > 0 ? (unsigned int)cpus : 1u, most), 1, most,
				 &o->threads);
	if (rc == CLI_DONE)
		rc = bench_count("depth", c->depth, 32, 1, 1024, &o->depth);
	if (rc == CLI_DONE)
		rc = bench_count("queues", c->queues, 1, 1, 128, &o->queues);
	if (rc == CLI_DONE)
		rc = bench_count("shared-prompts", bench_more.shared_prompts, 20, 0, 100, &o->prefix_percent);
	if (rc == CLI_DONE)
		rc = bench_count("last-turns", bench_more.last_turns, 20, 0, 100, &o->end_percent);
	if (rc == CLI_DONE)
		rc = bench_count("decode-reads", bench_more.decode_reads, 0, 0, 1000, &o->decode_reads);
	return rc;
}

static int parse(struct kv_options *o, const struct bench_request *q, const struct bench_common *c)
{
	bool by_turns = bench_more.turns != BENCH_NOT_GIVEN;
	int rc;

	*o = (struct kv_options){
		.target = q->target,
		.scale_ppm = or(bench_more.scale_ppm, SCALE_ONE),
		.think_ppm = or(bench_more.think_ppm, SCALE_ONE),
		.turns = or(bench_more.turns, 0),
		.time_ns = or(c->time, by_turns ? 0 : UINT64_C(10000000000)),
		.warmup_ns = or(c->warmup, by_turns ? 0 : UINT64_C(2000000000)),
		.piece_bytes = or(c->block, 1 << 20),
		.offset = or(c->offset, 0),
		.size = or(c->size, 0),
		.seed = c->seed,
		.verify = c->verify,
		.overwrite = c->overwrite,
		.live = c->live,
	};
	rc = parse_model(&o->model);
	if (rc == CLI_DONE)
		rc = parse_mix(o->percent);
	if (rc == CLI_DONE)
		rc = parse_kinds(o->templates);
	return rc == CLI_DONE ? parse_counts(o, c) : rc;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* Does it keep its promise? No promise is broken by a class without turns. */
static bool kept(const struct kv_class *c, int i)
{
	return hist_percentile(&c->turn, 95) <= kv_targets[i].p95_ns &&
	       hist_percentile(&c->turn, 99) <= kv_targets[i].p99_ns;
}

static const char *verdict(const struct kv_result *r, char *buf, size_t n)
{
	char p95[FORMAT_MAX], p99[FORMAT_MAX], most[192];
	unsigned int broken = 0, had = 0;
	size_t len = 0;

	for (int i = 0; i < KV_CLASSES; i++) {
		had += r->class[i].turns > 0;
		if (r->class[i].turns == 0 || kept(&r->class[i], i) || len >= n)
			continue;
		len += (size_t)snprintf(buf + len, n - len, "%s%s misses its p95 of %s or p99 of %s",
					broken++ ? ", " : "The class ", kv_targets[i].name,
					format_duration(kv_targets[i].p95_ns, p95, sizeof(p95)),
					format_duration(kv_targets[i].p99_ns, p99, sizeof(p99)));
	}
	verdict_most("A piece", &r->all.split, most, sizeof(most));
	if (broken > 0 && len < n)
		snprintf(buf + len, n - len, ".%s", most);
	else if (had > 0)
		snprintf(buf, n, "All classes keep their p95 and p99.%s", most);
	else
		snprintf(buf, n, "Nothing was measured.");
	return buf;
}

static void class_text(const struct kv_result *r, int i)
{
	const struct kv_class *c = &r->class[i];
	char name[32], size[2][FORMAT_MAX];

	printf("%-14s %llu turns, %s read, %s written\n", kv_targets[i].name, (unsigned long long)c->turns,
	       format_size(c->bytes[0], size[0], sizeof(size[0])), format_size(c->bytes[1], size[1], sizeof(size[1])));
	snprintf(name, sizeof(name), "  turn");
	bench_text_latency(name, &c->turn);
	bench_text_latency("  reading", &c->move[0]);
	bench_text_latency("  writing", &c->move[1]);
}

static double per_second(uint64_t n, uint64_t ns)
{
	return ns ? (double)n * 1e9 / (double)ns : 0;
}

static int report_text(const struct bench_request *q, const void *options, const void *result)
{
	const struct kv_options *o = options;
	const struct kv_result *r = result;
	const struct kv_counts *n = &r->counts;
	char rate[FORMAT_MAX], token[FORMAT_MAX], text[VERDICT_MAX];

	printf("%s\n\n", verdict(r, text, sizeof(text)));
	printf("%-14s %s, %s per token, %u users on %u threads\n", "kv cache", o->model->name,
	       format_size(r->token_bytes, token, sizeof(token)), o->users, o->threads);
	bench_text_volumes(&q->target, &r->all);
	printf("%-14s %s\n", "path", pst_path_name(bench_main_path(r->all.path_bytes)));
	printf("%-14s %llu turns in %.3f s, %.1f/s, %s/s; %.0f tokens/s read, %.0f written\n", "measured",
	       (unsigned long long)r->all.ops, (double)r->all.ns / 1e9, per_second(r->all.ops, r->all.ns),
	       format_size((uint64_t)per_second(r->all.bytes, r->all.ns), rate, sizeof(rate)),
	       per_second(n->tokens[0], r->all.ns), per_second(n->tokens[1], r->all.ns));
	for (int i = 0; i < KV_CLASSES; i++)
		class_text(r, i);
	printf("%-14s %llu begun, %llu with a shared prompt; %llu turns found theirs, %llu had lost it\n",
	       "conversations", (unsigned long long)n->conversations, (unsigned long long)n->prefixes,
	       (unsigned long long)n->hits, (unsigned long long)n->misses);
	printf("%-14s %llu conversations dropped, %llu turns without room\n", "room", (unsigned long long)n->dropped,
	       (unsigned long long)n->refused);
	return bench_text_rest(&r->all, o->verify, "pieces");
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void add_move(struct json_object *o, const char *key, const struct hist *h)
{
	bench_json_latency(cli_json_object(o, key), h);
}

static void add_class(struct json_object *list, const struct kv_result *r, int i)
{
	const struct kv_class *c = &r->class[i];
	struct json_object *x = cli_json_object(list, NULL);

	cli_json_str(x, "name", kv_targets[i].name);
	cli_json_u64(x, "turns", c->turns);
	cli_json_u64(x, "read_bytes", c->bytes[0]);
	cli_json_u64(x, "written_bytes", c->bytes[1]);
	cli_json_double(x, "target_p95_us", (double)kv_targets[i].p95_ns / 1e3);
	cli_json_double(x, "target_p99_us", (double)kv_targets[i].p99_ns / 1e3);
	/* A class without turns has kept nothing. */
	if (c->turns > 0)
		cli_json_bool(x, "kept", kept(c, i));
	else
		json_object_object_add(x, "kept", NULL);
	bench_json_latency(x, &c->turn);
	add_move(x, "read", &c->move[0]);
	add_move(x, "write", &c->move[1]);
}

static void add_counts(struct json_object *w, const struct kv_counts *n)
{
	cli_json_u64(w, "conversations", n->conversations);
	cli_json_u64(w, "shared_prompts", n->prefixes);
	cli_json_u64(w, "hits", n->hits);
	cli_json_u64(w, "misses", n->misses);
	cli_json_u64(w, "dropped", n->dropped);
	cli_json_u64(w, "refused", n->refused);
	cli_json_u64(w, "tokens_read", n->tokens[0]);
	cli_json_u64(w, "tokens_written", n->tokens[1]);
}

static struct json_object *report_json(const struct bench_request *q, const void *options, const void *result,
				       const void *runs)
{
	const struct kv_options *o = options;
	const struct kv_result *r = result;
	struct json_object *doc = bench_json_begin(q, &r->all), *w, *list;
	char text[VERDICT_MAX];

	cli_json_str(doc, "verdict", verdict(r, text, sizeof(text)));
	bench_json_figures(doc, &r->all);
	bench_json_split(doc, &r->all);
	bench_json_rest(doc, &r->all, o->verify);
	w = cli_json_object(doc, "workload");
	cli_json_str(w, "name", "kv-cache");
	cli_json_str(w, "model", o->model->name);
	cli_json_double(w, "scale", (double)o->scale_ppm / 1e6);
	cli_json_u64(w, "token_bytes", r->token_bytes);
	cli_json_u64(w, "page_tokens", KV_PAGE_TOKENS);
	cli_json_u64(w, "pages", r->pages);
	cli_json_u64(w, "users", o->users);
	cli_json_u64(w, "threads", o->threads);
	cli_json_u64(w, "shared_prompts_percent", o->prefix_percent);
	cli_json_u64(w, "last_turns_percent", o->end_percent);
	cli_json_u64(w, "decode_reads", o->decode_reads);
	cli_json_double(w, "think", (double)o->think_ppm / 1e6);
	cli_json_u64(w, "piece_bytes", o->piece_bytes);
	cli_json_u64(w, "seed", o->seed);
	cli_json_double(w, "warmup_seconds", (double)o->warmup_ns / 1e9);
	list = cli_json_array(w, "user_kinds");
	for (int i = 0; i < KV_TEMPLATES; i++) {
		if (o->templates[i])
			cli_json_str(list, NULL, kv_templates[i].name);
	}
	list = cli_json_array(w, "classes");
	for (int i = 0; i < KV_CLASSES; i++)
		add_class(list, r, i);
	add_counts(w, &r->counts);
	bench_json_runs(doc, q, &r->all, runs, sizeof(*r), NULL);
	return doc;
}

static int run(const void *options, void *ret_result, struct err *err)
{
	return kv_run(options, ret_result, err);
}

static void merge(void *result, const void *one)
{
	kv_merge(result, one);
}

static const struct bench_kind kind = {
	.size = sizeof(struct kv_result),
	.run = run,
	.merge = merge,
	.text = report_text,
	.doc = report_json,
};

int bench_kv(const struct bench_request *q, const struct bench_common *c)
{
	struct kv_options o;
	int rc = parse(&o, q, c);

	return rc == CLI_DONE ? bench_kind_run(q, &kind, &o) : rc;
}
