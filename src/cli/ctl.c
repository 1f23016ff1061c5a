/* SPDX-License-Identifier: Apache-2.0 */
/*
 * penstock ctl: asks a running target on its control socket, and tells it to change. Words become a
 * request by a table; the target judges them, so an error is its own sentence.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "cli/ctl.h"
#include "ops/control.h"

static struct {
	const char *socket;
	const char *nqn;
	uint64_t nsid;
	const char *uuid;
	bool read_only;
	bool writable;
	const char *advertise;
	struct cli_list subsystems;
	const char *serial;
	const char *model;
	struct cli_list allow;
	bool now;
} given;

const struct cli_option ctl_options[] = {
	{ "socket", 0, CLI_TEXT, &given.socket, "PATH",
	  "control socket of the target (default: see penstock-ctl(1))", NULL },
	{ "nqn", 'n', CLI_TEXT, &given.nqn, "NQN", "subsystem (needed if there are several)", NULL },
	{ "nsid", 0, CLI_COUNT, &given.nsid, "N", "ns add: its number (default: the lowest free one)", NULL },
	{ "uuid", 0, CLI_TEXT, &given.uuid, "UUID", "ns add: its identity (default: the store's)", NULL },
	{ "read-only", 0, CLI_FLAG, &given.read_only, NULL, "ns add, ns set: hosts must not write", NULL },
	{ "writable", 0, CLI_FLAG, &given.writable, NULL, "ns set: hosts may write", NULL },
	{ "advertise", 0, CLI_TEXT, &given.advertise, "ADDR[:PORT]",
	  "listener add: address for the discovery log", NULL },
	{ "subsys", 0, CLI_LIST, &given.subsystems, "NQN",
	  "listener add: reached there; may be repeated (default: all)", NULL },
	{ "serial", 0, CLI_TEXT, &given.serial, "TEXT", "subsys add: serial number", NULL },
	{ "model", 0, CLI_TEXT, &given.model, "TEXT", "subsys add: model name", NULL },
	{ "allow", 'a', CLI_LIST, &given.allow, "HOSTNQN|any|none",
	  "subsys add: host that may connect; may be repeated", NULL },
	{ "now", 0, CLI_FLAG, &given.now, NULL, "drain: do not wait for commands in flight", NULL },
	CLI_OPTION_OUTPUT,
	{ .name = NULL },
};

/* Options, as bits: each subcommand takes some and refuses the others. */
enum {
	O_NQN = 1 << 0,
	O_NSID = 1 << 1,
	O_UUID = 1 << 2,
	O_READ_ONLY = 1 << 3,
	O_WRITABLE = 1 << 4,
	O_ADVERTISE = 1 << 5,
	O_SUBSYS = 1 << 6,
	O_SERIAL = 1 << 7,
	O_MODEL = 1 << 8,
	O_ALLOW = 1 << 9,
	O_NOW = 1 << 10,
};

static const struct sub {
	const char *noun, *verb; /* verb NULL: none */
	const char *argument;    /* what follows, as a parameter; NULL: nothing */
	bool number;
	unsigned int options;
} subs[] = {
	{ "status", NULL, NULL, false, 0 },
	{ "stats", NULL, NULL, false, 0 },
	{ "ns", "add", "store", false, O_NQN | O_NSID | O_UUID | O_READ_ONLY },
	{ "ns", "remove", "nsid", true, O_NQN },
	{ "ns", "resize", "nsid", true, O_NQN },
	{ "ns", "set", "nsid", true, O_NQN | O_READ_ONLY | O_WRITABLE },
	{ "listener", "add", "address", false, O_ADVERTISE | O_SUBSYS },
	{ "listener", "remove", "address", false, 0 },
	{ "subsys", "add", "nqn", false, O_SERIAL | O_MODEL | O_ALLOW },
	{ "subsys", "remove", "nqn", false, 0 },
	{ "host", "allow", "host", false, O_NQN },
	{ "host", "deny", "host", false, O_NQN },
	{ "reload", NULL, NULL, false, 0 },
	{ "drain", NULL, NULL, false, O_NOW },
};

static const struct {
	const char *name;
	unsigned int bit;
	const void *value; /* the first word of it tells whether it was given */
} options[] = {
	{ "nqn", O_NQN, &given.nqn },		  { "nsid", O_NSID, &given.nsid },
	{ "uuid", O_UUID, &given.uuid },	  { "advertise", O_ADVERTISE, &given.advertise },
	{ "serial", O_SERIAL, &given.serial },	  { "model", O_MODEL, &given.model },
	{ "subsys", O_SUBSYS, &given.subsystems.count }, { "allow", O_ALLOW, &given.allow.count },
};

static const char *misplaced(const struct sub *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		uintptr_t value;

		memcpy(&value, options[i].value, sizeof(value));
		if (value && !(options[i].bit & s->options))
			return options[i].name;
	}
	if (given.read_only && !(s->options & O_READ_ONLY))
		return "read-only";
	if (given.writable && !(s->options & O_WRITABLE))
		return "writable";
	return given.now && !(s->options & O_NOW) ? "now" : NULL;
}

/* ---- the request ----------------------------------------------------------------------------- */

static void put_text(struct json_object *o, const char *key, const char *value)
{
	if (value)
		cli_json_str(o, key, value);
}

static void put_list(struct json_object *o, const char *key, const struct cli_list *list)
{
	struct json_object *x = list->count > 0 ? cli_json_array(o, key) : NULL;

	for (size_t i = 0; i < list->count; i++)
		cli_json_str(x, NULL, list->items[i]);
}

static void put_options(struct json_object *o)
{
	put_text(o, "nqn", given.nqn);
	put_text(o, "uuid", given.uuid);
	put_text(o, "advertise", given.advertise);
	put_text(o, "serial", given.serial);
	put_text(o, "model", given.model);
	put_list(o, "subsystems", &given.subsystems);
	put_list(o, "allow", &given.allow);
	if (given.nsid)
		cli_json_u64(o, "nsid", given.nsid);
	if (given.read_only || given.writable)
		cli_json_bool(o, "read_only", given.read_only);
	if (given.now)
		cli_json_bool(o, "now", true);
}

static int make_request(const struct sub *s, const char *argument, struct json_object **ret_request)
{
	struct json_object *o = json_object_new_object(), *params;
	char method[32];
	uint64_t n;

	if (!o)
		return cli_error("out of memory");
	snprintf(method, sizeof(method), "%s%s%s", s->noun, s->verb ? "." : "", s->verb ? s->verb : "");
	cli_json_str(o, "schema", CONTROL_SCHEMA);
	cli_json_str(o, "method", method);
	params = cli_json_object(o, "params");
	put_options(params);
	if (argument && s->number) {
		if (parse_u64_between(argument, 1, UINT32_MAX, &n) < 0) {
			json_object_put(o);
			return cli_usage("ctl: %s %s: '%s': expected the number of a namespace", s->noun, s->verb,
					 argument);
		}
		cli_json_u64(params, s->argument, n);
	} else if (argument) {
		cli_json_str(params, s->argument, argument);
	}
	*ret_request = o;
	return CLI_DONE;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int show(const struct sub *s, struct json_object *answer)
{
	struct json_object *result = ctl_get(answer, "result");
	struct json_object *error = ctl_get(answer, "error");

	if (!json_object_get_boolean(ctl_get(answer, "ok")) || !result)
		return cli_error("ctl: %s%s%s: %s", s->noun, s->verb ? " " : "", s->verb ? s->verb : "",
				 error ? ctl_text(error, "message") : "an answer that is none");
	if (cli_json)
		return cli_json_print(json_object_get(result));
	if (strcmp(s->noun, "status") == 0)
		return ctl_show_status(result);
	if (strcmp(s->noun, "stats") == 0)
		return ctl_show_stats(result);
	return ctl_show_change(result);
}

static int ask(const struct sub *s, struct json_object *request)
{
	char standard[CONTROL_PATH_MAX];
	const char *path = given.socket;
	struct json_object *answer;
	struct err err = ERR_NULL;
	char *text;
	int rc;

	if (!path && control_default_path(standard) < 0)
		return cli_error("ctl: $XDG_RUNTIME_DIR is too long for a socket; name one with --socket");
	rc = control_ask(path ? path : standard,
			 json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN), &text, &err);
	if (rc < 0)
		return cli_error("ctl: %s", err_text(&err));
	answer = json_tokener_parse(text);
	mem_free(text);
	if (!answer)
		return cli_error("ctl: the answer is no JSON");
	rc = show(s, answer);
	json_object_put(answer);
	return rc;
}

static const struct sub *find(int argc, char **argv, int *ret_words)
{
	for (size_t i = 0; i < ARRAY_SIZE(subs); i++) {
		const struct sub *s = &subs[i];

		if (strcmp(s->noun, argv[0]) != 0)
			continue;
		*ret_words = s->verb ? 2 : 1;
		if (!s->verb || (argc > 1 && strcmp(s->verb, argv[1]) == 0))
			return s;
	}
	return NULL;
}

int cmd_ctl(int argc, char **argv)
{
	struct json_object *request = NULL;
	int words, rc;
	const struct sub *s = find(argc, argv, &words);

	if (!s)
		return cli_usage("ctl: no subcommand '%s%s%s' ('penstock ctl --help' lists them)", argv[0],
				 argc > 1 ? " " : "", argc > 1 ? argv[1] : "");
	if (argc != words + (s->argument != NULL))
		return cli_usage("ctl: %s%s%s takes %s%s", s->noun, s->verb ? " " : "", s->verb ? s->verb : "",
				 s->argument ? "one argument: " : "no arguments", s->argument ? s->argument : "");
	if (misplaced(s))
		return cli_usage("ctl: %s%s%s has no option --%s", s->noun, s->verb ? " " : "",
				 s->verb ? s->verb : "", misplaced(s));
	if ((s->options & O_WRITABLE) && given.read_only == given.writable)
		return cli_usage("ctl: ns set: either --read-only or --writable");
	rc = make_request(s, s->argument ? argv[words] : NULL, &request);
	if (rc != CLI_DONE)
		return rc;
	rc = ask(s, request);
	json_object_put(request);
	return rc;
}
