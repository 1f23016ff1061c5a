/* SPDX-License-Identifier: Apache-2.0 */
/* Whole saves and restores on files; what is refused; that a head never names what was overwritten. */
#include "bench/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "bench/checkpoint-book.h"
#include "bench/test-help.h"
#include "tests/tap.h"

enum { VOLUME = 24 << 20 };

static char path[2][64];
static char uri[2][160];
static int fd[2];
static atomic_bool stop;
static const char *const uris[] = { uri[0], uri[1] };
static struct checkpoint_result r;

/* 8 ranks of 13.09 GiB, a hundred-thousandth of it: 1.1 MB together. */
static struct checkpoint_options options(bool restore)
{
	return (struct checkpoint_options){
		.target = { .uris = uris, .uri_count = 1, .clock = &clock_test, .stop = &stop },
		.restore = restore,
		.model = restore ? NULL : model_find("llama3-8b"),
		.ranks = restore ? 0 : 8,
		.scale_ppm = restore ? 0 : 10,
		.count = 3,
		.piece_bytes = 40000,
		.depth = 4,
		.queues = 1,
		.seed = 7,
		.verify = true,
	};
}

static int run(const struct checkpoint_options *o)
{
	struct err err = ERR_NULL;
	int rc = checkpoint_run(o, &r, &err);

	if (rc < 0)
		diag("%s", err.text);
	return rc;
}

static void refused(const struct checkpoint_options *o, int want, const char *words, const char *what)
{
	struct err err = ERR_NULL;
	int rc = checkpoint_run(o, &r, &err);

	ok(rc == want && strstr(err.text, words), "%s: %d, %s", what, rc, err.text);
}

static bool noted(const char *words)
{
	return test_noted(&r.all.notes, words);
}

static struct book head(int volume)
{
	char text[BOOK_BYTES];
	struct book b = { .ranks = 0 };
	struct err err = ERR_NULL;

	if (pread(fd[volume], text, sizeof(text), 0) != sizeof(text) || book_parse(text, sizeof(text), &b, &err) < 0)
		diag("%s", err.text);
	return b;
}

static void flip(int volume, uint64_t at)
{
	uint8_t b = 0;

	if (pread(fd[volume], &b, 1, (off_t)at) != 1)
		diag("pread: %s", strerror(errno));
	b ^= 16;
	if (pwrite(fd[volume], &b, 1, (off_t)at) != 1)
		diag("pwrite: %s", strerror(errno));
}

static void there_and_back(void)
{
	struct checkpoint_options o = options(false);
	uint64_t bytes, slowest;

	ok(run(&o) == 0 && r.all.errors == 0, "three checkpoints are saved %s", r.all.first_error);
	bytes = r.checkpoint_bytes;
	ok(bytes > 1100000 && bytes < 1130000, "each of a hundred-thousandth of 104.7 GiB: %llu bytes",
	   (unsigned long long)bytes);
	is_u64(r.count, 3, "all three are complete");
	is_u64(r.all.ops, 3 * 8, "parts of eight ranks");
	is_u64(r.all.bytes, 3 * bytes, "every byte was written");
	is_u64(r.all.latency.count, 3 * 8, "each part has a duration");
	ok(r.all.verify.failed == 0 && r.all.verify.samples >= 3 * 8 * 2, "read back, and right");
	slowest = MAX(r.ns[0], MAX(r.ns[1], r.ns[2]));
	is_u64(r.all.latency.max, slowest, "the slowest part is that of the slowest checkpoint");
	is_u64(r.all.ns, r.ns[0] + r.ns[1] + r.ns[2], "measured is what the checkpoints took");
	ok(r.flush_ns[0] > 0 && r.flush_ns[0] <= r.ns[0], "the flush is part of it");
	ok(r.rank_rate[0] > 0 && r.rank_rate[0] <= (double)bytes / 8 * 1e9 / (double)r.ns[0] * 1.01,
	   "the slowest rank has the rate");
	ok(noted("not an MLPerf result") && noted("scaled"), "notes are honest");
	ok(head(0).newest == 3 && head(0).oldest == 1 && head(0).known_contents, "the head names three");
	o = options(true);
	o.count = 5;
	ok(run(&o) == 0 && r.all.errors == 0 && r.all.verify.failed == 0, "restored %s", r.all.first_error);
	ok(r.count == 5 && r.all.bytes == 5 * bytes && strcmp(r.model.name, "llama3-8b") == 0 && r.ranks == 8,
	   "five times, what was saved");
	ok(noted("more than once"), "which is noted");
	o.target.emulated = true;
	o.target.require = PST_PATH_EMULATED;
	ok(run(&o) == 0 && r.all.verify.failed == 0 && r.all.errors == 0 && !r.all.path_missed,
	   "into an emulated accelerator's memory");
	o = options(true);
	flip(0, BOOK_ROOM + 2 * head(0).slot_bytes + 12345);
	o.count = 1;
	ok(run(&o) == 0 && r.all.verify.failed == 1 && strstr(r.all.verify.failures[0].text, "is wrong"),
	   "a wrong bit in the latest is found: %s", r.all.verify.failures[0].text);
	o.verify = false;
	ok(run(&o) == 0 && r.all.verify.failed == 0 && r.all.errors == 0, "by who looks");
}

static void other_sizes(void)
{
	struct checkpoint_options o = options(false);

	o.model = model_find("llama3-405b");
	o.ranks = 256 / 4;
	o.scale_ppm = 1;
	o.count = 2;
	ok(run(&o) == 0 && r.all.errors == 0 && r.all.verify.failed == 0, "64 ranks of llama3-405b");
	ok(noted("64 of the 512 ranks"), "which is noted");
	o = options(false);
	o.target.uri_count = 2;
	o.verify = true;
	ok(run(&o) == 0 && r.all.errors == 0 && r.all.verify.failed == 0, "over two volumes %s", r.all.first_error);
	ok(head(0).volume == 0 && head(1).volume == 1 && head(1).newest == 3 && head(0).run == head(1).run,
	   "each has a head");
	o = options(true);
	o.target.uri_count = 2;
	ok(run(&o) == 0 && r.all.verify.failed == 0 && r.count == 3, "and back");
	o.target.uri_count = 1;
	refused(&o, -EINVAL, "volume 1 of 2", "from one of the two");
}

/* Six in a volume that holds four; then one that is given up while it overwrites the oldest. */
static void overwriting(void)
{
	struct checkpoint_options o = options(false);

	o.size = BOOK_ROOM + 4 * 8 * (2 * BOOK_ALIGN + BOOK_ALIGN);
	o.count = 6;
	o.verify = true;
	ok(run(&o) == 0 && r.count == 6 && r.all.verify.failed == 0 && r.all.errors == 0, "six are saved %s",
	   r.all.first_error);
	ok(r.slots < 6 && noted("written over earlier ones"), "where %u have room", r.slots);
	ok(head(0).newest == 6 && head(0).oldest == 6 - r.slots + 1, "the head names those that are still there");
	o.count = 0;
	o.time_ns = 300000000;
	ok(run(&o) == 0 && r.all.errors == 0 && r.all.verify.failed == 0, "as many as fit into 300 ms: %u", r.count);
	ok(head(0).newest == r.count && head(0).newest + 1 - head(0).oldest <= r.slots,
	   "the last, unfinished one is none");
	o = options(true);
	o.size = 0;
	ok(run(&o) == 0 && r.all.verify.failed == 0 && r.count == 3, "what the head names is whole");
	atomic_store(&stop, true);
	o = options(false);
	ok(run(&o) == 0 && r.all.interrupted && r.count == 0, "an interrupt ends it");
	atomic_store(&stop, false);
	o = options(true);
	refused(&o, -EINVAL, "no checkpoint there is complete", "then nothing is there");
}

static void refusals(void)
{
	struct checkpoint_options o = options(false);
	static const char zeroes[BOOK_BYTES];

	o.ranks = 9;
	refused(&o, -EINVAL, "expected 1 to 8", "more ranks than the model has");
	o = options(false);
	o.scale_ppm = 1000;
	refused(&o, -ENOSPC, "--scale", "too large");
	o = options(false);
	o.verify = false;
	ok(run(&o) == 0, "saved without verify");
	o = options(true);
	refused(&o, -EINVAL, "without --verify", "contents that nobody knows");
	o.verify = false;
	o.model = model_find("llama3-70b");
	refused(&o, -EINVAL, "are of llama3-8b", "another model");
	o.model = NULL;
	o.ranks = 4;
	refused(&o, -EINVAL, "saved by 8 ranks", "other ranks");
	o.ranks = 0;
	o.scale_ppm = 20;
	refused(&o, -EINVAL, "--scale", "another scale");
	if (pwrite(fd[0], zeroes, sizeof(zeroes), 0) != sizeof(zeroes))
		diag("pwrite: %s", strerror(errno));
	o = options(true);
	refused(&o, -EBADMSG, "no checkpoints are there", "an empty volume");
	o = options(false);
	o.target.uri_count = 2;
	o.target.uris = (const char *const[]){ uri[0], uri[0] };
	refused(&o, -EINVAL, "same volume", "one volume twice");
}

/* Every field of a head that is damaged is noticed. */
static void heads(void)
{
	struct book b = {
		.model = "llama3-8b", .ranks = 8, .scale_ppm = 5, .seed = UINT64_MAX, .run = 3, .volumes = 2,
		.volume = 1, .slots = 4, .slot_bytes = 65536, .oldest = 3, .newest = 6,
	};
	struct book back;
	struct err err = ERR_NULL;
	char text[BOOK_BYTES];
	const char *bad[] = { "\"ranks\": 8",  "\"scale_ppm\": 5", "\"volume\": 1", "\"slots\": 4",
			      "\"oldest\": 3", "\"newest\": 6",	   "llama3-8b",	    "checkpoints/1" };

	ok(book_format(&b, text) == 0 && book_parse(text, sizeof(text), &back, &err) == 0 && back.seed == UINT64_MAX &&
		   back.oldest == 3 && back.newest == 6 && back.volume == 1,
	   "a head is read back %s", err.text);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char *at = strstr(text, bad[i]), keep;
		size_t last = strlen(bad[i]) - 1;

		if (!ok(at != NULL, "%s is there", bad[i]))
			continue;
		keep = at[last];
		at[last] = '"';
		err_clear(&err);
		ok(book_parse(text, sizeof(text), &back, &err) < 0 && err.text[0], "damaged: %s", err.text);
		at[last] = keep;
	}
	b.newest = 7;
	ok(book_format(&b, text) == 0 && book_parse(text, sizeof(text), &back, &err) == -EBADMSG, "more than fit");
}

int main(void)
{
	for (int i = 0; i < 2; i++) {
		/* In memory, if there is such a place: how fast a disk is has no part in what is tested. */
		snprintf(path[i], sizeof(path[i]), "%s/penstock-test-checkpoint-XXXXXX",
			 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		fd[i] = mkstemp(path[i]);
		if (fd[i] < 0 || ftruncate(fd[i], VOLUME) != 0)
			tap_skip_all("no temporary file");
		snprintf(uri[i], sizeof(uri[i]), "file:%s", path[i]);
	}
	there_and_back();
	other_sizes();
	overwriting();
	refusals();
	heads();
	for (int i = 0; i < 2; i++) {
		close(fd[i]);
		unlink(path[i]);
	}
	return tap_done();
}
