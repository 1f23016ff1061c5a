/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of memory the CPU may touch, and what is said when there is none. */
#include "memory/region.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "tests/tap.h"

static void test_names(void)
{
	is_str(mem_kind_name(MEM_HOST), "host", "kind host");
	is_str(mem_kind_name(MEM_PINNED), "pinned", "kind pinned");
	is_str(mem_kind_name(MEM_CUDA), "cuda", "kind cuda");
	is_str(mem_kind_name(MEM_EMULATED), "emulated", "kind emulated");
	is_str(mem_path_name(MEM_PATH_HOST), "host", "path host");
	is_str(mem_path_name(MEM_PATH_STAGED), "staged", "path staged");
	is_str(mem_path_name(MEM_PATH_GDR), "gdr", "path gdr");
	is_str(mem_path_name(MEM_PATH_GDS), "gds", "path gds");
	is_str(mem_path_name(MEM_PATH_EMULATED), "emulated", "path emulated");
}

static void test_host(void)
{
	struct mem_region r;
	struct err err = ERR_NULL;
	uint8_t mine[100];

	is_i64(mem_region_register(&r, MEM_HOST, mine, sizeof(mine), &err), 0, "memory of the caller's");
	ok(mem_region_cpu(&r) && mem_region_ptr(&r, 7) == mine + 7, "is used in place");
	is_u64(mem_region_path(&r), MEM_PATH_HOST, "its path is host");
	ok(mem_region_contains(&r, 100, 0) && mem_region_contains(&r, 0, 100) &&
		   !mem_region_contains(&r, 1, 100) && !mem_region_contains(&r, 101, 0) &&
		   !mem_region_contains(&r, UINT64_MAX, 2),
	   "ranges inside and outside are told apart");
	mem_region_deinit(&r);
	mem_region_deinit(&r);
	is_u64(r.length, 0, "deinit twice is harmless");

	is_i64(mem_region_alloc(&r, MEM_HOST, 12345, &err), 0, "memory of our own");
	((uint8_t *)mem_region_ptr(&r, 0))[12344] = 1;
	is_u64((uintptr_t)mem_region_ptr(&r, 0) % 4096, 0, "is page-aligned");
	mem_region_deinit(&r);
	is_i64(mem_region_alloc(&r, MEM_HOST, 0, &err), -EINVAL, "no bytes is no region");
	is_i64(mem_region_alloc(&r, MEM_HOST, UINT64_MAX - 1, &err), -ENOMEM, "too many are too many");
}

static void test_copy(void)
{
	uint8_t a[6] = "abcdef", b[6] = "......";
	struct iovec iov[3] = { { a, 2 }, { NULL, 0 }, { a + 2, 4 } };
	struct iovec out[2] = { { b, 5 }, { b + 5, 1 } };
	struct mem_region r;
	struct mem_job job;
	struct err err = ERR_NULL;

	INVARIANT(mem_region_alloc(&r, MEM_HOST, 64, &err) == 0);
	mem_job_init(&job, NULL);
	ok(mem_copy_in(NULL, &r, 10, iov, 3, &job, 0), "a copy into host memory is done at once");
	is_i64(job.result, 0, "and right");
	is_mem(mem_region_ptr(&r, 10), "abcdef", 6, "the bytes are there");
	ok(mem_copy_out(NULL, &r, 10, out, 2, &job, 0), "so is a copy out");
	is_mem(b, "abcdef", 6, "with the same bytes");
	ok(mem_copy_in(NULL, &r, 64, NULL, 0, &job, 0), "no bytes may go to the very end");
	mem_region_deinit(&r);
}

/* The error of locking 1 MiB where 64 KiB are allowed, or 255 if its sentence is wrong. */
static int pin_without_privilege(void)
{
	struct rlimit low = { 65536, 65536 };
	struct err err = ERR_NULL;
	struct mem_region r;
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		if (setrlimit(RLIMIT_MEMLOCK, &low) < 0 ||
		    (getuid() == 0 && setresuid(65534, 65534, 65534) < 0))
			_exit(254);
		status = -mem_region_alloc(&r, MEM_PINNED, 1 << 20, &err);
		_exit(status == 0 || strstr(err.text, "ulimit -l") ? status : 255);
	}
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

static void test_pinned(void)
{
	struct mem_region r;
	struct err err = ERR_NULL;
	int r0, denied;

	r0 = mem_region_alloc(&r, MEM_PINNED, 16384, &err);
	if (r0 < 0) {
		tap_skip("not a page may be locked here");
		return;
	}
	ok(mem_region_cpu(&r) && r.locked && mem_region_path(&r) == MEM_PATH_HOST,
	   "pinned memory is host memory");
	memset(mem_region_ptr(&r, 0), 1, 16384);
	mem_region_deinit(&r);

	denied = pin_without_privilege();
	if (denied == 0)
		tap_skip("locking memory does nothing here (address sanitizer)");
	else
		is_i64(denied, ENOMEM, "the limit is enforced and named");
}

int main(void)
{
	test_names();
	test_host();
	test_copy();
	test_pinned();
	return tap_done();
}
