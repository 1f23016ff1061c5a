/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the sweep command share. */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H

#include "bench/sweep.h"
#include "cli/bench.h"

struct sweep_request {
	const char *label;
	struct micro_options micro; /* with any depth */
	unsigned int least, most;   /* depths */
	unsigned int repeat;	    /* times that each is measured */
	unsigned int utilisation;   /* percent that accelerators are to be fed at */
	const char *accelerator;    /* NULL: h100 and b200 */
};

/* What came of it. */
struct sweep_outcome {
	struct sweep sweep;
	struct bench_result *all;   /* of all depths together */
	struct json_object *points; /* figures of each depth, in order of depth */
	unsigned int threads;
};

/* One depth's figures: those of the run in the middle, and the least and the most bytes a second of all. */
struct json_object *sweep_point(unsigned int depth, const struct micro_result *r, double least, double most);
/* The document; takes the points. */
struct json_object *sweep_doc(const struct sweep_request *q, struct sweep_outcome *o);
/* For people, from the document. */
int sweep_text(struct json_object *doc);

#endif
