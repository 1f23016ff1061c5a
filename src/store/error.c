/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that fails: an operation chosen by chance, by count or by place gets an error instead of
 * being done. Nothing of it has happened then; for writes that happened in part see torn.c.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/util.h"
#include "store/filter.h"

static bool error_submit(struct store *s, struct io_loop *loop, struct store_op *op)
{
	struct filter *f = container_of(s, struct filter, store);

	if (!filter_applies(f, op) || !filter_strikes(f))
		return store_submit(f->inner, loop, op);
	op->result = -f->spec.error;
	return true;
}

static void error_free(struct store *s)
{
	struct filter *f = container_of(s, struct filter, store);

	store_free(f->inner);
	mem_free(f);
}

static const struct store_ops error_ops = {
	.name = "error",
	.submit = error_submit,
	.lend = store_lends_nothing,
	.take_back = store_takes_nothing,
	.refresh = filter_refresh,
	.free = error_free,
};

int store_error_new(struct io_loop *loop, const struct filter_spec *spec, struct store *inner,
		    struct store **ret_store, struct err *err)
{
	struct filter *f = mem_zalloc(sizeof(*f));

	if (!f)
		return err_set(err, ENOMEM, "no memory");
	filter_init(f, &error_ops, loop, spec, inner);
	*ret_store = &f->store;
	return 0;
}
