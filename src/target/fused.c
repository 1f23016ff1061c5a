/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fused operations; the idea is in fused.h.
 */
#include "target/fused.h"

#include <errno.h>

#include "base/check.h"
#include "base/util.h"
#include "nvme/cmd-nvm.h"
#include "target/assoc.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/fence.h"
#include "target/io_cmd.h"
#include "target/resv-ns.h"
#include "target/xfer.h"

static struct nvme_status bad(enum nvme_sc code)
{
	return nvme_status_dnr(code);
}

/* Not for its own fault: the pair may succeed when it is sent again. */
static struct nvme_status failed(void)
{
	return nvme_status(NVME_SC_ABORTED_FAILED_FUSED);
}

uint32_t tgt_fused_max(const struct target_limits *lim)
{
	return MIN(MAX(lim->mdts / 2, 4096u), STORE_FUSED_MAX);
}

struct nvme_status tgt_fused_check(const struct tgt_req *req)
{
	const struct tgt_assoc *a = req->assoc;
	uint8_t opc = req->cmd.opc;

	if (a->state < TGT_ASSOC_LIVE || a->qid == 0)
		return bad(NVME_SC_INVALID_FIELD);
	if (opc == (req->fuse == NVME_FUSE_FIRST ? NVME_NVM_COMPARE : NVME_NVM_WRITE) &&
	    req->fuse != NVME_FUSE_RESERVED)
		return nvme_status_success();
	return bad(NVME_SC_INVALID_FIELD);
}

static bool has_data(const struct tgt_req *req)
{
	return req->xfer == req->data_len;
}

static bool in_capsule(const struct tgt_req *req)
{
	return req->cmd.sgl.id == NVME_SGL_ID_IN_CAPSULE;
}

/* Waits for the other. */
static void wait_for_other(struct tgt_req *req)
{
	if (req->state != TGT_REQ_FUSED)
		tgt_req_set_state(req, TGT_REQ_FUSED);
	list_del(&req->link);
	list_add_tail(&req->assoc->fused, &req->link);
}

/* Answers both, each with its own. */
static void end_pair(struct tgt_req *first, struct nvme_status st_first,
		     struct nvme_status st_second)
{
	struct tgt_req *second = first->other;

	first->other = second->other = NULL;
	tgt_io_answer(first, st_first);
	tgt_io_answer(second, st_second);
}

void tgt_fused_ends(struct tgt_req *req)
{
	struct tgt_req *other = req->other;
	struct tgt_assoc *a = req->assoc;

	if (a->fused_first == req) {
		a->fused_first = NULL;
		a->fused_expect = TGT_FUSED_FAILED;
	}
	if (!other)
		return;
	req->other = other->other = NULL;
	tgt_io_answer(other, failed());
}

/* ---- doing it -------------------------------------------------------------------------------- */

static struct nvme_status part(const struct tgt_req *req, int result, enum nvme_media_op op)
{
	return result == 0 ? nvme_status_success() : nvme_status_from_errno(result, op);
}

/*
 * Where the store failed it does not say in which half, so neither command may claim that the
 * blocks are as they were.
 */
static void pair_done(struct tgt_req *first)
{
	int r = first->op.result;

	if (r == -EILSEQ)
		end_pair(first, part(first, r, NVME_MEDIA_COMPARE), failed());
	else
		end_pair(first, part(first, r, NVME_MEDIA_COMPARE),
			 part(first, r, NVME_MEDIA_WRITE));
}

static void exec_pair(struct tgt_req *first)
{
	const struct tgt_ns *ns = first->ns;
	struct nvme_status conflict = bad(NVME_SC_RESERVATION_CONFLICT);

	list_del(&first->link);
	if (tgt_resv_conflicts(first, TGT_ACCESS_WRITE)) {
		/* Whose fault it is: some reservations let everybody read. */
		if (tgt_resv_conflicts(first, TGT_ACCESS_READ))
			end_pair(first, conflict, failed());
		else
			end_pair(first, failed(), conflict);
		return;
	}
	if (tgt_store_submit(first, ns->store, STORE_COMPARE_WRITE, tgt_io_fua(first->other),
			     nvme_cmd_slba(&first->cmd) << ns->block_shift, first->data_len))
		pair_done(first);
}

/* What a command of the pair brought upon itself while its data came. */
static struct nvme_status verdict(struct tgt_req *req)
{
	if (req->bad_data) {
		tgt_count(&req->assoc->reactor->stats.ddgst_errors, 1);
		return nvme_status(NVME_SC_TRANSIENT_TRANSPORT);
	}
	if (req->abort)
		return nvme_status(NVME_SC_ABORT_REQUESTED);
	return failed();
}

static void run_pair(struct tgt_req *first)
{
	struct tgt_req *second = first->other;

	if (first->bad_data || first->abort || second->bad_data || second->abort) {
		struct nvme_status st = verdict(first);

		end_pair(first, st, verdict(second));
		return;
	}
	first->exec = exec_pair;
	first->stored = pair_done;
	if (!tgt_fence_holds(first->assoc)) {
		exec_pair(first);
		return;
	}
	list_del(&first->link);
	tgt_fence_wait(first);
}

void tgt_fused_ready(struct tgt_req *req)
{
	wait_for_other(req);
	if (!req->other) {
		if (req->abort)
			tgt_req_complete(req, nvme_status(NVME_SC_ABORT_REQUESTED));
		return;
	}
	if (has_data(req->other))
		run_pair(req->fuse == NVME_FUSE_FIRST ? req : req->other);
}

static void ask(struct tgt_req *req)
{
	if (in_capsule(req))
		return; /* it has come, or is about to */
	list_del(&req->link);
	tgt_xfer_start_r2t(req);
}

void tgt_fused_start(struct tgt_req *first)
{
	struct tgt_req *second = first->other;

	ask(first);
	ask(second);
}

/* ---- pairing --------------------------------------------------------------------------------- */

/*
 * In-capsule data of a pair fills its capsule: there is no room in the pair's buffer for more, and
 * nobody sends any.
 */
static struct nvme_status check_data(const struct tgt_req *req, uint32_t capsule)
{
	struct nvme_status st = tgt_xfer_check_sgl(req, capsule);

	if (!nvme_status_ok(st))
		return st;
	if (req->data_len > tgt_fused_max(&req->assoc->target->limits))
		return bad(NVME_SC_ATOMIC_UNIT_EXCEEDED);
	if (in_capsule(req) && capsule != req->data_len)
		return bad(NVME_SC_SGL_INVALID_OFFSET);
	return st;
}

static bool begin_first(struct tgt_req *first, uint32_t capsule)
{
	struct tgt_assoc *a = first->assoc;

	a->fused_expect = TGT_FUSED_SECOND;
	a->fused_first = first;
	if (in_capsule(first)) {
		tgt_xfer_begin_capsule(first, capsule);
		return true;
	}
	wait_for_other(first);
	return false;
}

static bool match(const struct tgt_req *first, const struct tgt_req *second)
{
	return nvme_cmd_nsid(&first->cmd) == nvme_cmd_nsid(&second->cmd) &&
	       nvme_cmd_slba(&first->cmd) == nvme_cmd_slba(&second->cmd) &&
	       nvme_cmd_nlb(&first->cmd) == nvme_cmd_nlb(&second->cmd);
}

static bool begin_second(struct tgt_req *first, struct tgt_req *second, uint32_t capsule)
{
	first->other = second;
	second->other = first;
	/* Different ranges: Invalid Field for both (NVM Command Set 1.0, 2.1.3.1). */
	if (!match(first, second)) {
		end_pair(first, bad(NVME_SC_INVALID_FIELD), bad(NVME_SC_INVALID_FIELD));
		return false;
	}
	if (in_capsule(second)) {
		tgt_xfer_begin_capsule(second, capsule);
		return true;
	}
	wait_for_other(second);
	if (first->buf.niov > 0) {
		ask(second);
	} else {
		list_del(&first->link);
		tgt_xfer_begin_transport(first);
	}
	return false;
}

/* The command behind a first is none of its: the first ends without having done anything. */
static void miss(struct tgt_assoc *a)
{
	struct tgt_req *first = a->fused_first;

	a->fused_first = NULL;
	a->fused_expect = TGT_FUSED_NONE;
	if (first)
		tgt_io_answer(first, bad(NVME_SC_ABORTED_MISSING_FUSED));
}

static bool refuse(struct tgt_req *req, struct nvme_status st)
{
	tgt_req_complete(req, st);
	return false;
}

bool tgt_fused_begin(struct tgt_req *req, uint32_t capsule, struct nvme_status st)
{
	struct tgt_assoc *a = req->assoc;
	enum tgt_fused_expect expect = a->fused_expect;
	struct tgt_req *first = a->fused_first;

	if (req->fuse != NVME_FUSE_SECOND)
		miss(a);
	if (req->fuse == NVME_FUSE_NONE) {
		if (nvme_status_ok(st))
			return tgt_xfer_begin(req, capsule);
		tgt_req_complete(req, st);
		return false;
	}
	req->timed = false; /* the store sees one of them, for both */
	if (nvme_status_ok(st))
		st = check_data(req, capsule);
	if (req->fuse != NVME_FUSE_SECOND) {
		if (nvme_status_ok(st))
			return begin_first(req, capsule);
		if (req->fuse == NVME_FUSE_FIRST)
			a->fused_expect = TGT_FUSED_FAILED;
		return refuse(req, st);
	}
	a->fused_expect = TGT_FUSED_NONE;
	a->fused_first = NULL;
	if (!first)
		return refuse(req, expect == TGT_FUSED_FAILED ? failed()
							      : bad(NVME_SC_ABORTED_MISSING_FUSED));
	if (nvme_status_ok(st))
		return begin_second(first, req, capsule);
	tgt_io_answer(first, failed());
	return refuse(req, st);
}

/* ---- ends that come from elsewhere ----------------------------------------------------------- */

bool tgt_fused_abort(struct tgt_req *req)
{
	const struct tgt_req *other = req->other;

	/* The other's data is on its way, or the pair is in the store: it ends when that has. */
	if (other && other->state != TGT_REQ_FENCED &&
	    (other->state != TGT_REQ_BUFFER || other == req->assoc->landing)) {
		req->abort = true;
		return false;
	}
	tgt_req_complete(req, nvme_status(NVME_SC_ABORT_REQUESTED));
	return true;
}

uint64_t tgt_fused_deadline(const struct tgt_assoc *a)
{
	uint64_t limit = a->target->limits.transfer_ns;

	if (!a->fused_first || a->fused_first->state != TGT_REQ_FUSED || limit == 0)
		return UINT64_MAX;
	return u64_add_saturated(a->fused_first->since, limit);
}

void tgt_fused_expire(struct tgt_assoc *a)
{
	miss(a);
}
