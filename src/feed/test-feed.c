/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds over a dataset in a file: every sample once an epoch with its own contents, split over ranks,
 * with little memory and much; and a context whose requests others hold.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/content.h"
#include "base/util.h"
#include "penstock.h"
#include "tests/tap.h"

enum { SAMPLES = 60, VOLUME = 16 << 20, LARGEST = 200000 };

static char path[64];
static char uri[80];

static uint64_t size_of(uint64_t i)
{
	return i == 7 ? 0 : i == 8 ? LARGEST : 1 + i * 3001 % 150000;
}

struct rig {
	struct pst_context *ctx;
	struct pst_volume *vol;
	struct pst_dataset *ds;
	struct pst_memory *mem;
	struct pst_feed *feed;
	struct pst_error err;
};

static void need(struct rig *r, int rc, const char *what)
{
	if (rc == 0)
		return;
	ok(false, "%s: %s", what, r->err.text);
	exit(tap_done());
}

static void set_up(struct rig *r, enum pst_mode mode, unsigned int inflight)
{
	struct pst_context_options o = PST_OPTIONS(o);

	*r = (struct rig){ .ctx = NULL };
	o.mode = mode;
	o.max_inflight = inflight;
	need(r, pst_context_new(&o, &r->ctx, &r->err), "context");
	need(r, pst_volume_open(r->ctx, uri, NULL, &r->vol, &r->err), "volume");
}

static void feed_up(struct rig *r, const struct pst_feed_options *o, bool emulated)
{
	size_t n;

	need(r, pst_dataset_open(r->vol, &r->ds, &r->err), "dataset");
	n = pst_feed_memory_size(r->ds, o);
	if (emulated)
		need(r, pst_memory_emulated(r->ctx, n, NULL, &r->mem, &r->err), "memory");
	else
		need(r, pst_memory_alloc(r->ctx, n, &r->mem, &r->err), "memory");
	need(r, pst_feed_new(r->ds, r->mem, o, &r->feed, &r->err), "feed");
}

static void tear_down(struct rig *r)
{
	pst_feed_free(r->feed);
	pst_memory_free(r->mem);
	pst_dataset_close(r->ds);
	pst_volume_close(r->vol);
	pst_context_free(r->ctx);
}

static void write_dataset(void)
{
	struct pst_dataset_writer *w;
	static uint8_t data[LARGEST];
	struct rig r;

	set_up(&r, PST_MODE_THREADED, 0);
	need(&r, pst_dataset_create(r.vol, &w, &r.err), "create");
	for (uint64_t i = 0; i < SAMPLES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "s/%03llu", (unsigned long long)i);
		content_fill(1, i, 0, data, size_of(i));
		need(&r, pst_dataset_add(w, name, size_of(i), 0, 0644, &r.err), "add");
		need(&r, pst_dataset_write(w, data, size_of(i), &r.err), "write");
	}
	need(&r, pst_dataset_finish(w, NULL, &r.err), "finish");
	pst_dataset_writer_free(w);
	tear_down(&r);
}

/* Takes what is left of an epoch; counts each sample in @seen. Returns what was wrong. */
static uint64_t take_epoch(struct rig *r, uint8_t *seen)
{
	static uint8_t got[LARGEST];
	struct pst_batch b;
	uint64_t wrong = 0;
	int rc;

	while ((rc = pst_feed_next(r->feed, UINT64_MAX, &b)) == 1) {
		const struct pst_timing *t = &b.stall;

		for (uint32_t i = 0; i < b.count; i++) {
			const struct pst_batch_sample *s = &b.samples[i];

			seen[s->index]++;
			wrong += s->error != 0 || s->size != size_of(s->index);
			wrong += pst_memory_copy_out(r->mem, s->mem_offset, got, s->size) != 0;
			wrong += content_check(1, s->index, 0, got, s->size) != s->size;
		}
		wrong += b.wait_ns != t->total ||
			 t->total != t->client_queue + t->network + t->target_queue + t->qos + t->media +
					     t->staging + t->wakeup + t->remote;
		pst_feed_release(r->feed, &b);
	}
	return wrong + (rc != 0);
}

static void epochs(enum pst_mode mode, bool emulated, uint32_t batch, uint32_t ranks, const char *what)
{
	uint8_t seen[SAMPLES] = { 0 };
	uint64_t wrong = 0, missed = 0;

	for (uint32_t rank = 0; rank < ranks; rank++) {
		struct pst_feed_options o = PST_OPTIONS(o);
		struct pst_batch b;
		struct rig r;

		o.batch = batch;
		o.rank = rank;
		o.ranks = ranks;
		o.seed = 5;
		o.keep_last = true;
		o.request_bytes = 65536;
		set_up(&r, mode, 0);
		feed_up(&r, &o, emulated);
		/* An epoch that is left after its first batch, then two whole ones. */
		wrong += pst_feed_start(r.feed, 0) != 0 || pst_feed_next(r.feed, UINT64_MAX, &b) != 1;
		for (uint64_t e = 1; e <= 2; e++)
			wrong += pst_feed_start(r.feed, e) != 0 || take_epoch(&r, seen) != 0;
		tear_down(&r);
	}
	for (int i = 0; i < SAMPLES; i++)
		missed += seen[i] != 2;
	is_u64(wrong, 0, "%s: batches of %u, %u ranks: every byte is right", what, batch, ranks);
	is_u64(missed, 0, "%s: every sample once an epoch", what);
}

/* All requests of the context are taken by somebody who gives them back only later. */
static void *give_back(void *arg)
{
	struct rig *r = arg;
	struct pst_completion c;

	usleep(100000);
	for (int i = 0; i < 2; i++)
		pst_wait(r->ctx, &c, 1, UINT64_MAX);
	return NULL;
}

static void starved(void)
{
	struct pst_feed_options o = PST_OPTIONS(o);
	uint8_t seen[SAMPLES] = { 0 };
	struct pst_memory *other;
	struct pst_batch b;
	pthread_t t;
	struct rig r;

	o.batch = 4;
	set_up(&r, PST_MODE_THREADED, 2);
	feed_up(&r, &o, false);
	need(&r, pst_memory_alloc(r.ctx, 4096, &other, &r.err), "memory");
	for (int i = 0; i < 2; i++)
		is_i64(pst_read(r.vol, other, 0, 0, 512, NULL, NULL), 0, "another takes a request");
	pst_feed_start(r.feed, 0);
	is_i64(pst_feed_next(r.feed, 20000000, &b), -ETIMEDOUT, "nothing comes meanwhile, and that is no deadlock");
	pthread_create(&t, NULL, give_back, &r);
	is_u64(take_epoch(&r, seen), 0, "and everything once they are given back, though nothing of ours came");
	pthread_join(t, NULL);
	pst_memory_free(other);
	tear_down(&r);
}

static void held(void)
{
	struct pst_feed_options o = PST_OPTIONS(o);
	struct pst_batch b[3];
	struct rig r;

	o.batch = 4;
	o.prefetch = 1;
	set_up(&r, PST_MODE_POLLED, 0);
	feed_up(&r, &o, false);
	is_i64(pst_feed_next(r.feed, 0, b), -EINVAL, "a feed that was not started");
	pst_feed_start(r.feed, 0);
	ok(pst_feed_next(r.feed, UINT64_MAX, &b[0]) == 1 && pst_feed_next(r.feed, UINT64_MAX, &b[1]) == 1,
	   "two batches of two");
	is_i64(pst_feed_next(r.feed, UINT64_MAX, &b[2]), -EDEADLK, "a third has no place, and waiting would never end");
	pst_feed_release(r.feed, &b[0]);
	is_i64(pst_feed_next(r.feed, UINT64_MAX, &b[2]), 1, "and comes when the first is given back");
	is_i64(pst_feed_start(r.feed, 1), 0, "another epoch begins with two batches held");
	pst_feed_release(r.feed, &b[2]);
	pst_feed_release(r.feed, &b[1]);
	ok(pst_feed_next(r.feed, UINT64_MAX, &b[0]) == 1 && pst_feed_next(r.feed, UINT64_MAX, &b[1]) == 1 &&
		   b[0].number == 0 && b[0].epoch == 1,
	   "which has taken them back: releasing them does nothing");
	pst_feed_release(r.feed, &b[0]);
	pst_feed_release(r.feed, &b[0]);
	is_i64(pst_feed_next(r.feed, UINT64_MAX, &b[2]), 1, "a batch is released once");
	tear_down(&r);
}

/* Nothing is read: all batches come, in the same order and with the same places, and memory stays as it was. */
static void synthetic(enum pst_mode mode)
{
	struct pst_feed_options o = PST_OPTIONS(o);
	uint64_t wrong = 0, batches = 0;
	struct pst_volume_stats before, after;
	struct pst_batch b;
	struct rig r;

	o.batch = 7;
	o.seed = 5;
	o.keep_last = true;
	o.synthetic = true;
	set_up(&r, mode, 0);
	feed_up(&r, &o, false);
	memset(pst_memory_ptr(r.mem), 0x5a, pst_memory_size(r.mem));
	pst_volume_stats(r.vol, &before);
	for (uint64_t e = 0; e < 2; e++) {
		wrong += pst_feed_start(r.feed, e) != 0;
		while (pst_feed_next(r.feed, 0, &b) == 1) {
			for (uint32_t i = 0; i < b.count; i++)
				wrong += b.samples[i].error != 0 || b.samples[i].size != size_of(b.samples[i].index);
			wrong += b.stall.total != b.wait_ns;
			batches++;
			pst_feed_release(r.feed, &b);
		}
	}
	pst_volume_stats(r.vol, &after);
	for (size_t i = 0; i < pst_memory_size(r.mem); i++)
		wrong += ((const uint8_t *)pst_memory_ptr(r.mem))[i] != 0x5a;
	is_u64(batches, 2 * ((SAMPLES + 6) / 7), "synthetic: every batch is there at once");
	is_u64(wrong, 0, "with its samples, and memory as it was");
	is_u64(after.reads, before.reads, "and nothing is read");
	tear_down(&r);
}

int main(void)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%.40s/penstock-feed-XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, VOLUME) != 0)
		return 1;
	close(fd);
	snprintf(uri, sizeof(uri), "file:%s", path);
	write_dataset();
	epochs(PST_MODE_THREADED, false, 7, 1, "threaded, host");
	epochs(PST_MODE_POLLED, false, 1, 1, "polled, host");
	epochs(PST_MODE_THREADED, true, 4, 3, "threaded, emulated");
	epochs(PST_MODE_POLLED, true, 60, 1, "polled, emulated");
	starved();
	held();
	synthetic(PST_MODE_THREADED);
	synthetic(PST_MODE_POLLED);
	unlink(path);
	return tap_done();
}
