/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The direct way of a file volume: between the file and the memory of a GPU, past the loop and past
 * staging (path `gds`). Whether there is one is found out once, by the first who asks, since cuFile
 * takes its time to start and a volume that never sees a GPU must not pay for it.
 */
#ifndef VOLUME_DIRECT_H
#define VOLUME_DIRECT_H

#include <stdbool.h>

#include "base/err.h"
#include "memory/cuda-file.h"

struct command;
struct direct;
struct pst_memory;
struct pst_volume;
struct request;

struct direct *direct_new(const char *path, bool read_only);
struct direct *direct_free(struct direct *d);

/*
 * The file as cuFile has it, with @mem made ready for it; NULL, and @err (which may be NULL) says
 * why, where there is no direct way. Any thread; may block the first time.
 */
struct mem_gds_file *direct_file(const struct pst_volume *vol, struct pst_memory *mem, struct err *err);

/* May the next part of the request go that way? The rest is staged. */
bool direct_takes(const struct request *r);
/* Cuts and begins it. Ends with @done, on the port's thread. */
void direct_cut(struct command *c);
void direct_start(struct command *c, void (*done)(struct command *c));

#endif
