/* SPDX-License-Identifier: Apache-2.0 */
/* bench --clients: one measurement from several machines at once. */
#ifndef CLI_CLIENTS_H
#define CLI_CLIENTS_H

#include <json-c/json.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/err.h"

enum { CLIENTS_MAX = 64 };

/*
 * Runs @arguments (as an agent takes them, without --part) on every agent of @list, "HOST[:PORT],...",
 * reports. @stop: finish early. @label: of the report. Returns enum cli_status.
 */
int clients_run(const char *list, const char *token_file, struct json_object *arguments, const char *label,
		atomic_bool *stop);

/* ---- clients-merge.c ------------------------------------------------------------------------- */

/*
 * The document of all from the documents of each: rates and counts summed, percentiles from all
 * latencies together, times the longest. -EBADMSG: one of them lacks what is needed.
 */
int clients_merge(struct json_object *const *docs, const char *const *names, size_t n, struct json_object **ret,
		  struct err *err);

#endif
