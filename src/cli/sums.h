/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests as coreutils' sha256sum writes and reads them: 'HASH  name', a backslash in front of
 * lines whose name has had newlines, carriage returns or backslashes escaped.
 */
#ifndef CLI_SUMS_H
#define CLI_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { SUM_BYTES = 32, SUM_HEX = 2 * SUM_BYTES };

void sums_hex(const uint8_t sum[SUM_BYTES], char ret_hex[SUM_HEX + 1]);
void sums_print(FILE *f, const uint8_t sum[SUM_BYTES], const char *name);

struct sum {
	char *name;
	uint8_t bytes[SUM_BYTES];
	bool seen; /* for whoever wants to know which ones were not there */
};

struct sums {
	struct sum *all; /* by name */
	size_t count;
	size_t capacity;
};

/* 0, or what cli_error() returned. */
int sums_load(struct sums *s, const char *path);
struct sum *sums_find(const struct sums *s, const char *name);
void sums_deinit(struct sums *s);

#endif
