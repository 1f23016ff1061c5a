/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounce buffers: aligned memory for what cannot go straight between a file and its owner's
 * memory, because that is unaligned, or because there is none (verify, compare). The pool is
 * bounded and made once; its pages cost nothing until used. When it is empty an operation waits in
 * line, holding at most its range: who holds a piece never waits for a range, so the line moves.
 */
#ifndef PENSTOCK_STORE_BOUNCE_H
#define PENSTOCK_STORE_BOUNCE_H

#include <pthread.h>
#include <stdint.h>

#include "base/list.h"
#include "store/store.h"

#define BOUNCE_PIECE (128u << 10) /* bytes; page-aligned */
#define BOUNCE_PIECES 64          /* 8 MiB a store, if ever all are in use */

struct bounce {
	uint8_t *memory;
	pthread_mutex_t mutex;
	struct list line; /* store_op.link */
	unsigned int free;
	uint8_t stack[BOUNCE_PIECES];
};

/* -ENOMEM */
int bounce_init(struct bounce *b);
/* Every piece is back. */
void bounce_deinit(struct bounce *b);

/*
 * True: op->bounce is a piece. False: @op stands in line, and once it is its turn op->bounce is
 * set and op->msg is posted to its loop. Any thread.
 */
bool bounce_get(struct bounce *b, struct store_op *op);
/* Gives op->bounce back, if it has one. Any thread. */
void bounce_put(struct bounce *b, struct store_op *op);

#endif
