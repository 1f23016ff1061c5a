/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and null beyond what every store does: size, giving memory back, in steps. */
#include <sys/mman.h>

#include "store/test-rig.h"

#define GIB (UINT64_C(1) << 30)

static struct rig rig;

static uint64_t resident(void)
{
	unsigned long long pages_all = 0, pages_resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	INVARIANT(f && fscanf(f, "%llu %llu", &pages_all, &pages_resident) == 2);
	fclose(f);
	return pages_resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void test_large(void)
{
	struct store *s = NULL;
	struct err err = ERR_NULL;
	uint8_t out[512], in[512];

	if (store_open(rig.loop, "memory:8T", &s, &err) < 0) {
		diag("%s", err_text(&err));
		tap_skip("not 8 TiB of addresses to be had here");
		return;
	}
	memset(out, 0x77, sizeof(out));
	is_i64(run(&rig, s, STORE_WRITE, 0, 8192 * GIB - 512, 512, out), 0, "8 TiB, written at the end");
	is_i64(run(&rig, s, STORE_READ, 0, 8192 * GIB - 512, 512, in), 0, "and read");
	is_mem(in, out, 512, "and right");
	store_free(s);
	is_i64(store_open(rig.loop, "memory:4000000T", &s, &err), -ENOMEM, "there is an end to it");
	ok(strstr(err_text(&err), "memory:4000000T"), "and a sentence: %s", err_text(&err));
}

static void test_giving_back(void)
{
	enum { SIZE = 160 << 20, CHUNK = 1 << 20 };
	struct store *s = rig_open(&rig, "memory:160M");
	uint8_t *buf = pages(CHUNK);
	uint64_t full, empty;
	unsigned int turns = 0, wrong = 0;
	struct call c;

	memset(buf, 1, CHUNK);
	for (uint64_t at = 0; at < SIZE; at += CHUNK)
		wrong += run(&rig, s, STORE_WRITE, 0, at, CHUNK, buf) != 0;
	full = resident();
	call_start(&c, &rig, s, STORE_DISCARD, 0, 512, SIZE - 1024, NULL, 0);
	for (; !c.finished; turns++)
		INVARIANT(io_loop_turn(rig.loop, UINT64_MAX) >= 0);
	empty = resident();
	ok(turns >= 4, "a large discard is done a step a turn (%u)", turns);
	ok(empty + SIZE / 2 < full, "and gives memory back (%llu MiB)",
	   (unsigned long long)(full - empty) >> 20);
	for (uint64_t at = 0; at < SIZE; at += CHUNK) {
		uint64_t from = at == 0 ? 512 : 0, to = at + CHUNK == SIZE ? CHUNK - 512 : CHUNK;

		wrong += run(&rig, s, STORE_READ, 0, at, CHUNK, buf) != 0;
		wrong += !is_zero(buf + from, to - from);
		wrong += (from && buf[0] != 1) || (to < CHUNK && buf[CHUNK - 1] != 1);
	}
	is_u64(wrong, 0, "what was discarded is zero, and the blocks beside it are not");
	store_free(s);
	mem_free(buf);
}

static void test_huge(void)
{
	struct store *s = NULL;
	struct err err = ERR_NULL;
	uint8_t buf[512] = { 1 };

	if (store_open(rig.loop, "memory:64M,huge=on", &s, &err) < 0) {
		tap_skip(err_text(&err));
		return;
	}
	is_i64(run(&rig, s, STORE_WRITE, 0, 0, 512, buf), 0, "huge pages work like others");
	is_i64(run(&rig, s, STORE_DISCARD, 0, 0, 64 << 20, NULL), 0, "and can be given back");
	is_i64(run(&rig, s, STORE_READ, 0, 0, 512, buf), 0, "and read again");
	ok(is_zero(buf, 512), "as zeroes");
	store_free(s);
}

/* What another request left in a buffer must not be sent as if it were data. */
static void test_null_clears(void)
{
	struct store *s = rig_open(&rig, "null:1T");
	uint8_t buf[1024];
	struct iovec iov[3] = { { buf, 100 }, { buf + 100, 0 }, { buf + 100, 924 } };

	memset(buf, 0x55, sizeof(buf));
	is_i64(run_iov(&rig, s, STORE_READ, 0, 1024 * GIB - 1024, 1024, iov, 3), 0, "null: its end");
	ok(is_zero(buf, sizeof(buf)), "read as zeroes");
	store_free(s);
}

int main(void)
{
	if (rig_init(&rig, RIG_EPOLL, NULL)) {
		test_large();
		test_giving_back();
		test_huge();
		test_null_clears();
		rig_deinit(&rig);
	}
	return tap_done();
}
