/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a volume with checkpoints: which are there and how they were made. It is written, and
 * flushed, before a checkpoint overwrites another one and after all ranks have flushed the new one;
 * so what it names is whole, whenever the power fails. JSON, one block of BOOK_BYTES.
 */
#ifndef BENCH_CHECKPOINT_BOOK_H
#define BENCH_CHECKPOINT_BOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "penstock.h"

enum {
	BOOK_BYTES = 4096,
	BOOK_ROOM = 1 << 20, /* checkpoints begin so far behind the head */
	BOOK_ALIGN = 1 << 16, /* so do the parts of ranks */
};

struct book {
	char model[32];
	uint32_t ranks;
	uint64_t scale_ppm;
	uint64_t seed;
	uint64_t run;	     /* of contents: tells those of two saves apart */
	bool known_contents; /* saved with verify */
	uint32_t volumes;    /* that it is spread over, and which this is */
	uint32_t volume;
	uint32_t slots;
	uint64_t slot_bytes;
	uint64_t oldest; /* checkpoints that are whole, numbered from 1; none if newest < oldest */
	uint64_t newest;
};

/* -EBADMSG: none is there; -EOPNOTSUPP: made by a later version. */
int book_parse(const char *text, size_t n, struct book *ret, struct err *err);
/* Writes at most BOOK_BYTES, padded with NUL. -ENOMEM */
int book_format(const struct book *b, char text[BOOK_BYTES]);

/* From and to a volume; block. */
int book_load(struct pst_context *ctx, struct pst_volume *vol, uint64_t offset, struct book *ret, struct err *err);
int book_store(struct pst_context *ctx, struct pst_volume *vol, uint64_t offset, const struct book *b,
	       struct err *err);

#endif
