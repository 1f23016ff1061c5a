/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of stores share: loops of every implementation there is, a place for files, and
 * operations that are run to their end. For tests only.
 */
#ifndef PENSTOCK_STORE_TEST_RIG_H
#define PENSTOCK_STORE_TEST_RIG_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/util.h"
#include "io/io.h"
#include "io/sim.h"
#include "store/store.h"
#include "tests/tap.h"

struct rig {
	const char *name; /* of the loop's implementation */
	struct io_loop *loop;
	struct sim *sim;
	struct sim_node *node;
	char dir[128]; /* where files go */
};

enum rig_kind { RIG_URING, RIG_EPOLL, RIG_SIM, RIG_COUNT };

/* False: not here, and a skip said why. */
UNUSED static bool rig_init(struct rig *r, enum rig_kind kind, const struct sim_config *config)
{
	struct io_loop_options opts = { .kind = kind == RIG_URING ? IO_KIND_URING : IO_KIND_EPOLL };
	struct err err = ERR_NULL;
	struct sim_config calm;

	*r = (struct rig){ .name = "sim" };
	if (kind == RIG_SIM) {
		sim_config_calm(&calm);
		r->sim = sim_new(1, config ? config : &calm);
		r->node = sim_node_new(r->sim, "node");
		r->loop = sim_loop_new(r->node);
		return true;
	}
	if (io_loop_new(&opts, &r->loop, &err) < 0) {
		tap_skip(err_text(&err));
		return false;
	}
	r->name = io_loop_name(r->loop);
	snprintf(r->dir, sizeof(r->dir), "%s/penstock-store-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	INVARIANT(mkdtemp(r->dir));
	return true;
}

/* The files in it must be gone. */
UNUSED static void rig_deinit(struct rig *r)
{
	io_loop_free(r->loop);
	sim_free(r->sim);
	if (r->dir[0])
		INVARIANT(rmdir(r->dir) == 0);
}

/* The path of a file; four may be in use at a time. */
UNUSED static const char *rig_path(const struct rig *r, const char *name)
{
	static char path[4][192];
	static unsigned int next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", r->dir, name);
	return p;
}

UNUSED static void rig_unlink(const struct rig *r, const char *name)
{
	if (!r->sim)
		unlink(rig_path(r, name));
}

/* Opens, or says why not and fails. */
UNUSED static struct store *rig_open(const struct rig *r, const char *spec)
{
	struct store *s = NULL;
	struct err err = ERR_NULL;

	if (store_open(r->loop, spec, &s, &err) < 0)
		diag("%s", err_text(&err));
	INVARIANT(s);
	return s;
}

struct call {
	struct store_op op;
	bool finished;
};

static void call_done(struct store_op *op)
{
	container_of(op, struct call, op)->finished = true;
}

/* Starts an operation; c->finished when it is over. */
UNUSED static void call_start(struct call *c, const struct rig *r, struct store *s,
			      enum store_kind kind, unsigned int flags, uint64_t offset,
			      uint64_t length, const struct iovec *iov, int niov)
{
	c->finished = false;
	c->op = (struct store_op){
		.kind = kind,
		.flags = flags,
		.offset = offset,
		.length = length,
		.iov = iov,
		.niov = niov,
		.done = call_done,
	};
	if (store_submit(s, r->loop, &c->op))
		c->finished = true;
}

UNUSED static int call_wait(struct call *c, const struct rig *r)
{
	while (!c->finished)
		INVARIANT(io_loop_turn(r->loop, UINT64_MAX) >= 0);
	return c->op.result;
}

UNUSED static int run_iov(const struct rig *r, struct store *s, enum store_kind kind,
			  unsigned int flags, uint64_t offset, uint64_t length,
			  const struct iovec *iov, int niov)
{
	struct call c;

	call_start(&c, r, s, kind, flags, offset, length, iov, niov);
	return call_wait(&c, r);
}

/* @buf: of length bytes, twice that for compare and write; NULL for what has none. */
UNUSED static int run(const struct rig *r, struct store *s, enum store_kind kind,
		      unsigned int flags, uint64_t offset, uint64_t length, void *buf)
{
	struct iovec iov = { buf, length * (kind == STORE_COMPARE_WRITE ? 2 : 1) };

	return run_iov(r, s, kind, flags, offset, length, buf ? &iov : NULL, buf ? 1 : 0);
}

/* Page-aligned memory; mem_free() it. */
UNUSED static uint8_t *pages(size_t n)
{
	uint8_t *p = mem_aligned(4096, n);

	INVARIANT(p);
	memset(p, 0, n);
	return p;
}

UNUSED static bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

#endif
