/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes to a configuration in memory, each by its words. What a running target is told to change
 * is a change to its configuration, made on a copy; site.h then makes the difference between the
 * two come true. So a command and a file that was edited take the same way.
 *
 * All: 0; -ENOENT, -EEXIST and -EINVAL with a sentence; -ENOMEM. On an error the configuration is
 * to be thrown away.
 */
#ifndef OPS_CONFIG_EDIT_H
#define OPS_CONFIG_EDIT_H

#include "ops/config.h"

/*
 * The one that is called @nqn, or, with NULL, the only one there is. -EINVAL with a sentence when
 * there are several.
 */
int config_select(const struct config *c, const char *nqn, struct config_subsystem **ret_subsys,
		  struct err *err);

/* @nsid 0: the lowest one that is free, up to @max; @uuid may be NULL. */
int config_add_ns(struct config_subsystem *s, const char *store, uint32_t nsid, uint32_t max, const char *uuid,
		  bool read_only, uint32_t *ret_nsid, struct err *err);
int config_remove_ns(struct config_subsystem *s, uint32_t nsid, struct err *err);
int config_set_read_only(struct config_subsystem *s, uint32_t nsid, bool read_only, struct err *err);

/* @serial and @model may be NULL. */
int config_add_subsystem(struct config *c, const char *nqn, const char *serial, const char *model,
			 char *const *allow, size_t allow_count, struct err *err);
/* Listeners that name it no longer do; one that named nothing else goes with it. */
int config_remove_subsystem(struct config *c, const char *nqn, struct err *err);

/* @word: a host NQN, or "any", which stands for all of them. */
int config_allow(struct config_subsystem *s, const char *word, struct err *err);
/* The last one leaves "none"; "any" leaves the same. */
int config_deny(struct config_subsystem *s, const char *word, struct err *err);

/* @advertise may be NULL. */
int config_add_listener(struct config *c, const char *address, const char *advertise, char *const *nqns,
			size_t nqn_count, struct err *err);
/* By the address that was configured, or the one that it is bound to. */
int config_remove_listener(struct config *c, const char *address, struct err *err);

#endif
