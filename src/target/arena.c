/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data buffers of one reactor; the idea is in arena.h.
 *
 * A slab is in one of three places: the list of whole ones, the list of partial ones, or, when all
 * its pieces are out, in none. Both lists are last in, first out, so that memory that is warm in
 * the cache is used again before memory that was never touched.
 */
#include "target/arena.h"

#include <assert.h>
#include <errno.h>

#include "base/alloc.h"
#include "base/util.h"

enum {
	/* Partial slabs looked at for a contiguous run before a whole slab is broken up. */
	RUN_SCAN = 8,
	/* Partial slabs looked at when only fragments are left. */
	FRAGMENT_SCAN = 256,
	/* One piece in this many is kept back for control commands. */
	RESERVE_DIVISOR = 32,
	/* How much more may be held than is left free: by a connection, by a host. */
	CONNECTION_SHARE = 1,
	HOST_SHARE = 3,
	/* A small arena is small because memory is scarce: it comes in small pages, not 2 MiB at once. */
	HUGE_FROM_SLABS = (16 << 20) / TGT_ARENA_SLAB,
};

#define ALL_FREE UINT64_MAX

static_assert(TGT_ARENA_SLAB_PIECES == 8 * sizeof(uint64_t), "one mask a slab");

static uint64_t run_mask(unsigned int at, unsigned int n)
{
	return (n == 64 ? ALL_FREE : (UINT64_C(1) << n) - 1) << at;
}

/* The lowest place of @n consecutive bits in @m, 1 <= n <= 64, or -1. */
static int find_run(uint64_t m, unsigned int n)
{
	unsigned int have = 1;

	/* Bit i of m says that `have` bits from i on are set. */
	while (have < n) {
		unsigned int step = MIN(have, n - have);

		m &= m >> step;
		have += step;
	}
	return m ? __builtin_ctzll(m) : -1;
}

int tgt_arena_init(struct tgt_arena *a, struct io_loop *loop, uint64_t bytes)
{
	uint64_t slabs = MAX(bytes, (uint64_t)TGT_ARENA_MIN) / TGT_ARENA_SLAB;

	*a = (struct tgt_arena){ .loop = loop };
	if (slabs > UINT32_MAX / TGT_ARENA_SLAB_PIECES)
		return -ENOMEM;
	list_init(&a->whole);
	list_init(&a->partial);
	list_init(&a->waiters[0]);
	list_init(&a->waiters[1]);
	a->slabs = mem_calloc(slabs, sizeof(*a->slabs));
	a->memory = slabs < HUGE_FROM_SLABS ? mem_aligned(TGT_ARENA_PIECE, slabs * TGT_ARENA_SLAB)
					    : mem_huge(slabs * TGT_ARENA_SLAB);
	if (!a->slabs || !a->memory) {
		a->slabs = mem_free(a->slabs);
		a->memory = mem_free(a->memory);
		return -ENOMEM;
	}
	a->slab_count = a->whole_count = (uint32_t)slabs;
	a->free = a->slab_count * TGT_ARENA_SLAB_PIECES;
	a->reserve = a->free / RESERVE_DIVISOR;
	for (uint32_t i = 0; i < a->slab_count; i++) {
		a->slabs[i].free = ALL_FREE;
		list_add_tail(&a->whole, &a->slabs[i].link);
	}
	return 0;
}

void tgt_arena_deinit(struct tgt_arena *a)
{
	if (!a->memory)
		return;
	INVARIANT(a->free == a->slab_count * TGT_ARENA_SLAB_PIECES);
	INVARIANT(a->whole_count == a->slab_count);
	INVARIANT(list_empty(&a->waiters[0]) && list_empty(&a->waiters[1]));
	io_defer_cancel(&a->kick);
	a->slabs = mem_free(a->slabs);
	a->memory = mem_free(a->memory);
}

/* Takes @n pieces from @at on out of a slab, and moves the slab to the list it belongs to then. */
static void take(struct tgt_arena *a, struct tgt_arena_slab *s, unsigned int at, unsigned int n,
		 struct tgt_buf *buf)
{
	size_t index = (size_t)(s - a->slabs);

	if (s->free == ALL_FREE)
		a->whole_count--;
	list_del(&s->link);
	s->free &= ~run_mask(at, n);
	if (s->free)
		list_add_head(&a->partial, &s->link);
	a->free -= n;
	buf->iov[buf->runs] = (struct iovec){
		.iov_base = a->memory + index * TGT_ARENA_SLAB + (size_t)at * TGT_ARENA_PIECE,
		.iov_len = (size_t)n * TGT_ARENA_PIECE,
	};
	buf->pieces[buf->runs++] = (uint8_t)n;
}

/* Gives back the last run of @buf. */
static void give(struct tgt_arena *a, struct tgt_buf *buf)
{
	unsigned int n = buf->pieces[--buf->runs];
	size_t offset = (size_t)((uint8_t *)buf->iov[buf->runs].iov_base - a->memory);
	struct tgt_arena_slab *s = &a->slabs[offset / TGT_ARENA_SLAB];
	unsigned int at = (unsigned int)(offset % TGT_ARENA_SLAB / TGT_ARENA_PIECE);
	uint64_t mask = run_mask(at, n);

	INVARIANT(offset / TGT_ARENA_SLAB < a->slab_count && offset % TGT_ARENA_PIECE == 0);
	INVARIANT(n > 0 && at + n <= TGT_ARENA_SLAB_PIECES && (s->free & mask) == 0);
	if (s->free)
		list_del(&s->link);
	s->free |= mask;
	a->free += n;
	if (s->free == ALL_FREE)
		a->whole_count++;
	list_add_head(s->free == ALL_FREE ? &a->whole : &a->partial, &s->link);
}

static struct tgt_arena_slab *first_whole(struct tgt_arena *a)
{
	return list_entry(a->whole.next, struct tgt_arena_slab, link);
}

/* A run of @n pieces out of the first @scan partial slabs. */
static bool take_partial(struct tgt_arena *a, unsigned int n, int scan, struct tgt_buf *buf)
{
	struct tgt_arena_slab *s;

	list_for_each_entry(s, &a->partial, link) {
		int at = find_run(s->free, n);

		if (at >= 0) {
			take(a, s, (unsigned int)at, n, buf);
			return true;
		}
		if (--scan == 0)
			break;
	}
	return false;
}

/* The longest run of at most @want pieces that the partial slabs have, roughly: halving. */
static bool take_fragment(struct tgt_arena *a, unsigned int want, struct tgt_buf *buf)
{
	for (unsigned int n = want; n > 0; n /= 2)
		if (take_partial(a, n, FRAGMENT_SCAN, buf))
			return true;
	return false;
}

/* The next run of at most @want pieces: contiguous if it can be, a fragment otherwise. */
static bool take_next(struct tgt_arena *a, unsigned int want, struct tgt_buf *buf)
{
	unsigned int n = MIN(want, (unsigned int)TGT_ARENA_SLAB_PIECES);

	if (n < TGT_ARENA_SLAB_PIECES && take_partial(a, n, RUN_SCAN, buf))
		return true;
	if (!list_empty(&a->whole)) {
		take(a, first_whole(a), 0, n, buf);
		return true;
	}
	return take_fragment(a, n, buf);
}

static bool take_all(struct tgt_arena *a, unsigned int pieces, struct tgt_buf *buf)
{
	while (pieces > 0 && buf->runs < TGT_BUF_IOV && take_next(a, pieces, buf))
		pieces -= buf->pieces[buf->runs - 1];
	if (pieces == 0)
		return true;
	while (buf->runs > 0)
		give(a, buf);
	return false;
}

void tgt_arena_user_join(struct tgt_arena_user *user, struct tgt_arena_user *host)
{
	for (int i = 0; i < 2; i++) {
		if (user->host)
			user->host->held[i] -= user->held[i];
		if (host)
			host->held[i] += user->held[i];
	}
	user->host = host;
}

/* With @want more: does @user hold more than @share times what is @left then? */
static bool over(const struct tgt_arena_user *user, bool control, uint32_t want, uint32_t left,
		 unsigned int share)
{
	return (uint64_t)user->held[control] + want > (uint64_t)left * share;
}

static void charge(struct tgt_arena_user *user, bool control, uint32_t pieces)
{
	user->held[control] += pieces;
	if (user->host)
		user->host->held[control] += pieces;
}

static void discharge(struct tgt_arena_user *user, bool control, uint32_t pieces)
{
	INVARIANT(user->held[control] >= pieces);
	user->held[control] -= pieces;
	if (!user->host)
		return;
	INVARIANT(user->host->held[control] >= pieces);
	user->host->held[control] -= pieces;
}

enum tgt_arena_result tgt_arena_get(struct tgt_arena *a, struct tgt_arena_user *user,
				    uint32_t bytes, bool control, struct tgt_buf *buf)
{
	uint32_t want = DIV_ROUND_UP(bytes, (uint32_t)TGT_ARENA_PIECE);
	uint32_t free = a->free;

	INVARIANT(bytes > 0 && bytes <= TGT_BUF_MAX);
	if (!control)
		free -= MIN(free, a->reserve);
	if (want > free)
		return TGT_ARENA_EMPTY;
	/* Also the first of a connection: many connections with one large command each are many. */
	if (over(user, control, want, free - want, CONNECTION_SHARE))
		return TGT_ARENA_OVER;
	if (user->host && over(user->host, control, want, free - want, HOST_SHARE))
		return TGT_ARENA_OVER;
	buf->runs = 0;
	if (!take_all(a, want, buf))
		return TGT_ARENA_EMPTY;
	charge(user, control, want);
	buf->control = control;
	buf->niov = buf->runs;
	tgt_buf_trim(buf, bytes);
	return TGT_ARENA_OK;
}

void tgt_buf_trim(struct tgt_buf *b, size_t bytes)
{
	int n = 0;

	while (bytes > 0) {
		INVARIANT(n < b->niov);
		b->iov[n].iov_len = MIN(b->iov[n].iov_len, bytes);
		bytes -= b->iov[n++].iov_len;
	}
	b->niov = (uint8_t)n;
}

/* Lets waiters try again, those with control commands first, each queue in order. */
static void kick(struct io_defer *d)
{
	struct tgt_arena *a = container_of(d, struct tgt_arena, kick);

	for (int i = 0; i < 2; i++) {
		struct tgt_arena_waiter *w, *next;

		list_for_each_entry_safe(w, next, &a->waiters[i], link) {
			enum tgt_arena_result r = w->retry(w);

			if (r == TGT_ARENA_EMPTY)
				break;
			if (r == TGT_ARENA_OK)
				tgt_arena_unwait(w);
		}
	}
}

void tgt_arena_put(struct tgt_arena *a, struct tgt_arena_user *user, struct tgt_buf *buf)
{
	uint32_t before = a->free;

	buf->niov = 0;
	if (buf->runs == 0)
		return;
	while (buf->runs > 0)
		give(a, buf);
	discharge(user, buf->control, a->free - before);
	if (!list_empty(&a->waiters[0]) || !list_empty(&a->waiters[1])) {
		if (!a->kick.fn)
			io_defer_init(&a->kick, kick);
		io_defer(a->loop, &a->kick);
	}
}

void tgt_arena_waiter_init(struct tgt_arena_waiter *w, bool control,
			   enum tgt_arena_result (*retry)(struct tgt_arena_waiter *w))
{
	*w = (struct tgt_arena_waiter){ .retry = retry, .control = control };
	list_init(&w->link);
}

void tgt_arena_wait(struct tgt_arena *a, struct tgt_arena_waiter *w)
{
	if (list_is_linked(&w->link))
		return;
	a->waits++;
	list_add_tail(&a->waiters[w->control ? 0 : 1], &w->link);
}

void tgt_arena_unwait(struct tgt_arena_waiter *w)
{
	list_del(&w->link);
}
