/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line per event, as key=value pairs that both people and scripts can read:
 *
 *	level=info event=connect host=nqn.2014-08.org.nvmexpress:uuid:... cntlid=1 qid=2
 *
 * The caller gives typed fields, never a ready-made text, so a value that a peer chose cannot
 * forge a line or a field: anything but plain printable characters is quoted and escaped. Lines
 * are made on the stack, have a bounded length and go to a sink in one call. Libraries are given
 * a `struct log`; only the daemon and the command line own one. Time is the sink's business
 * (journald has it).
 *
 * Thread: a `struct log` is constant once set up; log_event() may then be called from any thread if
 * the sink may.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

enum log_level {
	LOG_LEVEL_ERROR, /* something is lost, a human has to act */
	LOG_LEVEL_WARN,	 /* a limit, a fault of a peer, something degraded */
	LOG_LEVEL_INFO,	 /* connections come and go, settings change */
	LOG_LEVEL_DEBUG, /* for whoever reads the source alongside */
	LOG_LEVEL_COUNT_
};

/* Takes one whole line of `n` bytes with its newline (and no NUL). Must not call back into log. */
typedef void (*log_sink_fn)(void *ctx, enum log_level level, const char *line, size_t n);

struct log {
	enum log_level level; /* lines above this are dropped */
	log_sink_fn sink;
	void *ctx;
};

/* Longest line with its newline. A longer one ends in "..."; whole fields come before that. */
enum { LOG_LINE_MAX = 1024 };

enum log_kind { LOG_KIND_STR, LOG_KIND_U64, LOG_KIND_I64, LOG_KIND_HEX };

struct log_field {
	const char *key;
	enum log_kind kind;
	union {
		const char *str; /* NULL is written as - */
		uint64_t u64;
		int64_t i64;
	};
};

#define LOG_STR(k, v) { .key = (k), .kind = LOG_KIND_STR, .str = (v) }
#define LOG_U64(k, v) { .key = (k), .kind = LOG_KIND_U64, .u64 = (v) }
#define LOG_I64(k, v) { .key = (k), .kind = LOG_KIND_I64, .i64 = (v) }
#define LOG_HEX(k, v) { .key = (k), .kind = LOG_KIND_HEX, .u64 = (v) }

/* Whether a line of this level would be written: to spare work that only a line would need. */
static inline bool log_enabled(const struct log *log, enum log_level level)
{
	return log && level <= log->level;
}

/* Writes one line. `log` may be NULL. Event and keys are literals of [a-z0-9_]. */
void log_write(const struct log *log, enum log_level level, const char *event,
	       const struct log_field *fields, size_t count);

/* log_event(log, LOG_LEVEL_INFO, "connect", LOG_STR("host", nqn), LOG_U64("qid", qid)) */
#define log_event(log, level, event, ...)                                                          \
	log_write(log, level, event, (const struct log_field[]){ __VA_ARGS__ },                    \
		  sizeof((const struct log_field[]){ __VA_ARGS__ }) / sizeof(struct log_field))

/* "error", "warn", "info", "debug". */
const char *log_level_name(enum log_level level);

/* The level of that name. -EINVAL if there is none. */
int log_level_parse(const char *name, enum log_level *ret_level);

/* Sink for a stdio stream; ctx is the `FILE *`. Flushed by line, safe in any thread. */
void log_sink_stdio(void *ctx, enum log_level level, const char *line, size_t n);

/*
 * Keeps a fault that a peer can cause at will from filling the disk: of the lines of one kind it
 * lets `burst` through in each `period_ns`, and says with the next one how many it held back.
 */
struct log_limit {
	uint64_t period_ns;
	uint32_t burst;
	uint32_t used;
	uint64_t since_ns;
	uint64_t suppressed;
};

void log_limit_init(struct log_limit *l, uint32_t burst, uint64_t period_ns);

/*
 * Whether a line may be written at `now_ns` (any clock that does not go back). If so,
 * `ret_suppressed` is the number held back since the last that was written; put it in the line.
 */
bool log_limit_pass(struct log_limit *l, uint64_t now_ns, uint64_t *ret_suppressed);

#endif
