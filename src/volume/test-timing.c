/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where time went, in a volume over a file: a copy engine that is the slowest of all shows as staging,
 * also for requests that only wait for a piece of the staging pool; every request's parts sum to its whole.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "penstock.h"
#include "tests/tap.h"

enum { VOLUME = 4 << 20, REQUEST = 512 << 10, COUNT = VOLUME / REQUEST };

static char path[64];
static char uri[80];
static struct pst_context *ctx;
static struct pst_volume *vol;

static uint64_t parts(const struct pst_timing *t)
{
	return t->client_queue + t->network + t->target_queue + t->qos + t->media + t->staging + t->wakeup +
	       t->remote;
}

/* Reads or writes all of the volume at once; the sum over its requests. */
static struct pst_timing all_at_once(struct pst_memory *mem, bool write, const char *what)
{
	struct pst_timing sum = { .total = 0 };
	unsigned int wrong = 0, unsampled = 0;
	struct pst_completion c;

	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t at = i * REQUEST;
		int rc = write ? pst_write(vol, mem, at, at, REQUEST, NULL, NULL)
			       : pst_read(vol, mem, at, at, REQUEST, NULL, NULL);

		wrong += rc != 0;
	}
	for (int i = 0; i < COUNT; i++) {
		wrong += pst_wait(ctx, &c, 1, UINT64_MAX) != 1 || c.error != 0;
		wrong += parts(&c.timing) != c.timing.total || c.timing.remote != 0 || c.timing.network != 0;
		unsampled += !c.sampled;
		sum.total += c.timing.total;
		sum.staging += c.timing.staging;
		sum.client_queue += c.timing.client_queue;
	}
	is_u64(wrong, 0, "%s: each request's parts sum to its whole, and a file has no network", what);
	is_u64(unsampled, 0, "%s: requests of that size are all sampled", what);
	return sum;
}

static void slow_engine(enum pst_mode mode, const char *what)
{
	/* Four pieces of 256 KiB, and 4 MiB that take 320 ms: long, also for a machine with other work. */
	struct pst_emulated_options eo = PST_OPTIONS(eo);
	struct pst_context_options co = PST_OPTIONS(co);
	struct pst_memory *mem, *host;
	struct pst_error err = { 0 };
	struct pst_timing t;

	co.mode = mode;
	eo.copy_bytes_per_second = 12500000;
	eo.staging_bytes = 1 << 20;
	if (pst_context_new(&co, &ctx, &err) < 0 || pst_volume_open(ctx, uri, NULL, &vol, &err) < 0 ||
	    pst_memory_emulated(ctx, VOLUME, &eo, &mem, &err) < 0 || pst_memory_alloc(ctx, VOLUME, &host, &err) < 0) {
		ok(false, "set-up: %s", err.text);
		exit(tap_done());
	}
	t = all_at_once(mem, false, what);
	ok(t.staging > t.total / 2, "%s: reads wait for the copy engine (%llu of %llu us)", what,
	   (unsigned long long)t.staging / 1000, (unsigned long long)t.total / 1000);
	t = all_at_once(mem, true, what);
	ok(t.staging > t.total / 2, "%s: writes likewise (%llu of %llu us)", what,
	   (unsigned long long)t.staging / 1000, (unsigned long long)t.total / 1000);
	t = all_at_once(host, false, what);
	is_u64(t.staging, 0, "%s: host memory has no staging", what);
	pst_memory_free(host);
	pst_memory_free(mem);
	pst_volume_close(vol);
	pst_context_free(ctx);
}

int main(void)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%.40s/penstock-timing-XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, VOLUME) != 0)
		return 1;
	close(fd);
	snprintf(uri, sizeof(uri), "file:%s", path);
	slow_engine(PST_MODE_POLLED, "polled");
	slow_engine(PST_MODE_THREADED, "threaded");
	unlink(path);
	return tap_done();
}
