/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are replaced as a whole: on both real implementations, with a process that is killed
 * while it does so, and in the simulated world with crashes.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "io/sim.h"
#include "io/test-help.h"

static char directory[] = "/var/tmp/penstock-test-XXXXXX";

static int64_t save(struct io_loop *loop, const char *path, const void *p, size_t n)
{
	struct iovec iov = { .iov_len = n };
	struct waiter w;

	memcpy(&iov.iov_base, &p, sizeof(p));
	io_state_save(loop, waiter_op(&w), path, &iov);
	return await_flag(loop, &w.done) ? w.op.result : -ETIMEDOUT;
}

static void basics(struct io_loop *loop, const char *name, const char *dir)
{
	char path[300], buf[64];
	struct err err = ERR_NULL;

	snprintf(path, sizeof(path), "%s/state", dir);
	is_i64(io_state_load(loop, path, buf, sizeof(buf), &err), -ENOENT, "%s: nothing there",
	       name);
	ok(strstr(err.text, path), "... and the error names it");
	is_i64(save(loop, path, "first", 5), 0, "%s: saved", name);
	is_i64(io_state_load(loop, path, buf, sizeof(buf), &err), 5, "%s: loaded", name);
	ok(memcmp(buf, "first", 5) == 0, "... the same");
	is_i64(save(loop, path, "second one", 10), 0, "%s: replaced by more", name);
	is_i64(save(loop, path, "3", 1), 0, "%s: and by less", name);
	is_i64(io_state_load(loop, path, buf, sizeof(buf), &err), 1, "... nothing is left of it");
	is_i64(save(loop, path, "0123456789", 10), 0, "%s: as much as is asked for", name);
	is_i64(io_state_load(loop, path, buf, 10, &err), 10, "... fits");
	is_i64(io_state_load(loop, path, buf, 9, &err), -EFBIG, "... and more does not");
	is_i64(save(loop, path, NULL, 0), 0, "%s: removed", name);
	is_i64(io_state_load(loop, path, buf, sizeof(buf), &err), -ENOENT, "... it is gone");
	is_i64(save(loop, path, NULL, 0), 0, "%s: removing nothing is no error", name);
}

static void real(enum io_kind kind, const char *name)
{
	struct io_loop_options opts = { .kind = kind };
	struct io_loop *loop;
	char path[300], buf[16];
	struct stat st;

	if (io_loop_new(&opts, &loop, NULL) < 0) {
		tap_skip(name);
		return;
	}
	basics(loop, name, directory);
	snprintf(path, sizeof(path), "%s/none/state", directory);
	is_i64(save(loop, path, "x", 1), -ENOENT, "%s: no such directory", name);
	snprintf(path, sizeof(path), "%s/state.new", directory);
	is_i64(save(loop, path, "left", 4), 0, "%s: what a crash left beside it", name);
	snprintf(path, sizeof(path), "%s/state", directory);
	is_i64(io_state_load(loop, path, buf, sizeof(buf), NULL), -ENOENT, "... is not read");
	is_i64(save(loop, path, "new", 3), 0, "... and does not keep anything");
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600, "%s: for its owner alone", name);
	save(loop, path, NULL, 0);
	io_loop_free(loop);
}

/* Saves one pattern after the other until it is killed. */
static void saver(const char *path)
{
	struct io_loop_options opts = { .kind = IO_KIND_EPOLL };
	static char page[9000];
	struct io_loop *loop;

	if (io_loop_new(&opts, &loop, NULL) < 0)
		_exit(1);
	for (int i = 0;; i++) {
		memset(page, 'a' + i % 26, sizeof(page));
		if (save(loop, path, page, 100 + (size_t)(i * 613) % 8000) < 0)
			_exit(1);
	}
}

static bool whole(struct io_loop *loop, const char *path)
{
	static char page[9000];
	int64_t n = io_state_load(loop, path, page, sizeof(page), NULL);

	for (int64_t i = 1; i < n; i++)
		if (page[i] != page[0])
			return false;
	return n >= 100 || n == -ENOENT;
}

static void killed(void)
{
	struct io_loop_options opts = { .kind = IO_KIND_EPOLL };
	struct io_loop *loop;
	char path[300];
	bool good = true;

	snprintf(path, sizeof(path), "%s/killed", directory);
	if (io_loop_new(&opts, &loop, NULL) < 0)
		return;
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			saver(path);
		usleep(2000 + (useconds_t)i * 700);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		good = good && WIFSIGNALED(status) && whole(loop, path);
	}
	ok(good, "a process that is killed leaves the old or the new, whole, 20 times");
	io_loop_free(loop);
}

static void never(struct io_op *op)
{
}

static void simulated(void)
{
	struct sim_config calm;
	int news = 0, olds = 0, torn = 0;

	sim_config_calm(&calm);
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct sim *sim = sim_new(seed, &calm);
		struct sim_node *node = sim_node_new(sim, "one");
		struct io_loop *loop = sim_loop_new(node);
		char contents[] = "new one", buf[16] = { 0 };
		struct iovec iov = { .iov_base = contents, .iov_len = 7 };
		struct io_op op;
		int64_t n;

		if (seed == 1)
			basics(loop, "sim", "d");
		save(loop, "s", "old", 3);
		io_op_init(&op, never);
		io_state_save(loop, &op, "s", &iov);
		sim_node_crash(node, seed % 2 ? SIM_CRASH_POWER : SIM_CRASH_PROCESS);
		io_loop_turn(loop, 0);
		io_loop_free(loop);
		sim_node_restart(node);
		loop = sim_loop_new(node);
		n = io_state_load(loop, "s", buf, sizeof(buf), NULL);
		news += n == 7 && memcmp(buf, "new one", 7) == 0;
		olds += n == 3 && memcmp(buf, "old", 3) == 0;
		torn += n != 7 && n != 3;
		io_loop_free(loop);
		sim_free(sim);
	}
	ok(news > 0 && olds > 0 && torn == 0,
	   "sim: a crash leaves the old (%d times) or the new (%d times)", olds, news);
}

int main(void)
{
	if (!mkdtemp(directory))
		return 1;
	real(IO_KIND_EPOLL, "epoll");
	real(IO_KIND_URING, "uring");
	killed();
	simulated();
	empty_directory(directory);
	rmdir(directory);
	return tap_done();
}
