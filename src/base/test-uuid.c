/* SPDX-License-Identifier: Apache-2.0 */
/* UUIDs: text both ways, what is no UUID, and the bits that RFC 9562 fixes. */
#include "base/uuid.h"

#include <errno.h>

#include "base/rng.h"
#include "tests/tap.h"

static void test_text(void)
{
	/* RFC 9562 appendix A.3. */
	static const char text[] = "919108f7-52d1-4320-9bac-f847db4148a8";
	struct uuid u;
	char buf[UUID_TEXT_MAX];

	is_i64(uuid_parse(text, &u), 0, "takes a UUID");
	is_mem(u.b, "\x91\x91\x08\xf7\x52\xd1\x43\x20\x9b\xac\xf8\x47\xdb\x41\x48\xa8", 16,
	       "bytes in the order of the text");
	is_str(uuid_format(&u, buf), text, "and gives it back");
	is_i64(uuid_parse("919108F7-52D1-4320-9BAC-F847DB4148A8", &u), 0, "takes upper case");
	is_str(uuid_format(&u, buf), text, "and gives it back in lower");
}

static void test_junk(void)
{
	static const char *const junk[] = {
		"",
		"-",
		"919108f7",
		"919108f752d143209bacf847db4148a8",
		"919108f7-52d1-4320-9bac-f847db4148a",
		"919108f7-52d1-4320-9bac-f847db4148a80",
		"919108f7-52d1-4320-9bac-f847db4148a8 ",
		" 919108f7-52d1-4320-9bac-f847db4148a8",
		"919108f7-52d1-4320-9bac-f847db4148g8",
		"919108f7-52d1-43209-bac-f847db4148a8",
		"919108f7_52d1_4320_9bac_f847db4148a8",
		"{919108f7-52d1-4320-9bac-f847db4148a8}",
	};
	struct uuid u = { { 42 } };

	for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++)
		is_i64(uuid_parse(junk[i], &u), -EINVAL, "refuses '%s'", junk[i]);
	is_u64(u.b[0], 42, "and writes nothing");
}

static void test_round_trip(void)
{
	struct rng r;
	unsigned bad = 0;

	rng_init(&r, 4122);
	for (int i = 0; i < 10000; i++) {
		struct uuid a, b;
		char buf[UUID_TEXT_MAX];

		rng_fill(&r, a.b, sizeof(a.b));
		bad += uuid_parse(uuid_format(&a, buf), &b) != 0 || !uuid_equal(&a, &b);
	}
	is_u64(bad, 0, "any 16 bytes come back through their text");
}

static void test_making(void)
{
	uint8_t ones[16];
	struct uuid u, v;
	char buf[UUID_TEXT_MAX];

	memset(ones, 0xff, sizeof(ones));
	uuid_from_random(ones, &u);
	is_str(uuid_format(&u, buf), "ffffffff-ffff-4fff-bfff-ffffffffffff",
	       "version 4 and variant");
	uuid_from_name("volume-1", 8, &u);
	uuid_from_name("volume-1", 8, &v);
	ok(uuid_equal(&u, &v), "the same name gives the same UUID");
	is_u64(u.b[6] >> 4, 8, "version 8");
	is_u64(u.b[8] >> 6, 2, "variant");
	is_str(uuid_format(&u, buf), "6b0dff09-5f14-818c-8d77-7bf25a2ec871",
	       "and gives it in every release");
	uuid_from_name("volume-2", 8, &v);
	ok(!uuid_equal(&u, &v), "another name gives another");
	ok(memcmp(u.b, u.b + 8, 6) != 0, "its halves are not each other's copy");
}

int main(void)
{
	struct uuid nil = { { 0 } }, other = { { [15] = 1 } };

	ok(uuid_is_nil(&nil) && !uuid_is_nil(&other), "nil");
	test_text();
	test_junk();
	test_round_trip();
	test_making();
	return tap_done();
}
