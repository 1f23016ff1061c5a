/* SPDX-License-Identifier: Apache-2.0 */
/* What filters have in common; see filter.h. */
#include "store/filter.h"

#include "base/hash.h"
#include "base/util.h"

void filter_init(struct filter *f, const struct store_ops *ops, struct io_loop *loop,
		 const struct filter_spec *spec, struct store *inner)
{
	f->store.ops = ops;
	f->store.info = inner->info;
	f->store.info.in_memory = false; /* every operation goes through the filter */
	f->inner = inner;
	f->spec = *spec;
	atomic_init(&f->draws, 0);
	if (!spec->has_seed)
		io_random(loop, &f->spec.seed, sizeof(f->spec.seed));
}

int filter_refresh(struct store *s)
{
	struct filter *f = container_of(s, struct filter, store);
	int r = f->inner->ops->refresh(f->inner);

	if (r > 0)
		__atomic_store_n(&s->info.size, f->inner->info.size, __ATOMIC_RELAXED);
	return r;
}

static unsigned int what_is(enum store_kind kind)
{
	switch (kind) {
	case STORE_READ:
	case STORE_COMPARE:
	case STORE_VERIFY:
		return FILTER_READ;
	case STORE_WRITE:
	case STORE_ZERO:
		return FILTER_WRITE;
	case STORE_FLUSH:
		return FILTER_FLUSH;
	case STORE_DISCARD:
		return FILTER_DISCARD;
	case STORE_COMPARE_WRITE:
		return FILTER_READ | FILTER_WRITE;
	}
	return 0;
}

bool filter_applies(const struct filter *f, const struct store_op *op)
{
	uint64_t start = f->spec.range_offset;
	uint64_t end = start + f->spec.range_length;

	if (!(what_is(op->kind) & f->spec.what))
		return false;
	if (f->spec.range_length == 0)
		return true;
	return op->kind != STORE_FLUSH && op->offset < end && op->offset + op->length > start;
}

uint64_t filter_draw(struct filter *f)
{
	uint64_t n = atomic_fetch_add_explicit(&f->draws, 1, memory_order_relaxed);

	return hash_u64(hash_u64(HASH_INIT, f->spec.seed), n);
}

bool filter_strikes(struct filter *f)
{
	if (f->spec.every)
		return (atomic_fetch_add_explicit(&f->draws, 1, memory_order_relaxed) + 1) %
			       f->spec.every == 0;
	return filter_draw(f) % 1000000 < f->spec.ppm;
}
