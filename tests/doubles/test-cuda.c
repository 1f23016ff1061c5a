/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA device against the double: addresses, copies, streams, and each call failing. */
#include "memory/cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "base/check.h"
#include "base/util.h"
#include "memory/cuda-api.h"
#include "memory/staging.h"
#include "tests/tap.h"

#define MIB (UINT64_C(1) << 20)

static void *driver; /* the double, for what only tests call */

typedef void (*any_fn)(void);

static any_fn call_of(const char *name)
{
	void *at = dlsym(driver, name);
	any_fn fn = NULL;

	if (!at)
		diag("no %s", name);
	INVARIANT(at);
	memcpy(&fn, &at, sizeof(fn));
	return fn;
}

#define CALL(name, type) ((type)call_of(name))
typedef int (*alloc_fn)(uint64_t *ptr, size_t n, uintptr_t more);
typedef int (*reserve_fn)(uint64_t *ptr, size_t n, size_t align, uint64_t at, unsigned long long flags);
typedef int (*map_fn)(uint64_t ptr, size_t n, size_t off, unsigned long long h, unsigned long long flags);
typedef int (*ctx_create_fn)(void **ctx, unsigned int flags, int device);
typedef int (*launch_fn)(cu_stream s, void (*fn)(void *arg), void *arg);
typedef uint8_t *(*bytes_fn)(uint64_t addr, size_t n);

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct mem_device *device(unsigned int ordinal)
{
	struct mem_device *dev = NULL;
	struct err err = ERR_NULL;

	if (mem_cuda_new(ordinal, &dev, &err) < 0)
		diag("%s", err_text(&err));
	INVARIANT(dev);
	return dev;
}

struct seen {
	struct mem_job job;
	unsigned int order;
};

static unsigned int dones;

static void seen_done(struct mem_job *job)
{
	container_of(job, struct seen, job)->order = ++dones;
}

static void seen_init(struct seen *s)
{
	*s = (struct seen){ .order = 0 };
	mem_job_init(&s->job, seen_done);
}

static void drain(struct mem_queue *q)
{
	struct timespec wait = { 0, 20000 };

	while (q->pending > 0) {
		mem_queue_poll(q, now());
		nanosleep(&wait, NULL);
	}
}

static bool push(void)
{
	cu_context ctx;
	const struct cuda_api *api = cuda_api(NULL);

	return api && api->primary_ctx_retain(&ctx, 0) == 0 && api->ctx_push(ctx) == 0;
}

static void pop(void)
{
	cu_context ctx;

	cuda_api(NULL)->ctx_pop(&ctx);
	cuda_api(NULL)->primary_ctx_release(0);
}

/* ---- addresses ----------------------------------------------------------------------------- */

static int touch(const volatile uint8_t *p)
{
	struct rlimit no_core = { 0, 0 };
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGSEGV, SIG_DFL);
		_exit(*p);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static int try(struct mem_device *dev, uint64_t addr, uint64_t n, struct err *err)
{
	struct mem_region r;
	int rc;

	err_clear(err);
	rc = mem_region_register_device(&r, dev, addr, n, err);
	if (rc == 0)
		mem_region_deinit(&r);
	else
		diag("%s", err_text(err));
	return rc;
}

static void test_addresses(void)
{
	struct mem_device *dev = device(0);
	uint64_t plain, pool, managed, reserved, own;
	struct err err = ERR_NULL;
	unsigned int ordinal = 99;
	static uint8_t mine[64];
	void *pinned = NULL, *foreign;
	cu_context was;

	ok(strstr(dev->name, "double"), "it says what it is: %s", dev->name);
	INVARIANT(push());
	INVARIANT(CALL("cuMemAlloc_v2", alloc_fn)(&plain, 3 * MIB, 0) == 0);
	INVARIANT(CALL("cuMemAllocAsync", alloc_fn)(&pool, MIB, 0) == 0);
	INVARIANT(CALL("cuMemAllocManaged", alloc_fn)(&managed, MIB, 1) == 0);
	INVARIANT(CALL("cuMemAddressReserve", reserve_fn)(&reserved, 16 * MIB, 0, 0, 0) == 0);
	for (unsigned int i = 0; i < 4; i++)
		INVARIANT(i == 2 || CALL("cuMemMap", map_fn)(reserved + i * 2 * MIB, 2 * MIB, 0, 1, 0) == 0);

	is_i64(touch((uint8_t *)(uintptr_t)plain), SIGSEGV, "a stray access faults");
	is_i64(try(dev, plain, 3 * MIB, &err), 0, "an allocation");
	is_i64(try(dev, plain + 12345, 77, &err), 0, "a part of one");
	is_i64(try(dev, plain + MIB, 3 * MIB, &err), -EFAULT, "not past its end");
	ok(strstr(err_text(&err), "2097152 of 3145728 bytes"), "the sentence says how far it goes");
	is_i64(try(dev, pool + 5, MIB - 5, &err), 0, "memory of a pool (cudaMallocAsync)");
	is_i64(try(dev, reserved, 4 * MIB, &err), 0, "two mappings side by side (expandable segments)");
	is_i64(try(dev, reserved, 6 * MIB, &err), -EFAULT, "not over a hole between them");
	is_i64(try(dev, reserved + 6 * MIB, 2 * MIB, &err), 0, "behind the hole");
	is_i64(try(dev, managed, 100, &err), -EOPNOTSUPP, "managed memory is refused");
	is_i64(try(dev, (uintptr_t)mine, 64, &err), -EFAULT, "memory of the host's is refused");
	INVARIANT(dev->ops->host_alloc(dev, MIB, &pinned) == 0);
	is_i64(try(dev, (uintptr_t)pinned, 64, &err), -EFAULT, "pinned memory of the host's too");
	ok(strstr(err_text(&err), "host memory"), "and called what it is");
	dev->ops->host_free(dev, pinned, MIB);
	is_i64(try(dev, plain, 0, &err), -EFAULT, "no bytes are no memory");
	is_i64(try(dev, plain, UINT64_MAX, &err), -EFAULT, "nor are more than there are addresses");
	INVARIANT(CALL("cuCtxCreate_v2", ctx_create_fn)(&foreign, 0, 0) == 0);
	INVARIANT(CALL("cuMemAlloc_v2", alloc_fn)(&own, MIB, 0) == 0);
	cuda_api(NULL)->ctx_pop(&was);
	is_i64(try(dev, own, MIB, &err), -EOPNOTSUPP, "memory of a context of its own is refused");

	is_i64(mem_cuda_ordinal_of(plain + 9, &ordinal, &err), 0, "which GPU has it");
	is_u64(ordinal, 0, "the first");
	pop();
	mem_device_free(dev);
}

static void test_devices(void)
{
	struct mem_device *dev;
	struct err err = ERR_NULL;
	unsigned int n = 0, ordinal = 99;
	struct mem_region r;

	is_i64(mem_cuda_count(&n, &err), 0, "devices can be counted");
	is_u64(n, 2, "there are two");
	is_i64(mem_cuda_new(2, &dev, &err), -ENODEV, "there is no third");
	ok(strstr(err_text(&err), "no GPU 2"), "the sentence says so: %s", err_text(&err));
	dev = device(1);
	INVARIANT(mem_region_alloc_device(&r, dev, MIB, &err) == 0);
	is_i64(mem_cuda_ordinal_of(r.addr, &ordinal, &err), 0, "memory of the second");
	is_u64(ordinal, 1, "is known to be there");
	mem_region_deinit(&r);
	is_i64(mem_region_alloc_device(&r, dev, 2048 * MIB, &err), -ENOMEM, "more than there is");
	mem_device_free(dev);
}

/* ---- copies -------------------------------------------------------------------------------- */

static void test_copies(void)
{
	struct mem_device *dev = device(0);
	struct mem_queue *q = NULL;
	struct seen in[200], out;
	static uint8_t back[200 * 1000];
	struct err err = ERR_NULL;
	struct mem_staging *s;
	struct iovec iov[200], all = { back, sizeof(back) };
	struct mem_region r;
	bool right = true;
	uint8_t *piece;

	INVARIANT(mem_queue_new(dev, NULL, NULL, &q) == 0 && mem_region_alloc_device(&r, dev, MIB, &err) == 0);
	INVARIANT(mem_staging_new(dev, 0, 1, &s, &err) == 0);
	is_u64(mem_region_path(&r), MEM_PATH_STAGED, "its path is staged");
	piece = mem_staging_get(s);
	for (unsigned int i = 0; i < 200; i++) {
		memset(piece + i * 1000, (int)i, 1000);
		iov[i] = (struct iovec){ piece + i * 1000, 1000 };
		seen_init(&in[i]);
		mem_copy_in(q, &r, i * 1000, &iov[i], 1, &in[i].job, now());
	}
	seen_init(&out);
	is_u64(q->pending, 200, "more copies than the driver is given at a time");
	ok(mem_queue_next(q) != UINT64_MAX, "there is a time to look");
	ok(!mem_copy_out(q, &r, 0, &all, 1, &out.job, now()), "and one back");
	drain(q);
	for (unsigned int i = 0; i < 200; i++)
		right = right && in[i].order == i + 1 && in[i].job.result == 0 && back[i * 1000] == (uint8_t)i &&
			back[i * 1000 + 999] == (uint8_t)i;
	ok(right && out.order == 201, "all are done, in order, with what was to be copied");
	is_u64(mem_queue_next(q), UINT64_MAX, "an idle queue is due never");
	mem_staging_put(s, piece);
	mem_staging_free(s);
	seen_init(&out);
	mem_compute(q, 1000, &out.job, now());
	drain(q);
	is_i64(out.job.result, -EOPNOTSUPP, "a real device has no timed step");
	mem_region_deinit(&r);
	mem_queue_free(q);
	mem_device_free(dev);
}

/* ---- streams ------------------------------------------------------------------------------- */

struct kernel {
	const uint8_t *bytes;
	uint8_t saw;
	bool slow;
	_Atomic bool over;
};

/* What stands for a kernel: it looks at device memory when the stream comes to it. */
static void kernel(void *arg)
{
	struct kernel *k = arg;
	struct timespec wait = { 0, k->slow ? 20000000 : 0 };

	nanosleep(&wait, NULL);
	k->saw = k->bytes[0];
	k->over = true;
}

static void test_streams(void)
{
	const struct cuda_api *api = cuda_api(NULL);
	struct mem_device *dev = device(0);
	struct kernel before = { .slow = true }, after = { .slow = false };
	struct mem_queue *q = NULL;
	struct err err = ERR_NULL;
	struct mem_region r;
	struct seen s;
	void *mark = NULL, *pinned;
	cu_stream stream;
	struct iovec one;

	INVARIANT(mem_queue_new(dev, NULL, NULL, &q) == 0 && mem_region_alloc_device(&r, dev, MIB, &err) == 0);
	INVARIANT(dev->ops->host_alloc(dev, MIB, &pinned) == 0);
	INVARIANT(push());
	INVARIANT(api->stream_create(&stream, 1, 0) == 0);
	before.bytes = after.bytes = CALL("penstock_double_bytes", bytes_fn)(r.addr, 1);
	is_i64(mem_cuda_stream_check(CU_STREAM_PER_THREAD, &err), -EINVAL, "no per-thread default stream");
	is_i64(mem_cuda_stream_check((uintptr_t)stream, &err), 0, "but one that was created");

	CALL("cuLaunchHostFunc", launch_fn)(stream, kernel, &before);
	is_i64(mem_cuda_mark(dev, (uintptr_t)stream, &mark), 0, "a mark behind work of the stream");
	is_i64(mem_cuda_passed(dev, mark), 0, "is not passed while that runs");
	while (mem_cuda_passed(dev, mark) == 0)
		;
	ok(before.over, "but when it is over");
	mem_cuda_unmark(dev, mark);

	memset(pinned, 7, MIB);
	one = (struct iovec){ pinned, MIB };
	seen_init(&s);
	mem_copy_in(q, &r, 0, &one, 1, &s.job, now());
	is_i64(mem_cuda_follow(&s.job, (uintptr_t)stream), 0, "a stream follows a copy");
	CALL("cuLaunchHostFunc", launch_fn)(stream, kernel, &after);
	api->stream_synchronize(stream);
	is_u64(after.saw, 7, "what it runs afterwards sees the data, with nobody waiting");
	drain(q);
	api->stream_destroy(stream);
	pop();
	dev->ops->host_free(dev, pinned, MIB);
	mem_region_deinit(&r);
	mem_queue_free(q);
	mem_device_free(dev);
}

/* ---- failures ------------------------------------------------------------------------------ */

/* A life of the device, in a process of its own, with a call that fails. Returns its exit status. */
static int life(const char *fails, char *said, size_t n)
{
	struct mem_device *dev = NULL;
	struct mem_queue *q = NULL;
	struct mem_staging *s = NULL;
	struct err err = ERR_NULL;
	struct mem_region r = MEM_REGION_NULL;
	struct iovec iov;
	struct seen job[2];
	int rc, failed = 0;

	setenv("PENSTOCK_DOUBLE_FAIL", fails, 1);
	rc = mem_cuda_new(0, &dev, &err);
	if (rc == 0)
		rc = mem_queue_new(dev, NULL, NULL, &q);
	if (rc == 0)
		rc = mem_region_alloc_device(&r, dev, MIB, &err);
	if (rc == 0)
		rc = mem_staging_new(dev, 0, 2, &s, &err);
	for (unsigned int i = 0; rc == 0 && i < 2; i++) {
		void *piece = mem_staging_get(s);

		iov = (struct iovec){ piece, 1000 };
		seen_init(&job[i]);
		mem_copy_in(q, &r, 0, &iov, 1, &job[i].job, now());
		drain(q);
		failed += job[i].job.result < 0;
		mem_staging_put(s, piece);
	}
	if (dev)
		mem_cuda_last_error(dev, said, n);
	if (!said[0])
		snprintf(said, n, "%s", err_text(&err));
	mem_queue_free(q);
	mem_staging_free(s);
	mem_region_deinit(&r);
	mem_device_free(dev);
	return rc < 0 ? 100 : failed;
}

static void fails(const char *which, int want, const char *text)
{
	char said[256] = "";
	int status = 0, fds[2];
	ssize_t got;
	pid_t child;

	INVARIANT(pipe(fds) == 0);
	child = fork();
	if (child == 0) {
		int rc = life(which, said, sizeof(said));

		got = write(fds[1], said, sizeof(said));
		exit(got == sizeof(said) ? rc : 101);
	}
	got = read(fds[0], said, sizeof(said));
	waitpid(child, &status, 0);
	close(fds[0]);
	close(fds[1]);
	ok(got > 0 && WIFEXITED(status) && WEXITSTATUS(status) == want && strstr(said, text),
	   "%s fails: %s (%d)", which, said, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void test_failures(void)
{
	fails("none:1", 0, "");
	fails("cuInit:1", 100, "does not start");
	fails("cuDeviceGetCount:1", 100, "counting GPUs");
	fails("cuDeviceGet:1", 100, "GPU 0: CUDA_ERROR_UNKNOWN");
	fails("cuDevicePrimaryCtxRetain:1", 100, "GPU 0");
	fails("cuCtxPushCurrent_v2:1", 100, "cuCtxPushCurrent");
	fails("cuStreamCreateWithPriority:1", 100, "a stream for copies");
	fails("cuEventCreate:1", 100, "a stream for copies");
	fails("cuEventCreate:40", 100, "a stream for copies");
	fails("cuMemAlloc_v2:1", 100, "cuMemAlloc");
	fails("cuMemHostAlloc:1", 100, "cuMemHostAlloc");
	fails("cuMemcpyHtoDAsync_v2:1", 1, "cuMemcpyHtoDAsync: CUDA_ERROR_UNKNOWN");
	fails("cuMemcpyHtoDAsync_v2:2", 1, "cuMemcpyHtoDAsync");
	fails("cuMemcpyHtoDAsync_v2:1+", 2, "cuMemcpyHtoDAsync");
	fails("cuEventRecord:1", 1, "cuEventRecord");
	fails("cuEventRecord:1+,cuStreamSynchronize:1+", 2, "cuStreamSynchronize");
	fails("cuEventQuery:1", 1, "a copy: CUDA_ERROR_UNKNOWN");
	fails("cuCtxPushCurrent_v2:4", 1, "cuCtxPushCurrent");
	fails("cuCtxPushCurrent_v2:5", 0, "cuCtxPushCurrent");
	fails("cuCtxPushCurrent_v2:5+", 2, "cuCtxPushCurrent");
	fails("copy:1", 2, "ILLEGAL_ADDRESS");
	fails("cuMemFree_v2:1,cuMemFreeHost:1,cuStreamDestroy_v2:1,cuEventDestroy_v2:1", 0, "");
}

int main(void)
{
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver) {
		diag("%s", dlerror());
		return 1;
	}
	setenv("PENSTOCK_DOUBLE_CUDA_DEVICES", "2", 1);
	/* First, so that no process it makes has a driver that runs already. */
	test_failures();
	test_devices();
	test_addresses();
	test_copies();
	test_streams();
	return tap_done();
}
