/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/pattern.h"

#include "base/hash.h"
#include "base/util.h"

const char *pattern_name(enum pattern_kind kind)
{
	static const char *const names[] = {
		[PATTERN_READ] = "read",	   [PATTERN_WRITE] = "write", [PATTERN_RANDREAD] = "randread",
		[PATTERN_RANDWRITE] = "randwrite", [PATTERN_MIXED] = "mixed",
	};

	return names[kind];
}

static void begin_pass(struct pattern *p)
{
	p->next = 0;
	if (p->kind == PATTERN_READ || p->kind == PATTERN_WRITE)
		shuffle_init_sequential(&p->order, p->blocks);
	else
		shuffle_init(&p->order, p->blocks, p->seed, p->pass);
}

void pattern_init(struct pattern *p, enum pattern_kind kind, uint64_t blocks, uint64_t passes,
		  unsigned int read_percent, uint64_t seed)
{
	*p = (struct pattern){
		.kind = kind,
		.read_percent = read_percent,
		.blocks = blocks,
		.passes = passes,
		.seed = seed,
	};
	INVARIANT(blocks > 0);
	rng_init(&p->rng, hash_u64(hash_u64(HASH_INIT, seed), kind));
	begin_pass(p);
}

bool pattern_ended(const struct pattern *p)
{
	return p->passes > 0 && p->pass == p->passes;
}

static bool draw(struct pattern *p)
{
	if (p->kind == PATTERN_MIXED)
		return rng_below(&p->rng, 100) >= p->read_percent;
	return pattern_writes(p->kind);
}

bool pattern_next(struct pattern *p, const struct versions *v, uint64_t *ret_block, bool *ret_write)
{
	uint64_t block;

	if (pattern_ended(p))
		return false;
	if (!p->decided)
		p->write = draw(p);
	p->decided = true;
	block = shuffle_at(&p->order, p->next);
	if (v && versions_busy(v, block))
		return false;
	*ret_block = block;
	*ret_write = p->write;
	p->decided = false;
	if (++p->next == p->blocks) {
		p->pass++;
		begin_pass(p);
	}
	return true;
}
