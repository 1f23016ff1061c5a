/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes go nowhere and reads give zeroes. A read really clears its buffers: leaving them as they
 * are would be faster, and would send a peer whatever somebody else's request left in them.
 */
#include "store/null.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/util.h"
#include "store/identity.h"
#include "store/iov.h"

struct null {
	struct store store;
	struct volatile_identity identity;
};

static bool null_submit(struct store *s, struct io_loop *loop, struct store_op *op)
{
	struct iov_cursor c = iov_cursor(op->iov, op->niov);
	bool read_only = s->info.read_only;

	op->result = 0;
	switch (op->kind) {
	case STORE_READ:
		iov_zero(&c, op->length);
		break;
	case STORE_COMPARE_WRITE:
		if (op->length > STORE_FUSED_MAX)
			op->result = -EOPNOTSUPP;
		else if (read_only)
			op->result = -EROFS;
		else if (!iov_equal(&c, NULL, op->length))
			op->result = -EILSEQ;
		break;
	case STORE_COMPARE:
		if (!iov_equal(&c, NULL, op->length))
			op->result = -EILSEQ;
		break;
	case STORE_WRITE:
	case STORE_DISCARD:
	case STORE_ZERO:
		if (read_only)
			op->result = -EROFS;
		break;
	case STORE_FLUSH:
	case STORE_VERIFY:
		break;
	}
	return true;
}

/* Pages that nobody writes are one page of the system. */
static uint8_t zeroes[STORE_LOAN_MAX];

static const void *null_lend(struct store *s, struct store_loan *loan, uint64_t offset,
			     uint64_t length, bool wait)
{
	INVARIANT(length <= sizeof(zeroes));
	return zeroes;
}

static void null_take_back(struct store *s, struct store_loan *loan)
{
}

static int null_refresh(struct store *s)
{
	return 0;
}

static void null_free(struct store *s)
{
	struct null *n = container_of(s, struct null, store);

	volatile_identity_drop(&n->identity);
	mem_free(n);
}

static const struct store_ops null_ops = {
	.name = "null",
	.submit = null_submit,
	.lend = null_lend,
	.take_back = null_take_back,
	.refresh = null_refresh,
	.free = null_free,
};

int store_null_new(const struct store_spec *spec, struct store **ret_store, struct err *err)
{
	struct null *n = mem_zalloc(sizeof(*n));

	if (!n)
		return err_set(err, ENOMEM, "no memory");
	n->store.ops = &null_ops;
	n->store.info = (struct store_info){
		.size = spec->size,
		.block = spec->block,
		.align = 1,
		.read_only = spec->read_only,
		.can_discard = true,
		.in_memory = true,
		.kind = "null",
	};
	format_size(spec->size, n->store.info.name, FORMAT_MAX);
	volatile_identity_take(&n->identity, &n->store.info, spec);
	*ret_store = &n->store;
	return 0;
}
