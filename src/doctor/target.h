/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Going to a target, as a host would and no further: resolve, connect, one association, a few admin
 * commands, an orderly end. Nothing is read from or written to its namespaces. Of a file: what it lies
 * on, and whether O_DIRECT is taken.
 */
#ifndef DOCTOR_TARGET_H
#define DOCTOR_TARGET_H

#include "doctor/facts.h"

/*
 * Fills in @ret. -EINVAL with a sentence when @uri is none, or @hostnqn or @hostid are wrong; that the
 * target cannot be reached is no error but what was found out. @hostnqn, @hostid: NULL for the default.
 */
int gather_target(const char *uri, const char *hostnqn, const char *hostid, struct doctor_target *ret,
		  struct err *err);

#endif
