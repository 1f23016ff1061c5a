/* SPDX-License-Identifier: Apache-2.0 */
/* Ending a loop's sleep from outside; wake.h says how. */
#include "io/wake.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/util.h"

int io_wake_init(struct io_wake *w)
{
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->fd < 0)
		return -errno;
	atomic_init(&w->sleeping, false);
	atomic_init(&w->called, false);
	return 0;
}

void io_wake_deinit(struct io_wake *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

void io_wake_call(struct io_wake *w)
{
	static const uint64_t one = 1;
	int saved = errno; /* for the thread that a signal interrupted */
	ssize_t r;

	atomic_store(&w->called, true);
	if (atomic_load(&w->sleeping)) {
		/* The one failure is a full counter, and then it is readable anyway. */
		r = write(w->fd, &one, sizeof(one));
		(void)r;
	}
	errno = saved;
}

bool io_wake_was_called(struct io_wake *w)
{
	return atomic_load_explicit(&w->called, memory_order_relaxed) &&
	       atomic_exchange(&w->called, false);
}

bool io_wake_sleep_begin(struct io_wake *w)
{
	atomic_store(&w->sleeping, true);
	return !atomic_exchange(&w->called, false);
}

void io_wake_sleep_end(struct io_wake *w)
{
	atomic_store_explicit(&w->sleeping, false, memory_order_relaxed);
}

void io_wake_drain(struct io_wake *w)
{
	uint64_t count;
	ssize_t r = read(w->fd, &count, sizeof(count));

	(void)r; /* empty already: a call between two looks */
	/*
	 * An exchange, not a store: a call that this wipes out came with a message, and what follows
	 * must see that message.
	 */
	atomic_exchange(&w->called, false);
}
