/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a state file; the idea is in resv-text.h.
 *
 *	penstock reservations 1
 *	subsystem nqn.2026-11.io.penstock:default
 *	nsid 1
 *	uuid 7c4e2f3a-...
 *	generation 12
 *	type 3 0			reservation type, index of the registrant that holds it
 *	registrant 0123...ef 00000000000000a1		host identifier, key
 *	crc32c 1a2b3c4d			of everything before
 */
#include "target/resv-text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/util.h"

#define FIRST_LINE "penstock reservations 1\n"

/* ---- out ------------------------------------------------------------------------------------- */

static const char *hex(const uint8_t *from, char to[2 * NVME_HOSTID_SIZE + 1])
{
	for (int i = 0; i < NVME_HOSTID_SIZE; i++)
		snprintf(to + 2 * i, 3, "%02x", from[i]);
	return to;
}

size_t tgt_resv_encode(const struct tgt_resv_state *s, const struct tgt_resv_owner *owner,
		       char *text)
{
	char uuid[UUID_TEXT_MAX], host[2 * NVME_HOSTID_SIZE + 1];
	size_t n;

	n = (size_t)snprintf(text, TGT_RESV_TEXT_MAX,
			     FIRST_LINE "subsystem %s\nnsid %" PRIu32
					"\nuuid %s\ngeneration %" PRIu32 "\ntype %u %u\n",
			     owner->nqn, owner->nsid, uuid_format(&owner->uuid, uuid),
			     s->generation, s->type, s->holder);
	for (int i = 0; i < s->count; i++)
		n += (size_t)snprintf(text + n, TGT_RESV_TEXT_MAX - n,
				      "registrant %s %016" PRIx64 "\n",
				      hex(s->registrants[i].host, host), s->registrants[i].key);
	n += (size_t)snprintf(text + n, TGT_RESV_TEXT_MAX - n, "crc32c %08" PRIx32 "\n",
			      crc32c(0, text, n));
	INVARIANT(n < TGT_RESV_TEXT_MAX);
	return n;
}

/* ---- in -------------------------------------------------------------------------------------- */

/* What is left of the text, and which line it begins with. */
struct reader {
	char *at;
	unsigned int line;
	struct err *err;
};

static int wrong(struct reader *r, const char *expected)
{
	return err_set(r->err, EINVAL, "line %u is damaged: %s was expected", r->line, expected);
}

/* The rest of the line that begins with @word and a space; NULL: it does not. */
static char *value(struct reader *r, const char *word)
{
	size_t n = strlen(word);
	char *end = strchr(r->at, '\n'), *from;

	r->line++;
	if (!end || strncmp(r->at, word, n) != 0 || r->at[n] != ' ')
		return NULL;
	*end = '\0';
	from = r->at + n + 1;
	r->at = end + 1;
	return from;
}

/* A digit of @base, as they were written; -1: it is none. */
static int digit(char c, unsigned int base)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return base == 16 && c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A number of @base at *@at, which must end with @stop. */
static bool number(char **at, unsigned int base, char stop, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;
	char *c = *at;

	for (int d; (d = digit(*c, base)) >= 0; c++) {
		if ((uint64_t)d > max || v > (max - (uint64_t)d) / base)
			return false;
		v = v * base + (uint64_t)d;
	}
	if (c == *at || *c != stop)
		return false;
	*ret = v;
	*at = c + (stop != '\0');
	return true;
}

static bool number_of(struct reader *r, const char *word, uint64_t max, uint64_t *ret)
{
	char *v = value(r, word);

	return v && number(&v, 10, '\0', max, ret);
}

static bool host_id(char **at, uint8_t host[NVME_HOSTID_SIZE])
{
	if (strlen(*at) < 2 * NVME_HOSTID_SIZE + 1 || (*at)[2 * NVME_HOSTID_SIZE] != ' ')
		return false;
	for (int i = 0; i < NVME_HOSTID_SIZE; i++) {
		int high = digit((*at)[2 * i], 16), low = digit((*at)[2 * i + 1], 16);

		if (high < 0 || low < 0)
			return false;
		host[i] = (uint8_t)(high << 4 | low);
	}
	*at += 2 * NVME_HOSTID_SIZE + 1;
	return true;
}

static int registrants(struct reader *r, struct tgt_resv_state *s)
{
	while (strncmp(r->at, "registrant ", strlen("registrant ")) == 0) {
		struct tgt_registrant *g = &s->registrants[s->count];
		char *v = value(r, "registrant");

		if (s->count == TGT_RESV_REGISTRANTS)
			return wrong(r, "the last registrant");
		if (!v || !host_id(&v, g->host) || !number(&v, 16, '\0', UINT64_MAX, &g->key) ||
		    g->key == 0)
			return wrong(r, "'registrant', a host identifier and a key");
		if (tgt_resv_find(s, g->host) >= 0)
			return wrong(r, "another host identifier than before");
		s->count++;
	}
	if (*r->at != '\0')
		return wrong(r, "a registrant or the checksum");
	if (s->count == 0 ? s->type != NVME_RTYPE_NONE : s->holder >= s->count)
		return err_set(r->err, EINVAL, "the reservation's holder is no registrant");
	return 0;
}

static int read_state(struct reader *r, struct tgt_resv_state *s)
{
	uint64_t generation, type, holder;
	char *v;

	if (!number_of(r, "generation", UINT32_MAX, &generation))
		return wrong(r, "'generation' and a number");
	v = value(r, "type");
	if (!v || !number(&v, 10, ' ', NVME_RTYPE_EXCLUSIVE_ACCESS_ALL, &type) ||
	    !number(&v, 10, '\0', TGT_RESV_REGISTRANTS, &holder))
		return wrong(r, "'type', a reservation type and a registrant");
	s->generation = (uint32_t)generation;
	s->type = (uint8_t)type;
	s->holder = (uint16_t)holder;
	s->ptpl = true;
	return registrants(r, s);
}

/* The last line, which it takes off the text. */
static int check_sum(char *text, size_t n, struct err *err)
{
	size_t last = n > 1 ? n - 1 : 0;
	char sum[32];

	while (last > 0 && text[last - 1] != '\n')
		last--;
	snprintf(sum, sizeof(sum), "crc32c %08" PRIx32 "\n", crc32c(0, text, last));
	if (n == 0 || strcmp(text + last, sum) != 0)
		return err_set(err, EINVAL, "the checksum at its end is wrong, or not there");
	text[last] = '\0';
	return 0;
}

static int decode(char *text, size_t n, const struct tgt_resv_owner *owner,
		  struct tgt_resv_state *s, struct err *err)
{
	struct reader r = { .at = text + strlen(FIRST_LINE), .line = 1, .err = err };
	struct uuid uuid;
	uint64_t nsid;
	char *v;
	int e;

	if (strncmp(text, FIRST_LINE, strlen(FIRST_LINE)) != 0)
		return err_set(err, EINVAL, "it does not begin with 'penstock reservations 1'");
	if (strlen(text) != n)
		return err_set(err, EINVAL, "there is a byte in it that is no text");
	e = check_sum(text, n, err);
	if (e < 0)
		return e;
	v = value(&r, "subsystem");
	if (!v || strcmp(v, owner->nqn) != 0)
		return err_set(err, EINVAL, "it is of the subsystem '%s'", v ? v : "?");
	if (!number_of(&r, "nsid", UINT32_MAX, &nsid) || nsid != owner->nsid)
		return wrong(&r, "'nsid' and the namespace's number");
	v = value(&r, "uuid");
	if (!v || uuid_parse(v, &uuid) < 0)
		return wrong(&r, "'uuid' and a UUID");
	e = read_state(&r, s);
	return e < 0 ? e : uuid_equal(&uuid, &owner->uuid);
}

int tgt_resv_decode(const char *text, size_t n, const struct tgt_resv_owner *owner,
		    struct tgt_resv_state *ret_state, struct err *err)
{
	struct tgt_resv_state *s = mem_zalloc(sizeof(*s));
	char *copy = mem_alloc(n + 1);
	int r = s && copy ? 0 : err_set(err, ENOMEM, "no memory");

	if (r == 0) {
		memcpy(copy, text, n);
		copy[n] = '\0';
		r = decode(copy, n, owner, s, err);
	}
	if (r == 1)
		*ret_state = *s;
	mem_free(copy);
	mem_free(s);
	return r;
}
