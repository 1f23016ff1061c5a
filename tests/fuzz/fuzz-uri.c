/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the small languages that people write on command lines and in configurations: volume
 * URIs, stores and their filters, sizes, times, addresses, NQNs, UUIDs, lists of cores. For each:
 * what is taken means what it says, which is seen by writing it out in its one plain form and taking
 * that; what is refused is refused with a sentence and changes nothing.
 *
 * Input: byte 0 says which language; the rest, without its NULs, is the text.
 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/util.h"
#include "base/uuid.h"
#include "io/addr.h"
#include "nvme/nqn.h"
#include "ops/config.h"
#include "store/spec.h"
#include "tests/fuzz/fuzz.h"
#include "volume/uri.h"

enum { TEXT_MAX = 8192, POISON = 0xa5, CORES_MAX = 64 };

/* Nobody is asked for names: this takes the place of the C library's. */
int getaddrinfo(const char *restrict node, const char *restrict service, const struct addrinfo *restrict hints,
		struct addrinfo **restrict res)
{
	return EAI_NONAME;
}

/* ---- text that grows ------------------------------------------------------------------------- */

static char plain[4 * TEXT_MAX];
static size_t plain_len;

static PRINTF_LIKE(1, 2) void put(const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(plain + plain_len, sizeof(plain) - plain_len, fmt, ap);
	va_end(ap);
	INVARIANT(n >= 0 && (size_t)n < sizeof(plain) - plain_len);
	plain_len += (size_t)n;
}

static void begin(void)
{
	plain[plain_len = 0] = 0;
}

static void refused(int rc, const struct err *err)
{
	INVARIANT(rc < 0 && err->code == -rc && err->text[0]);
}

static bool untouched(const void *p, size_t n)
{
	const uint8_t *b = p;

	for (size_t i = 0; i < n; i++)
		if (b[i] != POISON)
			return false;
	return true;
}

/* ---- volumes --------------------------------------------------------------------------------- */

static void put_uri(const struct uri *u)
{
	char sep = '?';

#define OPTION(given, ...)                                                                         \
	if (given) {                                                                               \
		put("%c", sep);                                                                    \
		put(__VA_ARGS__);                                                                  \
		sep = '&';                                                                         \
	}
	begin();
	if (u->kind == URI_FILE) {
		put("file:%s", u->path);
		OPTION(u->has_direct, "direct=%d", u->direct)
		OPTION(u->has_gds, "gds=%d", u->gds)
		return;
	}
	put("nvme+tcp://%s/%s/%" PRIu32, u->address, u->subnqn, u->nsid);
	OPTION(u->queues, "queues=%" PRIu32, u->queues)
	OPTION(u->depth, "depth=%" PRIu32, u->depth)
	OPTION(u->sample_every == UINT32_MAX, "sample=off")
	OPTION(u->sample_every && u->sample_every != UINT32_MAX, "sample=%" PRIu32, u->sample_every)
	OPTION(u->hdgst, "hdgst=1")
	OPTION(u->ddgst, "ddgst=1")
	OPTION(u->kato_ns, "kato=%" PRIu64 "ns", u->kato_ns)
	OPTION(u->io_timeout_ns, "io_timeout=%" PRIu64 "ns", u->io_timeout_ns)
	OPTION(u->connect_timeout_ns, "connect_timeout=%" PRIu64 "ns", u->connect_timeout_ns)
	OPTION(u->loss_timeout_ns, "loss_timeout=%" PRIu64 "ns", u->loss_timeout_ns)
#undef OPTION
}

static void fuzz_uri(const char *text)
{
	static struct uri u, again;
	struct err err = ERR_NULL;
	int rc;

	memset(&u, POISON, sizeof(u));
	rc = uri_parse(text, &u, &err);
	if (rc < 0) {
		refused(rc, &err);
		INVARIANT(untouched(&u, sizeof(u)));
		return;
	}
	INVARIANT(u.kind == URI_FILE ? u.path[0] : u.nsid != 0 && nvme_nqn_valid(u.subnqn) && u.address[0]);
	INVARIANT(u.queues <= URI_QUEUES_MAX && u.depth <= URI_DEPTH_MAX);
	put_uri(&u);
	INVARIANT(uri_parse(plain, &again, &err) == 0 && memcmp(&u, &again, sizeof(u)) == 0);
}

/* ---- stores ---------------------------------------------------------------------------------- */

static const char *errno_name(int code)
{
	return code == EIO	? "EIO" :
	       code == ENOSPC	? "ENOSPC" :
	       code == EROFS	? "EROFS" :
	       code == ENOMEM	? "ENOMEM" :
	       code == ETIMEDOUT ? "ETIMEDOUT" :
				  "EOPNOTSUPP";
}

static void put_what(unsigned int what)
{
	const char *const names[] = { "read", "write", "flush", "discard" };
	const char *sep = "";

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		if (!(what & 1u << i))
			continue;
		put("%s%s", sep, names[i]);
		sep = "+";
	}
}

static void put_percent(uint32_t ppm)
{
	put("%u.%04u", ppm / 10000, ppm % 10000);
}

static void put_filter(const struct filter_spec *f)
{
	if (f->kind == FILTER_DELAY) {
		put("delay:%" PRIu64 "ns:", f->delay_ns);
		put_what(f->what);
		if (f->jitter_ns)
			put(":jitter=%" PRIu64 "ns", f->jitter_ns);
	} else if (f->kind == FILTER_TORN) {
		put("torn:");
		put_percent(f->ppm);
	} else {
		put("error:");
		put_what(f->what);
		put(":%s", errno_name(f->error));
		if (f->every) {
			put(":every=%" PRIu64, f->every);
		} else {
			put(":");
			put_percent(f->ppm);
			put("%%");
		}
		if (f->range_length)
			put(":range=%" PRIu64 "+%" PRIu64, f->range_offset, f->range_length);
	}
	if (f->has_seed)
		put(":seed=%" PRIu64, f->seed);
}

static void check_filter(const struct filter_spec *f)
{
	INVARIANT(f->what != 0 && f->what <= FILTER_ANY && f->ppm <= 1000000);
	INVARIANT(f->kind == FILTER_DELAY ? f->delay_ns + f->jitter_ns > 0 : (f->ppm > 0) != (f->every > 0));
	INVARIANT(f->range_length <= UINT64_MAX - f->range_offset);
}

static void fuzz_filter(const char *text)
{
	struct filter_spec f, again;
	struct err err = ERR_NULL;
	int rc;

	memset(&f, POISON, sizeof(f));
	rc = filter_spec_parse(text, &f, &err);
	if (rc < 0) {
		refused(rc, &err);
		INVARIANT(untouched(&f, sizeof(f)));
		return;
	}
	check_filter(&f);
	begin();
	put_filter(&f);
	memset(&again, POISON, sizeof(again));
	INVARIANT(filter_spec_parse(plain, &again, &err) == 0 && memcmp(&f, &again, sizeof(f)) == 0);
}

static void put_escaped(const char *path)
{
	for (; *path; path++)
		put("%s%c", *path == ',' || *path == '\\' ? "\\" : "", *path);
}

static const char *switch_text(enum spec_switch s)
{
	return s == SPEC_AUTO ? "auto" : s == SPEC_ON ? "on" : "off";
}

static void put_store(const struct store_spec *s)
{
	char uuid[UUID_TEXT_MAX];

	begin();
	if (s->kind == SPEC_FILE) {
		put("file:");
		put_escaped(s->path);
		if (s->size)
			put(",size=%" PRIu64, s->size);
		if (s->create != SPEC_AUTO)
			put(",create=%s", switch_text(s->create));
		if (s->lock != SPEC_AUTO)
			put(",lock=%s", switch_text(s->lock));
		put(",direct=%s", switch_text(s->direct));
	} else {
		put("%s:%" PRIu64, s->kind == SPEC_MEMORY ? "memory" : "null", s->size);
	}
	if (s->block)
		put(",block=%" PRIu32, s->block);
	if (s->read_only)
		put(",ro");
	if (s->has_uuid)
		put(",uuid=%s", uuid_format(&s->uuid, uuid));
	if (s->huge)
		put(",huge=on");
	for (unsigned int i = 0; i < s->filters; i++) {
		put(",filter=");
		put_filter(&s->filter[i]);
	}
}

static void fuzz_store(const char *text)
{
	static struct store_spec s, again;
	struct err err = ERR_NULL;
	int rc;

	memset(&s, POISON, sizeof(s));
	rc = store_spec_parse(text, &s, &err);
	if (rc < 0) {
		refused(rc, &err);
		INVARIANT(untouched(&s, sizeof(s)));
		return;
	}
	INVARIANT(s.kind == SPEC_FILE ? s.path[0] && strlen(s.path) < sizeof(s.path) : s.size > 0);
	INVARIANT(s.block == 512 || s.block == 4096 || (s.block == 0 && s.kind == SPEC_FILE));
	INVARIANT(s.size <= INT64_MAX && s.size % (s.block ? s.block : 512) == 0);
	INVARIANT(!s.has_uuid || !uuid_is_nil(&s.uuid));
	INVARIANT(s.filters <= STORE_FILTERS_MAX);
	for (unsigned int i = 0; i < s.filters; i++)
		check_filter(&s.filter[i]);
	put_store(&s);
	memset(&again, POISON, sizeof(again));
	INVARIANT(store_spec_parse(plain, &again, &err) == 0 && memcmp(&s, &again, sizeof(s)) == 0);
}

/* ---- numbers --------------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 wide;

/*
 * The value of "DIGITS[.DIGITS]" times @factor over again, in 128 bits: true if it is a whole number
 * of 64 bits. Only for as many digits as cannot overflow that.
 */
static bool exact(const char *digits, size_t n, uint64_t factor, uint64_t *ret)
{
	wide value = 0, scale = 1;
	bool point = false;

	for (size_t i = 0; i < n; i++) {
		if (digits[i] == '.') {
			point = true;
			continue;
		}
		value = value * 10 + (unsigned int)(digits[i] - '0');
		scale *= point ? 10 : 1;
	}
	value *= factor;
	*ret = (uint64_t)(value / scale);
	return value % scale == 0 && value / scale <= UINT64_MAX;
}

static void fuzz_size(const char *text)
{
	uint64_t v = 7, again, want, factor = 1;
	size_t n = strspn(text, "0123456789.");
	const char *unit = text + n, *letters = "kmgt", *at = *unit ? strchr(letters, *unit | 0x20) : NULL;
	char buf[FORMAT_MAX];
	int rc = parse_size(text, &v);

	if (rc < 0) {
		INVARIANT((rc == -EINVAL || rc == -ERANGE) && v == 7);
		return;
	}
	if (at && *at)
		factor = UINT64_C(1024) << (10 * (at - letters));
	INVARIANT(n > 18 || (exact(text, n, factor, &want) && want == v));
	begin();
	put("%" PRIu64, v);
	INVARIANT(parse_size(plain, &again) == 0 && again == v);
	INVARIANT(parse_u64(plain, &again) == 0 && again == v);
	INVARIANT(strlen(format_size(v, buf, sizeof(buf))) < sizeof(buf) - 1);
}

static void fuzz_duration(const char *text)
{
	static const struct {
		const char *name;
		uint64_t factor;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }, { "", 1 } };
	uint64_t v = 7, again, want;
	size_t n = strspn(text, "0123456789."), i = 0;
	char buf[FORMAT_MAX];
	int rc = parse_duration_ns(text, &v);

	if (rc < 0) {
		INVARIANT((rc == -EINVAL || rc == -ERANGE) && v == 7);
		return;
	}
	while (i < ARRAY_SIZE(units) && strcmp(units[i].name, text + n) != 0)
		i++;
	INVARIANT(i < ARRAY_SIZE(units) && (text[n] || v == 0));
	INVARIANT(n > 18 || (exact(text, n, units[i].factor, &want) && want == v));
	begin();
	put("%" PRIu64 "ns", v);
	INVARIANT(parse_duration_ns(plain, &again) == 0 && again == v);
	INVARIANT(strlen(format_duration(v, buf, sizeof(buf))) < sizeof(buf) - 1);
}

static void fuzz_number(const char *text)
{
	uint64_t v = 7, again, want;
	int rc = parse_u64(text, &v);

	if (rc < 0) {
		INVARIANT((rc == -EINVAL || rc == -ERANGE) && v == 7);
		return;
	}
	if (text[0] == '0' && (text[1] | 0x20) == 'x') {
		want = 0;
		for (const char *c = text + 2; *c; c++)
			want = want * 16 + (uint64_t)(*c <= '9' ? *c - '0' : (*c | 0x20) - 'a' + 10);
		INVARIANT(v == want);
	} else {
		INVARIANT(strlen(text) > 38 || (exact(text, strlen(text), 1, &want) && v == want));
	}
	begin();
	put("0x%" PRIx64, v);
	INVARIANT(parse_u64(plain, &again) == 0 && again == v);
	INVARIANT(parse_u64_between(text, v, v, &again) == 0);
	INVARIANT(v == UINT64_MAX || parse_u64_between(text, v + 1, UINT64_MAX, &again) == -ERANGE);
}

static void fuzz_cores(const char *text)
{
	int list[CORES_MAX], again[CORES_MAX], n;
	struct err err = ERR_NULL;

	n = config_parse_cores(text, list, CORES_MAX, &err);
	if (n < 0) {
		refused(n, &err);
		return;
	}
	INVARIANT(n >= 1 && n <= CORES_MAX);
	begin();
	for (int i = 0; i < n; i++) {
		INVARIANT(list[i] >= 0 && list[i] <= 65535);
		for (int k = 0; k < i; k++)
			INVARIANT(list[k] != list[i]);
		put("%s%d", i ? "," : "", list[i]);
	}
	INVARIANT(config_parse_cores(plain, again, CORES_MAX, &err) == n &&
		  memcmp(list, again, (size_t)n * sizeof(list[0])) == 0);
	INVARIANT(n == 1 || config_parse_cores(text, again, (size_t)n - 1, &err) == -EINVAL);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void fuzz_address(const char *text, bool port0)
{
	struct io_addr a, again;
	char shown[IO_ADDR_TEXT], host[IO_ADDR_TEXT];
	struct err err = ERR_NULL;
	int rc;

	memset(&a, POISON, sizeof(a));
	rc = io_addr_parse(text, 4420, port0, &a, &err);
	if (rc < 0) {
		refused(rc, &err);
		INVARIANT(untouched(&a, sizeof(a)));
		return;
	}
	INVARIANT(port0 || io_addr_port(&a) != 0);
	io_addr_format(&a, shown);
	INVARIANT(io_addr_parse(shown, 1, port0, &again, &err) == 0 && io_addr_equal(&a, &again));
	io_addr_host(&a, host);
	INVARIANT(io_addr_parse(host, 1, false, &again, &err) == 0 && io_addr_is_v6(&again) == io_addr_is_v6(&a));
	io_addr_set_port(&again, io_addr_port(&a));
	INVARIANT(io_addr_equal(&a, &again) && io_addr_is_any(&a) == io_addr_is_any(&again) &&
		  io_addr_is_loopback(&a) == io_addr_is_loopback(&again));
	INVARIANT(!io_addr_is_any(&a) || !io_addr_is_loopback(&a));
}

static void fuzz_nqn(const char *text, const uint8_t *bytes, size_t n)
{
	const char *fault = nvme_nqn_fault(text);
	uint8_t field[256] = { 0 };
	char back[NVME_NQN_SIZE];

	INVARIANT(!fault || fault[0]);
	if (nvme_nqn_to_field(text, field) == 0) {
		INVARIANT(nvme_nqn_from_field(field, back) == 0 && strcmp(back, text) == 0);
	} else {
		INVARIANT(fault);
	}
	/* As a peer sends it: any bytes, and what lies behind the NUL is of no matter. */
	memset(field, 0xff, sizeof(field));
	memcpy(field, bytes, MIN(n, sizeof(field)));
	if (nvme_nqn_from_field(field, back) == 0) {
		INVARIANT(back[0] && strlen(back) <= NVME_NQN_MAX && strcmp(back, (const char *)field) == 0);
		INVARIANT(nvme_nqn_to_field(back, field) == 0);
		for (const char *c = back; *c; c++)
			INVARIANT((uint8_t)*c >= 0x20 && *c != 0x7f);
	}
}

static void fuzz_uuid(const char *text)
{
	char lower[UUID_TEXT_MAX], shown[UUID_TEXT_MAX];
	struct uuid u;

	if (uuid_parse(text, &u) < 0)
		return;
	INVARIANT(strlen(text) == UUID_TEXT_MAX - 1);
	for (size_t i = 0; i < UUID_TEXT_MAX; i++)
		lower[i] = (char)(text[i] >= 'A' && text[i] <= 'F' ? text[i] | 0x20 : text[i]);
	INVARIANT(strcmp(uuid_format(&u, shown), lower) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;
	size_t n = 0;

	if (size < 1 || size > TEXT_MAX)
		return 0;
	text = malloc(size);
	INVARIANT(text);
	for (size_t i = 1; i < size; i++)
		if (data[i])
			text[n++] = (char)data[i];
	text[n] = 0;
	text = realloc(text, n + 1); /* so that a sanitizer sees its end */
	switch (data[0] % 11) {
	case 0:
		fuzz_uri(text);
		break;
	case 1:
		fuzz_store(text);
		break;
	case 2:
		fuzz_filter(text);
		break;
	case 3:
		fuzz_size(text);
		break;
	case 4:
		fuzz_duration(text);
		break;
	case 5:
		fuzz_number(text);
		break;
	case 6:
		fuzz_cores(text);
		break;
	case 7:
		fuzz_address(text, data[0] >= 128);
		break;
	case 8:
		fuzz_nqn(text, data + 1, size - 1);
		break;
	case 9:
		fuzz_uuid(text);
		break;
	default:
		fuzz_address(text, true);
	}
	free(text);
	return 0;
}
