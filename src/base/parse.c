/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads "<digits>[.<digits>]<unit>" as an exact fraction: all digits as one integer over a power of
 * ten, times the unit. That way "1.1k" is refused and not rounded, which floating point would do.
 */
#include "base/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/util.h"

struct parse_unit {
	const char *name;
	uint64_t factor;
};

static int digit_value(char c, unsigned base)
{
	int v = -1;

	if (c >= '0' && c <= '9')
		v = c - '0';
	else if (c >= 'a' && c <= 'f')
		v = c - 'a' + 10;
	else if (c >= 'A' && c <= 'F')
		v = c - 'A' + 10;
	return v >= 0 && v < (int)base ? v : -1;
}

/*
 * Reads digits at *s into *value, on top of what it holds, and moves *s behind them. Returns their
 * number, or -ERANGE.
 */
static int take_digits(const char **s, unsigned base, uint64_t *value)
{
	int count = 0;

	for (; digit_value(**s, base) >= 0; (*s)++, count++) {
		uint64_t next;

		if (!u64_mul(*value, base, &next) ||
		    !u64_add(next, (uint64_t)digit_value(**s, base), &next))
			return -ERANGE;
		*value = next;
	}
	return count;
}

int parse_u64(const char *s, uint64_t *ret)
{
	unsigned base = 10;
	uint64_t value = 0;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		s += 2;
	}

	int count = take_digits(&s, base, &value);

	if (count == -ERANGE) {
		/*
		 * Too large only if nothing but digits follows; otherwise it was no number at
		 * all.
		 */
		while (digit_value(*s, base) >= 0)
			s++;
		return *s == '\0' ? -ERANGE : -EINVAL;
	}
	if (count == 0 || *s != '\0')
		return -EINVAL;
	*ret = value;
	return 0;
}

int parse_u64_between(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	uint64_t value;
	int r = parse_u64(s, &value);

	if (r < 0)
		return r;
	if (value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

/* Trailing zeroes of a fraction carry nothing, and must not overflow: 1.50000000000000000000k. */
static size_t fraction_length(const char *s)
{
	size_t n = strspn(s, "0123456789");

	while (n > 0 && s[n - 1] == '0')
		n--;
	return n;
}

/*
 * Reads the number at *s as *digits / *scale and moves *s behind it. -EINVAL no number; -ERANGE too
 * many digits for 64 bits.
 */
static int take_decimal(const char **s, uint64_t *digits, uint64_t *scale)
{
	int count;

	*digits = 0;
	*scale = 1;
	count = take_digits(s, 10, digits);
	if (count <= 0)
		return count == 0 ? -EINVAL : count;
	if (**s != '.')
		return 0;
	(*s)++;

	size_t all = strspn(*s, "0123456789");
	size_t n = fraction_length(*s);

	if (all == 0)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (!u64_mul(*digits, 10, digits) ||
		    !u64_add(*digits, (uint64_t)digit_value((*s)[i], 10), digits) ||
		    !u64_mul(*scale, 10, scale))
			return -ERANGE;
	}
	*s += all;
	return 0;
}

/* *ret = digits / scale * factor, if that is whole. */
static int scale_exactly(uint64_t digits, uint64_t scale, uint64_t factor, uint64_t *ret)
{
	/* Shorten first, so that only a result that does not fit can overflow. */
	uint64_t a = factor;
	uint64_t b = scale;

	while (b != 0) {
		uint64_t r = a % b;

		a = b;
		b = r;
	}
	factor /= a;
	scale /= a;
	/*
	 * Now factor and scale share no divisor: the result is whole only if scale divides
	 * digits.
	 */
	if (digits % scale != 0)
		return -EINVAL;
	return u64_mul(digits / scale, factor, ret) ? 0 : -ERANGE;
}

static const struct parse_unit *find_unit(const struct parse_unit *units, size_t count,
					  const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(units[i].name, name) == 0)
			return &units[i];
	}
	return NULL;
}

int parse_size(const char *s, uint64_t *ret_bytes)
{
	static const char letters[] = "kmgt";
	uint64_t digits, scale, bytes, factor = 1;
	int r = take_decimal(&s, &digits, &scale);

	if (r < 0)
		return r;
	if (*s != '\0') {
		/*
		 * |0x20 makes an ASCII letter lower case, and makes no letter of anything else
		 * here.
		 */
		const char *at = strchr(letters, *s | 0x20);

		if (!at || !*at)
			return -EINVAL;
		factor = UINT64_C(1024) << (10 * (at - letters));
		s++;
		if (*s != '\0' && strcmp(s, "iB") != 0)
			return -EINVAL;
	}
	r = scale_exactly(digits, scale, factor, &bytes);
	if (r < 0)
		return r;
	*ret_bytes = bytes;
	return 0;
}

int parse_duration_ns(const char *s, uint64_t *ret_ns)
{
	static const struct parse_unit units[] = {
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000 * 1000 },
		{ "s", 1000 * 1000 * 1000 },
	};
	uint64_t digits, scale, ns;
	int r = take_decimal(&s, &digits, &scale);

	if (r < 0)
		return r;
	if (*s == '\0' && digits == 0) {
		*ret_ns = 0;
		return 0;
	}

	const struct parse_unit *unit = find_unit(units, ARRAY_SIZE(units), s);

	if (!unit)
		return -EINVAL;
	r = scale_exactly(digits, scale, unit->factor, &ns);
	if (r < 0)
		return r;
	*ret_ns = ns;
	return 0;
}

/* Three significant digits of value / factor, factor > 1; a whole quotient has no fraction. */
static void format_scaled(uint64_t value, uint64_t factor, const char *unit, char *buf, size_t n)
{
	double v = (double)value / (double)factor;
	/* As the rounded text will show it: 9.996 is "10.0", not "10.00". */
	int decimals = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;

	if (value % factor == 0)
		decimals = 0;
	snprintf(buf, n, "%.*f %s", decimals, v, unit);
}

const char *format_size(uint64_t bytes, char *buf, size_t n)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned i = 0;

	while (i + 1 < ARRAY_SIZE(names) && bytes >> (10 * (i + 1)))
		i++;
	format_scaled(bytes, UINT64_C(1) << (10 * i), names[i], buf, n);
	return buf;
}

const char *format_duration(uint64_t ns, char *buf, size_t n)
{
	static const char *const names[] = { "ns", "us", "ms", "s" };
	unsigned i = 0;
	uint64_t factor = 1;

	while (i + 1 < ARRAY_SIZE(names) && ns / factor >= 1000) {
		factor *= 1000;
		i++;
	}
	format_scaled(ns, factor, names[i], buf, n);
	return buf;
}
