/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/figures.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/util.h"

const struct figure figures[] = {
	{ "workload.au_storage", "utilisation charged to storage", FIGURE_FRACTION, true },
	{ "workload.au_mlperf", "utilisation as DLIO computes it", FIGURE_FRACTION, true },
	{ "workload.duration_seconds", "duration of a checkpoint", FIGURE_SECONDS, false },
	{ "bytes_per_second", "throughput", FIGURE_BYTES_PER_SECOND, true },
	{ "iops", "operations", FIGURE_PER_SECOND, true },
	{ "latency_us.mean", "latency, mean", FIGURE_MICROSECONDS, false },
	{ "latency_us.p50", "latency, p50", FIGURE_MICROSECONDS, false },
	{ "latency_us.p95", "latency, p95", FIGURE_MICROSECONDS, false },
	{ "latency_us.p99", "latency, p99", FIGURE_MICROSECONDS, false },
	{ "cpu_seconds_per_gigabyte.client", "CPU time here", FIGURE_SECONDS_PER_GIGABYTE, false },
	{ "cpu_seconds_per_gigabyte.target", "CPU time of the target", FIGURE_SECONDS_PER_GIGABYTE, false },
};
const size_t figure_count = ARRAY_SIZE(figures);

struct json_object *figures_at(struct json_object *doc, const char *path)
{
	while (doc && *path) {
		size_t n = strcspn(path, ".");
		char key[64];

		if (n >= sizeof(key) || !json_object_is_type(doc, json_type_object))
			return NULL;
		memcpy(key, path, n);
		key[n] = 0;
		if (!json_object_object_get_ex(doc, key, &doc))
			return NULL;
		path += path[n] ? n + 1 : n;
	}
	return doc;
}

static bool number_at(struct json_object *doc, const char *path, double *ret)
{
	struct json_object *o = figures_at(doc, path);

	if (!json_object_is_type(o, json_type_double) && !json_object_is_type(o, json_type_int))
		return false;
	*ret = json_object_get_double(o);
	return true;
}

double figures_number(struct json_object *doc, const char *path)
{
	double value = -1;

	number_at(doc, path, &value);
	return value;
}

const char *figures_text(struct json_object *doc, const char *path)
{
	struct json_object *o = figures_at(doc, path);

	return json_object_is_type(o, json_type_string) ? json_object_get_string(o) : "";
}

size_t figures_values(struct json_object *doc, const struct figure *f, double *ret, size_t max)
{
	struct json_object *repeats = figures_at(doc, "repeats");
	size_t n = json_object_is_type(repeats, json_type_array) ? json_object_array_length(repeats) : 0, have = 0;

	for (size_t i = 0; i < n && have < max; i++) {
		if (number_at(json_object_array_get_idx(repeats, i), f->name, &ret[have]))
			have++;
	}
	if (n == 0 && max > 0 && number_at(doc, f->name, &ret[0]))
		have = 1;
	return have;
}

/* Of a fraction more is known than its mean. */
static struct stats_interval within(struct stats_interval i)
{
	i.low = MAX(i.low, 0.0);
	i.high = MIN(i.high, 1.0);
	return i;
}

bool figures_mean(struct json_object *doc, const struct figure *f, struct stats_interval *ret)
{
	double *values = mem_calloc(FIGURES_REPEATS_MAX, sizeof(*values));
	size_t n = values ? figures_values(doc, f, values, FIGURES_REPEATS_MAX) : 0;
	bool ok = n > 1;

	if (ok && f->unit == FIGURE_FRACTION)
		*ret = within(stats_mean(values, n, FIGURES_CONFIDENCE));
	else if (ok)
		ok = stats_geometric(values, n, FIGURES_CONFIDENCE, ret);
	mem_free(values);
	return ok;
}

bool figures_compare(struct json_object *a, struct json_object *b, const struct figure *f,
		     struct stats_interval *ret)
{
	double *values = mem_calloc(2 * (size_t)FIGURES_REPEATS_MAX, sizeof(*values));
	double *second = values ? values + FIGURES_REPEATS_MAX : NULL;
	size_t na = values ? figures_values(a, f, values, FIGURES_REPEATS_MAX) : 0;
	size_t nb = values ? figures_values(b, f, second, FIGURES_REPEATS_MAX) : 0;
	bool ok = na > 0 && nb > 0;

	if (ok && f->unit == FIGURE_FRACTION)
		*ret = stats_difference(values, na, second, nb, FIGURES_CONFIDENCE);
	else if (ok)
		ok = stats_ratio(values, na, second, nb, FIGURES_CONFIDENCE, ret);
	mem_free(values);
	return ok;
}

/* No rate, time or cost is as much, and all that is less has whole nanoseconds in 64 bits. */
#define BEYOND 1e15

static uint64_t whole(double x)
{
	return x > 0 ? (uint64_t)(MIN(x, 1e19) + 0.5) : 0;
}

const char *figures_format(enum figure_unit unit, double value, char buf[FIGURE_TEXT_MAX])
{
	char text[FORMAT_MAX];

	/* The end of an interval of two runs that differ. */
	if (value > BEYOND) {
		snprintf(buf, FIGURE_TEXT_MAX, "unbounded");
		return buf;
	}
	switch (unit) {
	case FIGURE_BYTES_PER_SECOND:
		snprintf(buf, FIGURE_TEXT_MAX, "%s/s", format_size(whole(value), text, sizeof(text)));
		break;
	case FIGURE_PER_SECOND:
		snprintf(buf, FIGURE_TEXT_MAX, value < 100 ? "%.1f/s" : "%.0f/s", value);
		break;
	case FIGURE_MICROSECONDS:
		snprintf(buf, FIGURE_TEXT_MAX, "%s", format_duration(whole(value * 1e3), text, sizeof(text)));
		break;
	case FIGURE_SECONDS:
		snprintf(buf, FIGURE_TEXT_MAX, "%s", format_duration(whole(value * 1e9), text, sizeof(text)));
		break;
	case FIGURE_SECONDS_PER_GIGABYTE:
		snprintf(buf, FIGURE_TEXT_MAX, "%.3f s/GB", value);
		break;
	case FIGURE_FRACTION:
		snprintf(buf, FIGURE_TEXT_MAX, "%.1f %%", 100 * value);
		break;
	}
	return buf;
}

enum figure_verdict figures_judge(const struct figure *f, const struct stats_interval *i, double margin)
{
	double same = f->unit == FIGURE_FRACTION ? 0 : 1;

	if (!i->known)
		return FIGURE_UNKNOWN;
	if (f->more_is_better ? i->high < same - margin : i->low > same + margin)
		return FIGURE_WORSE;
	if (f->more_is_better ? i->low > same : i->high < same)
		return FIGURE_BETTER;
	return FIGURE_SAME;
}
