/* SPDX-License-Identifier: Apache-2.0 */
/* NVMe Qualified Names; see nqn.h. */
#include "nvme/nqn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Longest label of a domain name, RFC 1035 2.3.4. */
enum {
	DOMAIN_LABEL_MAX = 63,
};

/*
 * The length in bytes of the UTF-8 sequence at @s, of which @n bytes are there, or 0: not well
 * formed (RFC 3629: no overlong form, surrogate, or value past 10FFFFh), or a control character,
 * which has no place in a name and would act on a terminal.
 */
static size_t utf8_sequence(const uint8_t *s, size_t n)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c;
	size_t len;

	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f;
	len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc0 || s[0] > 0xf7 || len > n)
		return 0;
	c = s[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < smallest[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	/* C1 controls, 80h to 9Fh. */
	return c < 0xa0 ? 0 : len;
}

static bool is_clean_utf8(const uint8_t *s, size_t n)
{
	while (n > 0) {
		size_t len = utf8_sequence(s, n);

		if (len == 0)
			return false;
		s += len;
		n -= len;
	}
	return true;
}

int nvme_nqn_from_field(const uint8_t field[256], char ret[NVME_NQN_SIZE])
{
	const uint8_t *end = memchr(field, 0, NVME_NQN_SIZE);
	size_t n;

	if (!end || end == field)
		return -EINVAL;
	n = (size_t)(end - field);
	if (!is_clean_utf8(field, n))
		return -EINVAL;
	memcpy(ret, field, n + 1);
	return 0;
}

int nvme_nqn_to_field(const char *nqn, uint8_t field[256])
{
	size_t n = strnlen(nqn, NVME_NQN_SIZE);

	if (n == 0 || n > NVME_NQN_MAX || !is_clean_utf8((const uint8_t *)nqn, n))
		return -EINVAL;
	memset(field, 0, 256);
	memcpy(field, nqn, n);
	return 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_label_char(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

/* "yyyy-mm." with a month that exists. */
static bool is_date(const char *s)
{
	for (int i = 0; i < 7; i++) {
		if (i == 4 ? s[i] != '-' : !is_digit(s[i]))
			return false;
	}
	if (s[7] != '.')
		return false;
	return s[5] == '0' ? s[6] != '0' : s[5] == '1' && s[6] <= '2';
}

/*
 * The domain at @s, up to a ':' or the end: labels of letters, digits and inner hyphens, with dots
 * between. @ret_len is written when it is one.
 */
static const char *domain_fault(const char *s, size_t *ret_len)
{
	size_t i = 0;

	for (;;) {
		size_t start = i;

		while (is_label_char(s[i]))
			i++;
		if (s[i] != '.' && s[i] != ':' && s[i] != '\0')
			return "a character that no domain name has";
		if (i == start)
			return "an empty label in the domain name";
		if (i - start > DOMAIN_LABEL_MAX)
			return "a label of the domain name is longer than 63 bytes";
		if (s[start] == '-' || s[i - 1] == '-')
			return "a label of the domain name begins or ends with a hyphen";
		if (s[i] != '.')
			break;
		i++;
	}
	*ret_len = i;
	return NULL;
}

const char *nvme_nqn_fault(const char *nqn)
{
	static const char uuid_prefix[] = NVME_NQN_UUID_PREFIX;
	const char *fault;
	struct uuid uuid;
	size_t len = strnlen(nqn, NVME_NQN_SIZE);

	if (len == 0)
		return "is empty";
	if (len > NVME_NQN_MAX)
		return "longer than 223 bytes";
	if (!is_clean_utf8((const uint8_t *)nqn, len))
		return "not UTF-8, or with control characters";
	if (strncmp(nqn, uuid_prefix, strlen(uuid_prefix)) == 0) {
		if (uuid_parse(nqn + strlen(uuid_prefix), &uuid) < 0)
			return "no UUID after \"" NVME_NQN_UUID_PREFIX "\"";
		return NULL;
	}
	if (strncmp(nqn, "nqn.", 4) != 0)
		return "does not begin with \"nqn.\"";
	/*
	 * is_date() stops at the first byte that does not fit, hence never passes the terminator.
	 */
	if (!is_date(nqn + 4))
		return "no date \"yyyy-mm.\" after \"nqn.\"";
	fault = domain_fault(nqn + 12, &len);
	if (fault)
		return fault;
	if (nqn[12 + len] == ':' && nqn[12 + len + 1] == '\0')
		return "nothing after the colon";
	return NULL;
}

bool nvme_nqn_is_discovery(const char *nqn)
{
	return strcmp(nqn, NVME_DISCOVERY_NQN) == 0;
}

void nvme_nqn_from_uuid(const struct uuid *uuid, char ret[NVME_NQN_SIZE])
{
	char text[UUID_TEXT_MAX];

	snprintf(ret, NVME_NQN_SIZE, "%s%s", NVME_NQN_UUID_PREFIX, uuid_format(uuid, text));
}
