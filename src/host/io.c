/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of an I/O: to the queue with the fewest commands in flight, or to wait; and after its
 * answer to its owner, or around again. Around again when its status allows it (DNR clear), after
 * the delay that the controller asks for (CRD) or a growing one; and when its association was lost.
 *
 * A write whose association was lost may still be carried out by the controller. It is sent again
 * only on a new association, when everything of the old one has come back to us, and not before the
 * Command Quiesce Time (TP4129) that the controller reported; that the old one's writes do not land
 * later is then the controller's promise.
 */
#include <errno.h>

#include "base/check.h"
#include "base/util.h"
#include "host/ctrl.h"
#include "nvme/cmd.h"

#define MS UINT64_C(1000000)

/* First delay of a retry without CRD: doubled each time. Path errors take longer to go away. */
#define RETRY_NS      (1 * MS)
#define RETRY_PATH_NS (100 * MS)
#define RETRY_MAX_NS  (10000 * MS)
#define CRD_UNIT_NS   (100 * MS)

/* ---- the end of an I/O --------------------------------------------------------------------- */

static void count_end(struct host_ctrl *c, const struct host_io *io)
{
	bool right = io->error == 0;

	c->stats.errors += !right;
	switch (io->kind) {
	case HOST_IO_READ:
		c->stats.reads++;
		c->stats.read_bytes += right ? io->bytes : 0;
		break;
	case HOST_IO_WRITE:
		c->stats.writes++;
		c->stats.write_bytes += right ? io->bytes : 0;
		break;
	default:
		c->stats.others++;
	}
}

/* From a turn only. @io is its owner's again, and may be gone on return. */
static void complete(struct host_ctrl *c, struct host_io *io, int error)
{
	io->error = error;
	count_end(c, io);
	io->done(io);
}

static void finish_later(struct host_ctrl *c, struct host_io *io, int error)
{
	io->error = -error;
	list_add_tail(&c->finished, &io->link);
	io_defer(c->loop, &c->finish_defer);
}

void host_io_finish_due(struct host_ctrl *c)
{
	struct list ios = LIST_INIT(ios);
	struct list admins = LIST_INIT(admins);
	struct host_admin *a;
	struct host_io *io;

	list_splice_tail(&ios, &c->finished);
	list_splice_tail(&admins, &c->admin_finished);
	while ((io = list_pop_entry(&ios, struct host_io, link)))
		complete(c, io, io->error);
	while ((a = list_pop_entry(&admins, struct host_admin, link)))
		a->done(a);
}

static void on_finish(struct io_defer *d)
{
	host_io_finish_due(container_of(d, struct host_ctrl, finish_defer));
}

/* ---- around again -------------------------------------------------------------------------- */

/* Wakes the retry timer at @when at the latest; false if there is no memory for it. */
static bool wake_at(struct host_ctrl *c, uint64_t when)
{
	uint64_t now = io_now(c->loop);

	if (io_timer_armed(&c->retry_timer) && c->retry_timer.deadline <= when)
		return true;
	return io_timer_start(c->loop, &c->retry_timer, when - MIN(when, now)) == 0;
}

static void wait_until(struct host_ctrl *c, struct host_io *io, uint64_t when)
{
	io->not_before_ns = when;
	c->waiting_count++;
	list_add_tail(wake_at(c, when) ? &c->delayed : &c->waiting, &io->link);
}

static void on_retry_timer(struct io_timer *t)
{
	struct host_ctrl *c = container_of(t, struct host_ctrl, retry_timer);
	uint64_t now = io_now(c->loop), next = UINT64_MAX;
	struct host_io *io, *tmp;

	list_for_each_entry_safe (io, tmp, &c->delayed, link) {
		if (io->not_before_ns > now) {
			next = MIN(next, io->not_before_ns);
			continue;
		}
		list_del(&io->link);
		list_add_tail(&c->waiting, &io->link);
	}
	if (next != UINT64_MAX && !wake_at(c, next))
		list_splice_tail(&c->waiting, &c->delayed);
	host_io_pump(c);
}

static uint64_t retry_delay(const struct host_ctrl *c, const struct host_io *io)
{
	const le16 crdt[] = { c->id.crdt1, c->id.crdt2, c->id.crdt3 };
	uint64_t first = io->status.sct == NVME_SCT_PATH ? RETRY_PATH_NS : RETRY_NS;

	if (io->status.crd > 0)
		return le16_to_cpu(crdt[io->status.crd - 1]) * CRD_UNIT_NS;
	return MIN(first << MIN(io->faults, 16u), RETRY_MAX_NS);
}

static bool may_retry(const struct host_ctrl *c, const struct host_io *io)
{
	return !io->status.dnr && io->faults < c->config.retries && !c->closing &&
	       !nvme_status_is(io->status, NVME_SC_COMPARE_FAILURE);
}

/* An answer is worth what came with it: a read its bytes (I002), a write that they were asked for. */
static struct nvme_status judge(const struct host_req *r)
{
	struct nvme_status st = nvme_cpl_status(&r->cpl);

	if (!nvme_status_ok(st))
		return st;
	if ((r->dir == NVME_DIR_TO_HOST && r->received != r->bytes) ||
	    (r->dir == NVME_DIR_TO_CONTROLLER && r->delivered != r->bytes))
		return nvme_status(NVME_SC_DATA_TRANSFER_ERROR);
	if (r->ddgst_bad)
		return nvme_status(NVME_SC_TRANSIENT_TRANSPORT);
	return st;
}

static void on_lost(struct host_ctrl *c, struct host_io *io)
{
	if (c->closing) {
		complete(c, io, -ECANCELED);
	} else if (io->faults > c->config.retries) {
		complete(c, io, -ETIMEDOUT);
	} else if (io->tries >= HOST_LOSSES_MAX) {
		complete(c, io, -EIO);
	} else {
		c->stats.requeued++;
		c->waiting_count++;
		list_add_tail(&c->requeue, &io->link);
	}
}

static void on_answer(struct host_req *r, enum host_req_end end)
{
	struct host_ctrl *c = r->q->owner;
	struct host_io *io = r->owner;

	io->req = NULL;
	io->sent_ns = r->sent_ns;
	io->first_ns = r->first_ns;
	io->last_ns = r->last_ns;
	if (end == HOST_REQ_LOST) {
		on_lost(c, io);
		return;
	}
	if (nvme_cmd_timed(&r->sqe))
		io->has_times = nvme_times_decode(nvme_cpl_u64(&r->cpl), &io->times);
	io->status = judge(r);
	if (nvme_status_ok(io->status)) {
		complete(c, io, 0);
	} else if (may_retry(c, io)) {
		c->stats.retries++;
		wait_until(c, io, io_now(c->loop) + retry_delay(c, io));
		io->faults++;
	} else {
		complete(c, io, nvme_status_to_errno(io->status));
	}
}

void host_io_requeue(struct host_ctrl *c)
{
	uint64_t quiet = c->lost_ns + le16_to_cpu(c->id.cqt) * MS;
	struct list again = LIST_INIT(again);
	struct host_io *io;

	list_splice_tail(&again, &c->requeue);
	list_splice_tail(&again, &c->waiting);
	while ((io = list_pop_entry(&again, struct host_io, link))) {
		/* Reads do no harm early; what was never sent neither. */
		if (io->kind != HOST_IO_READ && io->tries > 0 && quiet > io_now(c->loop)) {
			c->waiting_count--;
			wait_until(c, io, quiet);
		} else {
			list_add_tail(&c->waiting, &io->link);
		}
	}
}

void host_io_fail_waiting(struct host_ctrl *c, int error)
{
	struct list all = LIST_INIT(all);
	struct host_io *io;

	list_splice_tail(&all, &c->requeue);
	list_splice_tail(&all, &c->waiting);
	list_splice_tail(&all, &c->delayed);
	c->waiting_count = 0;
	while ((io = list_pop_entry(&all, struct host_io, link)))
		finish_later(c, io, error);
}

/* ---- on its way ---------------------------------------------------------------------------- */

static struct host_queue *least_busy(struct host_ctrl *c)
{
	struct host_queue *best = NULL;

	for (unsigned int i = 0; i < c->io_up; i++) {
		struct host_queue *q = &c->io[i];

		if (q->free_count > 0 && (!best || q->free_count > best->free_count))
			best = q;
	}
	return best;
}

static void set_command(struct host_req *r, struct host_io *io)
{
	static const uint8_t opcodes[] = {
		[HOST_IO_READ] = NVME_NVM_READ,
		[HOST_IO_WRITE] = NVME_NVM_WRITE,
		[HOST_IO_FLUSH] = NVME_NVM_FLUSH,
		[HOST_IO_DEALLOCATE] = NVME_NVM_DATASET_MGMT,
		[HOST_IO_WRITE_ZEROES] = NVME_NVM_WRITE_ZEROES,
		[HOST_IO_COMPARE] = NVME_NVM_COMPARE,
	};

	r->iov = io->iov;
	r->niov = io->niov;
	r->bytes = io->bytes;
	switch (io->kind) {
	case HOST_IO_FLUSH:
		nvme_cmd_init_flush(&r->sqe, io->nsid);
		break;
	case HOST_IO_DEALLOCATE:
		nvme_cmd_init_dsm(&r->sqe, io->nsid, 1, NVME_DSM_DEALLOCATE);
		r->range = nvme_dsm_range(io->slba, io->nlb);
		r->range_iov = (struct iovec){ .iov_base = &r->range, .iov_len = sizeof(r->range) };
		r->iov = &r->range_iov;
		r->niov = 1;
		r->bytes = sizeof(r->range);
		break;
	default:
		nvme_cmd_init_rw(&r->sqe, opcodes[io->kind], io->nsid, io->slba, io->nlb,
				 io->fua ? NVME_RW_FUA : 0);
	}
	r->dir = nvme_opcode_direction(r->sqe.opc, 0);
}

static void set_timed(const struct host_ctrl *c, struct host_req *r, const struct host_io *io)
{
	r->timed = true;
	if (c->times && (io->kind == HOST_IO_READ || io->kind == HOST_IO_WRITE))
		nvme_cmd_set_timed(&r->sqe);
}

static void issue(struct host_ctrl *c, struct host_queue *q, struct host_io *io)
{
	struct host_req *r = host_queue_get(q);

	io->req = r;
	io->tries++;
	io->queued_ns = io_now(c->loop);
	r->finish = on_answer;
	r->owner = io;
	set_command(r, io);
	if (io->timed)
		set_timed(c, r, io);
	host_queue_send(q, r);
	host_limits_watch(c);
}

/* What a connection must be there to know; -errno. */
static int refusal(const struct host_ctrl *c, const struct host_io *io)
{
	if (c->io_up == 0 || io->bytes > c->max_transfer)
		return EINVAL;
	if (c->ns_replaced && host_ns_is_replaced(c, io->nsid))
		return ESTALE;
	return 0;
}

static void start(struct host_ctrl *c, struct host_queue *q, struct host_io *io)
{
	int error = refusal(c, io);

	if (error)
		finish_later(c, io, error);
	else
		issue(c, q, io);
}

void host_io_pump(struct host_ctrl *c)
{
	while (host_ctrl_live(c) && !list_empty(&c->waiting)) {
		struct host_queue *q = least_busy(c);

		if (!q && c->io_up > 0)
			return;
		c->waiting_count--;
		start(c, q, list_pop_entry(&c->waiting, struct host_io, link));
	}
}

static void check(const struct host_io *io)
{
	bool moves = io->kind == HOST_IO_READ || io->kind == HOST_IO_WRITE ||
		     io->kind == HOST_IO_COMPARE;
	size_t sum = 0;

	INVARIANT(io->done && io->niov >= 0 && io->niov <= HOST_IOV_MAX);
	for (int i = 0; i < io->niov; i++)
		sum += io->iov[i].iov_len;
	INVARIANT(sum == io->bytes && io->bytes % 4 == 0 && (io->bytes > 0) == moves);
	INVARIANT(io->kind == HOST_IO_FLUSH || io->kind == HOST_IO_DEALLOCATE ||
		  (io->nlb >= 1 && io->nlb <= NVME_RW_MAX_BLOCKS));
}

void host_submit(struct host_ctrl *c, struct host_io *io)
{
	struct host_queue *q;

	check(io);
	io->error = 0;
	io->status = nvme_status_success();
	io->submitted_ns = io_now(c->loop);
	io->queued_ns = 0;
	io->sent_ns = 0;
	io->first_ns = 0;
	io->last_ns = 0;
	io->has_times = false;
	io->tries = 0;
	io->faults = 0;
	io->req = NULL;
	if (c->closing || c->state == HOST_STATE_FAILED) {
		finish_later(c, io, c->closing ? ECANCELED : ENOTCONN);
		return;
	}
	if (host_ctrl_live(c) && list_empty(&c->waiting) && (q = least_busy(c))) {
		start(c, q, io);
		return;
	}
	c->waiting_count++;
	list_add_tail(&c->waiting, &io->link);
	if (host_ctrl_live(c))
		host_io_pump(c);
}

void host_io_init(struct host_ctrl *c)
{
	list_init(&c->waiting);
	list_init(&c->requeue);
	list_init(&c->delayed);
	list_init(&c->finished);
	list_init(&c->admin_waiting);
	list_init(&c->admin_finished);
	io_timer_init(&c->retry_timer, on_retry_timer);
	io_defer_init(&c->finish_defer, on_finish);
}
