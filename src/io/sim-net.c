/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses, listeners and connecting. A connect is a dial: a first packet that reaches the other
 * machine or is sent again every second, an answer, and a time limit over all of it. A connection
 * exists from the moment the listener's machine takes it into its queue, before anybody accepts it,
 * as in life; so a host may send to a process that never sees it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "io/sim-impl.h"

#define NET_V4       UINT32_C(0x0a000000) /* node n is 10.0.0.n and fd00::n */
#define PORT_FIRST   49152
#define SYN_RETRY_NS 1000000000
#define BACKLOG      1024
#define SETUP_MAX_NS 5000

struct sim_listener {
	struct io_listener base;
	struct list link; /* in sim.listeners while it listens */
	struct sim_node *node;
	struct io_addr addr;
	bool v6only;
	unsigned int backlog;
	unsigned int queue_len;
	struct list queue; /* sim_end.queued: nobody has accepted them yet */
	struct io_op *accept_op;
};

/* A connect on its way. Its operation holds it in SIM_OP_AUX. */
struct sim_dial {
	struct io_op *op;
	struct sim_node *from;
	struct io_addr addr, local;
	uint64_t deadline;
	struct sim_conn *conn; /* once the other machine has it */
};

/* ---- addresses ------------------------------------------------------------------------------- */

static struct sockaddr_in *v4(struct io_addr *a)
{
	return (struct sockaddr_in *)(void *)&a->ss;
}

static struct sockaddr_in6 *v6(struct io_addr *a)
{
	return (struct sockaddr_in6 *)(void *)&a->ss;
}

static void addr_v4(uint32_t host, uint16_t port, struct io_addr *ret_addr)
{
	*ret_addr = (struct io_addr){ .len = sizeof(struct sockaddr_in) };
	v4(ret_addr)->sin_family = AF_INET;
	v4(ret_addr)->sin_port = htons(port);
	v4(ret_addr)->sin_addr.s_addr = htonl(host);
}

void sim_node_addr(const struct sim_node *node, uint16_t port, struct io_addr *ret_addr)
{
	addr_v4(NET_V4 + node->id, port, ret_addr);
}

void sim_node_addr6(const struct sim_node *node, uint16_t port, struct io_addr *ret_addr)
{
	*ret_addr = (struct io_addr){ .len = sizeof(struct sockaddr_in6) };
	v6(ret_addr)->sin6_family = AF_INET6;
	v6(ret_addr)->sin6_port = htons(port);
	v6(ret_addr)->sin6_addr.s6_addr[0] = 0xfd;
	v6(ret_addr)->sin6_addr.s6_addr[15] = (uint8_t)node->id;
}

/* Whose address it is, as seen from @from; NULL: nobody's. */
static struct sim_node *addr_node(struct sim_node *from, const struct io_addr *addr)
{
	struct sim *sim = from->sim;
	struct io_addr own;

	if (io_addr_is_loopback(addr) || io_addr_is_any(addr))
		return from;
	for (unsigned int i = 0; i < sim->node_count; i++) {
		if (io_addr_is_v6(addr))
			sim_node_addr6(sim->nodes[i], io_addr_port(addr), &own);
		else
			sim_node_addr(sim->nodes[i], io_addr_port(addr), &own);
		if (io_addr_equal(addr, &own))
			return sim->nodes[i];
	}
	return NULL;
}

static bool listener_takes(const struct sim_listener *l, const struct io_addr *addr)
{
	if (io_addr_port(&l->addr) != io_addr_port(addr))
		return false;
	if (!io_addr_is_any(&l->addr))
		return io_addr_equal(&l->addr, addr);
	/* "::" takes IPv4 too unless told otherwise. */
	return io_addr_is_v6(&l->addr) == io_addr_is_v6(addr) ||
	       (io_addr_is_v6(&l->addr) && !l->v6only);
}

static struct sim_listener *find_listener(struct sim_node *node, const struct io_addr *addr)
{
	struct sim_listener *l;

	list_for_each_entry(l, &node->sim->listeners, link)
		if (l->node == node && listener_takes(l, addr))
			return l;
	return NULL;
}

static uint16_t free_port(struct sim_node *node)
{
	if (node->next_port < PORT_FIRST)
		node->next_port = PORT_FIRST;
	return node->next_port++;
}

/* ---- listeners ------------------------------------------------------------------------------- */

static struct sim_listener *listener_of(struct io_listener *l)
{
	return container_of(l, struct sim_listener, base);
}

static bool addr_in_use(struct sim_node *node, const struct io_addr *addr)
{
	struct sim_listener *l;

	list_for_each_entry(l, &node->sim->listeners, link)
		if (l->node == node && io_addr_port(&l->addr) == io_addr_port(addr) &&
		    io_addr_is_v6(&l->addr) == io_addr_is_v6(addr) &&
		    (io_addr_is_any(&l->addr) || io_addr_is_any(addr) ||
		     io_addr_equal(&l->addr, addr)))
			return true;
	return false;
}

int sim_net_listen(struct io_loop *loop, const struct io_addr *addr,
		   const struct io_listen_options *opts, struct io_listener **ret_l,
		   struct err *err)
{
	struct sim_loop *sl = sim_loop_of(loop);
	struct io_addr bound = *addr;
	char text[IO_ADDR_TEXT];
	struct sim_listener *l;

	io_addr_format(addr, text);
	if (sim_loop_dead(sl))
		return err_set(err, ENETDOWN, "listen on %s: the node crashed", text);
	if (addr_node(sl->node, addr) != sl->node)
		return err_set(err, EADDRNOTAVAIL, "listen on %s: not an address of %s", text,
			       sl->node->name);
	if (io_addr_port(&bound) == 0)
		io_addr_set_port(&bound, free_port(sl->node));
	if (addr_in_use(sl->node, &bound))
		return err_set(err, EADDRINUSE, "listen on %s: address in use", text);
	l = sim_xalloc(sizeof(*l));
	l->base.loop = loop;
	l->node = sl->node;
	l->addr = bound;
	l->v6only = opts && opts->v6only;
	l->backlog = opts && opts->backlog > 0 ? (unsigned int)opts->backlog : BACKLOG;
	list_init(&l->queue);
	list_add_tail(&sl->node->sim->listeners, &l->link);
	sl->streams++;
	*ret_l = &l->base;
	return 0;
}

const struct io_addr *sim_net_listener_addr(const struct io_listener *l)
{
	return &((const struct sim_listener *)(const void *)l)->addr; /* base comes first */
}

static void accept_fire(struct sim *sim, void *obj, uint64_t arg)
{
	struct io_op *op = obj;
	struct sim_listener *l = listener_of(op->obj);
	struct sim_end *end;

	op->impl[SIM_OP_EVENT] = 0;
	l->accept_op = NULL;
	if (sim_fault(sim, SIM_NET_EMFILE, l->node)) {
		sim_op_end(op, -EMFILE);
		return;
	}
	end = list_pop_entry(&l->queue, struct sim_end, queued);
	l->queue_len--;
	sim_did(sim, SIM_DID_ACCEPT, l->node, sim_end_id(end), 0, 0);
	op->sock = sim_sock_new(end);
	sim_op_end(op, 0);
}

static void accept_kick(struct sim_listener *l)
{
	struct io_op *op = l->accept_op;

	if (op && !op->impl[SIM_OP_EVENT] && !list_empty(&l->queue))
		sim_op_schedule(op, rng_below(&l->node->sim->rng, SETUP_MAX_NS), accept_fire);
}

void sim_net_accept(struct io_listener *base, struct io_op *op)
{
	struct sim_listener *l = listener_of(base);

	INVARIANT(!l->accept_op);
	sim_op_begin(op);
	if (sim_loop_dead(sim_loop_of(op->loop))) {
		sim_op_end(op, -ECANCELED);
		return;
	}
	l->accept_op = op;
	accept_kick(l);
}

void sim_net_listener_close(struct io_listener *base)
{
	struct sim_listener *l = listener_of(base);
	struct sim_end *end;

	if (l->accept_op)
		sim_op_end_cancelled(l->accept_op);
	while ((end = list_pop_entry(&l->queue, struct sim_end, queued)))
		sim_end_drop(end, true);
	list_del(&l->link);
	sim_loop_of(base->loop)->streams--;
	free(l);
}

/* ---- connecting ------------------------------------------------------------------------------ */

static void dial_free(struct sim_dial *dial)
{
	dial->op->impl[SIM_OP_AUX] = 0;
	if (dial->conn)
		sim_end_drop(&dial->conn->end[0], true);
	free(dial);
}

static void dial_end(struct sim_dial *dial, int64_t result)
{
	struct io_op *op = dial->op;
	struct sim *sim = dial->from->sim;

	sim_did(sim, SIM_DID_CONNECT, dial->from, dial->conn ? dial->conn->id : 0, (uint64_t)result,
		0);
	if (result == 0) {
		op->sock = sim_sock_new(&dial->conn->end[0]);
		dial->conn = NULL;
	}
	dial_free(dial);
	sim_op_end(op, result);
}

static void dial_answer(struct sim *sim, void *obj, uint64_t arg)
{
	struct io_op *op = obj;
	struct sim_dial *dial = (struct sim_dial *)(uintptr_t)op->impl[SIM_OP_AUX];
	int error = (int)arg;

	op->impl[SIM_OP_EVENT] = 0;
	if (!error && dial->conn->end[0].error)
		error = dial->conn->end[0].error;
	if (!error && sim_fault(sim, SIM_NET_NOMEM, dial->from))
		error = ENOMEM;
	dial_end(dial, -error);
}

static void dial_syn(struct sim *sim, void *obj, uint64_t arg);

static void dial_reply(struct sim_dial *dial, int error)
{
	struct sim *sim = dial->from->sim;
	struct sim_event *ev =
		sim_at(sim, sim_net_delay(sim), dial_answer, dial->op, (uint64_t)error);

	dial->op->impl[SIM_OP_EVENT] = (uintptr_t)ev;
}

/* No answer: again in a second, until it is too late. */
static void dial_retry(struct sim_dial *dial, bool hopeless)
{
	uint64_t now = dial->from->sim->now;
	uint64_t left = dial->deadline > now ? dial->deadline - now : 0;
	struct sim_event *ev;

	if (hopeless || left <= SYN_RETRY_NS)
		ev = sim_at(dial->from->sim, left, dial_answer, dial->op, ETIMEDOUT);
	else
		ev = sim_at(dial->from->sim, SYN_RETRY_NS, dial_syn, dial->op, 0);
	dial->op->impl[SIM_OP_EVENT] = (uintptr_t)ev;
}

/* Where the other machine sees the connection come from. */
static void dial_local(struct sim_dial *dial)
{
	struct io_addr *local = &dial->local;
	uint16_t port = local->len ? io_addr_port(local) : 0;

	if (!port)
		port = free_port(dial->from);
	if (local->len && !io_addr_is_any(local)) {
		io_addr_set_port(local, port);
	} else if (io_addr_is_loopback(&dial->addr) || io_addr_is_any(&dial->addr)) {
		*local = dial->addr;
		io_addr_set_port(local, port);
	} else if (io_addr_is_v6(&dial->addr)) {
		sim_node_addr6(dial->from, port, local);
	} else {
		sim_node_addr(dial->from, port, local);
	}
}

static void dial_enter_queue(struct sim_dial *dial, struct sim_listener *l)
{
	struct sim *sim = dial->from->sim;
	struct sim_conn *conn = sim_conn_new(sim, dial->from, l->node);

	dial_local(dial);
	conn->end[0].local = conn->end[1].peer = dial->local;
	conn->end[0].peer = conn->end[1].local = dial->addr;
	dial->conn = conn;
	list_add_tail(&l->queue, &conn->end[1].queued);
	l->queue_len++;
	sim_did(sim, SIM_DID_SYN, l->node, conn->id, l->queue_len, 0);
	accept_kick(l);
}

static void dial_syn(struct sim *sim, void *obj, uint64_t arg)
{
	struct io_op *op = obj;
	struct sim_dial *dial = (struct sim_dial *)(uintptr_t)op->impl[SIM_OP_AUX];
	struct sim_node *to = addr_node(dial->from, &dial->addr);
	struct sim_listener *l;

	op->impl[SIM_OP_EVENT] = 0;
	if (!to) {
		dial_reply(dial, EHOSTUNREACH);
		return;
	}
	if (!to->power || sim_link_blocked(sim, dial->from, to)) {
		dial_retry(dial, false);
		return;
	}
	if (sim_fault(sim, SIM_NET_SYN, dial->from)) {
		dial_retry(dial, sim_coin(sim));
		return;
	}
	l = find_listener(to, &dial->addr);
	if (!l || sim_fault(sim, SIM_NET_REFUSE, to)) {
		dial_reply(dial, ECONNREFUSED);
		return;
	}
	if (l->queue_len >= l->backlog) {
		dial_retry(dial, false);
		return;
	}
	dial_enter_queue(dial, l);
	dial_reply(dial, 0);
}

void sim_net_connect(struct io_loop *loop, struct io_op *op, const struct io_addr *addr,
		     const struct io_addr *local)
{
	struct sim_loop *sl = sim_loop_of(loop);
	struct sim *sim = sl->node->sim;
	struct sim_dial *dial;

	sim_op_begin(op);
	if (sim_loop_dead(sl)) {
		sim_op_end(op, -ECANCELED);
		return;
	}
	if (local && addr_node(sl->node, local) != sl->node) {
		sim_op_end(op, -EADDRNOTAVAIL);
		return;
	}
	dial = sim_xalloc(sizeof(*dial));
	dial->op = op;
	dial->from = sl->node;
	dial->addr = *addr;
	if (local)
		dial->local = *local;
	dial->deadline = sim->now + sim->config.connect_timeout_ns;
	op->impl[SIM_OP_AUX] = (uintptr_t)dial;
	sim_op_schedule(op, sim_net_delay(sim), dial_syn);
}

void sim_net_cancel(struct io_op *op)
{
	struct sim *sim = sim_loop_of(op->loop)->node->sim;
	struct sim_dial *dial = (struct sim_dial *)(uintptr_t)op->impl[SIM_OP_AUX];

	/* Asked before, and about to finish; for an accept, its listener may be gone too. */
	if (op->impl[SIM_OP_CANCELLED])
		return;
	/* A cancel may come too late for what is about to finish anyway. */
	if (op->kind == IO_OP_ACCEPT) {
		if (op->impl[SIM_OP_EVENT] && sim_coin(sim))
			return;
		listener_of(op->obj)->accept_op = NULL;
	} else {
		if (dial->conn && sim_coin(sim))
			return;
		dial_free(dial);
	}
	sim_op_end_cancelled(op);
}

void sim_net_crash(struct sim_node *node)
{
	struct sim_listener *l, *next;
	struct sim_loop *sl;
	struct io_op *op;

	list_for_each_entry_safe(l, next, &node->sim->listeners, link) {
		if (l->node != node)
			continue;
		list_del(&l->link);
		l->accept_op = NULL;
	}
	list_for_each_entry(sl, &node->sim->loops, link) {
		if (sl->node != node)
			continue;
		list_for_each_entry(op, &sl->pending, link)
			if (op->kind == IO_OP_CONNECT && op->impl[SIM_OP_AUX])
				dial_free((struct sim_dial *)(uintptr_t)op->impl[SIM_OP_AUX]);
	}
}

/* ---- links and pairs ------------------------------------------------------------------------- */

uint64_t sim_link_blocked(const struct sim *sim, const struct sim_node *a, const struct sim_node *b)
{
	for (size_t i = 0; i < sim->cut_count; i++) {
		const struct sim_cut *cut = &sim->cuts[i];

		if ((cut->a == a && cut->b == b) || (cut->a == b && cut->b == a))
			return cut->until > sim->now ? cut->until : 0;
	}
	return 0;
}

int sim_net_sock_pair(struct io_loop *loop, struct io_sock **ret_a, struct io_sock **ret_b)
{
	struct sim_loop *sl = sim_loop_of(loop);
	struct sim_conn *conn;

	if (sim_fault(sl->node->sim, SIM_NET_NOMEM, sl->node))
		return -ENOMEM;
	conn = sim_conn_new(sl->node->sim, sl->node, sl->node);
	conn->local = true;
	for (int i = 0; i < 2; i++)
		addr_v4(INADDR_LOOPBACK, free_port(sl->node), &conn->end[i].local);
	conn->end[0].peer = conn->end[1].local;
	conn->end[1].peer = conn->end[0].local;
	/* A process that was cut off may still talk to itself, but not from before to after. */
	if (sim_loop_dead(sl))
		conn->end[0].live = conn->end[1].live = false;
	*ret_a = sim_sock_new(&conn->end[0]);
	*ret_b = sim_sock_new(&conn->end[1]);
	return 0;
}
