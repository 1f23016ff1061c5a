/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Reservation Notification log (NVMe Base 2.0, 5.16.1.24): pages that a host reads one after the
 * other, oldest first. They are numbered, so a host sees when it was too slow and some were lost.
 */
#include <string.h>

#include "base/util.h"
#include "nvme/cmd-admin.h"
#include "nvme/log.h"
#include "target/aen.h"
#include "target/assoc.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/resv-ns.h"
#include "target/window.h"

void tgt_resv_note(struct tgt_ctrl *c, const struct tgt_resv *r, uint32_t nsid, uint8_t type)
{
	struct tgt_resv_log *l = &c->resv_log;

	if (c->gone || (r->mask >> type & 1))
		return;
	l->count++;
	l->notes[l->count % TGT_RESV_LOG] = (struct tgt_resv_note){ .nsid = nsid, .type = type };
	l->kept = MIN(l->kept + 1, (uint32_t)TGT_RESV_LOG);
	tgt_event_raise(c, TGT_EVENT_RESERVATION);
}

struct nvme_status tgt_resv_log_page(struct tgt_req *req, struct tgt_window *w)
{
	struct tgt_ctrl *c = req->assoc->ctrl;
	struct tgt_resv_log *l = &c->resv_log;
	struct nvme_log_reservation page = { 0 };

	target_lock(c->target);
	if (l->kept > 0) {
		uint64_t number = l->count - l->kept + 1;
		const struct tgt_resv_note *n = &l->notes[number % TGT_RESV_LOG];

		page.count = cpu_to_le64(number);
		page.type = n->type;
		page.nsid = cpu_to_le32(n->nsid);
		page.available = (uint8_t)(l->kept - 1);
		if (!nvme_cmd_get_log(&req->cmd).rae)
			l->kept--;
		/* A host that reads one page an event is told of the next. */
		if (l->kept > 0)
			tgt_event_raise(c, TGT_EVENT_RESERVATION);
	}
	target_unlock(c->target);
	tgt_window_put(w, &page, sizeof(page));
	return nvme_status_success();
}
