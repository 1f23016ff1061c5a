/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving a command's data: SGL rules, memory, in-capsule data, R2T and H2CData, C2HData and the
 * response (NVMe/TCP Transport 1.0, 3.3.2 and 3.4).
 */
#ifndef PENSTOCK_TARGET_XFER_H
#define PENSTOCK_TARGET_XFER_H

#include <stdbool.h>
#include <stdint.h>

#include "nvme/status.h"
#include "target/arena.h"
#include "target/req.h"

struct tgt_assoc;

/*
 * The command was understood: req->dir, data_len and exec are set. @capsule: bytes of data that its
 * capsule brings, which must be landed or discarded by whoever called. Moves the data and then runs
 * exec, now or later; or answers with an error. Returns whether the capsule's data is taken care
 * of: true, the request will say where it goes (maybe once there is memory); false, discard it.
 */
bool tgt_xfer_begin(struct tgt_req *req, uint32_t capsule);

/*
 * Parts of that, for fused operations. The SGL must be one of the two descriptors, used as it may
 * be (Transport 1.0, 3.3.2.2); data in the capsule then lands, with memory or as soon as there is
 * some; data that travels in PDUs of its own waits in line for memory; R2T asks for it.
 */
struct nvme_status tgt_xfer_check_sgl(const struct tgt_req *req, uint32_t capsule);
void tgt_xfer_begin_capsule(struct tgt_req *req, uint32_t capsule);
void tgt_xfer_begin_transport(struct tgt_req *req);
void tgt_xfer_start_r2t(struct tgt_req *req);

/* The present capsule's data waits for memory: is there some now? False: still not. */
bool tgt_xfer_retry_capsule(struct tgt_assoc *a);
/* The data of the present PDU, for req, is complete. */
void tgt_xfer_capsule_done(struct tgt_req *req, bool digest_ok);

/* An H2CData PDU has come. False: it was wrong, and the association has failed. */
bool tgt_xfer_h2c(struct tgt_assoc *a);
void tgt_xfer_h2c_done(struct tgt_req *req, bool digest_ok);

/* Memory was given back: tries the requests that wait, in order. */
enum tgt_arena_result tgt_xfer_retry(struct tgt_arena_waiter *w);

/* req->status is set: queues data (on success) and response. */
void tgt_xfer_answer(struct tgt_req *req);

/* Whatever slot or landing refers to @req refers to it no more. */
void tgt_xfer_forget(struct tgt_req *req);
void tgt_xfer_put_buffer(struct tgt_req *req);

#endif
