/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/cli.h"
#include "doctor/facts.h"
#include "doctor/finding.h"

/*
 * On standard output, 80 columns, in colour on a terminal. @verbose: why and how also of what passed.
 * What devices of a kind have in common is one line.
 */
void doctor_print(const struct doctor_facts *f, const struct doctor_report *r, bool verbose);

/* How to mend a finding; NULL where nothing is to be done. */
const char *doctor_mend(const struct doctor_finding *f);
/* Is it unknown for want of rights that root has? Then what root would see. */
const char *doctor_root_adds(const struct doctor_facts *facts, const struct doctor_finding *f);

struct json_object;

/*
 * Adds "topology" to @doc: devices and where they sit, as the doctor reports them, and those of its findings
 * that warn or failed. Nothing if this machine cannot be looked at.
 */
void doctor_topology(struct json_object *doc);

#endif
