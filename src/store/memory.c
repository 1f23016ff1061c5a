/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks in anonymous memory. Pages appear when first written, so a store may be larger than the
 * machine's memory as long as what is written is not; what is discarded goes back to the system.
 *
 * Operations finish at once. A block is never torn: each 32 KiB of a transfer is copied under a
 * reader/writer spin lock (range-lock.h). That costs two atomic operations, about 20 ns a piece:
 * 3 % of a 4 KiB copy that comes from memory, 15 % of one that comes from the cache. Sequence
 * counters would spare readers that, and would be a data race by the letter of C. A loan holds the
 * same lock and spares the copy: what is sent to a host is read once, by the kernel. Only giving back
 * a lot of memory takes long, so that is done in steps, one a turn of the loop.
 */
#include "store/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/parse.h"
#include "base/util.h"
#include "store/identity.h"
#include "store/iov.h"

/* 64 MiB apart means the same lock; the table stays in the second-level cache. */
#define LOCK_GRANULES (16u << 10)
/* Copied under one lock: a word of the table. */
#define COPY_PIECE (32u << 10)
/* Freeing 32 MiB of small pages takes a millisecond or so. */
#define ZERO_STEP (32u << 20)
/* From here on unmapping pages is cheaper than clearing them, and frees the memory. */
#define ZERO_BY_UNMAPPING (64u << 10)
#define PAGE 4096u
/* A store as large as this does not live in a cache: what is written goes around it. */
#define AROUND_CACHE (256u << 20)

struct memory {
	struct store store;
	struct range_lock lock;
	struct volatile_identity identity;
	uint8_t *blocks;
	uint64_t mapped;
};

static struct memory *memory_of(struct store *s)
{
	return container_of(s, struct memory, store);
}

static uint64_t copy_piece(uint64_t offset, uint64_t left)
{
	uint64_t to_end = COPY_PIECE - offset % COPY_PIECE;

	return left < to_end ? left : to_end;
}

/* ---- transfers ----------------------------------------------------------------------------- */

/* One piece under its lock. False: a comparison found a difference. */
static bool piece_copy(struct memory *m, enum store_kind kind, struct iov_cursor *c,
		       uint64_t offset, size_t n)
{
	uint8_t *at = m->blocks + offset;
	struct range_claim claim;
	bool equal = true;

	range_lock_spin(&m->lock, &claim, offset, n, kind == STORE_WRITE);
	if (kind == STORE_READ)
		iov_scatter(c, at, n);
	else if (kind == STORE_WRITE && m->store.info.size >= AROUND_CACHE)
		iov_gather_away(c, at, n);
	else if (kind == STORE_WRITE)
		iov_gather(c, at, n);
	else
		equal = iov_equal(c, at, n);
	range_lock_unspin(&m->lock, &claim);
	return equal;
}

static int memory_copy(struct memory *m, struct store_op *op)
{
	struct iov_cursor c = iov_cursor(op->iov, op->niov);
	uint64_t done = 0;

	while (done < op->length) {
		uint64_t n = copy_piece(op->offset + done, op->length - done);

		if (!piece_copy(m, op->kind, &c, op->offset + done, n))
			return -EILSEQ;
		done += n;
	}
	return 0;
}

static int memory_compare_write(struct memory *m, struct store_op *op)
{
	struct iov_cursor c = iov_cursor(op->iov, op->niov);
	uint8_t *at = m->blocks + op->offset;
	struct range_claim claim;
	bool equal;

	if (op->length > STORE_FUSED_MAX)
		return -EOPNOTSUPP;
	range_lock_spin(&m->lock, &claim, op->offset, op->length, true);
	equal = iov_equal(&c, at, op->length);
	if (equal)
		iov_gather(&c, at, op->length);
	range_lock_unspin(&m->lock, &claim);
	return equal ? 0 : -EILSEQ;
}

static const void *memory_lend(struct store *s, struct store_loan *loan, uint64_t offset,
			       uint64_t length, bool wait)
{
	struct memory *m = memory_of(s);

	INVARIANT(length <= STORE_LOAN_MAX && range_within(offset, length, s->info.size));
	if (wait)
		range_lock_spin(&m->lock, &loan->claim, offset, length, false);
	else if (!range_lock_try(&m->lock, &loan->claim, offset, length, false))
		return NULL;
	return m->blocks + offset;
}

static void memory_take_back(struct store *s, struct store_loan *loan)
{
	range_lock_unspin(&memory_of(s)->lock, &loan->claim);
}

/* ---- discard and zero: for memory they are one thing --------------------------------------- */

static void zero_range(struct memory *m, uint64_t offset, uint64_t length)
{
	uint64_t start = ALIGN_UP(offset, PAGE);
	uint64_t end = ALIGN_DOWN(offset + length, PAGE);
	struct range_claim claim;

	range_lock_spin(&m->lock, &claim, offset, length, true);
	if (length < ZERO_BY_UNMAPPING || end <= start ||
	    madvise(m->blocks + start, end - start, MADV_DONTNEED) < 0) {
		memset(m->blocks + offset, 0, length);
	} else {
		memset(m->blocks + offset, 0, start - offset);
		memset(m->blocks + end, 0, offset + length - end);
	}
	range_lock_unspin(&m->lock, &claim);
}

/* One step from where priv[0] says. True: that was the last. */
static bool zero_step(struct memory *m, struct store_op *op)
{
	uint64_t n = MIN(op->length - op->priv[0], (uint64_t)ZERO_STEP);

	zero_range(m, op->offset + op->priv[0], n);
	op->priv[0] += n;
	return op->priv[0] == op->length;
}

/* A message and not io_complete(): what completes at once is called in the same turn. */
static void zero_next_turn(struct io_msg *msg)
{
	struct store_op *op = container_of(msg, struct store_op, msg);

	if (zero_step(memory_of(op->store), op))
		op->done(op);
	else
		io_post(op->loop, &op->msg);
}

static bool memory_zero(struct memory *m, struct io_loop *loop, struct store_op *op)
{
	op->priv[0] = 0;
	if (op->length == 0 || zero_step(m, op))
		return true;
	op->msg.fn = zero_next_turn;
	io_post(loop, &op->msg);
	return false;
}

/* ---- the store ----------------------------------------------------------------------------- */

static bool memory_modifies(enum store_kind kind)
{
	return kind == STORE_WRITE || kind == STORE_DISCARD || kind == STORE_ZERO ||
	       kind == STORE_COMPARE_WRITE;
}

static bool memory_submit(struct store *s, struct io_loop *loop, struct store_op *op)
{
	struct memory *m = memory_of(s);

	/* The caller checked; a range that is wrong all the same must not reach other memory. */
	INVARIANT(range_within(op->offset, op->length, s->info.size));
	op->result = 0;
	if (s->info.read_only && memory_modifies(op->kind)) {
		op->result = -EROFS;
		return true;
	}
	if (op->length == 0)
		return true;

	switch (op->kind) {
	case STORE_READ:
	case STORE_WRITE:
	case STORE_COMPARE:
		op->result = memory_copy(m, op);
		return true;
	case STORE_COMPARE_WRITE:
		op->result = memory_compare_write(m, op);
		return true;
	case STORE_DISCARD:
	case STORE_ZERO:
		return memory_zero(m, loop, op);
	case STORE_FLUSH:
	case STORE_VERIFY:
		return true;
	}
	op->result = -EOPNOTSUPP;
	return true;
}

static int memory_refresh(struct store *s)
{
	return 0;
}

static void memory_free(struct store *s)
{
	struct memory *m = memory_of(s);

	if (m->blocks)
		munmap(m->blocks, m->mapped);
	volatile_identity_drop(&m->identity);
	range_lock_deinit(&m->lock);
	mem_free(m);
}

static const struct store_ops memory_ops = {
	.name = "memory",
	.submit = memory_submit,
	.lend = memory_lend,
	.take_back = memory_take_back,
	.refresh = memory_refresh,
	.free = memory_free,
};

static int memory_map(struct memory *m, const struct store_spec *spec, struct err *err)
{
	char size[FORMAT_MAX];
	void *p;

	format_size(spec->size, size, sizeof(size));
	if (spec->size > SIZE_MAX - PAGE)
		return err_set(err, ENOMEM, "%s is more than there are addresses", size);
	m->mapped = ALIGN_UP(spec->size, PAGE);
	p = mmap(NULL, m->mapped, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return err_set(err, ENOMEM,
			       "no room for %s: the limit on address space (ulimit -v) or "
			       "vm.overcommit_memory=2 forbids it",
			       size);
	m->blocks = p;
	madvise(p, m->mapped, MADV_DONTDUMP);
	if (madvise(p, m->mapped, spec->huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) < 0 && spec->huge)
		return err_set(err, EINVAL, "huge=on: this kernel has no transparent huge pages");
	return 0;
}

int store_memory_new(const struct store_spec *spec, struct store **ret_store, struct err *err)
{
	struct memory *m = mem_zalloc(sizeof(*m));
	int r;

	if (!m)
		return err_set(err, ENOMEM, "no memory");
	m->store.ops = &memory_ops;
	m->store.info = (struct store_info){
		.size = spec->size,
		.block = spec->block,
		.align = 1,
		.read_only = spec->read_only,
		.can_discard = true,
		.in_memory = true,
		.kind = "memory",
	};
	format_size(spec->size, m->store.info.name, FORMAT_MAX);
	volatile_identity_take(&m->identity, &m->store.info, spec);
	r = memory_map(m, spec, err);
	if (r == 0 && range_lock_init(&m->lock, LOCK_GRANULES) < 0)
		r = err_set(err, ENOMEM, "no memory");
	if (r < 0) {
		memory_free(&m->store);
		return r;
	}
	*ret_store = &m->store;
	return 0;
}
