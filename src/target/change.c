/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes to a target that runs; the idea is in change.h.
 */
#include "target/change.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "target/core.h"
#include "target/discovery.h"
#include "target/listener.h"
#include "target/ns.h"
#include "target/reactor.h"
#include "target/remove.h"

/* One at a time, and the target does not come to its end meanwhile: its loops turn. */
static int begin(struct target *t, struct err *err)
{
	pthread_mutex_lock(&t->change_lock);
	if (atomic_load(&t->phase) == TARGET_STARTED && target_try_hold(t))
		return 0;
	pthread_mutex_unlock(&t->change_lock);
	return err_set(err, ESHUTDOWN, "the target is stopping: nothing can be changed any more");
}

static int end(struct target *t, int r)
{
	target_release(t);
	pthread_mutex_unlock(&t->change_lock);
	return r;
}

static void settle(struct target_settled *s)
{
	if (s)
		s->fn(s);
}

/* It stays: what removes it needs the change lock. */
static int find_subsys(struct target *t, const char *nqn, struct tgt_subsys **ret_s,
		       struct err *err)
{
	struct tgt_subsys *s;

	target_lock(t);
	s = tgt_subsys_find(t, nqn);
	target_unlock(t);
	if (!s)
		return err_set(err, ENOENT, "there is no subsystem '%.223s'", nqn);
	if (s->discovery)
		return err_set(err, EINVAL, "'%.223s' is the discovery subsystem", nqn);
	*ret_s = s;
	return 0;
}

/* ---- namespaces ------------------------------------------------------------------------------ */

static int find_ns(struct target *t, const char *nqn, uint32_t nsid, struct tgt_subsys **ret_s,
		   struct tgt_ns **ret_ns, struct err *err)
{
	int r = find_subsys(t, nqn, ret_s, err);

	if (r < 0)
		return r;
	*ret_ns = nsid > 0 ? tgt_ns_find((*ret_s)->table, nsid) : NULL;
	if (!*ret_ns)
		return err_set(err, ENOENT, "'%s' has no namespace %u", (*ret_s)->nqn, nsid);
	return 0;
}

/*
 * Publishes the present table with @old (NULL: none) taken out and @new (NULL: none), whose
 * reference is consumed, put in.
 */
static int exchange(struct tgt_subsys *s, struct tgt_ns *old, struct tgt_ns *new,
		    struct target_settled *settled, struct err *err)
{
	struct tgt_ns_table *table;
	int r = tgt_ns_table_copy(s->table, old ? old->nsid : 0, &table);

	if (r < 0) {
		tgt_ns_put(new);
		return err_set(err, ENOMEM, "%s: no memory", s->nqn);
	}
	if (new && (r = tgt_ns_table_add(table, new)) < 0) {
		if (r == -EEXIST)
			err_set(err, EEXIST, "namespace %u is there already in '%s'", new->nsid,
				s->nqn);
		else
			err_set(err, EINVAL, "namespace %u: 1 to %u are possible", new->nsid,
				table->nn);
		tgt_ns_put(new);
	}
	if (r == 0 && old)
		old->settled = settled;
	if (r == 0 && (r = tgt_subsys_publish(s, table)) < 0) {
		err_set(err, ENOMEM, "%s: no memory", s->nqn);
		if (old)
			old->settled = NULL;
	}
	if (r < 0)
		tgt_ns_table_put(table);
	return r;
}

/* With the reservations that it has had. */
static int new_ns(struct tgt_subsys *s, const struct target_ns_config *c, struct tgt_ns **ret_ns,
		  struct err *err)
{
	struct tgt_ns *ns;
	int r = tgt_ns_new(c, s->target->reactor_count, &ns, err);

	if (r < 0)
		return r;
	r = tgt_resv_open(s, ns, err);
	if (r < 0)
		tgt_ns_put(ns);
	else
		*ret_ns = ns;
	return r;
}

int target_ns_add(struct target *t, const char *nqn, const struct target_ns_config *c,
		  struct err *err)
{
	struct tgt_subsys *s;
	struct tgt_ns *ns;
	int r = begin(t, err);

	if (r < 0)
		return r;
	r = find_subsys(t, nqn, &s, err);
	if (r == 0)
		r = new_ns(s, c, &ns, err);
	if (r == 0)
		r = exchange(s, NULL, ns, NULL, err);
	return end(t, r);
}

int target_ns_remove(struct target *t, const char *nqn, uint32_t nsid,
		     struct target_settled *settled, struct err *err)
{
	struct tgt_subsys *s;
	struct tgt_ns *old;
	int r = begin(t, err);

	if (r < 0)
		return r;
	r = find_ns(t, nqn, nsid, &s, &old, err);
	if (r == 0)
		r = exchange(s, old, NULL, settled, err);
	return end(t, r);
}

int target_ns_replace(struct target *t, const char *nqn, const struct target_ns_config *c,
		      struct target_settled *settled, struct err *err)
{
	struct tgt_ns *old, *new;
	struct tgt_subsys *s;
	int r = begin(t, err);

	if (r < 0)
		return r;
	r = find_ns(t, nqn, c->nsid, &s, &old, err);
	if (r == 0)
		r = new_ns(s, c, &new, err);
	if (r == 0)
		r = exchange(s, old, new, settled, err);
	return end(t, r);
}

static int update(struct tgt_subsys *s, struct tgt_ns *old, enum target_access access,
		  struct target_settled *settled, struct err *err)
{
	bool read_only = access == TARGET_ACCESS_KEEP ? old->read_only : access == TARGET_READ_ONLY;
	int r = old->store->ops->refresh(old->store);
	struct tgt_ns *new;

	if (r < 0)
		return err_set(err, -r, "namespace %u: its size cannot be read: %s", old->nsid,
			       strerror(-r));
	if (access == TARGET_READ_WRITE && store_info(old->store)->read_only)
		return err_set(err, EROFS, "namespace %u: its store was opened read-only",
			       old->nsid);
	r = tgt_ns_again(old, read_only, &new, err);
	if (r < 0)
		return r;
	if (new->blocks == old->blocks && new->read_only == old->read_only) {
		tgt_ns_put(new);
		settle(settled);
		return 0;
	}
	r = exchange(s, old, new, settled, err);
	return r < 0 ? r : 1;
}

int target_ns_update(struct target *t, const char *nqn, uint32_t nsid, enum target_access access,
		     struct target_settled *settled, struct err *err)
{
	struct tgt_subsys *s;
	struct tgt_ns *old;
	int r = begin(t, err);

	if (r < 0)
		return r;
	r = find_ns(t, nqn, nsid, &s, &old, err);
	if (r == 0)
		r = update(s, old, access, settled, err);
	return end(t, r);
}

/* ---- subsystems ------------------------------------------------------------------------------ */

static int view_here(struct tgt_reactor *r, void *arg, struct err *err)
{
	struct tgt_subsys *s = arg;

	return tgt_core_subsys_init(&r->subsystems[s->index], s);
}

static int unview_here(struct tgt_reactor *r, void *arg, struct err *err)
{
	struct tgt_subsys *s = arg;

	tgt_core_subsys_deinit(&r->subsystems[s->index]);
	return 0;
}

/* Every core can look at it. */
static int show(struct target *t, struct tgt_subsys *s, struct err *err)
{
	for (unsigned int i = 0; i < t->reactor_count; i++) {
		if (tgt_reactor_call(&t->reactors[i], view_here, s, err) == 0)
			continue;
		while (i-- > 0)
			tgt_reactor_call(&t->reactors[i], unview_here, s, err);
		return err_set(err, ENOMEM, "%s: no memory", s->nqn);
	}
	return 0;
}

static int free_place(struct target *t, const char *nqn, uint32_t *ret_index, struct err *err)
{
	uint32_t i = 1;
	int r = 0;

	target_lock(t);
	if (tgt_subsys_find(t, nqn))
		r = err_set(err, EEXIST, "there is a subsystem '%.223s' already", nqn);
	while (i <= t->limits.subsystems && t->subsystems[i])
		i++;
	target_unlock(t);
	if (r == 0 && i > t->limits.subsystems)
		r = err_set(err, ENOSPC, "there are %u subsystems, as many as limits.subsystems",
			    t->limits.subsystems);
	*ret_index = i;
	return r;
}

static int add_subsys(struct target *t, const struct target_subsys_config *c, struct err *err)
{
	struct tgt_subsys *s;
	uint32_t index;
	int r = free_place(t, c->nqn, &index, err);

	if (r == 0)
		r = tgt_subsys_new(t, index, c, c->nqn, &s, err);
	if (r < 0)
		return r;
	r = tgt_resv_open_all(s, err);
	if (r == 0)
		r = show(t, s, err);
	if (r < 0) {
		tgt_subsys_free(s);
		return r;
	}
	tgt_ns_table_arm(s->table);
	target_lock(t);
	t->subsystems[index] = s;
	target_unlock(t);
	tgt_discovery_changed(t);
	return 0;
}

int target_subsys_add(struct target *t, const struct target_subsys_config *c, struct err *err)
{
	int r = begin(t, err);

	return r < 0 ? r : end(t, add_subsys(t, c, err));
}

int target_subsys_remove(struct target *t, const char *nqn, struct target_settled *settled,
			 struct err *err)
{
	struct tgt_subsys *s;
	int r = begin(t, err);

	if (r < 0)
		return r;
	r = find_subsys(t, nqn, &s, err);
	if (r == 0 && (r = tgt_subsys_begin_end(s, settled)) < 0)
		err_set(err, ENOMEM, "%s: no memory", nqn);
	if (r == 0) {
		tgt_discovery_changed(t);
		tgt_reactors_enforce(t);
	}
	return end(t, r);
}

int target_subsys_allow(struct target *t, const char *nqn, bool any, const char *const *hosts,
			size_t host_count, struct err *err)
{
	struct tgt_hosts old, new;
	struct tgt_subsys *s;
	int r = begin(t, err);

	if (r < 0)
		return r;
	r = find_subsys(t, nqn, &s, err);
	if (r == 0)
		r = tgt_hosts_copy(&new, s->nqn, any, hosts, host_count, err);
	if (r < 0)
		return end(t, r);
	target_lock(t);
	old = s->hosts;
	s->hosts = new;
	target_unlock(t);
	tgt_hosts_deinit(&old);
	tgt_discovery_changed(t);
	tgt_reactors_enforce(t);
	return end(t, 0);
}

/* ---- listeners ------------------------------------------------------------------------------- */

/* A number that no other listener has: it becomes a PORTID. */
static uint16_t free_number(const struct target *t)
{
	uint16_t n = 0;

	for (size_t i = 0; i < t->listener_count; i++)
		if (t->listeners[i]->index == n) {
			n++;
			i = (size_t)-1;
		}
	return n;
}

static int enlist(struct target *t, struct tgt_listener *l, struct err *err)
{
	struct tgt_listener **all;

	target_lock(t);
	all = mem_realloc(t->listeners, (t->listener_count + 1) * sizeof(struct tgt_listener *));
	if (all) {
		t->listeners = all;
		all[t->listener_count++] = l;
	}
	target_unlock(t);
	return all ? 0 : err_set(err, ENOMEM, "no memory for a listener");
}

static void delist(struct target *t, struct tgt_listener *l)
{
	size_t i = 0;

	target_lock(t);
	while (t->listeners[i] != l)
		i++;
	t->listener_count--;
	memmove(&t->listeners[i], &t->listeners[i + 1],
		(t->listener_count - i) * sizeof(struct tgt_listener *));
	target_unlock(t);
	tgt_listener_put(l);
}

int target_listener_add(struct target *t, const struct target_listener_config *c,
			struct io_addr *ret_addr, struct err *err)
{
	struct tgt_listener *l;
	int r = begin(t, err);

	if (r < 0)
		return r;
	r = tgt_listener_new(t, free_number(t), c, &l, err);
	if (r < 0)
		return end(t, r);
	r = enlist(t, l, err);
	if (r < 0) {
		tgt_listener_put(l);
		return end(t, r);
	}
	r = tgt_reactor_call(l->reactor, tgt_listener_start, l, err);
	if (r < 0) {
		delist(t, l);
		return end(t, r);
	}
	if (ret_addr)
		*ret_addr = l->addr;
	tgt_discovery_changed(t);
	return end(t, 0);
}

static struct tgt_listener *find_listener(struct target *t, const struct io_addr *addr)
{
	struct tgt_listener *found = NULL;

	target_lock(t);
	for (size_t i = 0; i < t->listener_count && !found; i++)
		if (!t->listeners[i]->closing && io_addr_equal(&t->listeners[i]->addr, addr))
			found = t->listeners[i];
	target_unlock(t);
	return found;
}

static int no_listener(const struct io_addr *addr, struct err *err)
{
	char text[IO_ADDR_TEXT];

	io_addr_format(addr, text);
	return err_set(err, ENOENT, "nobody listens on %s here", text);
}

int target_listener_update(struct target *t, const struct target_listener_config *c,
			   struct err *err)
{
	struct tgt_listener *l;
	int r = begin(t, err);

	if (r < 0)
		return r;
	l = find_listener(t, &c->addr);
	r = l ? tgt_listener_update(l, c, err) : no_listener(&c->addr, err);
	if (r == 0) {
		tgt_discovery_changed(t);
		tgt_reactors_enforce(t);
	}
	return end(t, r);
}

int target_listener_remove(struct target *t, const struct io_addr *addr, struct err *err)
{
	struct tgt_listener *l;
	int r = begin(t, err);

	if (r < 0)
		return r;
	l = find_listener(t, addr);
	if (!l)
		return end(t, no_listener(addr, err));
	/* A drain may have closed it meanwhile; twice does no harm. */
	tgt_reactor_call(l->reactor, tgt_listener_close, l, err);
	tgt_discovery_changed(t);
	tgt_reactors_enforce(t);
	delist(t, l);
	return end(t, 0);
}
