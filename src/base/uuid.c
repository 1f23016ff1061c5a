/* SPDX-License-Identifier: Apache-2.0 */
/* Text form and making of UUIDs; see uuid.h. */
#include "base/uuid.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/le.h"

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Whether a dash stands before the byte of this index: 8-4-4-4-12 digits. */
static bool dash_before(size_t byte)
{
	return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

int uuid_parse(const char *s, struct uuid *ret)
{
	struct uuid u;

	for (size_t i = 0; i < sizeof(u.b); i++) {
		if (dash_before(i) && *s++ != '-')
			return -EINVAL;

		int high = hex_value(s[0]);
		int low = high < 0 ? -1 : hex_value(s[1]);

		if (low < 0)
			return -EINVAL;
		u.b[i] = (uint8_t)(high << 4 | low);
		s += 2;
	}
	if (*s != '\0')
		return -EINVAL;
	*ret = u;
	return 0;
}

const char *uuid_format(const struct uuid *u, char buf[UUID_TEXT_MAX])
{
	static const char digits[] = "0123456789abcdef";
	char *at = buf;

	for (size_t i = 0; i < sizeof(u->b); i++) {
		if (dash_before(i))
			*at++ = '-';
		*at++ = digits[u->b[i] >> 4];
		*at++ = digits[u->b[i] & 0xf];
	}
	*at = '\0';
	return buf;
}

bool uuid_is_nil(const struct uuid *u)
{
	static const struct uuid nil;

	return uuid_equal(u, &nil);
}

bool uuid_equal(const struct uuid *a, const struct uuid *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

static void set_version(struct uuid *u, uint8_t version)
{
	u->b[6] = (uint8_t)(version << 4 | (u->b[6] & 0x0f));
	u->b[8] = (uint8_t)(0x80 | (u->b[8] & 0x3f));
}

void uuid_from_random(const uint8_t random[16], struct uuid *ret)
{
	memcpy(ret->b, random, sizeof(ret->b));
	set_version(ret, 4);
}

void uuid_from_name(const void *name, size_t n, struct uuid *ret)
{
	uint64_t first = hash_u64(hash_bytes(HASH_INIT, name, n), n);
	/*
	 * The second half hashes the same bytes from another start: with equal halves both
	 * repeat.
	 */
	uint64_t second = hash_u64(hash_bytes(hash_u64(HASH_INIT, 1), name, n), n);
	le64 halves[2] = { cpu_to_le64(first), cpu_to_le64(second) };

	memcpy(ret->b, halves, sizeof(ret->b));
	set_version(ret, 8);
}
