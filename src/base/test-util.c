/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The macros: single evaluation, limits of rounding, and that a broken invariant stops the
 * process.
 */
#include "base/util.h"

#include "base/cleanup.h"
#include "tests/tap.h"

struct inner {
	int x;
};

struct outer {
	char pad[7];
	struct inner inner;
};

static int calls;

static int counted(int v)
{
	calls++;
	return v;
}

static void test_min_max(void)
{
	is_i64(MIN(3, 5), 3, "MIN");
	is_i64(MAX(3, 5), 5, "MAX");
	is_i64(MIN(MAX(1, 2), MIN(7, 9)), 2, "they nest");
	is_u64(MAX(UINT64_MAX, UINT64_C(0)), UINT64_MAX, "the whole range of the type");
	calls = 0;
	(void)MIN(counted(1), counted(2));
	is_i64(calls, 2, "each argument is evaluated once");
}

static void test_rounding(void)
{
	is_u64(ALIGN_UP(0u, 8), 0, "ALIGN_UP of 0");
	is_u64(ALIGN_UP(1u, 8), 8, "ALIGN_UP of 1");
	is_u64(ALIGN_UP(8u, 8), 8, "ALIGN_UP of a multiple");
	is_u64(ALIGN_DOWN(UINT64_MAX, 4096), UINT64_MAX - 4095, "ALIGN_DOWN keeps the upper half");
	is_u64(ALIGN_UP(UINT64_C(0x100000001), 512), UINT64_C(0x100000200),
	       "ALIGN_UP beyond 32 bits");
	is_u64(DIV_ROUND_UP(UINT64_MAX, UINT64_C(2)), UINT64_C(1) << 63,
	       "DIV_ROUND_UP at the limit");
	is_u64(DIV_ROUND_UP(0u, 7), 0, "DIV_ROUND_UP of 0");
	ok(is_power_of_two(1) && is_power_of_two(UINT64_C(1) << 63), "powers of two");
	ok(!is_power_of_two(0) && !is_power_of_two(3) && !is_power_of_two(UINT64_MAX),
	   "not powers of two");
}

static void break_invariant(void *arg)
{
	INVARIANT(*(int *)arg == 1);
}

static void test_invariant(void)
{
	int one = 1, two = 2;

	break_invariant(&one);
	ok(true, "an invariant that holds does nothing");
	is_abort(break_invariant, &two, "one that does not stops the process");
}

static int freed;

static void thing_free(struct inner *t)
{
	freed++;
	free(t);
}

DEFINE_CLEANUP(struct inner *, thing_free)

static struct inner *make_and_keep(int keep)
{
	_cleanup_(thing_freep) struct inner *t = calloc(1, sizeof(*t));
	_cleanup_(thing_freep) struct inner *none = NULL;
	_cleanup_free_ char *text = malloc(10);

	if (!keep || !text)
		return none;
	return steal_ptr(&t);
}

static void test_cleanup(void)
{
	freed = 0;
	ok(!make_and_keep(0), "left without stealing");
	is_i64(freed, 1, "released at the end of its scope, and NULL is not");

	struct inner *t = make_and_keep(1);

	ok(t, "stolen");
	is_i64(freed, 1, "what was stolen is not released");
	thing_free(t);
}

int main(void)
{
	struct outer o;
	int array[5];

	ok(container_of(&o.inner.x, struct inner, x) == &o.inner, "container_of the first member");
	ok(container_of(&o.inner, struct outer, inner) == &o, "container_of a later member");
	is_u64(ARRAY_SIZE(array), 5, "ARRAY_SIZE");
	test_min_max();
	test_rounding();
	test_invariant();
	test_cleanup();
	return tap_done();
}
