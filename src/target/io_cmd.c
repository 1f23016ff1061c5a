/* SPDX-License-Identifier: Apache-2.0 */
/*
 * I/O commands; the idea is in io_cmd.h. A new command is a parser, an exec function and a line in
 * the table at the end.
 *
 * Everything is checked before data moves, so a command that cannot succeed costs neither memory
 * nor an R2T.
 */
#include "target/io_cmd.h"

#include <stddef.h>

#include "base/check.h"
#include "base/util.h"
#include "nvme/cmd-nvm.h"
#include "nvme/identify.h"
#include "nvme/log.h"
#include "target/assoc.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/fence.h"
#include "target/resv-ns.h"
#include "target/timing.h"

static struct nvme_status bad(enum nvme_sc code)
{
	return nvme_status_dnr(code);
}

/* ---- the store ------------------------------------------------------------------------------- */

static bool mutates(enum store_kind kind)
{
	return kind == STORE_WRITE || kind == STORE_DISCARD || kind == STORE_ZERO ||
	       kind == STORE_COMPARE_WRITE;
}

static bool has_data(enum store_kind kind)
{
	return kind == STORE_READ || kind == STORE_WRITE || kind == STORE_COMPARE ||
	       kind == STORE_COMPARE_WRITE;
}

static void store_done(struct store_op *op)
{
	struct tgt_req *req = container_of(op, struct tgt_req, op);
	struct tgt_assoc *a = req->assoc;

	list_del(&req->link);
	if (req->mutates)
		a->mutating--;
	if (a->state == TGT_ASSOC_DEAD)
		tgt_req_release(req);
	else
		req->stored(req);
	tgt_fence_store_done(a);
}

bool tgt_store_submit(struct tgt_req *req, struct store *s, enum store_kind kind,
		      unsigned int flags, uint64_t offset, uint64_t length)
{
	struct tgt_assoc *a = req->assoc;
	struct store_op *op = &req->op;

	if (req->timed)
		tgt_timing_store(req);
	if (req->state != TGT_REQ_STORE)
		tgt_req_set_state(req, TGT_REQ_STORE);
	req->mutates = mutates(kind);
	tgt_fence_count(req);
	op->kind = kind;
	op->flags = flags;
	op->offset = offset;
	op->length = length;
	op->iov = req->buf.iov;
	op->niov = has_data(kind) ? req->buf.niov : 0;
	op->done = store_done;
	if (store_submit(s, a->reactor->loop, op))
		return true;
	list_add_tail(&a->in_store, &req->link);
	if (req->mutates)
		a->mutating++;
	return false;
}

static enum nvme_media_op media_op(const struct tgt_req *req)
{
	switch (req->cmd.opc) {
	case NVME_NVM_READ:
	case NVME_NVM_VERIFY:
		return NVME_MEDIA_READ;
	case NVME_NVM_COMPARE:
		return NVME_MEDIA_COMPARE;
	default:
		return NVME_MEDIA_WRITE;
	}
}

static void count_in(struct tgt_io_counters *io, const struct tgt_req *req, bool good)
{
	if (!good)
		tgt_count(&io->errors, 1);
	switch (req->cmd.opc) {
	case NVME_NVM_READ:
		tgt_count(&io->reads, 1);
		tgt_count(&io->read_bytes, good ? req->data_len : 0);
		break;
	case NVME_NVM_WRITE:
		tgt_count(&io->writes, 1);
		tgt_count(&io->write_bytes, good ? req->data_len : 0);
		break;
	case NVME_NVM_FLUSH:
		tgt_count(&io->flushes, 1);
		break;
	default:
		tgt_count(&io->others, 1);
	}
}

/* Each of these is this core's alone. */
static void count(struct tgt_req *req, bool good)
{
	struct tgt_assoc *a = req->assoc;

	count_in(&a->io, req, good);
	count_in(&a->reactor->stats.io, req, good);
	if (req->ns)
		count_in(&req->ns->backing->cores[a->reactor->index].io, req, good);
}

/*
 * From the turn in which the command was received until now: one look at the clock a command. What
 * was refused at once is not counted, it would only make the others look good.
 */
static void note_latency(const struct tgt_req *req)
{
	struct tgt_reactor *r = req->assoc->reactor;
	enum target_latency_class of = req->cmd.opc == NVME_NVM_READ	? TARGET_LATENCY_READ
				       : req->cmd.opc == NVME_NVM_WRITE ? TARGET_LATENCY_WRITE
									: TARGET_LATENCY_OTHER;

	hist_add(&r->latency[of], io_now_precise(r->loop) - req->begun);
}

void tgt_io_answer(struct tgt_req *req, struct nvme_status st)
{
	bool good = nvme_status_ok(st);

	count(req, good);
	if (good)
		note_latency(req);
	tgt_req_complete(req, st);
}

void tgt_io_run(struct tgt_req *req)
{
	if (tgt_resv_conflicts(req, req->access))
		tgt_io_answer(req, bad(NVME_SC_RESERVATION_CONFLICT));
	else
		req->exec(req);
}

void tgt_io_complete(struct tgt_req *req, int result)
{
	count(req, result == 0);
	if (req->timed && result == 0)
		req->result = tgt_timing_result(req);
	note_latency(req);
	tgt_req_complete(req, result == 0 ? nvme_status_success()
					  : nvme_status_from_errno(result, media_op(req)));
}

/* ---- Read, Write, Compare, Write Zeroes, Verify ---------------------------------------------- */

struct nvme_status tgt_io_find_ns(struct tgt_req *req)
{
	struct tgt_ns_pin *pin = req->assoc->core->pin;
	uint32_t nsid = nvme_cmd_nsid(&req->cmd);
	const struct tgt_ns *ns = nsid == NVME_NSID_NONE ? NULL : tgt_ns_find(pin->table, nsid);

	if (!ns)
		return bad(NVME_SC_INVALID_NAMESPACE);
	req->ns = ns;
	req->pin = tgt_ns_pin_get(pin);
	return nvme_status_success();
}

/* What all commands with SLBA and NLB have in common. */
static struct nvme_status check_range(struct tgt_req *req, bool writes)
{
	struct nvme_status st = tgt_io_find_ns(req);

	if (!nvme_status_ok(st))
		return st;
	if (writes && req->ns->read_only)
		return bad(NVME_SC_WRITE_PROTECTED);
	/* PRINFO and STC are ignored: no format here has protection information. */
	if (!range_within(nvme_cmd_slba(&req->cmd), nvme_cmd_nlb(&req->cmd), req->ns->blocks))
		return bad(NVME_SC_LBA_OUT_OF_RANGE);
	return st;
}

static uint64_t bytes_of(const struct tgt_req *req)
{
	return (uint64_t)nvme_cmd_nlb(&req->cmd) << req->ns->block_shift;
}

static void submit_range(struct tgt_req *req, enum store_kind kind, unsigned int flags)
{
	const struct tgt_ns *ns = req->ns;

	if (tgt_store_submit(req, ns->store, kind, flags,
			     nvme_cmd_slba(&req->cmd) << ns->block_shift, bytes_of(req)))
		tgt_io_complete(req, req->op.result);
}

static void range_stored(struct tgt_req *req)
{
	tgt_io_complete(req, req->op.result);
}

/* A command that moves its blocks: the SGL must describe exactly those. */
static struct nvme_status parse_data(struct tgt_req *req, enum nvme_direction dir, bool writes,
				     void (*exec)(struct tgt_req *req))
{
	struct nvme_status st = check_range(req, writes);
	uint64_t bytes;

	if (!nvme_status_ok(st))
		return st;
	bytes = bytes_of(req);
	if (bytes > req->assoc->target->limits.mdts)
		return bad(NVME_SC_INVALID_FIELD);
	if (nvme_cmd_sgl_len(&req->cmd) != bytes)
		return bad(NVME_SC_SGL_INVALID_LENGTH);
	req->dir = (uint8_t)dir;
	req->data_len = (uint32_t)bytes;
	req->exec = exec;
	req->stored = range_stored;
	return st;
}

/* FUA, also when the host has turned the write cache off. */
unsigned int tgt_io_fua(const struct tgt_req *req)
{
	bool cached = atomic_load_explicit(&req->assoc->ctrl->write_back, memory_order_relaxed);

	return nvme_cmd_fua(&req->cmd) || !cached ? STORE_FUA : 0;
}

static void exec_read(struct tgt_req *req)
{
	if (!req->lends) {
		submit_range(req, STORE_READ, 0);
		return;
	}
	if (req->timed)
		tgt_timing_store(req);
	tgt_io_complete(req, 0);
}

static void exec_write(struct tgt_req *req)
{
	submit_range(req, STORE_WRITE, tgt_io_fua(req));
}

static void exec_compare(struct tgt_req *req)
{
	submit_range(req, STORE_COMPARE, 0);
}

static void exec_verify(struct tgt_req *req)
{
	submit_range(req, STORE_VERIFY, 0);
}

/* Without DEAC the blocks stay allocated (NVM Command Set 1.0, 3.2.8). */
static void exec_write_zeroes(struct tgt_req *req)
{
	bool deallocate = nvme_cmd_deac(&req->cmd) && req->ns->can_discard;

	submit_range(req, STORE_ZERO, tgt_io_fua(req) | (deallocate ? 0 : STORE_KEEP));
}

static struct nvme_status parse_read(struct tgt_req *req)
{
	struct nvme_status st;

	tgt_timing_begin(req);
	st = parse_data(req, NVME_DIR_TO_HOST, false, exec_read);
	req->lends = nvme_status_ok(st) && tgt_lend_possible(req);
	return st;
}

static struct nvme_status parse_write(struct tgt_req *req)
{
	tgt_timing_begin(req);
	if (nvme_cmd_dtype(&req->cmd) != 0)
		return bad(NVME_SC_INVALID_FIELD); /* no directives */
	return parse_data(req, NVME_DIR_TO_CONTROLLER, true, exec_write);
}

static struct nvme_status parse_compare(struct tgt_req *req)
{
	return parse_data(req, NVME_DIR_TO_CONTROLLER, false, exec_compare);
}

static struct nvme_status parse_verify(struct tgt_req *req)
{
	req->exec = exec_verify;
	req->stored = range_stored;
	return check_range(req, false);
}

static struct nvme_status parse_write_zeroes(struct tgt_req *req)
{
	req->exec = exec_write_zeroes;
	req->stored = range_stored;
	return check_range(req, true);
}

/* ---- Flush ----------------------------------------------------------------------------------- */

/* Of all namespaces, one after the other; req->step is the NSID of the last. */
static void flush_next(struct tgt_req *req)
{
	int result = 0;

	while (result == 0) {
		const struct tgt_ns *ns = tgt_ns_next(req->pin->table, req->step);

		if (!ns)
			break;
		req->step = ns->nsid;
		if (!tgt_store_submit(req, ns->store, STORE_FLUSH, 0, 0, 0))
			return;
		result = req->op.result;
	}
	tgt_io_complete(req, result);
}

static void flush_stored(struct tgt_req *req)
{
	if (req->op.result == 0)
		flush_next(req);
	else
		tgt_io_complete(req, req->op.result);
}

static void exec_flush(struct tgt_req *req)
{
	if (tgt_store_submit(req, req->ns->store, STORE_FLUSH, 0, 0, 0))
		tgt_io_complete(req, req->op.result);
}

static struct nvme_status parse_flush(struct tgt_req *req)
{
	req->exec = exec_flush;
	req->stored = range_stored;
	if (nvme_cmd_nsid(&req->cmd) != NVME_NSID_ALL)
		return tgt_io_find_ns(req);
	if (tgt_resv_conflicts_anywhere(req, TGT_ACCESS_WRITE))
		return bad(NVME_SC_RESERVATION_CONFLICT);
	req->pin = tgt_ns_pin_get(req->assoc->core->pin);
	req->exec = flush_next;
	req->stored = flush_stored;
	return nvme_status_success();
}

/* ---- the table ------------------------------------------------------------------------------- */

/* clang-format off */
static const struct io_cmd {
	uint8_t opc;
	uint8_t access; /* enum tgt_access: its group in the presence of a reservation */
	uint16_t oncs;  /* the bit that says so; 0: mandatory */
	uint32_t effects;
	struct nvme_status (*parse)(struct tgt_req *req);
} cmds[] = {
	{ NVME_NVM_READ, TGT_ACCESS_READ, 0, 0, parse_read },
	{ NVME_NVM_WRITE, TGT_ACCESS_WRITE, 0, NVME_EFFECT_CONTENT, parse_write },
	{ NVME_NVM_FLUSH, TGT_ACCESS_WRITE, 0, 0, parse_flush },
	{ NVME_NVM_COMPARE, TGT_ACCESS_READ, NVME_ONCS_COMPARE, 0, parse_compare },
	{ NVME_NVM_WRITE_ZEROES, TGT_ACCESS_WRITE, NVME_ONCS_WRITE_ZEROES, NVME_EFFECT_CONTENT,
	  parse_write_zeroes },
	{ NVME_NVM_DATASET_MGMT, TGT_ACCESS_WRITE, NVME_ONCS_DATASET_MGMT, NVME_EFFECT_CONTENT,
	  tgt_dsm_parse },
	{ NVME_NVM_VERIFY, TGT_ACCESS_READ, NVME_ONCS_VERIFY, 0, parse_verify },
	{ NVME_NVM_RESV_REGISTER, TGT_ACCESS_OTHER, NVME_ONCS_RESERVATIONS, 0, tgt_resv_parse },
	{ NVME_NVM_RESV_ACQUIRE, TGT_ACCESS_OTHER, NVME_ONCS_RESERVATIONS, 0, tgt_resv_parse },
	{ NVME_NVM_RESV_RELEASE, TGT_ACCESS_OTHER, NVME_ONCS_RESERVATIONS, 0, tgt_resv_parse },
	{ NVME_NVM_RESV_REPORT, TGT_ACCESS_OTHER, NVME_ONCS_RESERVATIONS, 0,
	  tgt_resv_report_parse },
};
/* clang-format on */

static const struct io_cmd *find(uint8_t opc)
{
	for (size_t i = 0; i < ARRAY_SIZE(cmds); i++)
		if (cmds[i].opc == opc)
			return &cmds[i];
	return NULL;
}

uint32_t tgt_io_effects(uint8_t opc)
{
	const struct io_cmd *cmd = find(opc);

	return cmd ? cmd->effects | NVME_EFFECT_SUPPORTED : 0;
}

uint16_t tgt_io_oncs(void)
{
	uint16_t bits = 0;

	for (size_t i = 0; i < ARRAY_SIZE(cmds); i++)
		bits |= cmds[i].oncs;
	return bits;
}

struct nvme_status tgt_io_parse(struct tgt_req *req)
{
	const struct io_cmd *cmd = find(req->cmd.opc);
	struct nvme_status st;

	if (!atomic_load_explicit(&req->assoc->ctrl->ready, memory_order_acquire))
		return bad(NVME_SC_SEQUENCE_ERROR);
	st = cmd ? cmd->parse(req) : bad(NVME_SC_INVALID_OPCODE);
	if (nvme_status_ok(st)) {
		req->access = cmd->access;
		if (tgt_resv_conflicts(req, req->access))
			st = bad(NVME_SC_RESERVATION_CONFLICT);
	}
	if (!nvme_status_ok(st))
		count(req, false);
	return st;
}
