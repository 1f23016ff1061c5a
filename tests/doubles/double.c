/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/doubles/double.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

enum { RULES_MAX = 16 };

struct rule {
	char function[64];
	uint64_t first;
	bool all_after;
	uint64_t calls;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rule rules[RULES_MAX];
static unsigned int rule_count;
static bool parsed;

static void parse_rule(const char *text, size_t n)
{
	struct rule *r = &rules[rule_count];
	char one[96], *colon, *plus;

	if (n >= sizeof(one) || rule_count == RULES_MAX)
		double_misuse("PENSTOCK_DOUBLE_FAIL: too long");
	memcpy(one, text, n);
	one[n] = 0;
	colon = strchr(one, ':');
	if (!colon || colon == one || (size_t)(colon - one) >= sizeof(r->function))
		double_misuse("PENSTOCK_DOUBLE_FAIL: '%s': expected FUNCTION:N or FUNCTION:N+", one);
	memcpy(r->function, one, (size_t)(colon - one));
	plus = strchr(colon, '+');
	r->all_after = plus && plus[1] == 0;
	if (r->all_after)
		*plus = 0;
	if (parse_u64(colon + 1, &r->first) < 0 || r->first == 0)
		double_misuse("PENSTOCK_DOUBLE_FAIL: '%s': expected FUNCTION:N or FUNCTION:N+", one);
	rule_count++;
}

static void parse(void)
{
	const char *s = getenv("PENSTOCK_DOUBLE_FAIL");

	parsed = true;
	while (s && *s) {
		size_t n = strcspn(s, ",");

		parse_rule(s, n);
		s += n + (s[n] == ',');
	}
}

bool double_fails(const char *function)
{
	bool fails = false;

	pthread_mutex_lock(&lock);
	if (!parsed)
		parse();
	for (unsigned int i = 0; i < rule_count; i++) {
		struct rule *r = &rules[i];

		if (strcmp(r->function, function) != 0)
			continue;
		r->calls++;
		fails = fails || r->calls == r->first || (r->all_after && r->calls > r->first);
	}
	pthread_mutex_unlock(&lock);
	return fails;
}

uint64_t double_number(const char *variable, uint64_t otherwise)
{
	const char *s = getenv(variable);
	uint64_t v;

	if (!s)
		return otherwise;
	if (parse_u64(s, &v) < 0)
		double_misuse("%s: '%s' is no number", variable, s);
	return v;
}

void double_misuse(const char *fmt, ...)
{
	va_list args;

	fputs("double: misuse: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}
