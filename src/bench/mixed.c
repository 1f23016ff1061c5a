/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/mixed.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "bench/manifest.h"

static const char *const names[MIXED_STREAMS] = { "training", "checkpoint", "inference" };

const char *mixed_name(enum mixed_stream s)
{
	return names[s];
}

const struct bench_result *mixed_of(const struct mixed_phase *p, enum mixed_stream s)
{
	const struct bench_result *const of[MIXED_STREAMS] = { &p->train.all, &p->checkpoint.all, &p->micro.all };

	return of[s];
}

/* ---- one moment ---------------------------------------------------------------------------- */

/* All streams come here when they are open; none goes on if one of them could not. */
struct start {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int expected, here;
	bool failed;
};

static void start_fail(struct start *s)
{
	pthread_mutex_lock(&s->lock);
	s->failed = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static int start_ready(void *arg)
{
	struct start *s = arg;
	bool failed;

	pthread_mutex_lock(&s->lock);
	s->here++;
	pthread_cond_broadcast(&s->changed);
	while (s->here < s->expected && !s->failed)
		pthread_cond_wait(&s->changed, &s->lock);
	/* Whoever fails later than this is measured as it is. */
	failed = s->here < s->expected;
	pthread_mutex_unlock(&s->lock);
	return failed ? -ECANCELED : 0;
}

/* ---- one stream ---------------------------------------------------------------------------- */

struct stream {
	const struct mixed_options *o;
	enum mixed_stream which;
	struct mixed_phase *phase;
	struct start *start; /* NULL: alone */
	pthread_t thread;
	int rc;
	struct err err;
};

static void set_start(struct bench_target *t, struct start *s)
{
	if (!s)
		return;
	t->ready = start_ready;
	t->ready_arg = s;
}

static int run_train(struct stream *s)
{
	struct train_options o = s->o->train;

	set_start(&o.target, s->start);
	o.time_ns = s->o->time_ns;
	o.workload.epochs = UINT32_MAX; /* until the time is over */
	return train_run(&o, &s->phase->train, &s->err);
}

static int run_checkpoint(struct stream *s)
{
	struct checkpoint_options o = s->o->checkpoint;

	set_start(&o.target, s->start);
	o.time_ns = s->o->time_ns;
	o.count = 0;
	if (s->start)
		o.live = NULL;
	return checkpoint_run(&o, &s->phase->checkpoint, &s->err);
}

static int run_micro(struct stream *s)
{
	struct micro_options o = s->o->micro;

	set_start(&o.target, s->start);
	o.time_ns = s->o->time_ns;
	o.warmup_ns = 0;
	o.passes = 0;
	if (s->start)
		o.live = NULL;
	return micro_run(&o, &s->phase->micro, &s->err);
}

static void *stream_main(void *arg)
{
	static int (*const run[MIXED_STREAMS])(struct stream *s) = { run_train, run_checkpoint, run_micro };
	struct stream *s = arg;

	s->rc = run[s->which](s);
	if (s->rc < 0 && s->start)
		start_fail(s->start);
	return NULL;
}

/* ---- all of them --------------------------------------------------------------------------- */

static int run_alone(const struct mixed_options *o, struct mixed_phase *phase, struct err *err)
{
	for (int i = 0; i < MIXED_STREAMS; i++) {
		struct stream s = { .o = o, .which = (enum mixed_stream)i, .phase = phase };

		if (!o->on[i])
			continue;
		stream_main(&s);
		if (s.rc < 0) {
			*err = s.err;
			return err_prefix(err, "%s, alone", names[i]);
		}
		if (mixed_of(phase, s.which)->interrupted || mixed_of(phase, s.which)->path_missed)
			return 1;
	}
	return 0;
}

/* The error that made the others give up, not theirs. */
static int first_error(const struct stream *streams, unsigned int n, struct err *err)
{
	int rc = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (streams[i].rc == 0 || (rc < 0 && streams[i].rc == -ECANCELED))
			continue;
		rc = streams[i].rc;
		*err = streams[i].err;
		err_prefix(err, "%s, together", names[streams[i].which]);
		if (rc != -ECANCELED)
			break;
	}
	return rc;
}

static int run_together(const struct mixed_options *o, struct mixed_phase *phase, struct err *err)
{
	struct stream streams[MIXED_STREAMS];
	struct start start = { .failed = false };
	unsigned int n = 0;
	int rc = 0;

	for (int i = 0; i < MIXED_STREAMS; i++)
		start.expected += o->on[i];
	pthread_mutex_init(&start.lock, NULL);
	pthread_cond_init(&start.changed, NULL);
	for (int i = 0; rc == 0 && i < MIXED_STREAMS; i++) {
		struct stream *s = &streams[n];

		if (!o->on[i])
			continue;
		*s = (struct stream){ .o = o, .which = (enum mixed_stream)i, .phase = phase, .start = &start };
		rc = pthread_create(&s->thread, NULL, stream_main, s);
		n += rc == 0;
	}
	if (rc > 0) {
		start_fail(&start);
		rc = err_set(err, rc, "cannot start a thread: %s", strerror(rc));
	}
	for (unsigned int i = 0; i < n; i++)
		pthread_join(streams[i].thread, NULL);
	pthread_cond_destroy(&start.changed);
	pthread_mutex_destroy(&start.lock);
	return rc < 0 ? rc : first_error(streams, n, err);
}

static bool any_interrupted(const struct mixed_options *o, const struct mixed_phase *p)
{
	for (int i = 0; i < MIXED_STREAMS; i++) {
		if (o->on[i] && mixed_of(p, (enum mixed_stream)i)->interrupted)
			return true;
	}
	return false;
}

static void merge_phase(struct mixed_phase *p, const struct mixed_phase *run)
{
	/* A stream that is off, or that an interruption was faster than, has nothing, not even latencies. */
	if (run->train.all.ns > 0)
		train_merge(&p->train, &run->train);
	if (run->checkpoint.all.ns > 0)
		checkpoint_merge(&p->checkpoint, &run->checkpoint);
	if (run->micro.all.ns > 0)
		micro_merge(&p->micro, &run->micro);
}

void mixed_merge(struct mixed_result *r, const struct mixed_result *run)
{
	merge_phase(&r->alone, &run->alone);
	merge_phase(&r->together, &run->together);
	r->interrupted = r->interrupted || run->interrupted;
}

int mixed_run(const struct mixed_options *opts, struct mixed_result *ret_result, struct err *err)
{
	unsigned int n = 0;
	int rc;

	for (int i = 0; i < MIXED_STREAMS; i++)
		n += opts->on[i];
	if (n < 2)
		return err_set(err, EINVAL, "%u streams: expected at least two, or there is nothing to mix", n);
	if (opts->time_ns == 0)
		return err_set(err, EINVAL, "it would never end: no time");
	memset(ret_result, 0, sizeof(*ret_result));
	rc = run_alone(opts, &ret_result->alone, err);
	if (rc == 0)
		rc = run_together(opts, &ret_result->together, err);
	if (rc < 0)
		return rc;
	ret_result->interrupted = any_interrupted(opts, &ret_result->alone) ||
				  any_interrupted(opts, &ret_result->together);
	return 0;
}

/* ---- the dataset --------------------------------------------------------------------------- */

static int describe(struct pst_context *ctx, const char *uri, char name[32], struct err *err)
{
	struct pst_volume_options vo = PST_OPTIONS(vo);
	struct pst_volume *vol;
	struct pst_dataset *ds;
	struct pst_error perr;
	struct manifest m;
	int rc;

	vo.read_only = true;
	if (pst_volume_open(ctx, uri, &vo, &vol, &perr) < 0)
		return bench_err(err, &perr);
	if (pst_dataset_open(vol, &ds, &perr) < 0) {
		rc = bench_err(err, &perr);
	} else {
		rc = manifest_load(ctx, vol, ds, &m, err);
		if (rc == 0)
			snprintf(name, 32, "%s", m.workload);
		pst_dataset_close(ds);
	}
	pst_volume_close(vol);
	return rc;
}

int mixed_dataset(const struct bench_target *t, char name[32], struct err *err)
{
	struct pst_context *ctx;
	int rc = bench_context(t, PST_MODE_POLLED, 0, 0, &ctx, err);

	if (rc < 0)
		return rc;
	rc = describe(ctx, t->uris[0], name, err);
	if (rc < 0)
		err_prefix(err, "%s", t->uris[0]);
	pst_context_free(ctx);
	return rc;
}
