/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows into memory that is cut anywhere (Z014): what a host asked for of a page is the same bytes
 * whatever pieces the arena had for them.
 */
#include <string.h>

#include "base/rng.h"
#include "base/util.h"
#include "target/req.h"
#include "target/window.h"
#include "tests/tap.h"

enum {
	WHOLE = 3000,
	ROOM = 4096,
};

static struct rng rng;
static uint8_t whole[WHOLE], memory[ROOM + TGT_BUF_IOV * 16];
static struct tgt_req req;

/* @n bytes of memory in up to TGT_BUF_IOV pieces with gaps of junk between them. */
static void cut(size_t n)
{
	size_t at = 0, left = n;

	memset(memory, 0xa5, sizeof(memory));
	req.buf.niov = 0;
	while (left > 0) {
		bool last = req.buf.niov == TGT_BUF_IOV - 1;
		size_t some = last ? left : (size_t)rng_between(&rng, 1, left);

		req.buf.iov[req.buf.niov++] = (struct iovec){ memory + at, some };
		at += some + rng_below(&rng, 16);
		left -= some;
	}
}

static size_t gather(uint8_t *to)
{
	size_t n = 0;

	for (int i = 0; i < req.buf.niov; i++) {
		memcpy(to + n, req.buf.iov[i].iov_base, req.buf.iov[i].iov_len);
		n += req.buf.iov[i].iov_len;
	}
	return n;
}

/* Nothing but the pieces was written to. */
static bool junk_is_there(void)
{
	static uint8_t copy[sizeof(memory)];

	memcpy(copy, memory, sizeof(copy));
	for (int i = 0; i < req.buf.niov; i++)
		memset(copy + ((uint8_t *)req.buf.iov[i].iov_base - memory), 0xa5, req.buf.iov[i].iov_len);
	for (size_t i = 0; i < sizeof(copy); i++)
		if (copy[i] != 0xa5)
			return false;
	return true;
}

/* Some window into it, which is produced in some pieces; whether the right bytes are in it. */
static bool one(void)
{
	uint64_t offset = rng_below(&rng, WHOLE + 200);
	size_t len = (size_t)rng_between(&rng, 1, ROOM), room = MIN(len + (size_t)rng_below(&rng, 500), (size_t)ROOM);
	uint8_t got[ROOM], want[ROOM] = { 0 };
	struct tgt_window w;
	size_t at = 0;

	room = MAX(room, len);
	cut(room);
	tgt_window_init(&w, &req, offset, len);
	while (at < WHOLE) {
		size_t some = (size_t)rng_between(&rng, 1, WHOLE - at);

		tgt_window_put(&w, whole + at, some);
		at += some;
	}
	if (tgt_window_end(&w) != WHOLE)
		return false;
	if (offset < WHOLE)
		memcpy(want, whole + offset, MIN(len, (size_t)(WHOLE - offset)));
	return gather(got) == room && memcmp(got, want, room) == 0 && junk_is_there();
}

int main(void)
{
	unsigned int right = 0;

	rng_init(&rng, 14);
	rng_fill(&rng, whole, sizeof(whole));
	for (int i = 0; i < 5000; i++)
		right += one();
	is_u64(right, 5000, "Z014: windows into memory in any pieces: the page, then zeroes, nothing else");
	return tap_done();
}
