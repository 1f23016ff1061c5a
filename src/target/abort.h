/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abort (NVMe Base 2.0, 5.1): best effort, as the standard has it.
 *
 * A command that has not begun (it waits for memory, for the fence or, being an Asynchronous Event
 * Request, for an event) is aborted at once. One whose data is on its way is marked: it ends with
 * Command Abort Requested when its data has arrived, because the stream cannot be told to stop; the
 * answer then is "not aborted". One in the store runs to its end.
 *
 * The queue may be on another core. The Abort command then waits while its tgt_abort travels there,
 * through an inbox, and back.
 */
#ifndef PENSTOCK_TARGET_ABORT_H
#define PENSTOCK_TARGET_ABORT_H

#include "nvme/status.h"

struct tgt_assoc;
struct tgt_req;

struct nvme_status tgt_abort_parse(struct tgt_req *req);

/* On the core of the queue whose command is to be aborted. */
void tgt_abort_take_inbox(struct tgt_assoc *a);
/* On the core of the admin queue. */
void tgt_abort_take_replies(struct tgt_assoc *a);
/* @a dies: nothing in its inbox will be aborted. The target's lock is held. */
void tgt_abort_refuse_inbox(struct tgt_assoc *a);

#endif
