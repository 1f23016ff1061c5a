/* SPDX-License-Identifier: Apache-2.0 */
/* The file store beyond what every store does: durability, errors, vectors, sizes, waiting. */
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "store/test-hook.h"

static const char *spec_of(const struct rig *r, const char *name, const char *options)
{
	static char text[512];

	snprintf(text, sizeof(text), "file:%s%s", rig_path(r, name), options);
	return text;
}

/* ---- durability (facts DU1, DU2) ----------------------------------------------------------- */

static void test_durability(const struct rig *r, const char *mode)
{
	char options[64];
	uint8_t *buf = pages(2 << 20);
	struct store *s;

	snprintf(options, sizeof(options), ",size=4M,direct=%s", mode);
	s = rig_open(r, spec_of(r, "d.img", options));
	ok(store_info(s)->volatile_cache, "%s direct=%s: says that flush matters", r->name, mode);
	hook_reset();
	run(r, s, STORE_WRITE, 0, 0, 4096, buf);
	is_u64(hook.count[IO_OP_SYNC] + hook.dsync, 0, "a plain write is just that");
	run(r, s, STORE_FLUSH, 0, 0, 0, NULL);
	is_u64(hook.count[IO_OP_SYNC], 1, "DU1: a flush reaches the file");
	run(r, s, STORE_WRITE, STORE_FUA, 0, 4096, buf);
	is_u64(hook.dsync, 1, "DU2: a write with FUA is durable by itself");
	run(r, s, STORE_WRITE, STORE_FUA, 0, 4096, buf + 1);
	is_u64(hook.dsync, 2, "from unaligned memory too");
	run(r, s, STORE_COMPARE_WRITE, STORE_FUA, 0, 4096, buf);
	is_u64(hook.dsync, 3, "compare and write with FUA too");
	hook_set(IO_OP_WRITE, 0, 64 << 10);
	run(r, s, STORE_WRITE, STORE_FUA, 0, 1 << 20, buf);
	is_u64(hook.dsync, 3 + 16, "and every part of one that comes in parts");
	hook_set(IO_OP_NONE, 0, 0);
	run(r, s, STORE_ZERO, STORE_FUA, 0, 4096, NULL);
	is_u64(hook.count[IO_OP_SYNC], 2, "DU2: zero with FUA is followed by a flush");
	run(r, s, STORE_ZERO, 0, 0, 4096, NULL);
	run(r, s, STORE_DISCARD, STORE_FUA, 0, 4096, NULL);
	is_u64(hook.count[IO_OP_SYNC], 2, "zero without is not");
	store_free(s);
	rig_unlink(r, "d.img");
	mem_free(buf);
}

/* ---- errors -------------------------------------------------------------------------------- */

static const struct {
	int from, to;
} errors[] = {
	{ EIO, EIO },         { ENODATA, EIO },  { EREMOTEIO, EIO },   { EILSEQ, EIO },
	{ ENOSPC, ENOSPC },   { EDQUOT, ENOSPC }, { EFBIG, ENOSPC },   { ENOMEM, ENOMEM },
	{ ECANCELED, ECANCELED }, { EROFS, EROFS }, { ENXIO, EIO },
};

static void test_errors(const struct rig *r)
{
	struct store *s = rig_open(r, spec_of(r, "e.img", ",size=1M"));
	uint8_t *buf = pages(8192);

	hook_reset();
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		hook_set(IO_OP_WRITE, -errors[i].from, 0);
		is_i64(run(r, s, STORE_WRITE, 0, 0, 4096, buf), -errors[i].to, "write: %s is %s",
		       strerrorname_np(errors[i].from), strerrorname_np(errors[i].to));
	}
	hook_set(IO_OP_READ, -EIO, 0);
	is_i64(run(r, s, STORE_READ, 0, 0, 4096, buf), -EIO, "read: EIO");
	is_i64(run(r, s, STORE_READ, 0, 0, 4096, buf + 1), -EIO, "read into unaligned memory: EIO");
	is_i64(run(r, s, STORE_VERIFY, 0, 0, 4096, NULL), -EIO, "verify: EIO");
	is_i64(run(r, s, STORE_COMPARE, 0, 0, 4096, buf), -EIO, "compare: EIO, and no difference");
	hook_set(IO_OP_ZERO, -ENOSPC, 0);
	is_i64(run(r, s, STORE_ZERO, 0, 0, 4096, NULL), -ENOSPC, "zero: ENOSPC");
	hook_set(IO_OP_DISCARD, -EIO, 0);
	is_i64(run(r, s, STORE_DISCARD, 0, 0, 4096, NULL), -EIO, "discard: EIO");
	hook_set(IO_OP_SYNC, -EIO, 0);
	is_i64(run(r, s, STORE_ZERO, STORE_FUA, 0, 4096, NULL), -EIO, "zero whose flush fails: EIO");
	hook_set(IO_OP_NONE, 0, 0);
	is_i64(run(r, s, STORE_WRITE, 0, 0, 4096, buf), 0, "and then all is well again");
	store_free(s);
	rig_unlink(r, "e.img");
	mem_free(buf);
}

/* The kernel reports lost pages of its cache once, and to one. */
static void test_lost_flush(const struct rig *r)
{
	struct store *s = rig_open(r, spec_of(r, "f.img", ",size=1M,direct=off"));

	hook_reset();
	hook_set(IO_OP_SYNC, -ECANCELED, 0);
	is_i64(run(r, s, STORE_FLUSH, 0, 0, 0, NULL), -ECANCELED, "a flush that was called off");
	hook_set(IO_OP_NONE, 0, 0);
	is_i64(run(r, s, STORE_FLUSH, 0, 0, 0, NULL), 0, "says nothing about the next");
	hook_set(IO_OP_SYNC, -ENOSPC, 0);
	is_i64(run(r, s, STORE_FLUSH, 0, 0, 0, NULL), -ENOSPC, "a flush through the cache that fails");
	hook_set(IO_OP_NONE, 0, 0);
	is_i64(run(r, s, STORE_FLUSH, 0, 0, 0, NULL), -ENOSPC, "makes the next fail: data is lost");
	store_free(s);

	s = rig_open(r, spec_of(r, "f.img", ""));
	if (store_info(s)->align == 1) {
		tap_skip("no direct I/O here");
	} else {
		hook_set(IO_OP_SYNC, -EIO, 0);
		run(r, s, STORE_FLUSH, 0, 0, 0, NULL);
		hook_set(IO_OP_NONE, 0, 0);
		is_i64(run(r, s, STORE_FLUSH, 0, 0, 0, NULL), 0, "with direct I/O the next is asked anew");
	}
	store_free(s);
	rig_unlink(r, "f.img");
}

static void test_short(const struct rig *r, const char *mode)
{
	enum { N = 256 << 10 };
	uint8_t *out = pages(N + 4096), *in = pages(N + 4096);
	char options[64];
	struct rng rng;
	struct store *s;

	rng_init(&rng, 3);
	rng_fill(&rng, out, N + 4096);
	snprintf(options, sizeof(options), ",size=1M,direct=%s", mode);
	s = rig_open(r, spec_of(r, "s.img", options));
	hook_reset();
	for (unsigned int shift = 0; shift <= 1; shift++) {
		hook_set(IO_OP_WRITE, 0, 12 << 10);
		is_i64(run(r, s, STORE_WRITE, 0, 4096, N, out + shift), 0, "%s: a write in short parts", mode);
		ok(hook.count[IO_OP_WRITE] > 20 * (shift + 1), "takes many");
		hook_set(IO_OP_READ, 0, 20 << 10);
		is_i64(run(r, s, STORE_READ, 0, 4096, N, in + shift), 0, "so does a read");
		is_mem(in + shift, out + shift, N, "and all of it arrives");
		is_i64(run(r, s, STORE_COMPARE, 0, 4096, N, out + shift), 0, "compare in short parts");
	}
	hook_set(IO_OP_NONE, 0, 0);
	INVARIANT(r->sim || truncate(rig_path(r, "s.img"), 64 << 10) == 0);
	if (!r->sim) {
		is_i64(run(r, s, STORE_READ, 0, 0, N, in), -EIO, "%s: a read past a cut end is EIO", mode);
		is_i64(run(r, s, STORE_READ, 0, 0, 64 << 10, in), 0, "%s: before the cut it works", mode);
	}
	store_free(s);
	rig_unlink(r, "s.img");
	mem_free(in);
	mem_free(out);
}

/* ---- a full file system (facts DU4) -------------------------------------------------------- */

static void test_full(const struct rig *r)
{
	char dir[192], spec[256];
	uint8_t *buf = pages(64 << 10);
	unsigned int written = 0;
	struct store *s;
	int got;

	snprintf(dir, sizeof(dir), "%s", rig_path(r, "full"));
	INVARIANT(mkdir(dir, 0700) == 0);
	if (mount("penstock-test", dir, "tmpfs", 0, "size=1M") < 0) {
		tap_skip("cannot mount a small tmpfs (needs root)");
		rmdir(dir);
		mem_free(buf);
		return;
	}
	memset(buf, 1, 64 << 10);
	snprintf(spec, sizeof(spec), "%s/a.img,size=4M", dir);
	s = rig_open(r, spec);
	do {
		got = run(r, s, STORE_WRITE, 0, written, 64 << 10, buf);
		written += got == 0 ? 64 << 10 : 0;
	} while (got == 0 && written < (4 << 20));
	is_i64(got, -ENOSPC, "DU4: %s: a full file system is ENOSPC", r->name);
	is_i64(run(r, s, STORE_READ, 0, 0, 64 << 10, buf), 0, "what is there can be read");
	is_i64(run(r, s, STORE_WRITE, 0, 0, 64 << 10, buf), 0, "and overwritten");
	is_i64(run(r, s, STORE_DISCARD, 0, 0, 256 << 10, NULL), 0, "after a discard");
	is_i64(run(r, s, STORE_WRITE, 0, written, 64 << 10, buf), 0, "DU4: there is room again");
	store_free(s);
	INVARIANT(umount(dir) == 0 && rmdir(dir) == 0);
	mem_free(buf);
}

/* ---- vectors, waiting, ranges -------------------------------------------------------------- */

static void test_many_vectors(const struct rig *r)
{
	enum { N = 300 };
	struct store *s = rig_open(r, spec_of(r, "v.img", ",size=1M"));
	uint8_t *out = pages(N * 1024), *in = pages(N * 1024);
	struct iovec iov_out[N], iov_in[N];
	struct rng rng;

	rng_init(&rng, 4);
	rng_fill(&rng, out, N * 1024);
	for (unsigned int i = 0; i < N; i++) {
		iov_out[i] = (struct iovec){ out + i * 1024, i == 7 ? 0 : 512 };
		iov_in[i] = (struct iovec){ in + i * 1024, i == 9 ? 0 : 512 };
	}
	is_i64(run_iov(r, s, STORE_WRITE, 0, 512, (N - 1) * 512, iov_out, N), 0,
	       "%s: a write from more vectors than the seam takes", r->name);
	is_i64(run_iov(r, s, STORE_READ, 0, 512, (N - 1) * 512, iov_in, N), 0, "a read into as many");
	ok(memcmp(in, out, 512) == 0 && memcmp(in + 7 * 1024, out + 8 * 1024, 512) == 0 &&
		   memcmp(in + 299 * 1024, out + 299 * 1024, 512) == 0,
	   "and everything is in its place");
	store_free(s);
	rig_unlink(r, "v.img");
	mem_free(in);
	mem_free(out);
}

/* More operations that need a bounce piece than there are pieces. */
static void test_bounce_line(const struct rig *r)
{
	enum { N = 200 };
	struct store *s = rig_open(r, spec_of(r, "b.img", ",size=4M"));
	static struct call c[N];
	static struct iovec iov[N];
	uint8_t *buf = pages(N * 8192);
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < N; i++) {
		memset(buf + i * 8192, (int)i, 8192);
		iov[i] = (struct iovec){ buf + i * 8192 + 1, 4096 };
		call_start(&c[i], r, s, STORE_WRITE, 0, (uint64_t)i * 4096, 4096, &iov[i], 1);
	}
	for (unsigned int i = 0; i < N; i++)
		wrong += call_wait(&c[i], r) != 0;
	is_u64(wrong, 0, "%s: 200 unaligned writes at once", r->name);
	memset(buf, 0, N * 8192);
	for (unsigned int i = 0; i < N; i++)
		call_start(&c[i], r, s, STORE_READ, 0, (uint64_t)i * 4096, 4096, &iov[i], 1);
	for (unsigned int i = 0; i < N; i++) {
		wrong += call_wait(&c[i], r) != 0;
		for (unsigned int j = 0; j < 4096; j++)
			wrong += buf[i * 8192 + 1 + j] != (uint8_t)i;
		wrong += buf[i * 8192] != 0 || buf[i * 8192 + 4097] != 0;
	}
	is_u64(wrong, 0, "%s: 200 unaligned reads at once, to the byte", r->name);
	for (unsigned int i = 0; i < N; i++)
		call_start(&c[i], r, s, STORE_VERIFY, 0, 0, 512 << 10, NULL, 0);
	for (unsigned int i = 0; i < N; i++)
		wrong += call_wait(&c[i], r) != 0;
	is_u64(wrong, 0, "%s: 200 verifications at once", r->name);
	store_free(s);
	rig_unlink(r, "b.img");
	mem_free(buf);
}

static void test_large_ranges(const struct rig *r)
{
	struct store *s = rig_open(r, spec_of(r, "l.img", ",size=9G"));
	uint64_t size = store_info(s)->size;
	uint8_t *buf = pages(4096);
	struct stat st = { 0 };

	memset(buf, 5, 4096);
	hook_reset();
	is_i64(run(r, s, STORE_WRITE, 0, size - 4096, 4096, buf), 0, "%s: 9 GiB, written at its end",
	       r->name);
	is_i64(run(r, s, STORE_WRITE, 0, 0, 4096, buf), 0, "and at its start");
	is_i64(run(r, s, STORE_DISCARD, 0, 0, size, NULL), 0, "all of it is discarded");
	ok(hook.count[IO_OP_DISCARD] == 36, "in pieces of 256 MiB (%u)", hook.count[IO_OP_DISCARD]);
	is_i64(run(r, s, STORE_READ, 0, size - 4096, 4096, buf), 0, "the end can be read");
	ok(is_zero(buf, 4096), "and is zero");
	INVARIANT(stat(rig_path(r, "l.img"), &st) == 0);
	ok(st.st_blocks < 64, "the file system has its room back");
	store_free(s);
	rig_unlink(r, "l.img");
	mem_free(buf);
}

int main(void)
{
	struct rig r;

	for (int kind = 0; kind < RIG_COUNT; kind++) {
		if (!rig_init(&r, (enum rig_kind)kind, NULL))
			continue;
		hook_in(r.loop);
		test_durability(&r, "auto");
		test_durability(&r, "off");
		test_errors(&r);
		test_lost_flush(&r);
		test_short(&r, "auto");
		test_short(&r, "off");
		if (!r.sim) {
			test_full(&r);
			test_large_ranges(&r); /* a simulated disk hashes all that it discards */
		}
		test_many_vectors(&r);
		test_bounce_line(&r);
		rig_deinit(&r);
	}
	return tap_done();
}
