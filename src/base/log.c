/* SPDX-License-Identifier: Apache-2.0 */
/* Making of log lines; see log.h. A field is written whole or not at all. */
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const log_level_names[LOG_LEVEL_COUNT_] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

/* What a cut line ends in, newline included. */
static const char log_cut[] = " ...\n";

/* A line being made. The end of the buffer is kept free for log_cut. */
struct log_line {
	char text[LOG_LINE_MAX];
	size_t length;
	bool full;
};

enum { LOG_ROOM = LOG_LINE_MAX - (sizeof(log_cut) - 1) };

static void log_put(struct log_line *l, const char *s, size_t n)
{
	if (l->full || n > LOG_ROOM - l->length) {
		l->full = true;
		return;
	}
	memcpy(l->text + l->length, s, n);
	l->length += n;
}

static void log_puts(struct log_line *l, const char *s)
{
	log_put(l, s, strlen(s));
}

/* Characters that need no quotes: enough for NQNs, addresses, paths and numbers. */
static bool log_is_plain(unsigned char c)
{
	return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '=';
}

static void log_put_escaped(struct log_line *l, unsigned char c)
{
	char text[5];

	if (c == '"' || c == '\\') {
		text[0] = '\\';
		text[1] = (char)c;
		log_put(l, text, 2);
	} else if (c >= ' ' && c < 0x7f) {
		log_put(l, (const char *)&c, 1);
	} else {
		snprintf(text, sizeof(text), "\\x%02x", c);
		log_put(l, text, 4);
	}
}

static void log_put_str(struct log_line *l, const char *s)
{
	if (!s) {
		log_puts(l, "-");
		return;
	}

	size_t plain = 0;

	while (log_is_plain((unsigned char)s[plain]))
		plain++;
	/* Empty, and the dash that stands for none, are quoted to tell them apart. */
	if (s[plain] == '\0' && plain > 0 && strcmp(s, "-") != 0) {
		log_put(l, s, plain);
		return;
	}
	log_puts(l, "\"");
	for (; *s != '\0' && !l->full; s++)
		log_put_escaped(l, (unsigned char)*s);
	log_puts(l, "\"");
}

static void log_put_field(struct log_line *l, const struct log_field *f)
{
	char number[24];

	log_puts(l, " ");
	log_puts(l, f->key);
	log_puts(l, "=");
	switch (f->kind) {
	case LOG_KIND_STR:
		log_put_str(l, f->str);
		return;
	case LOG_KIND_U64:
		snprintf(number, sizeof(number), "%" PRIu64, f->u64);
		break;
	case LOG_KIND_I64:
		snprintf(number, sizeof(number), "%" PRId64, f->i64);
		break;
	case LOG_KIND_HEX:
		snprintf(number, sizeof(number), "0x%" PRIx64, f->u64);
		break;
	}
	log_puts(l, number);
}

void log_write(const struct log *log, enum log_level level, const char *event,
	       const struct log_field *fields, size_t count)
{
	if (!log_enabled(log, level))
		return;

	struct log_line l;

	l.length = 0;
	l.full = false;
	log_puts(&l, "level=");
	log_puts(&l, log_level_name(level));
	log_puts(&l, " event=");
	log_put_str(&l, event);

	for (size_t i = 0; i < count; i++) {
		size_t before = l.length;

		log_put_field(&l, &fields[i]);
		if (l.full) {
			l.length = before;
			break;
		}
	}

	const char *end = l.full ? log_cut : "\n";

	memcpy(l.text + l.length, end, strlen(end));
	l.length += strlen(end);
	log->sink(log->ctx, level, l.text, l.length);
}

const char *log_level_name(enum log_level level)
{
	INVARIANT(level < LOG_LEVEL_COUNT_);
	return log_level_names[level];
}

int log_level_parse(const char *name, enum log_level *ret_level)
{
	for (size_t i = 0; i < ARRAY_SIZE(log_level_names); i++) {
		if (strcmp(name, log_level_names[i]) == 0) {
			*ret_level = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

void log_sink_stdio(void *ctx, enum log_level level, const char *line, size_t n)
{
	FILE *stream = ctx;

	/* A log that cannot be written has nowhere to complain to. */
	flockfile(stream);
	if (fwrite_unlocked(line, 1, n, stream) == n)
		fflush_unlocked(stream);
	funlockfile(stream);
}

void log_limit_init(struct log_limit *l, uint32_t burst, uint64_t period_ns)
{
	*l = (struct log_limit){ .period_ns = period_ns, .burst = burst };
}

bool log_limit_pass(struct log_limit *l, uint64_t now_ns, uint64_t *ret_suppressed)
{
	if (now_ns - l->since_ns >= l->period_ns) {
		l->since_ns = now_ns;
		l->used = 0;
	}
	if (l->used >= l->burst) {
		l->suppressed++;
		return false;
	}
	l->used++;
	*ret_suppressed = l->suppressed;
	l->suppressed = 0;
	return true;
}
