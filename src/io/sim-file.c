/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on files. Each has a time of its own and its effect at the end of it, so operations
 * in flight overtake each other freely; a split one has its effect in two steps, cut where a
 * kernel might (at a page, or a sector if that is larger), and a short one ends there. What had an
 * effect is not cancelled any more:
 * -ECANCELED here means that nothing happened, which is what a fence may rely on.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/util.h"
#include "io/sim-impl.h"

#define SPLIT_AT 4096
#define FILE_MAX (UINT64_C(1) << 50)

struct sim_handle {
	struct io_file base;
	struct sim_file *file;
	struct sim_node *node;
	uint32_t epoch;
	bool read_only;
	bool locks;
};

static struct sim_handle *handle_of(struct io_file *f)
{
	return container_of(f, struct sim_handle, base);
}

static bool handle_dead(const struct sim_handle *h)
{
	return h->epoch != h->node->epoch;
}

/* ---- effects --------------------------------------------------------------------------------- */

static bool writes(const struct io_op *op)
{
	return op->kind == IO_OP_WRITE || op->kind == IO_OP_DISCARD || op->kind == IO_OP_ZERO;
}

static enum sim_what what_of(const struct io_op *op)
{
	switch (op->kind) {
	case IO_OP_READ:
		return SIM_DID_READ;
	case IO_OP_WRITE:
		return SIM_DID_WRITE;
	case IO_OP_DISCARD:
		return SIM_DID_DISCARD;
	case IO_OP_ZERO:
		return SIM_DID_ZERO;
	default:
		return SIM_DID_SYNC;
	}
}

/* Has the effect on bytes [from, to) of the operation. */
static void move(struct io_op *op, uint64_t from, uint64_t to)
{
	struct sim_handle *h = handle_of(op->obj);
	bool durable = op->kind == IO_OP_WRITE && (op->flags & IO_FILE_DSYNC);
	struct sim_cursor c = { 0 };
	uint32_t crc;

	if (op->kind == IO_OP_READ || op->kind == IO_OP_WRITE)
		sim_cursor_init(&c, op->iov, op->niov, from);
	if (op->kind == IO_OP_READ)
		crc = sim_disk_read(h->file, &c, op->offset + from, to - from);
	else
		crc = sim_disk_write(h->file, &c, op->offset + from, to - from, durable);
	sim_did(h->node->sim, what_of(op), h->node, h->file->id, op->offset + from,
		(to - from) << 32 | crc);
}

/* Bytes the operation can move: reads, discards and zeroes end with the file. */
static uint64_t reach(const struct io_op *op, const struct sim_file *f)
{
	if (op->kind == IO_OP_WRITE)
		return op->length;
	return op->offset < f->size ? MIN(op->length, f->size - op->offset) : 0;
}

/* A place to cut [0, n) of the operation at, not at its ends; 0: there is none. */
static uint64_t cut(const struct io_op *op, const struct sim_file *f, uint64_t n, uint64_t align)
{
	uint64_t first = ALIGN_DOWN(op->offset, align) / align + 1;
	uint64_t last = (op->offset + n - 1) / align;

	if (n == 0 || last < first)
		return 0;
	return rng_between(&f->node->sim->rng, first, last) * align - op->offset;
}

/* Of a write that failed, a part may have landed. */
static void land_part(struct io_op *op)
{
	struct sim_file *f = handle_of(op->obj)->file;
	uint64_t done = op->impl[SIM_OP_AUX], n = reach(op, f);
	uint64_t upto;

	if (!writes(op) || !sim_coin(f->node->sim))
		return;
	upto = sim_coin(f->node->sim) ? cut(op, f, n, f->sector) : n;
	if (upto > done)
		move(op, done, upto);
}

static int64_t write_fault(struct sim *sim, struct sim_handle *h, struct io_op *op)
{
	if (sim_fault(sim, SIM_FILE_WRITE, h->node))
		return -EIO;
	if (op->kind != IO_OP_WRITE)
		return 0;
	if (h->node->disk_full && !sim_disk_allocated(h->file, op->offset, op->length))
		return -ENOSPC;
	return sim_fault(sim, SIM_FILE_SPACE, h->node) ? -ENOSPC : 0;
}

static int64_t read_fault(struct sim *sim, struct sim_handle *h, struct io_op *op)
{
	if (op->length > 0 && sim_fault(sim, SIM_FILE_BAD, h->node))
		sim_disk_set_bad(h->file, op->offset, MIN(op->length, (uint64_t)h->file->sector));
	if (sim_disk_is_bad(h->file, op->offset, op->length) ||
	    sim_fault(sim, SIM_FILE_READ, h->node))
		return -EIO;
	return 0;
}

static void sync_fire(struct sim *sim, struct sim_handle *h, struct io_op *op)
{
	if (sim_fault(sim, SIM_FILE_SYNC, h->node)) {
		if (!h->base.info.direct && sim_coin(sim))
			sim_disk_forget(h->file, op->impl[SIM_OP_MARK]);
		sim_op_end(op, -EIO);
		return;
	}
	sim_disk_sync(h->file, op->impl[SIM_OP_MARK]);
	sim_did(sim, SIM_DID_SYNC, h->node, h->file->id, op->impl[SIM_OP_MARK], 0);
	sim_op_end(op, 0);
}

static uint64_t file_delay(struct sim *sim, const struct sim_handle *h)
{
	uint64_t ns = rng_between(&sim->rng, sim->config.disk_min_ns, sim->config.disk_max_ns);

	if (sim_fault(sim, SIM_FILE_SLOW, h->node))
		ns += rng_below(&sim->rng, sim->config.slow_max_ns + 1);
	return ns;
}

static void file_fire(struct sim *sim, void *obj, uint64_t arg)
{
	struct io_op *op = obj;
	struct sim_handle *h = handle_of(op->obj);
	uint64_t done = op->impl[SIM_OP_AUX], n = reach(op, h->file), at;
	int64_t error;

	op->impl[SIM_OP_EVENT] = 0;
	if (op->kind == IO_OP_SYNC) {
		sync_fire(sim, h, op);
		return;
	}
	error = writes(op) ? write_fault(sim, h, op) : read_fault(sim, h, op);
	if (error) {
		land_part(op);
		sim_op_end(op, error);
		return;
	}
	at = done ? 0 : cut(op, h->file, n, MAX((uint64_t)h->file->sector, (uint64_t)SPLIT_AT));
	if (at && sim_fault(sim, SIM_FILE_SPLIT, h->node)) {
		move(op, 0, at);
		op->impl[SIM_OP_AUX] = at;
		sim_op_schedule(op, file_delay(sim, h), file_fire);
		return;
	}
	if (at && (op->kind == IO_OP_READ || op->kind == IO_OP_WRITE) &&
	    sim_fault(sim, SIM_FILE_SHORT, h->node))
		n = at;
	if (n > done)
		move(op, done, n);
	sim_op_end(op, op->kind == IO_OP_READ || op->kind == IO_OP_WRITE ? (int64_t)n : 0);
}

/* ---- submitting ------------------------------------------------------------------------------ */

/* As O_DIRECT: offset, length and memory. */
static bool misaligned(const struct sim_handle *h, const struct io_op *op)
{
	uint64_t align = h->base.info.dio_align;
	uint64_t bits = op->offset | op->length;

	for (int i = 0; i < op->niov; i++)
		bits |= (uintptr_t)op->iov[i].iov_base | op->iov[i].iov_len;
	return h->base.info.direct && bits % align != 0;
}

static int refusal(const struct sim_handle *h, const struct io_op *op)
{
	uint64_t end;

	if (handle_dead(h) || sim_loop_dead(sim_loop_of(op->loop)))
		return -ECANCELED;
	if (op->kind == IO_OP_SYNC)
		return 0;
	if (!u64_add(op->offset, op->length, &end) || end > FILE_MAX)
		return -EINVAL;
	if (writes(op) && h->read_only)
		return -EBADF;
	if (op->kind == IO_OP_DISCARD && !h->base.info.can_discard)
		return -EOPNOTSUPP;
	if ((op->kind == IO_OP_READ || op->kind == IO_OP_WRITE) && misaligned(h, op))
		return -EINVAL;
	return 0;
}

void sim_file_submit(struct io_loop *loop, struct io_file *f, struct io_op *op)
{
	struct sim_handle *h = handle_of(f);
	int r;

	INVARIANT(h->node == sim_loop_of(loop)->node);
	sim_op_begin(op);
	r = refusal(h, op);
	if (r < 0) {
		sim_op_end(op, r);
		return;
	}
	op->impl[SIM_OP_MARK] = h->file->seq;
	sim_op_schedule(op, file_delay(h->node->sim, h), file_fire);
}

void sim_file_cancel(struct io_op *op)
{
	struct sim *sim = sim_loop_of(op->loop)->node->sim;

	if (op->impl[SIM_OP_CANCELLED] || op->impl[SIM_OP_AUX] || sim_coin(sim))
		return;
	sim_op_end_cancelled(op);
}

void sim_file_crash(struct io_op *op, enum sim_crash how)
{
	struct sim_file *f = handle_of(op->obj)->file;
	uint64_t n = reach(op, f), done = op->impl[SIM_OP_AUX];

	if (op->impl[SIM_OP_CANCELLED])
		return;
	if (op->kind == IO_OP_SYNC) {
		if (sim_coin(f->node->sim))
			sim_disk_sync(f, op->impl[SIM_OP_MARK]);
		return;
	}
	if (!writes(op))
		return;
	if (how == SIM_CRASH_POWER)
		land_part(op);
	else if (n > done && sim_coin(f->node->sim))
		move(op, done, n);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int handle_refresh(struct io_file *f)
{
	f->info.size = handle_of(f)->file->size;
	return 0;
}

static void handle_close(struct io_file *f)
{
	struct sim_handle *h = handle_of(f);

	if (h->locks && !handle_dead(h))
		h->file->locked = false;
	free(h);
}

static const struct io_file_ops file_ops = {
	.refresh = handle_refresh,
	.close = handle_close,
};

static int find_or_create(struct sim_node *node, const char *path,
			  const struct io_file_options *opts, struct sim_file **ret_file,
			  struct err *err)
{
	struct sim_file *f = sim_disk_find(node, path);

	if (!f && !opts->create)
		return err_set(err, ENOENT, "%s: no such file on %s", path, node->name);
	if (!f && (opts->read_only || opts->size > FILE_MAX))
		return err_set(err, EINVAL, "%s: cannot be created like this", path);
	if (!f)
		f = sim_disk_create(node, path, opts->size);
	/* A lock ends with its process. */
	if (opts->exclusive && f->locked && f->lock_epoch == node->epoch)
		return err_set(err, EBUSY, "%s: in use by another process", path);
	*ret_file = f;
	return 0;
}

int sim_file_open(struct io_loop *loop, const char *path, const struct io_file_options *opts,
		  struct io_file **ret_file, struct err *err)
{
	static const struct io_file_options defaults;
	struct sim_loop *sl = sim_loop_of(loop);
	const struct sim_config *config = &sl->node->sim->config;
	struct sim_file *f = NULL;
	struct sim_handle *h;
	int r;

	if (!opts)
		opts = &defaults;
	if (sim_loop_dead(sl))
		return err_set(err, EIO, "%s: the node crashed", path);
	r = find_or_create(sl->node, path, opts, &f, err);
	if (r < 0)
		return r;
	if (opts->exclusive) {
		f->locked = true;
		f->lock_epoch = sl->node->epoch;
	}
	h = sim_xalloc(sizeof(*h));
	h->base.ops = &file_ops;
	h->file = f;
	h->node = sl->node;
	h->epoch = sl->epoch;
	h->read_only = opts->read_only;
	h->locks = opts->exclusive;
	h->base.info = (struct io_file_info){
		.size = f->size,
		.direct = opts->direct && config->disk_direct,
		.dio_align = opts->direct && config->disk_direct ? f->sector : 1,
		.can_discard = config->disk_discard,
		.volatile_cache = config->disk_cache,
		.physical_block = f->sector,
		.device = sl->node->id,
		.inode = f->id,
		.birth_ns = f->birth_ns,
	};
	sim_did(sl->node->sim, SIM_DID_OPEN, sl->node, f->id, f->size, 0);
	*ret_file = &h->base;
	return 0;
}
