/* SPDX-License-Identifier: Apache-2.0 */
/* Damage of each kind is planted; a check that misses one fails here. */
#include "bench/stamp.h"

#include <string.h>

#include "base/util.h"
#include "tests/tap.h"

enum { N = 4096 };

static const struct stamp here = { .offset = 8192, .version = 3, .run = 77 };

static enum stamp_verdict check(const uint8_t *buf, const struct stamp *expect, size_t *ret_wrong)
{
	struct stamp found;

	return stamp_check(5, 8192, expect, buf, N, &found, ret_wrong);
}

static void good(void)
{
	uint8_t a[N], b[N];
	struct stamp found, next = here;
	size_t wrong = 99;

	stamp_fill(5, &here, a, N);
	ok(check(a, &here, &wrong) == STAMP_GOOD && wrong == 0, "what was written is good");
	ok(check(a, NULL, &wrong) == STAMP_GOOD, "and to who does not know the version");
	stamp_check(5, 8192, NULL, a, N, &found, &wrong);
	ok(found.offset == 8192 && found.version == 3 && found.run == 77, "it says what it is");
	next.version = 4;
	stamp_fill(5, &next, b, N);
	wrong = 0;
	for (size_t i = STAMP_HEAD; i < N; i++)
		wrong += a[i] == b[i];
	/* 1 byte in 256 is the same by chance. */
	ok(wrong < N / 64, "another version has other contents throughout");
	for (size_t n = STAMP_MIN; n < 600; n += 13) {
		stamp_fill(5, &here, a, n);
		if (stamp_check(5, 8192, &here, a, n, &found, &wrong) != STAMP_GOOD)
			ok(false, "a block of %zu bytes", n);
	}
	ok(true, "blocks of any size");
}

static void every_byte(void)
{
	uint8_t a[N];
	size_t wrong, missed = 0, misplaced = 0;

	stamp_fill(5, &here, a, N);
	for (size_t i = 0; i < N; i++) {
		a[i] ^= 0x10;
		missed += check(a, NULL, &wrong) == STAMP_GOOD;
		misplaced += i >= STAMP_HEAD && wrong != i;
		a[i] ^= 0x10;
	}
	is_u64(missed, 0, "one bit of any byte is missed");
	is_u64(misplaced, 0, "and the byte is named");
}

static void kinds(void)
{
	uint8_t a[N], b[N];
	struct stamp other = here;
	size_t wrong;

	memset(a, 0, N);
	ok(check(a, NULL, &wrong) == STAMP_FOREIGN, "zeroes are foreign");
	stamp_fill(6, &here, a, N);
	ok(check(a, NULL, &wrong) == STAMP_FOREIGN, "another seed is foreign");
	stamp_fill(5, &here, a, N / 2);
	ok(check(a, NULL, &wrong) == STAMP_FOREIGN, "a block of another size is foreign");
	other.offset = 12288;
	stamp_fill(5, &other, a, N);
	ok(check(a, NULL, &wrong) == STAMP_MISPLACED, "a block of elsewhere is misplaced");
	other = here;
	other.version = 2;
	stamp_fill(5, &other, a, N);
	ok(check(a, &here, &wrong) == STAMP_STALE, "an older version is stale");
	ok(check(a, NULL, &wrong) == STAMP_GOOD, "to who does not know better it is good");
	other = here;
	other.run = 76;
	stamp_fill(5, &other, a, N);
	ok(check(a, &here, &wrong) == STAMP_STALE, "the same version of an earlier run is stale");
	stamp_fill(5, &here, b, N);
	memcpy(b + 1024, a + 1024, 512);
	ok(check(b, &here, &wrong) == STAMP_CORRUPT && wrong >= 1024 && wrong < 1034,
	   "a block torn at a sector is corrupt, from there on (%zu)", wrong);
	stamp_fill(5, &here, b, N);
	memmove(b + STAMP_HEAD, b + STAMP_HEAD + 8, N - STAMP_HEAD - 8);
	ok(check(b, &here, &wrong) == STAMP_CORRUPT, "shifted contents are corrupt");
}

int main(void)
{
	good();
	every_byte();
	kinds();
	return tap_done();
}
