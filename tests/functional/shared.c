/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many readers and writers of the same few blocks, on connections of their own: a logical block is always one
 * that somebody wrote whole, and no digest is wrong.
 *
 *	shared URI BLOCK WRITERS READERS SECONDS
 *
 * Each writer fills what it writes with a value of its own, over and over; each reader looks whether a block has
 * two. The data that one reads is being written by others while the target computes a digest of it and sends it:
 * a digest that does not fit costs a retry or the connection, which the client counts, and there is no other
 * reason for either. A thread a host, each with a context of its own, so that the target sees several.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/parse.h"
#include "penstock.h"

enum {
	AREA = 96 << 10,  /* all of them, all of the time */
	MOST = 64 << 10,  /* of one request */
	DEPTH = 8,
	HOSTS_MAX = 32,
};

struct host {
	pthread_t thread;
	unsigned int number;
	bool writes;
	uint64_t state; /* of a xorshift generator */
	struct pst_context *ctx;
	struct pst_volume *vol;
	struct pst_memory *mem;
	uint64_t requests, torn, failed, mixed;
	struct pst_volume_stats stats;
};

struct slot {
	struct host *host;
	size_t at; /* in the host's memory */
	uint64_t length;
};

static const char *uri;
static uint64_t block;
static atomic_bool over;
static pthread_barrier_t all;

static uint64_t draw(struct host *h, uint64_t below)
{
	h->state ^= h->state << 13;
	h->state ^= h->state >> 7;
	h->state ^= h->state << 17;
	return h->state % below;
}

static uint8_t *bytes_of(const struct slot *s)
{
	return (uint8_t *)pst_memory_ptr(s->host->mem) + s->at;
}

static int begin(struct slot *s)
{
	struct host *h = s->host;
	uint64_t offset, value;

	s->length = block * (1 + draw(h, MOST / block));
	offset = block * draw(h, (AREA - s->length) / block + 1);
	if (!h->writes)
		return pst_read(h->vol, h->mem, s->at, offset, s->length, NULL, s);
	value = draw(h, UINT64_MAX);
	for (uint64_t i = 0; i < s->length; i += sizeof(value))
		memcpy(bytes_of(s) + i, &value, sizeof(value));
	return pst_write(h->vol, h->mem, s->at, offset, s->length, NULL, s);
}

static void look(const struct slot *s)
{
	const uint8_t *p = bytes_of(s);

	for (uint64_t i = 0; i < s->length; i += block) {
		s->host->torn += memcmp(p + i, p + i + 8, block - 8) != 0;
		s->host->mixed += i > 0 && memcmp(p, p + i, 8) != 0;
	}
}

static void work(struct host *h, struct slot *slots)
{
	unsigned int in_flight = 0;
	struct pst_completion c;

	for (int i = 0; i < DEPTH; i++) {
		slots[i] = (struct slot){ .host = h, .at = (size_t)i * MOST };
		in_flight += begin(&slots[i]) == 0;
	}
	while (in_flight > 0 && pst_wait(h->ctx, &c, 1, UINT64_MAX) == 1) {
		struct slot *s = c.user;

		in_flight--;
		h->requests++;
		if (c.error && h->failed++ == 0)
			fprintf(stderr, "a request failed: %s\n", strerror(-c.error));
		else if (!c.error && !h->writes)
			look(s);
		if (!atomic_load(&over) && !c.error)
			in_flight += begin(s) == 0;
	}
}

static int open_host(struct host *h)
{
	struct pst_context_options o = PST_OPTIONS(o);
	struct pst_error err = { 0 };
	char nqn[64];

	snprintf(nqn, sizeof(nqn), "nqn.2026-11.io.penstock:shared%u", h->number);
	o.mode = PST_MODE_POLLED;
	o.hostnqn = nqn;
	h->state = h->number * 0x9E3779B97F4A7C15 + 1;
	if (pst_context_new(&o, &h->ctx, &err) < 0 || pst_volume_open(h->ctx, uri, NULL, &h->vol, &err) < 0 ||
	    pst_memory_alloc(h->ctx, DEPTH * MOST, &h->mem, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	return 0;
}

static void close_host(struct host *h)
{
	pst_memory_free(h->mem);
	pst_volume_close(h->vol);
	pst_context_free(h->ctx);
}

/* A polled context belongs to one thread. All begin together, and none leaves while others are at work. */
static void *host_main(void *arg)
{
	struct slot slots[DEPTH];
	struct host *h = arg;

	h->failed = open_host(h) < 0;
	pthread_barrier_wait(&all);
	if (!h->failed)
		work(h, slots);
	pthread_barrier_wait(&all);
	if (h->vol)
		pst_volume_stats(h->vol, &h->stats);
	close_host(h);
	return NULL;
}

/* Blocks that nobody has written yet are zeroes, and so whole. */
static int judge(const struct host *hosts, unsigned int count)
{
	uint64_t reads = 0, writes = 0, torn = 0, failed = 0, mixed = 0, trouble = 0;

	for (unsigned int i = 0; i < count; i++) {
		const struct host *h = &hosts[i];

		*(h->writes ? &writes : &reads) += h->requests;
		torn += h->torn;
		failed += h->failed;
		mixed += h->mixed;
		trouble += h->stats.retries + h->stats.reconnects;
	}
	printf("%llu reads, %llu writes, %llu blocks unlike the first of their read; %llu torn, %llu failed, "
	       "%llu retries and reconnects\n",
	       (unsigned long long)reads, (unsigned long long)writes, (unsigned long long)mixed,
	       (unsigned long long)torn, (unsigned long long)failed, (unsigned long long)trouble);
	/* Readers and writers have met: else nothing was shown. */
	return torn == 0 && failed == 0 && trouble == 0 && reads > 0 && writes > 0 && mixed > 0;
}

int main(int argc, char **argv)
{
	static struct host hosts[HOSTS_MAX];
	uint64_t writers, readers, seconds;
	unsigned int count;

	if (argc != 6 || parse_u64_between(argv[2], 512, MOST, &block) < 0 || MOST % block != 0 ||
	    parse_u64_between(argv[3], 1, HOSTS_MAX / 2, &writers) < 0 ||
	    parse_u64_between(argv[4], 1, HOSTS_MAX / 2, &readers) < 0 ||
	    parse_u64_between(argv[5], 1, 86400, &seconds) < 0) {
		fprintf(stderr, "usage: shared URI BLOCK WRITERS READERS SECONDS\n");
		return 2;
	}
	uri = argv[1];
	count = (unsigned int)(writers + readers);
	pthread_barrier_init(&all, NULL, count + 1);
	for (unsigned int i = 0; i < count; i++) {
		hosts[i].number = i;
		hosts[i].writes = i < writers;
		if (pthread_create(&hosts[i].thread, NULL, host_main, &hosts[i]) != 0)
			return 1;
	}
	pthread_barrier_wait(&all);
	nanosleep(&(struct timespec){ .tv_sec = (time_t)seconds }, NULL);
	atomic_store(&over, true);
	pthread_barrier_wait(&all);
	for (unsigned int i = 0; i < count; i++)
		pthread_join(hosts[i].thread, NULL);
	return judge(hosts, count) ? 0 : 1;
}
