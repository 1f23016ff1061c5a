/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that loses power in the middle of writes: of a write of several blocks some first ones
 * land, whole, and the owner is told -EIO. What a host may assume then is only that each block is
 * old or new. Writes of one block are never torn, by definition, and pass; so do writes that come
 * while TORN_MAX others are being torn.
 */
#include <errno.h>
#include <pthread.h>

#include "base/alloc.h"
#include "base/pool.h"
#include "base/util.h"
#include "store/filter.h"
#include "store/iov.h"

#define TORN_MAX 64

struct torn {
	struct filter filter;
	pthread_mutex_t mutex;
	struct pool pool; /* of struct torn_op */
};

struct torn_op {
	struct store_op op; /* the part that lands */
	struct torn *torn;
	struct store_op *outer;
	struct iovec iov[IO_MAX_IOV];
};

static struct torn *torn_of(struct store *s)
{
	return container_of(container_of(s, struct filter, store), struct torn, filter);
}

static struct torn_op *torn_op_get(struct torn *t)
{
	struct torn_op *part;

	pthread_mutex_lock(&t->mutex);
	part = pool_get(&t->pool);
	pthread_mutex_unlock(&t->mutex);
	return part;
}

/* The owner's operation gets its result, the part goes back. */
static struct store_op *torn_finish(struct torn_op *part)
{
	struct torn *t = part->torn;
	struct store_op *outer = part->outer;

	outer->result = part->op.result < 0 ? part->op.result : -EIO;
	pthread_mutex_lock(&t->mutex);
	pool_put(&t->pool, part);
	pthread_mutex_unlock(&t->mutex);
	return outer;
}

static void torn_done(struct store_op *op)
{
	struct store_op *outer = torn_finish(container_of(op, struct torn_op, op));

	outer->done(outer);
}

/* Makes @part the first blocks of @op. At least one block, and not all. */
static void torn_cut(struct torn *t, struct torn_op *part, struct store_op *op)
{
	uint32_t block = t->filter.store.info.block;
	uint64_t blocks = 1 + filter_draw(&t->filter) % (op->length / block - 1);
	struct iov_cursor c = iov_cursor(op->iov, op->niov);
	uint64_t held = 0;
	int niov = 0;

	if (op->kind == STORE_WRITE) {
		niov = iov_window(&c, blocks * block, part->iov, IO_MAX_IOV, &held);
		if (held < blocks * block) {
			/* Too many vectors: what fits of them, in whole blocks, at the least nothing. */
			blocks = held / block;
			niov = iov_window(&c, blocks * block, part->iov, IO_MAX_IOV, &held);
		}
	}
	part->torn = t;
	part->outer = op;
	part->op = (struct store_op){
		.kind = op->kind,
		.flags = op->flags,
		.offset = op->offset,
		.length = blocks * block,
		.iov = part->iov,
		.niov = niov,
		.done = torn_done,
	};
}

static bool torn_submit(struct store *s, struct io_loop *loop, struct store_op *op)
{
	struct torn *t = torn_of(s);
	struct store *inner = t->filter.inner;
	struct torn_op *part = NULL;

	if ((op->kind == STORE_WRITE || op->kind == STORE_ZERO) && op->length > s->info.block &&
	    !s->info.read_only && filter_strikes(&t->filter))
		part = torn_op_get(t);
	if (!part)
		return store_submit(inner, loop, op);
	torn_cut(t, part, op);
	if (!store_submit(inner, loop, &part->op))
		return false;
	torn_finish(part);
	return true;
}

static void torn_free(struct store *s)
{
	struct torn *t = torn_of(s);

	store_free(t->filter.inner);
	pool_deinit(&t->pool);
	pthread_mutex_destroy(&t->mutex);
	mem_free(t);
}

static const struct store_ops torn_ops = {
	.name = "torn",
	.submit = torn_submit,
	.lend = store_lends_nothing,
	.take_back = store_takes_nothing,
	.refresh = filter_refresh,
	.free = torn_free,
};

int store_torn_new(struct io_loop *loop, const struct filter_spec *spec, struct store *inner,
		   struct store **ret_store, struct err *err)
{
	struct torn *t = mem_zalloc(sizeof(*t));

	if (!t || pool_init(&t->pool, sizeof(struct torn_op), TORN_MAX) < 0) {
		mem_free(t);
		return err_set(err, ENOMEM, "no memory");
	}
	pthread_mutex_init(&t->mutex, NULL);
	filter_init(&t->filter, &torn_ops, loop, spec, inner);
	*ret_store = &t->filter.store;
	return 0;
}
