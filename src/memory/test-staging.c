/* SPDX-License-Identifier: Apache-2.0 */
/* The staging pool: bounded, first come first served, and nothing is lost. */
#include "memory/staging.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/util.h"
#include "memory/emulated.h"
#include "tests/tap.h"

struct customer {
	struct mem_staging_wait wait;
	struct mem_staging *staging;
	void *piece;
	unsigned int turn;
	bool put_back_at_once;
};

static unsigned int turns;

static void served(struct mem_staging_wait *w, void *piece)
{
	struct customer *c = container_of(w, struct customer, wait);

	c->turn = ++turns;
	c->piece = piece;
	if (c->put_back_at_once) {
		c->piece = NULL;
		mem_staging_put(c->staging, piece);
	}
}

static void customer_init(struct customer *c, struct mem_staging *s)
{
	*c = (struct customer){ .staging = s };
	mem_staging_wait_init(&c->wait, served);
}

static void test_order(struct mem_device *dev)
{
	struct mem_staging *s = NULL;
	struct customer c[4];
	struct err err = ERR_NULL;
	void *a, *b;

	is_i64(mem_staging_new(dev, 0, 2, &s, &err), 0, "a pool of two");
	is_u64(mem_staging_piece(s), MEM_STAGING_PIECE_DEFAULT, "of the default size");
	a = mem_staging_get(s);
	b = mem_staging_get(s);
	ok(a && b && a != b && (uintptr_t)a % 4096 == 0, "two pieces, page-aligned");
	memset(a, 1, mem_staging_piece(s));
	memset(b, 2, mem_staging_piece(s));
	ok(((uint8_t *)a)[mem_staging_piece(s) - 1] == 1, "which do not overlap");
	ok(!mem_staging_get(s), "and no third");

	for (unsigned int i = 0; i < 4; i++) {
		customer_init(&c[i], s);
		mem_staging_wait(s, &c[i].wait);
	}
	mem_staging_cancel(s, &c[1].wait);
	mem_staging_cancel(s, &c[1].wait);
	c[0].put_back_at_once = true;
	turns = 0;
	mem_staging_put(s, a);
	ok(c[0].turn == 1 && c[2].turn == 2 && c[2].piece == a, "the first puts back, the next gets it");
	ok(c[1].turn == 0 && c[3].turn == 0, "who left is not served, who is behind waits");
	ok(!mem_staging_get(s), "nobody overtakes the line");
	mem_staging_put(s, b);
	ok(c[3].piece == b, "the last is served too");
	mem_staging_put(s, a);
	mem_staging_put(s, b);
	is_u64(mem_staging_available(s), 2, "all pieces are back");
	mem_staging_free(s);
}

/* A line of thousands who all put back at once must not nest as deep. */
static void test_no_recursion(void)
{
	enum { N = 100000 };
	struct customer *c = mem_calloc(N, sizeof(*c));
	struct mem_staging *s = NULL;
	void *piece;

	INVARIANT(c && mem_staging_new(NULL, MEM_STAGING_PIECE_MIN, 1, &s, NULL) == 0);
	piece = mem_staging_get(s);
	for (unsigned int i = 0; i < N; i++) {
		customer_init(&c[i], s);
		c[i].put_back_at_once = true;
		mem_staging_wait(s, &c[i].wait);
	}
	turns = 0;
	mem_staging_put(s, piece);
	is_u64(turns, N, "a long line is served without deep recursion");
	is_u64(mem_staging_available(s), 1, "and the piece is back");
	mem_staging_free(s);
	mem_free(c);
}

static void test_refused(void)
{
	struct mem_staging *s = NULL;
	struct err err = ERR_NULL;

	is_i64(mem_staging_new(NULL, 4096, 1, &s, &err), -EINVAL, "pieces too small");
	is_i64(mem_staging_new(NULL, 2 << 20, 1, &s, &err), -EINVAL, "pieces too large");
	is_i64(mem_staging_new(NULL, (128 << 10) + 512, 1, &s, &err), -EINVAL, "pieces of odd size");
	is_i64(mem_staging_new(NULL, 0, 0, &s, &err), -EINVAL, "no pieces");
	for (uint64_t n = 1; n <= 3; n++) {
		mem_fail_after(n);
		is_i64(mem_staging_new(NULL, 0, 4, &s, &err), -ENOMEM, "allocation %d fails", (int)n);
		mem_fail_after(0);
	}
	ok(!s, "nothing comes out of failure");
	mem_staging_free(NULL);
}

int main(void)
{
	struct mem_emulated_options opts = { .memory = 1 << 20 };
	struct mem_device *dev = NULL;

	INVARIANT(mem_emulated_new(&opts, &dev, NULL) == 0);
	test_order(NULL);
	test_order(dev);
	test_no_recursion();
	test_refused();
	mem_device_free(dev);
	return tap_done();
}
