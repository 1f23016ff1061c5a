/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous events; the idea is in aen.h.
 */
#include "target/aen.h"

#include <string.h>

#include "base/util.h"
#include "nvme/aen.h"
#include "target/assoc.h"
#include "target/conn.h"
#include "target/core.h"
#include "target/ctrl.h"

static const struct nvme_event events[TGT_EVENT_COUNT] = {
	[TGT_EVENT_NS] = { NVME_EVENT_NOTICE, NVME_NOTICE_NS_ATTRIBUTE, NVME_LID_CHANGED_NS },
	[TGT_EVENT_ANA] = { NVME_EVENT_NOTICE, NVME_NOTICE_ANA, NVME_LID_ANA },
	[TGT_EVENT_DISCOVERY] = { NVME_EVENT_NOTICE, NVME_NOTICE_DISCOVERY, NVME_LID_DISCOVERY },
	[TGT_EVENT_SHUTDOWN] = { NVME_EVENT_IMMEDIATE, NVME_IMMEDIATE_SHUTDOWN, 0 },
	[TGT_EVENT_RESERVATION] = { NVME_EVENT_IO_COMMAND_SET, NVME_IO_EVENT_RESERVATION_LOG,
				    NVME_LID_RESERVATION },
};

void tgt_event_raise(struct tgt_ctrl *c, enum tgt_event e)
{
	if (c->gone)
		return;
	c->events.pending |= 1u << e;
	tgt_conn_notify(c->admin, TGT_NOTICE_EVENTS);
}

static void add_changed(struct tgt_events *ev, uint32_t nsid)
{
	uint32_t i = 0;

	while (i < ev->changed_count && ev->changed[i] < nsid)
		i++;
	if (i < ev->changed_count && ev->changed[i] == nsid)
		return;
	if (ev->changed_count == ARRAY_SIZE(ev->changed)) {
		ev->changed_overflow = true;
		return;
	}
	memmove(&ev->changed[i + 1], &ev->changed[i],
		(ev->changed_count - i) * sizeof(ev->changed[0]));
	ev->changed[i] = nsid;
	ev->changed_count++;
}

void tgt_event_ns_changed(struct tgt_ctrl *c, uint32_t nsid)
{
	if (c->gone)
		return;
	add_changed(&c->events, nsid);
	tgt_event_raise(c, TGT_EVENT_NS);
}

void tgt_event_read(struct tgt_assoc *admin, enum tgt_event e)
{
	target_lock(admin->target);
	admin->ctrl->events.masked &= ~(1u << e);
	target_unlock(admin->target);
	tgt_events_deliver(admin);
}

/* The next event to tell, which is masked from here on; TGT_EVENT_COUNT for none. */
static enum tgt_event take(struct tgt_assoc *admin)
{
	struct tgt_ctrl *c = admin->ctrl;
	enum tgt_event e;

	target_lock(admin->target);
	for (e = 0; e < TGT_EVENT_COUNT; e++) {
		uint32_t bit = 1u << e;

		uint32_t enable = nvme_event_enable_bit(events[e]);

		/* Some cannot be turned off. */
		if (enable && !(c->features.aec & enable))
			c->events.pending &= ~bit;
		if (c->events.pending & ~c->events.masked & bit) {
			c->events.pending &= ~bit;
			/* One without a log has nothing that would unmask it. */
			if (events[e].type != NVME_EVENT_IMMEDIATE)
				c->events.masked |= bit;
			break;
		}
	}
	target_unlock(admin->target);
	return e;
}

void tgt_events_deliver(struct tgt_assoc *admin)
{
	while (admin->state == TGT_ASSOC_LIVE && !list_empty(&admin->events)) {
		enum tgt_event e = take(admin);
		struct tgt_req *req;

		if (e == TGT_EVENT_COUNT)
			return;
		req = list_first_entry(&admin->events, struct tgt_req, link);
		admin->event_count--;
		tgt_req_succeed(req, nvme_event_encode(events[e]));
	}
}

void tgt_events_abort(struct tgt_assoc *admin)
{
	while (!list_empty(&admin->events)) {
		admin->event_count--;
		tgt_req_complete(list_first_entry(&admin->events, struct tgt_req, link),
				 nvme_status(NVME_SC_ABORT_REQUESTED));
	}
}

static void event_exec(struct tgt_req *req)
{
	struct tgt_assoc *a = req->assoc;

	if (a->event_count == TGT_EVENT_LIMIT) {
		tgt_req_fail(req, NVME_SC_ASYNC_EVENT_LIMIT);
		return;
	}
	tgt_req_set_state(req, TGT_REQ_PARKED);
	list_add_tail(&a->events, &req->link);
	a->event_count++;
	tgt_events_deliver(a);
}

struct nvme_status tgt_event_parse(struct tgt_req *req)
{
	req->exec = event_exec;
	return nvme_status_success();
}
