/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks read, and where batches are put. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/util.h"
#include "feed/place.h"
#include "feed/plan.h"
#include "tests/tap.h"

static void ranks(uint64_t n, uint32_t batch, uint32_t count, bool keep_last)
{
	uint8_t *seen = calloc(n + 1, 1);
	uint64_t total = 0, batches = 0;
	bool once = true, equal = true;

	for (uint32_t rank = 0; rank < count; rank++) {
		struct plan p;

		plan_init(&p, n, batch, 1, keep_last, rank, count);
		plan_epoch(&p, false, 5, 1);
		equal &= rank == 0 || p.batches == batches;
		batches = p.batches;
		for (uint64_t b = 0; b < p.batches; b++) {
			for (uint32_t i = 0; i < plan_batch_size(&p, b); i++) {
				uint64_t s = plan_sample(&p, b, i);

				once &= s < n && !seen[s];
				seen[s] = 1;
				total++;
			}
		}
	}
	ok(once, "%llu samples over %u ranks: none twice", (unsigned long long)n, count);
	ok(equal, "each rank has as many batches");
	is_u64(total, keep_last ? n / count * count : n / count / batch * batch * count, "none is missing");
	free(seen);
}

/* Groups of 5: each whole and in order, wherever it is, and all of them dealt. */
static void groups(void)
{
	uint8_t seen[20] = { 0 };
	bool whole = true, moved = false, once = true;

	for (uint32_t rank = 0; rank < 2; rank++) {
		struct plan p;

		/* 104 samples are 20 groups and 4 samples that are left out. */
		plan_init(&p, 104, 10, 5, false, rank, 2);
		plan_epoch(&p, false, 9, 0);
		is_u64(p.batches, 5, "five batches of two groups for each of two ranks");
		for (uint64_t b = 0; b < p.batches; b++) {
			for (uint32_t i = 0; i < 10; i += 5) {
				uint64_t first = plan_sample(&p, b, i);

				moved |= first != (b * 10 + i) * 2 + 5 * rank;
				whole &= first % 5 == 0 && first < 100;
				once &= !seen[first / 5]++;
				for (uint32_t k = 1; k < 5; k++)
					whole &= plan_sample(&p, b, i + k) == first + k;
			}
		}
	}
	ok(whole && once && moved, "groups stay whole, come once, and are shuffled");
}

static void places(void)
{
	struct place p;
	uint64_t at, end, first_end;

	place_init(&p, 16 * PLACE_ALIGN);
	ok(place_get(&p, 10 * PLACE_ALIGN, &at, &first_end) && at == 0, "the first begins at the start");
	ok(!place_get(&p, 7 * PLACE_ALIGN, &at, &end), "no room for 7 of the 6 left");
	ok(place_get(&p, 1, &at, &end) && at == 10 * PLACE_ALIGN, "one byte takes one page");
	place_free_to(&p, first_end);
	ok(place_get(&p, 8 * PLACE_ALIGN, &at, &end) && at == 0, "what does not fit before the end goes to the start");
	ok(!place_get(&p, 3 * PLACE_ALIGN, &at, &end), "the rest of the end is taken");
	place_free_to(&p, p.head);
	ok(place_get(&p, 16 * PLACE_ALIGN, &at, &end) && at == 0, "all of it, when nothing is placed");
	ok(!place_get(&p, 17 * PLACE_ALIGN, &at, &end), "never more than all of it");
}

/* Against a model: pieces in use never overlap. */
static void places_never_overlap(void)
{
	enum { PAGES = 64, MAX = 64 };
	struct { uint64_t at, pages, end; } used[MAX];
	struct place p;
	struct rng rng;
	size_t head = 0, tail = 0, got = 0;
	bool apart = true;

	place_init(&p, PAGES * PLACE_ALIGN);
	rng_init(&rng, 3);
	for (int step = 0; step < 20000; step++) {
		uint64_t pages = rng_between(&rng, 1, 20), at, end;

		if (head - tail < MAX && place_get(&p, pages * PLACE_ALIGN, &at, &end)) {
			got++;
			apart &= at + pages * PLACE_ALIGN <= PAGES * PLACE_ALIGN;
			for (size_t i = tail; i < head; i++)
				apart &= at + pages * PLACE_ALIGN <= used[i % MAX].at ||
					 at >= used[i % MAX].at + used[i % MAX].pages * PLACE_ALIGN;
			used[head % MAX].at = at;
			used[head % MAX].pages = pages;
			used[head++ % MAX].end = end;
		} else if (head > tail) {
			place_free_to(&p, used[tail++ % MAX].end);
		}
	}
	ok(apart && got > 5000, "20000 steps, %zu pieces, none over another", got);
}

int main(void)
{
	ranks(100, 7, 1, false);
	ranks(100, 7, 3, false);
	ranks(1000, 16, 8, true);
	ranks(5, 7, 1, true);
	ranks(3, 1, 4, false);
	groups();
	places();
	places_never_overlap();
	return tap_done();
}
