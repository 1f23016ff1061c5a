/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills a buffer of a GPU from a volume and says by which path it came. The buffer is allocated by the library;
 * a program that has one of its own (cudaMalloc, a tensor) registers it with pst_memory_cuda() in its place, and
 * gives pst_read_on_stream() the stream of the kernels that use the data.
 *
 *	cc cuda.c $(pkg-config --cflags --libs penstock) -o cuda
 *	./cuda nvme+tcp://127.0.0.1/nqn.2026-11.io.penstock:default 0 64
 */
#include <penstock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN_FLIGHT = 16, REQUEST = 1 << 20 };

static uint64_t sum_of(const unsigned char *p, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum = sum * 31 + p[i];
	return sum;
}

/* Keeps several requests in flight, as one that waits for each would leave the network idle. */
static int fill(struct pst_context *ctx, struct pst_volume *vol, struct pst_memory *mem, size_t bytes)
{
	struct pst_completion done[IN_FLIGHT];
	size_t asked = 0, in_flight = 0;
	uint64_t paths[8] = { 0 };

	while (asked < bytes || in_flight > 0) {
		int n;

		for (; asked < bytes && in_flight < IN_FLIGHT; in_flight++) {
			size_t part = bytes - asked < REQUEST ? bytes - asked : REQUEST;
			/* The null stream: kernels given to it after the completion see the data. */
			int rc = pst_read_on_stream(vol, mem, asked, asked, part, 0, NULL, NULL);

			if (rc < 0)
				return rc;
			asked += part;
		}
		n = pst_wait(ctx, done, IN_FLIGHT, UINT64_MAX);
		if (n < 0)
			return n;
		for (int i = 0; i < n; i++) {
			if (done[i].error)
				return done[i].error;
			paths[done[i].path] += done[i].bytes;
		}
		in_flight -= (size_t)n;
	}
	for (int i = 0; i < 8; i++) {
		if (paths[i] > 0)
			printf("path=%s bytes=%llu\n", pst_path_name((enum pst_path)i), (unsigned long long)paths[i]);
	}
	return 0;
}

static int compare(struct pst_memory *mem, struct pst_volume *vol, struct pst_context *ctx, size_t bytes)
{
	unsigned char *there = malloc(bytes), *here = malloc(bytes);
	struct pst_memory *host = NULL;
	struct pst_error err = { 0 };
	int rc = there && here ? pst_memory_host(ctx, here, bytes, &host, &err) : -1;

	if (rc == 0)
		rc = pst_memory_copy_out(mem, 0, there, bytes);
	if (rc == 0)
		rc = pst_read_sync(vol, host, 0, 0, bytes, NULL);
	if (rc == 0)
		printf("sum=%llx contents=%s\n", (unsigned long long)sum_of(there, bytes),
		       memcmp(here, there, bytes) == 0 ? "right" : "WRONG");
	if (rc == 0 && memcmp(here, there, bytes) != 0)
		rc = -1;
	pst_memory_free(host);
	free(there);
	free(here);
	return rc;
}

int main(int argc, char **argv)
{
	struct pst_context *ctx = NULL;
	struct pst_volume *vol = NULL;
	struct pst_memory *mem = NULL;
	struct pst_error err = { 0 };
	unsigned int gpu, mib;
	int rc;

	if (argc != 4 || sscanf(argv[2], "%u", &gpu) != 1 || sscanf(argv[3], "%u", &mib) != 1 || mib == 0) {
		fprintf(stderr, "usage: cuda URI GPU MEBIBYTES\n");
		return 2;
	}
	rc = pst_context_new(NULL, &ctx, &err);
	if (rc == 0)
		rc = pst_volume_open(ctx, argv[1], NULL, &vol, &err);
	if (rc == 0)
		rc = pst_memory_cuda_alloc(ctx, gpu, (size_t)mib << 20, NULL, &mem, &err);
	if (rc < 0) {
		fprintf(stderr, "cuda: %s\n", err.text);
	} else {
		printf("device=%s\n", pst_memory_device(mem));
		rc = fill(ctx, vol, mem, (size_t)mib << 20);
		if (rc == 0)
			rc = compare(mem, vol, ctx, (size_t)mib << 20);
		if (rc < 0)
			fprintf(stderr, "cuda: error %d\n", -rc);
	}
	pst_volume_close(vol);
	pst_memory_free(mem);
	pst_context_free(ctx);
	return rc < 0;
}
