/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of any offset and length against a model in memory, over a file: in both modes, into host
 * and emulated memory, with several in flight; and writers of neighbouring bytes of the same blocks.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/util.h"
#include "penstock.h"
#include "tests/tap.h"

enum { VOLUME = 4 << 20, MEMORY = 2 << 20, LONGEST = 600000 };

static char path[64];
static char uri[128];

struct rig {
	struct pst_context *ctx;
	struct pst_volume *vol;
	struct pst_memory *mem;
};

static void set_up(struct rig *r, enum pst_mode mode, unsigned int threads, bool emulated, const char *query)
{
	struct pst_context_options co = PST_OPTIONS(co);
	struct pst_error err = { 0 };
	char text[200];
	int rc;

	co.mode = mode;
	co.threads = threads;
	snprintf(text, sizeof(text), "%s%s", uri, query);
	rc = pst_context_new(&co, &r->ctx, &err);
	if (rc == 0)
		rc = pst_volume_open(r->ctx, text, NULL, &r->vol, &err);
	if (rc == 0 && emulated)
		rc = pst_memory_emulated(r->ctx, MEMORY, NULL, &r->mem, &err);
	else if (rc == 0)
		rc = pst_memory_alloc(r->ctx, MEMORY, &r->mem, &err);
	if (rc < 0) {
		ok(false, "set-up: %s", err.text);
		exit(tap_done());
	}
}

static void tear_down(struct rig *r)
{
	pst_memory_free(r->mem);
	pst_volume_close(r->vol);
	pst_context_free(r->ctx);
}

/* One request after the other, against the model. */
static void model(enum pst_mode mode, bool emulated, const char *query, const char *what)
{
	static uint8_t truth[VOLUME], buf[LONGEST], got[LONGEST];
	uint64_t written = 0, read = 0, zeroed = 0, wrong = 0;
	struct pst_completion c;
	struct rng rng;
	struct rig r;

	set_up(&r, mode, 1, emulated, query);
	rng_init(&rng, 99);
	memset(truth, 0, sizeof(truth));
	for (uint64_t at = 0; at < VOLUME; at += MEMORY) {
		memset(buf, 0, sizeof(buf));
		for (uint64_t k = 0; k < MEMORY; k += 512 << 10) {
			pst_memory_copy_in(r.mem, 0, buf, 512 << 10);
			wrong += pst_write_sync(r.vol, r.mem, 0, at + k, 512 << 10, NULL) != 0;
		}
	}
	for (int i = 0; i < 300; i++) {
		uint64_t n = rng_below(&rng, 4) ? rng_below(&rng, 9000) : rng_below(&rng, LONGEST);
		uint64_t at = rng_below(&rng, VOLUME - n), m = rng_below(&rng, MEMORY - n);

		switch (rng_below(&rng, 5)) {
		case 0:
		case 1:
			rng_fill(&rng, buf, n);
			memcpy(truth + at, buf, n);
			wrong += pst_memory_copy_in(r.mem, m, buf, n) != 0;
			wrong += pst_write_sync(r.vol, r.mem, m, at, n, &c) != 0 || c.bytes != n;
			written++;
			break;
		case 2:
			memset(truth + at, 0, n);
			wrong += pst_write_zeroes(r.vol, at, n, NULL, &c) != 0 ||
				 pst_wait(r.ctx, &c, 1, UINT64_MAX) != 1 || c.error != 0;
			zeroed++;
			break;
		default:
			wrong += pst_read_sync(r.vol, r.mem, m, at, n, &c) != 0 || c.bytes != n;
			wrong += c.path != (emulated ? PST_PATH_EMULATED : PST_PATH_HOST);
			wrong += c.timing.total != c.timing.client_queue + c.timing.network + c.timing.target_queue +
							   c.timing.qos + c.timing.media + c.timing.staging +
							   c.timing.wakeup + c.timing.remote;
			wrong += pst_memory_copy_out(r.mem, m, got, n) != 0;
			wrong += memcmp(got, truth + at, n) != 0;
			read++;
		}
	}
	is_u64(wrong, 0, "%s: %llu writes, %llu zeroings, %llu reads agree with the model", what,
	       (unsigned long long)written, (unsigned long long)zeroed, (unsigned long long)read);
	is_i64(pst_flush_sync(r.vol, NULL), 0, "%s: flush", what);
	tear_down(&r);
}

/* Many in flight, each thread its own bytes, interleaved in the same blocks. */
enum { WRITERS = 4, STRIPE = 100, ROUNDS = 40 };

struct writer {
	struct rig *rig;
	unsigned int number;
	uint64_t failed;
};

static void *writer_main(void *arg)
{
	struct writer *w = arg;
	uint8_t *mine = (uint8_t *)pst_memory_ptr(w->rig->mem) + w->number * 4096;

	for (unsigned int round = 1; round <= ROUNDS; round++) {
		memset(mine, (int)(w->number * ROUNDS + round), STRIPE);
		for (unsigned int k = 0; k < 20; k++)
			w->failed += pst_write_sync(w->rig->vol, w->rig->mem, w->number * 4096,
						    (k * WRITERS + w->number) * (uint64_t)STRIPE, STRIPE, NULL) != 0;
	}
	return NULL;
}

static void neighbours(unsigned int threads, const char *query)
{
	struct writer w[WRITERS];
	pthread_t t[WRITERS];
	uint64_t failed = 0, wrong = 0;
	const uint8_t *p;
	struct rig r;

	set_up(&r, PST_MODE_THREADED, threads, false, query);
	for (unsigned int i = 0; i < WRITERS; i++) {
		w[i] = (struct writer){ .rig = &r, .number = i };
		pthread_create(&t[i], NULL, writer_main, &w[i]);
	}
	for (unsigned int i = 0; i < WRITERS; i++) {
		pthread_join(t[i], NULL);
		failed += w[i].failed;
	}
	is_u64(failed, 0, "writers of neighbouring bytes, %u I/O threads: none failed", threads);
	failed = pst_read_sync(r.vol, r.mem, 0, 0, 20 * WRITERS * STRIPE, NULL) != 0;
	p = pst_memory_ptr(r.mem);
	for (unsigned int i = 0; i < 20 * WRITERS * STRIPE; i++)
		wrong += p[i] != (uint8_t)(i / STRIPE % WRITERS * ROUNDS + ROUNDS);
	is_u64(failed + wrong, 0, "and every byte is its writer's last");
	tear_down(&r);
}

/*
 * A write of a whole block and one of a part of it, in flight together, in both orders, among others of
 * whole blocks: what the part does not cover is the whole one's, whichever ends last.
 */
static void whole_and_part(void)
{
	enum { BLOCKS = 64, BLOCK = 4096, PART = 100, AT = 1000 };
	uint64_t failed = 0, wrong = 0;
	struct pst_completion c[2 * BLOCKS];
	uint8_t *p;
	struct rig r;

	set_up(&r, PST_MODE_POLLED, 1, false, "");
	p = pst_memory_ptr(r.mem);
	for (int round = 1; round <= 50; round++) {
		memset(p, round, BLOCK);
		memset(p + BLOCK, 255, PART);
		for (uint64_t b = 0; b < BLOCKS; b++) {
			bool part_first = b % 2;

			if (b % 8 < 2 && part_first)
				failed += pst_write(r.vol, r.mem, BLOCK, b * BLOCK + AT, PART, NULL, NULL) != 0;
			failed += pst_write(r.vol, r.mem, 0, b * BLOCK, BLOCK, NULL, NULL) != 0;
			if (b % 8 < 2 && !part_first)
				failed += pst_write(r.vol, r.mem, BLOCK, b * BLOCK + AT, PART, NULL, NULL) != 0;
		}
		while (pst_wait(r.ctx, c, ARRAY_SIZE(c), UINT64_MAX) > 0)
			failed += c[0].error != 0;
		failed += pst_read_sync(r.vol, r.mem, MEMORY / 2, 0, BLOCKS * BLOCK, NULL) != 0;
		for (uint64_t i = 0; i < BLOCKS * BLOCK; i++) {
			bool part = i / BLOCK % 8 < 2 && i % BLOCK >= AT && i % BLOCK < AT + PART;

			wrong += !part && p[MEMORY / 2 + i] != (uint8_t)round;
		}
	}
	is_u64(failed + wrong, 0, "writes of a block and of a part of it at once: nothing of either is undone");
	tear_down(&r);
}

/* Callbacks that submit the next request, a pool smaller than what is wanted, reads beyond. */
struct chain {
	struct rig *rig;
	unsigned int left;
	unsigned int done;
	int error;
};

static void next_read(const struct pst_completion *c, void *user)
{
	struct chain *ch = user;

	ch->done++;
	ch->error |= c->error;
	if (ch->left > 0) {
		ch->left--;
		ch->error |= pst_read(ch->rig->vol, ch->rig->mem, 0, ch->left * 100u, 5000, next_read, ch);
	}
}

static void callbacks(void)
{
	struct pst_completion c;
	struct rig r;
	struct chain ch = { .rig = &r, .left = 500 };
	unsigned int taken = 0;
	int rc;

	set_up(&r, PST_MODE_POLLED, 1, false, "");
	rc = pst_read(r.vol, r.mem, 0, 0, 5000, next_read, &ch);
	while (rc == 0 && ch.done < 501)
		rc = pst_poll(r.ctx, 1000000000) < 0 ? -1 : 0;
	ok(rc == 0 && ch.done == 501 && ch.error == 0, "501 reads, each from the callback of the one before");
	while (pst_read(r.vol, r.mem, 0, 0, 4096, NULL, NULL) == 0)
		taken++;
	is_u64(taken, 4096, "as many in flight as the context allows");
	is_i64(pst_read(r.vol, r.mem, 0, 0, 4096, NULL, NULL), -EAGAIN, "one more is refused for now");
	for (unsigned int n = 0; n < taken; n++)
		rc |= pst_wait(r.ctx, &c, 1, UINT64_MAX) != 1 || c.error;
	is_i64(rc, 0, "and all of them complete");
	is_i64(pst_wait(r.ctx, &c, 1, UINT64_MAX), 0, "nothing more is to come, and waiting says so");
	is_i64(pst_read(r.vol, r.mem, 0, VOLUME, 1, NULL, NULL), -EINVAL, "beyond the volume");
	is_i64(pst_read(r.vol, r.mem, 0, UINT64_MAX, 2, NULL, NULL), -EINVAL, "around the end of numbers");
	is_i64(pst_read(r.vol, r.mem, MEMORY, 0, 1, NULL, NULL), -EINVAL, "beyond the memory");
	is_i64(pst_read_sync(r.vol, r.mem, 0, VOLUME, 0, &c), 0, "no bytes at the very end");
	is_i64(pst_discard(r.vol, 100, 100, NULL, NULL), 0, "a discard of less than a block");
	is_i64(pst_wait(r.ctx, &c, 1, UINT64_MAX), 1, "is over");
	ok(c.error == 0 && c.bytes == 0, "and did nothing");
	tear_down(&r);
}

static void stats_add_up(void)
{
	struct pst_volume_stats s;
	struct rig r;

	set_up(&r, PST_MODE_THREADED, 2, false, "");
	for (int i = 0; i < 10; i++)
		pst_read_sync(r.vol, r.mem, 0, (uint64_t)i, 1000, NULL);
	pst_write_sync(r.vol, r.mem, 0, 0, 777, NULL);
	pst_volume_stats(r.vol, &s);
	ok(s.reads == 10 && s.read_bytes == 10000 && s.writes == 1 && s.write_bytes == 777 && s.errors == 0 &&
		   s.path_bytes[PST_PATH_HOST] == 10777,
	   "statistics count requests and bytes");
	tear_down(&r);
}

static void memory_is_checked(void)
{
	struct pst_error err = { 0 };
	struct pst_memory *mem;
	struct rig r;
	char byte;

	set_up(&r, PST_MODE_POLLED, 0, false, "");
	ok(pst_memory_host(r.ctx, NULL, 10, &mem, &err) == -EINVAL && strstr(err.text, "expected an address"),
	   "memory nowhere is refused: %s", err.text);
	is_i64(pst_memory_host(r.ctx, &byte, 0, &mem, NULL), -EINVAL, "and of no bytes");
	is_i64(pst_memory_host(r.ctx, &byte, SIZE_MAX, &mem, NULL), -EINVAL, "and beyond the last address");
	tear_down(&r);
}

static void options_are_checked(void)
{
	struct pst_context_options co = { .struct_size = 0 };
	struct pst_context *ctx;
	struct pst_error err;
	struct {
		struct pst_context_options o;
		uint64_t unknown;
	} newer = { .o = { .struct_size = sizeof(newer) }, .unknown = 0 };

	ok(pst_context_new(&co, &ctx, &err) == -EINVAL && strstr(err.text, "PST_OPTIONS"),
	   "options without a size: %s", err.text);
	ok(pst_context_new(&newer.o, &ctx, &err) == 0, "a newer program with nothing new set");
	pst_context_free(ctx);
	newer.unknown = 1;
	ok(pst_context_new(&newer.o, &ctx, &err) == -EINVAL, "and with something new set: %s", err.text);
}

int main(void)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%.40s/penstock-volume-XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, VOLUME) != 0)
		return 1;
	close(fd);
	snprintf(uri, sizeof(uri), "file:%s", path);
	model(PST_MODE_POLLED, false, "", "polled, host");
	model(PST_MODE_THREADED, false, "", "threaded, host");
	model(PST_MODE_POLLED, true, "", "polled, emulated");
	model(PST_MODE_THREADED, true, "", "threaded, emulated");
	model(PST_MODE_THREADED, false, "?direct=0", "threaded, through the page cache");
	neighbours(1, "");
	neighbours(3, "");
	whole_and_part();
	callbacks();
	stats_add_up();
	options_are_checked();
	memory_is_checked();
	unlink(path);
	return tap_done();
}
