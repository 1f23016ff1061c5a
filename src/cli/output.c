/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, JSON and the live line of progress. Data goes to stdout, all else to stderr. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "cli/cli.h"

enum { PROGRESS_INTERVAL_NS = 100000000, ERROR_MAX = 8192 };

bool cli_json;

/* Names of files and what a peer calls itself may hold anything, newlines and a terminal's commands. */
PRINTF_LIKE(1, 0)
static void say(const char *fmt, va_list args)
{
	char text[ERROR_MAX];

	vsnprintf(text, sizeof(text), fmt, args);
	for (char *p = text; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	}
	fprintf(stderr, "penstock: %s\n", text);
}

int cli_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
	return CLI_FAILED;
}

int cli_usage(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
	return CLI_USAGE;
}

int cli_output_format(const char *arg)
{
	if (strcmp(arg, "json") != 0 && strcmp(arg, "normal") != 0)
		return -EINVAL;
	cli_json = arg[0] == 'j';
	return 0;
}

static struct json_object *must(struct json_object *o)
{
	if (!o) {
		cli_error("out of memory");
		exit(CLI_FAILED);
	}
	return o;
}

static void add(struct json_object *o, const char *key, struct json_object *value)
{
	if (json_object_is_type(o, json_type_array))
		json_object_array_add(o, must(value));
	else
		json_object_object_add(o, key, must(value));
}

struct json_object *cli_json_new(const char *command)
{
	struct json_object *o = must(json_object_new_object());
	char schema[64];

	snprintf(schema, sizeof(schema), "penstock.%s/1", command);
	cli_json_str(o, "schema", schema);
	return o;
}

void cli_json_str(struct json_object *o, const char *key, const char *value)
{
	add(o, key, json_object_new_string(value));
}

void cli_json_u64(struct json_object *o, const char *key, uint64_t value)
{
	add(o, key, json_object_new_uint64(value));
}

void cli_json_double(struct json_object *o, const char *key, double value)
{
	char text[40];

	/* json-c prints 17 digits, most of them noise. */
	snprintf(text, sizeof(text), "%.9g", value);
	add(o, key, json_object_new_double_s(value, text));
}

void cli_json_bool(struct json_object *o, const char *key, bool value)
{
	add(o, key, json_object_new_boolean(value));
}

struct json_object *cli_json_object(struct json_object *o, const char *key)
{
	struct json_object *child = must(json_object_new_object());

	add(o, key, child);
	return child;
}

struct json_object *cli_json_array(struct json_object *o, const char *key)
{
	struct json_object *child = must(json_object_new_array());

	add(o, key, child);
	return child;
}

int cli_json_print(struct json_object *o)
{
	const char *text = json_object_to_json_string_ext(
		o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
	int rc = puts(text) == EOF ? cli_output_error(errno) : cli_output_done();

	json_object_put(o);
	return rc;
}

uint64_t cli_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void cli_progress_begin(struct cli_progress *p, const char *what, uint64_t total)
{
	*p = (struct cli_progress){ .what = what, .total = total, .begun_ns = cli_now() };
	p->shown_ns = p->begun_ns;
	p->on = isatty(STDERR_FILENO) == 1;
}

void cli_progress_update(struct cli_progress *p, uint64_t done)
{
	char moved[FORMAT_MAX], all[FORMAT_MAX], rate[FORMAT_MAX];
	uint64_t now;
	double seconds, per_second;

	if (!p->on)
		return;
	now = cli_now();
	if (now - p->shown_ns < PROGRESS_INTERVAL_NS)
		return;
	p->shown_ns = now;
	p->drawn = true;
	seconds = (double)(now - p->begun_ns) / 1e9;
	per_second = (double)done / seconds;
	fprintf(stderr, "\r%s: %s", p->what, format_size(done, moved, sizeof(moved)));
	if (p->total > 0)
		fprintf(stderr, " of %s (%.0f %%)", format_size(p->total, all, sizeof(all)),
			100.0 * (double)done / (double)p->total);
	fprintf(stderr, ", %s/s", format_size((uint64_t)per_second, rate, sizeof(rate)));
	if (p->total > done && per_second > 0)
		fprintf(stderr, ", %.0f s left", (double)(p->total - done) / per_second);
	fputs("\033[K", stderr);
	fflush(stderr);
}

void cli_progress_end(struct cli_progress *p)
{
	if (p->drawn)
		fputs("\r\033[K", stderr);
	p->drawn = false;
}
