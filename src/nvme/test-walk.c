/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of varying length from a peer: namespace descriptors and ANA logs. Well-formed ones come
 * back as they were built; of any other bytes none beyond the end is read (buffers are on the heap
 * and exact, for the sanitizer) and the walk ends.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/util.h"
#include "nvme/ana.h"
#include "nvme/nsdesc.h"
#include "tests/tap.h"

static const uint8_t uuid[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

static void *must_alloc(size_t n)
{
	void *p = calloc(1, n ? n : 1);

	if (!p)
		abort();
	return p;
}

static void test_ns_desc(void)
{
	static const uint8_t golden[] = { 3, 16, 0,  0,  0,  1,  2,  3, 4, 5, 6, 7, 8,
					  9, 10, 11, 12, 13, 14, 15, 4, 1, 0, 0, 0, 0 };
	uint8_t *page = must_alloc(NVME_IDENTIFY_SIZE);
	enum nvme_nidt type;
	const uint8_t *id;
	uint8_t csi = 0;
	size_t at;
	bool bad;

	at = nvme_ns_desc_append(page, 0, NVME_NIDT_UUID, uuid);
	at = nvme_ns_desc_append(page, at, NVME_NIDT_CSI, &csi);
	is_u64(at, 25, "two descriptors take 25 bytes");
	is_mem(page, golden, sizeof(golden), "a UUID and a CSI");

	at = 0;
	ok(nvme_ns_desc_next(page, &at, &type, &id, &bad) && type == NVME_NIDT_UUID,
	   "the UUID comes first");
	is_mem(id, uuid, 16, "as it was");
	ok(nvme_ns_desc_next(page, &at, &type, &id, &bad) && type == NVME_NIDT_CSI && *id == 0,
	   "then the CSI");
	ok(!nvme_ns_desc_next(page, &at, &type, &id, &bad) && !bad, "then the end");

	/* An unknown type in front is passed over. */
	memset(page, 0, NVME_IDENTIFY_SIZE);
	page[0] = 9;
	page[1] = 200;
	nvme_ns_desc_append(page, 204, NVME_NIDT_UUID, uuid);
	at = 0;
	ok(nvme_ns_desc_next(page, &at, &type, &id, &bad) && type == NVME_NIDT_UUID,
	   "a type that nobody knows is passed over");
	free(page);
}

static void test_ns_desc_bad(void)
{
	uint8_t *page = must_alloc(NVME_IDENTIFY_SIZE);
	enum nvme_nidt type;
	const uint8_t *id;
	size_t at = 0;
	bool bad;

	page[0] = 3;
	page[1] = 8;
	ok(!nvme_ns_desc_next(page, &at, &type, &id, &bad) && bad, "a UUID of 8 bytes");
	page[1] = 0;
	at = 0;
	ok(!nvme_ns_desc_next(page, &at, &type, &id, &bad) && bad, "a UUID of no bytes");
	page[0] = 9;
	at = 0;
	ok(!nvme_ns_desc_next(page, &at, &type, &id, &bad) && bad, "an unknown type of no bytes");
	page[4080] = 3;
	page[4081] = 16;
	at = 4080;
	ok(!nvme_ns_desc_next(page, &at, &type, &id, &bad) && bad, "a UUID past the end");
	page[4092] = 9;
	page[4093] = 1;
	at = 4092;
	ok(!nvme_ns_desc_next(page, &at, &type, &id, &bad) && bad, "an unknown type past the end");
	at = 4093;
	ok(!nvme_ns_desc_next(page, &at, &type, &id, &bad) && !bad,
	   "fewer bytes than a header are the end");
	free(page);
}

static void test_ns_desc_random(void)
{
	uint8_t *page = must_alloc(NVME_IDENTIFY_SIZE);
	unsigned int too_many = 0;
	struct rng rng;

	rng_init(&rng, 20261130);
	for (int round = 0; round < 2000; round++) {
		enum nvme_nidt type;
		const uint8_t *id;
		size_t at = 0, n = 0;
		bool bad;

		rng_fill(&rng, page, NVME_IDENTIFY_SIZE);
		for (size_t i = 0; i < NVME_IDENTIFY_SIZE; i += 4) {
			if (rng_below(&rng, 4))
				page[i] = (uint8_t)(1 + rng_below(&rng, 5));
			page[i + 1] = (uint8_t)rng_below(&rng, 20);
		}
		while (nvme_ns_desc_next(page, &at, &type, &id, &bad))
			n++;
		too_many += n > NVME_IDENTIFY_SIZE / 5 || at > NVME_IDENTIFY_SIZE;
	}
	is_u64(too_many, 0, "random lists end, inside the page");
	free(page);
}

/* Two groups: 1 optimized with namespaces 1 and 2, 7 inaccessible without. */
static const uint8_t ana_golden[] = {
	5, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0,
	0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0,
	0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
};

static void test_ana(void)
{
	struct nvme_ana_group g;
	struct nvme_ana_walk w;

	is_i64(nvme_ana_walk_init(&w, ana_golden, sizeof(ana_golden)), 0, "a log of two groups");
	is_u64(w.chgcnt, 5, "its change count");
	is_i64(nvme_ana_walk_next(&w, &g), 1, "the first group");
	ok(g.grpid == 1 && g.state == NVME_ANA_OPTIMIZED && g.chgcnt == 3, "its header");
	ok(g.nnsids == 2 && le32_to_cpu(g.nsids[1]) == 2, "its namespaces");
	is_i64(nvme_ana_walk_next(&w, &g), 1, "the second group");
	ok(g.grpid == 7 && g.state == NVME_ANA_INACCESSIBLE && g.nnsids == 0, "its header");
	is_i64(nvme_ana_walk_next(&w, &g), 0, "no third group");
}

/*
 * Cut at every length: no byte past the cut is read, and a log cut short is never taken for whole.
 */
static void test_ana_cut(void)
{
	unsigned int whole = 0;

	for (size_t n = 0; n < sizeof(ana_golden); n++) {
		uint8_t *cut = must_alloc(n);
		struct nvme_ana_group g;
		struct nvme_ana_walk w;
		int r;

		memcpy(cut, ana_golden, n);
		r = nvme_ana_walk_init(&w, cut, n);
		if (r == 0) {
			while ((r = nvme_ana_walk_next(&w, &g)) > 0)
				continue;
		}
		whole += r != -EPROTO;
		free(cut);
	}
	is_u64(whole, 0, "a log cut anywhere is an error");
}

static void test_ana_hostile(void)
{
	uint8_t log[sizeof(ana_golden)];
	struct nvme_ana_group g;
	struct nvme_ana_walk w;

	memcpy(log, ana_golden, sizeof(log));
	memset(log + 20, 0xff, 4);
	nvme_ana_walk_init(&w, log, sizeof(log));
	is_i64(nvme_ana_walk_next(&w, &g), -EPROTO, "4 billion namespaces in a group");
	memcpy(log, ana_golden, sizeof(log));
	log[20] = 0;
	log[23] = 0x40;
	nvme_ana_walk_init(&w, log, sizeof(log));
	is_i64(nvme_ana_walk_next(&w, &g), -EPROTO, "a count whose bytes wrap to zero in 32 bits");
	memcpy(log, ana_golden, sizeof(log));
	log[8] = 0xff;
	log[9] = 0xff;
	nvme_ana_walk_init(&w, log, sizeof(log));
	ok(nvme_ana_walk_next(&w, &g) == 1 && nvme_ana_walk_next(&w, &g) == 1 &&
		   nvme_ana_walk_next(&w, &g) == -EPROTO,
	   "65535 groups of which two are there");
	is_i64(nvme_ana_walk_next(&w, &g), -EPROTO, "the error stays");
}

int main(void)
{
	test_ns_desc();
	test_ns_desc_bad();
	test_ns_desc_random();
	test_ana();
	test_ana_cut();
	test_ana_hostile();
	return tap_done();
}
