/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NQNs: fields of a peer, among them every hostile one we could think of, and the rules of 4.5 for
 * our own.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "nvme/nqn.h"
#include "tests/tap.h"

/* A field on the heap, exactly as long, so that a sanitizer sees a byte read past it. */
static int from_bytes(const void *bytes, size_t n, uint8_t fill, char ret[NVME_NQN_SIZE])
{
	uint8_t *field = malloc(256);
	int r;

	if (!field)
		abort();
	memset(field, fill, 256);
	memcpy(field, bytes, n);
	r = nvme_nqn_from_field(field, ret);
	free(field);
	return r;
}

static void test_unterminated(void)
{
	char out[NVME_NQN_SIZE] = "untouched";
	uint8_t all[256];

	memset(all, 'A', sizeof(all));
	is_i64(from_bytes(all, 256, 0, out), -EINVAL, "256 bytes without a NUL");
	all[255] = 0;
	is_i64(from_bytes(all, 256, 0, out), -EINVAL, "255 bytes and a NUL");
	all[224] = 0;
	is_i64(from_bytes(all, 256, 0, out), -EINVAL, "224 bytes and a NUL");
	is_str(out, "untouched", "the result is written only on success");
	all[223] = 0;
	is_i64(from_bytes(all, 256, 0, out), 0, "223 bytes and a NUL");
	is_u64(strlen(out), 223, "are all there");
}

static void test_field(void)
{
	char out[NVME_NQN_SIZE] = "untouched";

	is_i64(from_bytes("", 1, 0, out), -EINVAL, "an empty field");
	is_i64(from_bytes("", 1, 'x', out), -EINVAL, "a NUL, then other bytes");
	is_i64(from_bytes("nqn.a\nb", 8, 0, out), -EINVAL, "a newline");
	is_i64(from_bytes("nqn.a\033[2J", 10, 0, out), -EINVAL, "an escape sequence");
	is_i64(from_bytes("nqn.a\x7f", 7, 0, out), -EINVAL, "DEL");
	is_i64(from_bytes("nqn.\xc2\x85", 7, 0, out), -EINVAL, "a C1 control");
	is_i64(from_bytes("nqn.\xc2\x9f", 7, 0, out), -EINVAL, "the last C1 control");
	is_i64(from_bytes("nqn.\xff", 6, 0, out), -EINVAL, "a byte UTF-8 never has");
	is_i64(from_bytes("nqn.\x80", 6, 0, out), -EINVAL, "a continuation without a start");
	is_i64(from_bytes("nqn.\xc3", 6, 0, out), -EINVAL, "a sequence cut by the NUL");
	is_i64(from_bytes("nqn.\xc0\xaf", 7, 0, out), -EINVAL, "an overlong form");
	is_i64(from_bytes("nqn.\xe0\x80\xaf", 8, 0, out), -EINVAL, "an overlong form of 3 bytes");
	is_i64(from_bytes("nqn.\xed\xa0\x80", 8, 0, out), -EINVAL, "a surrogate");
	is_i64(from_bytes("nqn.\xf4\x90\x80\x80", 9, 0, out), -EINVAL, "past 10FFFFh");
	is_str(out, "untouched", "none of them wrote a result");
	is_i64(from_bytes("nqn.2014-08.org.\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xbe", 26, 0, out), 0,
	       "UTF-8 of 2, 3 and 4 bytes");
	is_i64(from_bytes("nqn.\xc2\xa0", 7, 0, out), 0, "the first character after them");
	is_i64(from_bytes("nvmet-test", 11, 0x41, out), 0,
	       "any name is a name, and bytes after the NUL do not matter");
	is_str(out, "nvmet-test", "it is read up to the NUL");
}

static void test_to_field(void)
{
	uint8_t field[256], want[256] = "nqn.2014-08.org.nvmexpress.discovery";
	char out[NVME_NQN_SIZE], big[300];

	memset(field, 0xee, sizeof(field));
	is_i64(nvme_nqn_to_field(NVME_DISCOVERY_NQN, field), 0, "into a field");
	is_mem(field, want, 256, "padded with zeroes");
	is_i64(nvme_nqn_from_field(field, out), 0, "and back");
	is_str(out, NVME_DISCOVERY_NQN, "the same");
	memset(big, 'a', sizeof(big));
	big[224] = 0;
	is_i64(nvme_nqn_to_field(big, field), -EINVAL, "224 bytes do not go into a field");
	is_mem(field, want, 256, "which is then untouched");
	big[223] = 0;
	is_i64(nvme_nqn_to_field(big, field), 0, "223 bytes do");
	is_i64(nvme_nqn_to_field("", field), -EINVAL, "nothing does not");
}

static void test_form(void)
{
	static const char *const good[] = {
		NVME_DISCOVERY_NQN,
		"nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
		"nqn.2014-08.org.nvmexpress:uuid:F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6",
		"nqn.2026-11.io.penstock:default",
		"nqn.2014-08.com.example:nvme:nvm-subsystem-sn-d78432",
		"nqn.1988-11.com.dell:powerstore:00:1a2b3c",
		"nqn.2016-06.io.spdk:cnode1",
		"nqn.2019-12.x",
		"nqn.2001-01.com.3m:a",
		"nqn.2001-01.com.ex-ample:\xc3\xa9",
	};
	static const char *const bad[] = {
		"",
		"n",
		"nqn.",
		"nqn.2014",
		"nqn.2014-08",
		"nqn.2014-08.",
		"nqn.2014-08.:x",
		"nqn.2014-08.com.example:",
		"nqn.2014-08.com..example",
		"nqn.2014-08.com.",
		"nqn.2014-08.-com",
		"nqn.2014-08.com-",
		"nqn.2014-08.com.exa_mple",
		"nqn.2014-08.com.exa mple",
		"nqn.2014-08.com.ex\xc3\xa9mple",
		"nqn.2014-00.com.example",
		"nqn.2014-13.com.example",
		"nqn.2014-1.com.example",
		"nqn.214-08.com.example",
		"nqn.2014.08.com.example",
		"NQN.2014-08.com.example",
		"iqn.2014-08.com.example",
		"nqn.2014-08.com.example:a\tb",
		"nqn.2014-08.org.nvmexpress:uuid:",
		"nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf",
		"nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf60",
		"nqn.2014-08.org.nvmexpress:uuid:f81d4fae07dec-11d0-a765-00a0c91e6bf6",
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ok(nvme_nqn_valid(good[i]), "valid: %s", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *fault = nvme_nqn_fault(bad[i]);

		ok(fault, "not valid: \"%s\" (%s)", bad[i], fault ? fault : "no fault found");
	}
}

static void test_form_limits(void)
{
	char text[300] = "nqn.2014-08.";
	size_t at = strlen(text);

	memset(text + at, 'a', 63);
	text[at + 63] = 0;
	ok(nvme_nqn_valid(text), "a label of 63 bytes");
	text[at + 63] = 'a';
	text[at + 64] = 0;
	ok(!nvme_nqn_valid(text), "a label of 64 bytes");
	memset(text + at, 'a', sizeof(text) - at - 1);
	text[at + 3] = ':';
	ok(!nvme_nqn_valid(text), "299 bytes");
	text[224] = 0;
	ok(!nvme_nqn_valid(text), "224 bytes");
	text[223] = 0;
	ok(nvme_nqn_valid(text), "223 bytes");
}

/* Each prefix of a good name in a buffer of its own: no byte past the NUL is read. */
static void test_prefixes(void)
{
	static const char name[] =
		"nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
	unsigned int valid = 0;

	for (size_t n = 0; n < sizeof(name); n++) {
		char *copy = malloc(n + 1);

		if (!copy)
			abort();
		memcpy(copy, name, n);
		copy[n] = 0;
		valid += nvme_nqn_valid(copy);
		free(copy);
	}
	/* "o" to "org", "org.n" to "org.nvmexpress", ":u" to ":uuid", the whole. */
	is_u64(valid, 3 + 10 + 4 + 1, "so many prefixes are names themselves");
}

static void test_known(void)
{
	struct uuid u = { { 0xf8, 0x1d, 0x4f, 0xae, 0x7d, 0xec, 0x11, 0xd0, 0xa7, 0x65, 0x00, 0xa0,
			    0xc9, 0x1e, 0x6b, 0xf6 } };
	char out[NVME_NQN_SIZE];

	ok(nvme_nqn_is_discovery("nqn.2014-08.org.nvmexpress.discovery"), "the discovery NQN");
	ok(!nvme_nqn_is_discovery("nqn.2014-08.org.nvmexpress.discoveryx"), "another NQN");
	nvme_nqn_from_uuid(&u, out);
	is_str(out, "nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
	       "the NQN of a UUID");
	ok(nvme_nqn_valid(out), "which is valid");
}

int main(void)
{
	test_unterminated();
	test_field();
	test_to_field();
	test_form();
	test_form_limits();
	test_prefixes();
	test_known();
	return tap_done();
}
