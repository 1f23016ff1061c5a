/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of target/arena.h: what is handed out is disjoint and comes back, no connection and no host
 * gets more than a share, who waits is served in order.
 */
#include <string.h>

#include "base/rng.h"
#include "io/sim.h"
#include "target/arena.h"
#include "tests/tap.h"

enum {
	SLABS = 24,
	HOLDERS = 64,
};

static struct sim *sim;
static struct io_loop *loop;

static size_t total(const struct tgt_buf *b)
{
	size_t n = 0;

	for (int i = 0; i < b->niov; i++)
		n += b->iov[i].iov_len;
	return n;
}

static void fill(const struct tgt_buf *b, int c)
{
	for (int i = 0; i < b->niov; i++)
		memset(b->iov[i].iov_base, c, b->iov[i].iov_len);
}

static bool filled(const struct tgt_buf *b, int c)
{
	for (int i = 0; i < b->niov; i++) {
		const uint8_t *p = b->iov[i].iov_base;

		for (size_t k = 0; k < b->iov[i].iov_len; k++)
			if (p[k] != (uint8_t)c)
				return false;
	}
	return true;
}

static void sizes(void)
{
	static const uint32_t bytes[] = { 1,      512,    4096,    4097,   65536,
					  262144, 262145, 1 << 20, 2 << 20 };
	struct tgt_arena a;
	struct tgt_arena_user u = { 0 };

	ok(tgt_arena_init(&a, loop, SLABS * TGT_ARENA_SLAB) == 0, "an arena is made");
	for (size_t i = 0; i < ARRAY_SIZE(bytes); i++) {
		struct tgt_buf b;

		ok(tgt_arena_get(&a, &u, bytes[i], false, &b) == TGT_ARENA_OK, "%u bytes are given",
		   bytes[i]);
		is_u64(total(&b), bytes[i], "the vectors sum to %u", bytes[i]);
		is_u64(b.niov, (bytes[i] + TGT_ARENA_SLAB - 1) / TGT_ARENA_SLAB,
		       "as few vectors as can be for %u", bytes[i]);
		ok((uintptr_t)b.iov[0].iov_base % 4096 == 0, "aligned for direct I/O");
		tgt_buf_trim(&b, 1);
		is_u64(total(&b), 1, "cut to one byte");
		tgt_arena_put(&a, &u, &b);
		is_u64(tgt_arena_used(&a), 0, "all of it comes back after a cut");
	}
	tgt_arena_deinit(&a);
}

/* Takes what @control may have, in the name of one user after the other; returns how many. */
static int exhaust(struct tgt_arena *a, bool control, struct tgt_arena_user *u,
		   struct tgt_buf *held)
{
	uint32_t bytes = 1 << 20;
	int n = 0;

	while (bytes >= TGT_ARENA_PIECE && n < HOLDERS) {
		if (tgt_arena_get(a, &u[n], bytes, control, &held[n]) == TGT_ARENA_OK)
			n++;
		else
			bytes /= 2;
	}
	return n;
}

static void give_back(struct tgt_arena *a, struct tgt_arena_user *u, struct tgt_buf *held, int n)
{
	while (n > 0) {
		n--;
		tgt_arena_put(a, &u[n], &held[n]);
	}
}

static void shares(void)
{
	struct tgt_arena a;
	struct tgt_arena_user greedy = { 0 }, late = { 0 };
	struct tgt_buf held[SLABS * 64], b;
	uint32_t n = 0;

	tgt_arena_init(&a, loop, SLABS * TGT_ARENA_SLAB);
	while (tgt_arena_get(&a, &greedy, 4096, false, &held[n]) == TGT_ARENA_OK)
		n++;
	ok(n >= SLABS * 64 * 2 / 5 && n <= SLABS * 64 / 2, "one alone gets about half (%u of %d)",
	   n, SLABS * 64);
	is_u64(tgt_arena_get(&a, &greedy, 4096, false, &b), TGT_ARENA_OVER,
	       "then it has its share");
	ok(tgt_arena_get(&a, &late, 1 << 20, false, &b) == TGT_ARENA_OK, "a newcomer finds room");
	tgt_arena_put(&a, &late, &b);
	ok(tgt_arena_get(&a, &greedy, 8192, true, &b) == TGT_ARENA_OK,
	   "control commands are on an account of their own");
	is_u64(greedy.held[0], n, "which is not that of I/O");
	tgt_arena_put(&a, &greedy, &b);
	while (n > 0)
		tgt_arena_put(&a, &greedy, &held[--n]);
	is_u64(greedy.held[0] + greedy.held[1], 0, "nothing is charged any more");
	tgt_arena_deinit(&a);
}

/* T006: one large command on each of many connections is much, whoever looks at one of them. */
static void hosts(bool control)
{
	struct tgt_arena a;
	struct tgt_arena_user host = { 0 }, other = { 0 };
	struct tgt_arena_user conn[HOLDERS] = { 0 };
	struct tgt_buf held[HOLDERS] = { 0 }, b;
	uint32_t total_pieces = SLABS * 64;
	int n = 0;

	tgt_arena_init(&a, loop, SLABS * TGT_ARENA_SLAB);
	for (int i = 0; i < HOLDERS; i++) {
		tgt_arena_user_join(&conn[i], &host);
		if (tgt_arena_get(&a, &conn[i], 256 << 10, control, &held[i]) == TGT_ARENA_OK)
			n++;
	}
	ok(n > 0 && host.held[control] <= total_pieces * 3 / 4,
	   "T006: %d connections of a host hold %u of %u pieces", HOLDERS, host.held[control],
	   total_pieces);
	is_u64(tgt_arena_get(&a, &conn[0], 256 << 10, control, &b), TGT_ARENA_OVER, "no more");
	ok(tgt_arena_get(&a, &other, 256 << 10, control, &b) == TGT_ARENA_OK,
	   "T006: another host still finds room");
	tgt_arena_put(&a, &other, &b);
	for (int i = 0; i < HOLDERS; i++)
		tgt_arena_put(&a, &conn[i], &held[i]);
	is_u64(host.held[control], 0, "nothing is charged to the host any more");
	tgt_arena_deinit(&a);
}

static void joining(void)
{
	struct tgt_arena a;
	struct tgt_arena_user host = { 0 }, conn = { 0 };
	struct tgt_buf b;

	tgt_arena_init(&a, loop, SLABS * TGT_ARENA_SLAB);
	tgt_arena_get(&a, &conn, 8192, true, &b);
	tgt_arena_user_join(&conn, &host);
	is_u64(host.held[1], 2,
	       "what a connection holds before it is known whose it is, comes along");
	tgt_arena_user_join(&conn, NULL);
	is_u64(host.held[1], 0, "and leaves with it");
	tgt_arena_user_join(&conn, &host);
	tgt_arena_put(&a, &conn, &b);
	is_u64(host.held[1], 0, "or is given back");
	tgt_arena_deinit(&a);
}

static void reserve(void)
{
	struct tgt_arena a;
	struct tgt_arena_user u[HOLDERS] = { 0 };
	struct tgt_arena_user admin = { 0 };
	struct tgt_buf held[HOLDERS], b;
	int n;

	tgt_arena_init(&a, loop, 4 * TGT_ARENA_SLAB);
	n = exhaust(&a, false, u, held);
	is_u64(a.free, a.reserve + 1, "whoever takes it, the reserve and one piece stay");
	is_u64(tgt_arena_get(&a, &u[n], 65536, false, &b), TGT_ARENA_EMPTY, "for data all is out");
	ok(tgt_arena_get(&a, &admin, 8192, true, &b) == TGT_ARENA_OK,
	   "but not for control commands");
	tgt_arena_put(&a, &admin, &b);
	give_back(&a, u, held, n);
	tgt_arena_deinit(&a);
}

static void fragments(void)
{
	struct tgt_arena a;
	struct tgt_arena_user u[4 * 64] = { 0 };
	struct tgt_arena_user large = { 0 };
	struct tgt_buf held[4 * 64], b;
	int n = 0;

	tgt_arena_init(&a, loop, 4 * TGT_ARENA_SLAB);
	while (tgt_arena_get(&a, &u[n], 4096, true, &held[n]) == TGT_ARENA_OK)
		n++;
	is_u64(n, 255, "every piece but the last is handed out");
	for (int i = 1; i < n; i += 2)
		tgt_arena_put(&a, &u[i], &held[i]);
	ok(tgt_arena_get(&a, &large, 8 * 4096, false, &b) == TGT_ARENA_OK && b.niov == 8,
	   "with every other piece free, eight come as eight vectors");
	tgt_arena_put(&a, &large, &b);
	is_u64(tgt_arena_get(&a, &large, 9 * 4096, false, &b), TGT_ARENA_EMPTY,
	       "nine do not fit into the vectors of a buffer");
	is_u64(a.free, 128, "and nothing was taken");
	for (int i = 0; i < n; i += 2)
		tgt_arena_put(&a, &u[i], &held[i]);
	tgt_arena_deinit(&a);
}

static void random_use(void)
{
	struct tgt_arena a;
	struct tgt_arena_user u[8] = { 0 };
	struct tgt_buf held[HOLDERS] = { 0 };
	bool sound = true;
	struct rng r;

	rng_init(&r, 7);
	tgt_arena_init(&a, loop, 8 * TGT_ARENA_SLAB);
	for (int step = 0; step < 20000; step++) {
		int i = (int)rng_below(&r, HOLDERS);

		if (held[i].runs > 0) {
			sound = sound && filled(&held[i], i + 1);
			tgt_arena_put(&a, &u[i % 8], &held[i]);
		} else if (tgt_arena_get(&a, &u[i % 8], (uint32_t)rng_between(&r, 1, 400000),
					 i % 8 == 0, &held[i]) == TGT_ARENA_OK) {
			fill(&held[i], i + 1);
		} else {
			held[i].runs = 0;
		}
	}
	ok(sound, "20,000 random steps: no two buffers overlap");
	for (int i = 0; i < HOLDERS; i++)
		tgt_arena_put(&a, &u[i % 8], &held[i]);
	is_u64(tgt_arena_used(&a), 0, "and all comes back");
	tgt_arena_deinit(&a);
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct waiter {
	struct tgt_arena_waiter w;
	struct tgt_arena *a;
	struct tgt_arena_user u;
	struct tgt_buf b;
	uint32_t bytes;
	int served;
};

static int order;

static enum tgt_arena_result retry(struct tgt_arena_waiter *w)
{
	struct waiter *x = container_of(w, struct waiter, w);
	enum tgt_arena_result r = tgt_arena_get(x->a, &x->u, x->bytes, w->control, &x->b);

	if (r == TGT_ARENA_OK)
		x->served = ++order;
	return r;
}

static void waiting(void)
{
	struct tgt_arena a;
	struct tgt_arena_user u[HOLDERS] = { 0 };
	struct tgt_buf held[HOLDERS];
	struct waiter x[3] = { { .bytes = 65536 }, { .bytes = 65536 }, { .bytes = 65536 } };
	int n;

	tgt_arena_init(&a, loop, TGT_ARENA_MIN);
	n = exhaust(&a, true, u, held);
	for (int i = 0; i < 3; i++) {
		x[i].a = &a;
		tgt_arena_waiter_init(&x[i].w, i == 2, retry);
		tgt_arena_wait(&a, &x[i].w);
		tgt_arena_wait(&a, &x[i].w);
	}
	is_u64(a.waits, 3, "waiting twice is waiting once");
	sim_run_for(sim, 1000000);
	ok(!x[0].served && !x[1].served, "nobody is served while nothing comes back");
	give_back(&a, u, held, n);
	ok(!x[0].served, "nor from inside the one who gives");
	sim_run_for(sim, 1000000);
	ok(x[2].served == 1 && x[0].served == 2 && x[1].served == 3,
	   "control commands first, then in order (%d %d %d)", x[2].served, x[0].served,
	   x[1].served);
	for (int i = 0; i < 3; i++)
		tgt_arena_put(&a, &x[i].u, &x[i].b);
	sim_run_for(sim, 1000000);
	tgt_arena_deinit(&a);
}

int main(void)
{
	struct sim_config calm;

	sim_config_calm(&calm);
	sim = sim_new(1, &calm);
	loop = sim_loop_new(sim_node_new(sim, "n"));
	sizes();
	shares();
	hosts(false);
	hosts(true);
	joining();
	reserve();
	fragments();
	random_use();
	waiting();
	io_loop_free(loop);
	sim_free(sim);
	return tap_done();
}
