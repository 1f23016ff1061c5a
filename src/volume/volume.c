/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes: opened from a URI over one or more workers, described, closed in order. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "volume/options.h"
#include "volume/request.h"

struct open {
	struct worker_event done;
	struct backend_options options;
	enum uri_kind kind;
	struct backend *backend;
	struct err err;
};

static void opened(void *arg, struct backend *b, const struct err *err)
{
	struct open *o = arg;

	o->backend = b;
	if (!b)
		o->err = *err;
	worker_event_set(&o->done);
}

static void open_on(struct worker *w, void *arg)
{
	struct open *o = arg;

	if (o->kind == URI_FILE)
		backend_file_open(w->loop, &o->options, opened, o);
	else
		backend_nvme_open(w->loop, &o->options, opened, o);
}

struct close {
	struct worker_event done;
	struct port *port;
};

static void closed(void *arg)
{
	worker_event_set(&((struct close *)arg)->done);
}

static void close_on(struct worker *w, void *arg)
{
	struct close *c = arg;

	c->port->backend->ops->close(c->port->backend, closed, c);
}

static void ports_close(struct pst_volume *vol)
{
	for (unsigned int i = 0; i < vol->port_count; i++) {
		struct close c = { .port = vol->ports[i] };

		worker_event_init(&c.done, c.port->worker);
		worker_call(c.port->worker, close_on, &c);
		worker_event_wait(&c.done);
		port_free(c.port);
	}
}

static int port_open(struct pst_volume *vol, struct worker *w, const struct backend_options *bo,
		     enum uri_kind kind, struct err *err)
{
	struct open o = { .options = *bo, .kind = kind, .err = ERR_NULL };
	struct port *p;

	worker_event_init(&o.done, w);
	worker_call(w, open_on, &o);
	worker_event_wait(&o.done);
	if (!o.backend) {
		*err = o.err;
		return -o.err.code;
	}
	if (port_new(w, vol, o.backend, &p) < 0) {
		struct port half = { .worker = w, .backend = o.backend };
		struct close c = { .port = &half };

		worker_event_init(&c.done, w);
		worker_call(w, close_on, &c);
		worker_event_wait(&c.done);
		return err_set(err, ENOMEM, "no memory for %u commands", o.backend->info.depth);
	}
	vol->ports[vol->port_count++] = p;
	return 0;
}

static int ports_open(struct pst_volume *vol, const struct backend_options *all, enum uri_kind kind,
		      struct err *err)
{
	struct pst_context *ctx = vol->ctx;
	unsigned int queues = all->queues, n = MIN(ctx->worker_count, queues);

	vol->ports = mem_calloc(n, sizeof(*vol->ports));
	if (!vol->ports)
		return err_set(err, ENOMEM, "out of memory");
	for (unsigned int i = 0; i < n; i++) {
		struct backend_options share = *all;
		int rc;

		share.queues = queues / n + (i < queues % n);
		rc = port_open(vol, &ctx->workers[i], &share, kind, err);
		if (rc < 0)
			return rc;
	}
	vol->many = n > 1;
	return 0;
}

static void describe(struct pst_volume *vol, const char *text)
{
	const struct backend_info *b = &vol->ports[0]->backend->info;
	struct pst_volume_info *i = &vol->info;

	snprintf(i->uri, sizeof(i->uri), "%s", text);
	i->size_bytes = b->size;
	i->block_bytes = b->block;
	i->max_transfer_bytes = b->max_transfer;
	i->optimal_bytes = b->optimal;
	i->read_only = b->read_only;
	i->volatile_cache = b->volatile_cache;
	for (unsigned int k = 0; k < vol->port_count; k++) {
		i->queues += vol->ports[k]->backend->info.queues;
		i->depth = vol->ports[k]->backend->info.depth / vol->ports[k]->backend->info.queues;
	}
	vol->ports[0]->backend->ops->describe(vol->ports[0]->backend, i);
}

static void volume_free(struct pst_volume *vol)
{
	ports_close(vol);
	mem_free(vol->ports);
	direct_free(vol->direct);
	pthread_mutex_destroy(&vol->writes_lock);
	atomic_fetch_sub(&vol->ctx->objects, 1);
	mem_free(vol);
}

/* An option of the call wins over the URI's, the URI's over the default. */
static uint64_t pick(uint64_t call, uint64_t uri, uint64_t otherwise)
{
	return call ? call : uri ? uri : otherwise;
}

static struct backend_options settle(const struct pst_context *ctx, const struct pst_volume_options *o,
				     const struct uri *u, const char *text)
{
	const uint64_t second = 1000000000;

	return (struct backend_options){
		.uri = u,
		.text = text,
		.hostnqn = ctx->hostnqn,
		.hostid = ctx->hostid,
		.queues = (unsigned int)pick(o->queues, u->queues,
					     u->kind == URI_FILE ? ctx->worker_count : 1),
		.depth = (unsigned int)pick(o->depth, u->depth, 128),
		.read_only = o->read_only,
		.hdgst = o->header_digest || u->hdgst,
		.ddgst = o->data_digest || u->ddgst,
		.kato_ns = pick(o->keep_alive_ns, u->kato_ns, 5 * second),
		.io_timeout_ns = pick(o->io_timeout_ns, u->io_timeout_ns, 30 * second),
		.connect_timeout_ns = pick(o->connect_timeout_ns, u->connect_timeout_ns, 10 * second),
		.loss_timeout_ns = pick(o->loss_timeout_ns, u->loss_timeout_ns, 600 * second),
		.times = pick(o->sample_every, u->sample_every, TIMING_EVERY) != TIMING_NEVER,
	};
}

static int open_volume(struct pst_context *ctx, const char *text, const struct pst_volume_options *o,
		       struct pst_volume **ret_vol, struct err *err)
{
	struct uri *uri = mem_alloc(sizeof(*uri));
	struct pst_volume *vol = mem_zalloc(sizeof(*vol));
	struct backend_options bo;
	int rc = uri && vol ? uri_parse(text, uri, err) : err_set(err, ENOMEM, "out of memory");

	if (rc < 0) {
		mem_free(uri);
		mem_free(vol);
		return rc;
	}
	vol->ctx = ctx;
	list_init(&vol->writes);
	list_init(&vol->blocked);
	pthread_mutex_init(&vol->writes_lock, NULL);
	atomic_init(&vol->refs, 1);
	atomic_fetch_add(&ctx->objects, 1);
	bo = settle(ctx, o, uri, text);
	vol->sample_every = (uint32_t)pick(o->sample_every, uri->sample_every, TIMING_EVERY);
	rc = ports_open(vol, &bo, uri->kind, err);
	if (rc == 0 && uri->kind == URI_FILE && (!uri->has_gds || uri->gds)) {
		vol->direct = direct_new(uri->path, bo.read_only);
		rc = vol->direct ? 0 : err_set(err, ENOMEM, "out of memory");
	}
	mem_free(uri);
	if (rc < 0) {
		volume_free(vol);
		return rc;
	}
	describe(vol, text);
	*ret_vol = vol;
	return 0;
}

int pst_volume_open(struct pst_context *ctx, const char *uri, const struct pst_volume_options *opts,
		    struct pst_volume **ret_vol, struct pst_error *error)
{
	struct pst_volume_options o = PST_OPTIONS(o);
	struct err err = ERR_NULL;
	int rc = options_take(&o, sizeof(o), opts, opts ? opts->struct_size : 0, &err);

	if (rc == 0 && (o.queues > URI_QUEUES_MAX || o.depth > URI_DEPTH_MAX))
		rc = err_set(&err, EINVAL, "queues and depth: expected at most %d and %d", URI_QUEUES_MAX,
			     URI_DEPTH_MAX);
	if (rc == 0)
		rc = open_volume(ctx, uri, &o, ret_vol, &err);
	return rc < 0 ? pst_error_from(error, &err) : 0;
}

void pst_volume_info(const struct pst_volume *vol, struct pst_volume_info *ret_info)
{
	*ret_info = vol->info;
}

void volume_unref(struct pst_volume *vol)
{
	if (atomic_fetch_sub(&vol->refs, 1) == 1)
		worker_event_set(vol->closing);
}

void pst_volume_close(struct pst_volume *vol)
{
	struct worker_event idle;

	if (!vol)
		return;
	/* A polled context has one worker; in a threaded one any worker may end the last request. */
	worker_event_init(&idle, vol->ports[0]->worker);
	vol->closing = &idle;
	if (atomic_fetch_sub(&vol->refs, 1) == 1)
		worker_event_set(&idle);
	worker_event_wait(&idle);
	volume_free(vol);
}

void pst_volume_stats(const struct pst_volume *vol, struct pst_volume_stats *ret_stats)
{
	struct pst_volume_stats s = { .connected = true };

	for (unsigned int i = 0; i < vol->port_count; i++) {
		struct port *p = vol->ports[i];

		s.reads += p->reads;
		s.writes += p->writes;
		s.read_bytes += p->read_bytes;
		s.write_bytes += p->write_bytes;
		s.errors += p->errors;
		for (size_t k = 0; k < ARRAY_SIZE(s.path_bytes); k++)
			s.path_bytes[k] += p->path_bytes[k];
		p->backend->ops->stats(p->backend, &s);
	}
	s.inflight = atomic_load(&vol->refs) - 1;
	*ret_stats = s;
}
