/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as people write them: what is taken, what is refused, the limits; then random valid ones
 * against 128-bit arithmetic, and random junk against a plain statement of the grammar.
 */
#include "base/parse.h"

#include <errno.h>
#include <regex.h>

#include "base/rng.h"
#include "base/util.h"
#include "tests/tap.h"

__extension__ typedef unsigned __int128 u128;

enum { UNTOUCHED = 4242 };

struct parse_case {
	const char *text;
	int ret;
	uint64_t value;
};

static void try_cases(const char *what, int (*parse)(const char *s, uint64_t *ret),
		      const struct parse_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t v = UNTOUCHED;
		int ret = parse(cases[i].text, &v);
		uint64_t want = cases[i].ret ? (uint64_t)UNTOUCHED : cases[i].value;

		if (!ok(ret == cases[i].ret && v == want, "%s '%s'", what, cases[i].text))
			diag("got %d, %" PRIu64 "; want %d, %" PRIu64, ret, v, cases[i].ret, want);
	}
}

static const struct parse_case u64_cases[] = {
	{ "0", 0, 0 },
	{ "007", 0, 7 },
	{ "18446744073709551615", 0, UINT64_MAX },
	{ "18446744073709551616", -ERANGE },
	{ "99999999999999999999999999", -ERANGE },
	{ "0xffffffffffffffff", 0, UINT64_MAX },
	{ "0XFf", 0, 255 },
	{ "0x10000000000000000", -ERANGE },
	{ "", -EINVAL },
	{ "0x", -EINVAL },
	{ "x1", -EINVAL },
	{ "-0", -EINVAL },
	{ "-1", -EINVAL },
	{ "+1", -EINVAL },
	{ " 1", -EINVAL },
	{ "1 ", -EINVAL },
	{ "1\n", -EINVAL },
	{ "4420x", -EINVAL },
	{ "ff", -EINVAL },
	{ "1.0", -EINVAL },
	{ "1e3", -EINVAL },
	{ "99999999999999999999999999x", -EINVAL },
	{ "\xd9\xa1", -EINVAL },
};

static const struct parse_case size_cases[] = {
	{ "0", 0, 0 },
	{ "512", 0, 512 },
	{ "4k", 0, 4096 },
	{ "4K", 0, 4096 },
	{ "4KiB", 0, 4096 },
	{ "1m", 0, 1048576 },
	{ "10G", 0, UINT64_C(10) << 30 },
	{ "1T", 0, UINT64_C(1) << 40 },
	{ "1.5k", 0, 1536 },
	{ "0.5k", 0, 512 },
	{ "1.0", 0, 1 },
	{ "1.50000000000000000000000000k", 0, 1536 },
	{ "0.125M", 0, 131072 },
	{ "16777215T", 0, UINT64_C(16777215) << 40 },
	{ "16777216T", -ERANGE },
	{ "16777215.5T", 0, (UINT64_C(16777215) << 40) + (UINT64_C(1) << 39) },
	{ "18446744073709551615", 0, UINT64_MAX },
	{ "18446744073709551615k", -ERANGE },
	{ "0.3k", -EINVAL },
	{ "0.5", -EINVAL },
	{ "1.5", -EINVAL },
	{ "", -EINVAL },
	{ "k", -EINVAL },
	{ ".5k", -EINVAL },
	{ "1.k", -EINVAL },
	{ "1..5k", -EINVAL },
	{ "-1k", -EINVAL },
	{ "4 k", -EINVAL },
	{ "4kB", -EINVAL },
	{ "4kib", -EINVAL },
	{ "4kk", -EINVAL },
	{ "4iB", -EINVAL },
	{ "4P", -EINVAL },
	{ "4\x0b", -EINVAL },
	{ "0x10k", -EINVAL },
	{ "1e3", -EINVAL },
	{ "4\xcb", -EINVAL },
};

static const struct parse_case duration_cases[] = {
	{ "0", 0, 0 },
	{ "0s", 0, 0 },
	{ "10s", 0, UINT64_C(10000000000) },
	{ "5ms", 0, 5000000 },
	{ "1.5us", 0, 1500 },
	{ "0.001us", 0, 1 },
	{ "7ns", 0, 7 },
	{ "0.000000001s", 0, 1 },
	{ "18446744073.709551615s", 0, UINT64_MAX },
	{ "18446744073.709551616s", -ERANGE },
	{ "18446744074s", -ERANGE },
	{ "0.5ns", -EINVAL },
	{ "0.0000000001s", -EINVAL },
	{ "5", -EINVAL },
	{ "", -EINVAL },
	{ "s", -EINVAL },
	{ "5 s", -EINVAL },
	{ "5S", -EINVAL },
	{ "5m", -EINVAL },
	{ "5sec", -EINVAL },
	{ "-5s", -EINVAL },
	{ "5ss", -EINVAL },
};

static void test_between(void)
{
	uint64_t v = UNTOUCHED;

	is_i64(parse_u64_between("0", 1, 65535, &v), -ERANGE, "port 0");
	is_i64(parse_u64_between("65536", 1, 65535, &v), -ERANGE, "port 65536");
	is_i64(parse_u64_between("-0", 1, 65535, &v), -EINVAL, "port -0");
	is_u64(v, UNTOUCHED, "nothing was written");
	is_i64(parse_u64_between("65535", 1, 65535, &v), 0, "port 65535");
	is_u64(v, 65535, "is 65535");
}

/* Random "<whole>.<fraction><unit>", whose value 128 bits can tell. */
static void test_random_valid(void)
{
	static const char *const units[] = { "", "k", "M", "G", "T" };
	struct rng r;
	unsigned bad = 0, taken = 0;

	rng_init(&r, 1024);
	for (int i = 0; i < 100000; i++) {
		unsigned unit = (unsigned)rng_below(&r, ARRAY_SIZE(units));
		unsigned places = (unsigned)rng_below(&r, 7);
		uint64_t whole = rng_u64(&r) >> (20 + rng_below(&r, 44)), scale = 1;
		char text[64];
		uint64_t got = UNTOUCHED;

		for (unsigned p = 0; p < places; p++)
			scale *= 10;
		/* Often an exact fraction: multiples of 1/64. */
		uint64_t fraction = rng_chance_ppm(&r, 500000) ? rng_below(&r, scale)
							       : rng_below(&r, 64) * scale / 64;
		u128 value = ((u128)whole * scale + fraction) << (10 * unit);
		int want = value % scale ? -EINVAL : value / scale > UINT64_MAX ? -ERANGE : 0;

		if (places)
			snprintf(text, sizeof(text), "%" PRIu64 ".%0*" PRIu64 "%s", whole,
				 (int)places, fraction, units[unit]);
		else
			snprintf(text, sizeof(text), "%" PRIu64 "%s", whole, units[unit]);
		int ret = parse_size(text, &got);

		taken += ret == 0;
		if (ret != want || (ret == 0 && got != (uint64_t)(value / scale))) {
			bad++;
			diag("'%s': got %d, %" PRIu64 ", want %d", text, ret, got, want);
		}
	}
	is_u64(bad, 0, "100000 random sizes agree with 128 bits");
	ok(taken > 20000, "of which many are taken (%u)", taken);
}

/* Whether the grammar allows a text; the limits are another matter. */
static bool matches(const regex_t *grammar, const char *text)
{
	return regexec(grammar, text, 0, NULL, 0) == 0;
}

static void test_junk(const char *what, int (*parse)(const char *s, uint64_t *ret),
		      const char *pattern)
{
	static const char alphabet[] = "0019.5xXkKMGTiBnums -+\n";
	struct rng r;
	regex_t grammar;
	unsigned bad = 0, taken = 0;

	if (regcomp(&grammar, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
		ok(false, "the pattern of %s compiles", what);
		return;
	}
	rng_init(&r, 99);
	for (int i = 0; i < 200000; i++) {
		char text[12];
		size_t n = rng_below(&r, sizeof(text));
		uint64_t v = UNTOUCHED;

		for (size_t at = 0; at < n; at++)
			text[at] = alphabet[rng_below(&r, sizeof(alphabet) - 1)];
		text[n] = '\0';
		int ret = parse(text, &v);

		taken += ret == 0;
		/* A newline at the end is none of the grammar, but "$" may stand before it. */
		if (ret == 0 && (!matches(&grammar, text) || strchr(text, '\n')))
			bad++;
		if (ret != 0 && v != UNTOUCHED)
			bad++;
	}
	regfree(&grammar);
	is_u64(bad, 0, "%s takes nothing outside its grammar", what);
	ok(taken > 500, "%s takes some of it (%u)", what, taken);
}

static void test_format(void)
{
	char b[FORMAT_MAX];

	is_str(format_size(0, b, sizeof(b)), "0 B", "no bytes");
	is_str(format_size(1023, b, sizeof(b)), "1023 B", "bytes");
	is_str(format_size(4096, b, sizeof(b)), "4 KiB", "a whole number has no fraction");
	is_str(format_size(1610612736, b, sizeof(b)), "1.50 GiB", "three digits");
	is_str(format_size(10239, b, sizeof(b)), "10.0 KiB", "also when rounding adds one");
	is_str(format_size(UINT64_MAX, b, sizeof(b)), "16.0 EiB", "the most");
	is_str(format_duration(0, b, sizeof(b)), "0 ns", "no time");
	is_str(format_duration(999, b, sizeof(b)), "999 ns", "nanoseconds");
	is_str(format_duration(12345, b, sizeof(b)), "12.3 us", "microseconds");
	is_str(format_duration(1500000, b, sizeof(b)), "1.50 ms", "milliseconds");
	is_str(format_duration(123400000, b, sizeof(b)), "123 ms", "hundreds");
	is_str(format_duration(90000000000, b, sizeof(b)), "90 s", "seconds");
	is_str(format_duration(UINT64_MAX, b, sizeof(b)), "18446744074 s", "the most");
}

int main(void)
{
	try_cases("number", parse_u64, u64_cases, ARRAY_SIZE(u64_cases));
	try_cases("size", parse_size, size_cases, ARRAY_SIZE(size_cases));
	try_cases("duration", parse_duration_ns, duration_cases, ARRAY_SIZE(duration_cases));
	test_between();
	test_random_valid();
	test_junk("number", parse_u64, "^([0-9]+|0[xX][0-9a-fA-F]+)$");
	test_junk("size", parse_size, "^[0-9]+(\\.[0-9]+)?([kKmMgGtT](iB)?)?$");
	test_junk("duration", parse_duration_ns, "^([0-9]+(\\.[0-9]+)?(ns|us|ms|s)|0+(\\.0+)?)$");
	test_format();
	return tap_done();
}
