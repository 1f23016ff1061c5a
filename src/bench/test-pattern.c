/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/pattern.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "tests/tap.h"

enum { BLOCKS = 1000 };

static void sequential(void)
{
	struct pattern p;
	uint64_t b, wrong = 0;
	bool w;

	pattern_init(&p, PATTERN_WRITE, 3, 2, 0, 1);
	for (uint64_t i = 0; i < 6; i++)
		wrong += !pattern_next(&p, NULL, &b, &w) || b != i % 3 || !w;
	is_u64(wrong, 0, "sequential writes go through the range twice");
	ok(pattern_ended(&p) && !pattern_next(&p, NULL, &b, &w), "and end");
	pattern_init(&p, PATTERN_READ, 3, 0, 0, 1);
	for (uint64_t i = 0; i < 100; i++)
		wrong += !pattern_next(&p, NULL, &b, &w) || b != i % 3 || w;
	ok(wrong == 0 && !pattern_ended(&p), "without a number of passes they do not end");
}

static void random_order(void)
{
	uint8_t seen[BLOCKS] = { 0 };
	uint64_t b, first[BLOCKS], same = 0, steps = 0;
	struct pattern p, q;
	bool w;

	pattern_init(&p, PATTERN_RANDREAD, BLOCKS, 0, 0, 9);
	pattern_init(&q, PATTERN_RANDREAD, BLOCKS, 0, 0, 9);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		pattern_next(&p, NULL, &first[i], &w);
		seen[first[i]]++;
		pattern_next(&q, NULL, &b, &w);
		same += b == first[i];
		steps += i > 0 && first[i] == first[i - 1] + 1;
	}
	ok(!memchr(seen, 0, BLOCKS), "a pass of random reads comes to every block");
	is_u64(same, BLOCKS, "the same seed gives the same order");
	ok(steps < 10, "which is no sequence");
	same = 0;
	for (uint64_t i = 0; i < BLOCKS; i++) {
		pattern_next(&p, NULL, &b, &w);
		same += b == first[i];
	}
	ok(same < 10, "the next pass has another order");
}

static void mixed(void)
{
	uint64_t b, writes = 0;
	struct pattern p;
	bool w;

	pattern_init(&p, PATTERN_MIXED, BLOCKS, 0, 70, 9);
	for (int i = 0; i < 10000; i++) {
		pattern_next(&p, NULL, &b, &w);
		writes += w;
	}
	/* Standard deviation 46. */
	ok(writes > 2800 && writes < 3200, "70 %% reads leave 30 %% writes (%llu of 10000)",
	   (unsigned long long)writes);
	pattern_init(&p, PATTERN_MIXED, BLOCKS, 0, 100, 9);
	for (int i = 0; i < 1000 && pattern_next(&p, NULL, &b, &w); i++)
		writes = w ? 1 : 0;
	is_u64(writes, 0, "100 %% reads are reads");
}

static void busy(void)
{
	struct versions v;
	struct pattern p, q;
	uint64_t b, c, wrong = 0;
	bool w, x;

	versions_init(&v, 4);
	pattern_init(&p, PATTERN_MIXED, 4, 0, 50, 3);
	pattern_init(&q, PATTERN_MIXED, 4, 0, 50, 3);
	for (int i = 0; i < 4; i++) {
		pattern_next(&q, NULL, &c, &x);
		wrong += !pattern_next(&p, &v, &b, &w) || b != c || w != x;
		versions_begin(&v, b);
	}
	is_u64(wrong, 0, "free blocks are handed out in the order of the seed");
	ok(!pattern_next(&p, &v, &b, &w) && !pattern_ended(&p), "a block in flight is not");
	ok(!pattern_next(&p, &v, &b, &w), "however often one asks");
	pattern_next(&q, NULL, &c, &x);
	for (uint64_t i = 0; i < 4; i++) {
		if (i != c)
			versions_end_read(&v, i);
	}
	ok(!pattern_next(&p, &v, &b, &w), "nor does another take its turn");
	versions_end_write(&v, c, 1);
	ok(pattern_next(&p, &v, &b, &w) && b == c && w == x, "it comes when it is free, as it was drawn");
	versions_deinit(&v);
}

static void counts(void)
{
	struct versions v;

	versions_init(&v, 2);
	is_u64(versions_now(&v, 0), 0, "at first nothing is known");
	is_u64(versions_next(&v, 0), 1, "the first write is version 1");
	versions_begin(&v, 0);
	ok(versions_busy(&v, 0) && !versions_busy(&v, 1), "only that block is busy");
	is_u64(versions_now(&v, 0), 0, "which does not show in its version");
	versions_end_write(&v, 0, 1);
	ok(!versions_busy(&v, 0) && versions_now(&v, 0) == 1, "until it is acknowledged");
	versions_begin(&v, 0);
	versions_end_read(&v, 0);
	is_u64(versions_now(&v, 0), 1, "a read changes nothing");
	versions_begin(&v, 0);
	versions_end_write(&v, 0, 0);
	is_u64(versions_now(&v, 0), 0, "a write that failed leaves it unknown");
	versions_begin(&v, 1);
	versions_end_write(&v, 1, 32767);
	is_u64(versions_next(&v, 1), 1, "versions go round, past 0");
	versions_deinit(&v);
	mem_fail_after(1);
	ok(versions_init(&v, 2) == -ENOMEM, "no memory is said");
	mem_fail_after(0);
}

int main(void)
{
	sequential();
	random_order();
	mixed();
	busy();
	counts();
	return tap_done();
}
