/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An accelerator, as far as storage sees one: memory the CPU must not touch, an engine that copies
 * into and out of it, an engine that computes. One ops table per kind (emulated now, CUDA as a
 * twin file), all callbacks mandatory.
 *
 * A device is shared by the process. A queue on it (what CUDA calls a stream) belongs to one
 * thread: jobs are submitted, polled and finished there, so that the I/O path takes no lock; the
 * copies of one queue finish in the order they were submitted. Nothing here reads a clock: the
 * caller passes its loop's time, so that the deterministic simulator drives the same code. The
 * trade-off is that the owner must call back: it arms a timer at mem_queue_next(), and gives a
 * wake function for devices that finish by interrupt rather than by the clock.
 */
#ifndef PENSTOCK_MEMORY_DEVICE_H
#define PENSTOCK_MEMORY_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"
#include "base/list.h"

enum mem_kind {
	MEM_HOST,     /* ordinary memory */
	MEM_PINNED,   /* ordinary memory that cannot be paged out */
	MEM_CUDA,     /* memory of a CUDA device (cuda.c) */
	MEM_EMULATED, /* memory of an emulated accelerator (emulated.c) */
};

/* The way data took to where it lies: a field of every read, never rounded up. */
enum mem_path {
	MEM_PATH_HOST,     /* received in place in host or pinned memory */
	MEM_PATH_STAGED,   /* through a staging piece in host memory, then copied to a GPU */
	MEM_PATH_GDR,      /* written into GPU memory by the network card (GPUDirect RDMA) */
	MEM_PATH_GDS,      /* from local storage into GPU memory (cuFile) */
	MEM_PATH_EMULATED, /* staged, then copied to an accelerator that does not exist */
};

/* "host", "pinned", "cuda", "emulated" */
const char *mem_kind_name(enum mem_kind kind);
/* "host", "staged", "gdr", "gds", "emulated" */
const char *mem_path_name(enum mem_path path);

enum mem_job_kind {
	MEM_JOB_IN,      /* host memory to device memory */
	MEM_JOB_OUT,     /* device memory to host memory */
	MEM_JOB_COMPUTE, /* a step of so many nanoseconds */
};

struct mem_device;
struct mem_queue;

/*
 * One copy or compute step, embedded in its owner. @done is set by the caller, and called exactly
 * once, from mem_queue_poll() and never from inside the submission. result: 0 or -errno (-EIO: the
 * device failed; what is in the destination is then unknown). The rest belongs to the queue from
 * submission until done, and so do the iovec array and every buffer it names: a staging piece may
 * be used again in done, not before.
 */
struct mem_job {
	void (*done)(struct mem_job *job);
	int result;

	/* private to the device */
	enum mem_job_kind kind;
	int niov;
	struct list link;
	struct mem_queue *queue;
	const struct iovec *iov;
	uint64_t addr;     /* device address */
	uint64_t length;   /* bytes; compute: nanoseconds */
	uint64_t deadline; /* emulated: when it is over; cuda: when it was submitted */
	void *impl;        /* cuda: its event, NULL while it waits for one */
};

static inline void mem_job_init(struct mem_job *job, void (*done)(struct mem_job *job))
{
	*job = (struct mem_job){ .done = done };
}

/*
 * Called, from any thread, when a job of the queue finished without the clock telling; the owner
 * posts itself a message that polls. Devices that finish by the clock never call it.
 */
typedef void (*mem_wake_fn)(void *arg);

struct mem_device_ops {
	const char *name; /* "emulated", "cuda" */
	enum mem_kind kind;
	enum mem_path path; /* of a read that lands here through staging */

	/* Device memory. Control plane, any thread. -ENOMEM. */
	int (*alloc)(struct mem_device *dev, uint64_t length, uint64_t *ret_addr);
	void (*free)(struct mem_device *dev, uint64_t addr, uint64_t length);
	/* Is all of the range memory of this device that copies may go to? -EFAULT, -EOPNOTSUPP. */
	int (*check)(struct mem_device *dev, uint64_t addr, uint64_t length, struct err *err);
	/* Host memory this device copies from and to at full speed (pinned). Control plane. */
	int (*host_alloc)(struct mem_device *dev, uint64_t length, void **ret_ptr);
	void (*host_free)(struct mem_device *dev, void *ptr, uint64_t length);

	int (*queue_new)(struct mem_device *dev, mem_wake_fn wake, void *arg,
			 struct mem_queue **ret_queue);
	void (*queue_free)(struct mem_queue *q);
	/* Starts @job, whose private part is filled in. The queue's thread. */
	void (*copy_to_device)(struct mem_queue *q, struct mem_job *job, uint64_t now_ns);
	void (*copy_to_host)(struct mem_queue *q, struct mem_job *job, uint64_t now_ns);
	void (*compute)(struct mem_queue *q, struct mem_job *job, uint64_t now_ns);
	unsigned int (*poll)(struct mem_queue *q, uint64_t now_ns);
	uint64_t (*next)(const struct mem_queue *q);

	void (*destroy)(struct mem_device *dev);
};

/* Common heads: each implementation's own struct starts with one of these. */
struct mem_device {
	const struct mem_device_ops *ops;
	char name[64];       /* for people and reports: "emulated 64G/s" */
	uint64_t memory;     /* bytes of device memory */
	uint64_t bandwidth;  /* bytes a second the copy engine is stated to do; 0 = not known */
	uint64_t latency_ns; /* stated for each copy; 0 = none, or not known */
};

struct mem_queue {
	struct mem_device *dev;
	unsigned int pending; /* jobs submitted and not done */
};

/* Every queue and every region of it is gone before. Takes NULL, returns NULL. */
struct mem_device *mem_device_free(struct mem_device *dev);

/* A queue for the calling thread. @wake may be NULL if the owner polls often anyway. */
int mem_queue_new(struct mem_device *dev, mem_wake_fn wake, void *arg,
		  struct mem_queue **ret_queue);
/*
 * Nothing may be pending: copies cannot be called back from a device, so the owner waits for them
 * (on an emulated device mem_queue_poll(q, UINT64_MAX) ends the wait). Takes NULL, returns NULL.
 */
struct mem_queue *mem_queue_free(struct mem_queue *q);

/* Calls done of everything that is over at @now_ns. Returns how many that were. */
unsigned int mem_queue_poll(struct mem_queue *q, uint64_t now_ns);
/*
 * The time at which to poll next; UINT64_MAX: nothing is due by the clock (nothing is pending, or
 * the wake function will say). Never decreases by itself: ask after each submission and each poll.
 */
uint64_t mem_queue_next(const struct mem_queue *q);

/*
 * One step of the accelerator: its compute engine is busy for @ns from when the step before it is
 * over. Steps of one device run one after another, whichever queue they came from, and at the
 * same time as its copies. -EOPNOTSUPP in the result where a device has no timed step.
 */
void mem_compute(struct mem_queue *q, uint64_t ns, struct mem_job *job, uint64_t now_ns);

#endif
