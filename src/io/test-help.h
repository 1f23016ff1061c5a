/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of io: operations that one waits for, two connected streams, a file read or written in one
 * call. Each turns its loop until what was asked for has happened, so a test reads from top to bottom.
 */
#ifndef PENSTOCK_IO_TEST_HELP_H
#define PENSTOCK_IO_TEST_HELP_H

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "base/util.h"
#include "io/io.h"
#include "tests/tap.h"

#define CONTRACT_LIMIT_NS 20000000000ULL /* no check takes that long */

/* Removes the files in a directory of the test's own. */
UNUSED static void empty_directory(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && unlinkat(dirfd(dir), entry->d_name, 0) < 0)
			diag("%s/%s stays", path, entry->d_name);
	if (dir)
		closedir(dir);
}

/* ---- an operation that one waits for --------------------------------------------------------- */

struct waiter {
	struct io_op op;
	bool done;
};

UNUSED static void waiter_done(struct io_op *op)
{
	container_of(op, struct waiter, op)->done = true;
}

UNUSED static struct io_op *waiter_op(struct waiter *w)
{
	w->done = false;
	io_op_init(&w->op, waiter_done);
	return &w->op;
}

UNUSED static bool await_flag(struct io_loop *loop, const bool *flag)
{
	uint64_t end = io_now_precise(loop) + CONTRACT_LIMIT_NS;

	while (!*flag && io_now_precise(loop) < end)
		if (io_loop_turn(loop, 100000000) < 0)
			break;
	if (!*flag)
		diag("gave up waiting");
	return *flag;
}

UNUSED static int64_t await(struct io_loop *loop, struct waiter *w)
{
	return await_flag(loop, &w->done) ? w->op.result : -ETIME;
}

UNUSED static int64_t recv_some(struct io_loop *loop, struct io_stream *s, void *buf, size_t n)
{
	struct iovec iov = { buf, n };
	struct waiter w;

	io_stream_recv(s, waiter_op(&w), &iov, 1);
	return await(loop, &w);
}

UNUSED static int64_t send_some(struct io_loop *loop, struct io_stream *s, const void *buf,
				size_t n)
{
	struct iovec iov = { (void *)(uintptr_t)buf, n };
	struct waiter w;

	io_stream_send(s, waiter_op(&w), &iov, 1, false);
	return await(loop, &w);
}

/* Receives exactly @n bytes; fewer at the end of the stream or an error. */
UNUSED static size_t recv_all(struct io_loop *loop, struct io_stream *s, void *buf, size_t n)
{
	size_t got = 0;
	int64_t r;

	while (got < n && (r = recv_some(loop, s, (char *)buf + got, n - got)) > 0)
		got += (size_t)r;
	return got;
}

/* ---- two connected streams --------------------------------------------------------------------- */

struct two {
	struct io_stream *a; /* connected */
	struct io_stream *b; /* accepted */
};

UNUSED static struct io_listener *listen_at(struct io_loop *loop, const char *address)
{
	struct io_listener *l = NULL;
	struct err err = ERR_NULL;
	struct io_addr addr;

	if (io_addr_parse(address, 0, true, &addr, &err) < 0 ||
	    io_listen(loop, &addr, NULL, &l, &err) < 0)
		diag("%s", err.text);
	return l;
}

UNUSED static bool two_over(struct io_loop *loop, const char *address, struct two *ret)
{
	struct io_listener *l = listen_at(loop, address);
	struct waiter accepting, connecting;
	int64_t r;

	*ret = (struct two){ NULL, NULL };
	if (!l)
		return false;
	io_accept(l, waiter_op(&accepting));
	io_connect(loop, waiter_op(&connecting), io_listener_addr(l), NULL);
	r = await(loop, &connecting);
	if (r == 0)
		r = await(loop, &accepting);
	io_listener_close(l);
	if (r < 0) {
		diag("no connection: %s", strerror((int)-r));
		return false;
	}
	return io_stream_new(loop, connecting.op.sock, NULL, &ret->a) == 0 &&
	       io_stream_new(loop, accepting.op.sock, NULL, &ret->b) == 0;
}

UNUSED static void two_close(struct two *t)
{
	if (t->a)
		io_stream_close(t->a, false);
	if (t->b)
		io_stream_close(t->b, false);
	*t = (struct two){ NULL, NULL };
}

/* ---- files ---------------------------------------------------------------------------------- */

UNUSED static int64_t file_do(struct io_loop *loop, struct io_file *f, bool write, void *buf,
			      size_t n, uint64_t offset, unsigned int flags)
{
	/* Two vectors where the length can be halved without harming its alignment. */
	size_t half = n >= 8192 ? n / 2 / 4096 * 4096 : n;
	struct iovec iov[2] = { { buf, half }, { (char *)buf + half, n - half } };
	struct waiter w;

	if (write)
		io_file_write(loop, f, waiter_op(&w), iov, half < n ? 2 : 1, offset, flags);
	else
		io_file_read(loop, f, waiter_op(&w), iov, half < n ? 2 : 1, offset);
	return await(loop, &w);
}

UNUSED static bool all_zero(const uint8_t *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

UNUSED static void check_file_alignment(const char *name, struct io_loop *loop, struct io_file *f)
{
	uint32_t align = io_file_info(f)->dio_align;
	uint8_t *buf = aligned_alloc(65536, 65536 * 2);

	ok(align > 1 && is_power_of_two(align), "%s: direct I/O is aligned to %u", name, align);
	is_i64(file_do(loop, f, false, buf + align / 2, align, 0, 0), -EINVAL,
	       "%s: direct, unaligned memory is refused", name);
	is_i64(file_do(loop, f, false, buf, align, align / 2, 0), -EINVAL,
	       "%s: an unaligned offset too", name);
	is_i64(file_do(loop, f, true, buf, align / 2, 0, 0), -EINVAL, "%s: and an unaligned length",
	       name);
	free(buf);
}

#endif
