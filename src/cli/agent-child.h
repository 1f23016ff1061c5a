/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measuring process of an agent: this program's own bench, started with arguments that came from
 * afar, held at the barrier until it is told to begin, and ended with whoever asked for it. It says
 * 'r' on one descriptor when everything is open, and begins when it reads a byte from another one
 * (PENSTOCK_BARRIER=READY:GO in its environment).
 */
#ifndef CLI_AGENT_CHILD_H
#define CLI_AGENT_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

enum { CHILD_TEXT_MAX = 32 << 20, CHILD_ERROR_MAX = 4096 };

struct child {
	pid_t pid; /* 0: none */
	int out, err, ready, go; /* our ends; -1: closed */
	char *text; /* its standard output */
	size_t len, cap;
	char said[CHILD_ERROR_MAX]; /* the end of its standard error */
	size_t said_len;
	bool is_ready;
	bool ended;
	int status; /* exit status; 128 + signal */
};

/* @argv: of `penstock`, from argv[0]; NULL at its end. */
int child_start(struct child *c, char *const *argv, struct err *err);
/* Takes what it has said, and notices its end. Does not wait. */
void child_look(struct child *c);
void child_go(struct child *c);
void child_signal(struct child *c, int sig);
/* Ends it, waits for it, frees everything. */
void child_end(struct child *c);

/* ---- in the child -------------------------------------------------------------------------- */

/* bench_target.ready of a bench that an agent has started; NULL: nobody has. */
typedef int (*child_ready_fn)(void *arg);
child_ready_fn child_barrier(void);

#endif
