/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files that are replaced as a whole, in the simulated world: a save has its effect at one
 * moment, or a crash decides whether it had, and what there is survives every crash.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/util.h"
#include "io/sim-impl.h"

struct sim_state {
	struct list link;
	size_t len;
	char *contents;
	char path[];
};

static struct sim_state *find(struct sim_node *node, const char *path)
{
	struct sim_state *s;

	list_for_each_entry(s, &node->states, link)
		if (strcmp(s->path, path) == 0)
			return s;
	return NULL;
}

static void forget(struct sim_state *s)
{
	list_del(&s->link);
	free(s->contents);
	free(s);
}

void sim_state_free(struct sim_node *node)
{
	while (!list_empty(&node->states))
		forget(list_first_entry(&node->states, struct sim_state, link));
}

static struct sim_state *make(struct sim_node *node, const char *path)
{
	struct sim_state *s = sim_xalloc(sizeof(*s) + strlen(path) + 1);

	memcpy(s->path, path, strlen(path) + 1);
	list_add_tail(&node->states, &s->link);
	return s;
}

static void replace(struct sim_node *node, const struct io_op *op)
{
	struct sim_state *s = find(node, op->obj);

	sim_did(node->sim, SIM_DID_WRITE, node, 0, op->length,
		op->length ? crc32c(0, op->iov->iov_base, op->iov->iov_len) : 0);
	if (op->length == 0) {
		if (s)
			forget(s);
		return;
	}
	if (!s)
		s = make(node, op->obj);
	free(s->contents);
	s->len = op->iov->iov_len;
	s->contents = sim_xalloc(s->len);
	memcpy(s->contents, op->iov->iov_base, s->len);
}

int64_t sim_state_load(struct io_loop *loop, const char *path, void *buf, size_t max,
		       struct err *err)
{
	struct sim_state *s = find(sim_loop_of(loop)->node, path);

	if (!s)
		return err_set(err, ENOENT, "%s: no such file", path);
	if (s->len > max)
		return err_set(err, EFBIG, "%s: more than the %zu bytes that were expected at most",
			       path, max);
	memcpy(buf, s->contents, s->len);
	return (int64_t)s->len;
}

static void save_fire(struct sim *sim, void *obj, uint64_t arg)
{
	struct io_op *op = obj;
	struct sim_node *node = sim_loop_of(op->loop)->node;

	op->impl[SIM_OP_EVENT] = 0;
	if (sim_fault(sim, SIM_FILE_WRITE, node)) {
		/* The directory's sync may be what failed. */
		if (sim_coin(sim))
			replace(node, op);
		sim_op_end(op, -EIO);
		return;
	}
	replace(node, op);
	sim_op_end(op, 0);
}

void sim_state_save(struct io_loop *loop, struct io_op *op)
{
	struct sim_node *node = sim_loop_of(loop)->node;
	const struct sim_config *config = &node->sim->config;

	sim_op_begin(op);
	if (sim_loop_dead(sim_loop_of(loop))) {
		sim_op_end(op, -ECANCELED);
		return;
	}
	sim_op_schedule(op, rng_between(&node->sim->rng, config->disk_min_ns, config->disk_max_ns),
			save_fire);
}

void sim_state_crash(struct io_op *op)
{
	struct sim_node *node = sim_loop_of(op->loop)->node;

	if (!op->impl[SIM_OP_CANCELLED] && sim_coin(node->sim))
		replace(node, op);
}
