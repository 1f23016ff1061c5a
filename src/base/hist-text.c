/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hist-text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

size_t hist_format(const struct hist *h, char *buf, size_t n)
{
	size_t len = (size_t)snprintf(buf, n, "hist/1 %d %d %llu %llu %llu %llu", HIST_PART_BITS, HIST_MAX_BITS,
				      (unsigned long long)h->count, (unsigned long long)h->sum,
				      (unsigned long long)(h->count ? h->min : 0), (unsigned long long)h->max);

	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		if (h->bucket[i] == 0)
			continue;
		len += (size_t)snprintf(len < n ? buf + len : NULL, len < n ? n - len : 0, " %u:%llu", i,
					(unsigned long long)h->bucket[i]);
	}
	return len;
}

/* Digits at *@s, which then points behind them. */
static bool number(const char **s, uint64_t *ret)
{
	uint64_t v = 0;
	const char *p = *s;

	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (!u64_mul(v, 10, &v) || !u64_add(v, (uint64_t)(*p - '0'), &v))
			return false;
	}
	*s = p;
	*ret = v;
	return true;
}

static bool skip(const char **s, char c)
{
	if (**s != c)
		return false;
	(*s)++;
	return true;
}

static bool head(const char **s, struct hist *h)
{
	return skip(s, ' ') && number(s, &h->count) && skip(s, ' ') && number(s, &h->sum) && skip(s, ' ') &&
	       number(s, &h->min) && skip(s, ' ') && number(s, &h->max);
}

/* Each bucket once and in order, none empty, and together as many samples as the head says. */
static bool buckets(const char **s, struct hist *h)
{
	uint64_t next = 0, total = 0;

	while (skip(s, ' ')) {
		uint64_t i, n;

		if (!number(s, &i) || !skip(s, ':') || !number(s, &n))
			return false;
		if (i < next || i >= HIST_BUCKETS || n == 0 || !u64_add(total, n, &total))
			return false;
		h->bucket[i] = n;
		next = i + 1;
	}
	return **s == 0 && total == h->count;
}

int hist_parse(const char *text, struct hist *ret, struct err *err)
{
	static const char magic[] = "hist/1 ";
	struct hist h;
	uint64_t part, max;

	hist_init(&h);
	if (strncmp(text, magic, sizeof(magic) - 1) != 0)
		return err_set(err, EBADMSG, "no histogram: expected a text that begins with 'hist/1'");
	text += sizeof(magic) - 1;
	if (!number(&text, &part) || !skip(&text, ' ') || !number(&text, &max))
		return err_set(err, EBADMSG, "no histogram: expected numbers behind 'hist/1'");
	if (part != HIST_PART_BITS || max != HIST_MAX_BITS)
		return err_set(err, EOPNOTSUPP, "a histogram of other buckets (%llu, %llu): expected %d, %d",
			       (unsigned long long)part, (unsigned long long)max, HIST_PART_BITS, HIST_MAX_BITS);
	if (!head(&text, &h) || !buckets(&text, &h) || h.min > h.max)
		return err_set(err, EBADMSG, "a damaged histogram");
	if (h.count == 0)
		h.min = UINT64_MAX;
	*ret = h;
	return 0;
}
