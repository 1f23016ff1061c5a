/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file store: opening, size. The operations themselves are in file-op.c and file-sync.c.
 *
 * Direct I/O is the default: what is written does not wait in memory we do not account for, and an
 * error belongs to the operation it happened to. With the page cache an error comes out at a flush,
 * to one caller, and the kernel then drops what it could not write and forgets (fsync(2), NOTES);
 * a second flush would succeed with the data gone. So without direct I/O a failed flush makes every
 * later one fail too, until the store is opened anew: a host is never told that lost data is safe.
 */
#include "store/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/util.h"
#include "store/identity.h"

/* Ranges 4 GiB apart share a lock; a megabyte, touched as it is used. */
#define LOCK_GRANULES (1u << 20)
#define SYNC_GRANULES 8 /* the least there can be; one is used */
#define BLOCK_MIN 512u
#define BLOCK_MAX 4096u

static struct file_store *file_of(struct store *s)
{
	return container_of(s, struct file_store, store);
}

/* ---- submit -------------------------------------------------------------------------------- */

static bool file_flush(struct file_store *f, struct store_op *op)
{
	op->result = file_sync_error(f);
	if (op->result < 0 || f->store.info.read_only)
		return true;
	file_sync_start(f, op);
	return false;
}

static bool modifies(enum store_kind kind)
{
	return kind == STORE_WRITE || kind == STORE_DISCARD || kind == STORE_ZERO ||
	       kind == STORE_COMPARE_WRITE;
}

static bool file_submit(struct store *s, struct io_loop *loop, struct store_op *op)
{
	struct file_store *f = file_of(s);

	if (op->kind == STORE_FLUSH)
		return file_flush(f, op);
	op->result = 0;
	if (s->info.read_only && modifies(op->kind))
		op->result = -EROFS;
	else if (op->kind == STORE_DISCARD && !s->info.can_discard)
		op->result = -EOPNOTSUPP;
	else if (op->kind == STORE_COMPARE_WRITE && op->length > STORE_FUSED_MAX)
		op->result = -EOPNOTSUPP;
	if (op->result < 0 || op->length == 0)
		return true;
	file_op_start(f, op);
	return false;
}

static int file_refresh(struct store *s)
{
	struct file_store *f = file_of(s);
	uint64_t size;
	int r;

	r = io_file_refresh(f->io);
	if (r < 0)
		return r;
	/* Somebody else may be in the middle of growing it: what is no whole block yet comes later. */
	size = ALIGN_DOWN(io_file_info(f->io)->size, s->info.block);
	if (size == s->info.size)
		return 0;
	__atomic_store_n(&s->info.size, size, __ATOMIC_RELAXED);
	return 1;
}

static void file_free(struct store *s)
{
	struct file_store *f = file_of(s);

	io_file_close(f->io);
	bounce_deinit(&f->bounce);
	range_lock_deinit(&f->lock);
	range_lock_deinit(&f->syncs);
	mem_free(f);
}

static const struct store_ops file_ops = {
	.name = "file",
	.submit = file_submit,
	.lend = store_lends_nothing,
	.take_back = store_takes_nothing,
	.refresh = file_refresh,
	.free = file_free,
};

/* ---- opening ------------------------------------------------------------------------------- */

static int open_io(struct io_loop *loop, const struct store_spec *spec, bool direct,
		   struct io_file **ret_io, struct err *err)
{
	struct io_file_options opts = {
		.read_only = spec->read_only,
		.direct = direct,
		.create = spec->size && spec->create != SPEC_OFF && !spec->read_only,
		.size = spec->size,
		.exclusive = spec->lock != SPEC_OFF && !spec->read_only,
	};

	return io_file_open(loop, spec->path, &opts, ret_io, err);
}

/* The logical block: what was asked for, or a block device's own, or what every host knows. */
static uint32_t choose_block(const struct store_spec *spec, const struct io_file_info *info)
{
	if (spec->block)
		return spec->block;
	return info->block_device && info->direct && info->dio_align > BLOCK_MIN ? BLOCK_MAX : BLOCK_MIN;
}

/* Opens by direct I/O, or not, whichever the specification wants and the file can do. */
static int open_file(struct file_store *f, struct io_loop *loop, const struct store_spec *spec,
		     struct err *err)
{
	const struct io_file_info *info;
	uint32_t block;
	int r = open_io(loop, spec, spec->direct != SPEC_OFF, &f->io, err);

	if (r < 0)
		return r;
	info = io_file_info(f->io);
	block = choose_block(spec, info);
	if (info->direct && info->dio_align > block) {
		if (spec->direct == SPEC_ON)
			return err_set(err, EINVAL,
				       "direct=on needs blocks of at least %u here, and they are %u",
				       info->dio_align, block);
		f->io = io_file_close(f->io);
		r = open_io(loop, spec, false, &f->io, err);
		if (r < 0)
			return r;
		info = io_file_info(f->io);
	}
	if (spec->direct == SPEC_ON && !info->direct)
		return err_set(err, EINVAL, "direct=on, and this file system has no direct I/O");
	f->direct = info->direct;
	f->align = info->direct ? info->dio_align : 1;
	f->store.info.block = block;
	return 0;
}

static int check_size(const struct file_store *f, const struct store_spec *spec, struct err *err)
{
	uint64_t size = io_file_info(f->io)->size;

	if (spec->size && size != spec->size)
		return err_set(err, EINVAL,
			       "the file has %" PRIu64 " bytes, and size= says %" PRIu64
			       "; leave size= out, or change the file with truncate(1)",
			       size, spec->size);
	if (size == 0)
		return err_set(err, EINVAL, "the file is empty; remove it and give size= to create one");
	if (size % f->store.info.block != 0)
		return err_set(err, EINVAL,
			       "the file has %" PRIu64 " bytes, no multiple of the block of %u", size,
			       f->store.info.block);
	return 0;
}

static void set_info(struct file_store *f, const struct store_spec *spec)
{
	const struct io_file_info *io = io_file_info(f->io);
	struct store_info *info = &f->store.info;

	info->size = io->size;
	info->align = f->align;
	info->read_only = spec->read_only;
	info->volatile_cache = io->volatile_cache && !spec->read_only;
	info->can_discard = io->can_discard && !spec->read_only;
	info->optimal = io->physical_block > info->block ? io->physical_block : 0;
	snprintf(info->kind, sizeof(info->kind), "file");
	snprintf(info->name, sizeof(info->name), "%.*s", (int)sizeof(info->name) - 1, spec->path);
	file_identity(info, spec, io);
}

int store_file_new(struct io_loop *loop, const struct store_spec *spec, struct store **ret_store,
		   struct err *err)
{
	struct file_store *f = mem_zalloc(sizeof(*f));
	int r;

	if (!f)
		return err_set(err, ENOMEM, "no memory");
	f->store.ops = &file_ops;
	atomic_init(&f->sync_error, 0);
	r = open_file(f, loop, spec, err);
	if (r == 0)
		r = check_size(f, spec, err);
	if (r == 0 && (bounce_init(&f->bounce) < 0 || range_lock_init(&f->lock, LOCK_GRANULES) < 0 ||
		       range_lock_init(&f->syncs, SYNC_GRANULES) < 0))
		r = err_set(err, ENOMEM, "no memory");
	if (r < 0) {
		file_free(&f->store);
		return r;
	}
	set_info(f, spec);
	*ret_store = &f->store;
	return 0;
}
