/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time limits of an association, and what it says in the log.
 *
 * Every stage in which we wait for the host has a limit. There is one timer a connection, armed for
 * the earliest of them; the I/O path only notes when something began, so keeping time costs it
 * next to nothing.
 */
#include <stddef.h>

#include "base/check.h"
#include "base/util.h"
#include "nvme/status.h"
#include "target/assoc.h"
#include "target/conn.h"
#include "target/connect.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/fused.h"

/* When something that began at @since (0: not running) takes too long; @limit 0: never. */
static uint64_t ends(uint64_t since, uint64_t limit)
{
	return since == 0 || limit == 0 ? UINT64_MAX : u64_add_saturated(since, limit);
}

static uint64_t head_ends(const struct list *l, uint64_t limit)
{
	return list_empty(l) ? UINT64_MAX
			     : ends(list_first_entry(l, struct tgt_req, link)->since, limit);
}

static uint64_t stage_ends(const struct tgt_assoc *a)
{
	const struct target_limits *lim = &a->target->limits;

	switch (a->state) {
	case TGT_ASSOC_ICREQ:
		return ends(a->stage_since, lim->icreq_ns);
	case TGT_ASSOC_CONNECT:
		return ends(a->stage_since, lim->connect_ns);
	case TGT_ASSOC_LIVE:
		/*
		 * An I/O queue may idle from the start; an admin queue has a controller to enable.
		 */
		return a->qid == 0 && !a->got_command ? ends(a->stage_since, lim->first_command_ns)
						      : UINT64_MAX;
	case TGT_ASSOC_DEAD:
		return a->linger ? ends(a->linger_since, lim->linger_ns) : UINT64_MAX;
	default:
		return UINT64_MAX;
	}
}

static enum target_close stage_reason(const struct tgt_assoc *a)
{
	return a->state == TGT_ASSOC_ICREQ     ? TARGET_CLOSE_ICREQ_TIMEOUT
	       : a->state == TGT_ASSOC_CONNECT ? TARGET_CLOSE_CONNECT_TIMEOUT
					       : TARGET_CLOSE_FIRST_COMMAND_TIMEOUT;
}

uint64_t tgt_assoc_deadline(const struct tgt_assoc *a)
{
	const struct target_limits *lim = &a->target->limits;
	uint64_t at = stage_ends(a);

	if (a->state == TGT_ASSOC_DEAD)
		return at;
	at = MIN(at, ends(a->rx_since, lim->transfer_ns));
	at = MIN(at, head_ends(&a->waiting_data, lim->transfer_ns));
	at = MIN(at, ends(a->tx_since, lim->send_ns));
	at = MIN(at, head_ends(&a->waiting_fence, lim->fence_ns));
	at = MIN(at, tgt_fused_deadline(a));
	if (a->connecting)
		at = MIN(at, a->connect_again);
	if (a->withdrawn_since)
		at = MIN(at, u64_add_saturated(a->withdrawn_since, lim->drain_ns));
	return at;
}

/*
 * Commands that waited for the fence too long: they may be tried again, and wait again. Command
 * Interrupted would say it better, but only a host that has set ACRE may be given that (5.27.1.18).
 */
static void expire_fenced(struct tgt_assoc *a, uint64_t now)
{
	while (head_ends(&a->waiting_fence, a->target->limits.fence_ns) <= now) {
		tgt_count(&a->reactor->stats.fence_expired, 1);
		tgt_req_complete(list_first_entry(&a->waiting_fence, struct tgt_req, link),
				 nvme_status(NVME_SC_NS_NOT_READY));
	}
}

uint64_t tgt_assoc_check_time(struct tgt_assoc *a, uint64_t now)
{
	const struct target_limits *lim = &a->target->limits;

	if (a->state == TGT_ASSOC_DEAD) {
		if (stage_ends(a) <= now)
			a->linger = false; /* the driver closes now */
		return tgt_assoc_deadline(a);
	}
	expire_fenced(a, now);
	if (tgt_fused_deadline(a) <= now)
		tgt_fused_expire(a);
	if (a->connecting && a->connect_again <= now)
		tgt_connect_again(a);
	if (stage_ends(a) <= now)
		tgt_assoc_kill(a, stage_reason(a), false);
	else if (ends(a->rx_since, lim->transfer_ns) <= now ||
		 head_ends(&a->waiting_data, lim->transfer_ns) <= now)
		tgt_assoc_kill(a, TARGET_CLOSE_TRANSFER_TIMEOUT, false);
	else if (ends(a->tx_since, lim->send_ns) <= now)
		tgt_assoc_kill(a, TARGET_CLOSE_SEND_TIMEOUT, false);
	else if (a->withdrawn_since &&
		 u64_add_saturated(a->withdrawn_since, lim->drain_ns) <= now)
		tgt_assoc_kill(a, TARGET_CLOSE_WITHDRAWN, false);
	return tgt_assoc_deadline(a);
}

/* ---- the log --------------------------------------------------------------------------------- */

/* Ends that need nobody's attention. */
static bool ordinary(enum target_close reason)
{
	return reason == TARGET_CLOSE_HOST_CLOSED || reason == TARGET_CLOSE_DISCONNECTED ||
	       reason == TARGET_CLOSE_CONTROLLER_GONE || reason == TARGET_CLOSE_DRAINED ||
	       reason == TARGET_CLOSE_WITHDRAWN;
}

void tgt_assoc_log_end(struct tgt_assoc *a, enum target_close reason)
{
	enum log_level level = ordinary(reason) ? LOG_LEVEL_INFO : LOG_LEVEL_WARN;
	const struct tgt_ctrl *c = a->ctrl;
	uint64_t held;

	/* I/O queues come and go with their controller: its line is enough. */
	if (ordinary(reason) && a->state == TGT_ASSOC_LIVE && a->qid > 0)
		level = LOG_LEVEL_DEBUG;
	if (!target_log_pass(a->target, level, io_now(a->reactor->loop), &held))
		return;
	log_event(a->target->log, level, "disconnect", LOG_STR("reason", target_close_name(reason)),
		  LOG_STR("peer", tgt_conn_of(a)->peer),
		  LOG_STR("state", tgt_assoc_state_name(a->state)),
		  LOG_STR("host", c ? c->host.nqn : NULL),
		  LOG_STR("subsystem", c ? c->subsys->nqn : NULL),
		  LOG_U64("cntlid", c ? c->cntlid : 0), LOG_U64("qid", a->qid),
		  LOG_U64("in_store", list_count(&a->in_store)), LOG_U64("held_back", held));
}

void tgt_assoc_log_error(struct tgt_assoc *a, const struct tcp_error *e)
{
	uint64_t held;

	if (!target_log_pass(a->target, LOG_LEVEL_WARN, io_now(a->reactor->loop), &held))
		return;
	log_event(a->target->log, LOG_LEVEL_WARN, "bad_pdu", LOG_STR("what", e->reason),
		  LOG_STR("fes", tcp_fes_name(e->fes)), LOG_HEX("fei", e->fei),
		  LOG_STR("pdu", tcp_pdu_name(e->header[0])), LOG_STR("peer", tgt_conn_of(a)->peer),
		  LOG_U64("qid", a->qid), LOG_U64("held_back", held));
}
