/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The discovery log; the idea is in discovery.h.
 *
 * GENCTR counts changes of what the logs are made from. A host that reads the log in pieces
 * compares it before and after, so it is enough that it never stays the same over a change. The
 * event is more careful: it goes only to hosts whose own log is different now.
 */
#include "target/discovery.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "nvme/fabrics.h"
#include "nvme/log.h"
#include "nvme/nqn.h"
#include "nvme/text.h"
#include "target/access.h"
#include "target/aen.h"
#include "target/conn.h"
#include "target/core.h"
#include "target/ctrl.h"
#include "target/listener.h"
#include "target/window.h"

/* Somebody who asks. */
struct view {
	struct target *target;
	const struct tgt_ctrl *ctrl;
	struct io_addr local; /* where the host reached us */
};

typedef void (*entry_fn)(void *arg, const struct nvme_discovery_entry *e);

/* An IPv4 address that a dual-stack socket shows in IPv6 clothes is what the host knows as IPv4. */
static void unmap(struct io_addr *a)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in = { .sin_family = AF_INET };

	memcpy(&in6, &a->ss, sizeof(in6));
	if (in6.sin6_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr))
		return;
	in.sin_port = in6.sin6_port;
	memcpy(&in.sin_addr, &in6.sin6_addr.s6_addr[12], sizeof(in.sin_addr));
	*a = (struct io_addr){ .len = sizeof(in) };
	memcpy(&a->ss, &in, sizeof(in));
}

/*
 * What to say instead of the address of @l. A wildcard is no address: the one the host reached us
 * at is what it can use. A loopback address is of use only to hosts that came through loopback.
 */
static bool address_of(const struct view *v, const struct tgt_listener *l, struct io_addr *ret)
{
	*ret = l->advertise.len ? l->advertise : l->addr;
	if (!l->advertise.len && io_addr_is_any(&l->addr)) {
		*ret = v->local;
		io_addr_set_port(ret, io_addr_port(&l->addr));
		/* An IPv4 wildcard is not reached over IPv6. */
		return io_addr_is_v6(&l->addr) || !io_addr_is_v6(ret);
	}
	return !io_addr_is_loopback(ret) || io_addr_is_loopback(&v->local);
}

static void fill(struct nvme_discovery_entry *e, const struct view *v, enum nvme_subtype subtype,
		 const char *nqn, uint16_t portid, const struct io_addr *addr)
{
	char text[IO_ADDR_TEXT];

	*e = (struct nvme_discovery_entry){
		.trtype = NVME_TRTYPE_TCP,
		.adrfam = io_addr_is_v6(addr) ? NVME_ADRFAM_IPV6 : NVME_ADRFAM_IPV4,
		.subtype = (uint8_t)subtype,
		.treq = NVME_TREQ_NOT_SPECIFIED | NVME_TREQ_DISABLE_SQFLOW,
		.portid = cpu_to_le16(portid),
		.cntlid = cpu_to_le16(NVME_CNTLID_DYNAMIC),
		.asqsz = cpu_to_le16((uint16_t)v->target->limits.queue_depth),
	};
	e->tsas[0] = NVME_TCP_SECTYPE_NONE;
	nvme_nqn_to_field(nqn, e->subnqn);
	io_addr_host(addr, text);
	nvme_text_encode(e->traddr, sizeof(e->traddr), text);
	snprintf(text, sizeof(text), "%u", (unsigned int)io_addr_port(addr));
	nvme_text_encode(e->trsvcid, sizeof(e->trsvcid), text);
}

/* Two wildcards, or a wildcard and an address, may come to the same. */
static bool seen_before(const struct view *v, const struct tgt_subsys *s, size_t listener,
			const struct io_addr *addr)
{
	for (size_t i = 0; i < listener; i++) {
		const struct tgt_listener *l = v->target->listeners[i];
		struct io_addr other;

		if (tgt_access_listener(s, l) && address_of(v, l, &other) &&
		    io_addr_equal(&other, addr))
			return true;
	}
	return false;
}

static void visit_subsys(const struct view *v, const struct tgt_subsys *s, entry_fn fn, void *arg)
{
	struct nvme_discovery_entry e;
	struct io_addr addr;

	for (size_t i = 0; i < v->target->listener_count; i++) {
		const struct tgt_listener *l = v->target->listeners[i];

		if (!tgt_access_listener(s, l) || !address_of(v, l, &addr) ||
		    seen_before(v, s, i, &addr))
			continue;
		fill(&e, v, NVME_SUBTYPE_NVM, s->nqn, (uint16_t)(l->index + 1), &addr);
		fn(arg, &e);
	}
}

/* Every entry of the log that @v sees, in order. */
static void visit(const struct view *v, entry_fn fn, void *arg)
{
	const struct tgt_listener *l = v->ctrl->listener;
	struct nvme_discovery_entry e;
	struct tgt_subsys *s;
	struct io_addr addr;

	if (l && !l->closing && address_of(v, l, &addr)) {
		fill(&e, v, NVME_SUBTYPE_CURRENT, v->target->subsystems[0]->nqn,
		     (uint16_t)(l->index + 1), &addr);
		e.eflags = cpu_to_le16(NVME_EFLAGS_DUPRETINFO | NVME_EFLAGS_EPCSD);
		fn(arg, &e);
	}
	/* A target that drains has nothing to offer any more, and says so while it can. */
	if (target_draining(v->target))
		return;
	tgt_for_each_subsys(v->target, s)
		if (!s->discovery && tgt_access_host(s, v->ctrl->host.nqn))
			visit_subsys(v, s, fn, arg);
}

static void count_one(void *arg, const struct nvme_discovery_entry *e)
{
	(*(uint64_t *)arg)++;
}

static void put_one(void *arg, const struct nvme_discovery_entry *e)
{
	tgt_window_put(arg, e, sizeof(*e));
}

static void hash_one(void *arg, const struct nvme_discovery_entry *e)
{
	uint64_t *h = arg;

	*h = hash_bytes(*h, e, sizeof(*e));
}

static void view_of(const struct tgt_ctrl *c, struct view *ret)
{
	*ret = (struct view){ .target = c->target, .ctrl = c, .local = c->local };
	unmap(&ret->local);
}

static uint64_t log_hash(const struct tgt_ctrl *c)
{
	uint64_t h = HASH_INIT;
	struct view v;

	view_of(c, &v);
	visit(&v, hash_one, &h);
	return h;
}

struct nvme_status tgt_discovery_produce(struct tgt_req *req, struct tgt_window *w)
{
	struct tgt_ctrl *c = req->assoc->ctrl;
	struct nvme_log_discovery head = { 0 };
	uint64_t count = 0;
	struct view v;

	view_of(c, &v);
	target_lock(c->target);
	visit(&v, count_one, &count);
	head.genctr = cpu_to_le64(c->target->genctr);
	head.numrec = cpu_to_le64(count);
	tgt_window_put(w, &head, sizeof(head));
	visit(&v, put_one, w);
	c->log_hash = log_hash(c);
	target_unlock(c->target);
	return nvme_status_success();
}

void tgt_discovery_begin(struct tgt_ctrl *c)
{
	c->log_hash = log_hash(c);
}

void tgt_discovery_changed(struct target *t)
{
	struct tgt_ctrl *c;

	target_lock(t);
	t->genctr++;
	list_for_each_entry(c, &t->subsystems[0]->ctrls, link) {
		uint64_t h = log_hash(c);

		if (h != c->log_hash)
			tgt_event_raise(c, TGT_EVENT_DISCOVERY);
		c->log_hash = h;
	}
	target_unlock(t);
}
