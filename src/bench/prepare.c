/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/prepare.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"

#define LOOK_NS UINT64_C(100000000) /* how long the thread may not see that it shall end */

struct prepare {
	struct pst_feed *feed;
	uint64_t ns;
	const struct bench_clock *clock;
	const atomic_bool *stop;
	pthread_t thread;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t left; /* batches to be taken from the feed */
	atomic_bool ending;
	bool ready; /* what follows is to be taken */
	int rc;
	struct pst_batch batch;
	uint64_t arrived_ns;
};

static bool stopped(const struct prepare *p)
{
	return atomic_load_explicit(p->stop, memory_order_relaxed) ||
	       atomic_load_explicit(&p->ending, memory_order_relaxed);
}

static void hold(const struct prepare *p, uint64_t begin)
{
	uint64_t now = begin, end = begin + p->ns;

	while (now < end && !stopped(p)) {
		p->clock->sleep_until(MIN(end, now + LOOK_NS));
		now = p->clock->now();
	}
}

/* 1: one is prepared; 0: told to stop; -errno. */
static int one(struct prepare *p, struct pst_batch *b, uint64_t *arrived)
{
	int rc;

	do {
		if (stopped(p))
			return 0;
		rc = pst_feed_next(p->feed, LOOK_NS, b);
	} while (rc == -ETIMEDOUT);
	*arrived = p->clock->now();
	if (rc == 1)
		hold(p, *arrived);
	/* Batches are counted: the epoch has one more. */
	return rc == 0 ? -ENODATA : rc;
}

static void *prepare_main(void *arg)
{
	struct prepare *p = arg;

	pthread_mutex_lock(&p->lock);
	while (!atomic_load(&p->ending)) {
		struct pst_batch b = { .count = 0 };
		uint64_t arrived = 0;
		int rc;

		if (p->left == 0) {
			pthread_cond_wait(&p->changed, &p->lock);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		rc = one(p, &b, &arrived);
		pthread_mutex_lock(&p->lock);
		while (p->ready && !atomic_load(&p->ending))
			pthread_cond_wait(&p->changed, &p->lock);
		p->batch = b;
		p->arrived_ns = arrived;
		p->rc = rc;
		p->ready = true;
		p->left = rc == 1 ? p->left - 1 : 0;
		pthread_cond_broadcast(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int prepare_new(struct pst_feed *feed, uint64_t ns, const struct bench_clock *clock, const atomic_bool *stop,
		struct prepare **ret_prepare, struct err *err)
{
	struct prepare *p = mem_zalloc(sizeof(*p));
	int rc;

	if (!p)
		return err_set(err, ENOMEM, "out of memory");
	p->feed = feed;
	p->ns = ns;
	p->clock = clock;
	p->stop = stop;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	rc = pthread_create(&p->thread, NULL, prepare_main, p);
	if (rc != 0) {
		pthread_cond_destroy(&p->changed);
		pthread_mutex_destroy(&p->lock);
		mem_free(p);
		return err_set(err, rc, "cannot start the thread that prepares: %s", strerror(rc));
	}
	*ret_prepare = p;
	return 0;
}

struct prepare *prepare_free(struct prepare *p)
{
	if (!p)
		return NULL;
	pthread_mutex_lock(&p->lock);
	atomic_store(&p->ending, true);
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	mem_free(p);
	return NULL;
}

void prepare_start(struct prepare *p, uint64_t batches)
{
	pthread_mutex_lock(&p->lock);
	INVARIANT(p->left == 0 && !p->ready);
	p->left = batches;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

int prepare_next(struct prepare *p, struct pst_batch *ret_batch, uint64_t *ret_arrived_ns)
{
	int rc;

	pthread_mutex_lock(&p->lock);
	/* Without any left there is nothing to come, after an end that was told already. */
	while (!p->ready && p->left > 0)
		pthread_cond_wait(&p->changed, &p->lock);
	rc = p->ready ? p->rc : 0;
	*ret_batch = p->batch;
	*ret_arrived_ns = p->arrived_ns;
	p->ready = false;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

/* ---- whose wait it was ----------------------------------------------------------------------- */

uint64_t prepare_split(struct pst_batch *b, uint64_t arrived, uint64_t begin, uint64_t end)
{
	uint64_t wait = end - begin, fetch = arrived > begin ? MIN(arrived - begin, wait) : 0, left = fetch;
	double share = b->wait_ns > fetch ? (double)fetch / (double)b->wait_ns : 1;
	uint64_t *const parts[] = {
		&b->stall.client_queue, &b->stall.network, &b->stall.target_queue, &b->stall.qos,
		&b->stall.media,	&b->stall.staging, &b->stall.remote,	   &b->stall.wakeup,
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		*parts[i] = MIN((uint64_t)((double)*parts[i] * share), left);
		left -= *parts[i];
	}
	/* Fractions, and the way from one thread to the other. */
	b->stall.wakeup += left;
	b->stall.total = fetch;
	b->wait_ns = fetch;
	return wait - fetch;
}
