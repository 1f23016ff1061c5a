/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file or block device of this machine as a volume. Direct I/O where the file system has it and
 * the file's size is whole blocks; memory that is not aligned for it goes through a bounce buffer
 * of a small pool, whose emptiness is a wait and never an allocation.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "volume/backend.h"

enum {
	TRANSFER_MAX = 1 << 20, /* of one operation: a bounce buffer's size */
	BOUNCES = 8,
};
#define DISCARD_MAX (UINT64_C(1) << 30) /* so that one operation does not take for ever */

struct file {
	struct backend b;
	struct io_file *file;
	struct mem_staging *bounces;
};

static struct file *file_of(struct backend *b)
{
	return container_of(b, struct file, b);
}

static void finish(struct backend_cmd *c, int error)
{
	struct file *f = file_of(c->backend);

	c->error = error;
	c->last_ns = io_now(f->b.loop);
	if (c->bounce) {
		void *bounce = c->bounce;

		c->bounce = NULL;
		if (c->kind == BACKEND_READ && !error) {
			uint8_t *at = bounce;

			for (int i = 0; i < c->niov; i++) {
				memcpy(c->iov[i].iov_base, at, c->iov[i].iov_len);
				at += c->iov[i].iov_len;
			}
		}
		mem_staging_put(f->bounces, bounce);
	}
	c->done(c);
}

static void move(struct file *f, struct backend_cmd *c);

static void moved(struct io_op *op)
{
	struct backend_cmd *c = container_of(op, struct backend_cmd, op);

	if (op->result < 0) {
		finish(c, (int)op->result);
		return;
	}
	c->moved += (uint64_t)op->result;
	if (c->moved == c->length)
		finish(c, 0);
	else if (op->result == 0)
		finish(c, -EIO); /* the file has been cut short since it was opened */
	else
		move(file_of(c->backend), c);
}

/* What is left of the command's memory after @skip bytes. */
static int rest(const struct backend_cmd *c, struct iovec *out)
{
	uint64_t skip = c->moved;
	int n = 0;

	if (c->bounce) {
		out[0] = (struct iovec){ (uint8_t *)c->bounce + skip, c->length - skip };
		return 1;
	}
	for (int i = 0; i < c->niov; i++) {
		uint64_t len = c->iov[i].iov_len, cut = MIN(skip, len);

		skip -= cut;
		if (len > cut)
			out[n++] = (struct iovec){ (uint8_t *)c->iov[i].iov_base + cut, len - cut };
	}
	return n;
}

static void move(struct file *f, struct backend_cmd *c)
{
	int n = rest(c, c->vec);

	io_op_init(&c->op, moved);
	if (c->kind == BACKEND_READ)
		io_file_read(f->b.loop, f->file, &c->op, c->vec, n, c->offset + c->moved);
	else
		io_file_write(f->b.loop, f->file, &c->op, c->vec, n, c->offset + c->moved, 0);
}

static void begin_bounced(struct file *f, struct backend_cmd *c, void *bounce)
{
	uint8_t *at = bounce;

	c->bounce = bounce;
	for (int i = 0; c->kind == BACKEND_WRITE && i < c->niov; i++) {
		memcpy(at, c->iov[i].iov_base, c->iov[i].iov_len);
		at += c->iov[i].iov_len;
	}
	move(f, c);
}

static void bounce_came(struct mem_staging_wait *w, void *bounce)
{
	struct backend_cmd *c = container_of(w, struct backend_cmd, wait);

	begin_bounced(file_of(c->backend), c, bounce);
}

static bool aligned(const struct file *f, const struct backend_cmd *c)
{
	uint32_t align = io_file_info(f->file)->dio_align;

	for (int i = 0; i < c->niov; i++) {
		if ((uintptr_t)c->iov[i].iov_base % align != 0 || c->iov[i].iov_len % align != 0)
			return false;
	}
	return true;
}

static void done(struct io_op *op)
{
	struct backend_cmd *c = container_of(op, struct backend_cmd, op);

	finish(c, (int)op->result);
}

static void submit(struct backend *b, struct backend_cmd *c)
{
	struct file *f = file_of(b);
	void *bounce;

	c->backend = b;
	c->bounce = NULL;
	c->moved = 0;
	c->sent_ns = io_now_precise(b->loop);
	io_op_init(&c->op, done);
	switch (c->kind) {
	case BACKEND_READ:
	case BACKEND_WRITE:
		if (aligned(f, c)) {
			move(f, c);
			break;
		}
		bounce = mem_staging_get(f->bounces);
		if (bounce) {
			begin_bounced(f, c, bounce);
		} else {
			mem_staging_wait_init(&c->wait, bounce_came);
			mem_staging_wait(f->bounces, &c->wait);
		}
		break;
	case BACKEND_FLUSH:
		io_file_sync(b->loop, f->file, &c->op);
		break;
	case BACKEND_DISCARD:
		io_file_discard(b->loop, f->file, &c->op, c->offset, c->length);
		break;
	case BACKEND_ZERO:
		io_file_zero(b->loop, f->file, &c->op, c->offset, c->length, false);
		break;
	}
}

static void describe(struct backend *b, struct pst_volume_info *ret_info)
{
	const struct io_file_info *i = io_file_info(file_of(b)->file);

	memcpy(ret_info->transport, "file", 5);
	memcpy(ret_info->uuid, &i->device, sizeof(i->device));
	memcpy(ret_info->uuid + 8, &i->inode, sizeof(i->inode));
}

static void stats(struct backend *b, struct pst_volume_stats *s)
{
}

static void file_free(struct file *f)
{
	if (f->file)
		io_file_close(f->file);
	mem_staging_free(f->bounces);
	mem_free(f);
}

static void close_file(struct backend *b, void (*closed)(void *arg), void *arg)
{
	file_free(file_of(b));
	closed(arg);
}

static const struct backend_ops file_ops = {
	.name = "file",
	.submit = submit,
	.describe = describe,
	.stats = stats,
	.close = close_file,
};

static int file_open(struct file *f, const struct backend_options *o, struct err *err)
{
	struct io_file_options fo = { .read_only = o->read_only,
				      .direct = o->uri->has_direct ? o->uri->direct : true };
	const struct io_file_info *i;
	int rc = io_file_open(f->b.loop, o->uri->path, &fo, &f->file, err);

	if (rc < 0)
		return rc;
	i = io_file_info(f->file);
	/* The last block of such a file is not whole: direct I/O cannot write it, nor should it grow. */
	if (i->direct && i->size % i->dio_align != 0) {
		fo.direct = false;
		f->file = io_file_close(f->file);
		rc = io_file_open(f->b.loop, o->uri->path, &fo, &f->file, err);
		if (rc < 0)
			return rc;
		i = io_file_info(f->file);
	}
	rc = mem_staging_new(NULL, TRANSFER_MAX, BOUNCES, &f->bounces, err);
	f->b.info = (struct backend_info){
		.size = i->size,
		.block = i->direct ? i->dio_align : 1,
		.max_transfer = TRANSFER_MAX,
		.optimal = TRANSFER_MAX,
		.max_discard = DISCARD_MAX,
		.queues = o->queues,
		.depth = o->queues * o->depth,
		.read_only = o->read_only,
		.volatile_cache = i->volatile_cache,
	};
	return rc;
}

void backend_file_open(struct io_loop *loop, const struct backend_options *o, backend_opened_fn fn,
		       void *arg)
{
	struct file *f = mem_zalloc(sizeof(*f));
	struct err err = ERR_NULL;
	int rc;

	if (!f) {
		err_set(&err, ENOMEM, "out of memory");
		fn(arg, NULL, &err);
		return;
	}
	f->b.ops = &file_ops;
	f->b.loop = loop;
	rc = file_open(f, o, &err);
	if (rc < 0) {
		file_free(f);
		fn(arg, NULL, &err);
		return;
	}
	fn(arg, &f->b, NULL);
}
