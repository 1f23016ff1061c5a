/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A site: a target, the stores it serves, and the configuration that both came from. Here words
 * become things, and every error names the word.
 *
 * A running site is changed by telling it what it shall be like. The difference to what it is like
 * is made true step by step: what adds something first, then what cannot fail. A step that fails
 * takes those before it back, so a configuration comes into force whole or not at all. What cannot
 * change while the target runs stays as it is, and is named.
 *
 * Thread: one at a time, that is the thread that made it or the control socket's. Stores that the
 * target lets go of are freed by site_settle().
 */
#ifndef OPS_SITE_H
#define OPS_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "ops/config.h"
#include "target/target.h"

struct site;

/* @c is consumed, also on error. @log outlives it. Opens every store; listens nowhere yet. */
int site_new(struct config *c, const struct log *log, struct site **ret_site, struct err *err);
int site_start(struct site *s, struct err *err);
struct target *site_target(const struct site *s);
/* As it is now. Valid until the next change. */
const struct config *site_config(const struct site *s);
const struct target_limits *site_limits(const struct site *s);
/* Seconds since it started. */
double site_uptime(const struct site *s);

/* What a change did, in order. */
struct site_change {
	const char *what;	 /* "namespace_added" and so on: a log value */
	bool live;		 /* false: it takes a restart, or to be removed and added */
	const char *subsystem; /* NULL: it concerns none */
	uint32_t nsid;		 /* 0: the same */
	const char *detail;
};

struct site_changes {
	struct site_change *items; /* texts belong to it */
	size_t count;
};

void site_changes_deinit(struct site_changes *changes);

/*
 * Makes @desired, which is consumed, the configuration. Every change is a line in the log. On error
 * nothing has changed; a sentence says why.
 */
int site_apply(struct site *s, struct config *desired, struct site_changes *ret_changes, struct err *err);

/* Takes over the present size of what is behind a namespace. 1, or 0 if it is the same. */
int site_resize(struct site *s, const char *nqn, uint32_t nsid, uint64_t *ret_bytes, struct err *err);

/*
 * Waits until the stores of removed namespaces are free, @ns at most. Returns how many are still
 * used by commands in flight.
 */
size_t site_settle(struct site *s, uint64_t ns);
/* Called from any thread when a store was let go of, so that somebody calls site_settle(). */
void site_set_wake(struct site *s, void (*wake)(void *arg), void *arg);

/*
 * The target has ended: makes what was written durable, within @ns. -EIO and so on; -ETIMEDOUT: a
 * store does not answer, and the site cannot be freed.
 */
int site_flush(struct site *s, uint64_t ns, struct err *err);

/* Takes NULL, returns NULL. */
struct site *site_free(struct site *s);

#endif
