/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/stamp.h"

#include <assert.h>
#include <string.h>

#include "base/content.h"
#include "base/hash.h"
#include "base/le.h"
#include "base/util.h"

struct head {
	le64 tag;
	le64 offset;
	le64 version;
	le64 run;
};
static_assert(sizeof(struct head) == STAMP_HEAD, "head of a block");

/* The block's length is part of it: half a block is not a block of half the size. */
static uint64_t tag_of(uint64_t seed, const struct stamp *s, size_t n)
{
	uint64_t h = hash_u64(hash_u64(HASH_INIT, seed), n);

	return hash_u64(hash_u64(hash_u64(h, s->offset), s->version), s->run);
}

void stamp_fill(uint64_t seed, const struct stamp *s, void *buf, size_t n)
{
	uint64_t tag = tag_of(seed, s, n);
	struct head h = {
		.tag = cpu_to_le64(tag),
		.offset = cpu_to_le64(s->offset),
		.version = cpu_to_le64(s->version),
		.run = cpu_to_le64(s->run),
	};

	INVARIANT(n >= STAMP_MIN);
	memcpy(buf, &h, sizeof(h));
	content_fill(seed, tag, STAMP_HEAD, (uint8_t *)buf + STAMP_HEAD, n - STAMP_HEAD);
}

enum stamp_verdict stamp_check(uint64_t seed, uint64_t offset, const struct stamp *expect, const void *buf,
			       size_t n, struct stamp *ret_found, size_t *ret_wrong)
{
	const uint8_t *at = buf;
	struct head h;
	uint64_t tag;
	size_t good;

	INVARIANT(n >= STAMP_MIN);
	memcpy(&h, buf, sizeof(h));
	*ret_found = (struct stamp){
		.offset = le64_to_cpu(h.offset),
		.version = le64_to_cpu(h.version),
		.run = le64_to_cpu(h.run),
	};
	*ret_wrong = 0;
	tag = tag_of(seed, ret_found, n);
	if (tag != le64_to_cpu(h.tag))
		return STAMP_FOREIGN;
	if (ret_found->offset != offset)
		return STAMP_MISPLACED;
	good = content_check(seed, tag, STAMP_HEAD, at + STAMP_HEAD, n - STAMP_HEAD);
	*ret_wrong = STAMP_HEAD + good;
	if (good < n - STAMP_HEAD)
		return STAMP_CORRUPT;
	*ret_wrong = 0;
	if (expect && (ret_found->version != expect->version || ret_found->run != expect->run))
		return STAMP_STALE;
	return STAMP_GOOD;
}
