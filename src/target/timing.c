/* SPDX-License-Identifier: Apache-2.0 */
#include "target/timing.h"

#include "io/io.h"
#include "nvme/vendor.h"
#include "target/assoc.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/req.h"

/* ---- the feature ------------------------------------------------------------------------------- */

static bool valid(const struct tgt_ctrl *c, uint16_t qid)
{
	return qid == NVME_TIMES_ALL_QUEUES || (qid >= 1 && qid <= c->target->limits.io_queues);
}

static bool is_on(const struct tgt_ctrl *c, uint16_t qid)
{
	return atomic_load_explicit(&c->timed_queues[qid / 64], memory_order_relaxed) >> qid % 64 & 1;
}

bool tgt_timing_set(struct tgt_ctrl *c, uint16_t qid, bool on)
{
	uint16_t first = qid == NVME_TIMES_ALL_QUEUES ? 1 : qid;
	uint16_t last = qid == NVME_TIMES_ALL_QUEUES ? (uint16_t)c->target->limits.io_queues : qid;

	if (!valid(c, qid))
		return false;
	for (uint16_t i = first; i <= last; i++) {
		if (on)
			atomic_fetch_or(&c->timed_queues[i / 64], UINT64_C(1) << i % 64);
		else
			atomic_fetch_and(&c->timed_queues[i / 64], ~(UINT64_C(1) << i % 64));
	}
	return true;
}

bool tgt_timing_get(const struct tgt_ctrl *c, uint16_t qid, bool *ret_on)
{
	bool on = true;

	if (!valid(c, qid))
		return false;
	if (qid != NVME_TIMES_ALL_QUEUES)
		on = is_on(c, qid);
	for (uint32_t i = 1; qid == NVME_TIMES_ALL_QUEUES && i <= c->target->limits.io_queues; i++)
		on = on && is_on(c, (uint16_t)i);
	*ret_on = on;
	return true;
}

/* ---- a command --------------------------------------------------------------------------------- */

void tgt_timing_begin(struct tgt_req *req)
{
	req->timed = nvme_cmd_timed(&req->cmd) && is_on(req->assoc->ctrl, req->assoc->qid);
	req->queue_ns = 0;
	req->store_ns = 0;
}

/* What a Write's data takes to come is the network's. */
static bool waits_for_host(const struct tgt_req *req)
{
	return req->state == TGT_REQ_R2T || req->state == TGT_REQ_CAPSULE;
}

void tgt_timing_leave(struct tgt_req *req)
{
	if (!waits_for_host(req) && req->state != TGT_REQ_STORE)
		req->queue_ns += io_now(req->assoc->reactor->loop) - req->since;
}

void tgt_timing_store(struct tgt_req *req)
{
	struct io_loop *loop = req->assoc->reactor->loop;

	/* The rest of this turn, up to here; leaving the state adds what was before it. */
	req->store_ns = io_now_precise(loop);
	req->queue_ns += req->store_ns - io_now(loop);
}

uint64_t tgt_timing_result(const struct tgt_req *req)
{
	struct io_loop *loop = req->assoc->reactor->loop;
	uint64_t now = io_now_precise(loop), done = io_now(loop);

	/* A store that took no turn was done just now; another when the turn that brought it began. */
	done = done > req->store_ns ? done : now;
	return nvme_times_encode(&(struct nvme_times){
		.queue = req->queue_ns + (now - done),
		.media = done - req->store_ns,
	});
}
