/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slow store: operations wait, and then are as they would have been. Waiting comes first and not
 * last, so that an operation of a connection that died in the meantime is still going to land: what
 * a fence has to hold against. Any number may wait; the timer is in the operation.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/util.h"
#include "store/filter.h"

static struct filter *filter_of(struct store *s)
{
	return container_of(s, struct filter, store);
}

static void delay_over(struct io_timer *t)
{
	struct store_op *op = container_of(t, struct store_op, timer);
	struct filter *f = filter_of(op->store);

	if (store_submit(f->inner, op->loop, op))
		op->done(op);
}

static bool delay_submit(struct store *s, struct io_loop *loop, struct store_op *op)
{
	struct filter *f = filter_of(s);
	uint64_t ns = f->spec.delay_ns;
	int r;

	if (!filter_applies(f, op))
		return store_submit(f->inner, loop, op);
	if (f->spec.jitter_ns)
		ns = u64_add_saturated(ns, filter_draw(f) % f->spec.jitter_ns);
	io_timer_init(&op->timer, delay_over);
	r = io_timer_start(loop, &op->timer, ns);
	if (r == 0)
		return false;
	op->result = r;
	return true;
}

static void delay_free(struct store *s)
{
	struct filter *f = filter_of(s);

	store_free(f->inner);
	mem_free(f);
}

static const struct store_ops delay_ops = {
	.name = "delay",
	.submit = delay_submit,
	.lend = store_lends_nothing,
	.take_back = store_takes_nothing,
	.refresh = filter_refresh,
	.free = delay_free,
};

int store_delay_new(struct io_loop *loop, const struct filter_spec *spec, struct store *inner,
		    struct store **ret_store, struct err *err)
{
	struct filter *f = mem_zalloc(sizeof(*f));

	if (!f)
		return err_set(err, ENOMEM, "no memory");
	filter_init(f, &delay_ops, loop, spec, inner);
	*ret_store = &f->store;
	return 0;
}
