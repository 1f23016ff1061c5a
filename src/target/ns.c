/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Namespaces and tables of them; the idea is in ns.h.
 */
#include "target/ns.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"

/* NGUID: the UUID's bytes serve, as both only have to be unique (Base 2.0, 4.7.1.5). */
static void identify(struct tgt_ns *ns, const struct target_ns_config *c)
{
	static const uint8_t none[16];

	ns->uuid = c->uuid;
	if (uuid_is_nil(&ns->uuid))
		memcpy(ns->uuid.b, store_info(c->store)->uuid, sizeof(ns->uuid.b));
	memcpy(ns->nguid, c->nguid, sizeof(ns->nguid));
	if (memcmp(ns->nguid, none, sizeof(none)) == 0)
		memcpy(ns->nguid, ns->uuid.b, sizeof(ns->nguid));
}

static int check(const struct store_info *info, uint32_t nsid, struct err *err)
{
	if (!is_power_of_two(info->block) || info->block < 512 || info->block > 4096)
		return err_set(err, EINVAL,
			       "namespace %u: a block of %u bytes; 512 to 4096 can be served", nsid,
			       info->block);
	if (info->size < info->block)
		return err_set(err, EINVAL, "namespace %u: the store holds less than one block",
			       nsid);
	return 0;
}

/* What the store says of itself. */
static void describe(struct tgt_ns *ns, const struct store_info *info, bool read_only)
{
	ns->block_shift = (uint8_t)__builtin_ctz(info->block);
	ns->blocks = info->size >> ns->block_shift;
	ns->read_only = read_only || info->read_only;
	ns->volatile_cache = info->volatile_cache;
	ns->can_discard = info->can_discard;
	ns->optimal = info->optimal;
}

static struct tgt_backing *new_backing(const struct target_ns_config *c, unsigned int cores)
{
	size_t n = sizeof(struct tgt_backing) + cores * sizeof(struct tgt_core_io);
	struct tgt_backing *b = mem_aligned(64, ALIGN_UP(n, 64));

	if (!b)
		return NULL;
	memset(b, 0, n);
	atomic_init(&b->refs, 1);
	b->store = c->store;
	b->release = c->release;
	b->release_arg = c->release_arg;
	b->core_count = cores;
	tgt_resv_init(&b->resv);
	return b;
}

static void backing_put(struct tgt_backing *b)
{
	if (!b || atomic_fetch_sub(&b->refs, 1) > 1)
		return;
	if (b->armed && b->release)
		b->release(b->release_arg, b->store);
	for (unsigned int i = 0; i < b->core_count; i++)
		tgt_resv_view_put(b->cores[i].view);
	tgt_resv_deinit(&b->resv);
	mem_free(b);
}

int tgt_ns_new(const struct target_ns_config *c, unsigned int cores, struct tgt_ns **ret_ns,
	       struct err *err)
{
	const struct store_info *info = store_info(c->store);
	struct tgt_ns *ns;
	int r = check(info, c->nsid, err);

	if (r < 0)
		return r;
	ns = mem_zalloc(sizeof(*ns));
	if (ns)
		ns->backing = new_backing(c, cores);
	if (!ns || !ns->backing) {
		mem_free(ns);
		return err_set(err, ENOMEM, "namespace %u: no memory", c->nsid);
	}
	atomic_init(&ns->refs, 1);
	ns->nsid = c->nsid;
	ns->store = c->store;
	describe(ns, info, c->read_only);
	identify(ns, c);
	*ret_ns = ns;
	return 0;
}

int tgt_ns_again(const struct tgt_ns *old, bool read_only, struct tgt_ns **ret_ns, struct err *err)
{
	const struct store_info *info = store_info(old->store);
	struct tgt_ns *ns;
	int r = check(info, old->nsid, err);

	if (r < 0)
		return r;
	ns = mem_alloc(sizeof(*ns));
	if (!ns)
		return err_set(err, ENOMEM, "namespace %u: no memory", old->nsid);
	memcpy(ns, old, sizeof(*ns));
	atomic_init(&ns->refs, 1);
	atomic_fetch_add(&ns->backing->refs, 1);
	ns->settled = NULL;
	describe(ns, info, read_only);
	*ret_ns = ns;
	return 0;
}

struct tgt_ns *tgt_ns_get(struct tgt_ns *ns)
{
	atomic_fetch_add(&ns->refs, 1);
	return ns;
}

void tgt_ns_put(struct tgt_ns *ns)
{
	struct target_settled *settled;

	if (!ns || atomic_fetch_sub(&ns->refs, 1) > 1)
		return;
	settled = ns->settled;
	backing_put(ns->backing);
	mem_free(ns);
	/* Last: who hears it may take the store away. */
	if (settled)
		settled->fn(settled);
}

int tgt_ns_table_new(uint32_t nn, struct tgt_ns_table **ret_table)
{
	struct tgt_ns_table *t = mem_zalloc(sizeof(*t) + ((size_t)nn + 1) * sizeof(t->by_nsid[0]));

	if (!t)
		return -ENOMEM;
	atomic_init(&t->refs, 1);
	t->nn = nn;
	*ret_table = t;
	return 0;
}

int tgt_ns_table_add(struct tgt_ns_table *t, struct tgt_ns *ns)
{
	if (ns->nsid == 0 || ns->nsid > t->nn)
		return -EINVAL;
	if (t->by_nsid[ns->nsid])
		return -EEXIST;
	t->by_nsid[ns->nsid] = ns;
	t->count++;
	return 0;
}

int tgt_ns_table_copy(const struct tgt_ns_table *from, uint32_t without,
		      struct tgt_ns_table **ret_table)
{
	int r = tgt_ns_table_new(from->nn, ret_table);
	struct tgt_ns *ns;

	if (r < 0)
		return r;
	for (ns = tgt_ns_next(from, 0); ns; ns = tgt_ns_next(from, ns->nsid))
		if (ns->nsid != without)
			INVARIANT(tgt_ns_table_add(*ret_table, tgt_ns_get(ns)) == 0);
	return 0;
}

void tgt_ns_table_arm(struct tgt_ns_table *t)
{
	for (struct tgt_ns *ns = tgt_ns_next(t, 0); ns; ns = tgt_ns_next(t, ns->nsid))
		ns->backing->armed = true;
}

struct tgt_ns_table *tgt_ns_table_get(struct tgt_ns_table *t)
{
	atomic_fetch_add(&t->refs, 1);
	return t;
}

struct tgt_ns_table *tgt_ns_table_put(struct tgt_ns_table *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
		return NULL;
	for (uint32_t nsid = 1; nsid <= t->nn; nsid++)
		tgt_ns_put(t->by_nsid[nsid]);
	mem_free(t);
	return NULL;
}

struct tgt_ns *tgt_ns_next(const struct tgt_ns_table *t, uint32_t nsid)
{
	while (nsid < t->nn)
		if (t->by_nsid[++nsid])
			return t->by_nsid[nsid];
	return NULL;
}

struct tgt_ns_pin *tgt_ns_pin_new(struct tgt_ns_table *table)
{
	struct tgt_ns_pin *pin = mem_zalloc(sizeof(*pin));

	if (pin)
		pin->table = table;
	return pin;
}

static void free_pin(struct tgt_ns_pin *pin)
{
	tgt_ns_table_put(pin->table);
	mem_free(pin);
}

void tgt_ns_pin_retire(struct tgt_ns_pin *pin)
{
	INVARIANT(!pin->retired);
	pin->retired = true;
	if (pin->users == 0)
		free_pin(pin);
}

void tgt_ns_pin_put(struct tgt_ns_pin *pin)
{
	INVARIANT(pin->users > 0);
	pin->users--;
	if (pin->retired && pin->users == 0)
		free_pin(pin);
}
