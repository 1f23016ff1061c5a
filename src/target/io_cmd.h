/* SPDX-License-Identifier: Apache-2.0 */
/*
 * I/O commands of the NVM command set: checked, then turned into store operations. One table says
 * which there are; ONCS of Identify Controller and the effects log are made from it.
 */
#ifndef PENSTOCK_TARGET_IO_CMD_H
#define PENSTOCK_TARGET_IO_CMD_H

#include <stdbool.h>
#include <stdint.h>

#include "nvme/status.h"
#include "store/store.h"

struct tgt_req;

/* Sets dir, data_len and exec of @req, which is on an I/O queue, or says what is wrong. */
struct nvme_status tgt_io_parse(struct tgt_req *req);

/* Entry of the effects log for an I/O opcode; 0: not supported. */
uint32_t tgt_io_effects(uint8_t opc);
uint16_t tgt_io_oncs(void);

/*
 * Submits an operation for @req to @s. True: it has ended, req->op.result is set. False:
 * req->stored() is called when it has, unless it is of a dead association, which only releases it.
 * Data, if any, is the request's buffer.
 */
bool tgt_store_submit(struct tgt_req *req, struct store *s, enum store_kind kind,
		      unsigned int flags, uint64_t offset, uint64_t length);

/* STORE_FUA if the command, or the write cache being off, asks for it. */
unsigned int tgt_io_fua(const struct tgt_req *req);

/* Runs a command whose data is there, unless a reservation forbids it by now. */
void tgt_io_run(struct tgt_req *req);

/* Answers an I/O command that is no store's business any more, and counts it. */
void tgt_io_answer(struct tgt_req *req, struct nvme_status st);

/* Answers an I/O command, and counts it. @result: of the store, 0 or -errno. */
void tgt_io_complete(struct tgt_req *req, int result);

/* Dataset Management: dsm.c. */
struct nvme_status tgt_dsm_parse(struct tgt_req *req);
/* The namespace of the command, pinned; refused when it is not there. For parsers. */
struct nvme_status tgt_io_find_ns(struct tgt_req *req);

#endif
