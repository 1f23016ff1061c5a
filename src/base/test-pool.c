/* SPDX-License-Identifier: Apache-2.0 */
/* The pool: exhaustion, return, alignment, and each way of misusing it. */
#include "base/pool.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/util.h"
#include "tests/tap.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define HAVE_ASAN 1
#else
#define HAVE_ASAN 0
#endif

enum { COUNT = 100 };

static void test_exhaustion(void)
{
	struct pool p;
	void *object[COUNT];
	unsigned got = 0;

	is_i64(pool_init(&p, 40, COUNT), 0, "made");
	ok(pool_is_full(&p), "full when made");
	while (got < COUNT && (object[got] = pool_get(&p)))
		got++;
	is_u64(got, COUNT, "gives as many as it was made with");
	ok(!pool_get(&p), "and then none");
	is_u64(pool_used(&p), COUNT, "all are out");
	pool_put(&p, object[17]);
	ok(pool_get(&p) == object[17], "one that comes back goes out again");
	ok(!pool_get(&p), "and then none");
	for (unsigned i = 0; i < COUNT; i++)
		pool_put(&p, object[i]);
	ok(pool_is_full(&p), "full when all are back");
	pool_deinit(&p);
}

static void test_making(void)
{
	struct pool p = POOL_NULL;

	pool_deinit(&p);
	is_i64(pool_init(&p, 8, 0), 0, "a pool of nothing");
	ok(!pool_get(&p) && pool_is_full(&p), "has nothing to give and is full");
	pool_put(&p, NULL);
	pool_deinit(&p);
	is_i64(pool_init(&p, 0, 8), -EINVAL, "objects of no size");
	is_i64(pool_init(&p, 8, (size_t)POOL_COUNT_MAX + 1), -EINVAL, "too many objects");
	is_i64(pool_init(&p, SIZE_MAX, 1), -ENOMEM, "a size that overflows when rounded up");
	is_i64(pool_init(&p, SIZE_MAX / 4, 16), -ENOMEM, "a total that overflows");
	pool_deinit(&p);
	ok(true, "one that could not be made can be destroyed");
}

static void test_no_memory(void)
{
	struct pool p;
	int ret;

	for (uint64_t n = 1;; n++) {
		mem_fail_after(n);
		ret = pool_init(&p, 8, COUNT);
		mem_fail_after(0);
		if (ret == 0)
			break;
		is_i64(ret, -ENOMEM, "allocation %" PRIu64 " fails", n);
		ok(!p.memory && !p.free && !p.in_use && pool_is_full(&p), "and leaves nothing");
	}
	pool_deinit(&p);
}

static void test_memory(size_t size, size_t align)
{
	struct pool p;
	char *object[COUNT];
	unsigned bad = 0, dirty = 0;

	pool_init(&p, size, COUNT);
	for (unsigned i = 0; i < COUNT; i++) {
		object[i] = pool_get(&p);
		bad += (uintptr_t)object[i] % align != 0;
		for (size_t at = 0; at < size; at++)
			dirty += object[i][at] != 0;
		memset(object[i], (int)i + 1, size);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		for (size_t at = 0; at < size; at++)
			bad += object[i][at] != (char)(i + 1);
	}
	is_u64(dirty, 0, "objects of %zu bytes are zeroed at first", size);
	is_u64(bad, 0, "objects of %zu bytes are aligned and do not overlap", size);
	for (unsigned i = 0; i < COUNT; i++)
		pool_put(&p, object[i]);
	pool_deinit(&p);
}

static void test_random_use(void)
{
	struct pool p;
	void *out[COUNT];
	unsigned count = 0, bad = 0;
	struct rng r;

	pool_init(&p, sizeof(uint64_t), COUNT);
	rng_init(&r, 3);
	for (int i = 0; i < 100000; i++) {
		if (rng_chance_ppm(&r, 500000)) {
			void *object = pool_get(&p);

			bad += !object != (count == COUNT);
			if (object)
				out[count++] = object;
		} else if (count > 0) {
			unsigned at = (unsigned)rng_below(&r, count);

			pool_put(&p, out[at]);
			out[at] = out[--count];
		}
		bad += pool_used(&p) != count;
	}
	is_u64(bad, 0, "counts agree over 100000 random steps");
	while (count > 0)
		pool_put(&p, out[--count]);
	pool_deinit(&p);
}

static void put_twice(void *arg)
{
	struct pool *p = arg;
	void *object = pool_get(p);

	pool_put(p, object);
	pool_put(p, object);
}

static void put_foreign(void *arg)
{
	long foreign;

	pool_put(arg, &foreign);
}

static void put_middle(void *arg)
{
	pool_put(arg, (char *)pool_get(arg) + 1);
}

static void put_end(void *arg)
{
	struct pool *p = arg;

	pool_put(p, (char *)p->memory + p->slot * p->count);
}

static void leak(void *arg)
{
	(void)pool_get(arg);
	pool_deinit(arg);
}

static void test_misuse(void)
{
	struct pool p;
	char *object;

	pool_init(&p, 32, 8);
	is_abort(put_twice, &p, "putting back twice is caught");
	is_abort(put_foreign, &p, "putting back what is not of the pool is caught");
	is_abort(put_middle, &p, "putting back the middle of an object is caught");
	is_abort(put_end, &p, "putting back what lies behind the last object is caught");
	is_abort(leak, &p, "destroying a pool with an object out is caught");
	object = pool_get(&p);
	pool_put(&p, object);
#if HAVE_ASAN
	ok(__asan_address_is_poisoned(object), "an object in the pool is guarded");
	object = pool_get(&p);
	ok(!__asan_address_is_poisoned(object), "one that is out is not");
	pool_put(&p, object);
#endif
	pool_deinit(&p);
}

int main(void)
{
	test_exhaustion();
	test_making();
	test_no_memory();
	test_memory(1, _Alignof(max_align_t));
	test_memory(16, _Alignof(max_align_t));
	test_memory(63, _Alignof(max_align_t));
	test_memory(64, 64);
	test_memory(200, 64);
	test_random_use();
	test_misuse();
	return tap_done();
}
