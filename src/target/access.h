/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may see and use what. The answers depend on nothing but the configuration, so a subsystem
 * that the discovery log shows is one that Connect admits, and the other way round. The target's
 * lock is held for all of it, as a configuration may change.
 */
#ifndef PENSTOCK_TARGET_ACCESS_H
#define PENSTOCK_TARGET_ACCESS_H

#include <stdbool.h>

struct tgt_assoc;
struct tgt_listener;
struct tgt_subsys;

/* Whether the host may connect to the subsystem. Any host may ask the discovery service. */
bool tgt_access_host(const struct tgt_subsys *s, const char *hostnqn);
/* Whether the subsystem is reached at the listener. @l NULL: an in-process connection, all are. */
bool tgt_access_listener(const struct tgt_subsys *s, const struct tgt_listener *l);
/* Whether a connection may go on: the same, for one that was admitted once. */
bool tgt_access_still(const struct tgt_assoc *a);

#endif
