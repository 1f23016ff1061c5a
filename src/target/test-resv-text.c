/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state file of reservations: what is written is read, and nothing else is.
 */
#include "target/resv-text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/rng.h"
#include "tests/tap.h"

static const struct tgt_resv_owner owner = {
	.nqn = "nqn.2026-11.io.penstock:test",
	.nsid = 3,
	.uuid = { { 1, 2, 3, 4 } },
};
static struct tgt_resv_state s, got;
static char text[TGT_RESV_TEXT_MAX], other[TGT_RESV_TEXT_MAX + 64];

static void fill(struct rng *rng, uint16_t count)
{
	memset(&s, 0, sizeof(s));
	s.ptpl = true;
	s.generation = (uint32_t)rng_u64(rng);
	s.count = count;
	for (int i = 0; i < count; i++) {
		rng_fill(rng, s.registrants[i].host, sizeof(s.registrants[i].host));
		s.registrants[i].key = rng_u64(rng) | 1;
	}
	if (count > 0) {
		s.type = (uint8_t)rng_below(rng, 7);
		s.holder = s.type > 0 && s.type < 5 ? (uint16_t)rng_below(rng, count) : 0;
	}
}

static void round_trips(void)
{
	struct rng rng;
	struct err err;
	bool good = true;

	rng_init(&rng, 1);
	for (int i = 0; i < 300; i++) {
		size_t n;

		fill(&rng,
		     i < 3 ? (uint16_t)i : (uint16_t)rng_below(&rng, TGT_RESV_REGISTRANTS + 1));
		if (i == 3)
			fill(&rng, TGT_RESV_REGISTRANTS);
		n = tgt_resv_encode(&s, &owner, text);
		memset(&got, 0, sizeof(got));
		good = good && tgt_resv_decode(text, n, &owner, &got, &err) == 1 &&
		       memcmp(&s, &got, sizeof(s)) == 0;
	}
	ok(good, "what was written is read, of 0 to %d registrants", TGT_RESV_REGISTRANTS);
}

/* Whatever is done to it: noticed. */
static void damage(void)
{
	struct err err = ERR_NULL;
	struct rng rng;
	size_t n;
	int wrong = 0;

	rng_init(&rng, 2);
	fill(&rng, 5);
	n = tgt_resv_encode(&s, &owner, text);
	for (size_t i = 0; i < n; i++)
		wrong += tgt_resv_decode(text, i, &owner, &got, &err) != -EINVAL;
	is_u64((unsigned int)wrong, 0, "cut short at every byte: refused");
	for (size_t i = 0; i < n; i++)
		for (int bit = 0; bit < 8; bit++) {
			memcpy(other, text, n);
			other[i] = (char)(other[i] ^ 1 << bit);
			wrong += tgt_resv_decode(other, n, &owner, &got, &err) != -EINVAL;
		}
	is_u64((unsigned int)wrong, 0, "every bit flipped: refused");
	memcpy(other, text, n);
	memcpy(other + n, text, 30);
	is_i64(tgt_resv_decode(other, n + 30, &owner, &got, &err), -EINVAL,
	       "more behind it: refused");
	is_i64(tgt_resv_decode("", 0, &owner, &got, &err), -EINVAL, "an empty file: refused");
	ok(strlen(err.text) > 10, "... and the error says what: %s", err.text);
}

/* A text whose checksum is right all the same: @from is replaced by @to. */
static int edited(const char *from, const char *to, struct err *err)
{
	size_t n = tgt_resv_encode(&s, &owner, text);
	char *at;

	snprintf(other, sizeof(other), "%.*s", (int)n, text);
	*strstr(other, "crc32c") = '\0';
	at = strstr(other, from);
	memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
	memcpy(at, to, strlen(to));
	n = strlen(other);
	snprintf(other + n, sizeof(other) - n, "crc32c %08x\n", crc32c(0, other, n));
	return tgt_resv_decode(other, strlen(other), &owner, &got, err);
}

static void contents(void)
{
	static const struct {
		const char *from, *to, *says;
	} rows[] = {
		{ "reservations 1", "reservations 2", "begin" },
		{ "penstock:test", "penstock:else", "subsystem" },
		{ "nsid 3", "nsid 4", "nsid" },
		{ "nsid 3", "nsid x", "nsid" },
		{ "generation ", "generation -", "generation" },
		{ "generation ", "generations ", "generation" },
		{ "type 4 1", "type 7 1", "type" },
		{ "type 4 1", "type 4 2", "holder" },
		{ "type 4 1", "type 4", "type" },
		{ "type 4 1", "type 4 99999999999999999999", "type" },
		{ "registrant aaaa", "registrant bbbb", "host identifier" },
		{ "registrant aaaa", "registrant aaa", "registrant" },
		{ "registrant aaaa", "registrant aaxa", "registrant" },
		{ " 0000000000000011\n", " 0000000000000000\n", "key" },
		{ " 0000000000000011\n", " 100000000000000000011\n", "key" },
		{ " 0000000000000011\n", "\n", "registrant" },
		{ "registrant aaaa", "registrants aaaa", "registrant" },
		{ "uuid 0", "uuid ", "UUID" },
	};
	struct err err = ERR_NULL;

	memset(&s, 0, sizeof(s));
	s.count = 2;
	s.type = 4;
	s.holder = 1;
	memset(s.registrants[0].host, 0xaa, NVME_HOSTID_SIZE);
	memset(s.registrants[1].host, 0xbb, NVME_HOSTID_SIZE);
	s.registrants[1].host[0] = 0xbb;
	s.registrants[0].key = 0x11;
	s.registrants[1].key = 0x22;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		err.text[0] = '\0';
		if (strcmp(rows[i].says, "host identifier") == 0) {
			is_i64(edited("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
				      "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", &err),
			       -EINVAL, "two of the same");
		} else {
			is_i64(edited(rows[i].from, rows[i].to, &err), -EINVAL, "%s for %s",
			       rows[i].to, rows[i].from);
		}
		ok(strstr(err.text, rows[i].says) != NULL, "... says '%s'", err.text);
	}
	is_i64(edited("uuid 01", "uuid 02", &err), 0, "another UUID: another namespace");
	is_i64(edited("nsid 3", "nsid 3", &err), 1, "and unedited it is read");
}

int main(void)
{
	round_trips();
	damage();
	contents();
	return tap_done();
}
