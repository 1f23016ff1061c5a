/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which implementation a loop gets. io_uring where the kernel lets us have it, since it needs the
 * fewest kernel entries; else epoll with threads, since containers commonly forbid io_uring and
 * nobody should have to know. PENSTOCK_IO overrides, and a value that means nothing is an error: a
 * misspelt setting that silently did nothing would be found by a wrong measurement.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/io.h"
#include "io/ops.h"

static int kind_from_environment(enum io_kind *ret_kind, struct err *err)
{
	const char *text = getenv("PENSTOCK_IO");

	if (!text || !*text)
		*ret_kind = IO_KIND_AUTO;
	else if (strcmp(text, "uring") == 0)
		*ret_kind = IO_KIND_URING;
	else if (strcmp(text, "epoll") == 0)
		*ret_kind = IO_KIND_EPOLL;
	else
		return err_set(err, EINVAL, "PENSTOCK_IO is '%s', it must be 'uring' or 'epoll'",
			       text);
	return 0;
}

int io_loop_new(const struct io_loop_options *opts, struct io_loop **ret_loop, struct err *err)
{
	static const struct io_loop_options defaults;
	enum io_kind kind;
	int r;

	if (!opts)
		opts = &defaults;
	kind = opts->kind;
	if (kind == IO_KIND_AUTO) {
		r = kind_from_environment(&kind, err);
		if (r < 0)
			return r;
	}
	switch (kind) {
	case IO_KIND_URING:
		return io_uring_loop_new(opts, ret_loop, err);
	case IO_KIND_EPOLL:
		return io_epoll_loop_new(opts, ret_loop, err);
	case IO_KIND_AUTO:
		if (io_uring_loop_new(opts, ret_loop, NULL) == 0)
			return 0;
		return io_epoll_loop_new(opts, ret_loop, err);
	}
	return err_set(err, EINVAL, "no such kind of loop: %d", (int)kind);
}
