/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a discovery log: header, entries in pieces of what the controller transfers at once, header
 * again. Only when the generation is the same in both is it one log; otherwise all of it again, a
 * bounded number of times. The number of entries is the controller's word, so it is bounded before
 * memory is taken for it.
 */
#include "host/discovery.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "nvme/cmd.h"
#include "nvme/text.h"

/* Entries read at once: 64 KiB where the controller can. */
#define CHUNK_MAX 64

struct host_discovery {
	struct host_ctrl *ctrl;
	bool own; /* the controller is ours to close */
	host_discovery_fn fn;
	void *arg;
	bool live; /* reading has begun */
	bool ended;

	struct host_admin log;
	struct iovec iov;
	struct nvme_log_discovery header;
	struct nvme_discovery_entry *chunk;
	size_t chunk_max; /* entries */
	size_t chunk_count;
	bool again; /* the header is read for the second time */
	unsigned int tries;
	size_t done; /* entries read */

	struct host_discovery_log result;
	size_t total; /* entries there are memory for */
	struct err err;
};

static void read_header(struct host_discovery *d);

/* ---- the end ------------------------------------------------------------------------------- */

static void deliver(void *arg)
{
	struct host_discovery *d = arg;
	bool right = d->err.code == 0;

	d->fn(d->arg, right ? &d->result : NULL, right ? NULL : &d->err);
	mem_free(d->result.entries);
	mem_free(d->chunk);
	mem_free(d);
}

/* Once; the answer is delivered when the controller is closed, if it is ours. */
static void end(struct host_discovery *d)
{
	if (d->ended)
		return;
	d->ended = true;
	if (d->own)
		host_ctrl_close(d->ctrl, deliver, d);
	else
		deliver(d);
}

static void end_with(struct host_discovery *d, int error, const char *why)
{
	if (!d->ended)
		err_set(&d->err, error, "%s", why);
	end(d);
}

/* ---- entries ------------------------------------------------------------------------------- */

static void take_entry(struct host_discovery_entry *to, const struct nvme_discovery_entry *from)
{
	*to = (struct host_discovery_entry){
		.trtype = from->trtype,
		.adrfam = from->adrfam,
		.subtype = from->subtype,
		.treq = from->treq,
		.sectype = from->tsas[0],
		.portid = le16_to_cpu(from->portid),
		.cntlid = le16_to_cpu(from->cntlid),
		.asqsz = le16_to_cpu(from->asqsz),
		.eflags = le16_to_cpu(from->eflags),
	};
	nvme_text_decode(from->traddr, sizeof(from->traddr), to->traddr, sizeof(to->traddr));
	nvme_text_decode(from->trsvcid, sizeof(from->trsvcid), to->trsvcid, sizeof(to->trsvcid));
	if (nvme_nqn_from_field(from->subnqn, to->subnqn) < 0)
		to->subnqn[0] = 0;
}

static void get_log(struct host_discovery *d, void *to, uint32_t bytes, uint64_t offset,
		    void (*done)(struct host_admin *a))
{
	/* Events about the log come again only when it was read to its end (RAE clear at last). */
	struct nvme_get_log log = { .lid = NVME_LID_DISCOVERY, .bytes = bytes, .offset = offset,
				    .rae = !d->again };

	d->iov = (struct iovec){ .iov_base = to, .iov_len = bytes };
	d->log.done = done;
	d->log.iov = &d->iov;
	d->log.niov = 1;
	d->log.bytes = bytes;
	nvme_cmd_init_get_log(&d->log.cmd, 0, &log);
	host_admin_submit(d->ctrl, &d->log);
}

/* Whether all of what was asked for came; ends the reading otherwise. */
static bool came(struct host_discovery *d)
{
	struct nvme_status st = nvme_cpl_status(&d->log.cpl);
	struct host_ctrl_info info;

	if (d->ended)
		return false;
	if (d->log.error < 0) {
		host_ctrl_info(d->ctrl, &info);
		end_with(d, -d->log.error,
			 info.error ? info.error_text : strerror(-d->log.error));
		return false;
	}
	if (!nvme_status_ok(st)) {
		err_set(&d->err, -nvme_status_to_errno(st), "reading the discovery log: %s",
			nvme_status_name(st));
		end(d);
		return false;
	}
	if (d->log.received != d->log.bytes) {
		err_set(&d->err, EPROTO, "the discovery log ended after %u of %u bytes",
			d->log.received, d->log.bytes);
		end(d);
		return false;
	}
	return true;
}

static void on_chunk(struct host_admin *a);

static void read_chunk(struct host_discovery *d)
{
	uint64_t offset = sizeof(d->header) + d->done * sizeof(*d->chunk);

	if (d->done == d->total) {
		d->again = true;
		read_header(d);
		return;
	}
	d->chunk_count = MIN(d->chunk_max, d->total - d->done);
	get_log(d, d->chunk, (uint32_t)(d->chunk_count * sizeof(*d->chunk)), offset, on_chunk);
}

static void on_chunk(struct host_admin *a)
{
	struct host_discovery *d = container_of(a, struct host_discovery, log);

	if (!came(d))
		return;
	for (size_t i = 0; i < d->chunk_count; i++)
		take_entry(&d->result.entries[d->done++], &d->chunk[i]);
	read_chunk(d);
}

/* ---- the header, before and after ----------------------------------------------------------- */

static void begin_entries(struct host_discovery *d)
{
	uint64_t count = le64_to_cpu(d->header.numrec);

	if (le16_to_cpu(d->header.recfmt) != 0) {
		end_with(d, EPROTONOSUPPORT, "the discovery log has a format from the future");
		return;
	}
	if (count > HOST_DISCOVERY_MAX) {
		end_with(d, E2BIG, "the discovery log has too many entries");
		return;
	}
	d->result.generation = le64_to_cpu(d->header.genctr);
	d->result.count = (size_t)count;
	d->result.entries = mem_free(d->result.entries);
	d->total = (size_t)count;
	d->done = 0;
	d->result.entries = mem_calloc(MAX((size_t)count, (size_t)1), sizeof(*d->result.entries));
	if (d->result.entries)
		read_chunk(d);
	else
		end_with(d, ENOMEM, "no memory for the discovery log");
}

static void on_header(struct host_admin *a)
{
	struct host_discovery *d = container_of(a, struct host_discovery, log);

	if (!came(d))
		return;
	if (d->again && le64_to_cpu(d->header.genctr) == d->result.generation) {
		end(d);
		return;
	}
	d->again = false;
	if (d->tries++ == HOST_DISCOVERY_TRIES)
		end_with(d, EAGAIN, "the discovery log changes faster than it can be read");
	else
		begin_entries(d);
}

static void read_header(struct host_discovery *d)
{
	get_log(d, &d->header, sizeof(d->header), 0, on_header);
}

/* ---- the controller ------------------------------------------------------------------------ */

static void begin_reading(struct host_discovery *d)
{
	struct host_ctrl_info info;

	host_ctrl_info(d->ctrl, &info);
	d->chunk_max = MIN((size_t)CHUNK_MAX, (size_t)info.max_transfer / sizeof(*d->chunk));
	read_header(d);
}

static void on_event(struct host_ctrl *c, enum host_event event, void *arg)
{
	struct host_discovery *d = arg;
	struct host_ctrl_info info;

	if (event == HOST_EVENT_LIVE && !d->live) {
		d->live = true;
		begin_reading(d);
	} else if (event == HOST_EVENT_FAILED || event == HOST_EVENT_LOST) {
		host_ctrl_info(c, &info);
		end_with(d, -info.error, info.error_text);
	}
}

static struct host_discovery *discovery_new(host_discovery_fn fn, void *arg)
{
	struct host_discovery *d = mem_zalloc(sizeof(*d));

	if (!d)
		return NULL;
	d->fn = fn;
	d->arg = arg;
	d->chunk = mem_calloc(CHUNK_MAX, sizeof(*d->chunk));
	return d->chunk ? d : mem_free(d);
}

int host_discover(struct io_loop *loop, const struct host_config *config, host_discovery_fn fn,
		  void *arg, struct host_discovery **ret_discovery, struct err *err)
{
	struct host_config c = *config;
	struct host_discovery *d = discovery_new(fn, arg);
	int rc;

	if (!d)
		return err_set(err, ENOMEM, "no memory for a discovery");
	if (!c.subnqn)
		c.subnqn = NVME_DISCOVERY_NQN;
	c.queues = 0;
	c.nsid = 0;
	c.kato_ns = 0; /* gone before anybody could miss it; old targets refuse another (D007) */
	c.event = on_event;
	c.arg = d;
	rc = host_ctrl_new(loop, &c, &d->ctrl, err);
	if (rc < 0) {
		mem_free(d->chunk);
		mem_free(d);
		return rc;
	}
	d->own = true;
	*ret_discovery = d;
	return 0;
}

int host_discovery_read(struct host_ctrl *c, host_discovery_fn fn, void *arg,
			struct host_discovery **ret_discovery, struct err *err)
{
	struct host_discovery *d = discovery_new(fn, arg);

	if (!d)
		return err_set(err, ENOMEM, "no memory for a discovery");
	d->ctrl = c;
	d->live = true;
	*ret_discovery = d;
	begin_reading(d);
	return 0;
}

void host_discovery_cancel(struct host_discovery *d)
{
	if (d->own)
		end_with(d, ECANCELED, "cancelled");
	else if (d->err.code == 0)
		err_set(&d->err, ECANCELED, "cancelled");
}
