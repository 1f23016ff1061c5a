/* SPDX-License-Identifier: Apache-2.0 */
/* Specifications: what they mean, what is said about wrong ones, and any junk at all. */
#include "store/spec.h"

#include <errno.h>

#include "base/rng.h"
#include "base/util.h"
#include "tests/tap.h"

#define KIB UINT64_C(1024)
#define GIB (UINT64_C(1) << 30)
#define MS UINT64_C(1000000)

static struct store_spec spec;

static bool parses(const char *text)
{
	struct err err = ERR_NULL;
	int r = store_spec_parse(text, &spec, &err);

	if (!ok(r == 0, "'%s' is taken", text))
		diag("%s", err_text(&err));
	return r == 0;
}

static void test_right(void)
{
	parses("memory:4G");
	ok(spec.kind == SPEC_MEMORY && spec.size == 4 * GIB && spec.block == 512 && !spec.read_only &&
		   !spec.huge && !spec.filters,
	   "memory: has a size and defaults");
	parses("memory:1M,block=4k,ro,huge=on");
	ok(spec.block == 4096 && spec.read_only && spec.huge, "memory: its options");
	parses("null:1T");
	ok(spec.kind == SPEC_NULL && spec.size == 1024 * GIB, "null: has a size");
	parses("null:1T,uuid=6ba7b810-9dad-11d1-80b4-00c04fd430c8");
	ok(spec.has_uuid && spec.uuid.b[0] == 0x6b && spec.uuid.b[15] == 0xc8, "uuid= is taken");

	parses("/srv/a.img");
	ok(spec.kind == SPEC_FILE && spec.size == 0 && spec.block == 0 && spec.direct == SPEC_AUTO,
	   "a bare path is a file");
	is_str(spec.path, "/srv/a.img", "and keeps its name");
	parses("disk.img");
	is_str(spec.path, "disk.img", "a relative path is a file too");
	parses("./memory:4G");
	is_str(spec.path, "./memory:4G", "a colon behind a slash is part of the path");
	parses("file:memory");
	is_str(spec.path, "memory", "file: takes any name");
	parses("file:/srv/a\\,b\\\\c,ro");
	is_str(spec.path, "/srv/a,b\\c", "escapes of comma and backslash");
	parses("file:/srv/a.img,size=10G,block=4096,direct=off,create=off,lock=off");
	ok(spec.size == 10 * GIB && spec.block == 4096 && spec.direct == SPEC_OFF &&
		   spec.create == SPEC_OFF && spec.lock == SPEC_OFF,
	   "file: its options");
}

static void test_filters(void)
{
	const struct filter_spec *f = spec.filter;

	parses("memory:1G,filter=delay:2ms,filter=error:read:EIO:1%");
	ok(spec.filters == 2 && f[0].kind == FILTER_DELAY && f[0].delay_ns == 2 * MS &&
		   f[0].what == FILTER_ANY && f[1].kind == FILTER_ERROR && f[1].what == FILTER_READ &&
		   f[1].error == EIO && f[1].ppm == 10000,
	   "two filters in their order");
	parses("memory:1G,filter=delay:100us:read+flush:jitter=50us:seed=7");
	ok(f->delay_ns == 100000 && f->what == (FILTER_READ | FILTER_FLUSH) && f->jitter_ns == 50000 &&
		   f->has_seed && f->seed == 7,
	   "delay with all it can have");
	parses("memory:1G,filter=error:write:ENOSPC:every=3:range=1M+4k");
	ok(f->what == FILTER_WRITE && f->error == ENOSPC && f->every == 3 && f->ppm == 0 &&
		   f->range_offset == 1024 * KIB && f->range_length == 4 * KIB,
	   "error by count and by place");
	parses("memory:1G,filter=error:any:EIO");
	ok(f->ppm == 1000000 && f->what == FILTER_ANY, "an error without condition is always");
	parses("memory:1G,filter=error:discard:EOPNOTSUPP:0.01%");
	is_u64(f->ppm, 100, "percentages have decimals");
	parses("memory:1G,filter=torn:12.5");
	ok(f->kind == FILTER_TORN && f->ppm == 125000, "torn takes a percentage");
}

struct wrong {
	const char *text;
	const char *says; /* a part of the sentence */
};

static const struct wrong wrong[] = {
	{ "", "there is no store" },
	{ ",ro", "there is no store" },
	{ "memory", "lacks ':'" },
	{ "memory:", "lacks its size" },
	{ "memory:0", "is nothing" },
	{ "memory:4Q", "'4Q' is no size" },
	{ "memory:-1", "'-1' is no size" },
	{ "memory:1000", "no multiple of the block of 512" },
	{ "memory:512,block=4096", "no multiple of the block of 4096" },
	{ "memory:16E", "'16E' is no size" },
	{ "memory:9000000T", "more than a file offset" },
	{ "memori:4G", "'memori' is no kind of store; did you mean 'memory'?" },
	{ "rbd:pool/a", "'rbd' is no kind of store; expected one of: file, memory, null" },
	{ "file:", "'file:' lacks its path" },
	{ "file:/a,", "nothing between two commas" },
	{ "file:/a,,ro", "nothing between two commas" },
	{ "file:/a\\b", "'\\' before neither" },
	{ "file:/a,block=1024", "block '1024' is not possible; expected 512 or 4096" },
	{ "file:/a,block", "'block' lacks its value; expected block=..." },
	{ "file:/a,block=", "'block' lacks its value" },
	{ "file:/a,blok=512", "'blok' is no option of file; did you mean 'block'?" },
	{ "file:/a,block=512,block=512", "'block' is given twice" },
	{ "file:/a,ro,ro", "'ro' is given twice" },
	{ "file:/a,ro=1", "'ro' takes no value" },
	{ "file:/a,huge=on", "'huge' is no option of file" },
	{ "memory:4G,size=4G", "'size' is no option of memory" },
	{ "null:4G,direct=on", "'direct' is no option of null" },
	{ "file:/a,direct=yes", "direct=yes is not possible; expected auto, on or off" },
	{ "file:/a,lock=auto", "lock=auto is not possible; expected on or off" },
	{ "file:/a,create=on", "create= without size=" },
	{ "file:/a,create=on,size=1M,ro", "create=on with ro" },
	{ "file:/a,size=1", "no multiple" },
	{ "file:/a,uuid=1", "'1' is no UUID" },
	{ "file:/a,uuid=00000000-0000-0000-0000-000000000000", "only zeroes" },
	{ "null:1G,filter=", "'filter' lacks its value" },
	{ "null:1G,filter=delai:1ms", "'delai' is no filter; did you mean 'delay'?" },
	{ "null:1G,filter=delay", "'delay' lacks its duration" },
	{ "null:1G,filter=delay:", "'delay' lacks its duration" },
	{ "null:1G,filter=delay:2", "'2' is no duration" },
	{ "null:1G,filter=delay:0s", "a delay of nothing" },
	{ "null:1G,filter=delay:1ms:raed", "'raed' is no kind of operation; did you mean 'read'?" },
	{ "null:1G,filter=delay:1ms:read:write", "'write' after another of its sort" },
	{ "null:1G,filter=delay:1ms:jitter=x", "'x' is no duration" },
	{ "null:1G,filter=delay:1ms:jitter=1ms:jitter=1ms", "after another of its sort" },
	{ "null:1G,filter=error", "'error' lacks what fails" },
	{ "null:1G,filter=error:read", "'error' lacks what fails" },
	{ "null:1G,filter=error:read:EPERM", "'EPERM' is no error that a store reports" },
	{ "null:1G,filter=error:read:EIO:0%", "'0%' is no percentage" },
	{ "null:1G,filter=error:read:EIO:101%", "'101%' is no percentage" },
	{ "null:1G,filter=error:read:EIO:0.00001%", "is no percentage" },
	{ "null:1G,filter=error:read:EIO:1%:2%", "'2%' after another of its sort" },
	{ "null:1G,filter=error:read:EIO:1%:every=2", "after another of its sort" },
	{ "null:1G,filter=error:read:EIO:every=0", "every=0 is not possible" },
	{ "null:1G,filter=error:read:EIO:often", "'often' is no condition of an error" },
	{ "null:1G,filter=error:read:EIO:range=1M", "range=1M is not possible" },
	{ "null:1G,filter=error:read:EIO:range=1M+0", "range=1M+0 is not possible" },
	{ "null:1G,filter=error:flush:EIO:range=0+1M", "range= with flush" },
	{ "null:1G,filter=error:read:EIO:seed=x", "seed=x is not possible" },
	{ "null:1G,filter=torn", "'torn' lacks its percentage" },
	{ "null:1G,filter=torn:x", "'x' is no percentage" },
	{ "null:1G,filter=torn:1%:2%", "'2%' after torn" },
	{ "null:1G,filter=torn:1,filter=torn:1,filter=torn:1,filter=torn:1,filter=torn:1,"
	  "filter=torn:1,filter=torn:1,filter=torn:1,filter=torn:1",
	  "more than 8 filters" },
};

static void test_wrong(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct err err = ERR_NULL;
		int r = store_spec_parse(wrong[i].text, &spec, &err);
		char prefix[512];

		snprintf(prefix, sizeof(prefix), "store '%s': ", wrong[i].text);
		if (!ok(r == -EINVAL && strstr(err_text(&err), wrong[i].says) &&
				strncmp(err_text(&err), prefix, strlen(prefix)) == 0,
			"'%s': ... %s ...", wrong[i].text, wrong[i].says))
			diag("%d: %s", r, err_text(&err));
	}
}

static void test_long(void)
{
	static char text[3 * PATH_MAX];
	struct err err = ERR_NULL;

	memset(text, 'a', sizeof(text) - 1);
	memcpy(text, "file:/", 6);
	is_i64(store_spec_parse(text, &spec, &err), -EINVAL, "a path that is too long is refused");
	text[PATH_MAX + 4] = '\0';
	is_i64(store_spec_parse(text, &spec, &err), 0, "the longest path is taken");
}

/* Words of the grammar and single bytes, thrown together. */
static void junk(struct rng *rng, char *text, size_t size)
{
	static const char *const words[] = {
		"file:", "memory:", "null:", "/a", "4G", "0", "512", "4096", ",", "=", ":", "+", "\\", "%",
		"block", "ro", "uuid", "filter", "size", "create", "direct", "lock", "huge", "on", "off",
		"auto", "delay", "error", "torn", "read", "write", "EIO", "every=", "range=", "seed=",
		"jitter=", "1ms", "1%", "99999999999999999999", "1.5", "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
	};
	size_t at = 0;

	text[0] = '\0';
	for (uint64_t n = rng_below(rng, 14); n > 0 && at + 48 < size; n--) {
		if (rng_below(rng, 8) == 0) {
			text[at++] = (char)(1 + rng_below(rng, 255));
			text[at] = '\0';
		} else {
			at += (size_t)snprintf(text + at, size - at, "%s",
					       words[rng_below(rng, ARRAY_SIZE(words))]);
		}
	}
}

static void test_junk(void)
{
	unsigned int taken = 0, bad = 0;
	struct rng rng;
	char text[1024];

	rng_init(&rng, 20261130);
	for (unsigned int i = 0; i < 100000; i++) {
		struct err err = ERR_NULL;
		int r;

		junk(&rng, text, sizeof(text));
		r = store_spec_parse(text, &spec, &err);
		taken += r == 0;
		/* Either it means something, or there is a sentence. */
		if (r == 0 ? spec.kind != SPEC_FILE && (!spec.size || spec.size % spec.block) :
			     r != -EINVAL || err.text[0] == '\0') {
			bad++;
			diag("'%s': %d %s", text, r, err.text);
		}
	}
	is_u64(bad, 0, "junk is refused with a sentence");
	ok(taken > 100, "some of it was no junk (%u)", taken);
}

int main(void)
{
	test_right();
	test_filters();
	test_wrong();
	test_long();
	test_junk();
	return tap_done();
}
