/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"

/* ---- writing ------------------------------------------------------------------------------- */

void sums_hex(const uint8_t sum[SUM_BYTES], char ret_hex[SUM_HEX + 1])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < SUM_BYTES; i++) {
		ret_hex[2 * i] = digits[sum[i] >> 4];
		ret_hex[2 * i + 1] = digits[sum[i] & 15];
	}
	ret_hex[SUM_HEX] = 0;
}

void sums_print(FILE *f, const uint8_t sum[SUM_BYTES], const char *name)
{
	bool escape = strpbrk(name, "\n\r\\") != NULL;
	char hex[SUM_HEX + 1];

	sums_hex(sum, hex);
	fprintf(f, "%s%s  ", escape ? "\\" : "", hex);
	for (; *name; name++) {
		if (*name == '\n')
			fputs("\\n", f);
		else if (*name == '\r')
			fputs("\\r", f);
		else if (*name == '\\')
			fputs("\\\\", f);
		else
			fputc(*name, f);
	}
	fputc('\n', f);
}

/* ---- reading ------------------------------------------------------------------------------- */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool take_hex(const char *text, uint8_t sum[SUM_BYTES])
{
	for (int i = 0; i < SUM_BYTES; i++) {
		int high = digit(text[2 * i]), low = high < 0 ? -1 : digit(text[2 * i + 1]);

		if (low < 0)
			return false;
		sum[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool unescape(char *name)
{
	char *to = name;

	for (; *name; name++) {
		if (*name != '\\') {
			*to++ = *name;
			continue;
		}
		name++;
		if (*name == 'n')
			*to++ = '\n';
		else if (*name == 'r')
			*to++ = '\r';
		else if (*name == '\\')
			*to++ = '\\';
		else
			return false;
	}
	*to = 0;
	return true;
}

/* 'HASH  name' or 'HASH *name', as it came from the file. */
static bool take_line(char *line, struct sum *sum)
{
	bool escaped = line[0] == '\\';
	char *name;

	line += escaped;
	if (strlen(line) < SUM_HEX + 3 || !take_hex(line, sum->bytes) || line[SUM_HEX] != ' ' ||
	    (line[SUM_HEX + 1] != ' ' && line[SUM_HEX + 1] != '*'))
		return false;
	name = line + SUM_HEX + 2;
	if (escaped && !unescape(name))
		return false;
	while (name[0] == '.' && name[1] == '/')
		name += 2;
	sum->name = mem_strdup(name);
	sum->seen = false;
	return sum->name != NULL;
}

static int append(struct sums *s, char *line, const char *path, size_t number)
{
	if (s->count == s->capacity) {
		size_t n = s->capacity ? 2 * s->capacity : 256;
		struct sum *all = mem_realloc(s->all, n * sizeof(*all));

		if (!all)
			return cli_error("out of memory");
		s->all = all;
		s->capacity = n;
	}
	if (!take_line(line, &s->all[s->count]))
		return cli_error("%s: line %zu: expected 'HASH  name' of sha256sum", path, number);
	s->count++;
	return CLI_DONE;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct sum *)a)->name, ((const struct sum *)b)->name);
}

int sums_load(struct sums *s, const char *path)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	char *line = NULL;
	size_t room = 0, number = 0;
	int rc = CLI_DONE;
	ssize_t n;

	*s = (struct sums){ .count = 0 };
	if (!f)
		return cli_error("%s: %s", path, strerror(errno));
	while (rc == CLI_DONE && (n = getline(&line, &room, f)) > 0) {
		number++;
		if (line[n - 1] == '\n')
			line[--n] = 0;
		if (n > 0 && line[0] != '#')
			rc = append(s, line, path, number);
	}
	if (rc == CLI_DONE && ferror(f))
		rc = cli_error("%s: %s", path, strerror(errno));
	free(line);
	if (f != stdin)
		fclose(f);
	if (rc == CLI_DONE && s->count > 0)
		qsort(s->all, s->count, sizeof(*s->all), by_name);
	if (rc != CLI_DONE)
		sums_deinit(s);
	return rc;
}

struct sum *sums_find(const struct sums *s, const char *name)
{
	struct sum key = { .name = (char *)(uintptr_t)name };

	return s->count ? bsearch(&key, s->all, s->count, sizeof(key), by_name) : NULL;
}

void sums_deinit(struct sums *s)
{
	for (size_t i = 0; i < s->count; i++)
		mem_free(s->all[i].name);
	s->all = mem_free(s->all);
	s->count = 0;
}
