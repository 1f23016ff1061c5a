/* SPDX-License-Identifier: Apache-2.0 */
/* What all devices do the same way, and the names of kinds and paths; see device.h. */
#include "memory/device.h"

#include "base/util.h"

const char *mem_kind_name(enum mem_kind kind)
{
	static const char *const names[] = {
		[MEM_HOST] = "host",
		[MEM_PINNED] = "pinned",
		[MEM_CUDA] = "cuda",
		[MEM_EMULATED] = "emulated",
	};

	INVARIANT((size_t)kind < ARRAY_SIZE(names));
	return names[kind];
}

const char *mem_path_name(enum mem_path path)
{
	static const char *const names[] = {
		[MEM_PATH_HOST] = "host",
		[MEM_PATH_STAGED] = "staged",
		[MEM_PATH_GDR] = "gdr",
		[MEM_PATH_GDS] = "gds",
		[MEM_PATH_EMULATED] = "emulated",
	};

	INVARIANT((size_t)path < ARRAY_SIZE(names));
	return names[path];
}

struct mem_device *mem_device_free(struct mem_device *dev)
{
	if (dev)
		dev->ops->destroy(dev);
	return NULL;
}

int mem_queue_new(struct mem_device *dev, mem_wake_fn wake, void *arg,
		  struct mem_queue **ret_queue)
{
	return dev->ops->queue_new(dev, wake, arg, ret_queue);
}

struct mem_queue *mem_queue_free(struct mem_queue *q)
{
	if (!q)
		return NULL;
	INVARIANT(q->pending == 0);
	q->dev->ops->queue_free(q);
	return NULL;
}

unsigned int mem_queue_poll(struct mem_queue *q, uint64_t now_ns)
{
	return q->pending ? q->dev->ops->poll(q, now_ns) : 0;
}

uint64_t mem_queue_next(const struct mem_queue *q)
{
	return q->pending ? q->dev->ops->next(q) : UINT64_MAX;
}

void mem_compute(struct mem_queue *q, uint64_t ns, struct mem_job *job, uint64_t now_ns)
{
	job->kind = MEM_JOB_COMPUTE;
	job->queue = q;
	job->iov = NULL;
	job->niov = 0;
	job->addr = 0;
	job->length = ns;
	job->result = 0;
	q->pending++;
	q->dev->ops->compute(q, job, now_ns);
}
