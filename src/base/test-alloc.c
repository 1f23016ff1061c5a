/* SPDX-License-Identifier: Apache-2.0 */
/* The door to the heap: it fails when told to, and only then. */
#include "base/alloc.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "tests/tap.h"

static void *allocate_elsewhere(void *arg)
{
	*(bool *)arg = mem_free(mem_alloc(1)) == NULL && mem_fail_count() == 0;
	return NULL;
}

static bool works(void)
{
	void *p = mem_alloc(16);

	mem_free(p);
	return p != NULL;
}

static void test_ordinary(void)
{
	uint8_t *p = mem_calloc(4, 8);
	void *q = mem_aligned(4096, 10);
	char *s = mem_strdup("tank");
	static const uint8_t zero[32];

	is_mem(p, zero, 32, "calloc gives zeroes");
	is_u64((uintptr_t)q % 4096, 0, "aligned memory is aligned");
	is_str(s, "tank", "a text is copied");
	ok(!mem_calloc(SIZE_MAX / 2, 3), "a product that does not fit is refused");
	p[31] = 7;
	p = mem_realloc(p, 64);
	is_u64(p[31], 7, "realloc keeps what was there");
	mem_free(p);
	mem_free(q);
	mem_free(s);
	ok(mem_free(NULL) == NULL, "free takes NULL and returns NULL");
	void *none = mem_alloc(0);

	ok(none != NULL, "no bytes are not no memory");
	mem_free(none);
}

/* What the kernel says of the mapping that @p lies in: the flags of a line of smaps. */
static bool has_flag(const void *p, const char *flag)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	uintptr_t first = 0, end = 0, from, to;
	bool found = false;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
			first = from;
			end = to;
		} else if (strncmp(line, "VmFlags:", 8) == 0 && (uintptr_t)p >= first && (uintptr_t)p < end) {
			found = strstr(line, flag) != NULL;
		}
	}
	if (f)
		fclose(f);
	return found;
}

static void test_huge(void)
{
	uint8_t *p = mem_huge((16 << 20) + 100), *small = mem_huge(100);

	is_u64((uintptr_t)p % (2 << 20), 0, "huge memory is aligned to huge pages");
	ok(small != NULL, "and may be small");
	p[(16 << 20) + 99] = small[99] = 1;
	if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) < 0)
		tap_skip("this kernel has no transparent huge pages");
	else
		ok(has_flag(p, " hg"), "and the kernel was told so");
	mem_free(small);
	mem_free(p);
}

static void test_nth(void)
{
	mem_fail_after(2);
	ok(works(), "the first of two succeeds");
	ok(!works(), "the second fails");
	ok(works(), "the third succeeds");
	is_u64(mem_fail_count(), 1, "one failure is counted");
	mem_fail_after(1);
	mem_fail_after(0);
	ok(works(), "0 turns it off");

	void *p = mem_alloc(8);

	mem_fail_after(1);
	ok(!mem_realloc(p, 16), "realloc fails too");
	mem_free(p);
}

static void test_chance(void)
{
	struct rng rng;
	unsigned failed = 0;
	bool elsewhere = false;
	pthread_t thread;

	rng_init(&rng, 1);
	mem_fail_chance(&rng, 250000);
	for (int i = 0; i < 10000; i++)
		failed += !works();
	ok(failed > 2200 && failed < 2800, "a quarter fails (%u of 10000)", failed);
	mem_fail_chance(&rng, 1000000);
	if (!pthread_create(&thread, NULL, allocate_elsewhere, &elsewhere))
		pthread_join(thread, NULL);
	ok(elsewhere, "other threads are left alone");
	mem_fail_chance(NULL, 0);
	ok(works(), "off again");
}

int main(void)
{
	test_ordinary();
	test_huge();
	test_nth();
	test_chance();
	return tap_done();
}
