/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files on a real kernel: limits, full file systems, cancelling, and a block device if the tester
 * names one in PENSTOCK_TEST_BLOCK (it is overwritten; `losetup -f --show FILE` makes one).
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/test-help.h"
#include "io/uring.h"

static const struct io_loop_options *the_opts;
static const char *the_name;
static char directory[] = "/var/tmp/penstock-test-XXXXXX";

static struct io_loop *new_loop(void)
{
	struct io_loop *loop = NULL;
	struct err err = ERR_NULL;

	if (io_loop_new(the_opts, &loop, &err) < 0)
		diag("%s", err.text);
	return loop;
}

static struct io_file *open_in(struct io_loop *loop, const char *dir, const char *name, bool direct)
{
	struct io_file_options opts = { .create = true, .size = 1 << 20, .direct = direct };
	struct io_file *f = NULL;
	struct err err = ERR_NULL;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (io_file_open(loop, path, &opts, &f, &err) < 0)
		diag("%s", err.text);
	return f;
}

static void check_file_limits(void)
{
	struct io_loop *loop = new_loop();
	struct io_file *f = open_in(loop, directory, "limit", false);
	struct rlimit old, low;
	char page[4096] = { 0 };

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	low = (struct rlimit){ 1 << 20, old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &low);
	is_i64(file_do(loop, f, true, page, 4096, 1 << 20, 0), -EFBIG,
	       "%s: a write beyond a limit fails", the_name);
	is_i64(file_do(loop, f, true, page, 4096, (1 << 20) - 2048, 0), -EFBIG,
	       "%s: also if a part would fit: no short count", the_name);
	setrlimit(RLIMIT_FSIZE, &old);
	is_i64(file_do(loop, f, true, page, 4096, UINT64_MAX - 100, 0), -EINVAL,
	       "%s: an offset that no file has", the_name);
	io_file_close(f);
	io_loop_free(loop);
}

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return written;
}

/* Makes @directory a file system of 64 KiB, in a user namespace of our own: no privilege needed. */
static bool mount_small(void)
{
	char users[32], groups[32];

	snprintf(users, sizeof(users), "0 %u 1", getuid());
	snprintf(groups, sizeof(groups), "0 %u 1", getgid());
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
	       write_text("/proc/self/setgroups", "deny") &&
	       write_text("/proc/self/uid_map", users) &&
	       write_text("/proc/self/gid_map", groups) &&
	       mount("none", directory, "tmpfs", 0, "size=64k") == 0;
}

/* In a child: 0 if the write failed as it should. */
static int fill_small(void)
{
	static char big[1 << 18];
	struct io_loop *loop;
	struct io_file *f;
	int64_t r;

	if (!mount_small())
		return 77;
	loop = new_loop();
	f = open_in(loop, directory, "small", false);
	if (!f)
		return 1;
	r = file_do(loop, f, true, big, sizeof(big), 0, 0);
	io_file_close(f);
	io_loop_free(loop);
	return r == -ENOSPC ? 0 : 2;
}

static void check_no_space(void)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(fill_small());
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		tap_skip("no user namespaces here");
	else
		is_i64(status, 0, "%s: a full file system is -ENOSPC", the_name);
}

/*
 * A disk has nothing to do until the kernel knows of it: what is started goes there before the turn is
 * over, the first at once, a burst in batches that double (uring-file.c).
 */
static void check_burst(void)
{
	enum { N = 32, PAGE = 4096 };
	struct io_loop *loop = new_loop();
	struct io_file *f = open_in(loop, directory, "burst", true);
	uint8_t *pages = mem_aligned(PAGE, (size_t)N * PAGE);
	struct iovec iov[N];
	struct waiter w[N];
	unsigned int wrong = 0, waiting;

	if (!io_file_info(f)->direct) {
		tap_skip("no direct I/O here: what is in the page cache does not go through the ring");
		goto out;
	}
	memset(pages, 1, (size_t)N * PAGE);
	is_i64(file_do(loop, f, true, pages, (size_t)N * PAGE, 0, 0), N * PAGE, "%s: a file of pages", the_name);
	for (unsigned int i = 0; i < N; i++) {
		iov[i] = (struct iovec){ pages + (size_t)i * PAGE, PAGE };
		io_file_read(loop, f, waiter_op(&w[i]), &iov[i], 1, (uint64_t)i * PAGE);
		waiting = io_uring_sq_ready(&uring_of(loop)->ring);
		/* Of i + 1 as many have gone as the largest power of two says. */
		wrong += waiting != i + 1 - (1u << (31 - __builtin_clz(i + 1)));
	}
	is_u64(wrong, 0, "%s: of a burst the first goes at once, then one, two, four, eight, ...", the_name);
	for (unsigned int i = 0; i < N; i++)
		wrong += await(loop, &w[i]) != PAGE;
	is_u64(wrong, 0, "%s: and all of it is read", the_name);
	is_u64(uring_of(loop)->files, 0, "%s: after which the disk has nothing to do", the_name);
out:
	mem_free(pages);
	io_file_close(f);
	io_loop_free(loop);
}

static void check_file_cancel(void)
{
	enum { N = 200 };
	struct io_loop *loop = new_loop();
	struct io_file *f = open_in(loop, directory, "cancel", true);
	uint8_t *buf = aligned_alloc(4096, 65536);
	struct iovec iov = { buf, 65536 };
	struct waiter *w = calloc(N, sizeof(*w));
	int ended = 0, cancelled = 0;

	memset(buf, 7, 65536);
	for (int i = 0; i < N; i++)
		io_file_write(loop, f, waiter_op(&w[i]), &iov, 1, (uint64_t)(i % 16) * 65536, 0);
	for (int i = N - 1; i >= 0; i--)
		io_cancel(&w[i].op);
	for (int i = 0; i < N; i++) {
		await(loop, &w[i]);
		ended += w[i].op.result == 65536 || w[i].op.result == -ECANCELED;
		cancelled += w[i].op.result == -ECANCELED;
	}
	is_i64(ended, N, "%s: of %d writes, all end once, %d of them cancelled", the_name, N,
	       cancelled);
	io_file_close(f);
	free(buf);
	free(w);
	io_loop_free(loop);
}

/* ---- a block device, if somebody gives one ------------------------------------------------------ */

static void check_block_device(void)
{
	const char *path = getenv("PENSTOCK_TEST_BLOCK");
	struct io_file_options opts = { .direct = true, .exclusive = true };
	struct io_file *f = NULL, *second = NULL;
	struct err err = ERR_NULL;
	struct io_loop *loop;
	uint8_t *buf;
	struct waiter w;

	if (!path) {
		tap_skip("PENSTOCK_TEST_BLOCK names no block device to be overwritten");
		return;
	}
	loop = new_loop();
	if (!ok(io_file_open(loop, path, &opts, &f, &err) == 0, "%s: %s", the_name, path)) {
		diag("%s", err.text);
		io_loop_free(loop);
		return;
	}
	diag("size %" PRIu64 " align %u discard %d volatile %d physical %u", io_file_info(f)->size,
	     io_file_info(f)->dio_align, io_file_info(f)->can_discard,
	     io_file_info(f)->volatile_cache, io_file_info(f)->physical_block);
	ok(io_file_info(f)->block_device && io_file_info(f)->size >= 1 << 20 &&
		   io_file_info(f)->device,
	   "%s: a block device", the_name);
	is_i64(io_file_open(loop, path, &opts, &second, &err), -EBUSY, "%s: taken: %s", the_name,
	       err.text);
	check_file_alignment(the_name, loop, f);
	buf = aligned_alloc(4096, 65536);
	memset(buf, 9, 65536);
	is_i64(file_do(loop, f, true, buf, 65536, 0, IO_FILE_DSYNC), 65536, "%s: write", the_name);
	io_file_discard(loop, f, waiter_op(&w), 0, 16384);
	is_i64(await(loop, &w), io_file_info(f)->can_discard ? 0 : -EOPNOTSUPP, "%s: discard",
	       the_name);
	for (int keep = 0; keep < 2; keep++) {
		io_file_zero(loop, f, waiter_op(&w), (uint64_t)keep * 16384, 16384, keep);
		is_i64(await(loop, &w), 0, "%s: zero, keep %d", the_name, keep);
	}
	io_file_sync(loop, f, waiter_op(&w));
	is_i64(await(loop, &w), 0, "%s: sync", the_name);
	is_i64(file_do(loop, f, false, buf, 65536, 0, 0), 65536, "%s: read", the_name);
	ok(all_zero(buf, 32768) && buf[32768] == 9, "%s: zeroes where they were asked for",
	   the_name);
	is_i64(file_do(loop, f, false, buf, 8192, io_file_info(f)->size - 4096, 0), 4096,
	       "%s: short at the end", the_name);
	free(buf);
	io_file_close(f);
	io_loop_free(loop);
}

/* A server that was killed may hold its file a moment longer; one that lives holds it. */
static void check_late_lock(void)
{
	struct io_file_options opts = { .exclusive = true };
	struct io_loop *loop = new_loop();
	struct io_file *f = open_in(loop, directory, "locked", false);
	struct err err = ERR_NULL;
	char path[256];
	pid_t child;
	int ready[2], r;
	char c;

	io_file_close(f);
	snprintf(path, sizeof(path), "%s/locked", directory);
	if (pipe(ready) != 0)
		return;
	child = fork();
	if (child == 0) {
		int fd = open(path, O_RDWR);

		_exit(fd < 0 || flock(fd, LOCK_EX) < 0 || write(ready[1], "x", 1) != 1 || usleep(300000) != 0);
	}
	ok(read(ready[0], &c, 1) == 1, "%s: another process has the file", the_name);
	r = io_file_open(loop, path, &opts, &f, &err);
	is_i64(r, 0, "%s: and when it lets go soon, that was waited for (%s)", the_name, err.text);
	if (r == 0) {
		struct io_file *other = NULL;

		is_i64(io_file_open(loop, path, &opts, &other, &err), -EBUSY, "%s: but one that stays is busy: %s",
		       the_name, err.text);
		io_file_close(f);
	}
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	io_loop_free(loop);
}

int main(void)
{
	static const struct io_loop_options all[] = {
		{ .kind = IO_KIND_URING },
		{ .kind = IO_KIND_URING, .spin_ns = 100000 },
		{ .kind = IO_KIND_EPOLL },
		{ .kind = IO_KIND_EPOLL, .spin_ns = 100000, .file_threads = 1 },
	};
	static const char *const names[] = { "uring", "uring, spinning", "epoll",
					     "epoll, spinning" };
	struct io_loop *loop;

	if (!mkdtemp(directory))
		tap_skip_all("no directory for files");
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		the_opts = &all[i];
		the_name = names[i];
		loop = new_loop();
		if (!loop) {
			tap_skip("this kernel does not let us");
			continue;
		}
		io_loop_free(loop);
		check_file_limits();
		check_no_space();
		check_file_cancel();
		check_block_device();
		check_late_lock();
		if (the_opts->kind == IO_KIND_URING)
			check_burst();
	}
	empty_directory(directory);
	rmdir(directory);
	return tap_done();
}
