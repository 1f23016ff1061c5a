/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulated accelerator. Its addresses lie in a range that is mapped without any right, so the
 * CPU that touches one faults where the mistake is; the bytes are in a second mapping at the same
 * offsets, known to the copy engine alone.
 *
 * An engine is a point in time until which it is busy. A copy that comes starts then (or now),
 * takes bytes / bandwidth, and is over a latency later; the bytes move when it is over, in
 * mem_queue_poll(), so a buffer that is reused too early corrupts data here as it would on a GPU.
 * The trade-off is that the copy then costs CPU time on the polling thread, which on a GPU it does
 * not; a run on an emulated device is charged that time.
 *
 * Queues share the engines under a mutex, held for a few instructions. All else is a queue's own.
 */
#include "memory/emulated.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/parse.h"
#include "base/util.h"
#include "memory/region.h"
#include "memory/stream.h"

#define PAGE 4096u
#define SECOND UINT64_C(1000000000)

struct extent {
	struct list link; /* emulated.extents, by start */
	uint64_t start;   /* offset into device memory */
	uint64_t length;
};

struct emulated {
	struct mem_device dev;
	struct mem_emulated_options opts;
	uint8_t *addresses; /* PROT_NONE: what is handed out */
	uint8_t *backing;   /* what holds the bytes */

	pthread_mutex_t mutex; /* guards all below */
	struct list extents;
	uint64_t copy_busy_until;
	uint64_t copy_rest; /* of the last division: nanoseconds times bandwidth */
	uint64_t compute_busy_until;
	struct mem_emulated_stats stats;
};

struct emulated_queue {
	struct mem_queue q;
	struct list copies; /* mem_job.link, by deadline */
	struct list steps;  /* the same */
};

_Static_assert(offsetof(struct emulated, dev) == 0, "a device is its own head");
_Static_assert(offsetof(struct emulated_queue, q) == 0, "so is a queue");

static struct emulated *emulated_of(struct mem_device *dev)
{
	return container_of(dev, struct emulated, dev);
}

static struct emulated_queue *queue_of(struct mem_queue *q)
{
	return container_of(q, struct emulated_queue, q);
}

/* ---- device memory: first fit in a sorted list, for a handful of large allocations --------- */

static uint64_t offset_of(const struct emulated *e, uint64_t addr)
{
	return addr - (uint64_t)(uintptr_t)e->addresses;
}

static bool owns(const struct emulated *e, uint64_t addr, uint64_t length)
{
	return addr >= (uint64_t)(uintptr_t)e->addresses &&
	       range_within(offset_of(e, addr), length, e->dev.memory);
}

static int emulated_check(struct mem_device *dev, uint64_t addr, uint64_t length, struct err *err)
{
	if (!owns(emulated_of(dev), addr, length))
		return err_set(err, EFAULT, "0x%llx and %llu bytes on are not memory of %s",
			       (unsigned long long)addr, (unsigned long long)length, dev->name);
	return 0;
}

/* Links @x into the first gap that holds it. */
static bool extent_place(struct emulated *e, struct extent *x)
{
	struct extent *next;
	uint64_t gap = 0;

	list_for_each_entry(next, &e->extents, link) {
		if (next->start - gap >= x->length)
			break;
		gap = next->start + next->length;
	}
	if (&next->link == &e->extents && e->dev.memory - gap < x->length)
		return false;
	x->start = gap;
	list_add_before(&next->link, &x->link);
	return true;
}

static int emulated_alloc(struct mem_device *dev, uint64_t length, uint64_t *ret_addr)
{
	struct emulated *e = emulated_of(dev);
	struct extent *x;
	bool placed;

	if (length == 0 || length > dev->memory)
		return -ENOMEM;
	x = mem_zalloc(sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->length = ALIGN_UP(length, PAGE);
	pthread_mutex_lock(&e->mutex);
	placed = extent_place(e, x);
	pthread_mutex_unlock(&e->mutex);
	if (!placed) {
		mem_free(x);
		return -ENOMEM;
	}
	if (e->opts.poison)
		memset(e->backing + x->start, MEM_EMULATED_POISON, x->length);
	else
		mem_populate(e->backing + x->start, x->length);
	*ret_addr = (uint64_t)(uintptr_t)e->addresses + x->start;
	return 0;
}

static void emulated_free(struct mem_device *dev, uint64_t addr, uint64_t length)
{
	struct emulated *e = emulated_of(dev);
	uint64_t start = offset_of(e, addr);
	struct extent *x, *found = NULL;

	pthread_mutex_lock(&e->mutex);
	list_for_each_entry(x, &e->extents, link)
		if (x->start == start && x->length == ALIGN_UP(length, PAGE))
			found = x;
	INVARIANT(found);
	/* The pages go back before the range can be handed out again. */
	madvise(e->backing + start, found->length, MADV_DONTNEED);
	list_del(&found->link);
	pthread_mutex_unlock(&e->mutex);
	mem_free(found);
}

static int emulated_host_alloc(struct mem_device *dev, uint64_t length, void **ret_ptr)
{
	void *p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	*ret_ptr = p;
	return 0;
}

static void emulated_host_free(struct mem_device *dev, void *ptr, uint64_t length)
{
	munmap(ptr, length);
}

/* ---- engines ------------------------------------------------------------------------------- */

static int emulated_queue_new(struct mem_device *dev, mem_wake_fn wake, void *arg,
			      struct mem_queue **ret_queue)
{
	struct emulated_queue *q = mem_zalloc(sizeof(*q));

	if (!q)
		return -ENOMEM;
	q->q.dev = dev;
	list_init(&q->copies);
	list_init(&q->steps);
	*ret_queue = &q->q;
	return 0;
}

static void emulated_queue_free(struct mem_queue *q)
{
	mem_free(queue_of(q));
}

__extension__ typedef unsigned __int128 wide;

/* Books the copy engine for @job, and decides when and how it will be over. */
static void book_copy(struct emulated *e, struct mem_job *job, uint64_t now)
{
	uint64_t ns = 0;
	wide work;

	pthread_mutex_lock(&e->mutex);
	if (e->copy_busy_until < now) {
		e->copy_busy_until = now;
		e->copy_rest = 0;
	}
	if (e->opts.bandwidth) {
		/* The rest is kept, or many small copies would be faster than one large. */
		work = (wide)job->length * SECOND + e->copy_rest;
		ns = (uint64_t)(work / e->opts.bandwidth);
		e->copy_rest = (uint64_t)(work % e->opts.bandwidth);
	}
	e->copy_busy_until = u64_add_saturated(e->copy_busy_until, ns);
	e->stats.copies++;
	e->stats.bytes += job->length;
	e->stats.copy_busy_ns += ns;
	job->deadline = u64_add_saturated(e->copy_busy_until, e->opts.latency_ns);
	if (e->opts.fail_every && e->stats.copies % e->opts.fail_every == 0)
		job->result = -EIO;
	pthread_mutex_unlock(&e->mutex);
}

static void emulated_copy(struct mem_queue *q, struct mem_job *job, uint64_t now_ns)
{
	struct emulated *e = emulated_of(q->dev);

	INVARIANT(owns(e, job->addr, job->length));
	book_copy(e, job, now_ns);
	list_add_tail(&queue_of(q)->copies, &job->link);
}

static void emulated_compute(struct mem_queue *q, struct mem_job *job, uint64_t now_ns)
{
	struct emulated *e = emulated_of(q->dev);

	pthread_mutex_lock(&e->mutex);
	e->compute_busy_until = u64_add_saturated(MAX(e->compute_busy_until, now_ns), job->length);
	e->stats.steps++;
	e->stats.compute_busy_ns += job->length;
	job->deadline = e->compute_busy_until;
	pthread_mutex_unlock(&e->mutex);
	list_add_tail(&queue_of(q)->steps, &job->link);
}

static void job_effect(struct emulated *e, struct mem_job *job)
{
	uint8_t *at = e->backing + offset_of(e, job->addr);

	for (int i = 0; i < job->niov; at += job->iov[i].iov_len, i++) {
		if (job->iov[i].iov_len == 0)
			continue;
		if (job->kind == MEM_JOB_IN)
			mem_stream_copy(at, job->iov[i].iov_base, job->iov[i].iov_len);
		else
			memcpy(job->iov[i].iov_base, at, job->iov[i].iov_len);
	}
}

static struct mem_job *head_of(const struct list *l)
{
	return list_empty(l) ? NULL : container_of(l->next, struct mem_job, link);
}

/* The job of the queue that is over first. */
static struct mem_job *first_job(const struct emulated_queue *q)
{
	struct mem_job *copy = head_of(&q->copies), *step = head_of(&q->steps);

	if (!copy || !step)
		return copy ? copy : step;
	return copy->deadline <= step->deadline ? copy : step;
}

static unsigned int emulated_poll(struct mem_queue *q, uint64_t now_ns)
{
	struct emulated_queue *eq = queue_of(q);
	/* What done submits anew waits for the next poll, even if it takes no time at all. */
	unsigned int budget = q->pending, calls = 0;
	struct mem_job *job;

	while (calls < budget && (job = first_job(eq)) && job->deadline <= now_ns) {
		list_del(&job->link);
		q->pending--;
		calls++;
		if (job->kind != MEM_JOB_COMPUTE && job->result == 0)
			job_effect(emulated_of(q->dev), job);
		job->done(job);
	}
	return calls;
}

static uint64_t emulated_next(const struct mem_queue *q)
{
	const struct mem_job *job = first_job((const struct emulated_queue *)(const void *)q);

	return job ? job->deadline : UINT64_MAX;
}

/* ---- the device ---------------------------------------------------------------------------- */

static void emulated_destroy(struct mem_device *dev)
{
	struct emulated *e = emulated_of(dev);

	INVARIANT(list_empty(&e->extents));
	if (e->addresses)
		munmap(e->addresses, dev->memory);
	if (e->backing)
		munmap(e->backing, dev->memory);
	pthread_mutex_destroy(&e->mutex);
	mem_free(e);
}

static const struct mem_device_ops emulated_ops = {
	.name = "emulated",
	.kind = MEM_EMULATED,
	.path = MEM_PATH_EMULATED,
	.alloc = emulated_alloc,
	.free = emulated_free,
	.check = emulated_check,
	.host_alloc = emulated_host_alloc,
	.host_free = emulated_host_free,
	.queue_new = emulated_queue_new,
	.queue_free = emulated_queue_free,
	.copy_to_device = emulated_copy,
	.copy_to_host = emulated_copy,
	.compute = emulated_compute,
	.poll = emulated_poll,
	.next = emulated_next,
	.destroy = emulated_destroy,
};

static uint8_t *reserve(uint64_t length, int rights)
{
	void *p = mmap(NULL, length, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void set_name(struct mem_device *dev)
{
	char memory[FORMAT_MAX], bandwidth[FORMAT_MAX];

	format_size(dev->memory, memory, sizeof(memory));
	format_size(dev->bandwidth, bandwidth, sizeof(bandwidth));
	if (dev->bandwidth)
		snprintf(dev->name, sizeof(dev->name), "emulated %s, %s/s", memory, bandwidth);
	else
		snprintf(dev->name, sizeof(dev->name), "emulated %s", memory);
}

int mem_emulated_new(const struct mem_emulated_options *opts, struct mem_device **ret_dev,
		     struct err *err)
{
	struct emulated *e;

	if (opts->memory == 0)
		return err_set(err, EINVAL, "an emulated accelerator without memory");
	if (opts->memory > INT64_MAX)
		return err_set(err, ENOMEM, "no room for %llu bytes of emulated memory",
			       (unsigned long long)opts->memory);
	e = mem_zalloc(sizeof(*e));
	if (!e)
		return err_set(err, ENOMEM, "no memory");
	e->opts = *opts;
	e->dev.ops = &emulated_ops;
	e->dev.memory = ALIGN_UP(opts->memory, PAGE);
	e->dev.bandwidth = opts->bandwidth;
	e->dev.latency_ns = opts->latency_ns;
	set_name(&e->dev);
	pthread_mutex_init(&e->mutex, NULL);
	list_init(&e->extents);
	e->addresses = reserve(e->dev.memory, PROT_NONE);
	e->backing = e->addresses ? reserve(e->dev.memory, PROT_READ | PROT_WRITE) : NULL;
	if (!e->backing) {
		emulated_destroy(&e->dev);
		return err_set(err, ENOMEM, "no room for %llu bytes of emulated memory",
			       (unsigned long long)opts->memory);
	}
	*ret_dev = &e->dev;
	return 0;
}

void mem_emulated_stats(struct mem_device *dev, struct mem_emulated_stats *ret_stats)
{
	struct emulated *e = emulated_of(dev);

	INVARIANT(dev->ops == &emulated_ops);
	pthread_mutex_lock(&e->mutex);
	*ret_stats = e->stats;
	pthread_mutex_unlock(&e->mutex);
}
