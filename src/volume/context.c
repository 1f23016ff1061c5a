/* SPDX-License-Identifier: Apache-2.0 */
#include "volume/context.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/err.h"
#include "host/identity.h"
#include "volume/landing.h"
#include "volume/options.h"
#include "volume/request.h"

enum { DEFAULT_INFLIGHT = 4096, THREADS_MAX = 256 };

const char *pst_version(void)
{
	return PENSTOCK_VERSION;
}

int pst_error_from(struct pst_error *dst, const struct err *src)
{
	if (dst) {
		dst->code = src->code;
		memcpy(dst->text, src->text, MIN(sizeof(dst->text), sizeof(src->text)));
		dst->text[sizeof(dst->text) - 1] = 0;
		if (!dst->text[0])
			snprintf(dst->text, sizeof(dst->text), "%s", err_text(src));
	}
	return -src->code;
}

static void lock(struct pst_context *ctx)
{
	if (ctx->mode == PST_MODE_THREADED)
		pthread_mutex_lock(&ctx->lock);
}

static void unlock(struct pst_context *ctx)
{
	if (ctx->mode == PST_MODE_THREADED)
		pthread_mutex_unlock(&ctx->lock);
}

struct request *context_get(struct pst_context *ctx, bool waited)
{
	struct request *r = NULL;

	lock(ctx);
	if (!list_empty(&ctx->free)) {
		r = list_first_entry(&ctx->free, struct request, link);
		list_del(&r->link);
		ctx->expected += waited;
	}
	unlock(ctx);
	return r;
}

void context_put(struct pst_context *ctx, struct request *r, bool waited)
{
	lock(ctx);
	list_add_head(&ctx->free, &r->link);
	ctx->expected -= waited;
	unlock(ctx);
}

void context_complete(struct pst_context *ctx, struct request *r)
{
	struct pst_completion c = r->completion;
	pst_callback cb = r->cb;

	if (r->waited) {
		lock(ctx);
		list_add_tail(&ctx->completed, &r->link);
		ctx->completed_count++;
		if (ctx->waiters > 0)
			pthread_cond_signal(&ctx->completed_cond);
		unlock(ctx);
		return;
	}
	/* Back to the pool first: the callback may well submit the next request. */
	context_put(ctx, r, false);
	/* For pst_poll(), which a threaded context has not: there, many threads come by here. */
	if (ctx->mode == PST_MODE_POLLED)
		ctx->callbacks++;
	cb(&c, c.user);
}

/* Takes what is there; with the lock held. */
static int take(struct pst_context *ctx, struct pst_completion *out, int max)
{
	int n = 0;

	while (n < max && !list_empty(&ctx->completed)) {
		struct request *r = list_first_entry(&ctx->completed, struct request, link);

		list_del(&r->link);
		ctx->completed_count--;
		out[n++] = r->completion;
		list_add_head(&ctx->free, &r->link);
		ctx->expected--;
	}
	return n;
}

static int wait_threaded(struct pst_context *ctx, struct pst_completion *out, int max, uint64_t timeout_ns)
{
	struct timespec until;
	int n, rc = 0;

	cond_deadline(u64_add_saturated(io_now_precise(ctx->workers[0].loop), timeout_ns), &until);
	pthread_mutex_lock(&ctx->lock);
	ctx->waiters++;
	while ((n = take(ctx, out, max)) == 0 && ctx->expected > 0 && rc == 0) {
		if (timeout_ns == UINT64_MAX)
			pthread_cond_wait(&ctx->completed_cond, &ctx->lock);
		else
			rc = pthread_cond_timedwait(&ctx->completed_cond, &ctx->lock, &until);
	}
	ctx->waiters--;
	/* One signal may have been for several completions and several waiters. */
	if (ctx->waiters > 0 && ctx->completed_count > 0)
		pthread_cond_signal(&ctx->completed_cond);
	pthread_mutex_unlock(&ctx->lock);
	return n;
}

int pst_poll(struct pst_context *ctx, uint64_t timeout_ns)
{
	int rc;

	if (ctx->mode != PST_MODE_POLLED)
		return -EINVAL;
	ctx->callbacks = 0;
	rc = io_loop_turn(ctx->workers[0].loop, timeout_ns);
	return rc < 0 ? rc : (int)ctx->callbacks;
}

int pst_wait(struct pst_context *ctx, struct pst_completion *out, int max, uint64_t timeout_ns)
{
	struct io_loop *loop = ctx->workers[0].loop;
	uint64_t end, now;
	int n;

	if (max < 1)
		return -EINVAL;
	if (ctx->mode == PST_MODE_THREADED)
		return wait_threaded(ctx, out, max, timeout_ns);
	now = io_now_precise(loop);
	end = timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
	while ((n = take(ctx, out, max)) == 0 && ctx->expected > 0) {
		int rc = io_loop_turn(loop, end == UINT64_MAX ? UINT64_MAX : end - now);

		if (rc < 0)
			return rc;
		now = end == UINT64_MAX ? 0 : io_now_precise(loop);
		if (now >= end)
			return take(ctx, out, max);
	}
	return n;
}

/* ---- workers ----------------------------------------------------------------------------- */

struct start {
	struct worker *worker;
	const struct io_loop_options *opts;
	struct worker_event ready;
	struct err err;
	int rc;
};

/* The loop is made by the thread that will turn it: io_uring wants one issuer. */
static void *worker_main(void *arg)
{
	struct start *s = arg;
	struct worker *w = s->worker;
	struct io_loop *loop = NULL;

	s->rc = io_loop_new(s->opts, &loop, &s->err);
	w->loop = loop;
	worker_event_set(&s->ready);
	if (!loop)
		return NULL;
	io_loop_run(loop);
	io_loop_free(loop);
	return NULL;
}

static int worker_start(struct worker *w, const struct io_loop_options *opts, struct err *err)
{
	struct start s = { .worker = w, .opts = opts, .err = ERR_NULL };
	int rc;

	w->running = true;
	worker_event_init(&s.ready, w);
	rc = pthread_create(&w->thread, NULL, worker_main, &s);
	if (rc != 0) {
		w->running = false;
		return err_set(err, rc, "cannot start an I/O thread: %s", strerror(rc));
	}
	worker_event_wait(&s.ready);
	if (s.rc < 0) {
		pthread_join(w->thread, NULL);
		w->running = false;
		*err = s.err;
	}
	return s.rc;
}

static void workers_stop(struct pst_context *ctx)
{
	for (unsigned int i = 0; i < ctx->worker_count; i++) {
		struct worker *w = &ctx->workers[i];

		if (w->running) {
			io_loop_stop(w->loop);
			pthread_join(w->thread, NULL);
		} else if (w->loop) {
			io_loop_free(w->loop);
		}
	}
}

/* @loop: of the one worker; NULL: loops are made. */
static int workers_start(struct pst_context *ctx, struct io_loop *loop, unsigned int threads, uint64_t spin_ns,
			 struct err *err)
{
	struct io_loop_options opts = { .spin_ns = spin_ns };
	unsigned int n = ctx->mode == PST_MODE_POLLED ? 1 : threads;

	ctx->workers = mem_calloc(n, sizeof(*ctx->workers));
	if (!ctx->workers) {
		if (loop)
			io_loop_free(loop);
		return err_set(err, ENOMEM, "no memory for %u I/O threads", n);
	}
	if (loop) {
		ctx->workers[ctx->worker_count++] = (struct worker){ .ctx = ctx, .loop = loop };
		return 0;
	}
	for (; ctx->worker_count < n; ctx->worker_count++) {
		struct worker *w = &ctx->workers[ctx->worker_count];
		int rc;

		w->ctx = ctx;
		if (ctx->mode == PST_MODE_POLLED)
			rc = io_loop_new(&opts, &w->loop, err);
		else
			rc = worker_start(w, &opts, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int requests_new(struct pst_context *ctx, struct err *err)
{
	ctx->requests = mem_calloc(ctx->max_inflight, sizeof(*ctx->requests));
	if (!ctx->requests)
		return err_set(err, ENOMEM, "no memory for %u requests", ctx->max_inflight);
	for (unsigned int i = 0; i < ctx->max_inflight; i++)
		list_add_tail(&ctx->free, &ctx->requests[i].link);
	return 0;
}

static int context_init(struct pst_context *ctx, struct io_loop *loop, const struct pst_context_options *o,
			struct err *err)
{
	struct host_identity id;
	int rc;

	list_init(&ctx->free);
	list_init(&ctx->completed);
	list_init(&ctx->docks);
	pthread_mutex_init(&ctx->lock, NULL);
	pthread_mutex_init(&ctx->docks_lock, NULL);
	cond_init_monotonic(&ctx->completed_cond);
	ctx->mode = o->mode;
	ctx->max_inflight = o->max_inflight ? o->max_inflight : DEFAULT_INFLIGHT;
	if (o->mode != PST_MODE_THREADED && o->mode != PST_MODE_POLLED)
		return err_set(err, EINVAL, "mode: no such mode (%d)", (int)o->mode);
	if (o->threads > THREADS_MAX)
		return err_set(err, EINVAL, "threads: %u: expected at most %d", o->threads, THREADS_MAX);
	rc = workers_start(ctx, loop, o->threads ? o->threads : 1, o->spin_ns, err);
	if (rc == 0)
		rc = requests_new(ctx, err);
	if (rc == 0)
		rc = host_identity_get(ctx->workers[0].loop, o->hostnqn, o->hostid, &id, err);
	if (rc == 0) {
		memcpy(ctx->hostnqn, id.nqn, sizeof(ctx->hostnqn));
		memcpy(ctx->hostid, id.id, sizeof(ctx->hostid));
	}
	return rc;
}

static void context_deinit(struct pst_context *ctx)
{
	docks_free(ctx);
	workers_stop(ctx);
	mem_free(ctx->workers);
	mem_free(ctx->requests);
	pthread_cond_destroy(&ctx->completed_cond);
	pthread_mutex_destroy(&ctx->lock);
	pthread_mutex_destroy(&ctx->docks_lock);
	mem_free(ctx);
}

int context_new_on_loop(struct io_loop *loop, const struct pst_context_options *opts, struct pst_context **ret_ctx,
			struct pst_error *error)
{
	struct pst_context_options o = PST_OPTIONS(o);
	struct err err = ERR_NULL;
	struct pst_context *ctx = NULL;
	int rc = options_take(&o, sizeof(o), opts, opts ? opts->struct_size : 0, &err);

	if (rc == 0) {
		ctx = mem_zalloc(sizeof(*ctx));
		rc = ctx ? 0 : err_set(&err, ENOMEM, "no memory for a context");
	}
	if (rc < 0) {
		if (loop)
			io_loop_free(loop);
		return pst_error_from(error, &err);
	}
	if (loop) {
		o.mode = PST_MODE_POLLED;
		o.threads = 1;
	}
	rc = context_init(ctx, loop, &o, &err);
	if (rc < 0) {
		context_deinit(ctx);
		return pst_error_from(error, &err);
	}
	*ret_ctx = ctx;
	return 0;
}

int pst_context_new(const struct pst_context_options *opts, struct pst_context **ret_ctx,
		    struct pst_error *error)
{
	return context_new_on_loop(NULL, opts, ret_ctx, error);
}

void pst_context_free(struct pst_context *ctx)
{
	if (!ctx)
		return;
	INVARIANT(atomic_load(&ctx->objects) == 0);
	context_deinit(ctx);
}

const char *pst_context_io(const struct pst_context *ctx)
{
	return io_loop_name(ctx->workers[0].loop);
}
