/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads from a store that is in memory: what is sent is the store's own memory. No buffer is taken
 * and nothing is copied but by the kernel. The blocks are read when there is room to send them: they
 * are held still (store_lend) while a list is gathered and sent, a system call's length, and never
 * longer, however slow the host is.
 *
 * A host may take a part of a list and leave off within a logical block. The rest of that block is
 * kept, because it must be of the same time as the part that went out; the blocks behind it may be
 * of a later time, as in any read that is longer than the atomic unit (NVM Command Set 1.0, 2.1.4).
 * With data digests that goes for a PDU as a whole, so there PDUs are short.
 */
#ifndef PENSTOCK_TARGET_LEND_H
#define PENSTOCK_TARGET_LEND_H

#include <stdbool.h>
#include <stdint.h>

struct tgt_assoc;
struct tgt_req;

enum {
	/* What may have to be kept: the largest logical block, or with data digests a PDU. */
	TGT_SPLIT_BYTES = 4096,
	TGT_SPLIT_DIGEST_BYTES = 32 << 10,
	/* On loan at a time, so that writers elsewhere wait for 50 us or so and not for a list. */
	TGT_LEND_MAX = 256 << 10,
};

/* Of an association: what is kept of a block, or PDU, that was sent in part. */
struct tgt_split {
	uint32_t from; /* of the PDU's payload; */
	uint32_t to;   /* equal: nothing */
	uint8_t *bytes;
};

/* Memory of @s for a queue with or without data digests. -ENOMEM. */
int tgt_split_init(struct tgt_split *s, bool ddgst);
void tgt_split_deinit(struct tgt_split *s);

/* Whether this Read, which was found to be in order, is answered so. */
bool tgt_lend_possible(const struct tgt_req *req);
/* Bytes of the next C2HData, of @left. */
uint32_t tgt_lend_chunk(const struct tgt_req *req, uint32_t left);
/* The C2HData in req->data_pdu was built: its payload is lent when it is gathered. */
void tgt_lend_begin(struct tgt_req *req);
/* Its last byte was sent, or it was dropped. */
void tgt_lend_done(struct tgt_req *req);
/* What was gathered was sent as far as it was: nothing stays lent. */
void tgt_lend_take_back(struct tgt_assoc *a);

#endif
