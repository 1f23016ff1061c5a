/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be asked of a running target: a request, one line of JSON, and its answer.
 *
 *	{"schema":"penstock.control/1","method":"ns.add","params":{"store":"memory:1G"}}
 *	{"schema":"penstock.control/1","ok":true,"result":{...}}
 *	{"schema":"penstock.control/1","ok":false,"error":{"code":"EEXIST","message":"..."}}
 *
 * A request is taken whole or refused whole: a parameter that is not known, is missing or is of
 * another kind is named in the answer. No socket here; control.h has that.
 */
#ifndef OPS_METHODS_H
#define OPS_METHODS_H

#include <stddef.h>

#include "ops/site.h"

#define CONTROL_SCHEMA "penstock.control/1"

struct methods {
	struct site *site;
	/* The configuration file, anew; NULL: there is none. */
	int (*load)(void *arg, struct config **ret_config, struct err *err);
	void *load_arg;
	/* Ends the target; @now: at once. */
	void (*drain)(void *arg, bool now);
	void *drain_arg;
};

/* What a removed namespace's commands are waited for before the answer: @settle_ns at most. */
#define METHODS_SETTLE_NS UINT64_C(2000000000)

/* The answer to @n bytes at @line, as text with a newline, for free(3). NULL: no memory. */
char *methods_answer(const struct methods *m, const char *line, size_t n);

/* What SIGHUP does. Logs what was wrong. */
int methods_reload(const struct methods *m, struct site_changes *ret_changes, struct err *err);

#endif
