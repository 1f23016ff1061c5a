/* SPDX-License-Identifier: Apache-2.0 */
/* From a specification to a store: the one place that knows all kinds and all filters. */
#include <errno.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "store/file.h"
#include "store/filter.h"
#include "store/memory.h"
#include "store/null.h"
#include "store/spec.h"
#include "store/store.h"

static int open_leaf(struct io_loop *loop, const struct store_spec *spec, struct store **ret_store,
		     struct err *err)
{
	switch (spec->kind) {
	case SPEC_FILE:
		return store_file_new(loop, spec, ret_store, err);
	case SPEC_MEMORY:
		return store_memory_new(spec, ret_store, err);
	case SPEC_NULL:
		return store_null_new(spec, ret_store, err);
	}
	return err_set(err, EINVAL, "no such kind of store");
}

static int open_filter(struct io_loop *loop, const struct filter_spec *spec, struct store *inner,
		       struct store **ret_store, struct err *err)
{
	switch (spec->kind) {
	case FILTER_DELAY:
		return store_delay_new(loop, spec, inner, ret_store, err);
	case FILTER_ERROR:
		return store_error_new(loop, spec, inner, ret_store, err);
	case FILTER_TORN:
		return store_torn_new(loop, spec, inner, ret_store, err);
	}
	return err_set(err, EINVAL, "no such filter");
}

int store_open(struct io_loop *loop, const char *text, struct store **ret_store, struct err *err)
{
	_cleanup_free_ struct store_spec *spec = mem_alloc(sizeof(*spec));
	struct store *s = NULL;
	int r;

	if (!spec)
		return err_set(err, ENOMEM, "no memory");
	r = store_spec_parse(text, spec, err);
	if (r < 0)
		return r;
	r = open_leaf(loop, spec, &s, err);
	for (unsigned int i = 0; r == 0 && i < spec->filters; i++)
		r = open_filter(loop, &spec->filter[i], s, &s, err);
	if (r < 0) {
		store_free(s);
		err_prefix(err, "store '%s'", text);
		return r;
	}
	*ret_store = s;
	return 0;
}

struct store *store_free(struct store *s)
{
	if (s)
		s->ops->free(s);
	return NULL;
}

const void *store_lends_nothing(struct store *s, struct store_loan *loan, uint64_t offset,
				uint64_t length, bool wait)
{
	INVARIANT(!"only a store in memory lends");
	return NULL;
}

void store_takes_nothing(struct store *s, struct store_loan *loan)
{
	INVARIANT(!"only a store in memory lends");
}
