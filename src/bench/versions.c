/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/versions.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/util.h"

enum { BUSY = 0x8000, VERSION = 0x7fff };

int versions_init(struct versions *v, uint64_t blocks)
{
	v->of = mem_calloc(blocks, sizeof(*v->of));
	v->count = v->of ? blocks : 0;
	return v->of ? 0 : -ENOMEM;
}

void versions_deinit(struct versions *v)
{
	v->of = mem_free(v->of);
	v->count = 0;
}

bool versions_busy(const struct versions *v, uint64_t block)
{
	return v->of[block] & BUSY;
}

uint16_t versions_now(const struct versions *v, uint64_t block)
{
	return v->of[block] & VERSION;
}

void versions_begin(struct versions *v, uint64_t block)
{
	INVARIANT(block < v->count && !versions_busy(v, block));
	v->of[block] |= BUSY;
}

uint16_t versions_next(const struct versions *v, uint64_t block)
{
	uint16_t now = versions_now(v, block);

	return now == VERSION ? 1 : (uint16_t)(now + 1);
}

void versions_end_read(struct versions *v, uint64_t block)
{
	INVARIANT(versions_busy(v, block));
	v->of[block] &= VERSION;
}

void versions_end_write(struct versions *v, uint64_t block, uint16_t version)
{
	INVARIANT(versions_busy(v, block) && version <= VERSION);
	v->of[block] = version;
}
