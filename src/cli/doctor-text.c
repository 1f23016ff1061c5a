/* SPDX-License-Identifier: Apache-2.0 */
/* The report of penstock doctor for people. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"

enum { COLUMNS = 80, INDENT = 11 };

static bool colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) == 1 && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

static const char *colour_of(enum doctor_status s)
{
	static const char *const codes[] = {
		[DOCTOR_PASS] = "32",  [DOCTOR_WARN] = "33",    [DOCTOR_FAIL] = "1;31",
		[DOCTOR_ABSENT] = "2", [DOCTOR_UNKNOWN] = "36",
	};

	return codes[s];
}

/*
 * Continues a line that is @column wide, breaking at spaces; further lines begin at @indent. A word that
 * fits on no line is longer than this one.
 */
static void wrap(const char *text, int column, int indent)
{
	while (*text) {
		int word = (int)strcspn(text, " ");

		if (column > indent && column + word > COLUMNS) {
			printf("\n%*s", indent, "");
			column = indent;
		}
		printf("%.*s", word, text);
		column += word;
		text += word;
		if (*text == ' ') {
			text++;
			if (*text && column + 1 + (int)strcspn(text, " ") <= COLUMNS) {
				putchar(' ');
				column++;
			} else if (*text) {
				printf("\n%*s", indent, "");
				column = indent;
			}
		}
	}
	putchar('\n');
}

static void detail(const char *name, const char *text)
{
	int column = printf("%*s%-6s", INDENT, "", name);

	wrap(text, column, INDENT + 6);
}

static bool alike(const struct doctor_finding *a, const struct doctor_finding *b)
{
	return a->id == b->id && a->status == b->status && strcmp(a->what, b->what) == 0 &&
	       strcmp(a->mend, b->mend) == 0;
}

static size_t count_alike(const struct doctor_report *r, size_t i)
{
	size_t n = 0;

	for (size_t k = i; k < r->count && r->findings[k].id == r->findings[i].id; k++)
		n += alike(&r->findings[i], &r->findings[k]);
	return n;
}

static bool shown_before(const struct doctor_report *r, size_t i)
{
	for (size_t k = i; k-- > 0 && r->findings[k].id == r->findings[i].id;) {
		if (alike(&r->findings[k], &r->findings[i]))
			return true;
	}
	return false;
}

static void finding(const struct doctor_report *r, size_t i, bool verbose, bool colours)
{
	const struct doctor_finding *f = &r->findings[i];
	size_t more = count_alike(r, i) - 1;
	const char *mend = doctor_mend(f);
	char line[512], others[32] = "";

	if (colours)
		printf("  \033[%sm%-8s\033[0m ", colour_of(f->status), doctor_status_name(f->status));
	else
		printf("  %-8s ", doctor_status_name(f->status));
	if (more > 0)
		snprintf(others, sizeof(others), " and %zu more", more);
	snprintf(line, sizeof(line), "%s%s%s%s: %s", doctor_id_name(f->id), f->subject[0] ? " " : "", f->subject,
		 others, f->what);
	wrap(line, INDENT, INDENT + 2);
	if (verbose || f->status == DOCTOR_WARN || f->status == DOCTOR_FAIL) {
		detail("why:", doctor_entry(f->id)->why);
		if (mend && f->status != DOCTOR_PASS)
			detail("mend:", mend);
	}
}

static void head(const struct doctor_facts *f)
{
	const struct doctor_system *s = &f->system;
	char line[512];

	snprintf(line, sizeof(line), "Linux %s, %lld CPUs on %lld NUMA %s%s%s; seen %s.",
		 s->kernel[0] ? s->kernel : "of unknown release", (long long)(s->cpus > 0 ? s->cpus : 0),
		 (long long)(s->nodes > 0 ? s->nodes : 0), s->nodes == 1 ? "node" : "nodes",
		 s->hypervisor ? ", a virtual machine" : "", s->container ? ", in a container" : "",
		 s->captured ? "in a copied tree"
		 : s->root   ? "as root"
			     : "as an ordinary user");
	wrap(line, 0, 0);
}

/* What root would see, each thing once. */
static void foot(const struct doctor_facts *f, const struct doctor_report *r)
{
	const char *last = NULL;

	putchar('\n');
	for (int s = 0; s < DOCTOR_STATUSES; s++)
		printf("%s%zu %s", s ? ", " : "", r->by_status[s], doctor_status_name((enum doctor_status)s));
	putchar('\n');
	for (size_t i = 0; i < r->count; i++) {
		const char *adds = doctor_root_adds(f, &r->findings[i]);
		char line[256];

		if (!adds || adds == last)
			continue;
		last = adds;
		snprintf(line, sizeof(line), "As root it would see more: %s.", adds);
		wrap(line, 0, 0);
	}
}

void doctor_print(const struct doctor_facts *f, const struct doctor_report *r, bool verbose)
{
	bool colours = colour();
	const char *group = "";

	head(f);
	for (size_t i = 0; i < r->count; i++) {
		const char *id = doctor_id_name(r->findings[i].id);
		size_t n = strcspn(id, ".") + 1;

		if (shown_before(r, i))
			continue;
		if (strncmp(group, id, n) != 0)
			printf("\n%.*s\n", (int)n - 1, id);
		group = id;
		finding(r, i, verbose, colours);
	}
	foot(f, r);
}
