/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dataset Management (NVM Command Set 1.0, 3.2.3): up to 256 ranges to deallocate, one store
 * operation after the other. All ranges are checked before the first is touched, so the command
 * either does nothing or goes through. Without Deallocate it is a hint that we have no use for.
 */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/util.h"
#include "nvme/cmd-nvm.h"
#include "target/admin.h"
#include "target/assoc.h"
#include "target/core.h"
#include "target/io_cmd.h"

/* Range @i of the data. */
static struct nvme_dsm_range range_at(const struct tgt_req *req, uint32_t i)
{
	size_t offset = (size_t)i * sizeof(struct nvme_dsm_range);
	struct nvme_dsm_range r;
	uint8_t *to = (uint8_t *)&r;
	size_t left = sizeof(r);

	for (int k = 0; k < req->buf.niov && left > 0; k++) {
		const struct iovec *v = &req->buf.iov[k];
		size_t some;

		if (offset >= v->iov_len) {
			offset -= v->iov_len;
			continue;
		}
		some = MIN(left, v->iov_len - offset);
		memcpy(to, (const uint8_t *)v->iov_base + offset, some);
		to += some;
		left -= some;
		offset = 0;
	}
	INVARIANT(left == 0);
	return r;
}

static bool ranges_within(const struct tgt_req *req)
{
	for (uint32_t i = 0; i < nvme_dsm_nr(&req->cmd); i++) {
		struct nvme_dsm_range r = range_at(req, i);

		if (!range_within(le64_to_cpu(r.slba), le32_to_cpu(r.nlb), req->ns->blocks))
			return false;
	}
	return true;
}

/* Advice that a store cannot follow is no error. */
static int advised(int result)
{
	return result == -EOPNOTSUPP ? 0 : result;
}

/* From range req->step on. */
static void discard_next(struct tgt_req *req)
{
	const struct tgt_ns *ns = req->ns;
	int result = 0;

	while (result == 0 && req->step < nvme_dsm_nr(&req->cmd)) {
		struct nvme_dsm_range r = range_at(req, req->step++);
		uint64_t blocks = le32_to_cpu(r.nlb);

		if (blocks == 0)
			continue;
		if (!tgt_store_submit(req, ns->store, STORE_DISCARD, 0,
				      le64_to_cpu(r.slba) << ns->block_shift,
				      blocks << ns->block_shift))
			return;
		result = advised(req->op.result);
	}
	tgt_io_complete(req, result);
}

static void discard_stored(struct tgt_req *req)
{
	int result = advised(req->op.result);

	if (result == 0)
		discard_next(req);
	else
		tgt_io_complete(req, result);
}

static void exec_dsm(struct tgt_req *req)
{
	if (!ranges_within(req))
		tgt_req_fail(req, NVME_SC_LBA_OUT_OF_RANGE);
	else if (!(nvme_dsm_attr(&req->cmd) & NVME_DSM_DEALLOCATE) || !req->ns->can_discard)
		tgt_io_complete(req, 0);
	else
		discard_next(req);
}

struct nvme_status tgt_dsm_parse(struct tgt_req *req)
{
	struct nvme_status st = tgt_io_find_ns(req);

	if (!nvme_status_ok(st))
		return st;
	if (req->ns->read_only && (nvme_dsm_attr(&req->cmd) & NVME_DSM_DEALLOCATE))
		return nvme_status_dnr(NVME_SC_WRITE_PROTECTED);
	req->exec = exec_dsm;
	req->stored = discard_stored;
	/* More than the ranges need is accepted: some hosts always send a page. */
	return tgt_needs_input(req,
			       (uint64_t)nvme_dsm_nr(&req->cmd) * sizeof(struct nvme_dsm_range));
}
