/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options from a table, through getopt_long(3). Values are parsed strictly, and an error says which
 * option, what was given and what is expected.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "cli/cli.h"

enum { OPTIONS_MAX = 96, OPTION_BASE = 256, HELP_COLUMN = 30 };

enum { GIVEN_MAX = 256 };

struct cli_given cli_given[GIVEN_MAX];
size_t cli_given_count;

static const char *expected(const struct cli_option *o)
{
	switch (o->kind) {
	case CLI_COUNT:
		return "a whole number";
	case CLI_SIZE:
		return "a size such as 4k, 1M or 10G";
	case CLI_DURATION:
		return "a time such as 500ms or 10s";
	default:
		return o->arg;
	}
}

static int take(const struct cli_option *o, const char *arg)
{
	struct cli_list *list = o->value;

	switch (o->kind) {
	case CLI_FLAG:
		*(bool *)o->value = true;
		return 0;
	case CLI_TEXT:
		*(const char **)o->value = arg;
		return 0;
	case CLI_LIST:
		if (list->count == CLI_LIST_MAX)
			return -E2BIG;
		list->items[list->count++] = arg;
		return 0;
	case CLI_COUNT:
		return parse_u64(arg, o->value);
	case CLI_SIZE:
		return parse_size(arg, o->value);
	case CLI_DURATION:
		return parse_duration_ns(arg, o->value);
	case CLI_CALL:
		return o->call(arg);
	}
	return -EINVAL;
}

static size_t count_options(const struct cli_command *c)
{
	size_t n = 0;

	while (c->options && c->options[n].name)
		n++;
	INVARIANT(n + 2 <= OPTIONS_MAX);
	return n;
}

/* getopt's tables from ours. Returns how many options there are. */
static size_t tables(const struct cli_command *c, struct option *longs, char *shorts)
{
	size_t n = count_options(c);
	char *s = shorts;

	*s++ = ':';
	for (size_t i = 0; i < n; i++) {
		const struct cli_option *o = &c->options[i];

		longs[i] = (struct option){ o->name, o->kind != CLI_FLAG, NULL, (int)(OPTION_BASE + i) };
		if (!o->short_name)
			continue;
		*s++ = o->short_name;
		if (o->kind != CLI_FLAG)
			*s++ = ':';
	}
	longs[n] = (struct option){ "help", 0, NULL, 'h' };
	longs[n + 1] = (struct option){ NULL, 0, NULL, 0 };
	*s++ = 'h';
	*s = 0;
	return n;
}

static const struct cli_option *option_of(const struct cli_command *c, size_t n, int code)
{
	if (code >= OPTION_BASE)
		return &c->options[code - OPTION_BASE];
	for (size_t i = 0; i < n; i++) {
		if (c->options[i].short_name == code)
			return &c->options[i];
	}
	return NULL;
}

static int wrong(const struct cli_command *c, int code, char **argv)
{
	const char *given = argv[optind - 1];

	if (code == ':')
		cli_usage("%s: option '%s' needs a value", c->name, given);
	else
		cli_usage("%s: no option '%s' ('penstock %s --help' lists them)", c->name, given, c->name);
	return -1;
}

int cli_parse(const struct cli_command *c, int argc, char **argv)
{
	struct option longs[OPTIONS_MAX];
	char shorts[2 * OPTIONS_MAX + 4];
	size_t n = tables(c, longs, shorts);
	int code, arguments;

	optind = 0;
	opterr = 0;
	while ((code = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct cli_option *o;

		if (code == 'h')
			return -2;
		if (code == '?' || code == ':')
			return wrong(c, code, argv);
		o = option_of(c, n, code);
		if (take(o, optarg) < 0) {
			cli_usage("%s: --%s: '%s': expected %s", c->name, o->name, optarg, expected(o));
			return -1;
		}
		if (cli_given_count < GIVEN_MAX)
			cli_given[cli_given_count++] = (struct cli_given){ o, optarg };
	}
	arguments = argc - optind;
	if (arguments < c->min_arguments) {
		cli_usage("%s: too few arguments: penstock %s %s", c->name, c->name, c->arguments);
		return -1;
	}
	if (c->max_arguments >= 0 && arguments > c->max_arguments) {
		cli_usage("%s: unexpected argument '%s'", c->name, argv[optind + c->max_arguments]);
		return -1;
	}
	memmove(argv, argv + optind, (size_t)arguments * sizeof(*argv));
	argv[arguments] = NULL;
	return arguments;
}

static void option_line(const char *name, char short_name, const char *arg, const char *help)
{
	char left[64];
	int n;

	n = snprintf(left, sizeof(left), "  %s%c%s--%s%s%s", short_name ? "-" : "  ",
		     short_name ? short_name : ' ', short_name ? ", " : " ", name, arg ? " " : "",
		     arg ? arg : "");
	if (n < HELP_COLUMN)
		printf("%-*s", HELP_COLUMN, left);
	else
		printf("%s\n%*s", left, HELP_COLUMN, "");
	printf("%s\n", help);
}

void cli_help(const struct cli_command *c)
{
	printf("usage: penstock %s %s\n\n%s\n\noptions:\n", c->name, c->arguments, c->description);
	for (const struct cli_option *o = c->options; o && o->name; o++)
		option_line(o->name, o->short_name, o->kind == CLI_FLAG ? NULL : o->arg, o->help);
	option_line("help", 'h', NULL, "show this");
}
