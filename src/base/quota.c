/* SPDX-License-Identifier: Apache-2.0 */
/* Charging along the chain of parents; see quota.h. */
#include "base/quota.h"

#include <stddef.h>

#include "base/util.h"

void quota_init(struct quota *q, uint64_t limit, struct quota *parent)
{
	*q = (struct quota){ .limit = limit, .parent = parent };
}

void quota_deinit(struct quota *q)
{
	INVARIANT(q->used == 0);
}

bool quota_charge(struct quota *q, uint64_t n)
{
	/* Look first: nothing is then charged that would have to be taken back. */
	for (struct quota *at = q; at; at = at->parent) {
		/* A limit may have been lowered below what is in use. */
		if (at->used > at->limit || n > at->limit - at->used) {
			at->refused++;
			return false;
		}
	}
	for (struct quota *at = q; at; at = at->parent) {
		at->used += n;
		if (at->used > at->peak)
			at->peak = at->used;
	}
	return true;
}

void quota_release(struct quota *q, uint64_t n)
{
	for (struct quota *at = q; at; at = at->parent) {
		INVARIANT(n <= at->used);
		at->used -= n;
	}
}
