/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines: how they come, crash, pause and go on. A crash is a change of the node's epoch: what
 * carries an older one (loops, files, ends of connections) is cut off from the world in that
 * instant, whatever code still runs there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "io/sim-impl.h"

struct sim_node *sim_node_new(struct sim *sim, const char *name)
{
	struct sim_node *node = sim_xalloc(sizeof(*node));

	INVARIANT(sim->node_count < SIM_NODE_MAX);
	sim->nodes = reallocarray(sim->nodes, sim->node_count + 1, sizeof(struct sim_node *));
	INVARIANT(sim->nodes != NULL);
	sim->nodes[sim->node_count++] = node;
	node->sim = sim;
	node->id = sim->node_count;
	node->up = node->power = true;
	snprintf(node->name, sizeof(node->name), "%s", name);
	list_init(&node->files);
	list_init(&node->states);
	return node;
}

bool sim_node_up(const struct sim_node *node)
{
	return node->up;
}

void sim_node_restart(struct sim_node *node)
{
	INVARIANT(!node->up);
	node->up = node->power = true;
	sim_did(node->sim, SIM_DID_RESTART, node, node->epoch, 0, 0);
}

/* Each connection of the node; @fn may not free it. */
static void for_each_end(struct sim_node *node, void (*fn)(struct sim_end *end, int arg), int arg)
{
	struct sim_conn *conn;

	list_for_each_entry(conn, &node->sim->conns, link)
		for (int i = 0; i < 2; i++)
			if (conn->end[i].node == node && conn->end[i].live)
				fn(&conn->end[i], arg);
}

static void finish_pending(struct sim_loop *sl, enum sim_crash how)
{
	struct io_op *op, *next;

	list_for_each_entry_safe(op, next, &sl->pending, link) {
		if (op->kind == IO_OP_SAVE)
			sim_state_crash(op);
		else if (op->kind >= IO_OP_READ)
			sim_file_crash(op, how);
		sim_op_end(op, -ECANCELED);
	}
	/* What the world had answered but the process had not yet seen, it never sees. */
	list_for_each_entry(op, &sl->base.finished, link)
		if (op->kind != IO_OP_NOP && !op->sock)
			op->result = -ECANCELED;
}

static void end_crash(struct sim_end *end, int how)
{
	bool coin = sim_coin(end->node->sim);

	/*
	 * Nobody says goodbye without power, but somebody may answer for it (a router, the peer's
	 * own).
	 */
	if (how == SIM_CRASH_POWER)
		sim_end_crash(end, coin ? SIM_BYE_SILENT : SIM_BYE_RESET);
	else
		sim_end_crash(end, coin ? SIM_BYE_FIN : SIM_BYE_RESET);
}

void sim_node_crash(struct sim_node *node, enum sim_crash how)
{
	struct sim *sim = node->sim;
	struct sim_loop *sl;
	struct sim_file *f;

	INVARIANT(node->up);
	sim_did(sim, SIM_DID_CRASH, node, node->epoch, how, 0);
	for_each_end(node, end_crash, how);
	sim_net_crash(node);
	list_for_each_entry(sl, &sim->loops, link)
		if (sl->node == node && !sim_loop_dead(sl))
			finish_pending(sl, how);
	if (how == SIM_CRASH_POWER)
		list_for_each_entry(f, &node->files, link)
			sim_disk_power_cut(f);
	node->epoch++;
	node->up = false;
	node->power = how == SIM_CRASH_PROCESS;
	node->paused_until = 0;
}

void sim_node_pause(struct sim_node *node, uint64_t ns)
{
	node->paused_until = MAX(node->paused_until, node->sim->now + ns);
	sim_did(node->sim, SIM_DID_PAUSE, node, 0, ns, 0);
}

void sim_node_clock(struct sim_node *node, int64_t ns)
{
	node->clock += ns;
	sim_did(node->sim, SIM_DID_CLOCK, node, 0, (uint64_t)ns, 0);
}

static void end_reset(struct sim_end *end, int arg)
{
	sim_conn_reset(sim_end_conn(end));
}

static void end_hole(struct sim_end *end, int arg)
{
	sim_conn_hole(sim_end_conn(end));
}

void sim_node_reset(struct sim_node *node)
{
	for_each_end(node, end_reset, 0);
}

void sim_node_hole(struct sim_node *node)
{
	for_each_end(node, end_hole, 0);
}

static struct sim_cut *cut_of(struct sim *sim, const struct sim_node *a, const struct sim_node *b)
{
	struct sim_cut *cut;

	for (size_t i = 0; i < sim->cut_count; i++) {
		cut = &sim->cuts[i];
		if ((cut->a == a && cut->b == b) || (cut->a == b && cut->b == a))
			return cut;
	}
	sim->cuts = reallocarray(sim->cuts, sim->cut_count + 1, sizeof(*sim->cuts));
	INVARIANT(sim->cuts != NULL);
	cut = &sim->cuts[sim->cut_count++];
	*cut = (struct sim_cut){ .a = a, .b = b };
	return cut;
}

void sim_link_down(struct sim_node *a, struct sim_node *b, uint64_t ns)
{
	struct sim_cut *cut;

	if (a == b)
		return;
	cut = cut_of(a->sim, a, b);
	cut->until = MAX(cut->until, a->sim->now + ns);
	sim_did(a->sim, SIM_DID_LINK, a, b->id, ns, 0);
}

void sim_node_fail_alloc(struct sim_node *node, bool on)
{
	node->fail_alloc = on;
}

unsigned int sim_node_streams(const struct sim_node *node)
{
	const struct sim_conn *conn;
	unsigned int n = 0;

	list_for_each_entry(conn, &node->sim->conns, link)
		for (int i = 0; i < 2; i++)
			n += conn->end[i].node == node && conn->end[i].live;
	return n;
}

bool sim_node_quiet(const struct sim_node *node)
{
	const struct sim_conn *conn;

	list_for_each_entry(conn, &node->sim->conns, link)
		for (int i = 0; i < 2; i++) {
			const struct sim_pipe *p = &conn->pipe[i];
			const struct sim_end *to = &conn->end[!i];

			if (conn->end[i].node == node && p->seg_count > 0 && !p->hole && !p->dead &&
			    to->live && !to->error)
				return false;
		}
	return true;
}
