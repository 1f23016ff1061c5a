/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fused operation Compare and Write (NVMe Base 2.0, 3.4.2; NVM Command Set 1.0, 2.1.3.1): two
 * commands that are next to each other on one queue and are done as one.
 *
 * The pair has one buffer, first what is expected and then what replaces it, which is what the
 * store wants to see. Memory for both is taken at once: when the second has come, or with the first
 * if that brings its data in its capsule. So no command of a pair holds half of what the pair
 * needs, and a first whose second never comes holds little, until limits.transfer_ns is over.
 *
 * Two commands, two answers. The pair goes to the store when the data of both is there, in whatever
 * order that came; what is wrong with either is said then, because a stream cannot be told to stop.
 * The command that is at fault says what it was, the other Command Aborted due to Failed Fused
 * Command. A second without a first before it, and a first with anything else behind it, are
 * aborted due to Missing Fused Command.
 */
#ifndef PENSTOCK_TARGET_FUSED_H
#define PENSTOCK_TARGET_FUSED_H

#include <stdbool.h>
#include <stdint.h>

#include "nvme/status.h"

struct target_limits;
struct tgt_assoc;
struct tgt_req;

/* What the next command on a queue is compared with. */
enum tgt_fused_expect {
	TGT_FUSED_NONE,
	TGT_FUSED_SECOND, /* a first has come: assoc.fused_first, if it is not yet answered */
	TGT_FUSED_FAILED, /* a first has come and failed: its second shares its fate */
};

/* How many bytes of blocks one operation covers at most: its buffers are what a command may take. */
uint32_t tgt_fused_max(const struct target_limits *lim);

/* Whether FUSE of this command may be what it is: it is on I/O queue @qid, or another. */
struct nvme_status tgt_fused_check(const struct tgt_req *req);

/*
 * A command that is part of a pair, or that follows a first. @st: what its parser said. Like
 * tgt_xfer_begin().
 */
bool tgt_fused_begin(struct tgt_req *req, uint32_t capsule, struct nvme_status st);

/* The pair has memory: asks for the data that is not yet there. */
void tgt_fused_start(struct tgt_req *first);
/* The data of @req is there. */
void tgt_fused_ready(struct tgt_req *req);
/* @req is answered with @status: so is the other, if it is not yet. */
void tgt_fused_ends(struct tgt_req *req);

/* Aborts the command that waits for the other of its pair, if that can be done at once. */
bool tgt_fused_abort(struct tgt_req *req);
/* When the first that waits for its second has waited long enough; UINT64_MAX: never. */
uint64_t tgt_fused_deadline(const struct tgt_assoc *a);
/* It has. */
void tgt_fused_expire(struct tgt_assoc *a);

#endif
