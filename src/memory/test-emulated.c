/* SPDX-License-Identifier: Apache-2.0 */
/* The emulated accelerator: its addresses bite, its time is as stated, its bytes are right. */
#include "memory/emulated.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/util.h"
#include "memory/region.h"
#include "tests/tap.h"

#define MIB (UINT64_C(1) << 20)

static struct mem_device *device(const struct mem_emulated_options *opts)
{
	struct mem_device *dev = NULL;
	struct err err = ERR_NULL;

	if (mem_emulated_new(opts, &dev, &err) < 0)
		diag("%s", err_text(&err));
	INVARIANT(dev);
	return dev;
}

struct seen {
	struct mem_job job;
	unsigned int order; /* of its done; 0: not yet */
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

static void test_addresses(void)
{
	struct mem_device *dev = device(&(struct mem_emulated_options){ .memory = 8 * MIB });
	struct mem_region a, b, c, part;
	struct err err = ERR_NULL;

	ok(strstr(dev->name, "emulated") == dev->name, "it says that it is emulated: %s", dev->name);
	is_i64(mem_region_alloc_device(&a, dev, 3 * MIB, &err), 0, "device memory");
	ok(!mem_region_cpu(&a) && a.kind == MEM_EMULATED, "is not for the CPU");
	is_u64(mem_region_path(&a), MEM_PATH_EMULATED, "its path is emulated");
	is_i64(touch((uint8_t *)(uintptr_t)mem_region_addr(&a, 5)), SIGSEGV, "a stray access faults");

	is_i64(mem_region_alloc_device(&b, dev, 4 * MIB, &err), 0, "more of it");
	is_i64(mem_region_alloc_device(&c, dev, 2 * MIB, &err), -ENOMEM, "but not more than there is");
	ok(strstr(err_text(&err), "emulated"), "the sentence names the device: %s", err_text(&err));
	mem_region_deinit(&a);
	is_i64(mem_region_alloc_device(&c, dev, 2 * MIB, &err), 0, "what was freed is used again");
	is_i64(mem_region_alloc_device(&a, dev, 1 * MIB, &err), 0, "all of it");
	ok(a.addr != c.addr && a.addr != b.addr, "without overlap");

	is_i64(mem_region_register_device(&part, dev, b.addr + 7, 100, &err), 0, "a part of it");
	mem_region_deinit(&part);
	is_i64(mem_region_register_device(&part, dev, b.addr, 8 * MIB, &err), -EFAULT, "not past the end");
	is_i64(mem_region_register_device(&part, dev, (uintptr_t)&err, 8, &err), -EFAULT,
	       "not memory of the host's");
	mem_region_deinit(&a);
	mem_region_deinit(&b);
	mem_region_deinit(&c);
	mem_device_free(dev);
}

/* ---- time ---------------------------------------------------------------------------------- */

static void test_time(void)
{
	/* 1 GB/s is a nanosecond a byte. */
	struct mem_device *dev = device(&(struct mem_emulated_options){
		.memory = 8 * MIB, .bandwidth = 1000000000, .latency_ns = 500 });
	struct mem_queue *q = NULL, *other = NULL;
	static uint8_t buf[4000];
	struct iovec one = { buf, 1000 }, four = { buf, 4000 };
	struct mem_emulated_stats stats;
	struct seen s[4];
	struct mem_region r;

	INVARIANT(mem_queue_new(dev, NULL, NULL, &q) == 0 && mem_queue_new(dev, NULL, NULL, &other) == 0);
	INVARIANT(mem_region_alloc_device(&r, dev, MIB, NULL) == 0);
	for (unsigned int i = 0; i < 4; i++)
		seen_init(&s[i]);
	is_u64(mem_queue_next(q), UINT64_MAX, "an idle queue is due never");
	ok(!mem_copy_in(q, &r, 0, &one, 1, &s[0].job, 10000), "a copy takes time");
	ok(!mem_copy_in(other, &r, 0, &four, 1, &s[1].job, 10000), "one of another queue is behind it");
	ok(!mem_copy_out(q, &r, 0, &one, 1, &s[2].job, 10000), "and a third behind that");
	is_u64(mem_queue_next(q), 11500, "bandwidth and latency of the first");
	is_u64(mem_queue_next(other), 15500, "the second waited for the engine, not for the latency");
	is_u64(mem_queue_poll(q, 11499), 0, "not a nanosecond early");
	is_u64(mem_queue_poll(q, 11500), 1, "but then");
	is_u64(mem_queue_next(q), 16500, "the third waited for both");
	is_u64(mem_queue_poll(other, UINT64_MAX) + mem_queue_poll(q, UINT64_MAX), 2, "all come to an end");

	dones = 0;
	mem_compute(q, 5000, &s[0].job, 20000);
	mem_compute(other, 1000, &s[1].job, 20000);
	ok(!mem_copy_in(q, &r, 0, &one, 1, &s[2].job, 20000), "a copy beside a step");
	is_u64(mem_queue_next(other), 26000, "steps go one after another");
	is_u64(mem_queue_poll(q, 25000), 2, "a step and a copy go at the same time");
	ok(s[2].order == 1 || s[2].order == 3, "and the copy was over first");
	is_u64(mem_queue_poll(other, 26000), 1, "then the second step");

	mem_emulated_stats(dev, &stats);
	is_u64(stats.copies, 4, "copies are counted");
	is_u64(stats.bytes, 7000, "and their bytes");
	is_u64(stats.copy_busy_ns, 7000, "and the time the engine worked");
	is_u64(stats.compute_busy_ns, 6000, "and the steps' time");
	mem_region_deinit(&r);
	mem_queue_free(q);
	mem_queue_free(other);
	mem_device_free(dev);
}

/* Many small copies take as long as one large: no time is lost to rounding. */
static void test_rounding(void)
{
	struct mem_device *dev = device(&(struct mem_emulated_options){
		.memory = MIB, .bandwidth = UINT64_C(3000000007) });
	static struct seen s[3000];
	uint8_t buf[100];
	struct iovec iov = { buf, sizeof(buf) };
	struct mem_queue *q = NULL;
	struct mem_region r;

	memset(buf, 7, sizeof(buf));
	INVARIANT(mem_queue_new(dev, NULL, NULL, &q) == 0);
	INVARIANT(mem_region_alloc_device(&r, dev, MIB, NULL) == 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(s); i++) {
		seen_init(&s[i]);
		mem_copy_in(q, &r, 0, &iov, 1, &s[i].job, 0);
	}
	/* 300,000 bytes at 3.000000007 GB/s are 99,999.999767 ns. */
	is_u64(s[2999].job.deadline, 99999, "3000 copies of 100 bytes");
	mem_queue_poll(q, UINT64_MAX);
	mem_region_deinit(&r);
	mem_queue_free(q);
	mem_device_free(dev);
}

static void nothing(struct mem_job *job)
{
}

struct again {
	struct mem_job job;
	struct mem_queue *q;
	struct mem_region *r;
	struct iovec iov;
	unsigned int count;
};

static void again_done(struct mem_job *job)
{
	struct again *a = container_of(job, struct again, job);

	a->count++;
	mem_copy_in(a->q, a->r, 0, &a->iov, 1, job, 0);
}

static void test_poll_ends(void)
{
	struct mem_device *dev = device(&(struct mem_emulated_options){ .memory = MIB });
	struct mem_region r;
	uint8_t byte = 1;
	struct again a = { .r = &r, .iov = { &byte, 1 } };

	INVARIANT(mem_queue_new(dev, NULL, NULL, &a.q) == 0);
	INVARIANT(mem_region_alloc_device(&r, dev, MIB, NULL) == 0);
	mem_job_init(&a.job, again_done);
	mem_copy_in(a.q, &r, 0, &a.iov, 1, &a.job, 0);
	is_u64(mem_queue_poll(a.q, 0), 1, "a job that submits itself anew does not keep poll for ever");
	is_u64(a.count, 1, "it ran once");
	a.job.done = nothing;
	mem_queue_poll(a.q, 0);
	mem_region_deinit(&r);
	mem_queue_free(a.q);
	mem_device_free(dev);
}

/* ---- bytes --------------------------------------------------------------------------------- */

static void test_bytes(void)
{
	enum { SIZE = 1 << 18, ROUNDS = 300 };
	struct mem_device *dev = device(&(struct mem_emulated_options){
		.memory = SIZE, .bandwidth = UINT64_C(1) << 33, .poison = true });
	uint8_t *model = mem_alloc(SIZE), *buf = mem_alloc(SIZE);
	unsigned int wrong = 0;
	struct mem_queue *q = NULL;
	struct mem_region r;
	struct rng rng;

	rng_init(&rng, 5);
	INVARIANT(model && buf && mem_queue_new(dev, NULL, NULL, &q) == 0);
	INVARIANT(mem_region_alloc_device(&r, dev, SIZE, NULL) == 0);
	memset(model, MEM_EMULATED_POISON, SIZE);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t length = 1 + rng_below(&rng, 5000), offset = rng_below(&rng, SIZE - length);
		uint64_t cut = rng_below(&rng, length + 1);
		struct iovec iov[2] = { { buf, cut }, { buf + cut, length - cut } };
		struct seen s;

		seen_init(&s);
		if (rng_below(&rng, 2)) {
			rng_fill(&rng, buf, length);
			memcpy(model + offset, buf, length);
			mem_copy_in(q, &r, offset, iov, 2, &s.job, i);
			mem_queue_poll(q, UINT64_MAX);
		} else {
			mem_copy_out(q, &r, offset, iov, 2, &s.job, i);
			mem_queue_poll(q, UINT64_MAX);
			wrong += memcmp(buf, model + offset, length) != 0;
		}
		wrong += s.order == 0 || s.job.result != 0;
	}
	is_u64(wrong, 0, "what was copied in comes out, what was not is poison");
	mem_region_deinit(&r);
	mem_queue_free(q);
	mem_device_free(dev);
	mem_free(model);
	mem_free(buf);
}

static void test_effect_at_the_end(void)
{
	struct mem_device *dev = device(&(struct mem_emulated_options){
		.memory = MIB, .bandwidth = 1000, .fail_every = 3 });
	uint8_t byte = 1, back = 0;
	struct iovec in = { &byte, 1 }, out = { &back, 1 };
	struct mem_queue *q = NULL;
	struct mem_region r;
	struct seen s[3];

	INVARIANT(mem_queue_new(dev, NULL, NULL, &q) == 0);
	INVARIANT(mem_region_alloc_device(&r, dev, MIB, NULL) == 0);
	for (unsigned int i = 0; i < 3; i++)
		seen_init(&s[i]);
	mem_copy_in(q, &r, 0, &in, 1, &s[0].job, 0);
	byte = 2; /* too early, and so it shows */
	mem_copy_out(q, &r, 0, &out, 1, &s[1].job, 0);
	mem_queue_poll(q, UINT64_MAX);
	is_u64(back, 2, "bytes move when the copy ends, and in order");
	byte = 3;
	mem_copy_in(q, &r, 0, &in, 1, &s[2].job, 0);
	mem_queue_poll(q, UINT64_MAX);
	is_i64(s[2].job.result, -EIO, "the third copy fails as asked");
	mem_copy_out(q, &r, 0, &out, 1, &s[0].job, 0);
	mem_queue_poll(q, UINT64_MAX);
	is_u64(back, 2, "and has copied nothing");
	mem_region_deinit(&r);
	mem_queue_free(q);
	mem_device_free(dev);
}

/* ---- threads ------------------------------------------------------------------------------- */

static atomic_uint thread_wrong;

static void *copier(void *arg)
{
	struct mem_device *dev = arg;
	uint8_t in[512], out[512];
	struct iovec iov_in = { in, sizeof(in) }, iov_out = { out, sizeof(out) };
	struct mem_job put, get;
	struct mem_queue *q = NULL;
	struct mem_region r;

	INVARIANT(mem_queue_new(dev, NULL, NULL, &q) == 0);
	mem_job_init(&put, nothing);
	mem_job_init(&get, nothing);
	for (unsigned int i = 0; i < 3000; i++) {
		INVARIANT(mem_region_alloc_device(&r, dev, sizeof(in), NULL) == 0);
		memset(in, (int)i, sizeof(in));
		mem_copy_in(q, &r, 0, &iov_in, 1, &put, i);
		mem_copy_out(q, &r, 0, &iov_out, 1, &get, i);
		mem_queue_poll(q, UINT64_MAX);
		if (memcmp(in, out, sizeof(in)) != 0)
			atomic_fetch_add(&thread_wrong, 1);
		mem_region_deinit(&r);
	}
	mem_queue_free(q);
	return NULL;
}

static void test_threads(void)
{
	struct mem_device *dev = device(&(struct mem_emulated_options){ .memory = MIB });
	struct mem_emulated_stats stats;
	pthread_t t[2];

	for (unsigned int i = 0; i < 2; i++)
		INVARIANT(pthread_create(&t[i], NULL, copier, dev) == 0);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	mem_emulated_stats(dev, &stats);
	is_u64(atomic_load(&thread_wrong), 0, "two threads with a queue each do not disturb each other");
	is_u64(stats.copies, 12000, "and no copy is lost from the count");
	mem_device_free(dev);
}

static void test_refused(void)
{
	struct mem_emulated_options opts = { .memory = 0 };
	struct mem_device *dev = NULL;
	struct mem_region r;
	struct err err = ERR_NULL;

	is_i64(mem_emulated_new(&opts, &dev, &err), -EINVAL, "an accelerator needs memory");
	opts.memory = UINT64_C(1) << 60;
	is_i64(mem_emulated_new(&opts, &dev, &err), -ENOMEM, "and not too much of it");
	opts.memory = MIB;
	mem_fail_after(1);
	is_i64(mem_emulated_new(&opts, &dev, &err), -ENOMEM, "no memory for the device");
	dev = device(&opts);
	mem_fail_after(1);
	is_i64(mem_region_alloc_device(&r, dev, 4096, &err), -ENOMEM, "no memory for a region");
	mem_device_free(dev);
	mem_device_free(NULL);
}

int main(void)
{
	test_addresses();
	test_time();
	test_rounding();
	test_poll_ends();
	test_bytes();
	test_effect_at_the_end();
	test_threads();
	test_refused();
	return tap_done();
}
