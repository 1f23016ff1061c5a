/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making a file durable: Flush, and the end of a Write Zeroes with FUA.
 *
 * Without direct I/O a sync that fails may lose what others wrote, and the kernel tells one caller
 * only (fsync(2), NOTES): another sync that runs at the same time may well succeed. So one runs at a
 * time, the others wait for their turn, and once one has failed none succeeds any more (file.c). The
 * trade-off is a queue in front of something that the kernel does one at a time anyway.
 */
#include <errno.h>

#include "base/util.h"
#include "store/file.h"

static struct file_store *file_of(struct store_op *op)
{
	return container_of(op->store, struct file_store, store);
}

static void finish(struct file_store *f, struct store_op *op, int result)
{
	if (!f->direct)
		range_lock_release(&f->syncs, &op->claim);
	op->result = result;
	op->done(op);
}

static void sync_done(struct io_op *io)
{
	struct store_op *op = container_of(io, struct store_op, io);
	struct file_store *f = file_of(op);
	int error = file_error(io->result);

	if (error < 0 && error != -ECANCELED && error != -ENOMEM && !f->direct)
		atomic_store(&f->sync_error, -error);
	finish(f, op, error);
}

static void begin(struct file_store *f, struct store_op *op)
{
	io_op_init(&op->io, sync_done);
	io_file_sync(op->loop, f->io, &op->io);
}

/* Its turn has come; the one before may have failed. */
static void turn_message(struct io_msg *m)
{
	struct store_op *op = container_of(m, struct store_op, msg);
	struct file_store *f = file_of(op);
	int error = file_sync_error(f);

	if (error < 0)
		finish(f, op, error);
	else
		begin(f, op);
}

/* On whichever thread gave way. */
static void turn_granted(struct range_claim *c)
{
	struct store_op *op = container_of(c, struct store_op, claim);

	io_post(op->loop, &op->msg);
}

int file_sync_error(struct file_store *f)
{
	return -atomic_load(&f->sync_error);
}

void file_sync_start(struct file_store *f, struct store_op *op)
{
	op->claim.granted = turn_granted;
	op->msg.fn = turn_message;
	/* All of them claim the same granule. */
	if (f->direct || range_lock_claim(&f->syncs, &op->claim, 0, 1, true))
		begin(f, op);
}
