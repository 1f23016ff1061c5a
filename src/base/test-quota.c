/* SPDX-License-Identifier: Apache-2.0 */
/* Quotas: limits, parents, and that a refused charge leaves nothing behind. */
#include "base/quota.h"

#include "base/rng.h"
#include "tests/tap.h"

static void test_alone(void)
{
	struct quota q;

	quota_init(&q, 10, NULL);
	ok(quota_charge(&q, 10), "up to the limit");
	ok(!quota_charge(&q, 1), "not past it");
	ok(quota_charge(&q, 0), "nothing always fits");
	is_u64(q.refused, 1, "a refusal is counted");
	quota_release(&q, 4);
	ok(!quota_charge(&q, UINT64_MAX), "nor so far past it that it would wrap");
	is_u64(q.used, 6, "what is in use");
	is_u64(q.peak, 10, "the most that ever was");
	q.limit = 3;
	ok(!quota_charge(&q, 0), "a limit lowered below what is in use lets nothing in");
	quota_release(&q, 6);
	ok(quota_charge(&q, 3), "until enough was released");
	quota_release(&q, 3);
	quota_deinit(&q);
}

static void test_parent(void)
{
	struct quota process, a, b;

	quota_init(&process, 10, NULL);
	quota_init(&a, 8, &process);
	quota_init(&b, 8, &process);
	ok(quota_charge(&a, 8), "one child takes its share");
	ok(!quota_charge(&b, 3), "the other cannot have more than the parent has left");
	is_u64(b.used, 0, "and is charged nothing");
	is_u64(process.used, 8, "nor is the parent");
	is_u64(process.refused, 1, "the refusal is the parent's");
	is_u64(b.refused, 0, "and not the child's");
	ok(quota_charge(&b, 2), "what is left fits");
	quota_release(&a, 8);
	quota_release(&b, 2);
	is_u64(process.used, 0, "all is given back");
	quota_deinit(&a);
	quota_deinit(&b);
	quota_deinit(&process);
}

static void test_conservation(void)
{
	enum { CHILDREN = 5 };
	struct quota process, child[CHILDREN];
	struct rng r;
	unsigned bad = 0;

	rng_init(&r, 21);
	quota_init(&process, 1000, NULL);
	for (int i = 0; i < CHILDREN; i++)
		quota_init(&child[i], 300, &process);
	for (int step = 0; step < 100000; step++) {
		struct quota *q = &child[rng_below(&r, CHILDREN)];
		uint64_t n = rng_below(&r, 100), sum = 0;

		if (rng_chance_ppm(&r, 600000))
			quota_charge(q, n);
		else if (n <= q->used)
			quota_release(q, n);
		for (int i = 0; i < CHILDREN; i++) {
			sum += child[i].used;
			bad += child[i].used > child[i].limit;
		}
		bad += sum != process.used || process.used > process.limit;
	}
	is_u64(bad, 0, "children add up to their parent over 100000 random steps");
	ok(process.refused > 0 && child[0].refused > 0, "at either limit");
}

static void release_too_much(void *arg)
{
	quota_release(arg, 1);
}

static void destroy_in_use(void *arg)
{
	(void)quota_charge(arg, 1);
	quota_deinit(arg);
}

int main(void)
{
	struct quota q;

	test_alone();
	test_parent();
	test_conservation();
	quota_init(&q, 10, NULL);
	is_abort(release_too_much, &q, "releasing what was not charged is caught");
	is_abort(destroy_in_use, &q, "destroying what is in use is caught");
	return tap_done();
}
