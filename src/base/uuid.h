/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UUIDs (RFC 9562) in their byte order of the text, which is also the order NVMe uses for them.
 */
#ifndef BASE_UUID_H
#define BASE_UUID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uuid {
	uint8_t b[16];
};

/* "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" and a NUL. */
enum { UUID_TEXT_MAX = 37 };

/* The text form, either case. -EINVAL if it is not exactly that. */
int uuid_parse(const char *s, struct uuid *ret);

/* Lower-case text form; returns `buf`. */
const char *uuid_format(const struct uuid *u, char buf[UUID_TEXT_MAX]);

bool uuid_is_nil(const struct uuid *u);
bool uuid_equal(const struct uuid *a, const struct uuid *b);

/* A version 4 UUID of 16 random bytes (RFC 9562 section 5.4). */
void uuid_from_random(const uint8_t random[16], struct uuid *ret);

/*
 * A UUID that depends on nothing but `n` bytes of `name`, for what must keep its identity over
 * restarts without anything stored. Version 8, as the hash is our own (RFC 9562 section 5.8). Not
 * for telling apart names that somebody chose to collide.
 */
void uuid_from_name(const void *name, size_t n, struct uuid *ret);

#endif
