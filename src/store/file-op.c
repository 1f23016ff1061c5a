/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One operation on a file, from claim to done. It goes in pieces of up to 256 MiB, for each of
 * which it claims the blocks (range-lock.h), moves them, and gives them up; blocks are whole at
 * each moment because no piece ends inside one. A piece moves in one of three ways:
 *
 *	transfer   between the file and the owner's memory, going on after short results
 *	bounce     through a piece of aligned memory, where the owner's is unaligned or there is none
 *	range      discard and zero, which move nothing
 *
 * Every wait (a claim, a bounce piece) ends in a message to the operation's own loop. State is in
 * the operation: priv[DONE] bytes finished, priv[END] where the present piece ends, priv[STEP]
 * bytes of the present bounce step that went through. All count from op->offset.
 */
#include "store/file.h"

#include <errno.h>

#include "base/util.h"
#include "store/iov.h"

enum { DONE, END, STEP };
enum { PHASE_COMPARE, PHASE_WRITE }; /* of STORE_COMPARE_WRITE */

#define PIECE_MAX (UINT64_C(256) << 20)
_Static_assert(STORE_FUSED_MAX <= PIECE_MAX, "compare and write is one claim");

static void next_piece(struct file_store *f, struct store_op *op);
static void bounce_transfer(struct file_store *f, struct store_op *op);

static struct store_op *op_of(struct io_op *io)
{
	return container_of(io, struct store_op, io);
}

static struct file_store *file_of(struct store_op *op)
{
	return container_of(op->store, struct file_store, store);
}

int file_error(int64_t result)
{
	switch (result < 0 ? (int)-result : 0) {
	case 0:
		return 0;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return -ENOSPC;
	case EROFS:
	case EOPNOTSUPP:
	case ENOMEM:
	case ECANCELED:
		return (int)result;
	default:
		/* ENODATA, EREMOTEIO, EILSEQ, ENXIO and the like: the medium or the way to it. */
		return -EIO;
	}
}

static void finish(struct file_store *f, struct store_op *op, int result)
{
	bounce_put(&f->bounce, op);
	range_lock_release(&f->lock, &op->claim);
	op->result = result;
	op->done(op);
}

/* All of the piece is moved. */
static void piece_over(struct file_store *f, struct store_op *op)
{
	if (op->priv[DONE] < op->length) {
		/* Who holds a bounce piece must not wait for a claim (bounce.h). */
		bounce_put(&f->bounce, op);
		range_lock_release(&f->lock, &op->claim);
		next_piece(f, op);
	} else if (op->kind == STORE_ZERO && (op->flags & STORE_FUA) && file_sync_error(f) == 0) {
		/* Zeroed, and nobody's business any more: what is left concerns the whole file. */
		range_lock_release(&f->lock, &op->claim);
		file_sync_start(f, op);
	} else if (op->kind == STORE_ZERO && (op->flags & STORE_FUA)) {
		finish(f, op, file_sync_error(f));
	} else {
		finish(f, op, 0);
	}
}

/*
 * How far a result brings us, with @left still to go: 0 if nowhere. The end of the file (it was cut
 * short under us) is nowhere; and direct I/O has to go on from where it may start.
 */
static uint64_t progress(const struct file_store *f, int64_t result, uint64_t left)
{
	uint64_t n = result < 0 ? 0 : (uint64_t)result;

	INVARIANT(n <= left);
	return n == left ? n : ALIGN_DOWN(n, f->align);
}

/* The result of an operation whose transfer ended with @result and brought us nowhere. */
static int stuck(int64_t result)
{
	return result < 0 ? file_error(result) : -EIO;
}

/* ---- transfer ------------------------------------------------------------------------------ */

static void transfer_next(struct file_store *f, struct store_op *op)
{
	struct iov_cursor c = iov_cursor(op->iov, op->niov);
	uint64_t at = op->offset + op->priv[DONE];
	const struct iovec *iov = op->iov;
	uint64_t bytes = op->length;
	int niov = op->niov;

	if (op->priv[DONE] > 0 || op->priv[END] < op->length || niov > IO_MAX_IOV) {
		iov_skip(&c, op->priv[DONE]);
		niov = iov_window(&c, op->priv[END] - op->priv[DONE], op->vec, ARRAY_SIZE(op->vec),
				  &bytes);
		iov = op->vec;
	}
	op->priv[STEP] = bytes;
	if (op->kind == STORE_READ)
		io_file_read(op->loop, f->io, &op->io, iov, niov, at);
	else
		io_file_write(op->loop, f->io, &op->io, iov, niov, at,
			      op->flags & STORE_FUA ? IO_FILE_DSYNC : 0);
}

static void transfer_done(struct io_op *io)
{
	struct store_op *op = op_of(io);
	struct file_store *f = file_of(op);
	uint64_t n = progress(f, io->result, op->priv[STEP]);

	op->priv[DONE] += n;
	if (n == 0)
		finish(f, op, stuck(io->result));
	else if (op->priv[DONE] < op->priv[END])
		transfer_next(f, op);
	else
		piece_over(f, op);
}

/* ---- bounce -------------------------------------------------------------------------------- */

static bool bounce_writes(const struct store_op *op)
{
	return op->kind == STORE_WRITE ||
	       (op->kind == STORE_COMPARE_WRITE && op->phase == PHASE_WRITE);
}

static size_t step_length(const struct store_op *op)
{
	return MIN(op->priv[END] - op->priv[DONE], (uint64_t)BOUNCE_PIECE);
}

/* The owner's memory that belongs to the present step. */
static struct iov_cursor step_memory(const struct store_op *op)
{
	struct iov_cursor c = iov_cursor(op->iov, op->niov);
	bool second = op->kind == STORE_COMPARE_WRITE && op->phase == PHASE_WRITE;

	iov_skip(&c, op->priv[DONE] + (second ? op->length : 0));
	return c;
}

static void bounce_next(struct file_store *f, struct store_op *op)
{
	if (bounce_writes(op)) {
		struct iov_cursor c = step_memory(op);

		iov_gather(&c, op->bounce, step_length(op));
	}
	op->priv[STEP] = 0;
	bounce_transfer(f, op);
}

static void bounce_transfer(struct file_store *f, struct store_op *op)
{
	uint64_t at = op->offset + op->priv[DONE] + op->priv[STEP];

	op->vec[0].iov_base = (uint8_t *)op->bounce + op->priv[STEP];
	op->vec[0].iov_len = step_length(op) - op->priv[STEP];
	if (bounce_writes(op))
		io_file_write(op->loop, f->io, &op->io, op->vec, 1, at,
			      op->flags & STORE_FUA ? IO_FILE_DSYNC : 0);
	else
		io_file_read(op->loop, f->io, &op->io, op->vec, 1, at);
}

/* What was read goes where it belongs. False: it is not what was expected. */
static bool step_deliver(struct store_op *op)
{
	struct iov_cursor c;

	if (op->kind == STORE_VERIFY || bounce_writes(op))
		return true;
	c = step_memory(op);
	if (op->kind != STORE_READ)
		return iov_equal(&c, op->bounce, step_length(op));
	iov_scatter(&c, op->bounce, step_length(op));
	return true;
}

static void step_over(struct file_store *f, struct store_op *op)
{
	if (!step_deliver(op)) {
		finish(f, op, -EILSEQ);
		return;
	}
	op->priv[DONE] += step_length(op);
	if (op->priv[DONE] < op->priv[END]) {
		bounce_next(f, op);
	} else if (op->kind == STORE_COMPARE_WRITE && op->phase == PHASE_COMPARE) {
		op->phase = PHASE_WRITE;
		op->priv[DONE] = 0;
		bounce_next(f, op);
	} else {
		piece_over(f, op);
	}
}

static void bounce_done(struct io_op *io)
{
	struct store_op *op = op_of(io);
	struct file_store *f = file_of(op);
	uint64_t n = progress(f, io->result, step_length(op) - op->priv[STEP]);

	op->priv[STEP] += n;
	if (n == 0)
		finish(f, op, stuck(io->result));
	else if (op->priv[STEP] < step_length(op))
		bounce_transfer(f, op);
	else
		step_over(f, op);
}

static void bounce_granted(struct io_msg *m)
{
	struct store_op *op = container_of(m, struct store_op, msg);

	bounce_next(file_of(op), op);
}

/* ---- range --------------------------------------------------------------------------------- */

static void range_done(struct io_op *io)
{
	struct store_op *op = op_of(io);
	struct file_store *f = file_of(op);

	if (io->result < 0) {
		finish(f, op, file_error(io->result));
		return;
	}
	op->priv[DONE] = op->priv[END];
	piece_over(f, op);
}

static void range_start(struct file_store *f, struct store_op *op)
{
	uint64_t at = op->offset + op->priv[DONE];
	uint64_t n = op->priv[END] - op->priv[DONE];

	op->io.done = range_done;
	if (op->kind == STORE_DISCARD)
		io_file_discard(op->loop, f->io, &op->io, at, n);
	else
		io_file_zero(op->loop, f->io, &op->io, at, n, op->flags & STORE_KEEP);
}

/* ---- pieces -------------------------------------------------------------------------------- */

/* The claim on the piece is held. */
static void piece_start(struct file_store *f, struct store_op *op)
{
	bool transfers = op->kind == STORE_READ || op->kind == STORE_WRITE;

	if (op->kind == STORE_DISCARD || op->kind == STORE_ZERO) {
		range_start(f, op);
	} else if (transfers && iov_aligned(op->iov, op->niov, f->align)) {
		op->io.done = transfer_done;
		transfer_next(f, op);
	} else {
		op->io.done = bounce_done;
		op->msg.fn = bounce_granted;
		if (bounce_get(&f->bounce, op))
			bounce_next(f, op);
	}
}

static void claim_message(struct io_msg *m)
{
	struct store_op *op = container_of(m, struct store_op, msg);

	piece_start(file_of(op), op);
}

/* On whichever thread gave way. */
static void claim_granted(struct range_claim *c)
{
	struct store_op *op = container_of(c, struct store_op, claim);

	io_post(op->loop, &op->msg);
}

static void next_piece(struct file_store *f, struct store_op *op)
{
	uint64_t n = MIN(op->length - op->priv[DONE], PIECE_MAX);
	bool shared = op->kind == STORE_READ || op->kind == STORE_COMPARE || op->kind == STORE_VERIFY;

	op->priv[END] = op->priv[DONE] + n;
	op->msg.fn = claim_message;
	if (range_lock_claim(&f->lock, &op->claim, op->offset + op->priv[DONE], n, !shared))
		piece_start(f, op);
}

static bool has_memory(enum store_kind kind)
{
	return kind == STORE_READ || kind == STORE_WRITE || kind == STORE_COMPARE ||
	       kind == STORE_COMPARE_WRITE;
}

void file_op_start(struct file_store *f, struct store_op *op)
{
	uint64_t times = op->kind == STORE_COMPARE_WRITE ? 2 : 1;

	/* A transfer hands the whole array on: more than length would touch other blocks. */
	INVARIANT(!has_memory(op->kind) || iov_length(op->iov, op->niov) == op->length * times);
	io_op_init(&op->io, NULL);
	op->bounce = NULL;
	op->phase = PHASE_COMPARE;
	op->priv[DONE] = 0;
	op->claim.granted = claim_granted;
	next_piece(f, op);
}
