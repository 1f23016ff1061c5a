/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tenant: one host as far as one core has connections of it. Memory is charged to it, so that a
 * host does not get more by making more connections. Hosts are told apart by their NQN, which is
 * what access is granted by; a host may choose its host identifier as it likes.
 *
 * Thread: the reactor's.
 */
#ifndef PENSTOCK_TARGET_TENANT_H
#define PENSTOCK_TARGET_TENANT_H

#include <stdint.h>

#include "base/list.h"
#include "nvme/nqn.h"
#include "target/arena.h"

struct tgt_reactor;

struct tgt_tenant {
	struct list link; /* in its reactor */
	uint32_t refs;    /* connections */
	struct tgt_arena_user arena;
	char hostnqn[NVME_NQN_SIZE];
};

/* That of @hostnqn on this core, with one reference more. NULL: no memory. */
struct tgt_tenant *tgt_tenant_get(struct tgt_reactor *r, const char *hostnqn);
/* Takes NULL, returns NULL. */
struct tgt_tenant *tgt_tenant_put(struct tgt_tenant *t);

#endif
