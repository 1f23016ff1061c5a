/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands of `penstock` share: the table of commands and of their options (from which
 * parsing, --help and the test of the shell completion are made), exit statuses, the one-line
 * error, progress and JSON. One file per command; main.c has the one table.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

/* Exit statuses; part of the contract with scripts. */
enum cli_status {
	CLI_DONE = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_REQUIRE = 3, /* a --require-... was not met */
};

enum cli_kind {
	CLI_FLAG,     /* bool */
	CLI_TEXT,     /* const char * */
	CLI_LIST,     /* struct cli_list: may be repeated */
	CLI_COUNT,    /* uint64_t */
	CLI_SIZE,     /* uint64_t, bytes: k M G T */
	CLI_DURATION, /* uint64_t, nanoseconds: us ms s */
	CLI_CALL,     /* int (*)(const char *arg): 0, or -errno for a bad value */
};

enum { CLI_LIST_MAX = 64 };

struct cli_list {
	const char *items[CLI_LIST_MAX];
	size_t count;
};

/* One option. @name without dashes; @short_name 0 for none; @arg names the value in --help. */
struct cli_option {
	const char *name;
	char short_name;
	enum cli_kind kind;
	void *value; /* by kind; filled in when the option is given */
	const char *arg;
	const char *help;
	int (*call)(const char *arg);
};

struct cli_command {
	const char *name;
	const char *summary;	      /* one line, for `penstock --help` */
	const char *arguments;	      /* "URI [--offset N]", for the usage line */
	const char *description;      /* a paragraph or two, for --help */
	const struct cli_option *options; /* ends with a NULL name; NULL for none */
	int min_arguments;
	int max_arguments; /* -1: any number */
	int (*run)(int argc, char **argv); /* arguments only; returns enum cli_status */
};

/* Every command, ends with a NULL name. */
extern const struct cli_command cli_commands[];

/*
 * Parses options (anywhere among the arguments, "--" ends them) and leaves the arguments in argv.
 * Returns their number; -1 after it has said what was wrong; -2 when --help was asked for.
 */
int cli_parse(const struct cli_command *c, int argc, char **argv);
void cli_help(const struct cli_command *c);

/* Options as they were given, in order: for whoever hands them on. */
struct cli_given {
	const struct cli_option *option;
	const char *arg; /* NULL: a flag */
};

extern struct cli_given cli_given[];
extern size_t cli_given_count;

/* First and last thing in main(): see stdio.c. Returns @status, or CLI_FAILED if the output is not out. */
void cli_stdio_begin(void);
int cli_stdio_end(int status);
/* Is all of standard output out? CLI_DONE, or CLI_FAILED when it was said why not, once. */
int cli_output_done(void);
/* For who writes to the descriptor: says it, unless the reader has gone. CLI_FAILED. */
int cli_output_error(int errnum);

/*
 * "penstock: ..." on stderr, one line whatever is in it; returns CLI_FAILED, or CLI_USAGE.
 */
int cli_error(const char *fmt, ...) PRINTF_LIKE(1, 2);
int cli_usage(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* --output-format normal|json, for every command that reports. */
extern bool cli_json;
int cli_output_format(const char *arg);
#define CLI_OPTION_OUTPUT                                                                          \
	{ "output-format", 'o', CLI_CALL, NULL, "normal|json", "how to report (default normal)",   \
	  cli_output_format }

/* A JSON object with "schema": "penstock.<command>/1". Cannot fail (ends the program). */
struct json_object *cli_json_new(const char *command);
void cli_json_str(struct json_object *o, const char *key, const char *value);
void cli_json_u64(struct json_object *o, const char *key, uint64_t value);
void cli_json_double(struct json_object *o, const char *key, double value);
void cli_json_bool(struct json_object *o, const char *key, bool value);
struct json_object *cli_json_object(struct json_object *o, const char *key);
struct json_object *cli_json_array(struct json_object *o, const char *key);
/* Prints it on stdout with a newline, and frees it. CLI_FAILED if stdout cannot take it. */
int cli_json_print(struct json_object *o);

/* Monotonic nanoseconds. */
uint64_t cli_now(void);

/* A line on stderr with rate and time left, on a terminal only, ten times a second at most. */
struct cli_progress {
	const char *what;
	uint64_t total; /* bytes; 0: unknown */
	uint64_t begun_ns;
	uint64_t shown_ns;
	bool on;
	bool drawn;
};

void cli_progress_begin(struct cli_progress *p, const char *what, uint64_t total);
void cli_progress_update(struct cli_progress *p, uint64_t done);
/* Removes the line. */
void cli_progress_end(struct cli_progress *p);

int cmd_serve(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_discover(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_read(int argc, char **argv);
int cmd_write(int argc, char **argv);
int cmd_dataset(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_agent(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

extern const struct cli_option serve_options[], ctl_options[], discover_options[], info_options[], read_options[],
	write_options[], dataset_options[], bench_options[], sweep_options[], agent_options[], doctor_options[];

#endif
