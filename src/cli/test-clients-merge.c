/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of clients put together, also where one of them is nothing like a report. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/clients.h"
#include "tests/tap.h"

#define HIST	"\"latency_us\":{\"p95\":1},\"latency_histogram\":\"hist/1 7 41 1 5 5 5 5:1\""
#define REPORT	"{\"ops\":1," HIST ","
#define CLASSES "\"workload\":{\"classes\":"

/* What comes of two documents; for free(). NULL: they were refused, with a sentence. */
static char *merged(const char *a, const char *b, struct err *err)
{
	static const char *const names[] = { "a", "b" };
	struct json_object *docs[] = { json_tokener_parse(a), json_tokener_parse(b) }, *all;
	char *text = NULL;

	err_clear(err);
	if (clients_merge(docs, names, ARRAY_SIZE(docs), &all, err) == 0) {
		text = strdup(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PLAIN));
		json_object_put(all);
	}
	for (size_t i = 0; i < ARRAY_SIZE(docs); i++)
		json_object_put(docs[i]);
	return text;
}

static void says(const char *a, const char *b, const char *part, const char *what)
{
	struct err err;
	char *text = merged(a, b, &err);

	ok(text && strstr(text, part), "%s: %s %s", what, part, text ? "" : err.text);
	free(text);
}

static void refused(const char *a, const char *b, const char *part, const char *what)
{
	struct err err;
	char *text = merged(a, b, &err);

	ok(!text && err.code == EBADMSG && strstr(err.text, part), "%s: %s", what, err.text);
	free(text);
}

int main(void)
{
	says(REPORT "\"seconds\":2}", REPORT "\"seconds\":1.5}", "\"ops\":2", "counts are summed");
	says(REPORT "\"seconds\":2}", REPORT "\"seconds\":1.5}", "\"seconds\":2", "times are the longest");
	says(REPORT "\"steps\":-1}", REPORT "\"steps\":-2}", "\"steps\":-1", "also below zero");
	says(REPORT "\"notes\":[\"x\",null,7]}", REPORT "\"notes\":[\"x\",{},\"y\"]}", "\"notes\":[\"x\",\"y\"]",
	     "notes are texts, each once");
	says(REPORT "\"notes\":[]}", REPORT "\"notes\":\"x\"}", "\"notes\":null",
	     "a list and a text have nothing in common");
	says(REPORT "\"durations_seconds\":[1,[2],{}]}", REPORT "\"durations_seconds\":[3,4,5,6]}",
	     "\"durations_seconds\":[3,null,null]", "nor have elements of lists");
	says(REPORT CLASSES "7}}", REPORT CLASSES "8}}", "\"classes\":7", "classes that are no list");
	says(REPORT CLASSES "[7,null]}}", REPORT CLASSES "[8,9]}}", "\"classes\":[7,null]",
	     "or none of whose elements is a class");
	refused("[]", REPORT "\"a\":1}", "client a: its report lacks", "no report at all");
	refused(REPORT "\"a\":1}", "{\"ops\":1,\"latency_us\":{},\"latency_histogram\":5}",
		"client b cannot be read: they are", "latencies that are a number");
	refused(REPORT "\"a\":1}", "{\"ops\":1,\"latency_us\":{},\"latency_histogram\":\"hist/1 7 41 x\"}",
		"client b cannot be read: a damaged", "latencies that are damaged");
	return tap_done();
}
