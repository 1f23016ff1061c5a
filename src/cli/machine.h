/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader of figures has to know about where they come from: this machine, the way to the
 * target, the command that was given. Read from /proc and /sys when asked; what is not there is
 * left out or says "unknown".
 */
#ifndef CLI_MACHINE_H
#define CLI_MACHINE_H

#include "bench/bench.h"
#include "cli/cli.h"

/*
 * Begins a document of schema penstock.@command/1: label, time, the command as a shell takes it,
 * version, this machine, the volumes. @label may be NULL.
 */
struct json_object *machine_doc(const char *command, const char *label, const struct bench_target *t,
				const struct bench_result *r);

/* Adds the command as it was given, each word as a shell takes it. */
void machine_command(struct json_object *o);

/* "2026-11-30T22:15:00Z", now. */
const char *machine_time(char *buf, size_t n);

/* CPU time of process @pid so far. -errno. */
int machine_cpu_of(uint64_t pid, struct bench_cpu *ret);

#endif
