/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A namespace of an NVMe controller as a volume's backend. The controller keeps itself connected;
 * here bytes become logical blocks, limits become those of a backend, and the first connection
 * becomes a success or an error with a reason.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "nvme/cmd-nvm.h"
#include "nvme/text.h"
#include "volume/backend.h"

enum {
	OPTIMAL_MIN = 128 << 10, /* what is preferred where the namespace does not say more */
};

struct nvme {
	struct backend b;
	struct host_ctrl *ctrl;
	struct host_ns ns;
	struct pst_volume_info about; /* what describe() says: of the first connection, constant since */
	uint32_t nsid;
	struct io_timer limit; /* of the first connection */
	bool open;	       /* the opener has its answer */
	backend_opened_fn fn;
	void *arg;
	uint64_t connect_timeout_ns;
	char where[400];
	/* Read by pst_volume_stats() from any thread. */
	atomic_bool live;
	_Atomic uint64_t retries, reconnects;
	void (*closed)(void *arg);
	void *closed_arg;
	struct err err;
};

static struct nvme *nvme_of(struct backend *b)
{
	return container_of(b, struct nvme, b);
}

static void failed(void *arg)
{
	struct nvme *n = arg;
	struct err err = n->err;
	backend_opened_fn fn = n->fn;
	void *fn_arg = n->arg;

	mem_free(n);
	fn(fn_arg, NULL, &err);
}

/* The first connection did not come about: takes everything down, then says why. */
static void give_up(struct nvme *n)
{
	n->open = true;
	io_timer_stop(n->b.loop, &n->limit);
	host_ctrl_close(n->ctrl, failed, n);
}

static int check_namespace(struct nvme *n, const struct host_ctrl_info *i)
{
	int rc = host_ns_get(n->ctrl, n->nsid, &n->ns);

	if (rc < 0)
		return err_set(&n->err, ENOENT, "%s: namespace %u is not there", n->where, n->nsid);
	if (n->ns.metadata)
		return err_set(&n->err, EOPNOTSUPP, "%s: namespace %u has metadata, which is not supported",
			       n->where, n->nsid);
	if (n->ns.block == 0 || !is_power_of_two(n->ns.block))
		return err_set(&n->err, EOPNOTSUPP, "%s: namespace %u has blocks of %u bytes", n->where, n->nsid,
			       n->ns.block);
	/* A command has to hold a block at least: MDTS may say otherwise (Base 2.0, 5.17.2.1). */
	if (i->max_transfer < n->ns.block)
		return err_set(&n->err, EOPNOTSUPP, "%s: namespace %u has blocks of %u bytes, but no command may "
			       "move more than %u", n->where, n->nsid, n->ns.block, i->max_transfer);
	if (i->queues == 0)
		return err_set(&n->err, EOPNOTSUPP, "%s: the controller grants no I/O queue", n->where);
	return 0;
}

static void remember(struct nvme *n, const struct host_ctrl_info *i)
{
	struct pst_volume_info *about = &n->about;

	snprintf(about->transport, sizeof(about->transport), "tcp");
	snprintf(about->subsystem_nqn, sizeof(about->subsystem_nqn), "%s", i->subnqn);
	io_addr_format(&i->addr, about->address);
	about->nsid = n->nsid;
	about->target_times = i->times;
	memcpy(about->uuid, n->ns.uuid.b, sizeof(about->uuid));
	nvme_text_decode(i->id->mn, sizeof(i->id->mn), about->model, sizeof(about->model));
	nvme_text_decode(i->id->sn, sizeof(i->id->sn), about->serial, sizeof(about->serial));
	nvme_text_decode(i->id->fr, sizeof(i->id->fr), about->firmware, sizeof(about->firmware));
}

static void became_live(struct nvme *n)
{
	struct host_ctrl_info i;

	host_ctrl_info(n->ctrl, &i);
	if (check_namespace(n, &i) < 0) {
		give_up(n);
		return;
	}
	n->b.info.size = host_ns_bytes(&n->ns);
	n->b.info.block = n->ns.block;
	n->b.info.max_transfer =
		(uint32_t)MIN((uint64_t)i.max_transfer, (uint64_t)NVME_RW_MAX_BLOCKS * n->ns.block);
	n->b.info.optimal = MIN(MAX(n->ns.optimal, (uint32_t)OPTIMAL_MIN), n->b.info.max_transfer);
	/* Write Zeroes counts its blocks in 16 bits; deallocate could take more, and has no need to. */
	n->b.info.max_discard = (uint64_t)(i.can_write_zeroes && i.max_write_zeroes ? i.max_write_zeroes : 65536) *
				n->ns.block;
	n->b.info.queues = i.queues;
	n->b.info.depth = i.queues * i.depth;
	n->b.info.read_only |= n->ns.read_only;
	n->b.info.volatile_cache = i.volatile_cache;
	n->b.info.remote = true;
	remember(n, &i);
	n->open = true;
	io_timer_stop(n->b.loop, &n->limit);
	n->fn(n->arg, &n->b, NULL);
}

static void on_event(struct host_ctrl *c, enum host_event event, void *arg)
{
	struct nvme *n = arg;
	struct host_ctrl_info i;

	atomic_store(&n->live, event != HOST_EVENT_LOST && event != HOST_EVENT_FAILED);
	if (event == HOST_EVENT_LIVE && n->open)
		n->reconnects++;
	if (n->open)
		return;
	if (event == HOST_EVENT_LIVE) {
		became_live(n);
	} else if (event == HOST_EVENT_FAILED) {
		host_ctrl_info(c, &i);
		err_set(&n->err, i.error ? -i.error : EIO, "%s: %s", n->where, i.error_text);
		give_up(n);
	}
}

static void too_late(struct io_timer *t)
{
	struct nvme *n = container_of(t, struct nvme, limit);
	struct host_ctrl_info i;

	host_ctrl_info(n->ctrl, &i);
	err_set(&n->err, ETIMEDOUT, "%s: not connected within %.3g s (%s)%s%s", n->where,
		(double)n->connect_timeout_ns / 1e9, i.state, i.error ? ": " : "", i.error ? i.error_text : "");
	give_up(n);
}

/* ---- commands ------------------------------------------------------------------------------ */

static void io_done(struct host_io *io)
{
	struct backend_cmd *c = container_of(io, struct backend_cmd, host);
	struct nvme *n = nvme_of(c->backend);

	c->error = io->error;
	c->nvme_status = io->error ? (uint16_t)(io->status.sct << 8 | io->status.sc) : 0;
	c->sent_ns = io->sent_ns;
	c->last_ns = io->last_ns;
	c->has_times = io->has_times;
	if (io->has_times)
		c->times = io->times;
	if (io->tries > 1)
		n->retries += io->tries - 1;
	c->done(c);
}

static void submit(struct backend *b, struct backend_cmd *c)
{
	static const enum host_io_kind kinds[] = {
		[BACKEND_READ] = HOST_IO_READ,		   [BACKEND_WRITE] = HOST_IO_WRITE,
		[BACKEND_FLUSH] = HOST_IO_FLUSH,	   [BACKEND_DISCARD] = HOST_IO_DEALLOCATE,
		[BACKEND_ZERO] = HOST_IO_WRITE_ZEROES,
	};
	struct nvme *n = nvme_of(b);
	struct host_io *io = &c->host;
	bool data = c->kind == BACKEND_READ || c->kind == BACKEND_WRITE;

	c->backend = b;
	io->done = io_done;
	io->kind = kinds[c->kind];
	io->fua = false;
	io->timed = c->sampled;
	io->nsid = n->nsid;
	io->slba = c->offset / n->ns.block;
	io->nlb = (uint32_t)(c->length / n->ns.block);
	io->bytes = data ? (uint32_t)c->length : 0;
	io->iov = data ? c->iov : NULL;
	io->niov = data ? c->niov : 0;
	host_submit(n->ctrl, io);
}

/* From any thread: the controller itself is the loop's, and may be connecting anew by now. */
static void describe(struct backend *b, struct pst_volume_info *ret_info)
{
	const struct pst_volume_info *about = &nvme_of(b)->about;

	memcpy(ret_info->transport, about->transport, sizeof(ret_info->transport));
	memcpy(ret_info->subsystem_nqn, about->subsystem_nqn, sizeof(ret_info->subsystem_nqn));
	memcpy(ret_info->address, about->address, sizeof(ret_info->address));
	memcpy(ret_info->uuid, about->uuid, sizeof(ret_info->uuid));
	memcpy(ret_info->model, about->model, sizeof(ret_info->model));
	memcpy(ret_info->serial, about->serial, sizeof(ret_info->serial));
	memcpy(ret_info->firmware, about->firmware, sizeof(ret_info->firmware));
	ret_info->nsid = about->nsid;
	ret_info->target_times = about->target_times;
}

static void stats(struct backend *b, struct pst_volume_stats *s)
{
	struct nvme *n = nvme_of(b);

	s->retries += n->retries;
	s->reconnects += n->reconnects;
	s->connected &= atomic_load(&n->live);
}

static void ctrl_closed(void *arg)
{
	struct nvme *n = arg;
	void (*closed)(void *) = n->closed;
	void *closed_arg = n->closed_arg;

	mem_free(n);
	closed(closed_arg);
}

static void close_nvme(struct backend *b, void (*closed)(void *arg), void *arg)
{
	struct nvme *n = nvme_of(b);

	n->closed = closed;
	n->closed_arg = arg;
	host_ctrl_close(n->ctrl, ctrl_closed, n);
}

static const struct backend_ops nvme_ops = {
	.name = "nvme+tcp",
	.submit = submit,
	.describe = describe,
	.stats = stats,
	.close = close_nvme,
};

/* ---- opening ------------------------------------------------------------------------------- */

static int open_ctrl(struct nvme *n, const struct backend_options *o)
{
	struct host_config c;
	int rc;

	host_config_init(&c);
	rc = io_addr_parse(o->uri->address, URI_DEFAULT_PORT, false, &c.addr, &n->err);
	if (rc < 0)
		return rc;
	c.subnqn = o->uri->subnqn;
	c.hostnqn = o->hostnqn;
	memcpy(c.hostid, o->hostid, sizeof(c.hostid));
	c.queues = o->queues;
	c.depth = o->depth;
	c.nsid = o->uri->nsid;
	c.hdgst = o->hdgst;
	c.ddgst = o->ddgst;
	c.kato_ns = o->kato_ns;
	c.connect_timeout_ns = o->connect_timeout_ns;
	c.io_timeout_ns = o->io_timeout_ns;
	c.loss_timeout_ns = o->loss_timeout_ns;
	c.times = o->times;
	c.event = on_event;
	c.arg = n;
	return host_ctrl_new(n->b.loop, &c, &n->ctrl, &n->err);
}

void backend_nvme_open(struct io_loop *loop, const struct backend_options *o, backend_opened_fn fn,
		       void *arg)
{
	struct nvme *n = mem_zalloc(sizeof(*n));
	struct err err = ERR_NULL;

	if (!n) {
		err_set(&err, ENOMEM, "out of memory");
		fn(arg, NULL, &err);
		return;
	}
	n->b.ops = &nvme_ops;
	n->b.loop = loop;
	n->b.info.read_only = o->read_only;
	n->nsid = o->uri->nsid;
	n->connect_timeout_ns = o->connect_timeout_ns;
	n->fn = fn;
	n->arg = arg;
	snprintf(n->where, sizeof(n->where), "%s", o->uri->address);
	io_timer_init(&n->limit, too_late);
	if (open_ctrl(n, o) < 0) {
		failed(n);
		return;
	}
	/* Each step has its own limit; this is the whole's, for a user who waits. */
	if (io_timer_start(loop, &n->limit, o->connect_timeout_ns) < 0) {
		err_set(&n->err, ENOMEM, "out of memory");
		give_up(n);
	}
}
