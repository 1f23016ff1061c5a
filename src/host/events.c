/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous events (NVMe Base 2.0, 5.2). One request is always outstanding while the controller
 * is live, and none is sent otherwise (I009). What an event is about is read anew; the log page that
 * the controller keeps of it is read first, because that lets it tell of the next change.
 */
#include <errno.h>

#include "base/util.h"
#include "host/ctrl.h"
#include "nvme/aen.h"
#include "nvme/cmd.h"
#include "nvme/log.h"

static void on_event(struct host_admin *a);

static void post(struct host_ctrl *c)
{
	if (!host_ctrl_live(c))
		return;
	c->aer.done = on_event;
	nvme_cmd_init_async_event(&c->aer.cmd);
	host_admin_issue(c, &c->aer, true);
}

static void namespaces_changed(struct host_ctrl *c);

/* The log itself says no more than that everything should be looked at. */
static void on_log(struct host_admin *a)
{
	struct host_ctrl *c = container_of(a, struct host_ctrl, log);
	bool again = c->log_again;

	c->log_busy = false;
	if (a->error < 0 || !host_ctrl_live(c))
		return;
	if (again)
		namespaces_changed(c);
	else
		host_ns_rescan(c);
}

static void namespaces_changed(struct host_ctrl *c)
{
	struct nvme_get_log log = { .lid = NVME_LID_CHANGED_NS, .bytes = sizeof(c->log_page) };

	c->log_again = c->log_busy;
	if (c->log_busy)
		return;
	c->log_busy = true;
	c->log_iov = (struct iovec){ .iov_base = c->log_page, .iov_len = sizeof(c->log_page) };
	c->log.done = on_log;
	c->log.iov = &c->log_iov;
	c->log.niov = 1;
	c->log.bytes = sizeof(c->log_page);
	nvme_cmd_init_get_log(&c->log.cmd, NVME_NSID_ALL, &log);
	host_admin_issue(c, &c->log, false);
}

static void on_event(struct host_admin *a)
{
	struct host_ctrl *c = container_of(a, struct host_ctrl, aer);
	struct nvme_event e = nvme_event_decode(nvme_cpl_dw0(&a->cpl));

	if (a->error < 0 || !host_ctrl_live(c))
		return;
	/* Too many of them, or none at all: this controller does without. */
	if (!nvme_status_ok(nvme_cpl_status(&a->cpl)))
		return;
	c->stats.events++;
	if (e.type == NVME_EVENT_NOTICE && e.info == NVME_NOTICE_NS_ATTRIBUTE)
		namespaces_changed(c);
	else if (e.type == NVME_EVENT_NOTICE && e.info == NVME_NOTICE_DISCOVERY)
		host_ctrl_tell(c, HOST_EVENT_DISCOVERY);
	post(c);
}

void host_events_start(struct host_ctrl *c)
{
	c->log_busy = false;
	post(c);
}
