/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of buffers through which `read` and `write` stream: requests of several buffers are in
 * flight at once, and the stream sees them in order.
 */
#ifndef CLI_COPY_H
#define CLI_COPY_H

#include "cli/into.h"
#include "cli/volume.h"

enum {
	COPY_SLOTS = 32,	     /* requests in flight */
	COPY_CHUNK_MAX = 1024 * 1024, /* bytes of one; 32 MiB of memory in all */
};

struct copy_slot {
	uint64_t offset;
	uint64_t length; /* 0: free */
	bool done;
	bool read;
	struct pst_completion completion;
};

struct copy {
	struct cli_volume *v;
	struct pst_memory *mem;
	uint8_t *base; /* where the CPU sees the data: mem itself, or a copy of it */
	bool copied;
	uint64_t path_bytes[8]; /* by enum pst_path */
	uint64_t chunk;
	uint64_t head; /* next slot to submit */
	uint64_t tail; /* oldest slot in flight */
	struct copy_slot slots[COPY_SLOTS];
};

/* Data goes through memory as @into says: a GPU's, if it does. */
int copy_init(struct copy *c, struct cli_volume *v, const char *command, const struct cli_into *into);
/* The path that data took. */
enum pst_path copy_path(const struct copy *c);
void copy_deinit(struct copy *c);

static inline bool copy_full(const struct copy *c)
{
	return c->head - c->tail == COPY_SLOTS;
}

static inline bool copy_empty(const struct copy *c)
{
	return c->head == c->tail;
}

/* The buffer of the slot that the next submit uses. */
void *copy_next(struct copy *c);
int copy_submit(struct copy *c, bool write, uint64_t offset, uint64_t length);
/* Waits for the oldest request; its buffer stays valid until copy_pop(). */
int copy_oldest(struct copy *c, struct copy_slot **ret_slot, void **ret_data);
void copy_pop(struct copy *c);
/* Waits for everything in flight, whatever its result. */
void copy_drain(struct copy *c);

#endif
