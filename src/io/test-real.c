/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of io.h (test-contract.h), kept by everything that runs on a real kernel: io_uring as
 * this kernel has it, as older kernels have it, with a ring so small that it is always full, and with
 * spinning; and epoll.
 */
#include <stdlib.h>
#include <unistd.h>

#include "io/test-contract.h"
#include "io/uring.h"

struct variant {
	const char *name;
	struct io_loop_options opts;
	unsigned int denied; /* set-up flags that the kernel is to be without */
};

static struct io_loop *make_loop(void *arg)
{
	const struct variant *v = arg;
	struct io_loop *loop = NULL;
	struct err err = ERR_NULL;
	int r;

	if (v->opts.kind == IO_KIND_URING)
		r = uring_loop_new_without(&v->opts, v->denied, &loop, &err);
	else
		r = io_loop_new(&v->opts, &loop, &err);
	if (r < 0)
		diag("%s", err.text);
	return loop;
}

static const struct variant variants[] = {
	{ "uring", { .kind = IO_KIND_URING }, 0 },
	{ "uring of 5.19", { .kind = IO_KIND_URING }, IORING_SETUP_DEFER_TASKRUN },
	{ "uring of 5.11",
	  { .kind = IO_KIND_URING },
	  IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN },
	{ "uring, depth 1", { .kind = IO_KIND_URING, .depth = 1 }, 0 },
	{ "uring of 5.11, depth 1",
	  { .kind = IO_KIND_URING, .depth = 1 },
	  IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN },
	{ "uring, spinning", { .kind = IO_KIND_URING, .spin_ns = 50000 }, 0 },
	{ "epoll", { .kind = IO_KIND_EPOLL }, 0 },
	{ "epoll, spinning", { .kind = IO_KIND_EPOLL, .spin_ns = 50000, .file_threads = 1 }, 0 },
};

static bool have_v6(void)
{
	struct io_addr addr;
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	bool yes = fd >= 0 && io_addr_parse("[::1]:0", 0, true, &addr, NULL) == 0 &&
		   bind(fd, (struct sockaddr *)(void *)&addr.ss, addr.len) == 0;

	if (fd >= 0)
		close(fd);
	return yes;
}

int main(int argc, char **argv)
{
	char directory[] = "/var/tmp/penstock-test-XXXXXX";
	struct contract c = { .make = make_loop, .address = "127.0.0.1:0", .directory = directory };
	struct io_loop *loop;

	if (!mkdtemp(directory))
		tap_skip_all("no directory for files");
	c.address6 = have_v6() ? "[::1]:0" : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(variants); i++) {
		if (argc > 1 && strcmp(argv[1], variants[i].name) != 0)
			continue;
		c.name = variants[i].name;
		c.arg = (void *)(uintptr_t)&variants[i];
		loop = make_loop(c.arg);
		if (!loop) {
			tap_skip("this kernel does not let us");
			continue;
		}
		io_loop_free(loop);
		contract_run(&c);
		empty_directory(directory);
	}
	rmdir(directory);
	return tap_done();
}
