/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a GPU's copy engine gives by itself, with nothing of Penstock's around it: the limit that
 * reads into its memory are compared with. And what cuFile gives in its compatibility mode.
 *
 *	gpu-limits copy GPU PIECE-BYTES		pinned memory to the device, pieces in flight: GB/s, us for one alone
 *	gpu-limits cufile GPU FILE BYTES	cuFileRead() with its compatibility mode allowed: GB/s
 *
 * One line of NAME=VALUE words each.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/util.h"
#include "memory/cuda-api.h"

enum { IN_FLIGHT = 16, ROUNDS = 400, ALONE = 200 };

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int die(const char *what, int code)
{
	fprintf(stderr, "gpu-limits: %s: %d\n", what, code);
	return 1;
}

static int copy(const struct cuda_api *cu, size_t piece)
{
	cu_event events[IN_FLIGHT];
	cu_deviceptr to;
	cu_stream s;
	double t;
	void *p;
	int r = cu->mem_alloc(&to, piece * IN_FLIGHT);

	if (r == 0)
		r = cu->host_alloc(&p, piece * IN_FLIGHT, CU_HOST_PORTABLE);
	if (r == 0)
		r = cu->stream_create(&s, CU_STREAM_NON_BLOCKING, 0);
	for (int i = 0; r == 0 && i < IN_FLIGHT; i++)
		r = cu->event_create(&events[i], CU_EVENT_DISABLE_TIMING);
	if (r != 0)
		return die("setting up", r);
	memset(p, 1, piece * IN_FLIGHT);
	t = now();
	for (int i = 0; r == 0 && i < ALONE; i++) {
		r = cu->copy_in(to, p, piece, s);
		r = r ? r : cu->stream_synchronize(s);
	}
	printf("piece=%zu alone_us=%.2f", piece, (now() - t) / ALONE * 1e6);
	t = now();
	for (int i = 0; r == 0 && i < ROUNDS * IN_FLIGHT; i++) {
		size_t at = (size_t)(i % IN_FLIGHT) * piece;

		while (i >= IN_FLIGHT && (r = cu->event_query(events[i % IN_FLIGHT])) == CU_NOT_READY)
			;
		r = r ? r : cu->copy_in(to + at, (char *)p + at, piece, s);
		r = r ? r : cu->event_record(events[i % IN_FLIGHT], s);
	}
	r = r ? r : cu->stream_synchronize(s);
	printf(" gigabytes_per_second=%.3f\n", (double)piece * ROUNDS * IN_FLIGHT / (now() - t) / 1e9);
	return r ? die("copying", r) : 0;
}

struct cufile_error {
	int error, cuda;
};

struct cufile_descr {
	int type;
	union {
		int fd;
		void *handle;
	} handle;
	const void *ops;
};

#define GET(library, name, to)                                                                     \
	do {                                                                                       \
		void *at = dlsym(library, name);                                                   \
		memcpy(&(to), &at, sizeof(at));                                                    \
	} while (0)

static int cufile(const struct cuda_api *cu, const char *path, size_t bytes)
{
	struct cufile_error (*open_driver)(void) = NULL, (*add)(void **h, struct cufile_descr *d) = NULL;
	ssize_t (*move)(void *h, void *base, size_t n, off_t at, off_t offset) = NULL;
	void *library = dlopen("libcufile.so.0", RTLD_NOW), *handle = NULL;
	struct cufile_descr d = { .type = 1 };
	const size_t part = 4 << 20;
	cu_deviceptr to;
	double t;

	if (!library) {
		printf("cufile=absent\n");
		return 0;
	}
	GET(library, "cuFileDriverOpen", open_driver);
	GET(library, "cuFileHandleRegister", add);
	GET(library, "cuFileRead", move);
	d.handle.fd = open(path, O_RDONLY | O_DIRECT);
	if (d.handle.fd < 0)
		return die(path, -1);
	if (open_driver().error != 0 || add(&handle, &d).error != 0) {
		printf("cufile=refuses\n");
		close(d.handle.fd);
		return 0;
	}
	if (cu->mem_alloc(&to, part) != 0)
		return die("memory", -1);
	t = now();
	for (size_t at = 0; at + part <= bytes; at += part) {
		ssize_t n = move(handle, (void *)(uintptr_t)to, part, (off_t)at, 0); /* NOLINT: of the device */

		if (n != (ssize_t)part)
			return die("cuFileRead", (int)n);
	}
	printf("cufile=reads gigabytes_per_second=%.3f\n", (double)(bytes / part * part) / (now() - t) / 1e9);
	close(d.handle.fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct err err = ERR_NULL;
	const struct cuda_api *cu = cuda_api(&err);
	uint64_t gpu = 0, n = 0;
	bool files = argc == 5 && strcmp(argv[1], "cufile") == 0;
	cu_context ctx;
	cu_device dev;

	if ((argc != 4 || strcmp(argv[1], "copy") != 0) && !files)
		return fprintf(stderr, "usage: gpu-limits copy GPU BYTES | cufile GPU FILE BYTES\n"), 2;
	if (parse_u64(argv[2], &gpu) < 0 || parse_size(argv[argc - 1], &n) < 0)
		return die("no number", 0);
	if (!cu)
		return fprintf(stderr, "gpu-limits: %s\n", err_text(&err)), 1;
	if (cu->device_get(&dev, (int)gpu) != 0 || cu->primary_ctx_retain(&ctx, dev) != 0 || cu->ctx_push(ctx) != 0)
		return die("no such GPU", (int)gpu);
	return files ? cufile(cu, argv[3], n) : copy(cu, n);
}
