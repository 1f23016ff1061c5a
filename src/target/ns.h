/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Namespaces, and the tables of them that cores look into.
 *
 * A table is immutable: to change a subsystem's namespaces, build another table and publish it
 * (subsys.h). Each core gets it by message and from then on starts commands on the new one, while
 * those in flight keep the old one through a pin. When every core has let go of a table it is
 * freed, and with it the namespaces that no newer table holds; only then is their store free to go.
 * So the I/O path looks namespaces up without lock or atomic, and a removed namespace is never
 * pulled away from under a command.
 */
#ifndef PENSTOCK_TARGET_NS_H
#define PENSTOCK_TARGET_NS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/uuid.h"
#include "io/io.h"
#include "store/store.h"
#include "target/change.h"
#include "target/resv-ns.h"
#include "target/stats.h"
#include "target/target.h"

/* What a namespace keeps when it is resized or its access changes: its store, and what was done. */
struct tgt_backing {
	atomic_uint refs; /* versions of the namespace */
	struct store *store;
	void (*release)(void *arg, struct store *store);
	void *release_arg;
	bool armed; /* the target has taken the store over */
	struct tgt_resv resv;
	unsigned int core_count;
	struct tgt_core_io {
		_Alignas(64) struct tgt_io_counters io;
		struct tgt_resv_view *view; /* of its reservation; NULL: there is none */
	} cores[];
};

/* One version of a namespace. Constant from birth, but for @settled. */
struct tgt_ns {
	atomic_uint refs; /* tables that hold it */
	uint32_t nsid;
	struct store *store;
	struct tgt_backing *backing;
	struct target_settled *settled; /* called when nothing uses this version any more, or NULL */
	uint64_t blocks;
	uint8_t block_shift; /* log2 of the block size */
	bool read_only;
	bool volatile_cache;
	bool can_discard;
	uint32_t optimal; /* bytes, 0 unknown */
	struct uuid uuid;
	uint8_t nguid[16];
};

struct tgt_ns_table {
	atomic_uint refs; /* cores, and the subsystem while it is the current one */
	uint32_t nn;      /* the largest NSID there can be */
	uint32_t count;
	struct tgt_ns *by_nsid[]; /* nn + 1 of them; NULL: not active */
};

/* One core's hold on a table. */
struct tgt_ns_pin {
	struct tgt_ns_table *table;
	uint64_t users; /* requests of this core */
	bool retired;   /* a newer one is in place */
};

/* For @cores reactors. -ENOMEM; -EINVAL with a sentence. */
int tgt_ns_new(const struct target_ns_config *c, unsigned int cores, struct tgt_ns **ret_ns,
	       struct err *err);
/* Another version of @old: the size that its store has now, and @read_only. The same errors. */
int tgt_ns_again(const struct tgt_ns *old, bool read_only, struct tgt_ns **ret_ns, struct err *err);
struct tgt_ns *tgt_ns_get(struct tgt_ns *ns);
/* Takes NULL. */
void tgt_ns_put(struct tgt_ns *ns);

/* An empty table with one reference. -ENOMEM. */
int tgt_ns_table_new(uint32_t nn, struct tgt_ns_table **ret_table);
/* One with all namespaces of @from but @without (0: all). -ENOMEM. */
int tgt_ns_table_copy(const struct tgt_ns_table *from, uint32_t without,
		      struct tgt_ns_table **ret_table);
/* From now on the stores of all its namespaces are the target's. */
void tgt_ns_table_arm(struct tgt_ns_table *t);
/* Puts @ns, whose reference is consumed, into a table nobody sees yet. -EEXIST, -EINVAL (nsid). */
int tgt_ns_table_add(struct tgt_ns_table *t, struct tgt_ns *ns);
struct tgt_ns_table *tgt_ns_table_get(struct tgt_ns_table *t);
/* Drops a reference; the last one frees table and namespaces. Takes NULL, returns NULL. */
struct tgt_ns_table *tgt_ns_table_put(struct tgt_ns_table *t);

static inline struct tgt_ns *tgt_ns_find(const struct tgt_ns_table *t, uint32_t nsid)
{
	return nsid <= t->nn ? t->by_nsid[nsid] : NULL;
}

/* The next active namespace after @nsid, or NULL. */
struct tgt_ns *tgt_ns_next(const struct tgt_ns_table *t, uint32_t nsid);

/* Consumes a reference on @table. NULL: no memory. */
struct tgt_ns_pin *tgt_ns_pin_new(struct tgt_ns_table *table);
/* The core has a newer one: @pin goes when its last user does. */
void tgt_ns_pin_retire(struct tgt_ns_pin *pin);

static inline struct tgt_ns_pin *tgt_ns_pin_get(struct tgt_ns_pin *pin)
{
	pin->users++;
	return pin;
}

void tgt_ns_pin_put(struct tgt_ns_pin *pin);

#endif
