/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a target is and what it has done, as JSON: "penstock.status/1" and "penstock.stats/1". Both
 * come from target/inspect.h; `penstock ctl`, `penstock top` and scripts read them. Units are last
 * in every name; counters only ever grow while the target runs.
 */
#ifndef OPS_REPORT_H
#define OPS_REPORT_H

struct json_object;
struct site;

/* Into an object; see doc_take_failure(). */
void report_status(const struct site *s, struct json_object *o);
void report_stats(const struct site *s, struct json_object *o);

#endif
