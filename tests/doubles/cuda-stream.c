/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/doubles/cuda-stream.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/doubles/double.h"

/*
 * What a lost device can no longer be asked to destroy stays, as it does with a real driver, and is
 * in the report at the end: it is no leak that a sanitizer should end the test for.
 */
extern void __lsan_ignore_object(const void *p) __attribute__((weak));

static void *kept(void *p)
{
	if (!p)
		double_misuse("out of memory");
	if (__lsan_ignore_object)
		__lsan_ignore_object(p);
	return p;
}

enum work_kind { WORK_COPY, WORK_RECORD, WORK_WAIT, WORK_CALL };

struct work {
	struct work *next;
	enum work_kind kind;
	void *to;
	const void *from;
	size_t n;
	struct event *event;
	uint64_t number; /* of the event's recording */
	void (*fn)(void *arg);
	void *arg;
};

struct stream {
	pthread_t thread;
	struct work *first, **last;
	bool busy;
	bool ending;
	unsigned int seed;
};

struct event {
	uint64_t recorded;
	uint64_t over;
	unsigned int holds; /* work that names it; freed when nobody does */
	bool dead;
};

/* One lock for all: what is tested is order, not speed. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t delay;
static _Atomic int *device_lost;
static unsigned int streams, events;

void stream_init(uint64_t delay_us, _Atomic int *lost)
{
	delay = delay_us;
	device_lost = lost;
}

static void event_unhold(struct event *e)
{
	if (--e->holds == 0 && e->dead)
		free(e);
}

/* Called and returns with the lock held. */
static void do_work(struct stream *s, struct work *w)
{
	switch (w->kind) {
	case WORK_COPY:
		pthread_mutex_unlock(&lock);
		if (double_fails("copy"))
			atomic_store(device_lost, 700);
		if (atomic_load(device_lost) == 0)
			memcpy(w->to, w->from, w->n);
		pthread_mutex_lock(&lock);
		break;
	case WORK_RECORD:
		if (w->event->over < w->number)
			w->event->over = w->number;
		event_unhold(w->event);
		break;
	case WORK_WAIT:
		while (w->event->over < w->number)
			pthread_cond_wait(&changed, &lock);
		event_unhold(w->event);
		break;
	case WORK_CALL:
		pthread_mutex_unlock(&lock);
		w->fn(w->arg);
		pthread_mutex_lock(&lock);
		break;
	}
}

static void *stream_main(void *arg)
{
	struct stream *s = arg;

	pthread_mutex_lock(&lock);
	while (!s->ending || s->first) {
		struct work *w = s->first;

		if (!w) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		s->first = w->next;
		if (!s->first)
			s->last = &s->first;
		s->busy = true;
		pthread_mutex_unlock(&lock);
		if (delay > 0)
			usleep((useconds_t)((unsigned int)rand_r(&s->seed) % (delay + 1))); /* NOLINT */
		pthread_mutex_lock(&lock);
		do_work(s, w);
		s->busy = false;
		pthread_cond_broadcast(&changed);
		free(w);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

struct stream *stream_new(void)
{
	struct stream *s = kept(calloc(1, sizeof(*s)));

	s->last = &s->first;
	pthread_mutex_lock(&lock);
	s->seed = ++streams;
	pthread_mutex_unlock(&lock);
	if (pthread_create(&s->thread, NULL, stream_main, s) != 0)
		double_misuse("no thread for a stream");
	return s;
}

void stream_free(struct stream *s)
{
	pthread_mutex_lock(&lock);
	s->ending = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(s->thread, NULL);
	pthread_mutex_lock(&lock);
	streams--;
	pthread_mutex_unlock(&lock);
	free(s);
}

static void give(struct stream *s, struct work what)
{
	struct work *w = malloc(sizeof(*w));

	if (!w)
		double_misuse("out of memory");
	*w = what;
	pthread_mutex_lock(&lock);
	if (w->event) {
		w->event->holds++;
		w->number = w->kind == WORK_RECORD ? ++w->event->recorded : w->event->recorded;
	}
	*s->last = w;
	s->last = &w->next;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

void stream_copy(struct stream *s, void *to, const void *from, size_t n)
{
	give(s, (struct work){ .kind = WORK_COPY, .to = to, .from = from, .n = n });
}

void stream_record(struct stream *s, struct event *e)
{
	give(s, (struct work){ .kind = WORK_RECORD, .event = e });
}

void stream_wait(struct stream *s, struct event *e)
{
	give(s, (struct work){ .kind = WORK_WAIT, .event = e });
}

void stream_call(struct stream *s, void (*fn)(void *arg), void *arg)
{
	give(s, (struct work){ .kind = WORK_CALL, .fn = fn, .arg = arg });
}

void stream_drain(struct stream *s)
{
	pthread_mutex_lock(&lock);
	while (s->first || s->busy)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

bool stream_idle(struct stream *s)
{
	bool idle;

	pthread_mutex_lock(&lock);
	idle = !s->first && !s->busy;
	pthread_mutex_unlock(&lock);
	return idle;
}

struct event *event_new(void)
{
	struct event *e = kept(calloc(1, sizeof(*e)));

	pthread_mutex_lock(&lock);
	events++;
	pthread_mutex_unlock(&lock);
	return e;
}

void event_free(struct event *e)
{
	pthread_mutex_lock(&lock);
	events--;
	e->dead = true;
	e->holds++;
	event_unhold(e);
	pthread_mutex_unlock(&lock);
}

bool event_over(struct event *e)
{
	bool over;

	pthread_mutex_lock(&lock);
	if (e->dead)
		double_misuse("an event that was destroyed");
	over = e->over >= e->recorded;
	pthread_mutex_unlock(&lock);
	return over;
}

unsigned int stream_count(void)
{
	return streams;
}

unsigned int event_count(void)
{
	return events;
}
