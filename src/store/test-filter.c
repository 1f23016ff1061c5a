/* SPDX-License-Identifier: Apache-2.0 */
/* Filters: they do what they say, to the operations they are for, and to no others. */
#include "store/test-rig.h"

#define MS UINT64_C(1000000)
#define BLOCK 512u

static struct rig rig;

/* ---- delay --------------------------------------------------------------------------------- */

static uint64_t timed(struct store *s, enum store_kind kind, uint64_t length, void *buf)
{
	uint64_t before = io_now_precise(rig.loop);

	INVARIANT(run(&rig, s, kind, 0, 0, length, buf) == 0);
	return io_now_precise(rig.loop) - before;
}

static void test_delay(void)
{
	struct store *s = rig_open(&rig, "memory:1M,filter=delay:2ms:write+flush");
	uint8_t out[BLOCK], in[BLOCK] = { 9 };
	struct iovec iov = { out, BLOCK };
	struct call c;

	memset(out, 3, BLOCK);
	ok(timed(s, STORE_WRITE, BLOCK, out) >= 2 * MS, "%s: a delayed write takes its time", rig.name);
	ok(timed(s, STORE_FLUSH, 0, NULL) >= 2 * MS, "so does a flush");
	ok(timed(s, STORE_ZERO, BLOCK, NULL) >= 2 * MS, "zero counts as write");
	ok(timed(s, STORE_READ, BLOCK, in) < 2 * MS, "a read does not wait");

	call_start(&c, &rig, s, STORE_WRITE, 0, 0, BLOCK, &iov, 1);
	INVARIANT(run(&rig, s, STORE_READ, 0, 0, BLOCK, in) == 0);
	ok(!c.finished && is_zero(in, BLOCK), "a delayed write has not landed while it waits");
	call_wait(&c, &rig);
	INVARIANT(run(&rig, s, STORE_READ, 0, 0, BLOCK, in) == 0);
	is_mem(in, out, BLOCK, "and has when it is done");
	store_free(s);
}

static void test_jitter(void)
{
	struct store *s = rig_open(&rig, "memory:1M,filter=delay:1ms:jitter=4ms:seed=3");
	uint64_t least = UINT64_MAX, most = 0;
	uint8_t buf[BLOCK];

	for (unsigned int i = 0; i < 16; i++) {
		uint64_t ns = timed(s, STORE_READ, BLOCK, buf);

		least = MIN(least, ns);
		most = MAX(most, ns);
	}
	ok(least >= MS && most > least + MS, "%s: jitter comes on top of the delay and differs", rig.name);
	store_free(s);
}

/* ---- error --------------------------------------------------------------------------------- */

static void test_error_every(void)
{
	struct store *s = rig_open(&rig, "memory:1M,filter=error:write:ENOSPC:every=3");
	uint8_t buf[BLOCK] = { 1 };
	char got[16] = "";

	for (unsigned int i = 0; i < 9; i++) {
		int r = run(&rig, s, STORE_WRITE, 0, i * BLOCK, BLOCK, buf);

		got[i] = r == 0 ? '.' : r == -ENOSPC ? 'x' : '?';
		INVARIANT(run(&rig, s, STORE_FLUSH, 0, 0, 0, NULL) == 0);
	}
	is_str(got, "..x..x..x", "every=3 is each third write");
	INVARIANT(run(&rig, s, STORE_READ, 0, 2 * BLOCK, BLOCK, buf) == 0);
	ok(is_zero(buf, BLOCK), "a write that failed has changed nothing");
	store_free(s);
}

static void test_error_range(void)
{
	struct store *s = rig_open(&rig, "memory:1M,filter=error:read:EIO:range=4k+1k");
	uint8_t buf[8192];

	is_i64(run(&rig, s, STORE_READ, 0, 0, 4096, buf), 0, "before the range");
	is_i64(run(&rig, s, STORE_READ, 0, 0, 4096 + BLOCK, buf), -EIO, "into it");
	is_i64(run(&rig, s, STORE_READ, 0, 4096 + BLOCK, BLOCK, buf), -EIO, "inside");
	is_i64(run(&rig, s, STORE_VERIFY, 0, 4096, BLOCK, NULL), -EIO, "verify counts as read");
	is_i64(run(&rig, s, STORE_READ, 0, 5120, BLOCK, buf), 0, "behind it");
	is_i64(run(&rig, s, STORE_WRITE, 0, 4096, BLOCK, buf), 0, "a write there");
	store_free(s);
}

static unsigned int failures(const char *spec, unsigned int n)
{
	struct store *s = rig_open(&rig, spec);
	unsigned int failed = 0;
	uint8_t buf[BLOCK];

	for (unsigned int i = 0; i < n; i++)
		failed += run(&rig, s, STORE_READ, 0, 0, BLOCK, buf) == -EIO;
	store_free(s);
	return failed;
}

static void test_error_chance(void)
{
	unsigned int a = failures("null:1M,filter=error:read:EIO:10%:seed=1", 20000);
	unsigned int b = failures("null:1M,filter=error:read:EIO:10%:seed=1", 20000);
	unsigned int c = failures("null:1M,filter=error:read:EIO:10%:seed=2", 20000);

	ok(a > 1800 && a < 2200, "10%% of 20000 is about 2000 (%u)", a);
	is_u64(b, a, "the same seed is the same run");
	ok(c != a, "another seed is another");
	is_u64(failures("null:1M,filter=error:write:EIO", 100), 0, "errors of writes leave reads alone");
	is_u64(failures("null:1M,filter=error:any:EIO", 100), 100, "any, without a chance, is always");
}

/* ---- torn ---------------------------------------------------------------------------------- */

/* Blocks of @n that hold @value, from the first; whole, or the count is off by thousands. */
static unsigned int prefix(const uint8_t *at, unsigned int n, uint8_t value)
{
	unsigned int blocks = 0;

	for (unsigned int i = 0; i < n; i++) {
		unsigned int same = 0;

		for (unsigned int j = 0; j < BLOCK; j++)
			same += at[i * BLOCK + j] == value;
		if (same != 0 && same != BLOCK)
			return 100000;
		if (same == BLOCK && blocks == i)
			blocks++;
		else if (same == BLOCK)
			return 100000;
	}
	return blocks;
}

static void test_torn(const char *leaf)
{
	enum { N = 80 };
	uint8_t *out = pages(N * BLOCK), *in = pages(N * BLOCK);
	unsigned int odd = 0, wrong = 0, seen[N + 1] = { 0 }, different = 0;
	struct iovec iov[N];
	char spec[256];
	struct store *s;

	snprintf(spec, sizeof(spec), "%s,filter=torn:100:seed=5", leaf);
	s = rig_open(&rig, spec);
	for (unsigned int i = 0; i < 200; i++) {
		unsigned int blocks = 2 + i % (N - 1), landed;

		INVARIANT(run(&rig, s, STORE_DISCARD, 0, 0, N * BLOCK, NULL) == 0);
		memset(out, (int)(1 + i % 255), N * BLOCK);
		for (unsigned int j = 0; j < N; j++)
			iov[j] = (struct iovec){ out + j * BLOCK, BLOCK };
		if (i % 2)
			wrong += run_iov(&rig, s, STORE_WRITE, 0, 0, blocks * BLOCK, iov, (int)blocks) != -EIO;
		else
			wrong += run(&rig, s, STORE_WRITE, 0, 0, blocks * BLOCK, out) != -EIO;
		INVARIANT(run(&rig, s, STORE_READ, 0, 0, N * BLOCK, in) == 0);
		landed = prefix(in, N, out[0]);
		odd += landed == 0 || landed >= blocks;
		if (landed <= N)
			seen[landed]++;
	}
	for (unsigned int i = 1; i <= N; i++)
		different += seen[i] > 0;
	is_u64(wrong, 0, "%s %s: a torn write is EIO", rig.name, store_info(s)->kind);
	is_u64(odd, 0, "and leaves some first blocks, whole, and not all");
	ok(different > 20, "now more, now fewer (%u)", different);

	wrong = 0;
	for (unsigned int i = 0; i < 20; i++)
		wrong += run(&rig, s, STORE_WRITE, 0, 0, BLOCK, out) != 0;
	is_u64(wrong, 0, "one block is never torn");
	INVARIANT(run(&rig, s, STORE_DISCARD, 0, 0, N * BLOCK, NULL) == 0);
	is_i64(run(&rig, s, STORE_ZERO, 0, 0, 4 * BLOCK, NULL), -EIO, "zero is torn too");
	store_free(s);
	mem_free(out);
	mem_free(in);
}

/* More torn writes at once than the filter can hold: the others pass. */
static void test_torn_pool(void)
{
	enum { N = 100 };
	struct store *s = rig_open(&rig, "memory:1M,filter=delay:1ms,filter=torn:100");
	static struct call c[N];
	static uint8_t buf[2 * BLOCK];
	struct iovec iov = { buf, sizeof(buf) };
	unsigned int torn = 0, whole = 0;

	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < N; i++)
			call_start(&c[i], &rig, s, STORE_WRITE, 0, i * sizeof(buf), sizeof(buf), &iov, 1);
		for (unsigned int i = 0; i < N; i++) {
			int r = call_wait(&c[i], &rig);

			torn += r == -EIO;
			whole += r == 0;
		}
	}
	ok(torn == 128 && whole == 72, "of 100 torn at a time 64 are (%u of 200, %u whole)", torn, whole);
	store_free(s);
}

int main(void)
{
	char file[256];

	for (int kind = 0; kind < RIG_COUNT; kind++) {
		if (!rig_init(&rig, (enum rig_kind)kind, NULL))
			continue;
		test_delay();
		test_jitter();
		test_error_every();
		test_error_range();
		test_error_chance();
		test_torn("memory:1M");
		snprintf(file, sizeof(file), "file:%s,size=1M", rig_path(&rig, "t.img"));
		test_torn(file);
		rig_unlink(&rig, "t.img");
		test_torn_pool();
		rig_deinit(&rig);
	}
	return tap_done();
}
