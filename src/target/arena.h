/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data buffers of one reactor: a fixed amount of memory, handed out in pieces of 4 KiB.
 *
 * Memory is cut into slabs of 64 pieces. A request takes whole slabs and one contiguous run of
 * pieces for the rest, so nearly every transfer is one to four vectors and aligned for direct I/O.
 * Fragments are used when nothing better is left. Taking and giving back are a few operations on
 * 64-bit masks; the price is that the smallest transfer costs a whole piece.
 *
 * The arena has a ceiling and never grows. Who finds it empty waits, in order. What is held is
 * charged to a connection and to its host, and memory that waits for a host may stay out for as
 * long as the host likes, up to its time limit. So nobody may take the last of it:
 *
 * - A connection holds at most as much as it leaves free, a host three times that. One host,
 *   however many connections it makes, leaves a quarter of the arena to others, and two leave a
 *   sixteenth.
 * - Control commands (admin and Fabrics) are on an account of their own, by the same rule, and a
 *   part of the memory is kept back for them: a host's I/O does not keep it from being managed.
 *
 * Memory is touched only when it is first handed out; what was given back last is handed out next.
 * It comes in huge pages: a disk is told of runs of memory, and 128 KiB of 4 KiB pages are 32 runs, of
 * which a virtual disk's queue holds few (256 in all, on one without indirect descriptors).
 * Thread: the reactor's.
 */
#ifndef PENSTOCK_TARGET_ARENA_H
#define PENSTOCK_TARGET_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/list.h"
#include "io/io.h"

enum {
	TGT_ARENA_PIECE = 4096,
	TGT_ARENA_SLAB_PIECES = 64,
	TGT_ARENA_SLAB = TGT_ARENA_PIECE * TGT_ARENA_SLAB_PIECES,
	TGT_ARENA_MIN = 4 * TGT_ARENA_SLAB,
	TGT_BUF_IOV = 8, /* vectors of one buffer: 2 MiB in whole slabs */
	TGT_BUF_MAX = TGT_BUF_IOV * TGT_ARENA_SLAB,
};

/*
 * A buffer as its user sees it. What it must give back is in @pieces, so the vectors may be cut
 * short (tgt_buf_trim). Memory that is not the arena's has @runs 0: nothing is given back then.
 */
struct tgt_buf {
	struct iovec iov[TGT_BUF_IOV];
	uint8_t pieces[TGT_BUF_IOV];
	uint8_t niov;
	uint8_t runs;
	bool control; /* which account it is on */
};

/* Memory of somebody else. */
static inline void tgt_buf_lent(struct tgt_buf *b, void *p, size_t n)
{
	b->iov[0] = (struct iovec){ .iov_base = p, .iov_len = n };
	b->niov = 1;
	b->runs = 0;
}

/* Cuts the vectors to their first @bytes (> 0, at most what they hold). */
void tgt_buf_trim(struct tgt_buf *b, size_t bytes);

/* What one connection, or all connections of a host, hold. */
struct tgt_arena_user {
	struct tgt_arena_user *host; /* is charged as well; NULL: nobody, or this is a host */
	uint32_t held[2];            /* pieces: of I/O commands, of control commands */
};

/* @user is @host's from now on (NULL: nobody's), with all it holds. */
void tgt_arena_user_join(struct tgt_arena_user *user, struct tgt_arena_user *host);

enum tgt_arena_result {
	TGT_ARENA_OK,
	TGT_ARENA_OVER,  /* this user or its host holds its share: others may still succeed */
	TGT_ARENA_EMPTY, /* there is not enough for anybody */
};

/* Somebody who waits. */
struct tgt_arena_waiter {
	struct list link;
	/* Tries again. Not OK: it stays in the queue. */
	enum tgt_arena_result (*retry)(struct tgt_arena_waiter *w);
	bool control;
};

struct tgt_arena_slab {
	struct list link;
	uint64_t free; /* a bit per piece */
};

struct tgt_arena {
	struct io_loop *loop;
	uint8_t *memory;
	struct tgt_arena_slab *slabs;
	uint32_t slab_count;
	struct list whole;   /* slabs that are free as a whole */
	struct list partial; /* slabs that have free pieces and used ones */
	uint32_t whole_count;
	uint32_t free;          /* pieces */
	uint32_t reserve;       /* pieces that only control commands may take */
	struct list waiters[2]; /* of control commands; of all others */
	struct io_defer kick;
	uint64_t waits; /* how often somebody had to wait */
};

/* @bytes is rounded down to slabs, at least TGT_ARENA_MIN. -ENOMEM. */
int tgt_arena_init(struct tgt_arena *a, struct io_loop *loop, uint64_t bytes);
/* Everything must have been given back. Takes one that was never initialised, if zeroed. */
void tgt_arena_deinit(struct tgt_arena *a);

static inline uint64_t tgt_arena_bytes(const struct tgt_arena *a)
{
	return (uint64_t)a->slab_count * TGT_ARENA_SLAB;
}

static inline uint64_t tgt_arena_used(const struct tgt_arena *a)
{
	return tgt_arena_bytes(a) - (uint64_t)a->free * TGT_ARENA_PIECE;
}

/*
 * Fills @buf with memory of @bytes (1 .. TGT_BUF_MAX) in all. @control: on the account of control
 * commands, which may take the reserve. Nothing changes unless OK.
 */
enum tgt_arena_result tgt_arena_get(struct tgt_arena *a, struct tgt_arena_user *user,
				    uint32_t bytes, bool control, struct tgt_buf *buf);
/* Gives back what tgt_arena_get() gave; @buf is empty afterwards. */
void tgt_arena_put(struct tgt_arena *a, struct tgt_arena_user *user, struct tgt_buf *buf);

void tgt_arena_waiter_init(struct tgt_arena_waiter *w, bool control,
			   enum tgt_arena_result (*retry)(struct tgt_arena_waiter *w));
/* Queues @w; retry is called when something was given back. Waiting twice is waiting once. */
void tgt_arena_wait(struct tgt_arena *a, struct tgt_arena_waiter *w);
void tgt_arena_unwait(struct tgt_arena_waiter *w);

#endif
