/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waking a loop from another thread or a signal handler. An eventfd ends a sleep; it is written only
 * if the loop sleeps or is about to, so messages to a busy loop cost no system call on either side.
 *
 * The handshake is Dekker's: the sender publishes its message, then looks at `sleeping`; the loop
 * sets `sleeping`, then looks for messages. Both with a full fence between, so at least one of them
 * sees the other.
 */
#ifndef PENSTOCK_IO_WAKE_H
#define PENSTOCK_IO_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>

struct io_wake {
	int fd; /* non-blocking eventfd; readable when a sleep has to end */
	atomic_bool sleeping;
	atomic_bool called; /* somebody called since the loop last looked */
};

int io_wake_init(struct io_wake *w);
void io_wake_deinit(struct io_wake *w);
/* Any thread, async-signal-safe. */
void io_wake_call(struct io_wake *w);
/* The loop, while it is awake: was it called since it last asked? */
bool io_wake_was_called(struct io_wake *w);
/* The loop, before it sleeps. False: do not sleep, it was called. Then, and after sleep, _end(). */
bool io_wake_sleep_begin(struct io_wake *w);
void io_wake_sleep_end(struct io_wake *w);
/* Empties the eventfd once it was seen readable. */
void io_wake_drain(struct io_wake *w);

#endif
