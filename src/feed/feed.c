/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A feed reads ahead: batches in the order of the epoch, samples within a batch, requests within
 * a sample, as far as there is memory, batches to hold, and requests allowed in flight. A batch
 * is handed out when its last byte has landed.
 *
 * The stall of a batch is the time pst_feed_next() waited for it, split by what the request that
 * arrived last, and those that it had to wait for, were doing: stall.h. How much is under way at a
 * time is decided by window.h, unless the user has.
 *
 * Threads: callbacks come on I/O threads, the other calls from the user's one; one lock.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/util.h"
#include "feed/dataset.h"
#include "feed/place.h"
#include "feed/plan.h"
#include "feed/stall.h"
#include "feed/window.h"
#include "volume/options.h"
#include "volume/request.h"

enum {
	BATCH_MAX = 1 << 20,
	PREFETCH_MAX = 1024,
	INFLIGHT_MAX = 1024,
	INFLIGHT_MIN = 128, /* small requests at a time, unless the user says otherwise */
	REQUEST_MIN = 1 << 20, /* a request is not smaller than this unless its sample is */
	STARVED_RETRY_NS = 1000000,
};

struct feed_batch {
	uint64_t number;
	uint32_t issued;  /* samples whose requests are all under way */
	uint32_t missing; /* samples not yet whole */
	uint32_t count;
	bool given; /* to the user */
	uint64_t bytes;
	uint64_t end; /* for place_free_to() */
	struct pst_batch_sample *samples;
	uint64_t *left; /* bytes missing of each sample */
	enum pst_path path;
	struct pst_timing last; /* of the request that arrived last, from the wait's begin on, */
	uint64_t last_ns;	/* and when it did; 0: before anybody waited */
};

/* One request in flight. */
struct feed_read {
	struct list link;
	struct pst_feed *feed;
	struct feed_batch *batch;
	uint32_t sample;
	uint64_t length;
	uint64_t mark; /* window_issued() */
	struct stall_chain chain;
};

struct pst_feed {
	struct pst_dataset *ds;
	struct pst_memory *mem;
	struct pst_feed_options opts;
	struct plan plan;
	struct place place;
	struct window window;
	struct stall stall;
	uint64_t epoch;
	bool started;
	bool adapts; /* the window decides how much is in flight, besides opts.inflight */
	uint64_t waited; /* ns, by calls that ran into their time limit, for the batch to be given next */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct feed_batch *ring; /* batch n is ring[n % ring_size] */
	uint32_t ring_size;
	uint64_t next_issue; /* batch that is being issued */
	uint64_t next_give;
	uint64_t next_free;
	uint64_t sample_done; /* bytes already asked for of the sample being issued */
	bool placed;	      /* that sample has its place */
	bool abandoned;	      /* an epoch that was left: let requests in flight end */
	struct feed_read *reads;
	struct list free;
	uint32_t in_flight;
	bool starved; /* the context had no request to give: others have them all */
};

static struct pst_context *context(const struct pst_feed *f)
{
	return f->ds->vol->ctx;
}

static uint64_t now(const struct pst_feed *f)
{
	return io_now_precise(context(f)->workers[0].loop);
}

/* ---- issuing ------------------------------------------------------------------------------- */

static void arrived(const struct pst_completion *c, void *user);

static void sample_begin(struct pst_feed *f, struct feed_batch *b, uint32_t i)
{
	struct pst_sample s;
	int rc = pst_dataset_sample(f->ds, plan_sample(&f->plan, b->number, i), &s);

	INVARIANT(rc == 0);
	b->samples[i].size = s.size;
	b->left[i] = s.size;
	b->bytes += s.size;
}

static void sample_end(struct pst_feed *f, struct feed_batch *b)
{
	if (--b->missing == 0)
		pthread_cond_signal(&f->changed);
}

static void batch_begin(struct pst_feed *f, struct feed_batch *b)
{
	b->number = f->next_issue;
	b->count = plan_batch_size(&f->plan, b->number);
	b->missing = b->count;
	b->issued = 0;
	b->bytes = 0;
	b->given = false;
	b->path = PST_PATH_NONE;
	b->last = (struct pst_timing){ .total = 0 };
	b->last_ns = 0;
	for (uint32_t i = 0; i < b->count; i++) {
		b->samples[i] = (struct pst_batch_sample){ .index = plan_sample(&f->plan, b->number, i) };
		sample_begin(f, b, i);
	}
}

/* The next request of sample @i, for which that with @chain made room. False: not now. */
static bool issue_read(struct pst_feed *f, struct feed_batch *b, uint32_t i, const struct stall_chain *chain)
{
	struct pst_batch_sample *s = &b->samples[i];
	uint64_t n = MIN(s->size - f->sample_done, (uint64_t)f->opts.request_bytes);
	struct feed_read *r;
	struct pst_sample what;
	int rc;

	if (list_empty(&f->free) || (f->adapts && !window_room(&f->window, n)))
		return false;
	r = list_first_entry(&f->free, struct feed_read, link);
	*r = (struct feed_read){ .link = r->link, .feed = f, .batch = b, .sample = i, .length = n };
	if (chain)
		r->chain = *chain;
	pst_dataset_sample(f->ds, s->index, &what);
	rc = pst_read(f->ds->vol, f->mem, s->mem_offset + f->sample_done, what.offset + f->sample_done, n,
		      arrived, r);
	if (rc == -EAGAIN) {
		f->starved = true;
		return false;
	}
	INVARIANT(rc == 0);   /* the index was checked against the volume, the place against the memory */
	list_del(&r->link);
	r->mark = window_issued(&f->window, n);
	f->in_flight++;
	f->sample_done += n;
	return true;
}

/* All requests of sample @i, as far as they may be. True: they are all under way. */
static bool issue_sample(struct pst_feed *f, struct feed_batch *b, uint32_t i, const struct stall_chain *chain)
{
	struct pst_batch_sample *s = &b->samples[i];
	uint64_t want = f->opts.synthetic ? 0 : s->size;

	if (!f->placed) {
		if (!place_get(&f->place, s->size, &s->mem_offset, &b->end))
			return false;
		f->placed = true;
		f->sample_done = 0;
	}
	while (f->sample_done < want) {
		if (!issue_read(f, b, i, chain))
			return false;
	}
	if (want == 0)
		sample_end(f, b);
	f->placed = false;
	return true;
}

/*
 * Reads on as far as there is memory, and requests to be had. @chain: of the request whose arrival made
 * room; NULL: something else did. With the lock held.
 */
static void issue(struct pst_feed *f, const struct stall_chain *chain)
{
	f->starved = false;
	while (!f->abandoned && f->next_issue < f->plan.batches &&
	       f->next_issue - f->next_free < f->ring_size) {
		struct feed_batch *b = &f->ring[f->next_issue % f->ring_size];

		if (b->number != f->next_issue)
			batch_begin(f, b);
		while (b->issued < b->count) {
			if (!issue_sample(f, b, b->issued, chain))
				return;
			b->issued++;
		}
		f->next_issue++;
	}
}

static void arrived(const struct pst_completion *c, void *user)
{
	struct feed_read *r = user;
	struct pst_feed *f = r->feed;
	struct feed_batch *b = r->batch;
	struct pst_batch_sample *s = &b->samples[r->sample];
	struct stall_chain chain;

	pthread_mutex_lock(&f->lock);
	list_add_tail(&f->free, &r->link);
	f->in_flight--;
	if (c->error && !s->error)
		s->error = c->error;
	b->path = c->path;
	window_arrived(&f->window, r->length, c->error ? 0 : c->timing.total, c->timing.media, r->mark);
	if (f->stall.waiting)
		b->last_ns = now(f);
	chain = stall_arrived(&f->stall, &r->chain, &c->timing, b->last_ns);
	b->last = f->stall.waiting ? chain.sum : c->timing;
	b->left[r->sample] -= r->length;
	if (b->left[r->sample] == 0)
		sample_end(f, b);
	issue(f, &chain);
	if (f->abandoned && f->in_flight == 0)
		pthread_cond_signal(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

/* ---- waiting ------------------------------------------------------------------------------- */

/* Lets time pass until something changed, or @deadline. With the lock held. False: time is up. */
static bool pass(struct pst_feed *f, uint64_t deadline)
{
	struct timespec until;
	uint64_t t = now(f);

	if (t >= deadline)
		return false;
	/* Nothing of ours will arrive to say that the others have given requests back. */
	if (f->starved && f->in_flight == 0)
		deadline = MIN(deadline, t + STARVED_RETRY_NS);
	if (context(f)->mode == PST_MODE_POLLED) {
		pthread_mutex_unlock(&f->lock);
		pst_poll(context(f), deadline == UINT64_MAX ? UINT64_MAX : deadline - t);
		pthread_mutex_lock(&f->lock);
	} else if (deadline == UINT64_MAX) {
		pthread_cond_wait(&f->changed, &f->lock);
	} else {
		cond_deadline(deadline, &until);
		pthread_cond_timedwait(&f->changed, &f->lock, &until);
	}
	return true;
}

int pst_feed_next(struct pst_feed *f, uint64_t timeout_ns, struct pst_batch *ret_batch)
{
	uint64_t begun = now(f), deadline, end;
	struct feed_batch *b;
	bool in_time = true;

	deadline = timeout_ns > UINT64_MAX - begun ? UINT64_MAX : begun + timeout_ns;
	pthread_mutex_lock(&f->lock);
	if (!f->started || f->next_give >= f->plan.batches) {
		pthread_mutex_unlock(&f->lock);
		return f->started ? 0 : -EINVAL;
	}
	b = &f->ring[f->next_give % f->ring_size];
	issue(f, NULL);
	while (in_time && (b->number != f->next_give || b->issued < b->count || b->missing > 0)) {
		/* The user holds every batch there is room for: nothing can ever arrive. */
		if (f->in_flight == 0 && !f->starved && f->next_free < f->next_give) {
			pthread_mutex_unlock(&f->lock);
			return -EDEADLK;
		}
		stall_begin(&f->stall, begun);
		in_time = pass(f, deadline);
		if (f->starved)
			issue(f, NULL);
	}
	if (b->number != f->next_give || b->missing > 0 || b->issued < b->count) {
		f->waited += now(f) - begun;
		pthread_mutex_unlock(&f->lock);
		return -ETIMEDOUT;
	}
	b->given = true;
	f->next_give++;
	end = now(f);
	stall_end(&f->stall);
	*ret_batch = (struct pst_batch){
		.epoch = f->epoch,
		.number = b->number,
		.count = b->count,
		.samples = b->samples,
		.bytes = b->bytes,
		.path = b->path,
		.wait_ns = f->waited + (end - begun),
		.priv = b,
	};
	f->waited = 0;
	ret_batch->stall = stall_split(&b->last, ret_batch->wait_ns, b->last_ns ? end - b->last_ns : 0);
	pthread_mutex_unlock(&f->lock);
	return 1;
}

void pst_feed_release(struct pst_feed *f, struct pst_batch *batch)
{
	struct feed_batch *b = batch->priv;

	if (!b)
		return;
	batch->priv = NULL;
	pthread_mutex_lock(&f->lock);
	/* Otherwise an epoch that was started meanwhile has taken it back. */
	if (b->given && batch->epoch == f->epoch) {
		INVARIANT(b->number == f->next_free);
		place_free_to(&f->place, b->end);
		b->given = false;
		f->next_free++;
		issue(f, NULL);
	}
	pthread_mutex_unlock(&f->lock);
}

/* ---- epochs, life -------------------------------------------------------------------------- */

/* Lets what is in flight arrive, without reading on. With the lock held. */
static void quiesce(struct pst_feed *f)
{
	f->abandoned = true;
	while (f->in_flight > 0)
		pass(f, UINT64_MAX);
	f->abandoned = false;
}

int pst_feed_start(struct pst_feed *f, uint64_t epoch)
{
	pthread_mutex_lock(&f->lock);
	quiesce(f);
	plan_epoch(&f->plan, f->opts.sequential, f->opts.seed, epoch);
	place_init(&f->place, f->mem->region.length);
	f->epoch = epoch;
	f->started = true;
	f->waited = 0;
	stall_end(&f->stall);
	f->next_issue = f->next_give = f->next_free = 0;
	f->placed = false;
	for (uint32_t i = 0; i < f->ring_size; i++) {
		f->ring[i].number = UINT64_MAX;
		f->ring[i].given = false;
	}
	issue(f, NULL);
	pthread_mutex_unlock(&f->lock);
	return 0;
}

uint64_t pst_feed_batches(const struct pst_feed *f)
{
	return f->plan.batches;
}

static void defaults(struct pst_feed_options *o, const struct pst_volume *vol)
{
	const struct pst_volume_info *i = &vol->info;
	uint64_t depth = (uint64_t)MAX(i->queues, 1u) * MAX(i->depth, 1u);

	o->batch = o->batch ? o->batch : 1;
	o->prefetch = o->prefetch ? o->prefetch : 2;
	o->ranks = o->ranks ? o->ranks : 1;
	o->group = o->group ? o->group : 1;
	if (o->request_bytes == 0)
		o->request_bytes = MAX(i->optimal_bytes, (uint32_t)REQUEST_MIN);
	/* What a volume does not take at once waits there, where it shows. */
	if (o->inflight == 0)
		o->inflight = (uint32_t)MIN(MAX(depth, (uint64_t)INFLIGHT_MIN), (uint64_t)INFLIGHT_MAX);
}

static uint64_t rounded(uint64_t size)
{
	return ALIGN_UP(MAX(size, UINT64_C(1)), (uint64_t)PLACE_ALIGN);
}

/* The memory without which a batch of the largest samples could never be read. */
static uint64_t least_memory(const struct pst_dataset *ds, const struct pst_feed_options *o)
{
	/* Twice the largest: what does not fit before the end costs up to one sample of room. */
	struct pst_dataset_info info;

	pst_dataset_info(ds, &info);
	return rounded(info.largest_bytes) * (o->batch + 1);
}

size_t pst_feed_memory_size(const struct pst_dataset *ds, const struct pst_feed_options *opts)
{
	struct pst_feed_options o = PST_OPTIONS(o);
	struct pst_dataset_info info;
	uint64_t mean;

	if (options_take(&o, sizeof(o), opts, opts ? opts->struct_size : 0, NULL) < 0)
		return 0;
	defaults(&o, ds->vol);
	pst_dataset_info(ds, &info);
	mean = rounded(info.samples ? info.bytes / info.samples : 0) * o.batch;
	return MAX(mean * (o.prefetch + 1) + rounded(info.largest_bytes), least_memory(ds, &o));
}

static int check(const struct pst_dataset *ds, const struct pst_memory *mem, const struct pst_feed_options *o,
		 struct err *err)
{
	if (o->batch > BATCH_MAX || o->prefetch > PREFETCH_MAX || o->inflight > INFLIGHT_MAX)
		return err_set(err, EINVAL, "feed: expected at most %d samples a batch, %d batches, %d requests",
			       BATCH_MAX, PREFETCH_MAX, INFLIGHT_MAX);
	if (o->batch % o->group != 0)
		return err_set(err, EINVAL, "feed: a batch of %u samples: expected a multiple of the group, %u",
			       o->batch, o->group);
	if (o->rank >= o->ranks)
		return err_set(err, EINVAL, "feed: rank %u: expected 0 to %u", o->rank, o->ranks - 1);
	if (mem->ctx != ds->vol->ctx)
		return err_set(err, EINVAL, "feed: the memory belongs to another context than the dataset");
	if (mem->region.length < least_memory(ds, o))
		return err_set(err, EINVAL, "feed: %llu bytes of memory: a batch may need %llu",
			       (unsigned long long)mem->region.length,
			       (unsigned long long)least_memory(ds, o));
	return 0;
}

/* Beyond what is staged there is nothing to be had: it would wait for pieces. */
static uint64_t most_in_flight(const struct pst_memory *mem)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; mem->dock && i < mem->ctx->worker_count; i++) {
		const struct mem_staging *s = mem->dock->landings[i].staging;

		bytes += (uint64_t)mem_staging_count(s) * mem_staging_piece(s);
	}
	return mem->dock ? bytes : UINT64_MAX;
}

static int ring_new(struct pst_feed *f)
{
	f->ring_size = f->opts.prefetch + 1;
	f->ring = mem_calloc(f->ring_size, sizeof(*f->ring));
	f->reads = mem_calloc(f->opts.inflight, sizeof(*f->reads));
	if (!f->ring || !f->reads)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->opts.inflight; i++)
		list_add_tail(&f->free, &f->reads[i].link);
	for (uint32_t i = 0; i < f->ring_size; i++) {
		struct feed_batch *b = &f->ring[i];

		b->number = UINT64_MAX;
		b->samples = mem_calloc(f->opts.batch, sizeof(*b->samples));
		b->left = mem_calloc(f->opts.batch, sizeof(*b->left));
		if (!b->samples || !b->left)
			return -ENOMEM;
	}
	return 0;
}

int pst_feed_new(struct pst_dataset *ds, struct pst_memory *mem, const struct pst_feed_options *opts,
		 struct pst_feed **ret_feed, struct pst_error *error)
{
	struct pst_feed *f = mem_zalloc(sizeof(*f));
	struct err err = ERR_NULL;
	int rc = f ? 0 : err_set(&err, ENOMEM, "out of memory");

	if (rc < 0)
		return pst_error_from(error, &err);
	f->ds = ds;
	f->mem = mem;
	list_init(&f->free);
	pthread_mutex_init(&f->lock, NULL);
	cond_init_monotonic(&f->changed);
	rc = options_take(&f->opts, sizeof(f->opts), opts, opts ? opts->struct_size : 0, &err);
	if (rc == 0) {
		f->adapts = f->opts.inflight == 0;
		window_init(&f->window, most_in_flight(mem));
		defaults(&f->opts, ds->vol);
		rc = check(ds, mem, &f->opts, &err);
	}
	if (rc == 0 && ring_new(f) < 0)
		rc = err_set(&err, ENOMEM, "no memory for %u batches of %u samples", f->opts.prefetch + 1,
			     f->opts.batch);
	if (rc < 0) {
		pst_feed_free(f);
		return pst_error_from(error, &err);
	}
	plan_init(&f->plan, pst_dataset_count(ds), f->opts.batch, f->opts.group, f->opts.keep_last, f->opts.rank,
		  f->opts.ranks);
	*ret_feed = f;
	return 0;
}

void pst_feed_free(struct pst_feed *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	quiesce(f);
	pthread_mutex_unlock(&f->lock);
	for (uint32_t i = 0; f->ring && i < f->ring_size; i++) {
		mem_free(f->ring[i].samples);
		mem_free(f->ring[i].left);
	}
	mem_free(f->ring);
	mem_free(f->reads);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	mem_free(f);
}
