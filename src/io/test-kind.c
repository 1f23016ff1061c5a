/* SPDX-License-Identifier: Apache-2.0 */
/* Which implementation a loop gets: by the environment, and where io_uring is refused. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/test-help.h"

static int refuse_io_uring(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { ARRAY_SIZE(code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

/* In a child: 0, or the number of the line that failed. */
static int refused(void)
{
	struct io_loop_options opts = { .kind = IO_KIND_AUTO };
	struct io_loop *loop = NULL;
	struct err err = ERR_NULL;

	if (refuse_io_uring() < 0)
		return 77;
	if (io_loop_new(&opts, &loop, NULL) < 0 || strcmp(io_loop_name(loop), "epoll") != 0)
		return 1;
	io_loop_free(loop);
	opts.kind = IO_KIND_URING;
	if (io_loop_new(&opts, &loop, &err) != -EPERM || !strstr(err.text, "container"))
		return 2;
	opts.kind = IO_KIND_AUTO;
	setenv("PENSTOCK_IO", "uring", 1);
	if (io_loop_new(&opts, &loop, &err) != -EPERM)
		return 3;
	return 0;
}

static void check_refused(void)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(refused());
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		tap_skip("no seccomp here");
	else
		is_i64(WEXITSTATUS(status), 0,
		       "where io_uring is refused, AUTO is epoll and uring an error");
}

static void check_environment(void)
{
	struct io_loop_options opts = { .kind = IO_KIND_AUTO };
	struct io_loop *loop = NULL;
	struct err err = ERR_NULL;

	setenv("PENSTOCK_IO", "epoll", 1);
	if (io_loop_new(&opts, &loop, &err) == 0) {
		is_str(io_loop_name(loop), "epoll", "PENSTOCK_IO chooses");
		io_loop_free(loop);
	}
	setenv("PENSTOCK_IO", "iouring", 1);
	is_i64(io_loop_new(&opts, &loop, &err), -EINVAL, "and a value without meaning is an error");
	ok(strstr(err.text, "iouring"), "which says: %s", err.text);
	unsetenv("PENSTOCK_IO");
	is_i64(io_loop_new(NULL, &loop, &err), 0, "options may be left out");
	io_loop_free(loop);
}

int main(void)
{
	check_environment();
	check_refused();
	return tap_done();
}
