/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library with memory of a GPU that the application owns, in the order of its streams: over a
 * file, in both modes, against the double. What stands for a kernel looks at the memory when its
 * stream comes to it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/util.h"
#include "memory/cuda-api.h"
#include "penstock.h"
#include "tests/tap.h"

enum { VOLUME = 8 << 20, MEMORY = 4 << 20 };

typedef int (*launch_fn)(cu_stream s, void (*fn)(void *arg), void *arg);
typedef uint8_t *(*bytes_fn)(uint64_t addr, size_t n);
typedef unsigned int (*pinned_fn)(void);

static const struct cuda_api *cu;
static launch_fn launch;
static bytes_fn bytes_of;
static pinned_fn pinned;
static char path[64], uri[96];

static void find(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *at;

	INVARIANT(driver);
	at = dlsym(driver, "cuLaunchHostFunc");
	memcpy(&launch, &at, sizeof(at));
	at = dlsym(driver, "penstock_double_bytes");
	memcpy(&bytes_of, &at, sizeof(at));
	at = dlsym(driver, "penstock_double_pinned");
	memcpy(&pinned, &at, sizeof(at));
	cu = cuda_api(NULL);
	INVARIANT(cu && launch && bytes_of && pinned);
}

static uint8_t content(uint64_t at)
{
	return (uint8_t)(at * 31 + at / 4096);
}

static void make_file(void)
{
	static uint8_t all[VOLUME];
	int fd;

	for (uint64_t i = 0; i < VOLUME; i++)
		all[i] = content(i);
	snprintf(path, sizeof(path), "/var/tmp/penstock-test-XXXXXX");
	fd = mkstemp(path);
	INVARIANT(fd >= 0 && write(fd, all, VOLUME) == VOLUME);
	close(fd);
	snprintf(uri, sizeof(uri), "file:%s", path);
}

struct rig {
	struct pst_context *ctx;
	struct pst_volume *vol;
	struct pst_memory *mem;
	uint64_t ptr;
	cu_stream stream;
};

static void set_up(struct rig *r, enum pst_mode mode)
{
	struct pst_context_options co = PST_OPTIONS(co);
	struct pst_error err = { 0 };
	cu_context ctx;
	int rc;

	co.mode = mode;
	co.threads = 2;
	INVARIANT(cu->primary_ctx_retain(&ctx, 0) == 0 && cu->ctx_push(ctx) == 0);
	INVARIANT(cu->mem_alloc(&r->ptr, MEMORY + 8192) == 0 && cu->stream_create(&r->stream, 1, 0) == 0);
	rc = pst_context_new(&co, &r->ctx, &err);
	if (rc == 0)
		rc = pst_volume_open(r->ctx, uri, NULL, &r->vol, &err);
	if (rc == 0)
		rc = pst_memory_cuda(r->ctx, r->ptr + 100, MEMORY, NULL, &r->mem, &err);
	if (rc < 0) {
		diag("%s", err.text);
		exit(1);
	}
}

static void tear_down(struct rig *r)
{
	cu_context was;

	pst_volume_close(r->vol);
	pst_memory_free(r->mem);
	pst_context_free(r->ctx);
	cu->stream_destroy(r->stream);
	cu->mem_free(r->ptr);
	cu->ctx_pop(&was);
	cu->primary_ctx_release(0);
}

struct kernel {
	const uint8_t *at;
	uint64_t offset; /* of the volume, that should lie there */
	size_t n;
	bool right;
	struct timespec takes;
	uint8_t *fill; /* writes instead */
	_Atomic bool over;
};

static void kernel(void *arg)
{
	struct kernel *k = arg;

	nanosleep(&k->takes, NULL);
	k->right = true;
	for (size_t i = 0; i < k->n && !k->fill; i++)
		k->right = k->right && k->at[i] == content(k->offset + i);
	if (k->fill)
		memset(k->fill, 0x5a, k->n);
	k->over = true;
}

static int wait_for(struct rig *r, struct pst_completion *c)
{
	return pst_wait(r->ctx, c, 1, UINT64_C(20000000000));
}

static void test_reads(enum pst_mode mode, const char *name)
{
	struct kernel before = { .takes = { 0, 20000000 } }, after[50];
	struct pst_completion c = { .error = 1 };
	bool right = true, staged = true, waited = true;
	uint64_t stream;
	struct rig r;

	set_up(&r, mode);
	stream = (uint64_t)(uintptr_t)r.stream;
	is_u64(pst_memory_device_ptr(r.mem), r.ptr + 100, "%s: a part of an allocation", name);
	ok(!pst_memory_ptr(r.mem) && strstr(pst_memory_device(r.mem), "double"), "%s: not for the CPU", name);
	is_u64(pst_path(r.vol, r.mem), PST_PATH_STAGED, "%s: its path is staged", name);
	for (unsigned int i = 0; i < ARRAY_SIZE(after); i++) {
		uint64_t at = 777 * i, n = 60000 + 999 * i;

		after[i] = (struct kernel){ .at = bytes_of(r.ptr + 100 + i, n), .offset = at, .n = n };
		before = (struct kernel){ .takes = { 0, i % 10 == 0 ? 5000000 : 0 } };
		launch(r.stream, kernel, &before);
		is_i64(pst_read_on_stream(r.vol, r.mem, i, at, n, stream, NULL, NULL), 0, "%s: read %u", name, i);
		waited = wait_for(&r, &c) == 1 && c.error == 0 && before.over && waited;
		staged = staged && c.path == PST_PATH_STAGED && c.bytes == n;
		launch(r.stream, kernel, &after[i]);
	}
	cu->stream_synchronize(r.stream);
	for (unsigned int i = 0; i < ARRAY_SIZE(after); i++)
		right = right && after[i].right;
	ok(waited, "%s: none began before the stream was ready", name);
	ok(staged, "%s: each says which way it came", name);
	ok(right, "%s: what the stream ran next saw all of the data", name);
	tear_down(&r);
}

static void test_writes(enum pst_mode mode, const char *name)
{
	struct pst_completion c = { .error = 1 };
	struct kernel fills = { .takes = { 0, 10000000 }, .n = 300000 };
	static uint8_t back[300000];
	bool right = true;
	struct rig r;

	set_up(&r, mode);
	fills.fill = bytes_of(r.ptr + 100, fills.n);
	launch(r.stream, kernel, &fills);
	is_i64(pst_write_on_stream(r.vol, r.mem, 0, 4 << 20, fills.n, (uint64_t)(uintptr_t)r.stream, NULL, NULL), 0,
	       "%s: a write behind a kernel", name);
	ok(wait_for(&r, &c) == 1 && c.error == 0, "%s: is done", name);
	is_i64(pst_read_sync(r.vol, r.mem, 1 << 20, 4 << 20, fills.n, &c), 0, "%s: and read back", name);
	is_i64(pst_memory_copy_out(r.mem, 1 << 20, back, sizeof(back)), 0, "%s: copied out", name);
	for (size_t i = 0; i < sizeof(back); i++)
		right = right && back[i] == 0x5a;
	ok(right, "%s: holds what the kernel left", name);
	tear_down(&r);
}

static void test_wrong(void)
{
	struct pst_cuda_options o = PST_OPTIONS(o);
	struct pst_memory *host = NULL, *bad = NULL;
	struct pst_error err = { 0 };
	static uint8_t mine[4096];
	struct rig r;

	set_up(&r, PST_MODE_THREADED);
	INVARIANT(pst_memory_host(r.ctx, mine, sizeof(mine), &host, &err) == 0);
	is_i64(pst_read_on_stream(r.vol, host, 0, 0, 512, 0, NULL, NULL), -EINVAL, "no stream for host memory");
	is_i64(pst_read_on_stream(r.vol, r.mem, 0, 0, 512, 2, NULL, NULL), -EINVAL, "no per-thread default stream");
	is_i64(pst_memory_cuda(r.ctx, (uintptr_t)mine, 4096, NULL, &bad, &err), -EFAULT, "host memory is no GPU's");
	o.mapped_bytes = 1 << 20;
	is_i64(pst_memory_cuda_alloc(r.ctx, 0, 4096, &o, &bad, &err), -EINVAL, "too much to map: %s", err.text);
	is_i64(pst_memory_cuda_alloc(r.ctx, 9, 4096, NULL, &bad, &err), -ENODEV, "no such GPU: %s", err.text);
	is_i64(pst_memory_cuda_alloc(r.ctx, 0, SIZE_MAX / 2, NULL, &bad, &err), -ENOMEM, "too much: %s", err.text);
	is_i64(pst_path_require(r.vol, r.mem, PST_PATH_GDR, &err), -EOPNOTSUPP, "no RDMA: %s", err.text);
	is_i64(pst_path_require(r.vol, host, PST_PATH_STAGED, &err), -EOPNOTSUPP, "not staged: %s", err.text);
	is_i64(pst_path_require(r.vol, host, PST_PATH_HOST, &err), 0, "but into the host's");
	pst_memory_free(host);
	tear_down(&r);
}

/* A hundred tensors: one ring. The rig's memory has made it. */
static void test_many(void)
{
	struct pst_memory *many[100] = { NULL };
	struct pst_error err = { 0 };
	bool right = true;
	struct rig r;

	set_up(&r, PST_MODE_THREADED);
	is_u64(pinned(), 2, "one ring for each I/O thread");
	for (unsigned int i = 0; i < 100; i++)
		right = right && pst_memory_cuda(r.ctx, r.ptr + i * 1000, 1000, NULL, &many[i], &err) == 0;
	ok(right && pinned() == 2, "many memories of one GPU share what is pinned");
	for (unsigned int i = 0; i < 100; i++)
		pst_memory_free(many[i]);
	tear_down(&r);
}

int main(void)
{
	find();
	make_file();
	test_reads(PST_MODE_THREADED, "threaded");
	test_reads(PST_MODE_POLLED, "polled");
	test_writes(PST_MODE_THREADED, "threaded");
	test_writes(PST_MODE_POLLED, "polled");
	test_wrong();
	test_many();
	unlink(path);
	return tap_done();
}
