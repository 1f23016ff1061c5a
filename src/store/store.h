/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store is where blocks live: memory, a file, nothing at all; or a filter over another store
 * (delay, error, torn). It knows bytes and durability, nothing of NVMe. One ops table per kind,
 * all callbacks mandatory.
 *
 * An operation is embedded in its owner. store_submit() either finishes it at once and returns
 * true (op->result is set, done is not called), or returns false and calls done later from the
 * loop's turn. So a memory store costs a function call, and the caller handles both in one place:
 * `if (store_submit(...)) finish(op);`.
 *
 * A store object is shared by all loops of a process: submit is safe from each loop's thread, and
 * done comes on the thread that submitted. Offsets, lengths are in bytes and multiples of the
 * store's block size; the caller checks the range.
 */
#ifndef PENSTOCK_STORE_STORE_H
#define PENSTOCK_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"
#include "io/io.h"
#include "store/range-lock.h"

enum store_kind {
	STORE_READ,
	STORE_WRITE,
	STORE_FLUSH,   /* every write finished before this was submitted becomes durable */
	STORE_DISCARD, /* reads as zeroes afterwards */
	STORE_ZERO,    /* the same, but stays allocated if STORE_KEEP */
	STORE_COMPARE, /* result -EILSEQ on a difference; iov holds what is expected */
	STORE_VERIFY,  /* read and throw away: is it readable? */
	/*
	 * Fused compare and write (NVM Command Set Specification, Compare): iov sums up to twice
	 * length, first what is expected, then what replaces it. Nothing else is done to any of
	 * the blocks in between. At most STORE_FUSED_MAX bytes, else -EOPNOTSUPP. STORE_FUA.
	 */
	STORE_COMPARE_WRITE,
};

#define STORE_FUSED_MAX (1u << 20)

enum store_flags {
	STORE_FUA = 1 << 0,  /* write, zero, compare and write: durable when done */
	STORE_KEEP = 1 << 1, /* zero: do not deallocate */
};

struct store;

struct store_op {
	/* set by the caller */
	enum store_kind kind;
	unsigned int flags;
	uint64_t offset; /* bytes */
	uint64_t length; /* bytes */
	const struct iovec *iov; /* read, write, compare: sums up to length */
	int niov;
	void (*done)(struct store_op *op);

	/* set by the store */
	int result; /* 0 or -errno: EIO, ENOSPC, EROFS, EILSEQ (compare), EOPNOTSUPP, ENOMEM, ECANCELED */

	/* private to the store, for as long as the operation lasts */
	struct store *store;
	struct io_loop *loop;
	struct io_op io;
	struct io_timer timer;
	struct list link;
	struct store_op *inner; /* filters: unused by leaf stores */
	uint64_t priv[4];
	unsigned int phase;
	void *bounce; /* a piece of aligned memory */
	struct iovec vec[4];
	struct range_claim claim; /* the blocks it has to itself, or shares */
	struct io_msg msg;        /* brings a waiter back to its loop */
};

/*
 * A read without a copy: the blocks where they lie, held still until they are taken back. Whoever
 * writes to them waits meanwhile, spinning: it is for the length of a system call, not of a
 * transfer. Embedded in its owner.
 */
struct store_loan {
	struct range_claim claim; /* private */
};

/* Bytes of one loan at most. */
#define STORE_LOAN_MAX (256u << 10)

struct store_info {
	uint64_t size;        /* bytes */
	uint32_t block;       /* logical block, bytes: 512 or 4096 */
	uint32_t align;       /* memory alignment that spares a copy, bytes */
	bool read_only;
	bool volatile_cache;  /* a flush does something */
	bool can_discard;
	/* Blocks lie in memory: they can be lent, and reads, writes and compares finish at once. */
	bool in_memory;
	uint32_t optimal;     /* preferred I/O size, bytes; 0 unknown */
	char kind[16];        /* "memory", "file", "null" */
	char name[256];       /* for people: the path, or the size */
	uint8_t uuid[16];     /* stable identity of the content: same file, same identity */
};

struct store_ops {
	const char *name;
	bool (*submit)(struct store *s, struct io_loop *loop, struct store_op *op);
	/* See store_lend(); those that are not in memory have store_lends_nothing(). */
	const void *(*lend)(struct store *s, struct store_loan *loan, uint64_t offset, uint64_t length,
			    bool wait);
	void (*take_back)(struct store *s, struct store_loan *loan);
	/* Re-reads the size; 1 if it changed, 0 if not, -errno. Control plane. */
	int (*refresh)(struct store *s);
	/* Every operation is finished. */
	void (*free)(struct store *s);
};

struct store {
	const struct store_ops *ops;
	struct store_info info;
};

/*
 * Opens from a NAMESPACE specification of the command line, for example
 *   "file:/srv/a.img,size=10G,block=4096,ro", "/srv/a.img", "memory:4G", "null:1T",
 *   "memory:1G,filter=delay:2ms,filter=error:read:EIO:1%".
 * Filters are applied left to right, the last one outermost. Blocking. -EINVAL with a sentence
 * that names the word that was wrong and what was expected; other errors of opening.
 */
int store_open(struct io_loop *loop, const char *spec, struct store **ret_store, struct err *err);
struct store *store_free(struct store *s);

static inline const struct store_info *store_info(const struct store *s)
{
	return &s->info;
}

static inline bool store_submit(struct store *s, struct io_loop *loop, struct store_op *op)
{
	op->store = s;
	op->loop = loop;
	return s->ops->submit(s, loop, op);
}

/*
 * Lends [offset, offset + length), at most STORE_LOAN_MAX, of a store that is in memory. NULL:
 * somebody is writing there; with @wait that is waited for (spinning), which is right only for who
 * holds no other loan. No store operation may be submitted by a thread that holds one.
 */
static inline const void *store_lend(struct store *s, struct store_loan *loan, uint64_t offset,
				     uint64_t length, bool wait)
{
	return s->ops->lend(s, loan, offset, length, wait);
}

static inline void store_take_back(struct store *s, struct store_loan *loan)
{
	s->ops->take_back(s, loan);
}

/* For the tables of stores that are not in memory: calling them is a mistake. */
const void *store_lends_nothing(struct store *s, struct store_loan *loan, uint64_t offset,
				uint64_t length, bool wait);
void store_takes_nothing(struct store *s, struct store_loan *loan);

#endif
