/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes to a target that runs: namespaces, subsystems, listeners and who may connect, with I/O in
 * flight on any number of cores.
 *
 * Nothing is paused. A change takes effect for what begins after it; what has begun ends as it
 * would have: a command holds the version of the namespace that it was checked against, and a
 * connection that has lost its right (its subsystem or listener is gone, its host is no longer
 * admitted) gets the answers to its commands before it is closed, for at most limits.drain_ns. So a
 * change is a promise in two parts: when the function returns, every core knows; when @settled is
 * called, nothing uses what was there before, and only then is a removed namespace's store free.
 *
 * Hosts are told: Namespace Attribute Changed with the changed namespace list, Discovery Log Page
 * Change with another generation counter.
 *
 * Thread: any but a reactor's. Changes wait for each other, each for one turn of every core's loop.
 * On loops of the caller's (target_new_on_loops()) the thread that turns them.
 *
 * Errors of all: -ESHUTDOWN when the target drains or was never started; -ENOENT, -EEXIST and
 * -EINVAL with a sentence that names what; -ENOMEM. Nothing has changed then.
 */
#ifndef PENSTOCK_TARGET_CHANGE_H
#define PENSTOCK_TARGET_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct io_addr;
struct target;
struct target_listener_config;
struct target_ns_config;
struct target_subsys_config;

/*
 * Embedded in its owner, who keeps it until @fn was called: once, from any thread of the target, or
 * before the function that was given it returns. Never when that function failed.
 */
struct target_settled {
	void (*fn)(struct target_settled *s);
};

int target_ns_add(struct target *t, const char *nqn, const struct target_ns_config *c,
		  struct err *err);
/* @settled may be NULL, here and below. */
int target_ns_remove(struct target *t, const char *nqn, uint32_t nsid,
		     struct target_settled *settled, struct err *err);
/* Another store under the same number. @settled: of the one before. */
int target_ns_replace(struct target *t, const char *nqn, const struct target_ns_config *c,
		      struct target_settled *settled, struct err *err);
/*
 * The size that its store has now, which is read again, and @access. 1, or 0 if nothing is
 * different.
 */
enum target_access { TARGET_ACCESS_KEEP, TARGET_READ_WRITE, TARGET_READ_ONLY };
int target_ns_update(struct target *t, const char *nqn, uint32_t nsid, enum target_access access,
		     struct target_settled *settled, struct err *err);

int target_subsys_add(struct target *t, const struct target_subsys_config *c, struct err *err);
/* @settled: no controller of it is left, and its namespaces' stores are released. */
int target_subsys_remove(struct target *t, const char *nqn, struct target_settled *settled,
			 struct err *err);
/* Exactly these hosts, or any. Controllers of others end. */
int target_subsys_allow(struct target *t, const char *nqn, bool any, const char *const *hosts,
			size_t host_count, struct err *err);

/* Binds and accepts; @ret_addr (may be NULL) is what it is really bound to. Errors of bind(2). */
int target_listener_add(struct target *t, const struct target_listener_config *c,
			struct io_addr *ret_addr, struct err *err);
/*
 * Of the listener that is bound to @c->addr: which subsystems are reached there, and what the
 * discovery log says. What came in there for another subsystem is closed.
 */
int target_listener_update(struct target *t, const struct target_listener_config *c,
			   struct err *err);
/* By the address it is bound to. What came in there is closed. */
int target_listener_remove(struct target *t, const struct io_addr *addr, struct err *err);

#endif
