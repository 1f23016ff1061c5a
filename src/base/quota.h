/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is held for somebody, against what may be held: bytes, commands, events. Charging fails when
 * the limit would be passed, and the caller then waits or refuses; it never waits in here. A quota
 * may have a parent (a connection's under its host's under the process'), which is charged with it.
 *
 * Thread: no locks, one owner for the whole chain.
 */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

struct quota {
	uint64_t limit;
	uint64_t used;
	uint64_t peak;	  /* highest `used` so far */
	uint64_t refused; /* charges that failed because of this quota */
	struct quota *parent;
};

/* `parent` may be NULL, and must outlive the quota. */
void quota_init(struct quota *q, uint64_t limit, struct quota *parent);

/* Everything charged must have been released. */
void quota_deinit(struct quota *q);

/* Charges `n` here and to every parent, or, where it does not fit somewhere, nothing anywhere. */
bool quota_charge(struct quota *q, uint64_t n);

/* Gives back `n` of what was charged. */
void quota_release(struct quota *q, uint64_t n);

#endif
