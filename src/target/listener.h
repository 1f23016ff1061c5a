/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listener: an address where hosts reach us, and which subsystems they reach there. It belongs to
 * one reactor, which accepts and hands connections to the one that has the fewest.
 */
#ifndef PENSTOCK_TARGET_LISTENER_H
#define PENSTOCK_TARGET_LISTENER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "io/io.h"
#include "target/target.h"

struct target;
struct tgt_reactor;

struct tgt_listener {
	struct target *target;
	struct tgt_reactor *reactor;
	atomic_uint refs;         /* the target's list, and connections that came in here */
	uint16_t index;           /* PORTID of the discovery log is one more */
	struct io_addr addr;      /* as configured; with the port really bound, once started */
	struct io_addr advertise; /* len 0: none */
	char **nqns;              /* the subsystems that are reached here; none: all */
	size_t nqn_count;

	struct io_listener *io;
	struct io_op accept_op;
	struct io_timer retry; /* accepting again after an error */
	bool closing; /* guarded by the target's lock */
};

/* The subsystems of @t exist. -ENOMEM; -EINVAL with a sentence. */
int tgt_listener_new(struct target *t, uint16_t index, const struct target_listener_config *c,
		     struct tgt_listener **ret_listener, struct err *err);
/* What @c says of it but for the address; afterwards the caller tells whom that concerns. */
int tgt_listener_update(struct tgt_listener *l, const struct target_listener_config *c,
			struct err *err);
struct tgt_listener *tgt_listener_get(struct tgt_listener *l);
/* The last one frees: it is closed then, or was never started. Takes NULL, returns NULL. */
struct tgt_listener *tgt_listener_put(struct tgt_listener *l);

/*
 * For tgt_reactor_call() on its reactor @r, with the listener as @arg. Errors of bind(2), with a
 * sentence; -ESHUTDOWN when the reactor drains.
 */
int tgt_listener_start(struct tgt_reactor *r, void *arg, struct err *err);
/* The same; what is under way ends in a later turn. Takes the lock. */
int tgt_listener_close(struct tgt_reactor *r, void *arg, struct err *err);

/*
 * Takes a connected socket, as if it had been accepted, from the thread of any reactor: for
 * listeners, tests and connections within the process (@l NULL). Refused with a close when there
 * are too many.
 */
void tgt_accept_sock(struct target *t, struct tgt_reactor *here, struct tgt_listener *l,
		     struct io_sock *sock);

#endif
