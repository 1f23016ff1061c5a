/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: fields, quoting of what a peer chose, the longest line, levels and the limiter. */
#include "base/log.h"

#include <errno.h>

#include "base/rng.h"
#include "tests/tap.h"

struct capture {
	char text[4 * LOG_LINE_MAX];
	size_t length;
	unsigned lines;
	enum log_level level;
};

static void capture_line(void *ctx, enum log_level level, const char *line, size_t n)
{
	struct capture *c = ctx;

	memcpy(c->text, line, n);
	c->text[n] = '\0';
	c->length = n;
	c->level = level;
	c->lines++;
}

static void test_fields(const struct log *log, struct capture *c)
{
	log_event(log, LOG_LEVEL_INFO, "connect", LOG_STR("host", "nqn.2014-08.org.nvmexpress:h"),
		  LOG_U64("qid", UINT64_MAX), LOG_I64("ret", -5), LOG_HEX("status", 0x4182));
	is_str(c->text,
	       "level=info event=connect host=nqn.2014-08.org.nvmexpress:h "
	       "qid=18446744073709551615 ret=-5 status=0x4182\n",
	       "one line, typed fields");
	log_write(log, LOG_LEVEL_WARN, "stopped", NULL, 0);
	is_str(c->text, "level=warn event=stopped\n", "no fields at all");
	is_u64(c->level, LOG_LEVEL_WARN, "the sink is told the level");
}

static void test_quoting(const struct log *log, struct capture *c)
{
	static const struct {
		const char *value, *want;
	} cases[] = {
		{ "plain-1.2:3/[::1]", "plain-1.2:3/[::1]" },
		{ "two words", "\"two words\"" },
		{ "x level=error", "\"x level=error\"" },
		{ "a=b", "\"a=b\"" },
		{ "line\nlevel=error", "\"line\\x0alevel=error\"" },
		{ "q\"q\\", "\"q\\\"q\\\\\"" },
		{ "\x1b[2J", "\"\\x1b[2J\"" },
		{ "\x7f", "\"\\x7f\"" },
		{ "caf\xc3\xa9", "\"caf\\xc3\\xa9\"" },
		{ "", "\"\"" },
		{ "-", "\"-\"" },
		{ NULL, "-" },
	};
	char want[100];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		log_event(log, LOG_LEVEL_INFO, "e", LOG_STR("k", cases[i].value));
		snprintf(want, sizeof(want), "level=info event=e k=%s\n", cases[i].want);
		is_str(c->text, want, "value %s", cases[i].want);
	}
}

static void test_any_bytes(const struct log *log, struct capture *c)
{
	struct rng r;
	unsigned bad = 0;

	rng_init(&r, 8);
	for (int i = 0; i < 5000; i++) {
		char value[2000];
		size_t n = rng_below(&r, sizeof(value));

		rng_fill(&r, value, n);
		value[n] = '\0';
		log_event(log, LOG_LEVEL_INFO, "e", LOG_U64("before", 1), LOG_STR("k", value),
			  LOG_U64("after", 2));
		bad += c->length > LOG_LINE_MAX || c->text[c->length - 1] != '\n' ||
		       strlen(c->text) != c->length;
		for (size_t at = 0; at < c->length - 1; at++)
			bad += c->text[at] < ' ' || c->text[at] > '~';
	}
	is_u64(bad, 0, "any bytes give one bounded, printable line");
}

static void test_long_line(const struct log *log, struct capture *c)
{
	char value[LOG_LINE_MAX + 1];
	size_t around = strlen("level=info event=e k=") + strlen(" ...\n");
	size_t most = LOG_LINE_MAX - around;

	memset(value, 'v', sizeof(value));
	value[most] = '\0';
	log_event(log, LOG_LEVEL_INFO, "e", LOG_STR("k", value));
	is_u64(c->length, LOG_LINE_MAX - strlen(" ...\n") + 1,
	       "the longest value that fits is whole");
	log_event(log, LOG_LEVEL_INFO, "e", LOG_STR("k", value), LOG_U64("n", 1));
	is_str(c->text + c->length - 6, "v ...\n",
	       "a field that does not fit is left out, and said so");
	value[most] = 'v';
	value[most + 1] = '\0';
	log_event(log, LOG_LEVEL_INFO, "e", LOG_U64("n", 1), LOG_STR("k", value), LOG_U64("m", 2));
	is_str(c->text, "level=info event=e n=1 ...\n", "never half a field, nor one after a gap");
}

static void test_levels(struct capture *c)
{
	struct log log = { .level = LOG_LEVEL_WARN, .sink = capture_line, .ctx = c };
	enum log_level level = LOG_LEVEL_INFO;

	c->lines = 0;
	log_write(&log, LOG_LEVEL_ERROR, "e", NULL, 0);
	log_write(&log, LOG_LEVEL_WARN, "e", NULL, 0);
	log_write(&log, LOG_LEVEL_INFO, "e", NULL, 0);
	log_write(&log, LOG_LEVEL_DEBUG, "e", NULL, 0);
	is_u64(c->lines, 2, "lines above the level are dropped");
	log_write(NULL, LOG_LEVEL_ERROR, "e", NULL, 0);
	ok(!log_enabled(NULL, LOG_LEVEL_ERROR), "no log is no mistake");
	for (unsigned i = 0; i < LOG_LEVEL_COUNT_; i++) {
		ok(log_level_parse(log_level_name((enum log_level)i), &level) == 0 && level == i,
		   "level %s by name", log_level_name((enum log_level)i));
	}
	is_i64(log_level_parse("loud", &level), -EINVAL, "no such level");
	is_u64(level, LOG_LEVEL_DEBUG, "and nothing written");
}

static void test_limit(void)
{
	struct log_limit l;
	uint64_t suppressed = 99, passed = 0;

	log_limit_init(&l, 3, 1000);
	for (int i = 0; i < 10; i++)
		passed += log_limit_pass(&l, 5000, &suppressed);
	is_u64(passed, 3, "a burst, and no more");
	is_u64(suppressed, 0, "before which none was held back");
	ok(!log_limit_pass(&l, 5999, &suppressed), "until the period is over");
	ok(log_limit_pass(&l, 6000, &suppressed), "then again");
	is_u64(suppressed, 8, "with the number that was held back");
	ok(log_limit_pass(&l, 6000, &suppressed) && suppressed == 0, "which is said once");
}

static void test_stdio(void)
{
	char *text = NULL;
	size_t n = 0;
	FILE *stream = open_memstream(&text, &n);
	struct log log = { .level = LOG_LEVEL_INFO, .sink = log_sink_stdio, .ctx = stream };

	log_event(&log, LOG_LEVEL_INFO, "a", LOG_U64("n", 1));
	is_str(text, "level=info event=a n=1\n", "the stdio sink flushes each line");
	fclose(stream);
	free(text);
}

int main(void)
{
	static struct capture c;
	struct log log = { .level = LOG_LEVEL_DEBUG, .sink = capture_line, .ctx = &c };

	test_fields(&log, &c);
	test_quoting(&log, &c);
	test_any_bytes(&log, &c);
	test_long_line(&log, &c);
	test_levels(&c);
	test_limit();
	test_stdio();
	return tap_done();
}
