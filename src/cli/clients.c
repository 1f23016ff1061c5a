/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench --clients, from the machine that asks: greets the agents, has them open everything, tells
 * them to begin at one moment, watches that none is lost, puts their results together. No clock is
 * compared with another: each agent's distance is measured by pings, and whoever is nearer is told to
 * wait longer; they begin together but for half the difference between the ways there and back.
 */
#include "cli/clients.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/util.h"
#include "cli/agent.h"
#include "cli/bench-report.h"
#include "cli/cli.h"
#include "cli/link.h"
#include "cli/report.h"
#include "cli/token.h"
#include "penstock.h"

#define TURN_NS	 UINT64_C(50000000)
#define READY_NS UINT64_C(90000000000) /* opening volumes, writing what has to be there */

enum { PINGS = 5 };

struct client {
	char name[128];
	struct link link;
	uint64_t rtt_ns;
	uint64_t heard_ns;
	struct json_object *document;
	bool ready, done;
	int status;
};

struct clients {
	struct io_loop *loop;
	struct client *all;
	size_t n;
	struct token token;
	uint64_t farthest_ns;
};

static int lost(const struct client *c, const struct err *err)
{
	return cli_error("client %s: %s", c->name, err_text(err));
}

static struct json_object *document(const char *type)
{
	struct json_object *o = json_object_new_object();

	cli_json_str(o, "type", type);
	return o;
}

/* ---- greeting ------------------------------------------------------------------------------ */

static int parse_list(struct clients *x, const char *list)
{
	const char *at = list;

	while (*at) {
		size_t n = strcspn(at, ",");

		if (n == 0 || n >= sizeof(x->all[0].name))
			return cli_usage("bench: --clients '%s': expected HOST[:PORT],...", list);
		if (x->n == CLIENTS_MAX)
			return cli_usage("bench: --clients: expected at most %d", CLIENTS_MAX);
		memcpy(x->all[x->n].name, at, n);
		x->all[x->n++].name[n] = 0;
		at += n + (at[n] == ',');
	}
	return x->n > 0 ? CLI_DONE : cli_usage("bench: --clients: expected HOST[:PORT],...");
}

static int check_greeting(const struct client *c, struct json_object *hello)
{
	if (strcmp(link_text(hello, "schema"), AGENT_SCHEMA) != 0)
		return cli_error("client %s: no agent of schema " AGENT_SCHEMA, c->name);
	if (strcmp(link_text(hello, "version"), pst_version()) != 0)
		return cli_error("client %s: the agent is version %s, this is %s: use the same on all machines",
				 c->name, link_text(hello, "version"), pst_version());
	return CLI_DONE;
}

static int answer(struct clients *x, struct client *c, struct json_object *hello)
{
	char nonce[TOKEN_NONCE_HEX], proof[TOKEN_PROOF_HEX] = "";
	bool auth = strcmp(link_text(hello, "auth"), "none") != 0;
	struct json_object *o = document("hello"), *back;
	struct err err = ERR_NULL;
	int rc = CLI_DONE;

	token_nonce(nonce);
	if (x->token.len > 0)
		token_prove(&x->token, "client", link_text(hello, "nonce"), nonce, proof);
	cli_json_str(o, "schema", AGENT_SCHEMA);
	cli_json_str(o, "version", pst_version());
	cli_json_str(o, "nonce", nonce);
	cli_json_str(o, "proof", proof);
	if (auth && x->token.len == 0) {
		json_object_put(o);
		return cli_error("client %s: the agent wants a secret: --token-file", c->name);
	}
	if (link_send(&c->link, o, AGENT_ANSWER_NS, &err) < 0)
		return lost(c, &err);
	back = link_wait(&c->link, AGENT_ANSWER_NS, &err);
	if (!back)
		return lost(c, &err);
	if (strcmp(link_text(back, "type"), "welcome") != 0)
		rc = cli_error("client %s: refused: %s", c->name, link_text(back, "why"));
	/* Whoever was given a secret wants to know that it is the right agent. */
	else if (x->token.len > 0 &&
		 !token_check(&x->token, "agent", nonce, link_text(hello, "nonce"), link_text(back, "proof")))
		rc = cli_error("client %s: the agent does not know the secret", c->name);
	json_object_put(back);
	return rc;
}

static int greet(struct clients *x, struct client *c)
{
	struct json_object *hello;
	struct io_addr addr;
	struct err err = ERR_NULL;
	int rc;

	if (io_addr_parse(c->name, AGENT_PORT, false, &addr, &err) < 0 ||
	    link_connect(&c->link, x->loop, &addr, AGENT_ANSWER_NS, &err) < 0)
		return lost(c, &err);
	hello = link_wait(&c->link, AGENT_ANSWER_NS, &err);
	if (!hello) {
		err_prefix(&err, "no greeting, as of an agent that is busy with another run");
		return lost(c, &err);
	}
	rc = check_greeting(c, hello);
	if (rc == CLI_DONE)
		rc = answer(x, c, hello);
	json_object_put(hello);
	return rc;
}

/* ---- to one moment ------------------------------------------------------------------------- */

/* Each gets the arguments, and which part it is. */
static int ask(struct clients *x, size_t i, struct json_object *arguments)
{
	struct client *c = &x->all[i];
	struct json_object *o = document("run"), *list = cli_json_array(o, "arguments");
	struct err err = ERR_NULL;
	char part[48];

	snprintf(part, sizeof(part), "--part=%zu/%zu", i + 1, x->n);
	cli_json_str(list, NULL, part);
	for (size_t k = 0; k < json_object_array_length(arguments); k++)
		cli_json_str(list, NULL, json_object_get_string(json_object_array_get_idx(arguments, k)));
	c->heard_ns = io_now_precise(x->loop);
	return link_send(&c->link, o, AGENT_ANSWER_NS, &err) < 0 ? lost(c, &err) : CLI_DONE;
}

/* What bench said there, by the name of where. */
static int failed(const struct client *c, struct json_object *result)
{
	const char *said = link_text(result, "said");
	size_t n = strcspn(said, "\n");

	if (strncmp(said, "penstock: ", 10) == 0 && n > 10) {
		said += 10;
		n -= 10;
	}
	return cli_error("client %s: %.*s", c->name, (int)n, n > 0 ? said : "it failed and did not say why");
}

/* Takes what it has sent. */
static int hear(struct clients *x, struct client *c)
{
	struct json_object *m = link_take(&c->link), *v;
	uint64_t now = io_now_precise(x->loop);
	int rc = CLI_DONE;

	if (!m && c->link.dead.code) {
		err_prefix(&c->link.dead, "lost");
		return lost(c, &c->link.dead);
	}
	if (!m && now - c->heard_ns > AGENT_LOST_NS)
		return cli_error("client %s: lost: nothing heard for %llu s", c->name,
				 (unsigned long long)(AGENT_LOST_NS / 1000000000));
	if (!m)
		return CLI_DONE;
	c->heard_ns = now;
	if (strcmp(link_text(m, "type"), "ready") == 0) {
		c->ready = true;
	} else if (strcmp(link_text(m, "type"), "refused") == 0) {
		rc = cli_error("client %s: refused: %s", c->name, link_text(m, "why"));
	} else if (strcmp(link_text(m, "type"), "result") == 0) {
		c->done = true;
		c->status = json_object_object_get_ex(m, "status", &v) ? json_object_get_int(v) : CLI_FAILED;
		if (json_object_object_get_ex(m, "document", &v) && v)
			c->document = json_object_get(v);
		if (c->status != CLI_DONE)
			rc = failed(c, m);
		/* Errors of I/O and wrong contents are results: the rest goes on. */
		if (c->document)
			rc = CLI_DONE;
		else if (rc != CLI_DONE && (c->status == CLI_REQUIRE || c->status == CLI_USAGE))
			rc = c->status;
	}
	json_object_put(m);
	return rc;
}

static int wait_ready(struct clients *x, atomic_bool *stop)
{
	uint64_t end = io_now_precise(x->loop) + READY_NS;
	size_t ready;

	do {
		ready = 0;
		io_loop_turn(x->loop, TURN_NS);
		for (size_t i = 0; i < x->n; i++) {
			int rc = hear(x, &x->all[i]);

			if (rc == CLI_DONE && x->all[i].done)
				rc = cli_error("client %s: ended before it began", x->all[i].name);
			if (rc == CLI_DONE && !x->all[i].ready && io_now_precise(x->loop) >= end)
				rc = cli_error("client %s: not ready after %llu s", x->all[i].name,
					       (unsigned long long)(READY_NS / 1000000000));
			if (rc != CLI_DONE)
				return rc;
			ready += x->all[i].ready;
		}
		if (atomic_load(stop))
			return cli_error("interrupted");
	} while (ready < x->n);
	return CLI_DONE;
}

static int ping(struct clients *x, struct client *c)
{
	struct err err = ERR_NULL;

	c->rtt_ns = UINT64_MAX;
	for (int i = 0; i < PINGS; i++) {
		uint64_t begin = io_now_precise(x->loop);
		bool pong = false;

		if (link_send(&c->link, document("ping"), AGENT_ANSWER_NS, &err) < 0)
			return lost(c, &err);
		while (!pong) {
			struct json_object *m = link_wait(&c->link, AGENT_ANSWER_NS, &err);

			if (!m)
				return lost(c, &err);
			pong = strcmp(link_text(m, "type"), "pong") == 0;
			json_object_put(m);
		}
		c->rtt_ns = MIN(c->rtt_ns, io_now_precise(x->loop) - begin);
	}
	x->farthest_ns = MAX(x->farthest_ns, c->rtt_ns);
	return CLI_DONE;
}

static int begin(struct clients *x)
{
	struct err err = ERR_NULL;
	int rc = CLI_DONE;

	for (size_t i = 0; rc == CLI_DONE && i < x->n; i++)
		rc = ping(x, &x->all[i]);
	for (size_t i = 0; rc == CLI_DONE && i < x->n; i++) {
		struct client *c = &x->all[i];
		struct json_object *o = document("go");

		/* All at the moment when the message to the farthest arrives. */
		cli_json_u64(o, "after_us", (x->farthest_ns - c->rtt_ns) / 2 / 1000);
		if (link_send(&c->link, o, AGENT_ANSWER_NS, &err) < 0)
			rc = lost(c, &err);
		c->heard_ns = io_now_precise(x->loop);
	}
	return rc;
}

static int collect(struct clients *x, atomic_bool *stop)
{
	bool told = false;
	size_t done;

	do {
		done = 0;
		io_loop_turn(x->loop, TURN_NS);
		for (size_t i = 0; i < x->n; i++) {
			struct err err = ERR_NULL;
			struct client *c = &x->all[i];
			int rc = c->done ? CLI_DONE : hear(x, c);

			if (rc == CLI_DONE && !c->done && atomic_load(stop) && !told &&
			    link_send(&c->link, document("stop"), AGENT_ANSWER_NS, &err) < 0)
				rc = lost(c, &err);
			if (rc != CLI_DONE)
				return rc;
			done += c->done;
		}
		told = told || atomic_load(stop);
	} while (done < x->n);
	return CLI_DONE;
}

/* ---- report -------------------------------------------------------------------------------- */

static double number(struct json_object *doc, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(doc, key, &v) ? json_object_get_double(v) : 0;
}

static double latency(struct json_object *doc, const char *key)
{
	struct json_object *l;

	return json_object_object_get_ex(doc, "latency_us", &l) ? number(l, key) : 0;
}

/* A figure that may be anything, as a whole number; 0 if it is none. */
static uint64_t whole(double v)
{
	return v > 0 && v < 1e19 ? (uint64_t)v : 0;
}

static void line(const char *name, struct json_object *doc)
{
	char rate[FORMAT_MAX], p50[FORMAT_MAX], p95[FORMAT_MAX], p99[FORMAT_MAX];

	printf("%-24s %12.0f ops/s %12s/s   p50 %s, p95 %s, p99 %s, %.0f errors\n", name, number(doc, "iops"),
	       format_size(whole(number(doc, "bytes_per_second")), rate, sizeof(rate)),
	       format_duration(whole(latency(doc, "p50") * 1e3), p50, sizeof(p50)),
	       format_duration(whole(latency(doc, "p95") * 1e3), p95, sizeof(p95)),
	       format_duration(whole(latency(doc, "p99") * 1e3), p99, sizeof(p99)), number(doc, "errors"));
}

static int report_text(const struct clients *x, struct json_object *doc)
{
	struct json_object *list, *w, *v;
	char rate[FORMAT_MAX], far[FORMAT_MAX];

	printf("%zu clients: %.0f ops/s, %s/s together\n\n", x->n, number(doc, "iops"),
	       format_size(whole(number(doc, "bytes_per_second")), rate, sizeof(rate)));
	for (size_t i = 0; i < x->n; i++)
		line(x->all[i].name, x->all[i].document);
	line("all", doc);
	if (json_object_object_get_ex(doc, "workload", &w) && json_object_object_get_ex(w, "au_storage", &v) && v)
		printf("%-24s %.1f %% charged to storage, mean over the accelerators\n", "utilisation",
		       100 * json_object_get_double(v));
	printf("%-24s within %s of one another, as far as a network can tell\n", "begun",
	       format_duration(x->farthest_ns, far, sizeof(far)));
	if (json_object_object_get_ex(doc, "notes", &list) && json_object_is_type(list, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(list); i++)
			printf("%-24s %s\n", i ? "" : "notes",
			       json_object_get_string(json_object_array_get_idx(list, i)));
	}
	return cli_output_done();
}

/* The first client's own sentence is of its part. */
static void set_verdict(const struct clients *x, struct json_object *doc)
{
	char rate[FORMAT_MAX], p99[FORMAT_MAX], text[256];
	struct json_object *w, *v = NULL;
	int n = snprintf(text, sizeof(text), "%zu clients: %.0f ops/s, %s/s together, p99 %s.", x->n,
			 number(doc, "iops"),
			 format_size((uint64_t)number(doc, "bytes_per_second"), rate, sizeof(rate)),
			 format_duration((uint64_t)(latency(doc, "p99") * 1e3), p99, sizeof(p99)));

	if (json_object_object_get_ex(doc, "workload", &w) && json_object_object_get_ex(w, "au_storage", &v) && v)
		snprintf(text + n, sizeof(text) - (size_t)n, " Utilisation %.1f %% charged to storage, mean over the "
			 "accelerators.", 100 * json_object_get_double(v));
	json_object_object_add(doc, "verdict", json_object_new_string(text));
}

static int report(struct clients *x, const char *label)
{
	struct json_object *docs[CLIENTS_MAX], *doc;
	const char *names[CLIENTS_MAX];
	struct err err = ERR_NULL;
	bool bad = false;
	int rc;

	for (size_t i = 0; i < x->n; i++) {
		docs[i] = x->all[i].document;
		names[i] = x->all[i].name;
		bad = bad || x->all[i].status != CLI_DONE;
	}
	if (clients_merge(docs, names, x->n, &doc, &err) < 0)
		return cli_error("%s", err_text(&err));
	cli_json_str(doc, "label", label ? label : "");
	bench_json_command(doc);
	cli_json_double(doc, "start_uncertainty_us", (double)x->farthest_ns / 1e3);
	set_verdict(x, doc);
	if (bench_report.path && report_write(doc, bench_report.path) != CLI_DONE)
		bad = true;
	if (cli_json)
		return cli_json_print(doc) != CLI_DONE || bad ? CLI_FAILED : CLI_DONE;
	rc = report_text(x, doc);
	json_object_put(doc);
	return bad ? CLI_FAILED : rc;
}

static int run(struct clients *x, struct json_object *arguments, const char *label, atomic_bool *stop)
{
	int rc = CLI_DONE;

	for (size_t i = 0; rc == CLI_DONE && i < x->n; i++)
		rc = greet(x, &x->all[i]);
	for (size_t i = 0; rc == CLI_DONE && i < x->n; i++)
		rc = ask(x, i, arguments);
	if (rc == CLI_DONE)
		rc = wait_ready(x, stop);
	if (rc == CLI_DONE)
		rc = begin(x);
	if (rc == CLI_DONE)
		rc = collect(x, stop);
	return rc == CLI_DONE ? report(x, label) : rc;
}

int clients_run(const char *list, const char *token_file, struct json_object *arguments, const char *label,
		atomic_bool *stop)
{
	struct clients x = { .n = 0 };
	struct err err = ERR_NULL;
	int rc = CLI_DONE;

	x.all = mem_calloc(CLIENTS_MAX, sizeof(*x.all));
	if (!x.all)
		return cli_error("out of memory");
	rc = parse_list(&x, list);
	if (rc == CLI_DONE && token_file)
		rc = token_load(&x.token, token_file, "bench");
	if (rc == CLI_DONE && io_loop_new(NULL, &x.loop, &err) < 0)
		rc = cli_error("bench: %s", err_text(&err));
	if (rc == CLI_DONE) {
		rc = run(&x, arguments, label, stop);
		for (size_t i = 0; i < x.n; i++) {
			link_close(&x.all[i].link);
			json_object_put(x.all[i].document);
		}
		io_loop_free(x.loop);
	}
	mem_free(x.all);
	return rc;
}
