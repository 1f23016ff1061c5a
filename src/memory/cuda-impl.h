/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the CUDA device share. */
#ifndef PENSTOCK_MEMORY_CUDA_IMPL_H
#define PENSTOCK_MEMORY_CUDA_IMPL_H

#include <pthread.h>
#include <stdbool.h>

#include "memory/cuda-api.h"
#include "memory/device.h"

enum {
	CUDA_MARKS = 1024, /* marks in streams at a time: as many requests on streams, per device */
};

struct cuda {
	struct mem_device dev;
	const struct cuda_api *api;
	unsigned int ordinal;
	cu_device device;
	cu_context ctx; /* the primary one, retained */

	pthread_mutex_t mutex; /* guards all below */
	char last_error[256];
	unsigned int marks_out;
	unsigned int marks_free;
	cu_event marks[CUDA_MARKS]; /* events that were used and are free */
};

_Static_assert(offsetof(struct cuda, dev) == 0, "a device is its own head");

static inline struct cuda *cuda_of(struct mem_device *dev)
{
	return container_of(dev, struct cuda, dev);
}

/* Makes the device's context current. False: it cannot be, and there is nothing to leave. */
bool cuda_enter(struct cuda *c);
void cuda_leave(struct cuda *c);
/* Remembers what went wrong, and returns the errno for it, negative. 0 if nothing did. */
int cuda_result(struct cuda *c, cu_result r, const char *what);

/* ---- cuda-queue.c: for the ops table ------------------------------------------------------- */

int cuda_queue_new(struct mem_device *dev, mem_wake_fn wake, void *arg, struct mem_queue **ret_queue);
void cuda_queue_free(struct mem_queue *q);
void cuda_queue_copy(struct mem_queue *q, struct mem_job *job, uint64_t now_ns);
void cuda_queue_compute(struct mem_queue *q, struct mem_job *job, uint64_t now_ns);
unsigned int cuda_queue_poll(struct mem_queue *q, uint64_t now_ns);
uint64_t cuda_queue_next(const struct mem_queue *q);

#endif
