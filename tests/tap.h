/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that speak TAP, the Test Anything Protocol: one line per check, printed at once, so that
 * what passed before a crash is known. Header only, for C programs:
 *
 *	int main(void)
 *	{
 *		is_u64(crc32c(0, "123456789", 9), 0xe3069283, "check value of CRC-32C");
 *		return tap_done();
 *	}
 *
 * A check returns whether it passed and never stops the program. The last argument of each is a
 * printf format that says what holds if it passes. Thread: call from one thread only.
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TAP_UNUSED_	   __attribute__((unused))
#define TAP_PRINTF_(f, a) __attribute__((format(printf, f, a)))

struct tap_state_ {
	unsigned run;
	unsigned failed;
};

static struct tap_state_ tap_state_;

/* Text after a "#" would be read as a directive, and a newline would end the line. */
TAP_UNUSED_ static void tap_print_name_(const char *name)
{
	for (; *name; name++)
		putchar(*name == '#' ? '_' : *name == '\n' ? ' ' : *name);
}

/* Tells the reader something; not a check. One line. */
TAP_UNUSED_ TAP_PRINTF_(1, 2) static void diag(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("# ", stdout);
	vprintf(fmt, args);
	putchar('\n');
	fflush(stdout);
	va_end(args);
}

TAP_UNUSED_ TAP_PRINTF_(4, 5) static bool tap_ok_(bool passed, const char *file, int line,
						  const char *fmt, ...)
{
	char name[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(name, sizeof(name), fmt, args);
	va_end(args);

	tap_state_.run++;
	printf("%sok %u - ", passed ? "" : "not ", tap_state_.run);
	tap_print_name_(name);
	putchar('\n');
	if (!passed) {
		tap_state_.failed++;
		printf("# failed at %s:%d\n", file, line);
	}
	fflush(stdout);
	return passed;
}

/* ok(cond, fmt, ...): passes if `cond` is true. */
#define ok(cond, ...) tap_ok_(!!(cond), __FILE__, __LINE__, __VA_ARGS__)

/* is_u64(got, want, fmt, ...): equal unsigned numbers. */
#define is_u64(got, want, ...)                                                                     \
	tap_is_u64_((uint64_t)(got), (uint64_t)(want), __FILE__, __LINE__, __VA_ARGS__)

/* is_i64(got, want, fmt, ...): equal signed numbers, return values for one. */
#define is_i64(got, want, ...)                                                                     \
	tap_is_i64_((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, __VA_ARGS__)

/* is_str(got, want, fmt, ...): equal texts; either may be NULL. */
#define is_str(got, want, ...) tap_is_str_(got, want, __FILE__, __LINE__, __VA_ARGS__)

/* is_mem(got, want, bytes, fmt, ...): equal memory. */
#define is_mem(got, want, n, ...) tap_is_mem_(got, want, n, __FILE__, __LINE__, __VA_ARGS__)

#define TAP_NAME_(name)                                                                            \
	char name[256];                                                                            \
	va_list args;                                                                              \
                                                                                                   \
	va_start(args, fmt);                                                                       \
	vsnprintf(name, sizeof(name), fmt, args);                                                  \
	va_end(args)

TAP_UNUSED_ TAP_PRINTF_(5, 6) static bool tap_is_u64_(uint64_t got, uint64_t want,
						      const char *file, int line, const char *fmt,
						      ...)
{
	TAP_NAME_(name);
	if (!tap_ok_(got == want, file, line, "%s", name))
		diag("got %" PRIu64 " (0x%" PRIx64 "), want %" PRIu64 " (0x%" PRIx64 ")", got, got,
		     want, want);
	return got == want;
}

TAP_UNUSED_ TAP_PRINTF_(5, 6) static bool tap_is_i64_(int64_t got, int64_t want, const char *file,
						      int line, const char *fmt, ...)
{
	TAP_NAME_(name);
	if (!tap_ok_(got == want, file, line, "%s", name))
		diag("got %" PRId64 ", want %" PRId64, got, want);
	return got == want;
}

TAP_UNUSED_ TAP_PRINTF_(5, 6) static bool tap_is_str_(const char *got, const char *want,
						      const char *file, int line, const char *fmt,
						      ...)
{
	bool same = got && want ? strcmp(got, want) == 0 : got == want;

	TAP_NAME_(name);
	if (!tap_ok_(same, file, line, "%s", name)) {
		diag("got  %s", got ? got : "(null)");
		diag("want %s", want ? want : "(null)");
	}
	return same;
}

TAP_UNUSED_ TAP_PRINTF_(6, 7) static bool tap_is_mem_(const void *got, const void *want, size_t n,
						      const char *file, int line, const char *fmt,
						      ...)
{
	const uint8_t *g = got;
	const uint8_t *w = want;
	size_t at = 0;

	while (at < n && g[at] == w[at])
		at++;
	TAP_NAME_(name);
	if (!tap_ok_(at == n, file, line, "%s", name))
		diag("byte %zu of %zu: got 0x%02x, want 0x%02x", at, n, g[at], w[at]);
	return at == n;
}

/*
 * is_abort(fn, arg, fmt, ...): fn(arg) ends in abort(), as a broken INVARIANT does. It runs in a
 * child, whose stderr is dropped.
 */
#define is_abort(fn, arg, ...) tap_is_abort_(fn, arg, __FILE__, __LINE__, __VA_ARGS__)

TAP_UNUSED_ TAP_PRINTF_(5, 6) static bool tap_is_abort_(void (*fn)(void *arg), void *arg,
							const char *file, int line, const char *fmt,
							...)
{
	int status = 0;

	TAP_NAME_(name);
	fflush(stdout);
	pid_t child = fork();

	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(2);
		fn(arg);
		_exit(0);
	}
	if (child > 0)
		waitpid(child, &status, 0);
	return tap_ok_(child > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, file, line,
		       "%s", name);
}

/* One check that cannot be made here; `why` says what is missing. */
TAP_UNUSED_ static void tap_skip(const char *why)
{
	tap_state_.run++;
	printf("ok %u # SKIP %s\n", tap_state_.run, why);
	fflush(stdout);
}

/* Nothing in this program can be checked here. Call first; does not return. */
TAP_UNUSED_ __attribute__((noreturn)) static void tap_skip_all(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	exit(0);
}

/* Prints the plan; returns what main() should. A program that checked nothing has failed. */
TAP_UNUSED_ static int tap_done(void)
{
	printf("1..%u\n", tap_state_.run);
	fflush(stdout);
	return tap_state_.failed || !tap_state_.run ? 1 : 0;
}

#endif
