/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between a store and the seam, in one loop: counts what reaches the file, and fails or shortens
 * it. For tests only; one loop at a time.
 */
#ifndef PENSTOCK_STORE_TEST_HOOK_H
#define PENSTOCK_STORE_TEST_HOOK_H

#include "io/ops.h"
#include "store/test-rig.h"

struct hook {
	const struct io_ops *real;
	struct io_ops ops;
	unsigned int count[IO_OP_ZERO + 1]; /* by kind */
	unsigned int dsync;                 /* writes that were to be durable */
	/* what happens to the operations of a kind from now on */
	enum io_op_kind kind;
	int error;         /* they finish with this; 0: not */
	uint64_t at_most;  /* bytes they move; 0: all */
	struct iovec iov[64];
	unsigned int next_iov;
};

static struct hook hook;

static void hook_file_submit(struct io_loop *loop, struct io_file *f, struct io_op *op)
{
	hook.count[op->kind]++;
	hook.dsync += op->kind == IO_OP_WRITE && (op->flags & IO_FILE_DSYNC);
	if (op->kind == hook.kind && hook.error) {
		io_op_finish(op, hook.error);
		return;
	}
	if (op->kind == hook.kind && hook.at_most && op->niov && op->iov[0].iov_len > hook.at_most) {
		struct iovec *iov = &hook.iov[hook.next_iov++ % ARRAY_SIZE(hook.iov)];

		*iov = (struct iovec){ op->iov[0].iov_base, hook.at_most };
		op->iov = iov;
		op->niov = 1;
		op->length = hook.at_most;
	}
	hook.real->file_submit(loop, f, op);
}

/* For the rest of the loop's life: its threads look at its table, so it cannot be taken back. */
UNUSED static void hook_in(struct io_loop *loop)
{
	hook = (struct hook){ .real = loop->ops, .ops = *loop->ops };
	hook.ops.file_submit = hook_file_submit;
	loop->ops = &hook.ops;
}

/* Counts from 0, and nothing happens to anything. */
UNUSED static void hook_reset(void)
{
	memset(hook.count, 0, sizeof(hook.count));
	hook.dsync = 0;
	hook.kind = IO_OP_NONE;
}

/* Operations of @kind fail with @error, or move at most @at_most bytes, until further notice. */
UNUSED static void hook_set(enum io_op_kind kind, int error, uint64_t at_most)
{
	hook.kind = kind;
	hook.error = error;
	hook.at_most = at_most;
}

#endif
