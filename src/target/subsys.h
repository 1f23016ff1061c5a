/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subsystems: who may connect, which namespaces there are, which controllers exist. The discovery
 * subsystem is one of them, the first, with no namespaces.
 *
 * Guarded by the target's lock but for what is constant after the target is made; what the I/O path
 * needs, each core has in its own struct tgt_core_subsys.
 */
#ifndef PENSTOCK_TARGET_SUBSYS_H
#define PENSTOCK_TARGET_SUBSYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "nvme/fabrics.h"
#include "target/ns.h"
#include "target/target.h"

struct target_settled;
struct tgt_reactor;

struct tgt_subsys {
	struct target *target;
	uint32_t index; /* in target->subsystems; 0 is discovery */
	bool discovery;
	char nqn[NVME_NQN_FIELD_SIZE];
	char serial[21];
	char model[41];

	struct tgt_hosts {
		bool any;
		char **nqns;
		size_t count;
	} hosts; /* who may connect */

	struct tgt_ns_table *table; /* the current one */
	struct list ctrls;          /* struct tgt_ctrl */
	uint32_t ctrl_count;
	uint16_t last_cntlid;
	struct list zombies;       /* struct tgt_assoc: dead, still in the store */
	struct target_io_stats io; /* of queues that are gone */

	/* Its end; see remove.c. */
	bool leaving;   /* nobody finds it any more */
	uint32_t users; /* controllers that are not yet freed */
	struct target_settled *settled;
	struct tgt_farewell *farewells; /* a message for each core */
	atomic_uint cores;              /* that still look at it */
};

/* One core's view of a subsystem. */
struct tgt_core_subsys {
	struct tgt_subsys *subsys;
	struct tgt_ns_pin *pin;
};

/* @c NULL: the discovery subsystem @nqn. -ENOMEM; -EINVAL with a sentence. */
int tgt_subsys_new(struct target *t, uint32_t index, const struct target_subsys_config *c,
		   const char *nqn, struct tgt_subsys **ret_subsys, struct err *err);
/* No controller may be left. Takes NULL, returns NULL. */
struct tgt_subsys *tgt_subsys_free(struct tgt_subsys *s);

/*
 * By NQN; the well-known discovery NQN and the unique one are the same subsystem. The lock is held.
 */
struct tgt_subsys *tgt_subsys_find(struct target *t, const char *nqn);

/* A copy of a list of host NQNs for subsystem @nqn. -ENOMEM; -EINVAL with a sentence. */
int tgt_hosts_copy(struct tgt_hosts *ret_hosts, const char *nqn, bool any,
		   const char *const *hosts, size_t count, struct err *err);
void tgt_hosts_deinit(struct tgt_hosts *h);

/*
 * Makes @table the current one, consuming the reference, on every core; then NSIDs whose namespace
 * differs become events of the controllers, so that no core refuses what a host has just heard of.
 * One at a time; not from a reactor's thread. -ENOMEM: nothing changed, @table still the caller's.
 */
int tgt_subsys_publish(struct tgt_subsys *s, struct tgt_ns_table *table);

/* I/O of all its queues, past and present. The lock is held. */
void tgt_subsys_io_stats(struct tgt_subsys *s, struct target_io_stats *ret_stats);

/* A core's view at the start and at the end of its life. -ENOMEM. */
int tgt_core_subsys_init(struct tgt_core_subsys *cs, struct tgt_subsys *s);
void tgt_core_subsys_deinit(struct tgt_core_subsys *cs);

#endif
