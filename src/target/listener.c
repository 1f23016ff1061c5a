/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners; the idea is in listener.h.
 */
#include "target/listener.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "target/conn.h"
#include "target/core.h"
#include "target/reactor.h"

enum {
	/* Out of descriptors or memory: what others give back may help, trying at once does not. */
	ACCEPT_RETRY_NS = 100 * 1000 * 1000,
};

/* ---- making one ------------------------------------------------------------------------------ */

static void free_nqns(char **nqns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mem_free(nqns[i]);
	mem_free(nqns);
}

static bool known(struct target *t, const char *nqn)
{
	bool found;

	target_lock(t);
	found = tgt_subsys_find(t, nqn);
	target_unlock(t);
	return found;
}

int tgt_listener_update(struct tgt_listener *l, const struct target_listener_config *c,
			struct err *err)
{
	char **nqns = mem_calloc(c->nqn_count, sizeof(*nqns)), **old;
	size_t n = 0, old_count;
	int r = 0;

	if (!nqns)
		return err_set(err, ENOMEM, "no memory for a listener");
	for (; r == 0 && n < c->nqn_count; n++) {
		nqns[n] = mem_strdup(c->nqns[n]);
		if (!nqns[n])
			r = err_set(err, ENOMEM, "no memory for a listener");
		else if (!known(l->target, nqns[n]))
			r = err_set(err, EINVAL,
				    "a listener names '%.223s', which is no subsystem", nqns[n]);
	}
	if (r < 0) {
		free_nqns(nqns, n);
		return r;
	}
	target_lock(l->target);
	old = l->nqns;
	old_count = l->nqn_count;
	l->nqns = nqns;
	l->nqn_count = n;
	l->advertise = c->advertise;
	target_unlock(l->target);
	free_nqns(old, old_count);
	return 0;
}

int tgt_listener_new(struct target *t, uint16_t index, const struct target_listener_config *c,
		     struct tgt_listener **ret_listener, struct err *err)
{
	struct tgt_listener *l = mem_zalloc(sizeof(*l));
	int r;

	if (!l)
		return err_set(err, ENOMEM, "no memory for a listener");
	atomic_init(&l->refs, 1);
	l->target = t;
	l->index = index;
	l->closing = true; /* until it is started */
	l->addr = c->addr;
	l->reactor = &t->reactors[index % t->reactor_count];
	r = tgt_listener_update(l, c, err);
	if (r < 0) {
		tgt_listener_put(l);
		return r;
	}
	*ret_listener = l;
	return 0;
}

struct tgt_listener *tgt_listener_get(struct tgt_listener *l)
{
	if (l)
		atomic_fetch_add(&l->refs, 1);
	return l;
}

struct tgt_listener *tgt_listener_put(struct tgt_listener *l)
{
	if (!l || atomic_fetch_sub(&l->refs, 1) > 1)
		return NULL;
	INVARIANT(!l->io && !l->accept_op.pending);
	free_nqns(l->nqns, l->nqn_count);
	return mem_free(l);
}

/* ---- connections on their way to a reactor --------------------------------------------------- */

struct handover {
	struct io_msg msg;
	struct tgt_reactor *reactor;
	struct tgt_listener *listener;
	struct io_sock *sock;
};

static void close_refused(struct tgt_reactor *here, struct io_sock *sock, enum target_close reason)
{
	struct target *t = here->target;
	char peer[IO_ADDR_TEXT];
	uint64_t held;

	tgt_count(&here->stats.closed[reason], 1);
	if (target_log_pass(t, LOG_LEVEL_WARN, io_now(here->loop), &held)) {
		io_addr_format(io_sock_peer(sock), peer);
		log_event(t->log, LOG_LEVEL_WARN, "refused",
			  LOG_STR("reason", target_close_name(reason)), LOG_STR("peer", peer),
			  LOG_U64("held_back", held));
	}
	io_sock_close(sock);
}

/* The connection is counted from the accept on; here it either begins or ends. */
static void arrive(struct tgt_reactor *r, struct tgt_listener *l, struct io_sock *sock)
{
	if (r->draining) {
		io_sock_close(sock);
		tgt_count(&r->stats.closed[TARGET_CLOSE_DRAINED], 1);
		tgt_reactor_conn_ended(r);
		return;
	}
	if (tgt_conn_new(r, sock, l) < 0) {
		tgt_count(&r->stats.closed[TARGET_CLOSE_NO_MEMORY], 1);
		tgt_reactor_conn_ended(r);
	}
}

static void on_handover(struct io_msg *m)
{
	struct handover *h = container_of(m, struct handover, msg);

	arrive(h->reactor, h->listener, h->sock);
	tgt_listener_put(h->listener);
	mem_free(h);
}

void tgt_accept_sock(struct target *t, struct tgt_reactor *here, struct tgt_listener *l,
		     struct io_sock *sock)
{
	struct tgt_reactor *to = tgt_reactor_least(t);
	struct handover *h;

	tgt_count(&here->stats.accepted, 1);
	if (atomic_fetch_add_explicit(&t->connections, 1, memory_order_relaxed) >=
	    t->limits.connections) {
		atomic_fetch_sub_explicit(&t->connections, 1, memory_order_relaxed);
		close_refused(here, sock, TARGET_CLOSE_TOO_MANY);
		return;
	}
	target_hold(t);
	atomic_fetch_add_explicit(&to->load, 1, memory_order_relaxed);
	if (to == here) {
		arrive(here, l, sock);
		return;
	}
	h = mem_zalloc(sizeof(*h));
	if (!h) {
		close_refused(here, sock, TARGET_CLOSE_NO_MEMORY);
		tgt_reactor_conn_ended(to);
		return;
	}
	h->msg.fn = on_handover;
	h->reactor = to;
	h->listener = tgt_listener_get(l);
	h->sock = sock;
	io_post(to->loop, &h->msg);
}

/* ---- accepting ------------------------------------------------------------------------------- */

static void ended(struct tgt_listener *l)
{
	struct target *t = l->target;

	if (!l->closing || l->accept_op.pending)
		return;
	tgt_listener_put(l);
	target_release(t);
}

static void retry(struct io_timer *t)
{
	struct tgt_listener *l = container_of(t, struct tgt_listener, retry);

	io_accept(l->io, &l->accept_op);
}

static void accept_failed(struct tgt_listener *l, int error)
{
	struct tgt_reactor *r = l->reactor;
	uint64_t held;

	tgt_count(&r->stats.accept_errors, 1);
	if (target_log_pass(l->target, LOG_LEVEL_WARN, io_now(r->loop), &held))
		log_event(
			l->target->log, LOG_LEVEL_WARN, "accept_failed",
			LOG_STR("error", strerror(error)), LOG_U64("held_back", held),
			LOG_STR("hint", error == EMFILE ? "raise the limit of open files" : NULL));
	/* No timer either: then at once, which is unfriendly but not the end. */
	if (io_timer_start(r->loop, &l->retry, ACCEPT_RETRY_NS) < 0)
		io_accept(l->io, &l->accept_op);
}

static void on_accept(struct io_op *op)
{
	struct tgt_listener *l = container_of(op, struct tgt_listener, accept_op);

	if (op->result == 0 && op->sock) {
		tgt_accept_sock(l->target, l->reactor, l, op->sock);
	} else if (!l->closing) {
		accept_failed(l, (int)-op->result);
		return;
	}
	if (l->closing)
		ended(l);
	else
		io_accept(l->io, &l->accept_op);
}

int tgt_listener_start(struct tgt_reactor *r, void *arg, struct err *err)
{
	struct tgt_listener *l = arg;
	struct io_listen_options opts = { 0 };
	int e;

	if (r->draining)
		return err_set(err, ESHUTDOWN, "the target is stopping");
	e = io_listen(r->loop, &l->addr, &opts, &l->io, err);
	if (e < 0) {
		l->io = NULL;
		return e;
	}
	target_lock(l->target);
	l->addr = *io_listener_addr(l->io);
	l->closing = false;
	target_unlock(l->target);
	io_op_init(&l->accept_op, on_accept);
	io_timer_init(&l->retry, retry);
	target_hold(l->target);
	tgt_listener_get(l);
	io_accept(l->io, &l->accept_op);
	return 0;
}

int tgt_listener_close(struct tgt_reactor *r, void *arg, struct err *err)
{
	struct tgt_listener *l = arg;

	target_lock(l->target);
	l->closing = true;
	target_unlock(l->target);
	if (!l->io)
		return 0;
	io_timer_stop(r->loop, &l->retry);
	io_listener_close(l->io);
	l->io = NULL;
	ended(l);
	return 0;
}
