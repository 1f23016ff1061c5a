/* SPDX-License-Identifier: Apache-2.0 */
/*
 * penstock agent: makes this machine one of the clients of a measurement. One run at a time, in a
 * process of its own, which is this program's bench with arguments that came from afar; what they may
 * be is a list, since whoever may ask decides what this machine loads.
 */
#include "cli/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/agent-child.h"
#include "cli/cli.h"
#include "cli/link.h"
#include "cli/token.h"
#include "penstock.h"

#define TURN_NS	   UINT64_C(20000000)
#define HELD_NS	   UINT64_C(120000000000) /* a run that is ready and not told to begin ends */

static struct {
	const char *listen, *token_file;
	struct cli_list allow;
	bool files;
} given;

const struct cli_option agent_options[] = {
	{ "listen", 'l', CLI_TEXT, &given.listen, "tcp://ADDR:PORT",
	  "address to listen on (default tcp://127.0.0.1:4430)", NULL },
	{ "token-file", 0, CLI_TEXT, &given.token_file, "FILE", "secret that who asks has to know", NULL },
	{ "allow", 'a', CLI_LIST, &given.allow, "ADDR|any",
	  "who may ask, secret or not; may be repeated (default: any, with --token-file)", NULL },
	{ "allow-files", 0, CLI_FLAG, &given.files, NULL, "let runs read and write files of this machine (file:PATH)",
	  NULL },
	{ .name = NULL },
};

struct agent {
	struct io_loop *loop;
	struct io_listener *listener;
	struct io_op accept;
	struct io_sock *waiting; /* who has connected and not been looked at */
	bool busy;
	struct token token;
	struct link link;
	struct child child;
	bool ready_said;
	uint64_t ready_at, go_at, alive_at;
	char peer[IO_ADDR_TEXT];
};

static atomic_bool stop;

static void on_signal(int sig)
{
	atomic_store(&stop, true);
}

/* ---- documents ------------------------------------------------------------------------------- */

static struct json_object *document(const char *type)
{
	struct json_object *o = json_object_new_object();

	cli_json_str(o, "type", type);
	return o;
}

static int say(struct agent *a, struct json_object *doc, struct err *err)
{
	return link_send(&a->link, doc, AGENT_LOST_NS, err);
}

static int refuse(struct agent *a, const char *why, struct err *err)
{
	struct json_object *o = document("refused");
	struct err ignored = ERR_NULL;

	cli_json_str(o, "why", why);
	say(a, o, &ignored);
	return err_set(err, EACCES, "refused: %s", why);
}

/* ---- greeting ------------------------------------------------------------------------------ */

static bool may_ask(const struct agent *a)
{
	char host[IO_ADDR_TEXT];

	if (given.allow.count == 0)
		return true;
	io_addr_host(io_stream_peer(a->link.stream), host);
	for (size_t i = 0; i < given.allow.count; i++) {
		if (strcmp(given.allow.items[i], "any") == 0 || strcmp(given.allow.items[i], host) == 0)
			return true;
	}
	return false;
}

static int check_hello(struct agent *a, struct json_object *hello, const char *nonce, struct err *err)
{
	const char *version = link_text(hello, "version");
	char why[200];

	if (!may_ask(a))
		return refuse(a, "this address is not among those that may ask (--allow)", err);
	if (strcmp(link_text(hello, "schema"), AGENT_SCHEMA) != 0)
		return refuse(a, "expected the schema " AGENT_SCHEMA, err);
	if (strcmp(version, pst_version()) != 0) {
		snprintf(why, sizeof(why), "the agent is version %s, the client %.40s: use the same on all machines",
			 pst_version(), version);
		return refuse(a, why, err);
	}
	if (a->token.len > 0 &&
	    !token_check(&a->token, "client", nonce, link_text(hello, "nonce"), link_text(hello, "proof")))
		return refuse(a, "the secret is another one (--token-file)", err);
	return 0;
}

static int greet(struct agent *a, struct err *err)
{
	char nonce[TOKEN_NONCE_HEX], proof[TOKEN_PROOF_HEX];
	struct json_object *o = json_object_new_object(), *hello;
	int rc;

	token_nonce(nonce);
	cli_json_str(o, "schema", AGENT_SCHEMA);
	cli_json_str(o, "version", pst_version());
	cli_json_str(o, "nonce", nonce);
	cli_json_str(o, "auth", a->token.len > 0 ? "hmac-sha256" : "none");
	rc = say(a, o, err);
	hello = rc == 0 ? link_wait(&a->link, AGENT_ANSWER_NS, err) : NULL;
	if (!hello)
		return -EPIPE;
	rc = check_hello(a, hello, nonce, err);
	if (rc == 0) {
		o = document("welcome");
		token_prove(&a->token, "agent", link_text(hello, "nonce"), nonce, proof);
		cli_json_str(o, "proof", a->token.len > 0 ? proof : "");
		rc = say(a, o, err);
	}
	json_object_put(hello);
	return rc;
}

/* ---- what it may be asked for -------------------------------------------------------------- */

/* Of bench's options those that read and write nothing but the volumes. */
static const char *const allowed[] = {
	"io", "read-percent", "block-size", "depth", "queues", "threads", "time", "warmup", "passes", "offset",
	"size", "rate", "spin", "seed", "verify", "overwrite", "continue-on-error", "into", "require-path",
	"workload", "accelerator", "accelerators", "epochs", "steps", "batch", "prefetch", "compute-time", "model",
	"scale", "ranks", "checkpoints", "pause", "users", "user-kinds", "class-mix", "shared-prompts", "last-turns",
	"decode-reads", "think", "turns", "part", "hostnqn", "hostid", "piece-size", "staging-size", "mapped-size",
	"prepare-time",
};

static bool option_allowed(const char *word)
{
	size_t n;

	if (strncmp(word, "--", 2) != 0)
		return false;
	n = strcspn(word + 2, "=");
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		if (strlen(allowed[i]) == n && strncmp(allowed[i], word + 2, n) == 0)
			return true;
	}
	return false;
}

static bool volume_allowed(const char *word)
{
	return strncmp(word, "nvme+tcp://", 11) == 0 || given.files;
}

/* Options, each one word, then "--", then volumes. Fills in argv behind @n; 0 or -errno. */
static int take_arguments(struct agent *a, struct json_object *list, char **argv, int n, struct err *err)
{
	bool options = true;
	char why[300];

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *v = json_object_array_get_idx(list, i);
		const char *word = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";

		if (options && strcmp(word, "--") == 0) {
			options = false;
		} else if (options ? !option_allowed(word) : !volume_allowed(word)) {
			snprintf(why, sizeof(why), "'%.120s' is not among what an agent may be asked for%s", word,
				 options ? "" : " (files need --allow-files)");
			return refuse(a, why, err);
		}
		if (n == AGENT_ARGUMENTS_MAX - 1)
			return refuse(a, "too many arguments", err);
		argv[n++] = (char *)(uintptr_t)word;
	}
	argv[n] = NULL;
	return options ? refuse(a, "expected volumes", err) : 0;
}

static int start(struct agent *a, struct err *err)
{
	static char program[] = "penstock", command[] = "bench";
	static char json[] = "--output-format=json", histograms[] = "--histograms";
	char *argv[AGENT_ARGUMENTS_MAX] = { program, command, json, histograms };
	struct json_object *run = link_wait(&a->link, AGENT_ANSWER_NS, err), *list;
	int rc;

	if (!run)
		return -EPIPE;
	if (strcmp(link_text(run, "type"), "run") != 0 || !json_object_object_get_ex(run, "arguments", &list) ||
	    !json_object_is_type(list, json_type_array))
		rc = refuse(a, "expected a run", err);
	else
		rc = take_arguments(a, list, argv, 4, err);
	if (rc == 0)
		rc = child_start(&a->child, argv, err);
	json_object_put(run);
	return rc;
}

/* ---- a run --------------------------------------------------------------------------------- */

static int take_message(struct agent *a, struct json_object *m, struct err *err)
{
	const char *type = link_text(m, "type");
	struct json_object *after;

	if (strcmp(type, "ping") == 0)
		return say(a, document("pong"), err);
	if (strcmp(type, "stop") == 0) {
		child_signal(&a->child, SIGINT);
		return 0;
	}
	if (strcmp(type, "go") == 0 && a->child.is_ready) {
		uint64_t us = json_object_object_get_ex(m, "after_us", &after) ? json_object_get_uint64(after) : 0;

		a->go_at = io_now_precise(a->loop) + MIN(us, UINT64_C(10000000)) * 1000;
		return 0;
	}
	return err_set(err, EBADMSG, "it says '%.40s', which is not expected now", type);
}

static int say_result(struct agent *a, struct err *err)
{
	struct json_object *o = document("result"), *doc = NULL;
	struct json_tokener *tok = json_tokener_new();

	if (tok && a->child.len > 0)
		doc = json_tokener_parse_ex(tok, a->child.text, (int)a->child.len);
	json_tokener_free(tok);
	cli_json_u64(o, "status", (uint64_t)a->child.status);
	cli_json_str(o, "said", a->child.said);
	json_object_object_add(o, "document", doc);
	return say(a, o, err);
}

/* What has changed since the last turn. 1: it is over. */
static int step(struct agent *a, struct err *err)
{
	struct json_object *m = link_take(&a->link);
	uint64_t now = io_now_precise(a->loop);
	int rc = 0;

	if (m)
		rc = take_message(a, m, err);
	json_object_put(m);
	if (rc == 0 && !m && a->link.dead.code) {
		*err = a->link.dead;
		return -EPIPE;
	}
	child_look(&a->child);
	if (rc == 0 && a->child.is_ready && !a->ready_said) {
		a->ready_said = true;
		a->ready_at = now;
		rc = say(a, document("ready"), err);
	}
	if (rc == 0 && a->go_at > 0 && now >= a->go_at) {
		a->go_at = UINT64_MAX;
		child_go(&a->child);
	}
	if (rc == 0 && a->child.ended)
		return say_result(a, err) < 0 ? -EPIPE : 1;
	if (rc == 0 && a->ready_said && a->go_at == 0 && now - a->ready_at > HELD_NS)
		return err_set(err, ETIMEDOUT, "it does not say when to begin");
	if (rc == 0 && now >= a->alive_at) {
		a->alive_at = now + AGENT_ALIVE_NS;
		rc = say(a, document("alive"), err);
	}
	return rc;
}

static int run(struct agent *a, struct err *err)
{
	int rc = start(a, err);

	a->ready_said = false;
	a->go_at = a->alive_at = 0;
	while (rc == 0) {
		uint64_t now = io_now_precise(a->loop), wait = TURN_NS;

		if (a->go_at > now && a->go_at != UINT64_MAX)
			wait = MIN(wait, a->go_at - now);
		/* Waiting to begin: what arrives is looked at at once, and so is the moment. */
		if (a->go_at == 0 || a->go_at == UINT64_MAX || a->go_at > now)
			io_loop_turn(a->loop, wait);
		if (atomic_load(&stop))
			rc = err_set(err, EINTR, "interrupted");
		else
			rc = step(a, err);
	}
	child_end(&a->child);
	return rc < 0 ? rc : 0;
}

static void session(struct agent *a, struct io_sock *sock)
{
	struct err err = ERR_NULL;
	int rc;

	io_addr_format(io_sock_peer(sock), a->peer);
	a->busy = true;
	rc = link_attach(&a->link, a->loop, sock, &err);
	if (rc == 0)
		rc = greet(a, &err);
	if (rc == 0)
		rc = run(a, &err);
	fprintf(stderr, "%s: %s\n", a->peer, rc < 0 ? err_text(&err) : "done");
	link_close(&a->link);
	a->busy = false;
}

/* ---- listening ----------------------------------------------------------------------------- */

static void accepted(struct io_op *op)
{
	struct agent *a = container_of(op, struct agent, accept);

	if (op->result == 0 && (a->busy || a->waiting))
		io_sock_close(op->sock); /* one run at a time */
	else if (op->result == 0)
		a->waiting = op->sock;
	if (op->result != -ECANCELED)
		io_accept(a->listener, op);
}

static int check_given(const struct io_addr *addr)
{
	if (!given.token_file && given.allow.count == 0)
		return cli_usage("agent: who may make this machine generate load? --token-file FILE, with a secret "
				 "that bench --clients is given too, or --allow ADDR");
	if (io_addr_is_loopback(addr) || given.token_file)
		return CLI_DONE;
	for (size_t i = 0; i < given.allow.count; i++) {
		if (strcmp(given.allow.items[i], "any") == 0)
			fprintf(stderr, "penstock: agent: anybody who reaches %s can make this machine generate load\n",
				given.listen);
	}
	return CLI_DONE;
}

static int serve(struct agent *a, const struct io_addr *addr)
{
	struct err err = ERR_NULL;
	char text[IO_ADDR_TEXT];

	if (io_loop_new(NULL, &a->loop, &err) < 0)
		return cli_error("agent: %s", err_text(&err));
	if (io_listen(a->loop, addr, NULL, &a->listener, &err) < 0) {
		io_loop_free(a->loop);
		return cli_error("agent: %s", err_text(&err));
	}
	io_op_init(&a->accept, accepted);
	io_accept(a->listener, &a->accept);
	io_addr_format(io_listener_addr(a->listener), text);
	printf("ready listen=tcp://%s\n", text);
	fflush(stdout);
	clearerr(stdout);
	while (!atomic_load(&stop)) {
		struct io_sock *sock = a->waiting;

		a->waiting = NULL;
		if (sock)
			session(a, sock);
		else
			io_loop_turn(a->loop, UINT64_C(200000000));
	}
	io_listener_close(a->listener);
	while (a->accept.pending)
		io_loop_turn(a->loop, TURN_NS);
	if (a->waiting)
		io_sock_close(a->waiting);
	io_loop_free(a->loop);
	return CLI_DONE;
}

int cmd_agent(int argc, char **argv)
{
	static struct agent agent;
	struct sigaction sa = { .sa_handler = on_signal };
	struct io_addr addr;
	struct err err = ERR_NULL;
	int rc;

	if (!given.listen)
		given.listen = "tcp://127.0.0.1:4430";
	if (io_addr_parse(given.listen, AGENT_PORT, true, &addr, &err) < 0)
		return cli_usage("agent: --listen %s: %s", given.listen, err_text(&err));
	rc = check_given(&addr);
	if (rc == CLI_DONE && given.token_file)
		rc = token_load(&agent.token, given.token_file, "agent");
	if (rc != CLI_DONE)
		return rc;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	return serve(&agent, &addr);
}
