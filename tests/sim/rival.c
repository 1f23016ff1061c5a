/* SPDX-License-Identifier: Apache-2.0 */
/* What hosts do to one another; see rival.h. */
#include "rival.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "host/ctrl.h"
#include "nvme/cmd.h"

#define KEY(host) (UINT64_C(0x1000) + (host))
#define AGAIN_NS  UINT64_C(5000000)

static void slot_next(struct rival_slot *s);

static void think(struct rival_slot *s, uint64_t least)
{
	struct rival *r = s->rival;
	uint64_t max = r->plan->rival_think_ns;

	if (r->ctrl)
		io_timer_start(r->loop, &s->think, least + (max ? rng_below(&r->rng, max) : 0));
}

/* ---- an end ---------------------------------------------------------------------------------- */

static bool is(const struct rival_part *p, enum nvme_sc code)
{
	return p->answered && nvme_status_is(p->status, code);
}

static bool good(const struct rival_part *p)
{
	return p->answered && nvme_status_ok(p->status);
}

static void lock_ended(struct rival_slot *s)
{
	const struct rival_part *compare = &s->part[0], *write = &s->part[1];
	struct rival *r = s->rival;
	bool conflict = is(compare, NVME_SC_RESERVATION_CONFLICT) || is(write, NVME_SC_RESERVATION_CONFLICT);
	enum shared_outcome outcome = SHARED_UNKNOWN;

	if (good(compare) && good(write)) {
		outcome = SHARED_DONE;
		r->believed[s->lock] = s->number;
	} else if (is(compare, NVME_SC_COMPARE_FAILURE) || conflict) {
		outcome = SHARED_REFUSED;
	}
	shared_lock_end(r->shared, s->lock, s->number, outcome);
	shared_ended(r->shared, r->host, s->start, true, outcome == SHARED_DONE, conflict);
}

/* What comes after @kind, if that was right. */
static void reservation_ended(struct rival_slot *s)
{
	struct rival *r = s->rival;
	bool done = good(&s->part[0]);

	if (s->kind == RIVAL_ACQUIRE && done && !r->ending)
		shared_acquired(r->shared, r->host, s->life);
	if (s->kind == RIVAL_CLEAR && done)
		r->ended = true;
	if (done && s->kind == RIVAL_REGISTER)
		s->kind = RIVAL_ACQUIRE;
	else if (done && s->kind == RIVAL_CLEAR_REGISTER)
		s->kind = RIVAL_CLEAR;
	else
		s->kind = RIVAL_VERIFY;
}

static void slot_ended(struct rival_slot *s)
{
	const struct rival_part *p = &s->part[0];
	struct rival *r = s->rival;

	switch (s->kind) {
	case RIVAL_READ_LOCK:
		if (good(p) && p->received == r->plan->block) {
			shared_lock_read(r->shared, s->lock, s->start, p->data, &r->believed[s->lock]);
			r->to_read -= r->ended && r->to_read > 0;
		}
		shared_ended(r->shared, r->host, s->start, false, good(p),
			     is(p, NVME_SC_RESERVATION_CONFLICT));
		break;
	case RIVAL_LOCK:
		lock_ended(s);
		break;
	case RIVAL_VERIFY:
		r->shared->verified += good(p);
		shared_ended(r->shared, r->host, s->start, false, good(p),
			     is(p, NVME_SC_RESERVATION_CONFLICT));
		break;
	case RIVAL_ABORT:
		break;
	default:
		reservation_ended(s);
		think(s, 0);
		return;
	}
	s->kind = RIVAL_VERIFY;
	think(s, 0);
}

static void part_done(struct host_req *req, enum host_req_end end)
{
	struct rival_part *p = container_of((struct host_io *)req->owner, struct rival_part, io);

	p->answered = end == HOST_REQ_ANSWERED && !req->ddgst_bad;
	p->status = nvme_cpl_status(&req->cpl);
	p->received = req->received;
	if (--p->slot->open == 0)
		slot_ended(p->slot);
}

static void abort_done(struct host_admin *a)
{
	struct rival_slot *s = container_of(a, struct rival_slot, abort);

	if (a->error == 0 && nvme_status_ok(nvme_cpl_status(&a->cpl))) {
		s->rival->shared->aborts++;
		s->rival->shared->aborted += !(nvme_cpl_dw0(&a->cpl) & 1);
	}
	if (--s->open == 0)
		slot_ended(s);
}

/* ---- a begin --------------------------------------------------------------------------------- */

static struct host_queue *queue_with(struct rival *r, unsigned int places)
{
	struct host_ctrl *c = r->ctrl;

	if (!host_ctrl_live(c) || c->io_up == 0)
		return NULL;
	for (unsigned int i = 0; i < c->io_up; i++) {
		struct host_queue *q = &c->io[rng_below(&r->rng, c->io_up)];

		if (q->free_count >= places)
			return q;
	}
	return NULL;
}

static void submit(struct rival_slot *s, struct host_queue *q, unsigned int part, const struct nvme_cmd *cmd,
		 uint32_t bytes)
{
	struct rival_part *p = &s->part[part];
	struct host_req *req = host_queue_get(q);

	INVARIANT(req != NULL);
	p->io = (struct host_io){ .req = req };
	p->answered = false;
	p->iov = (struct iovec){ .iov_base = p->data, .iov_len = bytes };
	req->finish = part_done;
	req->owner = &p->io;
	req->sqe = *cmd;
	req->iov = &p->iov;
	req->niov = bytes > 0;
	req->bytes = bytes;
	req->dir = bytes > 0 ? nvme_opcode_direction(cmd->opc, 0) : NVME_DIR_NONE;
	s->open++;
	host_queue_send(q, req);
	host_limits_watch(s->rival->ctrl);
}

static uint64_t lba_of(const struct rival_slot *s)
{
	return s->rival->plan->blocks + s->lock;
}

/* Both at once, next to each other: nothing else is sent from here in between. */
static void send_lock(struct rival_slot *s, struct host_queue *q)
{
	struct rival *r = s->rival;
	uint64_t from = r->believed[s->lock];
	uint32_t bytes = r->plan->block;
	struct nvme_cmd cmd;

	s->number = shared_lock_begin(r->shared, s->lock, from);
	shared_fill(r->shared, from, s->part[0].data);
	shared_fill(r->shared, s->number, s->part[1].data);
	nvme_cmd_init_rw(&cmd, NVME_NVM_COMPARE, 1, lba_of(s), 1, 0);
	cmd.flags |= NVME_FUSE_FIRST;
	submit(s, q, 0, &cmd, bytes);
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, lba_of(s), 1, NVME_RW_FUA);
	cmd.flags |= NVME_FUSE_SECOND;
	submit(s, q, 1, &cmd, bytes);
}

static void send_reservation(struct rival_slot *s, struct host_queue *q, uint8_t opc, uint8_t action,
			     bool ignore_key, uint64_t crkey, uint64_t key)
{
	struct nvme_resv_keys keys = { .crkey = cpu_to_le64(crkey), .key = cpu_to_le64(key) };
	bool typed = opc != NVME_NVM_RESV_REGISTER;
	struct nvme_cmd cmd;

	memcpy(s->part[0].data, &keys, sizeof(keys));
	nvme_cmd_init_resv(&cmd, opc, 1, action, ignore_key, typed ? NVME_RTYPE_WRITE_EXCLUSIVE : 0,
			   NVME_CPTPL_KEEP);
	submit(s, q, 0, &cmd, opc == NVME_NVM_RESV_RELEASE ? sizeof(le64) : sizeof(keys));
}

/* Some command that is in flight, of whoever. */
static void send_abort(struct rival_slot *s, const struct host_queue *q)
{
	const struct host_req *victim = list_first_entry(&q->inflight, struct host_req, link);
	struct rival *r = s->rival;

	if (!victim || rng_below(&r->rng, 8) == 0)
		nvme_cmd_init_abort(&s->abort.cmd, q->p.qid, (uint16_t)rng_below(&r->rng, 0x10000));
	else
		nvme_cmd_init_abort(&s->abort.cmd, q->p.qid, le16_to_cpu(victim->sqe.cid));
	s->abort.done = abort_done;
	s->open = 1;
	host_admin_submit(r->ctrl, &s->abort);
}

static void issue(struct rival_slot *s, struct host_queue *q)
{
	struct rival *r = s->rival;
	uint64_t key = KEY(r->host);
	struct nvme_cmd cmd;

	s->start = shared_now(r->shared);
	s->life = r->shared->lives;
	switch (s->kind) {
	case RIVAL_READ_LOCK:
		nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, lba_of(s), 1, 0);
		submit(s, q, 0, &cmd, r->plan->block);
		break;
	case RIVAL_LOCK:
		send_lock(s, q);
		break;
	case RIVAL_VERIFY:
		nvme_cmd_init_rw(&cmd, NVME_NVM_VERIFY, 1, 0, (uint32_t)r->plan->blocks, 0);
		submit(s, q, 0, &cmd, 0);
		break;
	case RIVAL_ABORT:
		send_abort(s, q);
		break;
	case RIVAL_REGISTER:
	case RIVAL_CLEAR_REGISTER:
		/* With IEKEY whatever it was before. */
		send_reservation(s, q, NVME_NVM_RESV_REGISTER, NVME_RREGA_REPLACE, true, 0, key);
		break;
	case RIVAL_ACQUIRE:
		send_reservation(s, q, NVME_NVM_RESV_ACQUIRE, NVME_RACQA_ACQUIRE, false, key, 0);
		break;
	case RIVAL_RELEASE:
		shared_releases(r->shared, r->host);
		send_reservation(s, q, NVME_NVM_RESV_RELEASE, NVME_RRELA_RELEASE, false, key, 0);
		break;
	case RIVAL_CLEAR:
		send_reservation(s, q, NVME_NVM_RESV_RELEASE, NVME_RRELA_CLEAR, false, key, 0);
		break;
	}
}

static enum rival_kind draw(struct rival_slot *s)
{
	struct rival *r = s->rival;

	s->lock = (unsigned int)rng_below(&r->rng, SHARED_LOCKS);
	/* One slot, so that a host does one thing at a time about its reservation. */
	if (s == &r->slot[0] && rng_below(&r->rng, 3) == 0)
		/* Also what it does not have: that must have no effect. */
		return r->shared->holder == (int)r->host || rng_below(&r->rng, 4) == 0 ? RIVAL_RELEASE
										    : RIVAL_REGISTER;
	switch (rng_below(&r->rng, 8)) {
	case 0:
		return RIVAL_VERIFY;
	case 1:
		return RIVAL_ABORT;
	case 2:
	case 3:
		return RIVAL_READ_LOCK;
	default:
		return RIVAL_LOCK;
	}
}

/* What is next; false: nothing. */
static bool choose(struct rival_slot *s)
{
	struct rival *r = s->rival;

	if (r->ended) {
		s->kind = RIVAL_READ_LOCK;
		s->lock = r->to_read - 1;
	} else if (r->ending) {
		s->kind = s->kind == RIVAL_CLEAR ? RIVAL_CLEAR : RIVAL_CLEAR_REGISTER;
	} else if (s->kind != RIVAL_ACQUIRE) {
		if (r->issued >= r->plan->rival_ops)
			return false;
		s->kind = draw(s);
	}
	return true;
}

static void slot_next(struct rival_slot *s)
{
	struct rival *r = s->rival;
	struct host_queue *q;

	if (!r->ctrl || s->open > 0 || (r->ended && r->to_read == 0))
		return;
	if (r->ending && s != &r->slot[0])
		return;
	if (!choose(s))
		return;
	q = queue_with(r, s->kind == RIVAL_LOCK ? 2 : 1);
	if (!q) {
		/* Not connected, or no place: later, and something else. */
		if (s->kind != RIVAL_CLEAR)
			s->kind = RIVAL_VERIFY;
		r->issued += !r->ending;
		think(s, AGAIN_NS);
		return;
	}
	r->issued += !r->ending;
	issue(s, q);
}

static void slot_think(struct io_timer *t)
{
	slot_next(container_of(t, struct rival_slot, think));
}

/* ---- life ------------------------------------------------------------------------------------ */

void rival_init(struct rival *r, const struct plan *plan, struct shared *shared, unsigned int host)
{
	*r = (struct rival){ .plan = plan, .shared = shared, .host = host };
	rng_init(&r->rng, (plan->seed ^ UINT64_C(0x726976616c)) * 2 + host);
	for (unsigned int i = 0; i < RIVAL_SLOTS; i++) {
		struct rival_slot *s = &r->slot[i];

		s->rival = r;
		s->kind = RIVAL_VERIFY;
		io_timer_init(&s->think, slot_think);
		for (unsigned int k = 0; k < ARRAY_SIZE(s->part); k++) {
			s->part[k].slot = s;
			s->part[k].data = calloc(1, plan->block);
			INVARIANT(s->part[k].data != NULL);
		}
	}
	/* In runs without them there is nothing to give up. */
	r->ended = plan->rival_ops == 0;
}

void rival_deinit(struct rival *r)
{
	INVARIANT(!rival_busy(r));
	for (unsigned int i = 0; i < RIVAL_SLOTS; i++)
		for (unsigned int k = 0; k < 2; k++)
			free(r->slot[i].part[k].data);
}

void rival_attach(struct rival *r, struct io_loop *loop, struct host_ctrl *ctrl)
{
	r->loop = loop;
	r->ctrl = ctrl;
	for (unsigned int i = 0; i < RIVAL_SLOTS; i++)
		think(&r->slot[i], AGAIN_NS);
}

void rival_detach(struct rival *r)
{
	r->ctrl = NULL;
	for (unsigned int i = 0; r->loop && i < RIVAL_SLOTS; i++)
		io_timer_stop(r->loop, &r->slot[i].think);
}

void rival_end(struct rival *r)
{
	r->ending = true;
	/* Whoever has it loses it now. */
	if (r->shared->holder >= 0)
		shared_releases(r->shared, (unsigned int)r->shared->holder);
	if (r->ctrl)
		think(&r->slot[0], 0);
}

void rival_sweep(struct rival *r)
{
	if (r->plan->rival_ops == 0)
		return;
	r->to_read = SHARED_LOCKS;
	if (r->ctrl)
		think(&r->slot[0], 0);
}

bool rival_busy(const struct rival *r)
{
	for (unsigned int i = 0; i < RIVAL_SLOTS; i++)
		if (r->slot[i].open > 0)
			return true;
	return false;
}

bool rival_over(const struct rival *r)
{
	bool done = r->ended || (!r->ending && r->issued >= r->plan->rival_ops);

	return !rival_busy(r) && done && r->to_read == 0;
}
