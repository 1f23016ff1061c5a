/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs that write seeds have in common: a directory as their argument, a file a seed. */
#ifndef TESTS_FUZZ_SEED_H
#define TESTS_FUZZ_SEED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* The directory that is to be written to; ends the program without one. */
static inline const char *seed_directory(int argc, char **argv)
{
	if (argc == 2)
		return argv[1];
	fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
	exit(2);
}

/* Writes seed-@name into @dir; ends the program where that fails. */
static inline void seed_save(const char *dir, const char *name, const void *bytes, size_t n)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/seed-%s", dir, name);
	f = fopen(path, "wb");
	if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) {
		perror(path);
		exit(1);
	}
}

/* Of targets whose byte 0 says what the rest is a text of. */
struct seed_text {
	char kind;
	const char *text;
};

static inline void seed_save_texts(const char *dir, const struct seed_text *seeds, size_t count)
{
	char bytes[4096], name[16];

	for (size_t i = 0; i < count; i++) {
		size_t n = strlen(seeds[i].text);

		INVARIANT(n < sizeof(bytes));
		bytes[0] = seeds[i].kind;
		memcpy(bytes + 1, seeds[i].text, n);
		snprintf(name, sizeof(name), "%zu", i);
		seed_save(dir, name, bytes, 1 + n);
	}
}

#endif
