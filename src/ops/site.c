/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites: making, running and ending them; the idea is in site.h. How one is changed is in
 * site-apply.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/util.h"
#include "ops/site-impl.h"
#include "target/change.h"
#include "target/inspect.h"

/* ---- stores ---------------------------------------------------------------------------------- */

static void on_release(void *arg, struct store *store)
{
	struct site_store *x = arg;
	struct site *s = x->site;

	pthread_mutex_lock(&s->lock);
	x->retired = x->released = true;
	pthread_cond_broadcast(&s->released);
	if (s->wake)
		s->wake(s->wake_arg);
	pthread_mutex_unlock(&s->lock);
}

void site_retire(struct site *s, const char *nqn, uint32_t nsid, const struct store *keep)
{
	struct site_store *x;

	pthread_mutex_lock(&s->lock);
	list_for_each_entry(x, &s->stores, link)
		if (x->store != keep && (nsid == 0 || x->nsid == nsid) && strcmp(x->nqn, nqn) == 0)
			x->retired = true;
	pthread_mutex_unlock(&s->lock);
}

int site_open_ns(struct site *s, const char *nqn, const struct config_namespace *from,
		 struct target_ns_config *ret_ns, struct err *err)
{
	struct site_store *x = mem_zalloc(sizeof(*x));
	int r;

	if (!x)
		return err_set(err, ENOMEM, "%s: out of memory", from->store);
	r = store_open(s->loop, from->store, &x->store, err);
	if (r < 0) {
		mem_free(x);
		return r;
	}
	x->site = s;
	x->nsid = from->nsid;
	snprintf(x->nqn, sizeof(x->nqn), "%s", nqn);
	pthread_mutex_lock(&s->lock);
	list_add_tail(&s->stores, &x->link);
	pthread_mutex_unlock(&s->lock);
	*ret_ns = (struct target_ns_config){
		.nsid = from->nsid,
		.store = x->store,
		.read_only = from->read_only,
		.release = on_release,
		.release_arg = x,
	};
	if (from->uuid)
		(void)uuid_parse(from->uuid, &ret_ns->uuid); /* config_check() did */
	return 0;
}

static void close_store(struct site_store *x)
{
	list_del(&x->link);
	store_free(x->store);
	mem_free(x);
}

void site_close_ns(struct site *s, const struct target_ns_config *ns)
{
	struct site_store *x = ns->release_arg;

	if (!x)
		return;
	pthread_mutex_lock(&s->lock);
	list_del(&x->link);
	pthread_mutex_unlock(&s->lock);
	close_store(x);
}

int site_view_init(struct site *s, struct site_view *v, const struct config_subsystem *from, struct err *err)
{
	size_t hosts = config_host_count(from);

	*v = (struct site_view){ .c = {
		.nqn = from->nqn,
		.serial = from->serial,
		.model = from->model,
		.allow_any = config_allows_any(from),
		.hosts = hosts > 0 ? (const char *const *)from->allow : NULL,
		.host_count = hosts,
	} };
	v->ns = mem_calloc(from->namespace_count, sizeof(*v->ns));
	if (!v->ns)
		return err_set(err, ENOMEM, "%s: out of memory", from->nqn);
	v->c.namespaces = v->ns;
	for (; v->c.namespace_count < from->namespace_count; v->c.namespace_count++) {
		int r = site_open_ns(s, from->nqn, &from->namespaces[v->c.namespace_count],
				     &v->ns[v->c.namespace_count], err);

		if (r < 0) {
			site_view_deinit(s, v, true);
			return r;
		}
	}
	return 0;
}

void site_view_deinit(struct site *s, struct site_view *v, bool failed)
{
	for (size_t i = 0; failed && i < v->c.namespace_count; i++)
		site_close_ns(s, &v->ns[i]);
	v->ns = mem_free(v->ns);
	v->c.namespace_count = 0;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Moves what was let go of to @dead; how many are retired and were not. The lock is held. */
static size_t collect(struct site *s, struct list *dead)
{
	struct site_store *x, *next;
	size_t busy = 0;

	list_for_each_entry_safe(x, next, &s->stores, link) {
		busy += x->retired && !x->released;
		if (!x->released)
			continue;
		list_del(&x->link);
		list_add_tail(dead, &x->link);
	}
	return busy;
}

size_t site_settle(struct site *s, uint64_t ns)
{
	uint64_t until = u64_add_saturated(now(), ns);
	struct timespec ts = { .tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u) };
	struct list dead;
	size_t busy;

	list_init(&dead);
	pthread_mutex_lock(&s->lock);
	while ((busy = collect(s, &dead)) > 0)
		if (pthread_cond_timedwait(&s->released, &s->lock, &ts) != 0)
			break;
	pthread_mutex_unlock(&s->lock);
	/* Not under the lock: closing takes its time, and a core may be about to let go of another. */
	while (!list_empty(&dead))
		close_store(list_first_entry(&dead, struct site_store, link));
	return busy;
}

void site_set_wake(struct site *s, void (*wake)(void *arg), void *arg)
{
	pthread_mutex_lock(&s->lock);
	s->wake = wake;
	s->wake_arg = arg;
	pthread_mutex_unlock(&s->lock);
}

/* ---- making one ------------------------------------------------------------------------------ */

void site_listener_config(const struct config_listener *from, struct target_listener_config *ret)
{
	*ret = (struct target_listener_config){ .nqns = (const char *const *)from->nqns,
						.nqn_count = from->nqn_count };
	config_address(from, &ret->addr, &ret->advertise);
}

/* What the file says of limits; the sizes and numbers among them fit 32 bits. */
static void apply_limits(const struct config_limits *c, struct target_limits *l)
{
#define APPLY(name, kind, field)                                                                   \
	if (c->name.text)                                                                          \
		l->field = (__typeof__(l->field))c->name.value;
	CONFIG_LIMIT_LIST(APPLY)
#undef APPLY
}

/* One that cannot be used would be found out by a host, and late. */
static int check_state_dir(struct site *s, struct err *err)
{
	const char *dir = s->config->state_dir;
	struct stat st;

	if (!dir)
		return 0;
	if (stat(dir, &st) < 0)
		return err_set(err, errno, "state directory '%s': %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ENOTDIR, "state directory '%s': it is no directory", dir);
	if (access(dir, R_OK | W_OK | X_OK) < 0)
		return err_set(err, errno, "state directory '%s': it cannot be written: %s", dir,
			       strerror(errno));
	s->tc.state_dir = dir;
	return 0;
}

static int resources(struct site *s, struct err *err)
{
	const struct config *c = s->config;
	struct target_limits *l = &s->tc.limits;
	int n;

	if (c->cores) {
		n = config_parse_cores(c->cores, s->cores, SITE_CORES_MAX, err);
		if (n < 0)
			return n;
		s->tc.cores = s->cores;
		s->tc.core_count = (size_t)n;
	}
	s->tc.loop.spin_ns = c->spin_ns;
	if (c->arena_bytes)
		l->arena = c->arena_bytes;
	if (c->queue_depth)
		l->queue_depth = c->queue_depth;
	if (c->io_queues)
		l->io_queues = c->io_queues;
	if (c->connections)
		l->connections = c->connections;
	if (c->drain_ns)
		l->drain_ns = c->drain_ns;
	apply_limits(&c->limits, l);
	return check_state_dir(s, err);
}

/* The target from the views of all subsystems. */
static int make_target(struct site *s, struct site_view *views, struct target_subsys_config *subsystems,
		       struct target_listener_config *listeners, struct err *err)
{
	const struct config *c = s->config;
	size_t made = 0;
	int r = 0;

	for (; r == 0 && made < c->subsystem_count; made++)
		r = site_view_init(s, &views[made], &c->subsystems[made], err);
	if (r == 0) {
		for (size_t i = 0; i < c->subsystem_count; i++)
			subsystems[i] = views[i].c;
		for (size_t i = 0; i < c->listener_count; i++)
			site_listener_config(&c->listeners[i], &listeners[i]);
		s->tc.subsystems = subsystems;
		s->tc.subsystem_count = c->subsystem_count;
		s->tc.listeners = listeners;
		s->tc.listener_count = c->listener_count;
		s->tc.log = s->log;
		r = target_new(&s->tc, &s->target, err);
	}
	/* One that could not be made has undone itself. */
	for (size_t i = 0; i < made; i++)
		if (views[i].ns)
			site_view_deinit(s, &views[i], r < 0);
	return r;
}

static int make(struct site *s, struct err *err)
{
	const struct config *c = s->config;
	struct target_listener_config *listeners = mem_calloc(c->listener_count, sizeof(*listeners));
	struct target_subsys_config *subsystems = mem_calloc(c->subsystem_count, sizeof(*subsystems));
	struct site_view *views = mem_calloc(c->subsystem_count, sizeof(*views));
	int r;

	if (!listeners || !subsystems || !views)
		r = err_set(err, ENOMEM, "out of memory");
	else
		r = make_target(s, views, subsystems, listeners, err);
	mem_free(views);
	mem_free(subsystems);
	mem_free(listeners);
	return r;
}

int site_new(struct config *c, const struct log *log, struct site **ret_site, struct err *err)
{
	struct site *s = mem_zalloc(sizeof(*s));
	pthread_condattr_t attr;
	int r;

	if (!s) {
		config_free(c);
		return err_set(err, ENOMEM, "out of memory");
	}
	s->config = c;
	s->log = log;
	list_init(&s->stores);
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->released, &attr);
	pthread_condattr_destroy(&attr);
	target_config_init(&s->tc);
	r = config_check(c, err);
	if (r == 0)
		r = io_loop_new(&s->tc.loop, &s->loop, err);
	if (r == 0)
		r = resources(s, err);
	if (r == 0)
		r = make(s, err);
	if (r < 0) {
		site_free(s);
		return r;
	}
	*ret_site = s;
	return 0;
}

int site_start(struct site *s, struct err *err)
{
	int r = target_start(s->target, err);

	s->started = now();
	for (size_t i = 0; r == 0 && i < s->config->listener_count; i++)
		s->config->listeners[i].bound = *target_listener_addr(s->target, i);
	return r;
}

double site_uptime(const struct site *s)
{
	return (double)(now() - s->started) / 1e9;
}

struct target *site_target(const struct site *s)
{
	return s->target;
}

const struct config *site_config(const struct site *s)
{
	return s->config;
}

const struct target_limits *site_limits(const struct site *s)
{
	return &s->tc.limits;
}

/* ---- the end --------------------------------------------------------------------------------- */

struct flush {
	struct store_op op;
	bool done;
};

static void flushed(struct store_op *op)
{
	container_of(op, struct flush, op)->done = true;
}

static int flush_one(struct site *s, struct store *store, uint64_t until, struct err *err)
{
	struct flush *f = mem_zalloc(sizeof(*f));
	int r = 0;

	if (!f)
		return err_set(err, ENOMEM, "out of memory");
	f->op.kind = STORE_FLUSH;
	f->op.done = flushed;
	f->done = store_submit(store, s->loop, &f->op);
	while (!f->done && now() < until)
		if (io_loop_turn(s->loop, until - MIN(until, now())) < 0)
			break;
	/* What never ends is left behind, with its memory: the process is about to end. */
	if (!f->done)
		return err_set(err, ETIMEDOUT, "%s: the flush does not end", store_info(store)->name);
	if (f->op.result < 0)
		r = err_set(err, -f->op.result, "%s: what was written may be lost: %s", store_info(store)->name,
			    strerror(-f->op.result));
	mem_free(f);
	return r;
}

int site_flush(struct site *s, uint64_t ns, struct err *err)
{
	uint64_t until = u64_add_saturated(now(), ns);
	struct site_store *x;
	int result = 0;

	list_for_each_entry(x, &s->stores, link) {
		const struct store_info *info = store_info(x->store);

		if (info->volatile_cache && !info->read_only && result != -ETIMEDOUT) {
			int r = flush_one(s, x->store, until, err);

			result = r < 0 ? r : result;
		}
	}
	return result;
}

struct site *site_free(struct site *s)
{
	if (!s)
		return NULL;
	site_set_wake(s, NULL, NULL);
	target_free(s->target);
	while (!list_empty(&s->stores))
		close_store(list_first_entry(&s->stores, struct site_store, link));
	io_loop_free(s->loop);
	config_free(s->config);
	pthread_cond_destroy(&s->released);
	pthread_mutex_destroy(&s->lock);
	return mem_free(s);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

struct sought {
	const char *nqn;
	uint32_t nsid;
	uint64_t bytes;
};

static void note_size(void *arg, const struct target_ns_info *info)
{
	struct sought *x = arg;

	if (info->nsid == x->nsid && strcmp(info->subnqn, x->nqn) == 0)
		x->bytes = info->size_bytes;
}

int site_resize(struct site *s, const char *nqn, uint32_t nsid, uint64_t *ret_bytes, struct err *err)
{
	struct sought x = { .nqn = nqn, .nsid = nsid };
	int r = target_ns_update(s->target, nqn, nsid, TARGET_ACCESS_KEEP, NULL, err);

	if (r < 0)
		return r;
	target_visit_namespaces(s->target, note_size, &x);
	*ret_bytes = x.bytes;
	if (r > 0)
		log_event(s->log, LOG_LEVEL_INFO, "changed", LOG_STR("what", "namespace_resized"),
			  LOG_STR("subsystem", nqn), LOG_U64("nsid", nsid), LOG_U64("bytes", *ret_bytes));
	return r;
}
