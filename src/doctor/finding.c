/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/finding.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"

enum { REPORT_ROOM = 64 }; /* of a small machine; it doubles */

const char *doctor_status_name(enum doctor_status s)
{
	static const char *const names[] = {
		[DOCTOR_PASS] = "pass",     [DOCTOR_WARN] = "warn",       [DOCTOR_FAIL] = "fail",
		[DOCTOR_ABSENT] = "absent", [DOCTOR_UNKNOWN] = "unknown",
	};

	INVARIANT(s < DOCTOR_STATUSES);
	return names[s];
}

const char *doctor_id_name(enum doctor_id id)
{
	static const char *const names[] = {
#define NAME(id, text) [DOCTOR_##id] = text,
		DOCTOR_ID_LIST(NAME)
#undef NAME
	};

	INVARIANT(id < DOCTOR_IDS);
	return names[id];
}

static bool grow(struct doctor_report *r)
{
	size_t room = r->room ? 2 * r->room : REPORT_ROOM;
	struct doctor_finding *p = mem_realloc(r->findings, room * sizeof(*p));

	if (!p) {
		r->incomplete = true;
		return false;
	}
	r->findings = p;
	r->room = room;
	return true;
}

void report_add(struct doctor_report *r, enum doctor_id id, const char *subject, enum doctor_status status,
		const char *fmt, ...)
{
	struct doctor_finding *f;
	va_list args;

	INVARIANT(id < DOCTOR_IDS && status < DOCTOR_STATUSES);
	r->by_status[status]++;
	if (r->count == r->room && !grow(r))
		return;
	f = &r->findings[r->count++];
	*f = (struct doctor_finding){ .id = id, .status = status };
	if (subject)
		snprintf(f->subject, sizeof(f->subject), "%s", subject);
	va_start(args, fmt);
	vsnprintf(f->what, sizeof(f->what), fmt, args);
	va_end(args);
}

void report_mend(struct doctor_report *r, const char *fmt, ...)
{
	struct doctor_finding *f;
	va_list args;

	if (r->count == 0 || r->incomplete)
		return;
	f = &r->findings[r->count - 1];
	va_start(args, fmt);
	vsnprintf(f->mend, sizeof(f->mend), fmt, args);
	va_end(args);
}

/* By insertion: a report is short, nearly in order, and equals must stay as they were. */
void report_sort(struct doctor_report *r)
{
	for (size_t i = 1; i < r->count; i++) {
		struct doctor_finding f = r->findings[i];
		size_t k = i;

		for (; k > 0 && r->findings[k - 1].id > f.id; k--)
			r->findings[k] = r->findings[k - 1];
		r->findings[k] = f;
	}
}

void report_deinit(struct doctor_report *r)
{
	mem_free(r->findings);
	*r = (struct doctor_report)DOCTOR_REPORT_NULL;
}
