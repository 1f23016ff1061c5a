/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over the files of a directory, its committed corpus: so every build, with any
 * compiler, tests at least what the fuzzer once found worth keeping. A crash is the failure; the
 * file's name is on the line before it.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/tap.h"

static void run_file(const char *dir, const char *name)
{
	char path[4096];
	uint8_t *data;
	size_t size;
	long end;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	diag("%s", name);
	f = fopen(path, "rb");
	if (!f || fseek(f, 0, SEEK_END) || (end = ftell(f)) < 0 || fseek(f, 0, SEEK_SET)) {
		ok(false, "%s: %s", name, strerror(errno));
		if (f)
			fclose(f);
		return;
	}
	/* Exactly as long as the input, so that a sanitizer sees one byte too many. */
	data = malloc((size_t)end);
	size = data ? fread(data, 1, (size_t)end, f) : 0;
	fclose(f);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	ok(size == (size_t)end, "%s: %zu bytes", name, size);
}

int main(int argc, char **argv)
{
	struct dirent **names;
	int n;

	if (argc != 2) {
		fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
		return 2;
	}
	n = scandir(argv[1], &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.')
			run_file(argv[1], names[i]->d_name);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return tap_done();
}
