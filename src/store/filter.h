/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores over another store: slow it down, make it fail. A shipped feature, for whoever wants to
 * see what a host does about it, and what our own tests provoke faults with.
 *
 * A filter that decides before anything happens passes the very same operation on and is out of the
 * way: delay and error hold nothing per operation. One that has to change an operation or its
 * outcome (torn) needs an operation of its own, from a pool of fixed size.
 */
#ifndef PENSTOCK_STORE_FILTER_H
#define PENSTOCK_STORE_FILTER_H

#include <stdatomic.h>

#include "store/spec.h"
#include "store/store.h"

struct filter {
	struct store store;
	struct store *inner;
	struct filter_spec spec;
	atomic_uint_fast64_t draws;
};

/*
 * Each takes @inner over on success, and frees it with itself. The loop gives a seed if the
 * specification has none. -ENOMEM.
 */
int store_delay_new(struct io_loop *loop, const struct filter_spec *spec, struct store *inner,
		    struct store **ret_store, struct err *err);
int store_error_new(struct io_loop *loop, const struct filter_spec *spec, struct store *inner,
		    struct store **ret_store, struct err *err);
int store_torn_new(struct io_loop *loop, const struct filter_spec *spec, struct store *inner,
		   struct store **ret_store, struct err *err);

/* ---- for filters --------------------------------------------------------------------------- */

void filter_init(struct filter *f, const struct store_ops *ops, struct io_loop *loop,
		 const struct filter_spec *spec, struct store *inner);
/* store_ops.refresh of a filter: the inner one's, and its size is ours. */
int filter_refresh(struct store *s);

/* Does the filter apply to this operation? */
bool filter_applies(const struct filter *f, const struct store_op *op);
/* The next random number of this filter: its seed decides, any thread may ask. */
uint64_t filter_draw(struct filter *f);
/* Does it happen this time: so many in a million, or each n-th? */
bool filter_strikes(struct filter *f);

#endif
